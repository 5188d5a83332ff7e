"""Looking for a secret in everything that a database keeps."""

from __future__ import annotations

import base64
from pathlib import Path

from sqlalchemy import MetaData, create_engine, select

__all__ = ["every_row", "forms"]


def forms(secret: str) -> list[bytes]:
    """Return how a secret may stand somewhere: plain, in hex, in either base64."""
    raw = secret.encode()
    return [raw, raw.hex().encode(), base64.b64encode(raw).rstrip(b"="), base64.urlsafe_b64encode(raw).rstrip(b"=")]


def every_row(url: str) -> bytes:
    """Return all values of all tables, and of a file every byte."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    tables = MetaData()
    try:
        with engine.connect() as connection:
            tables.reflect(connection)
            rows = [row for table in tables.sorted_tables for row in connection.execute(select(table))]
    finally:
        engine.dispose()
    assert len(tables.sorted_tables) > 5
    values = b"\n".join(each if isinstance(each, bytes) else str(each).encode() for row in rows for each in row)
    file = Path(engine.url.database or "")
    return values + b"".join(each.read_bytes() for each in file.parent.glob(f"{file.name}*") if each.is_file())
