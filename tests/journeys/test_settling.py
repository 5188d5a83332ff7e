"""Effects of which nobody knows: who may say what became of them, and what the key buys after that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from negotiator.errors import UnsureError
from negotiator.model.governed import Outcome, Presented, Verdict
from negotiator.model.levels import Level
from negotiator.model.records import OutcomeEnd, Settled, SiteAnswer
from tests.support.databases import KINDS, new_database
from tests.support.house import PREFIX, House, house
from tests.support.interleaving import policies_with
from tests.support.killed import sweep

ANSWER = SiteAnswer(status=200, headers=(("content-type", "text/plain"),), body=b"late")
DONE = Outcome(end=OutcomeEnd.COMPLETE, status=200, body_bytes=4, body_sha256="ab" * 32, answer=ANSWER)
FORBIDDEN = """@id("closed") @title("closed")
forbid (principal is Uaix::Site, action == Uaix::Action::"settle_effect", resource);"""


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with new_database(request.param, tmp_path / "data") as url:
        yield url


@dataclass
class Scene:
    """A host whose neighbour has begun the effect of a task and stirs no more.

    Attributes:
        verdict: the neighbour's.
        site: the header of the site's credential.
    """

    built: House
    dead: House
    client: httpx.AsyncClient
    headers: dict[str, str]
    verdict: Verdict
    site: dict[str, str]

    @property
    def effect_id(self) -> str:
        return self.verdict.decision_id

    async def task(self) -> httpx.Response:
        return await self.client.post("/task", content=b"x", headers=self.headers | {"idempotency-key": "k-1"})

    async def settle(self, outcome: str, own: dict[str, str] | None = None, effect_id: str = "") -> httpx.Response:
        path = f"{PREFIX}/effects/{effect_id or self.effect_id}/settle"
        body = {"outcome": outcome, "note": "by the books"}
        return await self.client.post(path, json=body, headers=self.site if own is None else own)

    async def shown(self, own: dict[str, str]) -> httpx.Response:
        return await self.client.get(f"{PREFIX}/effects/{self.effect_id}", headers=own)

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.headers['uaix-credential']}"}


@asynccontextmanager
async def scene(folder: Path, database: str, *, interrupted: bool = True) -> AsyncIterator[Scene]:
    with house(folder, database=database) as built, house(folder, database=database) as dead:
        api_token = built.agent(max_level=Level.L4)
        made = built.negotiator.site_credentials.add("worker", actor="test")
        async with built.client() as client:
            token = await built.token(client, Level.L4, api_token)
            headers = {
                "uaix-credential": api_token,
                "uaix-negotiation": token,
                "uaix-correlation": "c-1",
                "uaix-expires": "2099-01-01T00:00:00Z",
            }
            verdict = await _begun(built, dead, client, headers)
            if interrupted:
                sweep(built.negotiator)
            yield Scene(built, dead, client, headers, verdict, {"authorization": f"Bearer {made.token}"})


async def _begun(built: House, dead: House, client: httpx.AsyncClient, headers: dict[str, str]) -> Verdict:
    """Let the neighbour decide the very request that the client will send again."""
    decide = built.negotiator.enforcement.decide
    verdicts = []

    async def elsewhere(request: Any) -> Verdict:
        verdicts.append(await dead.negotiator.enforcement.decide(request))
        return replace(verdicts[0], kind="refuse")

    built.negotiator.enforcement.decide = elsewhere  # type: ignore[method-assign]
    await client.post("/task", content=b"x", headers=headers | {"idempotency-key": "k-1"})
    built.negotiator.enforcement.decide = decide  # type: ignore[method-assign]
    assert verdicts[0].intent_open, verdicts
    return verdicts[0]


async def test_until_it_is_settled_nobody_knows(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        told = await at.task()
        assert (told.status_code, told.json()["code"]) == (409, "outcome_unknown")
        assert told.json()["settle_url"] == f"{PREFIX}/effects/{at.effect_id}/settle"
        assert (await at.shown(at.bearer)).json()["state"] == "outcome_unknown"
        assert at.built.calls == []


async def test_settled_as_done_it_is_never_run_again(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        settled = await at.settle("done")
        assert (settled.status_code, settled.json()["state"], settled.json()["settled"]) == (200, "settled", "done")
        told = await at.task()
        assert (told.status_code, told.json()["code"]) == (409, "idempotency_answer_not_stored")
        assert at.built.calls == []
        assert at.built.negotiator.effects.unfinished() == ()


async def test_settled_as_not_done_the_key_buys_one_effect(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        assert (await at.settle("not_done")).json()["settled"] == "not_done"
        assert (await at.task()).text == "from the site"
        again = await at.task()
        assert (again.text, again.headers["idempotent-replayed"]) == ("from the site", "true")
        assert at.built.calls == ["POST /task"]


async def test_settling_is_recorded_with_who_what_and_by_which_policy(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        await at.settle("done")
        entry = at.built.entries()[-1]
        [made] = at.built.negotiator.site_credentials.listed()
        assert (entry["kind"], entry["code"], entry["decision"]) == ("admin", "effect_settled", "allow")
        assert (entry["decision_id"], entry["outcome"], entry["note"]) == (at.effect_id, "done", "by the books")
        assert entry["principal"] == {"type": "Site", "id": "default"}
        assert entry["actor"] == {"type": "SiteCredential", "id": made.credential_id}
        assert entry["policies"] == ["people.site-settles"]
        assert entry["bundle_digest"] == at.built.negotiator.bundle_digest
        assert at.built.negotiator.audit.verify().entries == len(at.built.entries())


async def test_the_same_word_again_changes_nothing_and_another_is_refused(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        first = await at.settle("done")
        entries = len(at.built.entries())
        again = await at.settle("done")
        assert (again.status_code, again.json()) == (200, first.json())
        other = await at.settle("not_done")
        assert (other.status_code, other.json()["code"]) == (409, "effect_not_unknown")
        assert len(at.built.entries()) == entries


async def test_an_effect_under_way_is_not_settled(tmp_path: Path, database: str):
    async with scene(tmp_path, database, interrupted=False) as at:
        refused = await at.settle("not_done")
        assert (refused.status_code, refused.json()["code"]) == (409, "effect_not_unknown")
        assert (await at.task()).json()["code"] == "idempotency_in_flight"
        assert (await at.shown(at.bearer)).json()["state"] == "running"
        await at.dead.negotiator.enforcement.finish(at.verdict, DONE)
        refused = await at.settle("not_done")
        assert (refused.status_code, refused.json()["code"]) == (409, "effect_not_unknown")
        assert (await at.task()).text == "late"


async def test_the_agent_never_settles(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        negotiated = at.bearer | {"uaix-negotiation": at.headers["uaix-negotiation"]}
        forged = {"authorization": f"Bearer uaixs_{at.headers['uaix-credential'].removeprefix('uaixt_')}"}
        both = at.site | {"uaix-negotiation": at.headers["uaix-negotiation"]}
        entries = len(at.built.entries())
        for own in ({}, at.bearer, negotiated, forged, both):
            refused = await at.settle("not_done", own)
            assert (refused.status_code, refused.json()["code"]) == (401, "credentials_invalid")
        assert (await at.task()).json()["code"] == "outcome_unknown"
        assert len(at.built.entries()) == entries + 1
        assert at.built.calls == []


async def test_a_revoked_credential_settles_nothing(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        at.built.negotiator.site_credentials.revoke("worker", actor="test")
        for ask in (at.settle("done"), at.shown(at.site)):
            refused = await ask
            assert (refused.status_code, refused.json()["code"]) == (401, "credentials_invalid")


async def test_a_credential_that_is_revoked_meanwhile_settles_nothing(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        settlements = at.built.negotiator.settlements
        credential = await settlements.authorise(Presented(credential=at.site["authorization"].removeprefix("Bearer ")))
        at.dead.negotiator.site_credentials.revoke("worker", actor="test")
        with pytest.raises(Exception, match="revoked"):
            await settlements.settle(at.effect_id, b'{"outcome": "done"}', credential)
        assert (await at.task()).json()["code"] == "outcome_unknown"


async def test_policies_may_take_settling_from_the_site_but_not_from_the_host(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        at.built.negotiator.use_bundle(policies_with(FORBIDDEN), actor="test")
        refused = await at.settle("done")
        assert (refused.status_code, refused.json()["code"]) == (403, "refused")
        at.built.negotiator.settlements.settle_here(at.effect_id, Settled.DONE, note="", actor="ana")
        entry = at.built.entries()[-1]
        assert (entry["code"], entry["actor"]) == ("effect_settled", {"type": "Host", "id": "ana"})
        assert "note" not in entry


async def test_an_effect_is_shown_to_its_agent_and_to_the_site_only(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        own = (await at.shown(at.bearer)).json()
        assert own == (await at.shown(at.site)).json()
        assert (own["effect_id"], own["action"], own["end"]) == (at.effect_id, "run_task", "interrupted")
        other = {"authorization": f"Bearer {at.built.agent('other')}"}
        for strangers in ({}, other):
            assert (await at.shown(strangers)).status_code == 404


async def test_undeclared_callers_do_not_see_each_others_effects(tmp_path: Path, database: str):
    with house(tmp_path, database=database) as built:
        async with built.client() as client:
            effect = (await client.post("/open", content=b"x")).headers["uaix-decision"]
            assert (await client.get(f"{PREFIX}/effects/{effect}")).status_code == 404


async def test_a_late_outcome_that_nobody_has_settled_brings_its_answer(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        await at.dead.negotiator.enforcement.finish(at.verdict, DONE)
        told = await at.task()
        assert (told.status_code, told.text, told.headers["idempotent-replayed"]) == (200, "late", "true")


@pytest.mark.parametrize("outcome", ["done", "not_done"])
async def test_a_first_owner_that_comes_late_touches_neither_the_key_nor_the_answer(
    tmp_path: Path, database: str, outcome: str
):
    async with scene(tmp_path, database) as at:
        await at.settle(outcome)
        if outcome == "not_done":
            assert (await at.task()).text == "from the site"
        await at.dead.negotiator.enforcement.finish(at.verdict, DONE)
        late = at.built.entries("outcome")[-1]
        assert (late["decision_id"], late["late"], late["settled_before"]) == (at.effect_id, True, True)
        assert "answer_kept" not in late
        told = await at.task()
        if outcome == "not_done":
            assert (told.text, told.headers["idempotent-replayed"]) == ("from the site", "true")
        else:
            assert told.json()["code"] == "idempotency_answer_not_stored"
        await at.dead.negotiator.enforcement.finish(at.verdict, DONE)
        assert len([each for each in at.built.entries("outcome") if each["decision_id"] == at.effect_id]) == 2


async def test_a_first_owner_that_comes_late_keeps_what_was_wrongly_settled_from_running_again(
    tmp_path: Path, database: str
):
    async with scene(tmp_path, database) as at:
        await at.settle("not_done")
        await at.dead.negotiator.enforcement.finish(at.verdict, DONE)
        told = await at.task()
        assert (told.status_code, told.json()["code"]) == (409, "idempotency_answer_not_stored")
        assert at.built.calls == []


async def test_a_key_of_which_nobody_knows_is_not_forgotten(tmp_path: Path, database: str):
    async with scene(tmp_path, database) as at:
        forget = at.built.negotiator.store.transact
        await forget(lambda tx: tx.idempotency.forget(tx.now.replace(year=2090)))
        assert (await at.task()).json()["code"] == "outcome_unknown"
        await at.settle("done")
        await forget(lambda tx: tx.idempotency.forget(tx.now.replace(year=2090)))
        assert (await at.task()).text == "from the site"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{}", 400, "body_malformed"),
        (b"[]", 400, "body_malformed"),
        (b'{"outcome": "perhaps"}', 400, "body_malformed"),
        (b'{"outcome": ["done"]}', 400, "body_malformed"),
        (b'{"outcome": "done", "more": 1}', 400, "body_malformed"),
        (b'{"outcome": "done", "note": "two\\nlines"}', 400, "body_malformed"),
        (b'{"outcome": "done", "note": "' + b"x" * 501 + b'"}', 400, "body_malformed"),
        (b'{"outcome": "done", "outcome": "not_done"}', 400, "duplicate_key"),
        (b"x" * 100_000, 413, "body_too_large"),
    ],
)
async def test_what_is_no_settlement_settles_nothing(tmp_path: Path, body: bytes, status: int, code: str):
    async with scene(tmp_path, f"sqlite:///{tmp_path / 'data' / 'x.db'}") as at:
        path = f"{PREFIX}/effects/{at.effect_id}/settle"
        own = at.site | {"content-type": "application/json"}
        refused = await at.client.post(path, content=body, headers=own)
        assert (refused.status_code, refused.json()["code"]) == (status, code)
        unknown = await at.settle("done", effect_id="01890a5d-ac96-774b-bcce-b302099a8057")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
        assert (await at.task()).json()["code"] == "outcome_unknown"


async def test_a_key_whose_site_was_never_called_is_free_again(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
):
    """The answer of the intent's commit was lost: 503, the site was not called, and the key must not say otherwise."""
    async with scene(tmp_path, database, interrupted=False) as at:
        store = at.built.negotiator.store
        original = type(store).transact

        async def lost(self: Any, unit: Any, *rest: Any) -> Any:
            await original(self, unit, *rest)
            message = "the answer of the commit was lost"
            raise UnsureError(message, code="ledger_unavailable")

        own = at.headers | {"idempotency-key": "k-2"}
        with monkeypatch.context() as away:
            away.setattr(type(store), "transact", lost)
            answer = await at.client.post("/task", content=b"x", headers=own)
            assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable")
        at.built.clock.advance(10)
        await store.transact(lambda _tx: None)
        closed = at.built.entries("outcome")[-1]
        assert (closed["end"], closed["site_not_called"]) == ("aborted", True)
        assert (await at.client.post("/task", content=b"x", headers=own)).text == "from the site"
        again = await at.client.post("/task", content=b"x", headers=own)
        assert again.headers["idempotent-replayed"] == "true"
        assert at.built.calls == ["POST /task"]
