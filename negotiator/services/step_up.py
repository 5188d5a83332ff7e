"""Proving more than a password: one-time codes and security keys, for five minutes; and enrolling them.

- A code is accepted once: its time step has to be later than the last one accepted, by one conditional statement.
- A security key signs a challenge of this session (`forms`). Made for an object, it carries the object's digest, and
  the proof counts as `WEBAUTHN` for that object alone.
- Whoever has a factor enrols or removes one only after proving a factor; the first one takes the password, typed now.
  A browser that is signed in, which an agent may be driving, is not enough.
- A failure makes the next attempt wait, for the account's factors and for the source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NoReturn, TypeVar

from negotiator.canonical import canonical_bytes, decode_json
from negotiator.errors import ClaimFailed, NegotiatorError, RequestError
from negotiator.model.people import Assurance, Factor, FactorKind
from negotiator.ports import Clock, Ids, Sealer, Store, Tx
from negotiator.services.accounts import check_label, factor_entry
from negotiator.services.delays import Attempt, Delays
from negotiator.services.factors import (
    RelyingParty,
    VerifiedKey,
    answered_challenge,
    answering_factor,
    assertion_options,
    matching_step,
    new_totp_secret,
    registration_options,
    seal_place,
    totp_url,
    verified_assertion,
    verified_registration,
)
from negotiator.services.forms import NOTHING, Purpose, check_challenge, new_challenge
from negotiator.services.presence import Presence
from negotiator.services.sessions import Sessions, SignedIn, renewed
from negotiator.services.suppressed import Suppressed

__all__ = ["OfferedTotp", "StepUp"]

_OFFER_SECONDS: Final = 600

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTotp:
    """A secret for an authenticator app that nobody has confirmed yet.

    Attributes:
        url: what the app reads.
        offer: comes back with the first code; sealed, and of no use in another session.
    """

    url: str = field(repr=False)
    offer: str = field(repr=False)


class StepUp:
    """Second factors of people who are signed in.

    Args:
        project: its name, for the place of sealed secrets.
        issuer: what authenticator apps show beside the name.
    """

    def __init__(
        self,
        *,
        store: Store,
        sessions: Sessions,
        sealer: Sealer,
        delays: Delays,
        suppressed: Suppressed,
        clock: Clock,
        ids: Ids,
        project: str,
        issuer: str,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._sealer = sealer
        self._delays = delays
        self._suppressed = suppressed
        self._clock = clock
        self._ids = ids
        self._project = project
        self._issuer = issuer

    async def factors(self, presence: Presence) -> Sequence[Factor]:
        """Return the factors of whoever is there, by creation.

        Raises:
            UnavailableError: the store cannot be read.
        """
        return await self._store.read(lambda reader: reader.people.factors(presence.person.user_id))

    async def with_code(self, presence: Presence, code: str, *, source: str) -> SignedIn:
        """Prove a one-time code.

        Raises:
            RequestError: `factor_failed`, `sign_in_required`, `password_change_required`.
            SignInDelayedError: `sign_in_delayed`.
            IntegrityError: `secret_unreadable`.
            UnavailableError: it could not be looked at or recorded; it does not count as a failure.
        """
        presence.require_unrestricted()
        attempt = self._delays.begin(source=source, factor=presence.person.user_id)
        factors = await self._read_factors(presence, attempt)
        now = self._clock.now()
        steps = [(each, self._step(each, code, now)) for each in factors if each.kind is FactorKind.TOTP]
        shown = [(each, step) for each, step in steps if step is not None]
        if not shown:
            self._failed(source)
        return await self._accepted(presence, attempt, *shown[0], source=source)

    async def challenge(self, presence: Presence, *, party: RelyingParty, object_sha256: str = "") -> dict[str, Any]:
        """Return the JSON for `navigator.credentials.get`.

        Args:
            presence: who is there.
            party: the console.
            object_sha256: the digest of what is approved by signing; empty for a mere step-up.

        Raises:
            RequestError: `password_change_required`.
            UnavailableError: the store cannot be read.
        """
        presence.require_unrestricted()
        challenge = self._challenge(presence, "assert", object_sha256 or NOTHING)
        return assertion_options(await self.factors(presence), party=party, challenge=challenge)

    async def with_key(
        self, presence: Presence, answer: str, *, party: RelyingParty, source: str, object_sha256: str = ""
    ) -> SignedIn:
        """Prove a security key.

        Args:
            presence: who is there.
            answer: the JSON of the browser's `PublicKeyCredential`.
            party: as for the challenge.
            source: the address that the request comes from.
            object_sha256: as for the challenge.

        Raises:
            RequestError: `factor_failed`, `sign_in_required`, `password_change_required`.
            SignInDelayedError: `sign_in_delayed`.
            UnavailableError: it could not be looked at or recorded; it does not count as a failure.
        """
        presence.require_unrestricted()
        attempt = self._delays.begin(source=source, factor=presence.person.user_id)
        factors = await self._read_factors(presence, attempt)
        try:
            challenge = self._answered(presence, answer, "assert", object_sha256 or NOTHING)
            factor = answering_factor(answer, factors)
            proved = verified_assertion(answer, factor, party=party, challenge=challenge)
        except RequestError:
            self._failed(source)
        return await self._accepted(
            presence, attempt, factor, proved.counter, source=source, object_sha256=object_sha256
        )

    async def offer_totp(self, presence: Presence, *, password: str = "", source: str) -> OfferedTotp:
        """Begin to enrol an authenticator app.

        Args:
            presence: who is there.
            password: typed now; needed for the account's first factor.
            source: the address that the request comes from.

        Raises:
            RequestError: `assurance_too_low`, `sign_in_failed`, `password_change_required`.
            SignInDelayedError: `sign_in_delayed`.
            UnavailableError: it could not be looked at.
        """
        await self._may_enrol(presence, password, source=source)
        secret = new_totp_secret(self._ids)
        until = int(self._clock.now().timestamp()) + _OFFER_SECONDS
        offer = canonical_bytes({"secret": secret, "until": until}).decode()
        return OfferedTotp(
            url=totp_url(secret, name=presence.person.name, issuer=self._issuer),
            offer=self._sealer.seal(offer, place=self._offer_place(presence)),
        )

    async def enrol_totp(self, presence: Presence, offer: str, code: str, *, label: str, source: str) -> Factor:
        """Finish it, with the first code that the app shows.

        Raises:
            RequestError: `factor_failed`, `label_invalid`, `sign_in_required`, `password_change_required`.
            SignInDelayedError: `sign_in_delayed`.
            UnavailableError: it could not be recorded.
        """
        presence.require_unrestricted()
        check_label(label)
        attempt = self._delays.begin(source=source, factor=presence.person.user_id)
        now = self._clock.now()
        secret = self._offered(presence, offer, now)
        step = matching_step(secret, code, now=now, after=0) if secret else None
        if step is None:
            self._failed(source)
        attempt.succeeded()
        factor_id = self._ids.new()
        place = seal_place(self._project, presence.person.user_id, factor_id)
        return await self._enrolled(
            presence,
            Factor(
                factor_id=factor_id,
                user_id=presence.person.user_id,
                kind=FactorKind.TOTP,
                label=label,
                secret=self._sealer.seal(secret, place=place),
                credential_id="",
                counter=step,
                created_at=now,
            ),
        )

    async def offer_key(
        self, presence: Presence, *, party: RelyingParty, password: str = "", source: str
    ) -> dict[str, Any]:
        """Begin to enrol a security key: return the JSON for `navigator.credentials.create`.

        Raises:
            RequestError: as `offer_totp` does.
            SignInDelayedError: `sign_in_delayed`.
            UnavailableError: it could not be looked at.
        """
        await self._may_enrol(presence, password, source=source)
        challenge = self._challenge(presence, "register", NOTHING)
        return registration_options(presence.person, await self.factors(presence), party=party, challenge=challenge)

    async def enrol_key(self, presence: Presence, answer: str, *, party: RelyingParty, label: str) -> Factor:
        """Finish it, with the browser's answer.

        Raises:
            RequestError: `factor_failed`, `label_invalid`, `sign_in_required`, `password_change_required`.
            UnavailableError: it could not be recorded.
        """
        presence.require_unrestricted()
        check_label(label)
        challenge = self._answered(presence, answer, "register", NOTHING)
        key = verified_registration(answer, party=party, challenge=challenge)
        return await self._enrolled(presence, _key_factor(presence, key, label, self._ids.new(), self._clock.now()))

    async def remove(self, presence: Presence, factor_id: str) -> None:
        """Take a factor away.

        Raises:
            RequestError: `assurance_too_low`, `not_found`, `sign_in_required`, `password_change_required`.
            UnavailableError: it could not be recorded.
        """
        presence.require_unrestricted()
        self._require_factor(presence)

        def unit(tx: Tx) -> None:
            presence.claim(tx)
            found = {each.factor_id: each for each in tx.people.factors(presence.person.user_id)}
            if factor_id not in found:
                message = "there is no such factor"
                raise RequestError(message, code="not_found")
            tx.people.remove_factor(presence.person.user_id, factor_id)
            tx.append(factor_entry("factor_removed", presence.person, found[factor_id], presence.by()))

        await self._standing(unit)

    async def _read_factors(self, presence: Presence, attempt: Attempt) -> Sequence[Factor]:
        try:
            return await self.factors(presence)
        except NegotiatorError:
            attempt.abandoned()
            raise

    def _step(self, factor: Factor, code: str, now: datetime) -> int | None:
        secret = self._sealer.open(factor.secret, place=seal_place(self._project, factor.user_id, factor.factor_id))
        return matching_step(secret, code, now=now, after=factor.counter)

    async def _accepted(
        self,
        presence: Presence,
        attempt: Attempt,
        factor: Factor,
        counter: int,
        *,
        source: str,
        object_sha256: str = "",
    ) -> SignedIn:
        """Record a proof, unless the same one was recorded before.

        Raises:
            RequestError: `factor_failed`, `sign_in_required`.
        """
        session_id, secret = self._ids.secret(), self._ids.secret()
        proof = Assurance.TOTP if factor.kind is FactorKind.TOTP else Assurance.WEBAUTHN

        def unit(tx: Tx) -> Presence:
            presence.claim(tx)
            first = (
                tx.people.advance_factor(factor, counter, tx.now) if counter else tx.people.use_factor(factor, tx.now)
            )
            if not first:
                raise ClaimFailed(_FIRST_USE)
            return renewed(tx, presence, proof, session_id=session_id, csrf_secret=secret, object_sha256=object_sha256)

        try:
            renewed_presence = await self._store.transact(unit)
        except ClaimFailed as failed:
            if failed.fact == _FIRST_USE:
                self._failed(source)
            _over()
        except NegotiatorError:
            attempt.abandoned()
            raise
        attempt.succeeded()
        return SignedIn(session_id=session_id, presence=renewed_presence)

    async def _may_enrol(self, presence: Presence, password: str, *, source: str) -> None:
        presence.require_unrestricted()
        if await self.factors(presence):
            self._require_factor(presence)
        else:
            await self._sessions.check_password(presence, password, source=source)

    def _require_factor(self, presence: Presence) -> None:
        if presence.facts(self._clock.now()).assurance < Assurance.TOTP:
            message = "confirm with a factor that you have first"
            raise RequestError(message, code="assurance_too_low")

    async def _enrolled(self, presence: Presence, factor: Factor) -> Factor:
        def unit(tx: Tx) -> Factor:
            presence.claim(tx)
            added = replace(factor, created_at=tx.now)
            if not tx.people.add_factor(added):
                message = "that security key is registered here already"
                raise RequestError(message, code="factor_taken")
            tx.append(factor_entry("factor_added", presence.person, added, presence.by()))
            return added

        return await self._standing(unit)

    def _challenge(self, presence: Presence, purpose: Purpose, object_sha256: str) -> bytes:
        return new_challenge(
            presence.session,
            purpose,
            object_sha256=object_sha256,
            now=self._clock.now(),
            nonce=self._ids.secret(),
        )

    def _answered(self, presence: Presence, answer: str, purpose: Purpose, object_sha256: str) -> bytes:
        return check_challenge(
            answered_challenge(answer),
            presence.session,
            purpose,
            object_sha256=object_sha256,
            now=self._clock.now(),
        )

    def _offer_place(self, presence: Presence) -> str:
        return f"offer {self._project} {presence.person.user_id} {presence.session.session_sha256}"

    def _offered(self, presence: Presence, offer: str, now: datetime) -> str:
        """Return the secret of an offer; empty where it is none of this session, or too old."""
        try:
            content = decode_json(self._sealer.open(offer, place=self._offer_place(presence)).encode())
        except NegotiatorError:
            return ""
        assert isinstance(content, dict)  # noqa: S101 - sealed by us
        return str(content["secret"]) if now.timestamp() < float(str(content["until"])) else ""

    async def _standing(self, unit: Callable[[Tx], T]) -> T:
        try:
            return await self._store.transact(unit)
        except ClaimFailed:
            _over()

    def _failed(self, source: str) -> NoReturn:
        self._suppressed.suppress("factor_failed", source)
        message = "the second factor was not accepted; try again"
        raise RequestError(message, code="factor_failed") from None


_FIRST_USE: Final = "factor_first_use"


def _over() -> NoReturn:
    message = "this session is over; sign in again"
    raise RequestError(message, code="sign_in_required") from None


def _key_factor(presence: Presence, key: VerifiedKey, label: str, factor_id: str, now: datetime) -> Factor:
    return Factor(
        factor_id=factor_id,
        user_id=presence.person.user_id,
        kind=FactorKind.WEBAUTHN,
        label=label,
        secret=key.public_key,
        credential_id=key.credential_id,
        counter=key.counter,
        created_at=now,
    )
