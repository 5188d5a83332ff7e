"""An agent asks, a person decides, the agent acts: once, exactly, while it holds."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import jwt
import pytest
from jwt.utils import base64url_decode

from negotiator.canonical import canonical_bytes, decode_json, digest
from negotiator.errors import RequestError
from negotiator.model.consents import BINDS_OF_SCOPE, ConsentState, Narrowing
from negotiator.model.levels import Level
from negotiator.services.consent_decisions import expiry_chore
from tests.support.consents import ADA, desk, person
from tests.support.house import PREFIX
from tests.support.interleaving import policies_with


async def test_the_whole_way_by_an_explicit_request(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        refused = (await at.write()).json()
        assert refused["code"] == "consent_required"
        assert refused["access_request"] == {"request_url": f"{PREFIX}/consents"}

        asked = await at.ask()
        assert asked.status_code == 202, asked.text
        told = asked.json()
        assert told.keys() >= {"id", "status", "status_url", "ticket_url", "cancel_url", "match_code", "expires_at"}
        assert (told["status"], asked.headers["location"]) == ("pending", told["status_url"])
        waiting = (await at.write()).json()
        assert (waiting["code"], waiting["access_request"]["id"]) == ("consent_pending", told["id"])

        shown = await at.built.negotiator.consent_decisions.show(ADA, told["id"])
        assert shown.display["match_code"] == told["match_code"]
        assert shown.display["body"]["text"] == "hello"
        assert shown.may_approve == ""
        assert await at.decide(told["id"]) is ConsentState.APPROVED
        approval_id = (await at.status(told["id"]))["approval_id"]
        untold = (await at.write()).json()
        assert (untold["code"], untold["access_request"]["approval_id"]) == ("consent_required", approval_id)

        done = await at.write(approval_id)
        assert (done.status_code, done.text) == (200, "from the site")
        assert at.built.calls == ["POST /comments"]
        again = (await at.write(approval_id)).json()
        assert again["code"] == "consent_spent"
        assert at.built.calls == ["POST /comments"]

        codes = [entry["code"] for entry in at.built.entries("consent")]
        assert codes == ["consent_requested", "consent_approved"]
        [intent] = at.built.entries("intent")
        assert intent["claims"]["approval_id"] == approval_id
        assert intent["facts"]["request"]["has_consent"] is True
        approved = at.built.entries("consent")[1]
        assert approved["actor"] == {"type": "Human", "id": "ada"}
        assert approved["assurance"] == 3
        assert approved["policies"] == ["consent.approve"]
        assert "hello" not in str(at.built.entries())


async def test_a_refusal_asks_by_itself_where_the_route_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        first = (await at.write(path="/news")).json()
        assert first["code"] == "consent_required"
        access = first["access_request"]
        assert access["status"] == "pending"
        second = (await at.write(path="/news")).json()
        assert (second["code"], second["access_request"]["id"]) == ("consent_pending", access["id"])
        assert (await at.status(access["id"]))["match_code"] == access["match_code"]
        assert await at.decide(access["id"]) is ConsentState.APPROVED
        approval_id = (await at.status(access["id"]))["approval_id"]
        assert (await at.write(approval_id, path="/news")).status_code == 200
        [request] = [entry for entry in at.built.entries("consent") if entry["code"] == "consent_requested"]
        [decision, _] = at.built.entries("decision")
        assert decision["request_id"] == request["request_id"] == access["id"]


@pytest.mark.parametrize("state", ["cancelled", "denied", "expired", "failed"])
async def test_every_other_end(tmp_path: Path, state: str) -> None:
    async with desk(tmp_path) as at:
        told = (await at.ask()).json()
        if state == "cancelled":
            cancelled = await at.client.post(told["cancel_url"], headers=at.own)
            assert cancelled.json()["status"] == "cancelled"
        elif state == "denied":
            assert await at.decide(told["id"], "deny") is ConsentState.DENIED
        elif state == "failed":
            at.built.negotiator.administration.revoke_agent("helper", actor="test")
            assert await at.decide(told["id"]) is ConsentState.FAILED
        else:
            at.built.clock.advance(3_600)
        if state == "failed":
            assert at.built.entries("consent")[-1]["code"] == "consent_failed"
            return
        if state == "expired":
            at.own = (await _declared_again(at)).own
        assert (await at.status(told["id"]))["status"] == state
        with pytest.raises(RequestError) as caught:
            await at.decide(told["id"])
        assert caught.value.code == "display_changed"


async def _declared_again(at):
    token = at.own["authorization"].removeprefix("Bearer ")
    at.own["uaix-negotiation"] = await at.built.token(at.client, Level.L3, token)
    return at


async def test_the_sweep_ends_what_nobody_decided(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = (await at.ask()).json()
        at.built.clock.advance(3_600)
        await at.built.negotiator.store.transact(expiry_chore().unit)
        await at.built.negotiator.store.transact(expiry_chore().unit)
        [_, expired] = at.built.entries("consent")
        assert (expired["code"], expired["request_id"]) == ("consent_expired", told["id"])


async def test_a_wait_ends_with_the_decision_also_of_another_process(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = (await at.ask()).json()
        waiting = asyncio.create_task(at.status(told["id"], prefer="wait=30"))
        await asyncio.sleep(0.05)
        assert at.built.negotiator.watch.waiting == 1
        at.built.negotiator.consent_desk.deny(told["id"], actor="op")
        assert (await asyncio.wait_for(waiting, 5))["status"] == "denied"
        assert at.built.negotiator.watch.waiting == 0

        now = await at.client.get(f"{PREFIX}/consents/{told['id']}", headers={**at.own, "prefer": "wait=99, x"})
        assert now.headers["preference-applied"] == "wait=30"


async def test_waits_are_few(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = (await at.ask()).json()
        many = [asyncio.create_task(at.status(told["id"], prefer="wait=30")) for _ in range(10)]
        done, waiting = await asyncio.wait(many, timeout=0.4)
        assert (len(done), len(waiting)) == (6, 4)
        await at.decide(told["id"])
        assert {(await each)["status"] for each in waiting} == {"approved"}


async def test_a_person_narrows_and_never_widens(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = (await at.ask(scope="template", uses=3)).json()
        for wider in (
            Narrowing(scope="resource"),
            Narrowing(uses=4),
            Narrowing(uses=0),
            Narrowing(expires_at=at.built.clock.now()),
        ):
            with pytest.raises(RequestError) as caught:
                await at.decide(told["id"], narrowing=wider)
            assert caught.value.code == "narrowing_refused"
        until = at.built.clock.now() + timedelta(seconds=60)
        await at.decide(told["id"], narrowing=Narrowing(scope="exact", uses=2, expires_at=until))
        approval_id = (await at.status(told["id"]))["approval_id"]
        assert (await at.write(approval_id, content=b"other")).json()["code"] == "consent_mismatch"
        assert [(await at.write(approval_id)).status_code for _ in range(3)] == [200, 200, 403]


async def test_a_template_leaves_the_body_open_and_a_resource_the_target(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        template = await at.approved(scope="template", body=None, uses=2)
        assert (await at.write(template, path="/comments?x=1")).json()["code"] == "consent_mismatch"
        assert (await at.write(template, content=b"anything")).status_code == 200
        wide = await at.approved(scope="resource", body=None)
        assert (await at.write(wide, path="/comments?x=1", content=b"anything")).status_code == 200


async def test_one_use_unless_the_person_says_more(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        approval_id = await at.approved(uses=5)
        assert [(await at.write(approval_id)).status_code for _ in range(2)] == [200, 403]


async def test_an_approval_that_nobody_asks_for_is_not_spent(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        approval_id = await at.approved()
        read = await at.client.get("/data", headers={**at.site, "uaix-consent": approval_id})
        assert read.status_code == 200
        lacks_key = await at.client.post(
            "/comments",
            content=b"hello",
            headers={**at.site, "uaix-consent": approval_id, "content-type": "text/plain"},
        )
        assert lacks_key.json()["code"] == "idempotency_key_missing"
        assert (await at.write(approval_id)).status_code == 200


async def test_the_same_key_is_answered_again_and_spends_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        approval_id = await at.approved()
        first = await at.write(approval_id, key="k")
        again = await at.write(approval_id, key="k")
        assert (first.status_code, again.status_code) == (200, 200)
        assert again.headers["idempotent-replayed"] == "true"
        assert at.built.calls == ["POST /comments"]
        uses = await at.built.negotiator.store.read(lambda reader: reader.approvals.uses_of(approval_id))
        assert [use.decision_id for use in uses] == [first.headers["uaix-decision"]]


async def test_a_key_that_was_used_for_something_else_spends_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        first, second = await at.approved(), await at.approved(body="more")
        assert (await at.write(first, key="k")).status_code == 200
        refused = await at.write(second, key="k", content=b"more")
        assert (refused.status_code, refused.json()["code"]) == (422, "idempotency_mismatch")
        assert (await at.write(second, content=b"more")).status_code == 200


async def test_a_replay_of_an_approved_write_ends_when_the_policies_say_never(tmp_path: Path) -> None:
    never = '@id("later") @title("later") forbid (principal, action == Uaix::Action::"post", resource);'
    async with desk(tmp_path) as at:
        approval_id = await at.approved()
        assert (await at.write(approval_id, key="k")).status_code == 200
        await asyncio.to_thread(at.built.negotiator.use_bundle, policies_with(never), actor="test")
        assert (await at.write(approval_id, key="k")).json()["code"] == "refused"


async def test_the_receipt_is_signed_by_a_key_of_its_own(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        approval_id = await at.approved(reason="<b>because</b>")
        await at.write(approval_id)
        await at.client.delete(f"{PREFIX}/approvals/{approval_id}", headers=at.own)
        answer = await at.client.get(f"{PREFIX}/approvals/{approval_id}/receipt", headers=at.own)
        document = answer.json()
        receipt = document["receipt"]
        assert [event["state"] for event in receipt["events"]] == ["given", "used", "withdrawn"]
        assert receipt["events"][1]["decision_id"] == at.built.entries("intent")[0]["decision_id"]
        assert receipt["binds"] == list(BINDS_OF_SCOPE["exact"])
        header = jwt.get_unverified_header(document["signature"])
        assert header["typ"] == "uaix-receipt+jwt"
        await at.built.negotiator.signing.refresh()
        at.built.clock.advance(10)
        keys = (await at.client.get(f"{PREFIX}/keys")).json()["keys"]
        [key] = [key for key in keys if key["kid"] == header["kid"]]
        assert key["purpose"] == "receipt"
        assert jwt.api_jws.decode(document["signature"], jwt.PyJWK(key).key, algorithms=["EdDSA"]) == canonical_bytes(
            receipt
        )
        payload = decode_json(base64url_decode(document["signature"].split(".")[1]))
        assert payload == receipt


async def test_the_digest_is_that_of_binds_and_values(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.approved()
        [entry] = [each for each in at.built.entries("consent") if each["code"] == "consent_approved"]
        approval = await at.built.negotiator.store.read(lambda reader: reader.approvals.get(entry["approval_id"]))
        assert approval.digest == digest({"binds": list(approval.binds), "values": dict(approval.values)})
        assert entry["approved_digest"] == approval.digest


async def test_asking_again_with_the_same_key_is_one_request(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        first = await at.ask(key="k")
        again = await at.ask(key="k")
        assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
        assert again.headers["idempotent-replayed"] == "true"
        equal = await at.ask(key="k2")
        assert equal.json()["id"] == first.json()["id"], "an equal one waits already"
        assert (await at.ask(key="k2")).json()["id"] == first.json()["id"]
        other = await at.ask(key="k", body="other")
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
        assert [entry["code"] for entry in at.built.entries("consent")] == ["consent_requested"]


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"action": "fly"}, 403, "route_not_governed"),
        ({"resource": "nothing"}, 403, "route_not_governed"),
        ({"method": "DELETE"}, 403, "route_not_governed"),
        ({"action": "read_json", "resource": "data", "method": "GET", "target": "/data"}, 422, "consent_not_needed"),
        ({"resource": "guarded", "target": "/guarded", "scope": "template"}, 422, "scope_not_allowed"),
        ({"resource": "flow", "target": "/flow"}, 422, "scope_not_allowed"),
        ({"scope": "all"}, 422, "consent_invalid"),
        ({"uses": 0}, 422, "consent_invalid"),
        ({"uses": True}, 422, "consent_invalid"),
        ({"uses": 101}, 422, "consent_invalid"),
        ({"target": "comments"}, 422, "consent_invalid"),
        ({"target": None}, 422, "consent_invalid"),
        ({"reason": "x" * 2001}, 422, "consent_invalid"),
        ({"expires_at": "tomorrow"}, 422, "consent_invalid"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 422, "consent_invalid"),
        ({"body_sha256": "ab" * 32}, 422, "consent_invalid"),
        ({"approver": "eve"}, 422, "consent_invalid"),
    ],
)
async def test_what_cannot_be_asked(tmp_path: Path, changes: dict[str, object], status: int, code: str) -> None:
    async with desk(tmp_path) as at:
        entries = len(at.built.entries())
        refused = await at.ask(**changes)
        assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
        assert len(at.built.entries()) == entries


async def test_asking_takes_an_identity_a_declaration_and_a_key(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        document = {"action": "post", "resource": "comments", "method": "POST", "target": "/comments"}

        async def code(**headers: str) -> str:
            answer = await at.client.post(f"{PREFIX}/consents", json=document, headers=headers)
            return str(answer.json()["code"])

        anonymous = await at.built.token(at.client, Level.L3)
        assert await code() == "declaration_required"
        assert await code(authorization=at.own["authorization"]) == "declaration_required"
        assert await code(**{"uaix-negotiation": anonymous}) == "identity_required"
        assert await code(**at.own) == "idempotency_key_missing"


async def test_assurance_is_asked_for_as_the_resource_is_guarded(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        told = (await at.ask(resource="guarded", target="/guarded")).json()
        for assurance in (1, 2, 3):
            weak = person(assurance=assurance)
            shown = await at.built.negotiator.consent_decisions.show(weak, told["id"])
            assert shown.may_approve == "assurance_too_low"
            with pytest.raises(RequestError) as caught:
                await at.decide(told["id"], approver=weak)
            assert caught.value.code == "assurance_too_low"
        [*_, refused] = at.built.entries("consent")
        assert (refused["decision"], refused["code"]) == ("deny", "assurance_too_low")
        assert refused["policies"] == ["consent.security-key"]
        assert await at.decide(told["id"], approver=person(assurance=4)) is ConsentState.APPROVED
