"""What was in force when it was last recorded: modes and switches."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "project_state",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("name", _text(32), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("changed_at", _text(27), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_project_state_projects"),
        sa.PrimaryKeyConstraint("project_id", "name", name="pk_project_state"),
    )


def downgrade() -> None:
    """Drop the table, and what is in it."""
    op.drop_table("project_state")


def _text(length: int) -> sa.String:
    """Return a text that compares by code points on every database."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")
