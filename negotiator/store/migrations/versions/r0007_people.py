"""People: their accounts, passwords, second factors and sessions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    _users()
    op.create_table(
        "passwords",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("user_id", _text(64), nullable=False),
        sa.Column("verifier", _text(256), nullable=False),
        sa.Column("one_time", sa.Boolean(), nullable=False),
        sa.Column("spent", sa.Boolean(), nullable=False),
        sa.Column("changed_at", _text(27), nullable=False),
        _of_user("passwords"),
        sa.PrimaryKeyConstraint("project_id", "user_id", name="pk_passwords"),
    )
    _factors()
    _sessions()


def downgrade() -> None:
    """Drop them, and what is in them."""
    for table in ("sessions", "factors", "passwords", "users"):
        op.drop_table(table)


def _users() -> None:
    op.create_table(
        "users",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("user_id", _text(64), nullable=False),
        sa.Column("name", _text(64), nullable=False),
        sa.Column("person", _text(200), nullable=False),
        sa.Column("roles", _text(200), nullable=False),
        sa.Column("locale", _text(32), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("disabled_at", _text(27), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["projects.project_id"], name="fk_users_projects"),
        sa.PrimaryKeyConstraint("project_id", "user_id", name="pk_users"),
    )
    op.create_index("uq_users_name", "users", ["project_id", "name"], unique=True)


def _factors() -> None:
    op.create_table(
        "factors",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("factor_id", _text(64), nullable=False),
        sa.Column("user_id", _text(64), nullable=False),
        sa.Column("kind", _text(32), nullable=False),
        sa.Column("label", _text(64), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("credential_id", _text(1_364), nullable=False),
        sa.Column("counter", sa.BigInteger(), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("used_at", _text(27), nullable=True),
        _of_user("factors"),
        sa.PrimaryKeyConstraint("project_id", "factor_id", name="pk_factors"),
    )
    op.create_index("ix_factors_user", "factors", ["project_id", "user_id"], unique=False)
    op.create_index(
        "uq_factors_credential",
        "factors",
        ["project_id", "credential_id"],
        unique=True,
        sqlite_where=sa.text("credential_id != ''"),
        postgresql_where=sa.text("credential_id != ''"),
    )


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("project_id", _text(64), nullable=False),
        sa.Column("session_sha256", _text(64), nullable=False),
        sa.Column("user_id", _text(64), nullable=False),
        sa.Column("assurance", sa.Integer(), nullable=False),
        sa.Column("csrf_secret", _text(64), nullable=False),
        sa.Column("created_at", _text(27), nullable=False),
        sa.Column("last_seen", _text(27), nullable=False),
        sa.Column("stepped_up_at", _text(27), nullable=False),
        sa.Column("bound_object", _text(64), nullable=False),
        sa.Column("bound_at", _text(27), nullable=True),
        sa.Column("ended_at", _text(27), nullable=True),
        _of_user("sessions"),
        sa.PrimaryKeyConstraint("project_id", "session_sha256", name="pk_sessions"),
    )
    op.create_index("ix_sessions_user", "sessions", ["project_id", "user_id", "created_at"], unique=False)
    op.create_index("ix_sessions_created", "sessions", ["project_id", "created_at"], unique=False)


def _of_user(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id", "user_id"], ["users.project_id", "users.user_id"], name=f"fk_{table}_users"
    )


def _text(length: int) -> sa.String:
    """Return a text that compares by code points on every database."""
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")
