"""Negotiations by the end of their lifetime, so that those long over are found and deleted."""

from __future__ import annotations

from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the index."""
    op.create_index("ix_negotiations_expiry", "negotiations", ["project_id", "expires_at"])


def downgrade() -> None:
    """Drop the index."""
    op.drop_index("ix_negotiations_expiry", "negotiations")
