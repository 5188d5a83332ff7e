"""Answers that are kept for idempotency keys, settled effects, and the credentials with which the site settles them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables and the columns."""
    op.add_column("intents", sa.Column("settled", _text(32), nullable=True))
    op.add_column("idempotency", sa.Column("consumed", _text(256), nullable=False, server_default=""))
    op.create_index("ix_idempotency_used", "idempotency", ["project_id", "used_at"], unique=False)
    op.create_table(
        "stored_answers",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("decision_id", _text(64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("stored_at", _text(27), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_stored_answers_projects"),
        sa.PrimaryKeyConstraint("project_id", "decision_id", name="pk_stored_answers"),
    )
    op.create_index("ix_stored_answers_stored", "stored_answers", ["project_id", "stored_at"], unique=False)
    op.create_table(
        "site_credentials",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("credential_id", _text(64), nullable=False),
        sa.Column("name", _text(200), nullable=False),
        sa.Column("verifier", _text(64), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("revoked_at", _text(27), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_site_credentials_projects"),
        sa.PrimaryKeyConstraint("project_id", "credential_id", name="pk_site_credentials"),
    )


def downgrade() -> None:
    """Drop them, and what is in them."""
    op.drop_table("site_credentials")
    op.drop_table("stored_answers")
    op.drop_index("ix_idempotency_used", "idempotency")
    op.drop_column("idempotency", "consumed")
    op.drop_column("intents", "settled")


def _text(length: int) -> sa.String:
    """Return a text that compares by code points on every database."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")
