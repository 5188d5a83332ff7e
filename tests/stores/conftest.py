"""One contract, every database: a test that takes `open_site` or `store` runs on each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from negotiator.store import RandomIds, SqlStore, open_store
from tests.support.databases import KINDS, new_database
from tests.support.stores import HandClock


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(params=["memory", *KINDS])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "memory":
        yield "sqlite://"
        return
    with new_database(request.param, tmp_path / "data") as url:
        yield url


@pytest.fixture(params=KINDS)
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database that several processes can use."""
    with new_database(request.param, tmp_path / "data") as url:
        yield url


@pytest.fixture
def open_site(clock: HandClock) -> Iterator[Callable[..., SqlStore]]:
    """Open stores of the project `site`; all are stopped when the test ends."""
    opened: list[SqlStore] = []

    def opener(url: str, **options: object) -> SqlStore:
        given = {"project": "site", "clock": clock, "ids": RandomIds()} | options
        opened.append(open_store(url, **given))
        return opened[-1]

    yield opener
    for store in opened:
        store.stop()


@pytest.fixture
def store(url: str, open_site: Callable[..., SqlStore]) -> SqlStore:
    return open_site(url)


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/site.db"
