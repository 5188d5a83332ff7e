"""Consent requests, approvals, and what spent them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "consent_requests",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("request_id", _text(64), nullable=False),
        sa.Column("subject", _text(256), nullable=False),
        sa.Column("agent_id", _text(64), nullable=False),
        sa.Column("negotiation_id", _text(64), nullable=False),
        sa.Column("action", _text(32), nullable=False),
        sa.Column("resource_type", _text(32), nullable=False),
        sa.Column("resource", _text(256), nullable=False),
        sa.Column("scope", _text(32), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("values", sa.Text(), nullable=False),
        sa.Column("digest", _text(64), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("body_bytes", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("correlation_id", _text(256), nullable=False),
        sa.Column("match_code", _text(32), nullable=False),
        sa.Column("state", _text(32), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("expires_at", _text(27), nullable=False),
        sa.Column("not_after", _text(27)),
        sa.Column("ended_at", _text(27)),
        sa.Column("ended_by", _text(256), nullable=False),
        sa.Column("approval_id", _text(64), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_consent_requests_projects"),
        sa.PrimaryKeyConstraint("project_id", "request_id", name="pk_consent_requests"),
    )
    op.create_index("ix_consent_requests_state", "consent_requests", ["project_id", "state", "expires_at"])
    op.create_index("ix_consent_requests_subject", "consent_requests", ["project_id", "subject", "created_at"])
    op.create_table(
        "approvals",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("approval_id", _text(64), nullable=False),
        sa.Column("request_id", _text(64), nullable=False),
        sa.Column("subject", _text(256), nullable=False),
        sa.Column("action", _text(32), nullable=False),
        sa.Column("resource_type", _text(32), nullable=False),
        sa.Column("resource", _text(256), nullable=False),
        sa.Column("scope", _text(32), nullable=False),
        sa.Column("binds", sa.Text(), nullable=False),
        sa.Column("values", sa.Text(), nullable=False),
        sa.Column("digest", _text(64), nullable=False),
        sa.Column("approver", _text(256), nullable=False),
        sa.Column("approver_name", _text(256), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("assurance", sa.Integer(), nullable=False),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("uses_left", sa.Integer(), nullable=False),
        sa.Column("bundle_digest", _text(64), nullable=False),
        sa.Column("display_digest", _text(64), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("granted_at", _text(27), nullable=False),
        sa.Column("expires_at", _text(27), nullable=False),
        sa.Column("revoked_at", _text(27)),
        sa.Column("revoked_by", _text(256), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id", "request_id"],
            ["consent_requests.project_id", "consent_requests.request_id"],
            name="fk_approvals_consent_requests",
        ),
        sa.PrimaryKeyConstraint("project_id", "approval_id", name="pk_approvals"),
    )
    op.create_table(
        "approval_uses",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("approval_id", _text(64), nullable=False),
        sa.Column("decision_id", _text(64), nullable=False),
        sa.Column("used_at", _text(27), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id", "approval_id"],
            ["approvals.project_id", "approvals.approval_id"],
            name="fk_approval_uses_approvals",
        ),
        sa.PrimaryKeyConstraint("project_id", "approval_id", "decision_id", name="pk_approval_uses"),
    )


def downgrade() -> None:
    """Drop the tables, and what is in them."""
    op.drop_table("approval_uses")
    op.drop_table("approvals")
    op.drop_table("consent_requests")


def _text(length: int) -> sa.String:
    """Return a text that compares by code points on every database."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")
