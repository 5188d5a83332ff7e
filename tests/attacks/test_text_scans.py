"""Attack: hide a claim or a secret from the scans, or make them repeat it.

Honest path: the boundary in three languages and honest negations pass. The attack: disguises, odd places, keys.
Nothing moved: the fact is found all the same, and no secret is in what the scan returns.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from negotiator.messages.facts import declaration_of
from negotiator.model.messages import Declaration, Message

NOW = datetime(2026, 1, 15, tzinfo=UTC)
SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
BODY = {
    "client_level": "L0",
    "client_name": "Reader",
    "fallback_behavior": "Read static HTML.",
    "safe_default_response": "Stop before any write.",
}
HONEST = (
    """
    Carcinus.org is a separate runtime example that may consume UAIX records; UAIX.org neither implements Carcinus
    behaviour nor executes its workflows. LocalEndPoint is an external consumer boundary, not a feature of a UAIX
    runtime. UAIX certifies nothing.
    """,
    """
    Carcinus.org es un ejemplo de runtime separado que puede consumir registros UAIX; UAIX.org no implementa el
    comportamiento de Carcinus ni ejecuta sus flujos. LocalEndPoint es un límite externo, no una función del runtime
    de UAIX. UAIX no certifica nada.
    """,
    """
    Carcinus.org 是单独的运行时示例，可以使用 UAIX 记录；UAIX.org 不实现 Carcinus 的行为，也不执行其工作流。
    LocalEndPoint 是外部使用者的边界，而不是 UAIX 的运行时功能。UAIX 不认证任何代理。
    """,
)
CLAIMS = ("claims_runtime", "claims_certification", "boundary_unclear", "has_unsafe_credential", "js_only")


def declared(body=None, /, **envelope) -> Declaration:
    profile = "uai.client.limited-browser.v1"
    keyed = {"profile": profile, "body": BODY | (body or {}), **envelope}
    return declaration_of(Message(profile=profile, keyed=keyed, encoding="keyed", digest="0" * 64), now=NOW)


def found(declaration: Declaration) -> set[str]:
    return {fact for fact in CLAIMS if getattr(declaration.facts, fact)}


@pytest.mark.parametrize("statement", HONEST)
def test_the_honest_boundary_passes_wherever_it_stands(statement):
    assert found(declared({"known_limits": [statement]})) == set()
    assert found(declared(extensions={"boundary": {"statement": statement}}, provenance={"note": statement})) == set()


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("U\u200bA\u200bI\u200bX exe\u2060cutes the tasks.", "claims_runtime"),
        ("ＵＡＩＸ ＥＸＥＣＵＴＥＳ the tasks.", "claims_runtime"),
        ("UАІХ executes the tasks.", "claims_runtime"),  # Cyrillic letters
        ("UAIX\r\nexecutes\r\nthe tasks.", "claims_runtime"),
        ("We never write. \u202eUAIX\u202c executes the tasks.", "claims_runtime"),
        ("UAIX does not execute reads, but UAIX executes writes.", "claims_runtime"),
        ("U-A-I-X certified", "claims_certification"),
        ("certificado\u00a0por\u00a0UAIX", "claims_certification"),
        ("UAIX\u3000认\u200b证", "claims_certification"),
        ("C\u00adarcinus is pa\u200drt of UAIX", "boundary_unclear"),
        ("local_end_point is a UAIX runtime feature", "boundary_unclear"),
        (SECRET, "has_unsafe_credential"),
        ("\u200b".join(SECRET), "has_unsafe_credential"),
        (f"{SECRET[:4]} {SECRET[4:10]}\n{SECRET[10:]}", "has_unsafe_credential"),
        (base64.b64encode(f"key {SECRET}".encode()).decode(), "has_unsafe_credential"),
        (base64.b64encode(base64.b64encode(f"key {SECRET}".encode())).decode(), "has_unsafe_credential"),
    ],
)
@pytest.mark.parametrize(
    "place",
    [
        lambda text: declared({"client_name": text}),
        lambda text: declared({"known_limits": ["fine", text]}),
        lambda text: declared(provenance={"a": [{"b": text}]}),
        lambda text: declared(extensions={"x": {"y": {"z": text}}}),
        lambda text: declared(source={"agent": text}),
    ],
)
def test_no_disguise_and_no_place_hides_it(place, text, fact):
    assert found(place(text)) == {fact}


@pytest.mark.parametrize(
    "declaration",
    [
        declared({"known_limits": [SECRET]}),
        declared(extensions={SECRET: "value"}),
        declared(extensions={SECRET: {"inner": [SECRET]}}),
        declared(extensions={f"api_key={SECRET}": {"deeper": {"password": "hunter2"}}}),
        declared({f"can_{SECRET}": True}),
        declared({"requires_human_consent_for": [SECRET]}),
    ],
)
def test_nothing_that_the_scan_adds_repeats_the_secret(declaration):
    assert declaration.facts.has_unsafe_credential
    said = repr((declaration.facts, dict(declaration.pointers), declaration.notes))
    assert SECRET not in said
    assert "hunter2" not in said


def test_a_key_without_end_is_not_copied_into_a_pointer():
    declaration = declared(extensions={"k" * 10_000: {"password": "hunter2"}})
    assert declaration.pointers["has_unsafe_credential"] == "/extensions/password"
