"""Consent requests and approvals on each database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from negotiator.model.consents import ConsentState
from tests.support.stores import HASH, START, approval, consent_request


async def test_what_is_written_comes_back(store):
    request, given = consent_request(not_after=START), approval(revoked_at=START, revoked_by="ada")

    def unit(tx):
        tx.consents.add(request)
        tx.approvals.add(given)

    await store.transact(unit)
    found = await store.read(lambda reader: (reader.consents.get("q1"), reader.approvals.get("v1")))
    assert found == (request, given)
    assert await store.read(lambda reader: (reader.consents.get("q2"), reader.approvals.get("v2"))) == (None, None)


async def test_a_request_ends_once(store):
    await store.transact(lambda tx: tx.consents.add(consent_request()))

    def end(state, **more):
        return lambda tx: tx.consents.end("q1", state, at=tx.now, **more)

    assert await store.transact(end(ConsentState.APPROVED, by="ada", approval_id="v1"))
    for state in ConsentState:
        assert not await store.transact(end(state))
    found = await store.read(lambda reader: reader.consents.get("q1"))
    assert (found.state, found.ended_by, found.approval_id, found.ended_at) == ("approved", "ada", "v1", START)


async def test_pending_ones_are_counted_and_found_when_due(store):
    soon = START + timedelta(seconds=5)

    def unit(tx):
        tx.consents.add(consent_request("q1", expires_at=soon))
        tx.consents.add(consent_request("q2"))
        tx.consents.add(consent_request("q3", subject="agent:a2"))
        tx.consents.add(consent_request("q4", state=ConsentState.DENIED, expires_at=soon))
        return tx.consents.pending_of("agent:a1"), tx.consents.pending()

    assert await store.transact(unit) == (2, 3)

    def due(at):
        return lambda tx: [each.request_id for each in tx.consents.due(at)]

    assert await store.transact(due(START)) == []
    assert await store.transact(due(soon)) == ["q1"]


async def test_the_newest_of_some_digests_is_found_for_its_subject_alone(store):
    def unit(tx):
        tx.consents.add(consent_request("q1", digest="1" * 64))
        tx.consents.add(consent_request("q2", digest="2" * 64, created_at=START + timedelta(seconds=1)))
        tx.consents.add(consent_request("q3", digest="1" * 64, subject="agent:a2"))

    await store.transact(unit)

    def found(*digests):
        return store.read_sync(lambda reader: reader.consents.of_digests("agent:a1", digests))

    assert found("1" * 64).request_id == "q1"
    assert found("1" * 64, "2" * 64, "3" * 64).request_id == "q2"
    assert found("3" * 64) is None


async def test_a_denial_is_found_until_it_is_old(store):
    await store.transact(lambda tx: tx.consents.add(consent_request()))
    await store.transact(lambda tx: tx.consents.end("q1", ConsentState.DENIED, at=tx.now))

    def found(since, **changes):
        wanted = {"action": "post", "resource_type": "Resource", "resource": "comments", **changes}
        return store.read_sync(lambda reader: reader.consents.denied_since("agent:a1", since=since, **wanted))

    assert found(START - timedelta(seconds=1)).request_id == "q1"
    assert found(START) is None
    assert found(START - timedelta(seconds=1), resource="other") is None
    assert found(START - timedelta(seconds=1), action="publish") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"uses_left": 0},
        {"revoked_at": START},
        {"expires_at": START},
        {"digest": HASH},
        {"epoch": 2},
    ],
    ids=str,
)
async def test_an_approval_that_does_not_hold_is_not_spent(store, changes):
    def unit(tx):
        tx.consents.add(consent_request())
        tx.approvals.add(approval(**changes))

    await store.transact(unit)
    digest = approval().digest

    def claims(tx):
        held = tx.approvals.claim_holds("v1", digest, epoch=tx.epoch, at=tx.now)
        return held, tx.approvals.spend("v1", digest, decision_id="d1", epoch=tx.epoch, at=tx.now)

    assert await store.transact(claims) == (False, False)
    assert await store.read(lambda reader: reader.approvals.uses_of("v1")) == ()
    assert (await store.read(lambda reader: reader.approvals.get("v1"))).uses_left == approval(**changes).uses_left


async def test_each_use_is_spent_once_and_named(store):
    def unit(tx):
        tx.consents.add(consent_request())
        tx.approvals.add(approval())

    await store.transact(unit)

    def spend(decision_id):
        return lambda tx: tx.approvals.spend(
            "v1", approval().digest, decision_id=decision_id, epoch=tx.epoch, at=tx.now
        )

    assert [await store.transact(spend(name)) for name in ("d1", "d2", "d3")] == [True, True, False]
    uses = await store.read(lambda reader: reader.approvals.uses_of("v1"))
    assert [use.decision_id for use in uses] == ["d1", "d2"]


async def test_it_is_revoked_once(store):
    def unit(tx):
        tx.consents.add(consent_request())
        tx.approvals.add(approval())

    await store.transact(unit)
    revoked = [await store.transact(lambda tx: tx.approvals.revoke("v1", at=tx.now, by="ada")) for _ in range(2)]
    assert revoked == [True, False]
    assert not await store.transact(lambda tx: tx.approvals.revoke("v2", at=tx.now, by="ada"))


async def test_another_project_sees_none_of_it(open_site, shared_url):
    own, other = open_site(shared_url), open_site(shared_url, project="other")

    def unit(tx):
        tx.consents.add(consent_request())
        tx.approvals.add(approval())

    await own.transact(unit)
    assert await other.read(lambda reader: (reader.consents.get("q1"), reader.consents.newest())) == (None, ())
    spent = await other.transact(
        lambda tx: tx.approvals.spend("v1", approval().digest, decision_id="d", epoch=tx.epoch, at=tx.now)
    )
    assert not spent
    assert not await other.transact(lambda tx: tx.consents.end("q1", ConsentState.DENIED, at=tx.now))
