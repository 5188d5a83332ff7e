"""Evidence that an agent made itself, found, stole or bent is not evidence: what it names counts for nothing.

Each attack starts with the honest path, so that a refusal is one of the attack and of nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from negotiator.canonical import sha256_hex
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog
from tests.support.evidence import Issuer
from tests.support.house import PREFIX, House, house
from tests.support.interleaving import policies_with

EVERY = ["provenance", "audit_log", "validator_output", "consent_record", "memory_review", "final_report"]
WANTS = {
    kind: f'@id("wants") @title("wants") @requires("evidence:{kind}") @remedy("bring it") '
    'forbid (principal, action == Uaix::Action::"render_ui", resource) '
    f'unless {{ context.request.hasTag("evidence:{kind}") && context.request.getTag("evidence:{kind}") != "self" }};'
    for kind in ("consent_record", "validator_output")
}


@dataclass
class Scene:
    built: House
    client: httpx.AsyncClient
    issuer: Issuer
    agents: dict[str, tuple[str, str]]

    def own(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.agents[name][0]}"}

    def subject(self, name: str) -> str:
        found = next(agent for agent in self.built.negotiator.administration.agents() if agent.name == name)
        return found.subject

    async def hand_in(self, name: str, content: bytes, kind: str, attestation: str = "") -> httpx.Response:
        headers = self.own(name) | ({"uaix-attestation": attestation} if attestation else {})
        address = f"{PREFIX}/evidence" + (f"?kind={kind}" if kind else "")
        return await self.client.post(address, content=content, headers=headers)

    async def looks(self, name: str, *evidence_ids: str) -> httpx.Response:
        """Ask for the screen, which the policies of this scene show for evidence only."""
        api_token, token = self.agents[name]
        headers = {"uaix-credential": api_token, "uaix-negotiation": token, "uaix-evidence": ", ".join(evidence_ids)}
        return await self.client.get("/screen", headers=headers)


@asynccontextmanager
async def scene(folder: Path, database_url: str, *, wants: str = "consent_record") -> AsyncIterator[Scene]:
    with house(folder, database=database_url) as built:
        assert built.negotiator.use_bundle(policies_with(WANTS[wants]), actor="test")
        issuer = Issuer()
        kinds = ("consent_record", "memory_review")
        built.negotiator.evidence_administration.add_issuer("notary", issuer.public, kinds=kinds, actor="test")
        async with built.client() as client:
            agents = {}
            for name in ("helper", "thief"):
                api_token = built.agent(name, max_level=Level.L4)
                agents[name] = (api_token, await built.token(client, Level.L4, api_token))
            yield Scene(built, client, issuer, agents)


RECORD = b"ana consents to the screen"


async def honest(at: Scene) -> str:
    """Hand in what the notary signed about the helper, use it, and return its id."""
    attestation = at.issuer.attests(RECORD, kind="consent_record", about=at.subject("helper"))
    handed = await at.hand_in("helper", RECORD, "consent_record", attestation)
    assert (handed.status_code, handed.json()["origin"]) == (201, "attested"), handed.text
    evidence_id = str(handed.json()["id"])
    assert evidence_id == f"sha256:{sha256_hex(RECORD)}"
    shown = await at.looks("helper", evidence_id)
    assert shown.status_code == 200, shown.text
    intent = at.built.entries("intent")[-1]
    assert intent["claims"]["evidence"] == {"consent_record": evidence_id}
    assert intent["facts"]["request"]["tags"] == {"evidence:consent_record": "attested"}
    at.built.calls.clear()
    return evidence_id


def refused(at: Scene, answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (403, "evidence_required"), answer.text
    assert [each["id"] for each in answer.json()["obligations"]] == ["evidence:consent_record"]
    assert at.built.calls == []


async def test_what_an_agent_says_itself_is_no_consent_record(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        await honest(at)
        before = len(at.built.entries("evidence"))
        for kind in ("consent_record", "memory_review"):
            forged = await at.hand_in("thief", b"I consent", kind)
            assert (forged.status_code, forged.json()["code"]) == (422, "evidence_never_self")
        assert len(at.built.entries("evidence")) == before
        refused(at, await at.looks("thief", f"sha256:{sha256_hex(b'I consent')}"))


async def test_knowing_a_digest_is_no_access(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        evidence_id = await honest(at)
        refused(at, await at.looks("thief", evidence_id))
        unknown = f"sha256:{'0' * 64}"
        foreign = await at.client.get(f"{PREFIX}/evidence/{evidence_id}", headers=at.own("thief"))
        missing = await at.client.get(f"{PREFIX}/evidence/{unknown}", headers=at.own("thief"))
        assert foreign.status_code == missing.status_code == 404
        assert foreign.json() == missing.json()
        taken = await at.client.delete(f"{PREFIX}/evidence/{evidence_id}", headers=at.own("thief"))
        assert taken.status_code == 404
        assert (await at.looks("helper", evidence_id)).status_code == 200, "it still counts for whom it is about"


async def test_what_was_signed_about_another_agent_is_not_mine(tmp_path: Path, database_url: str):
    """The thief knows content and attestation, word for word."""
    async with scene(tmp_path, database_url) as at:
        evidence_id = await honest(at)
        attestation = at.issuer.attests(RECORD, kind="consent_record", about=at.subject("helper"))
        stolen = await at.hand_in("thief", RECORD, "consent_record", attestation)
        assert (stolen.status_code, stolen.json()["code"]) == (422, "attestation_invalid")
        refused(at, await at.looks("thief", evidence_id))
        as_other = await at.hand_in("thief", RECORD, "provenance")
        assert (as_other.status_code, as_other.json()["id"]) == (201, evidence_id), "the same bytes, another link"
        refused(at, await at.looks("thief", evidence_id))


async def test_a_signature_holds_for_these_bytes_as_this_kind(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        await honest(at)
        about, sign = at.subject("thief"), at.issuer
        review = sign.attests(b"reviewed", kind="memory_review", about=about)
        stranger = Issuer()
        header = {"alg": "EdDSA", "kid": sign.key_id, "kind": "consent_record", "sub": about}
        typ = {"typ": "uaix-evidence+jws"}
        forged = {
            "another kind": review,
            "other bytes": sign.attests(b"Reviewed", kind="consent_record", about=about),
            "an unregistered key": stranger.attests(b"reviewed", kind="consent_record", about=about),
            "another's key id": stranger.signs_members(b"reviewed", **header, **typ),
            "no algorithm": sign.signs_members(b"reviewed", **header | {"alg": "none"}, **typ),
            "another purpose": sign.signs_members(b"reviewed", **header, typ="uaix-negotiation+jwt"),
            "a key to fetch": sign.signs_members(b"reviewed", **header, **typ, jku="https://evil.example/keys"),
            "a key of its own": sign.signs_members(b"reviewed", **header, **typ, jwk={"kty": "OKP"}),
            "a critical header": sign.signs_members(b"reviewed", **header, **typ, crit=["b64"], b64=False),
            "no type": sign.signs_members(b"reviewed", **header),
            "numbers": sign.signs_members(b"reviewed", **header | {"sub": 1}, **typ),
        }
        for name, attestation in forged.items():
            answer = await at.hand_in("thief", b"reviewed", "consent_record", attestation)
            assert (answer.status_code, answer.json()["code"]) == (422, "attestation_invalid"), name
        assert (await at.hand_in("thief", b"reviewed", "memory_review", review)).status_code == 201


async def test_an_issuer_attests_what_it_was_registered_for(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        await honest(at)
        output = at.issuer.attests(b"valid", kind="validator_output", about=at.subject("helper"))
        answer = await at.hand_in("helper", b"valid", "validator_output", output)
        assert (answer.status_code, answer.json()["code"]) == (422, "attestation_invalid")


async def test_a_revoked_issuer_takes_its_word_along(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        evidence_id = await honest(at)
        at.built.negotiator.evidence_administration.revoke_issuer("notary", actor="test")
        refused(at, await at.looks("helper", evidence_id))
        attestation = at.issuer.attests(b"more", kind="consent_record", about=at.subject("helper"))
        assert (await at.hand_in("helper", b"more", "consent_record", attestation)).status_code == 422
        with pytest.raises(Exception, match="registered already"):
            at.built.negotiator.evidence_administration.add_issuer(
                "notary again", at.issuer.public, kinds=["consent_record"], actor="test"
            )


async def test_withdrawn_evidence_counts_no_more(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        evidence_id = await honest(at)
        gone = await at.client.delete(f"{PREFIX}/evidence/{evidence_id}", headers=at.own("helper"))
        assert gone.status_code == 204
        refused(at, await at.looks("helper", evidence_id))


async def test_a_shell_on_the_host_makes_no_consent_record(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url) as at:
        await honest(at)
        administration = at.built.negotiator.evidence_administration
        for kind in ("consent_record", "memory_review", "validator_output"):
            with pytest.raises(Exception, match="somebody's word") as caught:
                administration.add(b"ok", media_type="text/plain", kind=kind, about="thief", actor="root")
            assert caught.value.code == "evidence_never_self"
        handed = administration.add(b"ok", media_type="text/plain", kind="provenance", about="thief", actor="root")
        assert handed.link.origin == "self"


async def test_only_a_valid_message_has_validator_output(tmp_path: Path, database_url: str):
    async with scene(tmp_path, database_url, wants="validator_output") as at:
        document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L4]]
        invalid = await at.hand_in("helper", b'{"valid": true, "findings": []}', "validator_output")
        assert (invalid.status_code, invalid.json()["code"]) == (422, "evidence_invalid")
        handed = await at.client.post(
            f"{PREFIX}/evidence?kind=validator_output", json=document, headers=at.own("helper")
        )
        assert (handed.status_code, handed.json()["origin"]) == (201, "system"), handed.text
        assert (await at.looks("helper", handed.json()["id"])).status_code == 200


async def test_an_audited_agent_brings_all_six_or_writes_nothing(tmp_path: Path, database_url: str):
    """Whatever else is missing: each kind of evidence that is, is named."""
    with house(tmp_path, database=database_url) as built:
        issuer = Issuer()
        administration = built.negotiator.evidence_administration
        administration.add_issuer("notary", issuer.public, kinds=EVERY, actor="test")
        api_token = built.agent("auditee", max_level=Level.L6)
        [agent] = built.negotiator.administration.agents()
        async with built.client() as client:
            token = await built.token(client, Level.L6, api_token)
            ids = []
            for kind in EVERY:
                content = f"the {kind}".encode()
                attestation = issuer.attests(content, kind=kind, about=agent.subject)
                handed = await client.post(
                    f"{PREFIX}/evidence?kind={kind}",
                    content=content,
                    headers={"authorization": f"Bearer {api_token}", "uaix-attestation": attestation},
                )
                assert handed.status_code == 201, handed.text
                ids.append(handed.json()["id"])

            async def missing(*evidence_ids: str) -> list[str]:
                headers = {"uaix-credential": api_token, "uaix-negotiation": token, "idempotency-key": "k-1"}
                if evidence_ids:
                    headers["uaix-evidence"] = ", ".join(evidence_ids)
                answer: Any = (await client.post("/comments", content=b"x", headers=headers)).json()
                return [each["id"] for each in answer["obligations"] if each["id"].startswith("evidence:")]

            assert await missing() == [f"evidence:{kind}" for kind in EVERY]
            assert await missing(*ids) == []
            for place, kind in enumerate(EVERY):
                assert await missing(*ids[:place], *ids[place + 1 :]) == [f"evidence:{kind}"]
            assert built.calls == []
