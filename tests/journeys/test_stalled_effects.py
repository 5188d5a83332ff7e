"""Effects that nobody finishes: a process that died, one that lost its database, and what the ledger says of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from negotiator.errors import UnavailableError, UnsureError
from negotiator.model.governed import GovernedRequest, Outcome, Presented, Verdict
from negotiator.model.records import OutcomeEnd
from tests.support.databases import KINDS, new_database
from tests.support.house import House, house

DONE = Outcome(end=OutcomeEnd.COMPLETE, status=200, body_bytes=4, body_sha256="ab" * 32)


@pytest.fixture(params=KINDS)
def hosts(request, tmp_path) -> Iterator[tuple[House, House]]:
    """Two hosts of one site: one database, and a process with its own clock each."""
    with ExitStack() as stack:
        url = stack.enter_context(new_database(request.param, tmp_path / "data"))
        both = [stack.enter_context(house(tmp_path, database=url)) for _ in range(2)]
        for built in both:
            built.negotiator.store.start()
        yield both[0], both[1]


def open_request(built: House, key: str = "") -> GovernedRequest:
    rule = next(rule for rule in built.negotiator.routes if rule.label == "POST /open")
    return GovernedRequest(
        method="POST",
        target="/open",
        rule=rule,
        presented=Presented(idempotency_key=key),
        caller_class="agent",
        body=b"{}",
        body_sha256="cd" * 32,
        body_bytes=2,
    )


async def begun(built: House) -> Verdict:
    verdict = await built.negotiator.enforcement.decide(open_request(built))
    assert verdict.intent_open
    return verdict


async def turn(built: House, seconds: float = 10.0) -> None:
    """Let time pass and the chores of a host have their turn."""
    built.clock.advance(seconds)
    await built.negotiator.store.transact(lambda _tx: None)


async def until_ended(built: House, verdict: Verdict) -> None:
    """Let leases pass until a host has ended an effect of another one; a turn may be lost to a busy database."""
    for _ in range(12):
        await turn(built)
        if found := outcomes(built, verdict):
            break
    assert found == [("interrupted", False)]


def outcomes(built: House, verdict: Verdict) -> list[tuple[str, bool]]:
    return [
        (entry["end"], entry.get("late", False))
        for entry in built.entries("outcome")
        if entry["decision_id"] == verdict.decision_id
    ]


async def test_an_effect_whose_process_died_is_ended_after_a_whole_lease(hosts):
    dead, living = hosts
    verdict = await begun(dead)
    await turn(living)  # the first sweep only looks
    for _ in range(2):
        await turn(living)
        assert outcomes(living, verdict) == []
    await until_ended(living, verdict)
    assert [effect.decision_id for effect in living.negotiator.effects.unfinished()] == [verdict.decision_id]
    await turn(living, 100)
    assert len(outcomes(living, verdict)) == 1


async def test_an_effect_whose_process_lives_is_never_ended(hosts):
    slow, other = hosts
    verdict = await begun(slow)
    for _ in range(12):
        await turn(slow)
        await turn(other)
    assert outcomes(other, verdict) == []
    await slow.negotiator.enforcement.finish(verdict, DONE)
    assert outcomes(other, verdict) == [("complete", False)]


async def test_a_late_outcome_corrects_what_the_sweep_said(hosts):
    frozen, other = hosts
    verdict = await begun(frozen)
    await until_ended(other, verdict)
    await frozen.negotiator.enforcement.finish(verdict, DONE)
    assert outcomes(other, verdict) == [("interrupted", False), ("complete", True)]
    assert other.negotiator.effects.unfinished() == ()


async def test_an_outcome_that_could_not_be_written_is_owed_and_written_later(hosts, monkeypatch):
    here, _ = hosts
    verdict = await begun(here)
    with monkeypatch.context() as away:
        away.setattr(type(here.negotiator.store), "transact", unavailable)
        with pytest.raises(UnavailableError):
            await here.negotiator.enforcement.finish(verdict, DONE)
    assert outcomes(here, verdict) == []
    await turn(here)
    assert outcomes(here, verdict) == [("complete", False)]
    await turn(here)
    assert len(outcomes(here, verdict)) == 1


async def unavailable(*_arguments):
    message = "the disk is full"
    raise UnavailableError(message, code="ledger_unavailable")


async def test_an_effect_of_which_nobody_knew_whether_it_had_begun_is_ended_as_not_called(hosts, monkeypatch):
    here, _ = hosts
    store = here.negotiator.store
    original = type(store).transact

    async def lost(self, unit, *rest):
        await original(self, unit, *rest)
        message = "the answer of the commit was lost"
        raise UnsureError(message, code="ledger_unavailable")

    with monkeypatch.context() as away:
        away.setattr(type(store), "transact", lost)
        with pytest.raises(UnsureError):
            await here.negotiator.enforcement.decide(open_request(here))
    (intent,) = here.entries("intent")
    await turn(here)
    (outcome,) = here.entries("outcome")
    assert outcome["decision_id"] == intent["decision_id"]
    assert (outcome["end"], outcome["status"]) == ("aborted", 0)
    assert here.calls == []


async def test_a_caller_that_leaves_while_its_intent_is_written_leaves_nothing_open(hosts):
    here, _ = hosts
    leaving = asyncio.ensure_future(here.negotiator.enforcement.decide(open_request(here)))
    for _ in range(3):  # as far as the intent's transaction, which is not done by then
        await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.wait([leaving])
    await turn(here)
    intents = [entry["decision_id"] for entry in here.entries("intent")]
    assert len(intents) == 1
    assert [entry["decision_id"] for entry in here.entries("outcome")] == intents
    assert here.negotiator.effects.unfinished() == ()


async def test_a_key_whose_effect_was_interrupted_says_that_nobody_knows(hosts, monkeypatch):
    dead, living = hosts
    api_token = living.agent()
    async with living.client() as client:
        headers = {"uaix-credential": api_token, "uaix-negotiation": await living.token(client, 3, api_token)}
        rules = [replace(rule, undeclared="deny") for rule in living.negotiator.routes]
        rule = next(rule for rule in rules if rule.label == "POST /open")
        presented = Presented(
            negotiation=headers["uaix-negotiation"],
            credential=api_token,
            idempotency_key="k-1",
            correlation="c-1",
        )
        request = replace(open_request(dead), rule=rule, presented=presented)
        monkeypatch.setattr("negotiator.services.enforcement.settle", allow_anything)
        verdict = await dead.negotiator.enforcement.decide(request)
        assert verdict.intent_open, verdict.refusal
        await until_ended(living, verdict)
        again = await living.negotiator.enforcement.decide(request)
    assert again.refusal is not None
    assert (again.refusal.code, again.refusal.effect_id) == ("outcome_unknown", verdict.decision_id)


def allow_anything(engine, _query):
    from negotiator.model.decisions import Decision

    return Decision(decision="allow", code="allowed", policies=("test",), bundle_digest=engine.bundle.digest)
