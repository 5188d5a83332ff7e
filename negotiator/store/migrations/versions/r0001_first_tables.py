"""The tables of the first version: agents, negotiations, effects, proposals, and the ledger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _text(length: int) -> sa.String:
    """Return a text that compares by code points on every database."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def upgrade() -> None:
    """Make every table."""
    _create_registry()
    _create_negotiation()
    _create_ledger()


def downgrade() -> None:
    """Drop every table, and what is in them."""
    for name in (
        "ledger_entries",
        "ledger_head",
        "proposals",
        "idempotency",
        "intents",
        "negotiations",
        "credentials",
        "agents",
        "projects",
    ):
        op.drop_table(name)


def _create_registry() -> None:
    op.create_table(
        "projects",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name="pk_projects"),
    )
    op.create_table(
        "agents",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("agent_id", _text(64), nullable=False),
        sa.Column("name", _text(200), nullable=False),
        sa.Column("max_level", sa.Integer(), nullable=False),
        sa.Column("operated_by", _text(200), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("revoked_at", _text(27), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_agents_projects"),
        sa.PrimaryKeyConstraint("project_id", "agent_id", name="pk_agents"),
    )
    op.create_index(
        "uq_agents_name",
        "agents",
        ["project_id", "name"],
        unique=True,
        sqlite_where=sa.text("revoked_at IS NULL"),
        postgresql_where=sa.text("revoked_at IS NULL"),
    )
    op.create_table(
        "credentials",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("credential_id", _text(64), nullable=False),
        sa.Column("agent_id", _text(64), nullable=False),
        sa.Column("verifier", _text(64), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("revoked_at", _text(27), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id", "agent_id"], ["agents.project_id", "agents.agent_id"], name="fk_credentials_agents"
        ),
        sa.PrimaryKeyConstraint("project_id", "credential_id", name="pk_credentials"),
    )
    op.create_index("ix_credentials_agent", "credentials", ["project_id", "agent_id"], unique=False)


def _create_negotiation() -> None:
    op.create_table(
        "negotiations",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("negotiation_id", _text(64), nullable=False),
        sa.Column("subject", _text(256), nullable=False),
        sa.Column("identity_kind", _text(32), nullable=False),
        sa.Column("credential_id", _text(64), nullable=False),
        sa.Column("digest", _text(64), nullable=False),
        sa.Column("strict", sa.Boolean(), nullable=False),
        sa.Column("declared_level", sa.Integer(), nullable=False),
        sa.Column("effective_level", sa.Integer(), nullable=False),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("declared", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("bundle_digest", _text(64), nullable=False),
        sa.Column("key_id", _text(64), nullable=False),
        sa.Column("issued_at", _text(27), nullable=False),
        sa.Column("expires_at", _text(27), nullable=False),
        sa.Column("ended_at", _text(27), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_negotiations_projects"),
        sa.PrimaryKeyConstraint("project_id", "negotiation_id", name="pk_negotiations"),
    )
    op.create_index(
        "ix_negotiations_identical", "negotiations", ["project_id", "credential_id", "digest"], unique=False
    )
    op.create_index("ix_negotiations_subject", "negotiations", ["project_id", "subject", "issued_at"], unique=False)
    op.create_table(
        "intents",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("decision_id", _text(64), nullable=False),
        sa.Column("owner", _text(64), nullable=False),
        sa.Column("lease_seq", sa.BigInteger(), nullable=False),
        sa.Column("principal_type", _text(32), nullable=False),
        sa.Column("subject", _text(256), nullable=False),
        sa.Column("action", _text(32), nullable=False),
        sa.Column("opened_at", _text(27), nullable=False),
        sa.Column("ended_at", _text(27), nullable=True),
        sa.Column("end", _text(32), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_intents_projects"),
        sa.PrimaryKeyConstraint("project_id", "decision_id", name="pk_intents"),
    )
    op.create_index(
        "ix_intents_open",
        "intents",
        ["project_id", "owner"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "idempotency",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("subject", _text(256), nullable=False),
        sa.Column("method", _text(32), nullable=False),
        sa.Column("route", _text(1024), nullable=False),
        sa.Column("key_sha256", _text(64), nullable=False),
        sa.Column("fingerprint", _text(64), nullable=False),
        sa.Column("decision_id", _text(64), nullable=False),
        sa.Column("proposal_id", _text(64), nullable=False),
        sa.Column("used_at", _text(27), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_idempotency_projects"),
        sa.PrimaryKeyConstraint("project_id", "subject", "method", "route", "key_sha256", name="pk_idempotency"),
    )
    op.create_table(
        "proposals",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("proposal_id", _text(64), nullable=False),
        sa.Column("decision_id", _text(64), nullable=False),
        sa.Column("subject", _text(256), nullable=False),
        sa.Column("resource", _text(256), nullable=False),
        sa.Column("state", _text(32), nullable=False),
        sa.Column("held", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("body_sha256", _text(64), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_proposals_projects"),
        sa.PrimaryKeyConstraint("project_id", "proposal_id", name="pk_proposals"),
    )
    op.create_index("ix_proposals_subject", "proposals", ["project_id", "subject", "created_at"], unique=False)


def _create_ledger() -> None:
    op.create_table(
        "ledger_head",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("prev", _text(64), nullable=False),
        sa.Column("time", _text(27), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_ledger_head_projects"),
        sa.PrimaryKeyConstraint("project_id", name="pk_ledger_head"),
    )
    op.create_table(
        "ledger_entries",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("index", sa.BigInteger(), nullable=False),
        sa.Column("time", _text(27), nullable=False),
        sa.Column("kind", _text(32), nullable=False),
        sa.Column("decision_id", _text(64), nullable=True),
        sa.Column("subject", _text(256), nullable=True),
        sa.Column("action", _text(32), nullable=True),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.Column("leaf_hash", _text(64), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_ledger_entries_projects"),
        sa.PrimaryKeyConstraint("project_id", "index", name="pk_ledger_entries"),
    )
