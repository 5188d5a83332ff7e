"""The facts of a declaration: what a capability message says, reduced to what policies may read.

Rules:

- Facts only. Which of them refuse, and at which level, is written in `policies/`.
- Absent never means true: a flag counts only as the literal `true`, a text only if it is not blank, a time only if it
  is RFC 3339 in UTC with `Z`, a list entry only if it is a word that the registry knows.
- Every text of the message is scanned, keys and extensions included; a document of the wrong shape yields zero facts,
  never an error (its shape is the schema's concern).
- A pointer leads to the first place of its kind. Neither a pointer nor a note repeats a secret: a key that holds one
  is pointed at through its parent.

What this module does not do: check the schema, name unknown body keys, or decide anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from negotiator.canonical import escape_pointer
from negotiator.content.boundary import find_blurred_boundaries
from negotiator.content.claims import find_certification_claims, find_runtime_claims
from negotiator.content.credentials import find_credentials, is_private_key_object, is_secret_member
from negotiator.content.javascript import find_javascript_only, names_rollback, names_static_way
from negotiator.content.rules import Hit
from negotiator.content.text import Folded, fold
from negotiator.model.facts import DeclaredFacts
from negotiator.model.findings import Finding, Severity
from negotiator.model.levels import ABILITIES, PROFILE_OF_LEVEL, Level
from negotiator.model.messages import Declaration, Message
from negotiator.model.obligations import EVIDENCE_KINDS

__all__ = ["CONSENT_WORDS", "MEMORY_PROPOSAL_PROFILE", "declaration_of"]

CONSENT_WORDS = ("write", "authorization", "memory", "public_publishing", "coordination")
"""The words of `requires_human_consent_for` that make a consent boundary (CAP-15, CAP-25)."""

MEMORY_PROPOSAL_PROFILE = "uai.agent.memory-proposal.v1"
"""The profile that a client which stores memory declares (CAP-19)."""

_ANY_LEVEL_PROFILE = "uai.capability.profile.v1"
_HIGH_TRUST_EVIDENCE = frozenset(EVIDENCE_KINDS[:6])

_CLAIM_SCANS: Mapping[str, Callable[[Folded], tuple[Hit, ...]]] = {
    "claims_runtime": find_runtime_claims,
    "claims_certification": find_certification_claims,
    "boundary_unclear": find_blurred_boundaries,
}
# Where a client says how it goes on when it cannot do what it would like to.
_FALLBACK = "/body/fallback_behavior"
_WAYS = (_FALLBACK, "/body/safe_default_response", "/body/known_limits", "/delivery/fallback_directive")

# Words for high assurance, and the members of `trust` that carry one (their spelling is not published).
_ASSURANCE_KEYS = frozenset({"assurance", "assurance_level", "level", "trust_level", "trust_tier", "tier", "trust"})
_HIGH = frozenset(
    {"high", "very high", "highest", "maximum", "max", "full", "high assurance", "high trust", "audited", "aal3",
     "ial3", "loa4", "alta", "alto", "muy alta", "maxima", "高", "最高", "高可信", "高信任", "高可信度"}
)  # fmt: skip
_HIGH_FLAGS = frozenset({"high_trust", "high_assurance"})

_UTC_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z")
_SIGNATURE_KEYS = frozenset({"signature", "signatures", "jws", "proof"})
_CAMEL_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONGEST_POINTED_KEY = 128


def declaration_of(message: Message, *, now: datetime) -> Declaration:
    """Return what `message` declares.

    Args:
        message: a message with a capability profile.
        now: the time that an expiry is compared with; aware.

    Raises:
        RequestError: `unknown_level`, if `client_level` names none; no other exception escapes.

    Source: CAP-10, CAP-14 to CAP-20, CAP-23, CAP-24.
    """
    body, delivery = _members(message.keyed.get("body")), _members(message.keyed.get("delivery"))
    level = Level.parse(_text(body.get("client_level")))
    has_expiry, is_expired = _expiry(delivery, now)
    scanned, pointers = _scan(message.keyed)
    return Declaration(
        message=message,
        level=level,
        client_name=_text(body.get("client_name")),
        abilities=MappingProxyType({ability: body.get(ability) is True for ability in ABILITIES}),
        facts=DeclaredFacts(
            profile_matches=message.profile in {_ANY_LEVEL_PROFILE, PROFILE_OF_LEVEL[level]},
            **_declared_words(body),
            **_envelope_facts(message.keyed, delivery),
            **scanned,
        ),
        has_idempotency_key=_says_something(_text(delivery.get("idempotency_key"))),
        has_correlation=_says_something(_text(_members(message.keyed.get("conversation")).get("correlation_id"))),
        has_expiry=has_expiry,
        is_expired=is_expired,
        pointers=MappingProxyType(
            pointers | _member_pointers(body, delivery, has_expiry=has_expiry, is_expired=is_expired)
        ),
        notes=tuple(_unknown_consent_words(body)),
        fallback=_text(body.get("fallback_behavior")),
        safe_default=_text(body.get("safe_default_response")),
    )


# ------------------------------------------------------------------------------------------- words of closed registries


def _declared_words(body: Mapping[str, Any]) -> dict[str, Any]:
    consents = set(_texts(body.get("requires_human_consent_for")))
    evidence = frozenset(_texts(body.get("evidence_requirements"))).intersection(EVIDENCE_KINDS)
    return {
        "proposal_profile_declared": MEMORY_PROPOSAL_PROFILE in _texts(body.get("declared_or_required_uaix_profiles")),
        "unknown_ability": next(_unknown_abilities(body), None) is not None,
        "consent_boundary": not consents.isdisjoint(CONSENT_WORDS),
        **{f"consents_{word}": word in consents for word in CONSENT_WORDS},
        "declared_evidence": evidence,
        "evidence_declared": evidence >= _HIGH_TRUST_EVIDENCE,
    }


def _unknown_abilities(body: Mapping[str, Any]) -> Iterator[str]:
    for key, value in body.items():
        if value is not False and key not in ABILITIES and key.casefold().startswith("can_"):
            yield key


def _unknown_consent_words(body: Mapping[str, Any]) -> Iterator[Finding]:
    for number, word in enumerate(_entries(body.get("requires_human_consent_for"))):
        if word not in CONSENT_WORDS:
            yield Finding(
                code="unknown_consent_word",
                severity=Severity.WARNING,
                pointer=f"/body/requires_human_consent_for/{number}",
                message="this word is kept, but it is no consent scope and sets no consent boundary",
                remedy=f"use {', '.join(CONSENT_WORDS)}",
                source="scan:consent",
            )


# ------------------------------------------------------------------------------------------------------- the envelope


def _envelope_facts(keyed: Mapping[str, Any], delivery: Mapping[str, Any]) -> dict[str, Any]:
    timeout = delivery.get("timeout_ms")
    return {
        "has_provenance": _says_something(keyed.get("provenance")),
        "has_integrity": _says_something(keyed.get("integrity")),
        "high_trust": _claims_high_trust(keyed.get("trust")),
        "has_timeout": isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0,
    }


def _expiry(delivery: Mapping[str, Any], now: datetime) -> tuple[bool, bool]:
    """Whether the message has a usable expiry time, and whether that time has come. Source: RFC 3339."""
    text = _text(delivery.get("expires_at"))
    if not _UTC_TIME.fullmatch(text):
        return False, False
    try:
        return True, datetime.fromisoformat(text) <= now
    except ValueError:  # a date that no calendar has
        return False, False


def _says_something(value: object) -> bool:
    """Whether there is anything in `value`: `{}`, `{"a": []}` and `" "` are empty."""
    return any(leaf.strip() if isinstance(leaf, str) else leaf is not None for leaf in _leaves(value))


def _leaves(value: object) -> Iterator[object]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            stack.extend(node.values())
        elif isinstance(node, list | tuple):
            stack.extend(node)
        else:
            yield node


def _claims_high_trust(trust: object) -> bool:
    """Whether the envelope's `trust` claims high assurance, as a word of its own or in a member that ranks it."""
    stack: list[tuple[str, object]] = [("trust", trust)]
    while stack:
        key, value = stack.pop()
        if isinstance(value, Mapping):
            stack.extend((str(name).casefold(), member) for name, member in value.items())
        elif isinstance(value, list | tuple):
            stack.extend((key, entry) for entry in value)
        elif (value is True and key in _HIGH_FLAGS) or (key in _ASSURANCE_KEYS and _is_high(value)):
            return True
    return False


def _is_high(value: object) -> bool:
    return isinstance(value, str) and fold(value).replace("_", " ").replace("-", " ") in _HIGH


# ------------------------------------------------------------------------------------------------------ scans of text


@dataclass(frozen=True, slots=True)
class _Spot:
    """A text of the message and where it stands; `is_secret` when its place alone makes it a secret."""

    pointer: str
    text: str
    is_prose: bool = True
    is_secret: bool = False
    is_signature: bool = False


def _scan(keyed: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The facts that come from text, and the pointers of those that are true."""
    spots = tuple(_spots(keyed))
    prose = tuple((spot.pointer, fold(spot.text)) for spot in spots if spot.is_prose)
    ways = tuple((pointer, text) for pointer, text in prose if pointer.startswith(_WAYS))
    fallback_named = any(names_static_way(text) for pointer, text in ways if pointer.startswith(_FALLBACK))

    found = {fact: _first(prose, scan) for fact, scan in _CLAIM_SCANS.items()}
    found["has_unsafe_credential"] = next((spot.pointer for spot in spots if _gives_away(spot)), None)
    found["js_only"] = None if fallback_named else _first(ways, find_javascript_only)

    facts: dict[str, Any] = {fact: pointer is not None for fact, pointer in found.items()}
    facts |= {"fallback_named": fallback_named, "rollback_named": any(names_rollback(text) for _, text in ways)}
    return facts, {fact: pointer for fact, pointer in found.items() if pointer is not None}


def _first(prose: Sequence[tuple[str, Folded]], scan: Callable[[Folded], tuple[Hit, ...]]) -> str | None:
    return next((pointer for pointer, text in prose if scan(text)), None)


def _gives_away(spot: _Spot) -> bool:
    hits = find_credentials(spot.text)
    if spot.is_signature:  # a detached JWS is what belongs there
        hits = tuple(hit for hit in hits if hit.pattern != "credential.jwt")
    return spot.is_secret or bool(hits)


def _spots(keyed: Mapping[str, Any]) -> Iterator[_Spot]:
    """Every text of the message in document order: values, keys, and lists of texts read as one."""
    stack: list[tuple[str, object, bool]] = [("", keyed, False)]
    while stack:
        pointer, node, is_signature = stack.pop()
        if isinstance(node, _Spot):
            yield node
        elif isinstance(node, str):
            yield _Spot(pointer, node, is_signature=is_signature)
        elif isinstance(node, Mapping):
            inside = [(_step(pointer, key), key, value) for key, value in node.items()]
            yield from _key_spots(pointer, node, inside)
            stack.extend((step, value, is_signature or key in _SIGNATURE_KEYS) for step, key, value in reversed(inside))
        elif isinstance(node, list | tuple):
            if len(parts := _texts(node)) > 1:  # read as one after each of them
                stack.append((pointer, _Spot(pointer, "".join(parts), is_prose=False), is_signature))
            stack.extend((f"{pointer}/{number}", node[number], is_signature) for number in reversed(range(len(node))))


def _key_spots(pointer: str, node: Mapping[str, Any], inside: Sequence[tuple[str, str, object]]) -> Iterator[_Spot]:
    if is_private_key_object(node):
        yield _Spot(pointer, "", is_prose=False, is_secret=True)
    for step, key, value in inside:
        if is_secret_member(key, value):
            yield _Spot(step, "", is_prose=False, is_secret=True)
        if key not in _PLAIN_KEYS:
            yield _Spot(step, key, is_prose=False)
            if _names_uaix(key) and value not in (False, None, "", [], {}):  # `uaix_certified: false` claims nothing
                yield _Spot(step, _CAMEL_HUMP.sub(" ", key).replace("_", " "))


def _names_uaix(key: str) -> bool:
    return not key.isascii() or "uaix" in key.lower()


_PLAIN_KEYS = frozenset(
    {
        *ABILITIES, "client_level", "client_name", "requires_human_consent_for", "declared_or_required_uaix_profiles",
        "fallback_behavior", "known_limits", "evidence_requirements", "safe_default_response",
        "uai_version", "profile", "message_id", "source", "target", "conversation", "delivery", "trust", "body",
        "provenance", "integrity", "extensions", "correlation_id", "idempotency_key", "expires_at", "timeout_ms",
        "retry_count", "fallback_directive", "task_ref", "algorithm", "canonicalization", "checksum",
    }
)  # fmt: skip
"""Keys of the registry itself: they say nothing of their own."""


def _step(pointer: str, key: str) -> str:
    """The pointer to a member, or to its parent where the key itself is a secret or too long. Source: RFC 6901."""
    if key not in _PLAIN_KEYS and (len(key) > _LONGEST_POINTED_KEY or find_credentials(key)):
        return pointer
    return f"{pointer}/{escape_pointer(key)}"


def _member_pointers(
    body: Mapping[str, Any], delivery: Mapping[str, Any], *, has_expiry: bool, is_expired: bool
) -> dict[str, str]:
    """Pointers to members that are there and are the reason of a finding."""
    pointers = {}
    if ability := next(_unknown_abilities(body), None):
        pointers["unknown_ability"] = _step("/body", ability)
    if is_expired:
        pointers["is_expired"] = "/delivery/expires_at"
    elif not has_expiry and "expires_at" in delivery:
        pointers["has_expiry"] = "/delivery/expires_at"
    return pointers


# ------------------------------------------------------------------------------------- values of any shape, read safely


def _members(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _entries(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _texts(value: object) -> tuple[str, ...]:
    return tuple(entry for entry in _entries(value) if isinstance(entry, str))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
