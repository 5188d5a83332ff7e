"""Backups and what is made of them: every row, one state, a new epoch, and nothing overwritten."""

from __future__ import annotations

import sqlite3
from datetime import timedelta

import pytest

from negotiator.errors import ConfigError, IntegrityError, NegotiatorError
from negotiator.store import back_up, restore, status_of
from tests.support.databases import KINDS, new_database
from tests.support.stores import agent, appending, credential, intent, key_use, negotiation, proposal, verified


@pytest.fixture(params=KINDS)
def target(request, tmp_path):
    with new_database(request.param, tmp_path / "restored") as url:
        yield url


def fill(store) -> None:
    def unit(tx):
        tx.agents.add(agent(), credential())
        tx.negotiations.add(negotiation())
        tx.intents.open(intent())
        tx.idempotency.take(key_use())
        tx.proposals.add(proposal())

    store.transact_sync(unit)
    for number in range(3):
        store.transact_sync(appending(n=number))


async def test_a_restored_backup_holds_everything_in_a_new_epoch(shared_url, target, open_site, clock, tmp_path):
    store = open_site(shared_url)
    fill(store)
    file = tmp_path / "site.backup"
    assert back_up(shared_url, file).projects == {"site": 3}
    assert file.stat().st_mode & 0o777 == 0o600
    await store.transact(appending(n="after the backup"))
    copied = restore(file, target, clock=clock, reason="the disk broke", actor="root")
    assert copied.projects == {"site": 3}
    again = open_site(target)
    assert verified(again).entries == 4
    state = status_of(target)
    assert [(project.entries, project.epoch, project.open_effects) for project in state.projects] == [(4, 2, 1)]
    everything = await again.read(
        lambda reader: (reader.agents.all(), reader.intents.get("d1"), reader.proposals.get("p1"))
    )
    assert everything == ((agent(),), intent(), proposal())
    last = await again.read(lambda reader: list(reader.ledger.lines(start=3)))
    assert b'"code":"restored"' in last[0]
    assert b'"reason":"the disk broke"' in last[0]
    assert (await again.transact(appending(n="later"))).index == 4
    assert verified(again).entries == 5


async def test_what_was_negotiated_before_is_void_afterwards(shared_url, target, open_site, clock, tmp_path):
    store = open_site(shared_url)
    fill(store)
    at = negotiation().issued_at + timedelta(seconds=1)
    clock.wall = at
    assert await store.transact(lambda tx: tx.negotiations.claim_live("n1", at))
    back_up(shared_url, tmp_path / "site.backup")
    restore(tmp_path / "site.backup", target, clock=clock, reason="test", actor="root")
    again = open_site(target)
    assert not await again.transact(lambda tx: tx.negotiations.claim_live("n1", at))
    assert await store.transact(lambda tx: tx.negotiations.claim_live("n1", at))


def test_a_backup_never_overwrites_and_leaves_nothing_when_it_fails(shared_url, open_site, tmp_path):
    fill(open_site(shared_url))
    file = tmp_path / "backups" / "site.backup"
    with pytest.raises(ConfigError) as caught:
        back_up(shared_url, file)
    assert caught.value.code == "folder_unwritable"
    file.parent.mkdir()
    file.write_text("mine")
    with pytest.raises(ConfigError) as caught:
        back_up(shared_url, file)
    assert caught.value.code == "already_there"
    assert file.read_text() == "mine"
    assert [path.name for path in file.parent.iterdir()] == ["site.backup"]


def test_a_database_in_use_is_not_restored_over(shared_url, open_site, clock, tmp_path):
    fill(open_site(shared_url))
    back_up(shared_url, tmp_path / "site.backup")
    with pytest.raises(ConfigError) as caught:
        restore(tmp_path / "site.backup", shared_url, clock=clock, reason="test", actor="root")
    assert caught.value.code == "database_not_empty"


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "file_unreadable"), (b"", "backup_empty"), (b"no database at all" * 100, "store_unavailable")],
)
def test_what_is_no_backup_is_refused(target, clock, tmp_path, content, code):
    file = tmp_path / "site.backup"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(NegotiatorError) as caught:
        restore(file, target, clock=clock, reason="test", actor="root")
    assert caught.value.code == code


def test_a_backup_that_somebody_changed_is_refused_and_nothing_stays(shared_url, target, open_site, clock, tmp_path):
    fill(open_site(shared_url))
    file = tmp_path / "site.backup"
    back_up(shared_url, file)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE ledger_entries SET line = replace(line, '1', '2') WHERE \"index\" = 1")
    connection.close()
    with pytest.raises(IntegrityError):
        restore(file, target, clock=clock, reason="test", actor="root")
    assert status_of(target).projects == ()
