"""Tasks, evidence, links and issuers on every database."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from negotiator.model.tasks import TaskState
from negotiator.store import statements
from tests.support.stores import START, evidence, evidence_link, issuer, task


def ended(task_id: str, **changes: object):
    return task(task_id, state=TaskState.CLOSED, due_at=None, ended_at=START, **changes)


async def test_a_task_comes_back_whole(store):
    whole = task(progress=40, note="half\nway \U0001f600", outcome="failed", report_id=evidence().evidence_id)
    await store.transact(lambda tx: [tx.tasks.add(each) for each in (whole, ended("t2"))])
    assert await store.read(lambda reader: reader.tasks.get("t1")) == whole
    assert await store.read(lambda reader: reader.tasks.get("t2")) == ended("t2")
    assert await store.read(lambda reader: reader.tasks.get("t3")) is None


async def test_a_task_is_changed_from_the_state_that_was_seen(store):
    old = task()
    new = replace(old, state=TaskState.RUNNING, progress=10, note="on", changed_at=START + timedelta(seconds=1))

    def unit(tx):
        tx.tasks.add(old)
        return tx.tasks.change(old, new), tx.tasks.change(old, replace(new, progress=20)), tx.tasks.get("t1")

    assert await store.transact(unit) == (True, False, new)


async def test_what_is_due_comes_first_due_first(store):
    def unit(tx):
        tx.tasks.add(task("t1", due_at=START + timedelta(seconds=9)))
        tx.tasks.add(task("t2", due_at=START + timedelta(seconds=3)))
        tx.tasks.add(task("t3", due_at=START + timedelta(seconds=10)))
        tx.tasks.add(ended("t4"))
        at = START + timedelta(seconds=9)
        return [each.task_id for each in tx.tasks.due(at)], tx.tasks.open_count("agent:a1"), tx.tasks.open_count("x")

    assert await store.transact(unit) == (["t2", "t1"], 3, 0)


async def test_old_ended_tasks_are_forgotten_and_open_ones_never(store):
    most = statements.MAX_KEPT_TASKS

    def unit(tx):
        tx.tasks.add(task("a-open"))
        tx.tasks.add(ended("a-others", subject="agent:a2"))
        for number in range(most + 3):
            tx.tasks.add(ended(f"t{number:05}"))
        gone = [number for number in range(most + 3) if tx.tasks.get(f"t{number:05}") is None]
        return gone, tx.tasks.get("a-open") is not None, tx.tasks.get("a-others") is not None

    assert await store.transact(unit) == ([0, 1, 2], True, True)


async def test_evidence_counts_for_whom_it_is_linked_to(store):
    link = evidence_link()

    def unit(tx):
        added = tx.evidence.add(evidence(), link), tx.evidence.add(evidence(), link)
        return added, tx.evidence.links(link.evidence_id, "agent:a1"), tx.evidence.links(link.evidence_id, "agent:a2")

    assert await store.transact(unit) == ((True, False), (link,), ())
    assert await store.read(lambda reader: reader.evidence.get(link.evidence_id)) == evidence()


async def test_bytes_come_back_as_they_were(store):
    content = bytes(range(256))
    await store.transact(lambda tx: tx.evidence.add(evidence(content), evidence_link(content)))
    found = await store.read(lambda reader: reader.evidence.get(evidence(content).evidence_id))
    assert found.content == content


async def test_a_claim_fails_with_its_issuer(store):
    own = evidence_link()
    attested = evidence_link(origin="attested", issuer_id="i1", uploader="host:ana")

    def unit(tx):
        tx.evidence.add_issuer(issuer())
        tx.evidence.add(evidence(), own)
        tx.evidence.add(evidence(), attested)
        before = tx.evidence.claim(attested), tx.evidence.claim_issuer("i1")
        revoked = tx.evidence.revoke_issuer("i1", tx.now), tx.evidence.revoke_issuer("i1", tx.now)
        after = tx.evidence.claim(attested), tx.evidence.claim(own), tx.evidence.claim_issuer("i1")
        return before, revoked, after, tx.evidence.links(own.evidence_id, own.subject)

    assert await store.transact(unit) == ((True, True), (True, False), (False, True, False), (own,))
    [found] = await store.read(lambda reader: reader.evidence.issuers())
    assert (found.kinds, found.revoked_at is not None) == (issuer().kinds, True)


async def test_an_issuer_that_is_not_known_backs_nothing(store):
    attested = evidence_link(origin="attested", issuer_id="i9")

    def unit(tx):
        tx.evidence.add(evidence(), attested)
        return tx.evidence.claim(attested), tx.evidence.links(attested.evidence_id, attested.subject)

    assert await store.transact(unit) == (False, ())


async def test_content_goes_with_its_last_link(store):
    own, of_host = evidence_link(), evidence_link(uploader="host:ana", kind="audit_log")

    def unit(tx):
        tx.evidence.add(evidence(), own)
        tx.evidence.add(evidence(), of_host)
        used = tx.evidence.used("agent:a1"), tx.evidence.used("nobody")
        steps = []
        for uploader in ("agent:a1", "agent:a1", "host:ana"):
            gone = tx.evidence.withdraw(own.evidence_id, uploader)
            steps.append((gone, tx.evidence.get(own.evidence_id) is not None))
        return used, steps

    assert await store.transact(unit) == (((1, 13), (0, 0)), [(1, True), (0, True), (1, False)])
