"""The public halves of signing keys, so that every host verifies what any of them has signed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "signing_keys",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("key_id", _text(64), nullable=False),
        sa.Column("purpose", _text(32), nullable=False),
        sa.Column("public", _text(64), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("rotated_at", _text(27)),
        sa.Column("retired_at", _text(27)),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_signing_keys_projects"),
        sa.PrimaryKeyConstraint("project_id", "key_id", name="pk_signing_keys"),
    )


def downgrade() -> None:
    """Drop the table, and what is in it."""
    op.drop_table("signing_keys")


def _text(length: int) -> sa.String:
    """Return a text that compares by code points on every database."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")
