"""What was true when the decision was made, and is not when it commits, lets nothing through.

Without sleeps: when the decision is made the first time, a rival commits the change; then the decision goes on with
what it knew. One table says for each claim and each kind of request what comes of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import bindparam, update
from starlette.responses import PlainTextResponse

from negotiator.assembly import Negotiator
from negotiator.model.entries import EntryDraft, EntryKind
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.model.times import format_time
from negotiator.services.replays import Earlier
from negotiator.shipped import load_catalog
from negotiator.store import statements, tables
from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.consents import ADA
from tests.support.evidence import Issuer
from tests.support.house import PLENTY, PREFIX, House, house, settings_in
from tests.support.interleaving import InterruptedPolicies, interrupted, policies_with

CLOSED = '@id("closed") @title("closed") forbid (principal is Uaix::Agent, action, resource is Uaix::Resource);'
NO_LEVEL = '@id("closed") @title("closed") forbid (principal, action == Uaix::Action::"declare", resource);'
LOWER_CAP = (
    update(tables.agents)
    .where(tables.agents.c.project_id == bindparam("of_project"), tables.agents.c.agent_id == bindparam("of_agent"))
    .values(max_level=bindparam("new_cap"))
)


@dataclass(frozen=True)
class Scene:
    """A house, an agent that has declared itself there, and a second process on the same database."""

    built: House
    policies: InterruptedPolicies
    rival: Negotiator
    client: httpx.AsyncClient
    api_token: str
    token: str

    @property
    def agent_id(self) -> str:
        [agent] = self.rival.administration.agents()
        return agent.agent_id

    @property
    def subject(self) -> str:
        return f"agent:{self.agent_id}"

    @property
    def now(self) -> datetime:
        return self.built.clock.now()

    @property
    def negotiation_id(self) -> str:
        return str(self.built.entries("declare")[0]["negotiation_id"])

    @property
    def approval_id(self) -> str:
        return str(self.built.entries("consent")[1]["approval_id"])

    @property
    def approval_digest(self) -> str:
        return str(self.built.entries("consent")[1]["approved_digest"])

    @property
    def headers(self) -> dict[str, str]:
        return {"uaix-negotiation": self.token, "uaix-credential": self.api_token}


@asynccontextmanager
async def scene(folder: Path, database_url: str, **changes: Any) -> AsyncIterator[Scene]:
    with house(folder, database=database_url, **changes) as built:
        policies = interrupted(built)
        api_token = built.agent(max_level=Level.L4)
        rival = Negotiator(settings_in(folder, database=database_url), clock=built.clock)
        try:
            async with built.client() as client:
                token = await built.token(client, Level.L4, api_token)
                policies.asked = 0
                yield Scene(built, policies, rival, client, api_token, token)
        finally:
            rival.stop()


# What is asked for


async def read(at: Scene) -> httpx.Response:
    return await at.client.get("/data", headers=at.headers)


async def effect(at: Scene) -> httpx.Response:
    return await at.client.get("/screen", headers=at.headers)


async def refusal(at: Scene) -> httpx.Response:
    return await at.client.post("/comments", headers=at.headers, content=b"x")


async def memory(at: Scene) -> httpx.Response:
    own = {"uaix-correlation": "c-1", "idempotency-key": "k-1"}
    return await at.client.put("/memory/tea", headers=at.headers | own, content=b"left")


async def repetition(at: Scene) -> httpx.Response:
    return await at.client.get("/screen", headers=at.headers | {"idempotency-key": "k-1"})


async def renewal(at: Scene) -> httpx.Response:
    headers = {"uaix-negotiation": at.token, "authorization": f"Bearer {at.api_token}"}
    document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L4]]
    return await at.client.post(f"{PREFIX}/negotiations", json=document, headers=headers)


async def ending(at: Scene) -> httpx.Response:
    headers = {"uaix-negotiation": at.token, "authorization": f"Bearer {at.api_token}"}
    return await at.client.delete(f"{PREFIX}/negotiations/{at.negotiation_id}", headers=headers)


Request = Callable[[Scene], Any]
KINDS: tuple[Request, ...] = (read, effect, refusal, memory, repetition, renewal)

HONEST = {"read": 200, "effect": 200, "refusal": 403, "memory": 202, "repetition": 200, "renewal": 201}
LEAVES = {
    "read": "decision",
    "effect": "intent",
    "refusal": "decision",
    "memory": "proposal",
    "repetition": "replay",
    "renewal": "declare",
}


async def made_before(at: Scene, request_of: Request) -> int:
    """Let what is to be repeated happen for the first time; return how often the site was called."""
    if request_of is not repetition:
        return 0
    assert (await repetition(at)).status_code == 200
    at.policies.asked = 0
    return 1


# What changes meanwhile


def negotiation_ended(at: Scene) -> None:
    assert at.rival.store.transact_sync(lambda tx: tx.negotiations.end(at.negotiation_id, tx.now))


def negotiation_expired(at: Scene) -> None:
    at.built.clock.advance(3_600)


def credential_revoked(at: Scene) -> None:
    values = {"of_project": "default", "of_agent": at.agent_id}
    unit = lambda tx: tx._sql.changed(statements.REVOKE_CREDENTIALS, at=format_time(tx.now), **values)  # noqa: E731
    assert at.rival.store.transact_sync(unit) == 1


def agent_revoked(at: Scene) -> None:
    at.rival.administration.revoke_agent("helper", actor="rival")


def cap_lowered(at: Scene) -> None:
    values = {"of_project": "default", "of_agent": at.agent_id, "new_cap": 3}
    assert at.rival.store.transact_sync(lambda tx: tx._sql.changed(LOWER_CAP, **values)) == 1


def policies_close(at: Scene) -> None:
    assert at.built.negotiator.use_bundle(policies_with(CLOSED), actor="rival")


def policies_admit_nobody(at: Scene) -> None:
    assert at.built.negotiator.use_bundle(policies_with(NO_LEVEL), actor="rival")


def key_retired(at: Scene) -> None:
    [listed] = at.rival.key_administration.listed()
    at.rival.key_administration.rotate("token", actor="rival")
    at.rival.key_administration.retire(listed.key_id, reason="stolen", actor="rival")


@dataclass(frozen=True)
class Row:
    """A rival, and what comes of a governed request and of a renewal.

    Attributes:
        decided: how often an engine was asked for: a second time only where there is something left to decide.
    """

    rival: Callable[[Scene], None]
    governed: tuple[int, str]
    renewed: tuple[int, str]
    decided: int = 1


EXPIRED, INVALID = (401, "negotiation_expired"), (401, "credentials_invalid")
TABLE = (
    Row(negotiation_ended, EXPIRED, EXPIRED),
    Row(negotiation_expired, EXPIRED, EXPIRED),
    Row(credential_revoked, INVALID, INVALID),
    Row(agent_revoked, INVALID, INVALID),
    Row(cap_lowered, EXPIRED, EXPIRED),
    Row(key_retired, EXPIRED, EXPIRED),
    Row(policies_close, (403, "refused"), (201, ""), decided=2),
    Row(policies_admit_nobody, EXPIRED, (403, "refused"), decided=2),
)


@pytest.mark.parametrize("request_of", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.rival.__name__)
async def test_a_change_between_decision_and_commit_is_seen(
    tmp_path: Path, database_url: str, row: Row, request_of: Request
):
    async with scene(tmp_path, database_url) as at:
        before: list[int] = []
        called = await made_before(at, request_of)

        def between(asked: int) -> None:
            if asked == 1:
                row.rival(at)
                before.append(len(at.built.entries()))

        at.policies.between = between
        answer = await request_of(at)
        status, code = row.renewed if request_of is renewal else row.governed
        assert (answer.status_code, answer.json().get("code", "")) == (status, code), answer.text
        assert at.policies.asked == row.decided
        [recorded] = at.built.entries()[before[0] :]
        assert recorded["decision_id"] == answer.headers["uaix-decision"]
        assert recorded["decision"] == ("allow" if status == 201 else "deny")
        if code:
            assert recorded["code"] == code
        if row.rival in {policies_close, policies_admit_nobody} and "bundle_digest" in recorded:
            assert recorded["bundle_digest"] == at.policies._in_force.engine.bundle.digest
        assert len(at.built.calls) == called
        assert len(at.built.entries("intent") + at.built.entries("proposal")) == called
        assert at.rival.audit.verify().entries == before[0] + 1


async def test_a_rival_that_takes_the_last_place_is_seen(tmp_path: Path, database_url: str):
    """The quota of live negotiations: both found a place free, and one of them has it."""
    async with scene(tmp_path, database_url, budgets=PLENTY | {"negotiations_per_agent": 2}) as at:

        def between(asked: int) -> None:
            if asked == 1:
                [live] = at.rival.store.read_sync(lambda reader: reader.negotiations.of_subject(at.subject, at.now))
                other = replace(live, negotiation_id=str(uuid4()), digest="0" * 64)
                at.rival.store.transact_sync(lambda tx: tx.negotiations.add(other))

        at.policies.between = between
        entries = len(at.built.entries())
        document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L1]]
        bearer = {"authorization": f"Bearer {at.api_token}"}
        answer = await at.client.post(f"{PREFIX}/negotiations", json=document, headers=bearer)
        assert (answer.status_code, answer.json()["code"]) == (429, "over_budget")
        assert len(at.built.entries()) == entries, "it is counted"
        assert at.built.negotiator.suppressed.waiting() == 1


@pytest.mark.parametrize("request_of", KINDS, ids=lambda kind: kind.__name__)
async def test_without_a_rival_each_is_decided_once(tmp_path: Path, database_url: str, request_of: Request):
    async with scene(tmp_path, database_url) as at:
        called = await made_before(at, request_of)
        answer = await request_of(at)
        assert answer.status_code == HONEST[request_of.__name__], answer.text
        assert at.policies.asked == 1
        recorded = next(
            entry for entry in at.built.entries() if entry.get("decision_id") == answer.headers["uaix-decision"]
        )
        assert recorded["kind"] == LEAVES[request_of.__name__]
        assert len(at.built.calls) == called + (1 if request_of in {read, effect} else 0)


@pytest.mark.parametrize("request_of", KINDS, ids=lambda kind: kind.__name__)
async def test_a_rival_that_never_stops_is_503_and_nothing_is_done(
    tmp_path: Path, database_url: str, request_of: Request
):
    async with scene(tmp_path, database_url) as at:
        closing = [policies_with(CLOSED), policies_with("")]
        called = await made_before(at, request_of)
        changes: list[bool] = []

        def between(asked: int) -> None:
            changes.append(at.built.negotiator.use_bundle(closing[(asked - 1) % 2], actor="rival"))

        at.policies.between = between
        entries = len(at.built.entries())
        answer = await request_of(at)
        assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable"), answer.text
        assert int(answer.headers["retry-after"]) >= 1
        assert changes == [True] * 10, "once, and again for each of the nine claims"
        assert [entry["kind"] for entry in at.built.entries()[entries:]] == ["policy"] * 10
        assert len(at.built.calls) == called


@pytest.mark.parametrize(
    ("rival", "status", "code"),
    [
        (lambda _at: None, 200, ""),
        (negotiation_ended, 201, ""),
        (negotiation_expired, 201, ""),
        (credential_revoked, *INVALID),
        (agent_revoked, *INVALID),
        (cap_lowered, 201, ""),
        (key_retired, 201, ""),
        (policies_close, 201, ""),
        (policies_admit_nobody, 403, "refused"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_a_stored_answer_is_given_again_only_while_it_holds(
    tmp_path: Path, database_url: str, rival: Callable[[Scene], None], status: int, code: str
):
    """An identical declaration is answered from what was read before: that, too, is claimed."""
    async with scene(tmp_path, database_url) as at:
        store, read_once = at.built.negotiator.store, at.built.negotiator.store.read

        async def read(query: Any) -> Any:
            found = await read_once(query)
            if getattr(found, "negotiation_id", "") == at.negotiation_id:
                store.read = read_once  # type: ignore[method-assign]
                rival(at)
            return found

        store.read = read  # type: ignore[method-assign]
        document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L4]]
        own = {"authorization": f"Bearer {at.api_token}"}
        answer = await at.client.post(f"{PREFIX}/negotiations", json=document, headers=own)
        assert (answer.status_code, answer.json().get("code", "")) == (status, code), answer.text
        if status == 200:
            assert answer.json()["body"]["token"] == at.token
        if status == 201:
            assert answer.json()["body"]["bundle_digest"] == at.policies._in_force.engine.bundle.digest
            assert answer.json()["body"]["negotiation_id"] != at.negotiation_id


# Approvals


def approval_revoked(at: Scene) -> None:
    assert at.rival.consent_desk.revoke(at.approval_id, actor="rival")


def approval_spent(at: Scene) -> None:
    assert at.rival.store.transact_sync(
        lambda tx: tx.approvals.spend(at.approval_id, at.approval_digest, decision_id="d1", epoch=tx.epoch, at=tx.now)
    )


def approval_expired(at: Scene) -> None:
    at.built.clock.advance(900)


def approval_of_another_epoch(at: Scene) -> None:
    older = update(tables.approvals).values(epoch=tables.approvals.c.epoch - 1)
    assert at.rival.store.transact_sync(lambda tx: tx._sql.changed(older)) == 1


def clock_behind_the_ledger(at: Scene) -> None:
    """The ledger's time is over the approval's end; the clock of whoever decided is not."""
    at.built.clock.advance(900)
    at.rival.store.transact_sync(lambda tx: tx.append(EntryDraft(kind=EntryKind.ADMIN, members={"code": "x"})))
    at.built.clock.advance(-900)


async def consented(at: Scene) -> None:
    """Let the agent ask, and a person approve."""
    headers = {"authorization": f"Bearer {at.api_token}", "uaix-negotiation": at.token, "idempotency-key": "ask"}
    wanted = {"action": "post", "resource": "comments", "method": "POST", "target": "/comments", "body": "x"}
    asked = await at.client.post(f"{PREFIX}/consents", json=wanted, headers=headers)
    assert asked.status_code == 202, asked.text
    decisions = at.rival.consent_decisions
    shown = await decisions.show(ADA, asked.json()["id"])
    await decisions.decide(ADA, asked.json()["id"], displayed_digest=shown.digest, decision="approve")
    at.policies.asked = 0


async def write(at: Scene) -> httpx.Response:
    own = {"uaix-consent": at.approval_id, "idempotency-key": "k-1"}
    return await at.client.post("/comments", headers=at.headers | own, content=b"x")


CONSENTS = (
    (approval_revoked, 403, "consent_revoked"),
    (approval_spent, 403, "consent_spent"),
    (approval_expired, 403, "consent_expired"),
    (approval_of_another_epoch, 403, "consent_expired"),
    (clock_behind_the_ledger, 403, "consent_expired"),
    (policies_close, 403, "refused"),
    (negotiation_ended, *EXPIRED),
    (agent_revoked, *INVALID),
)


@pytest.mark.parametrize(("rival", "status", "code"), CONSENTS, ids=lambda value: getattr(value, "__name__", None))
async def test_an_approval_counts_as_it_is_when_the_effect_begins(
    tmp_path: Path, database_url: str, rival: Callable[[Scene], None], status: int, code: str
):
    async with scene(tmp_path, database_url) as at:
        await consented(at)
        negotiator = at.built.negotiator
        looked = negotiator.approvals.consented

        async def then_the_rival(*arguments: Any, **options: Any) -> Any:
            given = await looked(*arguments, **options)
            negotiator.approvals.consented = looked  # type: ignore[method-assign]
            assert given.approval is not None
            rival(at)
            return given

        negotiator.approvals.consented = then_the_rival  # type: ignore[method-assign]
        answer = await write(at)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert at.built.calls == []
        assert not at.built.entries("intent")
        [recorded] = at.built.entries("decision")
        assert (recorded["decision"], recorded["code"]) == ("deny", code)
        assert recorded["decision_id"] == answer.headers["uaix-decision"]
        at.rival.audit.verify()


async def test_without_a_rival_an_approval_lets_one_effect_through(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        await consented(at)
        assert (await write(at)).status_code == 200
        assert at.built.calls == ["POST /comments"]


async def test_a_token_is_never_signed_with_a_key_that_is_retired_by_then(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        at.policies.between = lambda asked: key_retired(at) if asked == 1 else None
        document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L0]]
        answer = await at.client.post(f"{PREFIX}/negotiations", json=document)
        assert answer.status_code == 201, answer.text
        token = answer.json()["body"]["token"]
        by_state = {key.state: key.key_id for key in at.rival.key_administration.listed()}
        assert by_state.keys() == {"retired", "signing"}
        assert at.built.negotiator.key_folder.key_id(token) == by_state["signing"]
        read = await at.client.get("/data", headers={"uaix-negotiation": token})
        assert read.status_code == 200


async def test_an_agent_revoked_while_it_ends_its_negotiation_ends_nothing(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        store, read_once = at.built.negotiator.store, at.built.negotiator.store.read

        async def reads(query: Any) -> Any:
            found = await read_once(query)
            if getattr(found, "negotiation_id", "") and not at.built.entries("identity")[1:]:
                agent_revoked(at)
            return found

        store.read = reads  # type: ignore[method-assign]
        answer = await ending(at)
        assert (answer.status_code, answer.json()["code"]) == INVALID
        assert at.rival.store.read_sync(lambda reader: reader.negotiations.get(at.negotiation_id)).ended_at is None


# Evidence

WANTS_RECORD = (
    '@id("wants") @title("wants") @requires("evidence:consent_record") @remedy("bring it") '
    'forbid (principal, action == Uaix::Action::"render_ui", resource) '
    'unless { context.request.hasTag("evidence:consent_record") };'
)


async def with_evidence(at: Scene) -> str:
    """Let a notary's word count, hand it in, and return its id; the screen wants it from now on."""
    assert at.built.negotiator.use_bundle(policies_with(WANTS_RECORD), actor="test")
    issuer, content = Issuer(), b"ana consents"
    at.rival.evidence_administration.add_issuer("notary", issuer.public, kinds=["consent_record"], actor="test")
    attestation = issuer.attests(content, kind="consent_record", about=at.subject)
    headers = {"authorization": f"Bearer {at.api_token}", "uaix-attestation": attestation}
    handed = await at.client.post(f"{PREFIX}/evidence?kind=consent_record", content=content, headers=headers)
    assert handed.status_code == 201, handed.text
    at.policies.asked = 0
    return str(handed.json()["id"])


def evidence_withdrawn(at: Scene) -> None:
    [entry] = at.built.entries("evidence")
    assert at.rival.store.transact_sync(lambda tx: tx.evidence.withdraw(entry["evidence_id"], at.subject)) == 1


def issuer_revoked(at: Scene) -> None:
    at.rival.evidence_administration.revoke_issuer("notary", actor="rival")


@pytest.mark.parametrize("rival", [evidence_withdrawn, issuer_revoked, None])
async def test_evidence_counts_as_it_is_when_the_effect_begins(
    tmp_path: Path, database_url: str, rival: Callable[[Scene], None] | None
):
    async with scene(tmp_path, database_url) as at:
        evidence_id = await with_evidence(at)
        at.policies.between = lambda asked: rival(at) if rival and asked == 1 else None
        answer = await at.client.get("/screen", headers=at.headers | {"uaix-evidence": evidence_id})
        if rival is None:
            assert (answer.status_code, at.policies.asked) == (200, 1)
            return
        assert (answer.status_code, answer.json()["code"]) == (403, "evidence_required"), answer.text
        assert at.policies.asked == 2
        [recorded] = [each for each in at.built.entries() if each.get("decision_id") == answer.json()["decision_id"]]
        assert "tags" not in recorded["facts"]["request"], "the last decision is the recorded one"
        assert (at.built.calls, at.built.entries("intent")) == ([], [])


# Tasks


async def a_task(at: Scene) -> httpx.Response:
    expires_at = (at.now + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    wanted = {"correlation_id": "c-1", "expires_at": expires_at, "timeout_ms": 60_000, "fallback": "a person"}
    own = {
        "authorization": f"Bearer {at.api_token}",
        "uaix-negotiation": at.token,
        "idempotency-key": "k-1",
    }
    return await at.client.post(f"{PREFIX}/tasks", json=wanted, headers=own)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.rival.__name__)
async def test_a_task_begins_only_while_what_it_stands_on_holds(tmp_path: Path, database_url: str, row: Row):
    async with scene(tmp_path, database_url) as at:
        at.policies.between = lambda asked: row.rival(at) if asked == 1 else None
        answer = await a_task(at)
        assert (answer.status_code, answer.json().get("code", "")) == row.governed, answer.text
        assert all(entry["decision"] == "deny" for entry in at.built.entries("task"))
        assert at.rival.task_list.all() == ()


async def test_without_a_rival_a_task_begins(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        answer = await a_task(at)
        assert answer.status_code == 201, answer.text
        assert at.policies.asked == 1
        assert len(at.rival.task_list.all()) == 1


# The key, and the time until which the request holds


async def test_a_key_that_a_rival_takes_meanwhile_starts_nothing(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        told: list[tuple[int, str]] = []

        def between(asked: int) -> None:
            if asked == 1:
                told.append(asked_elsewhere(at))

        at.policies.between = between
        answer = await repetition(at)
        assert told == [(200, "from the other host")]
        assert (answer.status_code, answer.text) == (200, "from the other host")
        assert answer.headers["idempotent-replayed"] == "true"
        assert at.policies.asked == 1
        assert at.built.calls == []
        assert len(at.built.entries("intent")) == len(at.built.entries("replay")) == 1


def asked_elsewhere(at: Scene) -> tuple[int, str]:
    """Send the same request to the rival, from a thread of its own."""

    async def site(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse("from the other host")(scope, receive, send)

    async def ask() -> tuple[int, str]:
        transport = httpx.ASGITransport(NegotiatorMiddleware(site, negotiator=at.rival), client=("127.0.0.1", 2))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answer = await client.get("/screen", headers=at.headers | {"idempotency-key": "k-1"})
            return answer.status_code, answer.text

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, ask()).result(60)


def everything_forgotten(at: Scene) -> None:
    at.rival.store.transact_sync(lambda tx: tx.idempotency.forget(tx.now + timedelta(days=1)))


async def test_a_key_that_is_forgotten_while_its_repetition_is_refused_is_no_mismatch(
    tmp_path: Path, database_url: str
):
    async with scene(tmp_path, database_url) as at:
        assert (await memory(at)).status_code == 202
        own = at.headers | {"idempotency-key": "k-1"}
        lacking = partial(at.client.put, "/memory/tea", headers=own, content=b"another")
        assert (await lacking()).json()["code"] == "idempotency_mismatch"
        store = at.built.negotiator.store
        read_once = store.read

        async def read(query: Any) -> Any:
            found = await read_once(query)
            if isinstance(found, Earlier):
                store.read = read_once  # type: ignore[method-assign]
                everything_forgotten(at)
            return found

        store.read = read  # type: ignore[method-assign]
        entries = len(at.built.entries())
        answer = await lacking()
        assert (answer.status_code, answer.json()["code"]) == (400, "correlation_required")
        [recorded] = at.built.entries()[entries:]
        assert recorded["code"] == "correlation_required"


async def test_a_request_that_the_ledgers_time_has_expired_is_expired_whatever_the_clock_says(
    tmp_path: Path, database_url: str
):
    async with scene(tmp_path, database_url) as at:
        soon = (at.built.clock.now() + timedelta(seconds=60)).strftime("%Y-%m-%dT%H:%M:%SZ")
        at.built.clock.advance(100)
        assert (await effect(at)).status_code == 200
        at.built.clock.advance(-100)
        own = {"uaix-correlation": "c-1", "idempotency-key": "k-1", "uaix-expires": soon}
        answer = await at.client.put("/memory/tea", headers=at.headers | own, content=b"left")
        assert (answer.status_code, answer.json()["code"]) == (400, "packet_expired")
        assert at.policies.asked == 3, "the screen, and twice the memory"
        assert at.built.entries("proposal") == []
