"""Long tasks, and evidence with those whose word counts for it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "tasks",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("task_id", _text(64), nullable=False),
        sa.Column("decision_id", _text(64), nullable=False),
        sa.Column("subject", _text(256), nullable=False),
        sa.Column("correlation_id", _text(256), nullable=False),
        sa.Column("state", _text(32), nullable=False),
        sa.Column("progress", sa.Integer()),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("timeout_ms", sa.BigInteger(), nullable=False),
        sa.Column("fallback", sa.Text(), nullable=False),
        sa.Column("outcome", _text(32), nullable=False),
        sa.Column("report_id", _text(71), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("changed_at", _text(27), nullable=False),
        sa.Column("expires_at", _text(27), nullable=False),
        sa.Column("due_at", _text(27)),
        sa.Column("ended_at", _text(27)),
        sa.PrimaryKeyConstraint("project_id", "task_id", name="pk_tasks"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_tasks_projects"),
    )
    op.create_index("ix_tasks_subject", "tasks", ["project_id", "subject", "task_id"])
    op.create_index("ix_tasks_decision", "tasks", ["project_id", "decision_id"])
    due = sa.text("due_at IS NOT NULL")
    op.create_index("ix_tasks_due", "tasks", ["project_id", "due_at"], sqlite_where=due, postgresql_where=due)
    op.create_table(
        "evidence",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("evidence_id", _text(71), nullable=False),
        sa.Column("media_type", _text(256), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "evidence_id", name="pk_evidence"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_evidence_projects"),
    )
    op.create_table(
        "evidence_links",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("evidence_id", _text(71), nullable=False),
        sa.Column("subject", _text(256), nullable=False),
        sa.Column("kind", _text(32), nullable=False),
        sa.Column("origin", _text(32), nullable=False),
        sa.Column("issuer_id", _text(64), nullable=False),
        sa.Column("uploader", _text(256), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.PrimaryKeyConstraint(
            "project_id", "evidence_id", "subject", "kind", "origin", "issuer_id", name="pk_evidence_links"
        ),
        sa.ForeignKeyConstraint(
            ["project_id", "evidence_id"],
            ["evidence.project_id", "evidence.evidence_id"],
            name="fk_evidence_links_evidence",
        ),
    )
    op.create_index("ix_evidence_links_subject", "evidence_links", ["project_id", "subject", "created_at"])
    op.create_index("ix_evidence_links_uploader", "evidence_links", ["project_id", "uploader"])
    op.create_table(
        "evidence_issuers",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("key_id", _text(64), nullable=False),
        sa.Column("name", _text(200), nullable=False),
        sa.Column("public", _text(64), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("revoked_at", _text(27)),
        sa.PrimaryKeyConstraint("project_id", "key_id", name="pk_evidence_issuers"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_evidence_issuers_projects"),
    )


def downgrade() -> None:
    """Drop the tables, and what is in them."""
    for table in ("evidence_issuers", "evidence_links", "evidence", "tasks"):
        op.drop_table(table)


def _text(length: int) -> sa.String:
    """Return a text that compares by code points on every database."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")
