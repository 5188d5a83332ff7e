"""Which database a URL means. `sqlite.py` and `postgresql.py` are the kinds that there are."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from negotiator.errors import ConfigError
from negotiator.store.database import Database
from negotiator.store.postgresql import PostgresDatabase
from negotiator.store.sqlite import SqliteDatabase

__all__ = ["database_at", "database_directory", "database_file", "database_place"]


def database_at(url: str) -> Database:
    """Return the database at `url`.

    Raises:
        ConfigError: `database_url_invalid`, `database_unsupported`, `database_directory_missing`.
    """
    parsed = _parsed(url)
    match parsed.get_backend_name():
        case "sqlite":
            return SqliteDatabase.at(parsed)
        case "postgresql":
            return PostgresDatabase.at(parsed)
        case other:
            message = (
                f"databases of the kind {other} are not supported; "
                "use sqlite:///<path> or postgresql://<user>@<host>/<database>"
            )
            raise ConfigError(message, code="database_unsupported")


def database_directory(url: str) -> Path | None:
    """Return the directory of the database's files; None for one elsewhere or in memory. Keys must not lie in it.

    Raises:
        ConfigError: `database_url_invalid`.
    """
    file = database_file(url)
    return None if file is None else file.parent


def database_file(url: str) -> Path | None:
    """Return the database's file; None for one in memory or on a server.

    Raises:
        ConfigError: `database_url_invalid`.
    """
    parsed = _parsed(url)
    return SqliteDatabase(parsed).file if parsed.get_backend_name() == "sqlite" else None


def database_place(url: str) -> str:
    """Return the URL for people: without a password.

    Raises:
        ConfigError: `database_url_invalid`.
    """
    return _parsed(url).render_as_string(hide_password=True)


def _parsed(text: str) -> URL:
    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        message = "the database URL cannot be read; write for instance sqlite:///var/data/negotiator.db"
        raise ConfigError(message, code="database_url_invalid") from None
