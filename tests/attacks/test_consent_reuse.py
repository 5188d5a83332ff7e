"""One consent, used for more than a person gave: twice at once, for something else, after it ended.

Each time first the honest way, then the attack, and nothing has reached the site.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from negotiator.assembly import Negotiator
from negotiator.cli.consents import command
from negotiator.errors import RequestError
from negotiator.model.approvers import Approver
from negotiator.model.consents import BINDS, Narrowing
from negotiator.store import back_up, restore, tables
from negotiator.web.discovery.endpoints import ENDPOINTS
from tests.support.consents import ADA, Desk, arrived, desk, person
from tests.support.house import PREFIX, settings_in
from tests.support.interleaving import policies_with


async def test_two_uses_at_once_are_one(tmp_path: Path, database_url: str) -> None:
    async with desk(tmp_path, database=database_url) as at:
        approval_id = await at.approved()
        answers = await asyncio.gather(*(at.write(approval_id) for _ in range(20)))
        assert sorted(answer.status_code for answer in answers) == [200] + [403] * 19
        assert {answer.json()["code"] for answer in answers if answer.status_code == 403} == {"consent_spent"}
        assert at.built.calls == ["POST /comments"]
        assert len(at.built.entries("intent")) == 1


async def test_many_uses_at_once_are_as_many_as_were_given(tmp_path: Path, database_url: str) -> None:
    async with desk(tmp_path, database=database_url) as at:
        approval_id = await at.approved(uses=5, narrowing=Narrowing(uses=3))
        answers = await asyncio.gather(*(at.write(approval_id) for _ in range(10)))
        assert sorted(answer.status_code for answer in answers) == [200] * 3 + [403] * 7
        assert len(at.built.calls) == 3


async def _other_agent(at: Desk, approval_id: str) -> Any:
    other = await arrived(at.built, at.client, "other")
    return await other.write(approval_id)


async def _other_operator(at: Desk, approval_id: str) -> Any:
    negotiator = at.built.negotiator
    change = tables.agents.update().values(operated_by="eve")
    await negotiator.store.transact(lambda tx: tx._sql.run(change))
    negotiator.callers._agents._rows.clear()
    return await at.write(approval_id)


async def _put(at: Desk, given: str) -> Any:
    headers = {**at.site, "idempotency-key": "k", "content-type": "text/plain", "uaix-consent": given}
    return await at.client.put("/comments", content=b"hello", headers=headers)


async def _other_account(at: Desk, given: str) -> Any:
    """No agent's request has an account of the site today; an approval for one covers none without."""
    del given
    other = await at.approved(site_account="ana", bound_headers={"x-tenant": "blue"})
    return await at.write(other, x_tenant="blue")


Attack = Callable[[Desk, str], Any]
MUTATIONS: dict[str, tuple[Attack, str]] = {
    "principal": (_other_agent, "consent_required"),
    "actor": (_other_operator, "consent_mismatch"),
    "action": (lambda at, given: at.write(given, path="/tool"), "consent_mismatch"),
    "resource": (lambda at, given: at.write(given, path="/bound"), "consent_mismatch"),
    "authority": (lambda at, given: at.write(given, host="localhost"), "consent_mismatch"),
    "method": (_put, "consent_mismatch"),
    "target": (lambda at, given: at.write(given, path="/comments?x=1"), "consent_mismatch"),
    "content_type": (lambda at, given: at.write(given, content_type="text/html"), "consent_mismatch"),
    "content_encoding": (
        lambda at, given: at.write(given, content=gzip.compress(b"hello"), content_encoding="gzip"),
        "unsupported_media_type",
    ),
    "body": (lambda at, given: at.write(given, content=b"hullo"), "consent_mismatch"),
    "site_account": (_other_account, "consent_mismatch"),
    "bound_headers": (lambda at, given: at.write(given, x_tenant="red"), "consent_mismatch"),
}


BOUND_ROUTES = [
    {
        "match": "POST,PUT /comments",
        "action": "post",
        "resource": "comments",
        "bind_headers": ["X-Tenant"],
    },
    {"match": "POST /bound", "action": "post", "resource": "bound"},
    {"match": "POST /tool", "action": "call_tool", "resource": "search"},
]


def test_every_bind_is_mutated() -> None:
    assert tuple(MUTATIONS) == BINDS


@pytest.mark.parametrize("bind", BINDS)
async def test_an_approval_covers_nothing_but_what_it_is_bound_to(tmp_path: Path, bind: str) -> None:
    attack, code = MUTATIONS[bind]
    async with desk(tmp_path, routes=BOUND_ROUTES) as at:
        approval_id = await at.approved(bound_headers={"x-tenant": "blue"})
        refused = await attack(at, approval_id)
        assert refused.json()["code"] == code, refused.text
        if code == "consent_mismatch" and bind not in {"action", "resource"}:
            assert bind in refused.json()["detail"]
        assert at.built.calls == []
        if bind == "actor":
            return
        honest = await at.write(approval_id, x_tenant="blue")
        assert honest.status_code == 200, "the attack has not spent it"


async def test_revoked_by_whomever_it_covers_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        by_agent, by_person, by_host = [await at.approved(body=body) for body in ("1", "2", "3")]
        gone = await at.client.delete(f"{PREFIX}/approvals/{by_agent}", headers=at.own)
        again = await at.client.delete(f"{PREFIX}/approvals/{by_agent}", headers=at.own)
        assert (gone.status_code, again.status_code) == (204, 204)
        await at.built.negotiator.consent_decisions.take_back(person("bob", roles=("auditor",)), by_person)
        assert at.built.negotiator.consent_desk.revoke(by_host, actor="op")
        for number, approval_id in enumerate((by_agent, by_person, by_host), start=1):
            refused = await at.write(approval_id, content=str(number).encode())
            assert refused.json()["code"] == "consent_revoked"
        revoked = [entry for entry in at.built.entries("consent") if entry["code"] == "approval_revoked"]
        assert [entry["actor"] for entry in revoked] == [
            {"type": "Agent", "id": revoked[0]["principal"]["id"]},
            {"type": "Human", "id": "bob"},
            {"type": "Host", "id": "op"},
        ]
        assert at.built.calls == []


async def test_after_its_end_it_covers_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        approval_id = await at.approved()
        at.built.clock.advance(899)
        honest = await at.write(approval_id)
        assert honest.status_code == 200
        other = await at.approved(body="more")
        at.built.clock.advance(900)
        assert (await at.write(other, content=b"more")).json()["code"] == "consent_expired"


NOT_ADA = 'forbid (principal, action == Uaix::Action::"approve_consent", resource) when { principal.person == "ada" }'


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ('forbid (principal, action == Uaix::Action::"post", resource)', "refused"),
        (
            'forbid (principal, action == Uaix::Action::"approve_consent", resource) when { principal.assurance < 4 }',
            "assurance_too_low",
        ),
        (
            NOT_ADA,
            "consent_required",
        ),
    ],
    ids=["never", "stronger", "not that person"],
)
async def test_the_policies_in_force_have_the_last_word(tmp_path: Path, rule: str, code: str) -> None:
    async with desk(tmp_path) as at:
        first, second = await at.approved(), await at.approved(body="more")
        assert (await at.write(first)).status_code == 200
        changed = policies_with(f'@id("later") @title("later") {rule};')
        await asyncio.to_thread(at.built.negotiator.use_bundle, changed, actor="test")
        refused = await at.write(second, content=b"more")
        assert refused.json()["code"] == code, refused.text
        assert at.built.calls == ["POST /comments"]


async def test_a_resource_that_became_protected_takes_a_security_key(tmp_path: Path) -> None:
    plain = {"match": "POST /comments", "action": "post", "resource": "comments"}
    async with desk(tmp_path, routes=[plain]) as at:
        approval_id = await at.approved()
        wide = await at.approved(body=None, scope="template")
    async with desk(
        tmp_path / "later",
        agent="later",
        database=f"sqlite:///{tmp_path}/data/negotiator.db",
        keys_dir=tmp_path / "keys",
        routes=[{**plain, "protected": True}],
    ) as later:
        at.built, at.client = later.built, later.client
        assert (await at.write(approval_id)).json()["code"] == "assurance_too_low"
        assert (await at.write(wide)).json()["code"] == "consent_mismatch"
        assert later.built.calls == []


async def test_a_restored_backup_revives_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        approval_id = await at.approved()
        waiting = (await at.ask(body="later")).json()["id"]
        at.built.negotiator.stop()
        back_up(at.built.negotiator.settings.database, tmp_path / "backup.db")
        url = f"sqlite:///{tmp_path}/restored.db"
        restore(tmp_path / "backup.db", url, clock=at.built.clock, reason="a test", actor="test")
        restored = Negotiator(settings_in(tmp_path, database=url), clock=at.built.clock)
        try:
            store = restored.store
            approval = store.read_sync(lambda reader: reader.approvals.get(approval_id))
            held = store.transact_sync(
                lambda tx: tx.approvals.spend(approval_id, approval.digest, decision_id="d", epoch=tx.epoch, at=tx.now)
            )
            assert not held
            assert store.read_sync(lambda reader: reader.consents.get(waiting)).state == "expired"
        finally:
            restored.stop()


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b'{"to": "ana", "to": "eve"}', 400, "duplicate_key"),
        (b'{"t\\u006f": 1, "to": 2}', 400, "duplicate_key"),
        (b'{"a": NaN}', 400, "body_malformed"),
        (b'{"a": 1e999}', 400, "number_not_exact"),
        (b'{"a": "\\ud800"}', 400, "invalid_unicode"),
        (b"[" * 100 + b"]" * 100, 400, "json_too_deep"),
        (b'{"a": 1} x', 400, "body_malformed"),
        (b"\xef\xbb\xbf{}", 400, "body_malformed"),
    ],
)
async def test_json_that_two_readers_read_differently_is_no_consent(
    tmp_path: Path, content: bytes, status: int, code: str
) -> None:
    async with desk(tmp_path) as at:
        honest = await at.approved(content_type="application/json", body='{"to": "ana"}')
        done = await at.write(honest, content=b'{"to": "ana"}', content_type="application/json")
        assert done.status_code == 200
        refused = await at.write(honest, content=content, content_type="application/problem+json")
        assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
        assert len(at.built.calls) == 1
        assert at.built.entries("decision")[-1]["code"] == code


async def test_what_cannot_be_shown_is_not_asked_for_by_itself(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        honest = (await at.write(path="/news")).json()
        assert "status_url" in honest["access_request"]
        for content, headers in (
            (gzip.compress(b"x"), {"content_encoding": "gzip"}),
            (b'{"a":1,"a":2}', {"content_type": "application/json"}),
        ):
            refused = (await at.write(path="/news", content=content, **headers)).json()
            assert refused["code"] == "consent_required"
            assert refused["access_request"] == {"request_url": f"{PREFIX}/consents"}
        flowing = (await at.write(path="/flow")).json()
        assert "status_url" not in flowing["access_request"]
        assert len(at.built.entries("consent")) == 1


async def test_approved_bytes_go_on_unchanged(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        body = '{ "b": 1,\n "a": "\u00e9" }'
        approval_id = await at.approved(content_type="application/json", body=body)
        await at.write(approval_id, content=body.encode(), content_type="application/json")
        assert at.built.bodies == [body.encode()]


async def test_a_guessed_id_and_somebody_elses_look_alike(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        approval_id = await at.approved()
        other = await arrived(at.built, at.client, "other")

        async def seen(given: str) -> tuple[Any, ...]:
            problem = (await other.write(given)).json()
            return problem["code"], problem["detail"], problem["access_request"]

        assert await seen(approval_id) == await seen("01890a5d-ac96-774b-bcce-b302099a8057")
        assert at.built.calls == []


async def test_no_agent_becomes_an_approver(tmp_path: Path) -> None:
    """There is no route on which a credential decides, and no command that approves without a sign-in."""
    assert sorted(command.commands) == ["deny", "list", "revoke", "show"]
    routes = [f"{e.method} {e.path}" for e in ENDPOINTS if "consent" in e.path or "approval" in e.path]
    assert routes == [
        "POST /consents",
        "GET /consents/{id}",
        "POST /consents/{id}/cancel",
        "DELETE /approvals/{id}",
        "GET /approvals/{id}/receipt",
    ]
    async with desk(tmp_path) as at:
        told = (await at.ask()).json()
        for method in ("POST", "PUT", "PATCH"):
            for path in (told["status_url"], f"{told['status_url']}/approve", f"{told['status_url']}/cancel"):
                body = {"decision": "approve", "displayed_digest": "ab" * 32}
                await at.client.request(method, path, headers=at.own, json=body)
        assert (await at.status(told["id"]))["status"] in {"pending", "cancelled"}
        assert "approval_id" not in await at.status(told["id"])
        agents_own = person(at.built.entries("consent")[0]["principal"]["id"], roles=())
        with pytest.raises(Exception, match="no such thing"):
            await at.decide(told["id"], approver=agents_own)


async def test_the_person_behind_the_agent_does_not_approve(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = (await at.ask()).json()
        agent_id = at.built.negotiator.administration.agents()[0].agent_id
        behind = (
            person("grace"),
            Approver(person_id="0193", name="Grace", roles=frozenset({"approver"}), assurance=4),
            Approver(
                person_id="0194",
                name="G.",
                roles=frozenset({"approver"}),
                assurance=4,
                operated_agents=frozenset({agent_id}),
            ),
        )
        for each in behind:
            with pytest.raises(RequestError) as caught:
                await at.decide(told["id"], approver=each)
            assert caught.value.code == "refused"
        assert (await at.status(told["id"]))["status"] == "pending"
        assert (await at.decide(told["id"], "deny", approver=behind[0])) == "denied", "saying no is always possible"


async def test_where_two_people_are_needed_the_operator_is_known(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        nobodys = await arrived(at.built, at.client, "nobodys", operated_by="")
        told = (await nobodys.ask(resource="pair", target="/pair")).json()
        with pytest.raises(RequestError) as caught:
            await nobodys.decide(told["id"])
        assert caught.value.code == "refused"
        honest = (await at.ask(resource="pair", target="/pair")).json()
        assert await at.decide(honest["id"]) == "approved"


async def test_two_people_decide_once(tmp_path: Path, database_url: str) -> None:
    async with desk(tmp_path, database=database_url) as at:
        told = (await at.ask()).json()
        decisions = at.built.negotiator.consent_decisions
        shown = await decisions.show(ADA, told["id"])

        async def says(decision: str, who: str) -> str:
            try:
                return await decisions.decide(
                    person(who),
                    told["id"],
                    displayed_digest=shown.digest,
                    decision=decision,  # type: ignore[arg-type]
                )
            except RequestError as error:
                return error.code

        said = await asyncio.gather(says("approve", "ada"), says("deny", "bob"), says("approve", "eva"))
        assert sorted(said, key=lambda each: each == "display_changed")[1:] == ["display_changed"] * 2
        ends = [entry for entry in at.built.entries("consent") if entry["code"] != "consent_requested"]
        assert len(ends) == 1
