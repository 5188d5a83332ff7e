"""Checking a message and storing nothing: what `POST /validate` and `negotiator record validate` answer.

- Whatever is wrong is a finding, also where the bytes are no message; nothing is raised for what the message says.
- A capability message of sound shape is judged by the policies as a declaration of a caller without a credential.
- That such a caller's level would be capped is no fault of the message, and is left out.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from negotiator.errors import RequestError
from negotiator.messages import Catalog, Validator, decode_message, require_profile
from negotiator.messages.facts import declaration_of
from negotiator.messages.refusals import finding_of
from negotiator.model.findings import Finding
from negotiator.model.levels import CAPABILITY_PROFILES
from negotiator.model.messages import Message
from negotiator.policy import Engine, admit
from negotiator.services.answers import validation_report
from negotiator.services.assessment import declare_facts, has_errors, principal_of
from negotiator.services.callers import NOBODY

__all__ = ["Validation"]

_LEVEL_CAPPED = "level_capped"


class Validation:
    """Checks messages against a catalogue's schemas and an engine's policies.

    Args:
        catalog: schemas and profiles.
        max_message_bytes: larger messages are not looked at.
    """

    def __init__(self, catalog: Catalog, *, max_message_bytes: int) -> None:
        self._catalog = catalog
        self._validator = Validator(catalog)
        self._max_bytes = max_message_bytes

    def report(self, data: bytes, engine: Engine, *, now: datetime, strict: bool, profile: str = "") -> dict[str, Any]:
        """Return `{valid, profile, encoding, digest, findings}`.

        Args:
            data: the message, in any encoding.
            engine: the policies that judge it.
            now: what an expiry is compared with; aware.
            strict: demand all eighteen body members.
            profile: the profile that is expected; empty for any.

        Raises:
            RequestError: `body_too_large` alone.
        """
        try:
            message = decode_message(data, self._catalog, max_bytes=self._max_bytes)
            findings = self._findings(message, engine, now=now, strict=strict)
        except RequestError as error:
            if error.code == "body_too_large":
                raise
            return validation_report(None, [finding_of(error)])
        try:
            require_profile(message, {profile} if profile else {message.profile})
        except RequestError as error:
            findings.append(finding_of(error))
        return validation_report(message, findings)

    def _findings(self, message: Message, engine: Engine, *, now: datetime, strict: bool) -> list[Finding]:
        findings = self._validator.check_message(message, strict=strict)
        if message.profile not in CAPABILITY_PROFILES or has_errors(findings):
            return findings
        declaration = declaration_of(message, now=now)
        principal, facts = principal_of(declaration, NOBODY), declare_facts(declaration, strict=strict)
        admission = admit(engine, principal, facts, declaration.pointers)
        judged = [finding for finding in admission.findings if finding.code != _LEVEL_CAPPED]
        return [*findings, *declaration.notes, *judged]
