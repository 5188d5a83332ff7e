"""Declarations become negotiations: decode, check, admit, work out the matrix, record, answer.

- Whatever the answer is, it was recorded first, also where the body could not be read; a stranger's refusals beyond its
  budget, and whatever is over budget, are counted. Strangers have paid at the door (`web.door`).
- Credentials come before the body: a bad one is refused whatever was sent with it.
- An identical declaration under the same credential and the same policies gives the stored answer again.
- A valid `UAIX-Negotiation` renews: same subject, a new negotiation, and the old one ends in the same transaction.
- The token is not stored: it is signed again from the stored negotiation, and EdDSA gives the same bytes. Where
  another key signs by now, the declaration is answered anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from negotiator.errors import ClaimFailed, RequestError
from negotiator.messages import Catalog, Validator, decode_message, require_profile
from negotiator.messages.facts import declaration_of
from negotiator.messages.refusals import finding_of
from negotiator.model.entries import EntryDraft, EntryKind, EntryPosition, EntryValue
from negotiator.model.findings import Finding
from negotiator.model.governed import Declared, Presented, Refusal
from negotiator.model.levels import CAPABILITY_PROFILES
from negotiator.model.messages import Declaration
from negotiator.model.records import Negotiation, Principal
from negotiator.model.routes import Mode
from negotiator.policy import Engine, Target
from negotiator.ports import Clock, Ids, Lane, Meter, NegotiationReads, Signer, Store, Tx
from negotiator.services.answers import (
    identity_shown,
    negotiation_body,
    negotiation_message,
    negotiation_summary,
)
from negotiator.services.assessment import Assessment, assess, has_errors, principal_of
from negotiator.services.budgets import Budgets, Payment
from negotiator.services.callers import NEGOTIATION_LIVE, NEGOTIATIONS_LEFT, NOBODY, Caller, Callers, until_claimed
from negotiator.services.gate import Gate
from negotiator.services.policies import Policies
from negotiator.services.recording import claim_members, presented_members
from negotiator.services.refusals import from_admission
from negotiator.services.room import Claimant, Room
from negotiator.services.signing import KEY_USABLE, Signing
from negotiator.services.validation import Validation

__all__ = ["MAX_LIFETIME", "NegotiationTerms", "Negotiations"]


MAX_LIFETIME: Final = timedelta(hours=1)
"""No negotiation lives longer, whatever is configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NegotiationTerms:
    """What a site's configuration fixes for all its negotiations.

    Attributes:
        project: named among the scopes of `me`.
        audience: `iss` and `aud` of tokens.
        lifetime: how long a negotiation holds.
        max_message_bytes: larger messages are refused.
        mode: whether decisions bind, where a route does not say otherwise.
        surface: the configured actions and resources, in the order of the configuration.
        most_live: how many live negotiations an identified agent may have.
        consent_url: where agents ask for a human's consent.
        evidence_url: where agents hand in evidence.
    """

    project: str
    audience: str
    lifetime: timedelta
    max_message_bytes: int
    mode: Mode
    surface: Sequence[Target]
    most_live: int
    consent_url: str = ""
    evidence_url: str = ""


class _InvalidError(RequestError):
    """A message that decodes and does not conform; carries what is wrong with it."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("the message does not conform to its profile", code="declaration_invalid")
        self.findings = tuple(findings)


@dataclass(frozen=True, slots=True)
class _Posted:
    """A declaration as it came in."""

    data: bytes
    presented: Presented
    strict: bool
    source: str
    payment: Payment


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A declaration that is to be answered, and what its answer stands on."""

    declaration: Declaration
    caller: Caller
    engine: Engine
    signer: Signer
    strict: bool

    @property
    def repeatable(self) -> bool:
        """Whether it may have been answered before: not a stranger's, nor one that renews."""
        return bool(self.caller.identity.credential_id) and self.caller.negotiation is None

    def stored(self, negotiations: NegotiationReads, now: datetime) -> Negotiation | None:
        """Return the stored negotiation that answers it, if that may be given again.

        Asked before the work is done, and again in the transaction: of identical declarations at once, one is stored.
        """
        credential_id = self.caller.identity.credential_id
        if not self.repeatable:
            return None
        digest = self.declaration.message.digest
        found = negotiations.identical(credential_id=credential_id, digest=digest, strict=self.strict, at=now)
        if found is None or found.bundle_digest != self.engine.bundle.digest or found.key_id != self.signer.key_id:
            return None
        return found if found.principal == principal_of(self.declaration, self.caller.identity) else None


class Negotiations:
    """The negotiations of one project."""

    def __init__(
        self,
        *,
        store: Store,
        signing: Signing,
        callers: Callers,
        policies: Policies,
        catalog: Catalog,
        clock: Clock,
        ids: Ids,
        budgets: Budgets,
        gate: Gate,
        room: Room,
        terms: NegotiationTerms,
        meter: Meter,
    ) -> None:
        self._store = store
        self._signing = signing
        self._callers = callers
        self._policies = policies
        self._catalog = catalog
        self._validator = Validator(catalog)
        self._validation = Validation(catalog, max_message_bytes=terms.max_message_bytes)
        self._clock = clock
        self._ids = ids
        self._budgets = budgets
        self._gate = gate
        self._room = room
        self._terms = terms
        self._meter = meter

    async def create(self, data: bytes, presented: Presented, *, strict: bool, source: str) -> Declared:
        """Answer a posted capability message.

        Args:
            data: the body, in any encoding.
            presented: the caller's credential and, to renew, its negotiation.
            strict: demand all eighteen body members.
            source: the client's address, for budgets.

        Raises:
            OverBudgetError: `over_budget`: of the agent, of its live negotiations, or of all that wait.
            UnavailableError: `room_low`, or the answer could not be recorded.
        """
        self._room.require(Claimant.DECLARATION)
        began = self._clock.monotonic()
        payment = Payment(lambda agent_id: self._budgets.spend_agents_declaration(agent_id, source))
        posted = _Posted(data, presented, strict, source, payment)
        try:
            declared = await until_claimed(lambda failed: self._create(posted, failed))
        except RequestError as error:
            declared = await self._refused(error, presented, None, source=source)
        return self._counted(began, declared)

    async def refuse(self, error: RequestError, *, source: str) -> Declared:
        """Record a declaration that could not even be received, and return its refusal.

        Args:
            error: what was wrong with the request.
            source: the client's address, for budgets.

        Raises:
            UnavailableError: it could not be recorded.
        """
        began = self._clock.monotonic()
        return self._counted(began, await self._refused(error, Presented(), None, source=source))

    def _counted(self, began: float, declared: Declared) -> Declared:
        self._meter.decided(
            decision="deny" if declared.refusal else "allow",
            code=declared.refusal.code if declared.refusal else "allowed",
            action="declare",
            seconds=self._clock.monotonic() - began,
        )
        return declared

    async def get(self, negotiation_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return the stored answer without its token.

        Raises:
            RequestError: `not_found`, also where it belongs to somebody else; `credentials_invalid`,
                `negotiation_expired`.
        """
        _, negotiation = await self._own(negotiation_id, presented)
        return negotiation_message(negotiation, token="")

    async def end(self, negotiation_id: str, presented: Presented) -> None:
        """End a negotiation: from this commit on its token opens nothing.

        Raises:
            RequestError: `not_found`; `credentials_invalid`, `negotiation_expired`.
            UnavailableError: it could not be recorded.
        """
        await until_claimed(lambda failed: self._end(negotiation_id, presented, failed))

    async def _end(self, negotiation_id: str, presented: Presented, failed: frozenset[str]) -> None:
        caller, negotiation = await self._own(negotiation_id, presented, failed)
        members: dict[str, EntryValue] = {
            "decision_id": self._ids.new(),
            "decision": "allow",
            "code": "negotiation_ended",
            "principal": Principal(type="Agent", id=negotiation.subject).as_json(),
            "negotiation_id": negotiation_id,
            **presented_members(presented),
        }

        def unit(tx: Tx) -> None:
            caller.claim(tx)
            if tx.negotiations.end(negotiation_id, tx.now):
                tx.append(EntryDraft(kind=EntryKind.DECLARE, members=members))

        await self._store.transact(unit, Lane.DECLARATION)

    async def me(self, presented: Presented) -> Mapping[str, Any]:
        """Return the caller's own identity, live negotiations and scopes, and nobody else's.

        Raises:
            RequestError: `declaration_required`, where nothing is presented; `credentials_invalid`,
                `negotiation_expired`.
        """
        if not (presented.credential or presented.negotiation):
            message = "present a credential, or the token of a negotiation"
            raise RequestError(message, code="declaration_required")
        identity = (await self._callers.resolve(presented, fresh=True)).identity
        now = self._clock.now()
        own = await self._store.read(lambda reader: reader.negotiations.of_subject(identity.subject, now))
        return {
            "identity": identity_shown(identity),
            "negotiations": [negotiation_summary(negotiation) for negotiation in own],
            "scopes": [f"project:{self._terms.project}", f"max_level:{identity.max_level.name}"],
        }

    def validate(self, data: bytes, *, strict: bool, profile: str) -> Mapping[str, Any]:
        """Check any message and store nothing.

        Args:
            data: the body.
            strict: demand all members.
            profile: the profile that the caller expects; empty for any.

        Raises:
            RequestError: `body_too_large` alone; everything else is a finding.
        """
        return self._validation.report(
            data, self._policies.engine, now=self._clock.now(), strict=strict, profile=profile
        )

    async def _create(self, posted: _Posted, failed: frozenset[str]) -> Declared:
        caller = await self._callers.resolve(posted.presented, fresh=True, failed=failed)
        if caller.identity.verified:
            posted.payment.make(caller.identity.agent_id)
        if NEGOTIATIONS_LEFT in failed:
            raise self._budgets.too_many_live(posted.source, most=self._terms.most_live)
        try:
            declaration, findings = self._read(posted.data, strict=posted.strict)
        except RequestError as error:
            return await self._refused(error, posted.presented, caller, source=posted.source)
        signer = await self._signing.signer(fresh=KEY_USABLE in failed)
        wanted = _Wanted(declaration, caller, self._policies.engine, signer, posted.strict)
        now = self._clock.now()
        existing = None
        if wanted.repeatable:
            existing = await self._store.read(lambda reader: wanted.stored(reader.negotiations, now))
        if existing and NEGOTIATION_LIVE not in failed:
            return await self._given_again(existing, wanted)
        return await self._negotiate(wanted, findings, posted)

    def _read(self, data: bytes, *, strict: bool) -> tuple[Declaration, list[Finding]]:
        """Return what a capability message declares, and what there is to say of its form.

        Raises:
            RequestError: it is none, or it does not conform.
        """
        message = decode_message(data, self._catalog, max_bytes=self._terms.max_message_bytes)
        require_profile(message, CAPABILITY_PROFILES)
        findings = self._validator.check_message(message, strict=strict)
        if has_errors(findings):
            raise _InvalidError(findings)
        return declaration_of(message, now=self._clock.now()), findings

    async def _given_again(self, existing: Negotiation, wanted: _Wanted) -> Declared:
        """Answer with what is stored, if by the ledger's time it still holds for this caller.

        Raises:
            ClaimFailed: it does not; the declaration is to be answered anew.
        """

        def unit(tx: Tx) -> None:
            self._policies.claim(wanted.engine)
            replace(wanted.caller, negotiation=existing).claim(tx)

        await self._store.transact(unit, Lane.DECLARATION)
        return self._answer(existing, wanted.signer, kind="existing")

    async def _negotiate(self, wanted: _Wanted, findings: Sequence[Finding], posted: _Posted) -> Declared:
        negotiation_id, decision_id = self._ids.new(), self._ids.new()
        caller, engine, signer = wanted.caller, wanted.engine, wanted.signer
        named = _named(caller, negotiation_id)
        assessment = await self._gate.run(
            lambda: assess(
                engine,
                wanted.declaration,
                named.identity,
                strict=wanted.strict,
                schema_findings=findings,
                surface=self._terms.surface,
            ),
            source=posted.source,
        )
        members = {
            **assessment.entry_members(),
            **presented_members(posted.presented),
            **claim_members(caller),
            "decision_id": decision_id,
        }
        if assessment.matrix is None:
            return await self._not_admitted(assessment, caller, members, decision_id=decision_id, source=posted.source)
        draft = EntryDraft(kind=EntryKind.DECLARE, members={**members, "negotiation_id": negotiation_id})

        def unit(tx: Tx) -> Negotiation:
            self._policies.claim(engine)
            caller.claim(tx)
            self._signing.claim(tx, signer)
            if twin := wanted.stored(tx.negotiations, tx.now):
                return twin
            self._claim_room(tx, caller)
            if caller.negotiation:
                tx.negotiations.end(caller.negotiation.negotiation_id, tx.now)
            position = tx.append(draft)
            negotiation = self._negotiation(
                assessment,
                named,
                negotiation_id=negotiation_id,
                decision_id=decision_id,
                key_id=signer.key_id,
                position=position,
                now=tx.now,
            )
            tx.negotiations.add(negotiation)
            return negotiation

        stored = await self._store.transact(unit, Lane.DECLARATION)
        return self._answer(stored, signer, kind="created" if stored.negotiation_id == negotiation_id else "existing")

    def _claim_room(self, tx: Tx, caller: Caller) -> None:
        """Make true that an identified agent has room for one more; one that renews gives one back.

        Raises:
            ClaimFailed: `negotiations_left`.
        """
        most = self._terms.most_live + (caller.negotiation is not None)
        if caller.identity.verified and not tx.negotiations.claim_room(
            caller.identity.subject, most, tx.now, since=tx.now - MAX_LIFETIME
        ):
            raise ClaimFailed(NEGOTIATIONS_LEFT)

    def _negotiation(
        self,
        assessment: Assessment,
        caller: Caller,
        *,
        negotiation_id: str,
        decision_id: str,
        key_id: str,
        position: EntryPosition,
        now: datetime,
    ) -> Negotiation:
        effective = assessment.admission.effective
        assert effective is not None  # noqa: S101 - only admitted declarations are stored
        expires_at = now + self._terms.lifetime
        return Negotiation(
            negotiation_id=negotiation_id,
            subject=caller.identity.subject,
            identity_kind=caller.identity.kind,
            credential_id=caller.identity.credential_id,
            digest=assessment.declaration.message.digest,
            strict=assessment.strict,
            declared_level=assessment.declaration.level,
            effective_level=effective,
            principal=assessment.principal,
            declared=assessment.declaration.facts,
            body=negotiation_body(
                assessment,
                negotiation_id=negotiation_id,
                decision_id=decision_id,
                position=position,
                expires_at=expires_at,
                mode=self._terms.mode,
                consent_url=self._terms.consent_url,
                evidence_url=self._terms.evidence_url,
            ),
            bundle_digest=assessment.engine.bundle.digest,
            key_id=key_id,
            issued_at=now,
            expires_at=expires_at,
        )

    def _answer(self, negotiation: Negotiation, signer: Signer, *, kind: str) -> Declared:
        message = negotiation_message(negotiation, token=signer.sign(self._claims(negotiation)))
        return Declared(
            kind="existing" if kind == "existing" else "created",
            decision_id=str(negotiation.body["decision_id"]),
            message=message,
            level=negotiation.effective_level,
        )

    def _claims(self, negotiation: Negotiation) -> dict[str, Any]:
        """Return the token's claims (RFC 7519; `cnf` of RFC 7800 names the credential it goes with)."""
        claims: dict[str, Any] = {
            "iss": self._terms.audience,
            "aud": self._terms.audience,
            "sub": negotiation.subject,
            "jti": negotiation.negotiation_id,
            "iat": int(negotiation.issued_at.timestamp()),
            "exp": int(negotiation.expires_at.timestamp()),
        }
        if negotiation.credential_id:
            claims["cnf"] = {"kid": negotiation.credential_id}
        return claims

    async def _not_admitted(
        self,
        assessment: Assessment,
        caller: Caller,
        members: Mapping[str, EntryValue],
        *,
        decision_id: str,
        source: str,
    ) -> Declared:
        public = None if caller.identity.verified else assessment.engine.bundle.public_ids
        refusal = from_admission(
            assessment.admission,
            findings=assessment.findings,
            decision_id=decision_id,
            public=public,
            fallback=assessment.declaration.fallback,
            safe_default=assessment.declaration.safe_default,
        )
        refused = {**members, "decision": "deny", "code": refusal.code}
        return await self._recorded(refusal, refused, caller, source=source, engine=assessment.engine)

    async def _refused(
        self, error: RequestError, presented: Presented, caller: Caller | None, *, source: str
    ) -> Declared:
        """Record a declaration that could not be used, or whose credential is bad: then `caller` is None."""
        decision_id = self._ids.new()
        findings = error.findings if isinstance(error, _InvalidError) else ()
        members: dict[str, EntryValue] = {
            "decision_id": decision_id,
            "decision": "deny",
            "code": error.code,
            "action": "declare",
            "findings": sorted({finding.code for finding in findings}),
            **presented_members(presented),
        }
        if caller is not None:
            principal = Principal(type="Agent", id=caller.identity.subject)
            members |= {"principal": principal.as_json(), **claim_members(caller)}
        refusal = Refusal(
            code=error.code,
            detail=error.message,
            decision_id=decision_id,
            findings=findings or ((finding_of(error),) if error.pointer is not None else ()),
        )
        return await self._recorded(refusal, members, caller or Caller(identity=NOBODY), source=source)

    async def _recorded(
        self,
        refusal: Refusal,
        members: Mapping[str, EntryValue],
        caller: Caller,
        *,
        source: str,
        engine: Engine | None = None,
    ) -> Declared:
        """Commit a refusal; or count a stranger's that is beyond its budget, which then names no decision."""
        if not self._budgets.has_entry(refusal.code, source, verified=caller.identity.verified):
            return Declared(kind="refused", decision_id="", refusal=replace(refusal, decision_id=""))

        def unit(tx: Tx) -> None:
            if engine is not None:
                self._policies.claim(engine)
            caller.claim(tx)
            tx.append(EntryDraft(kind=EntryKind.DECLARE, members=members))

        await self._store.transact(unit, Lane.DECLARATION)
        return Declared(kind="refused", decision_id=refusal.decision_id, refusal=refusal)

    async def _own(
        self, negotiation_id: str, presented: Presented, failed: frozenset[str] = frozenset()
    ) -> tuple[Caller, Negotiation]:
        caller = await self._callers.resolve(presented, fresh=True, failed=failed)
        found = await self._store.read(lambda reader: reader.negotiations.get(negotiation_id))
        if found is None or found.ended_at or found.subject != caller.identity.subject:
            _not_found()
        return caller, found


def _named(caller: Caller, negotiation_id: str) -> Caller:
    """Return the caller under its lasting name: an anonymous one is called after its first negotiation."""
    if caller.identity != NOBODY:
        return caller
    return replace(caller, identity=replace(NOBODY, subject=f"anon:{negotiation_id}"))


def _not_found() -> NoReturn:
    message = "there is no such negotiation, or it is not yours"
    raise RequestError(message, code="not_found")
