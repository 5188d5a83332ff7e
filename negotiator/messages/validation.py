"""The check of a message against its schemas.

Rules:

- jsonschema-rs accepts: a valid message costs microseconds. Only what it refuses is put into words, through jsonschema,
  and through jsonschema-rs where jsonschema finds nothing: nothing refused is ever without a finding.
- Validators are built once, offline: no reference leaves a schema, nothing is fetched. Patterns run in linear time.
- The default asks for the smallest safe declaration; `strict` asks for every field of the body's order. Only what is
  valid in strict is conformant.
- A body may have keys that nobody knows: each is a warning and grants nothing.

It does not: judge what a message claims (the policies do), or decode bytes.

Source: CAP-10, CAP-11; JSON Schema 2020-12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import jsonschema_rs
from jsonschema import Draft202012Validator

from negotiator.canonical import escape_pointer
from negotiator.errors import quoted
from negotiator.messages.catalog import ENVELOPE, Catalog, Document, FieldOrder
from negotiator.messages.violations import Violation
from negotiator.model.findings import Finding, Severity
from negotiator.model.messages import Message

__all__ = ["MAX_FINDINGS", "SchemaCheck", "Validator", "unknown_body_keys"]

MAX_FINDINGS: Final = 50
"""Findings of one schema beyond these are not listed."""


class SchemaCheck:
    """One schema, checked fast and told slowly.

    Args:
        name: for findings' sources, e.g. `capability`.
        schema: JSON Schema 2020-12, whole in itself.
    """

    def __init__(self, name: str, schema: Document) -> None:
        self.name = name
        self._fast = jsonschema_rs.Draft202012Validator(
            dict(schema), offline=True, pattern_options=jsonschema_rs.RegexOptions()
        )
        self._telling = Draft202012Validator(schema)

    def is_valid(self, instance: object) -> bool:
        """Whether `instance` follows the schema."""
        return self._fast.is_valid(instance)

    def check(self, instance: object, *, under: str = "") -> list[Finding]:
        """Return what is wrong with `instance`, in the order of the document; never raises on any JSON value.

        Args:
            instance: a JSON value of built-in types.
            under: JSON Pointer to it within the message.
        """
        if self._fast.is_valid(instance):
            return []
        violations = sorted(
            islice(self._violations(instance), MAX_FINDINGS), key=lambda found: list(map(str, found.path))
        )
        findings = [found.as_finding(schema=self.name, under=under) for found in violations]
        return list(dict.fromkeys(findings))

    def _violations(self, instance: object) -> Iterator[Violation]:
        told = False
        for error in self._telling.iter_errors(instance):
            told = True
            yield Violation.from_jsonschema(error)
        if not told:
            yield from map(Violation.from_jsonschema_rs, self._fast.iter_errors(instance))


class Validator:
    """Checks messages of all known profiles. Build it once; it may be used from several threads.

    Args:
        catalog: schemas, orders and profiles.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._envelope = SchemaCheck(ENVELOPE, catalog.schemas[ENVELOPE])
        bodies = {profile.body: profile.order for profile in catalog.profiles.values() if profile.body is not None}
        self._bodies = {
            (name, strict): SchemaCheck(name, _asking_for(catalog.schemas[name], order if strict else None))
            for name, order in bodies.items()
            for strict in (False, True)
        }

    def check_message(self, message: Message, *, strict: bool) -> list[Finding]:
        """Return what is wrong with the message's form, and a warning for each body key that nobody knows.

        Args:
            message: a decoded message.
            strict: whether every field of the body's order must be there.

        Returns:
            Findings of severity error (`schema_violation`) and warning (`unknown_body_key`); pointers are those of
            the keyed form, whatever encoding the message came in.
        """
        findings = self._envelope.check(message.keyed)
        body = message.keyed.get("body")
        profile = self._catalog.profiles[message.profile]
        if isinstance(body, Mapping) and profile.body is not None:
            findings += self._bodies[profile.body, strict].check(body, under="/body")
        return [*findings, *unknown_body_keys(message, self._catalog)]


def unknown_body_keys(message: Message, catalog: Catalog) -> list[Finding]:
    """Return a warning for each key of the body that its field order does not have."""
    order = catalog.profiles[message.profile].order
    body = message.keyed.get("body")
    if order is None or not isinstance(body, Mapping):
        return []
    return [_unknown(key) for key in islice((key for key in body if key not in order.fields), MAX_FINDINGS)]


def _unknown(key: str) -> Finding:
    return Finding(
        code="unknown_body_key",
        severity=Severity.WARNING,
        pointer=f"/body/{escape_pointer(key)}",
        message=f"the body has a key {quoted(key)} that its profile does not know; it is kept and grants nothing",
        remedy="leave it out, or put it under `extensions`",
        source="codec",
    )


def _asking_for(schema: Document, order: FieldOrder | None) -> dict[str, Any]:
    """Return the schema, asking for every field of `order` where one is given."""
    return dict(schema) if order is None else {**schema, "required": list(order.fields)}
