"""Signing in and out, and what a session's person has proved lately.

- A session's id is 256 random bits that only the browser has; its digest is kept. Signing in, each step-up and each
  change of the password give a new id and a new secret for forms, and end the old ones.
- A session ends after half an hour without use, and after twelve hours in any case.
- A wrong name, a wrong password, a disabled account and a spent one-time password are the same refusal, after the same
  work. Each is counted for the ledger (`suppressed`), and makes the next attempt wait (`delays`).
- Signing in with a password proves it for five minutes; `StepUp` proves more. Then it is a mere session again.

It does not: know cookies, pages or policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, NoReturn, TypeVar

from negotiator.canonical import sha256_hex
from negotiator.errors import ClaimFailed, RequestError, UnavailableError
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.people import LIFETIME_SECONDS, TOUCH_SECONDS, Assurance, Password, Person, Session, is_open
from negotiator.model.sources import network_of
from negotiator.ports import Chore, Clock, Ids, PasswordHashes, PeopleReads, Reader, SlowWork, Store, Tx
from negotiator.services.accounts import is_name, person_entry
from negotiator.services.delays import Delays
from negotiator.services.passwords import fit_password, normalised_password
from negotiator.services.presence import Presence, began_after
from negotiator.services.suppressed import Suppressed

__all__ = ["MOST_SESSIONS", "Sessions", "SignedIn", "renewed", "session_entry", "sweeping"]

T = TypeVar("T")

MOST_SESSIONS: Final = 20
"""Open sessions of one account; when there are more, the oldest end."""

_SWEEP_SECONDS: Final = 60.0
_SWEPT_AT_ONCE: Final = 500
_NOBODY: Final = "-"
"""A name that no account can have, for everything that is no name."""
_MAX_ID: Final = 128
_PASSWORD_CURRENT: Final = "password_current"  # noqa: S105 - the name of a fact


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """A new session and the only copy of its id."""

    session_id: str = field(repr=False)
    presence: Presence


@dataclass(frozen=True, slots=True)
class _Known:
    """An account and its password, as of one read."""

    person: Person
    password: Password

    @property
    def opens(self) -> bool:
        return self.person.disabled_at is None and not self.password.spent


class Sessions:
    """The sessions of one project.

    Args:
        slow: the gate before hashing.
        delays: shared with whatever else looks at passwords and factors.
    """

    def __init__(
        self,
        *,
        store: Store,
        hashes: PasswordHashes,
        slow: SlowWork,
        delays: Delays,
        suppressed: Suppressed,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._store = store
        self._hashes = hashes
        self._slow = slow
        self._delays = delays
        self._suppressed = suppressed
        self._clock = clock
        self._ids = ids

    async def sign_in(self, name: str, password: str, *, source: str, previous: str = "") -> SignedIn:
        """Begin a session.

        Args:
            name: as it was typed.
            password: as it was typed.
            source: the address that the request comes from.
            previous: the id of the session that the browser had, which ends.

        Raises:
            RequestError: `sign_in_failed`, whatever was wrong.
            SignInDelayedError: `sign_in_delayed`.
            UnavailableError: it could not be looked at or recorded; it does not count as a failure.
        """
        known = await self._checked(name, password, source=source)
        session_id = self._ids.secret()
        old = digest_of(previous) if previous else ""

        def unit(tx: Tx) -> Presence:
            person = _claimed(tx, known)
            if old:
                tx.people.end_session(old, tx.now)
            assurance = Assurance.SESSION if known.password.one_time else Assurance.PASSWORD
            begun = _begun(session_id, person, assurance, csrf_secret=secret, now=tx.now)
            _make_room(tx, person)
            tx.people.add_session(begun)
            tx.append(session_entry("signed_in", person, begun, source=network_of(source)))
            return Presence(person=person, session=begun, restricted=known.password.one_time)

        secret = self._ids.secret()
        try:
            presence = await self._store.transact(unit)
        except ClaimFailed:
            self._failed(source)
        await self._rehash(known, password, source=source)
        return SignedIn(session_id=session_id, presence=presence)

    async def presence(self, session_id: str) -> Presence:
        """Return who is there, and note it.

        Raises:
            RequestError: `sign_in_required`: the session is unknown or over.
            UnavailableError: the store cannot be read.
        """
        found = await self._store.read(lambda reader: _presence(reader.people, digest_of(session_id)))
        now = self._clock.now()
        if found is None or len(session_id) > _MAX_ID or not is_open(found.session, now):
            message = "there is no such session any more; sign in"
            raise RequestError(message, code="sign_in_required")
        if now - found.session.last_seen < timedelta(seconds=TOUCH_SECONDS):
            return found
        return await self._touched(found)

    async def sign_out(self, presence: Presence) -> None:
        """End a session.

        Raises:
            UnavailableError: it could not be recorded.
        """

        def unit(tx: Tx) -> None:
            if tx.people.end_session(presence.session.session_sha256, tx.now):
                tx.append(session_entry("signed_out", presence.person, presence.session))

        await self._store.transact(unit)

    async def others(self, presence: Presence) -> Sequence[Session]:
        """Return the account's other open sessions, newest first.

        Raises:
            UnavailableError: the store cannot be read.
        """
        now, user_id = self._clock.now(), presence.person.user_id
        found = await self._store.read(lambda reader: reader.people.sessions(user_id, since=began_after(now)))
        own = presence.session.session_sha256
        return [each for each in found if each.session_sha256 != own and is_open(each, now)]

    async def operated_agents(self, presence: Presence) -> frozenset[str]:
        """Return the ids of the agents that this person runs, by any of the person's accounts.

        Raises:
            UnavailableError: the store cannot be read.
        """
        return await self._store.read(lambda reader: _operated(reader, presence.person.person))

    async def sign_out_others(self, presence: Presence) -> int:
        """End the account's other sessions; return how many there were.

        Raises:
            RequestError: `sign_in_required`: this one is over.
            UnavailableError: it could not be recorded.
        """

        def unit(tx: Tx) -> int:
            presence.claim(tx)
            found = tx.people.sessions(presence.person.user_id, since=began_after(tx.now))
            others = [each for each in found if each.session_sha256 != presence.session.session_sha256]
            for each in others:
                tx.people.end_session(each.session_sha256, tx.now)
                tx.append(session_entry("signed_out", presence.person, each))
            return len(others)

        return await self._standing(unit)

    async def confirm_password(self, presence: Presence, password: str, *, source: str) -> SignedIn:
        """Prove the password again, for five minutes.

        Raises:
            RequestError: `sign_in_failed`, `sign_in_required`, `password_change_required`.
            SignInDelayedError: `sign_in_delayed`.
            UnavailableError: it could not be looked at or recorded.
        """
        presence.require_unrestricted()
        known = await self._checked(presence.person.name, password, source=source)
        session_id, secret = self._ids.secret(), self._ids.secret()

        def unit(tx: Tx) -> Presence:
            _claimed(tx, known)
            return renewed(tx, presence, Assurance.PASSWORD, session_id=session_id, csrf_secret=secret)

        return SignedIn(session_id=session_id, presence=await self._standing(unit))

    async def change_password(self, presence: Presence, new: str, *, current: str = "", source: str) -> SignedIn:
        """Let somebody choose their password, and sign them out everywhere else.

        Args:
            presence: who.
            new: as it was typed.
            current: the password until now; not needed after signing in with a one-time password.
            source: the address that the request comes from.

        Raises:
            RequestError: `password_unfit`, `sign_in_failed`, `sign_in_required`.
            SignInDelayedError: `sign_in_delayed`.
            UnavailableError: it could not be looked at or recorded.
        """
        chosen = fit_password(new, name=presence.person.name)
        known = None if presence.restricted else await self._checked(presence.person.name, current, source=source)
        await self._refuse_one_time_again(presence, chosen, source=source)
        verifier = await self._slow.run(lambda: self._hashes.make(chosen), source=source)
        session_id, secret = self._ids.secret(), self._ids.secret()

        def unit(tx: Tx) -> Presence:
            presence.claim(tx)
            person = presence.person if known is None else _claimed(tx, known)
            tx.people.set_password(
                Password(user_id=person.user_id, verifier=verifier, one_time=False, spent=False, changed_at=tx.now)
            )
            ended = tx.people.end_sessions(person.user_id, tx.now)
            begun = _begun(session_id, person, Assurance.PASSWORD, csrf_secret=secret, now=tx.now)
            tx.people.add_session(begun)
            tx.append(person_entry("password_changed", person, presence.by(), sessions_ended=ended))
            return Presence(person=person, session=begun, restricted=False)

        return SignedIn(session_id=session_id, presence=await self._standing(unit))

    async def check_password(self, presence: Presence, password: str, *, source: str) -> None:
        """Refuse to go on unless this is the password of whoever is there.

        Raises:
            RequestError: `sign_in_failed`.
            SignInDelayedError: `sign_in_delayed`.
            UnavailableError: it could not be looked at.
        """
        await self._checked(presence.person.name, password, source=source)

    async def _checked(self, name: str, password: str, *, source: str) -> _Known:
        """Return the account that the password opens.

        INVARIANT: the work is the same, whether the name is known or not.
        """
        account = name if is_name(name) else _NOBODY
        attempt = self._delays.begin(source=source, account=account)
        try:
            known = await self._store.read(lambda reader: _known(reader.people, account))
            right = await self._matches(known.password.verifier if known else "", password, source=source)
        except UnavailableError:
            attempt.abandoned()
            raise
        if known is None or not right or not known.opens:
            self._failed(source)
        attempt.succeeded()
        return known

    async def _matches(self, verifier: str, password: str, *, source: str) -> bool:
        typed = normalised_password(password)
        return await self._slow.run(lambda: self._hashes.matches(verifier, typed), source=source)

    async def _refuse_one_time_again(self, presence: Presence, chosen: str, *, source: str) -> None:
        """Refuse a one-time password as the next password: somebody else knows it."""
        if not presence.restricted:
            return
        known = await self._store.read(lambda reader: reader.people.password(presence.person.user_id))
        if known is not None and await self._matches(known.verifier, chosen, source=source):
            message = "somebody else knows that password; choose another one"
            raise RequestError(message, code="password_unfit")

    async def _rehash(self, known: _Known, password: str, *, source: str) -> None:
        """Take up better parameters, where there are some and nobody waits for more important work."""
        old = known.password.verifier
        if known.password.one_time or not self._hashes.is_outdated(old):
            return
        typed = normalised_password(password)
        try:
            new = await self._slow.run(lambda: self._hashes.make(typed), source=source)
            await self._store.transact(lambda tx: tx.people.rehash(known.person.user_id, old=old, new=new))
        except UnavailableError:
            return

    async def _touched(self, found: Presence) -> Presence:
        session = found.session

        def unit(tx: Tx) -> datetime:
            before = tx.now - timedelta(seconds=TOUCH_SECONDS)
            tx.people.touch_session(session.session_sha256, at=tx.now, seen_before=before)
            return tx.now

        return replace(found, session=replace(session, last_seen=await self._store.transact(unit)))

    async def _standing(self, unit: Callable[[Tx], T]) -> T:
        """Run a unit that claims a session.

        Raises:
            RequestError: `sign_in_required`, where a claim does not hold any more.
        """
        try:
            return await self._store.transact(unit)
        except ClaimFailed:
            message = "this session is over; sign in again"
            raise RequestError(message, code="sign_in_required") from None

    def _failed(self, source: str) -> NoReturn:
        self._suppressed.suppress("sign_in_failed", source)
        message = "name and password do not open anything here"
        raise RequestError(message, code="sign_in_failed")


def digest_of(session_id: str) -> str:
    """Return what is kept of a session's id."""
    return sha256_hex(session_id[: _MAX_ID + 1].encode("utf-8", "surrogatepass"))


def renewed(
    tx: Tx, presence: Presence, proof: Assurance, *, session_id: str, csrf_secret: str, object_sha256: str = ""
) -> Presence:
    """Put a new session in the place of the one that `presence` has, with one more proof; part of a unit.

    A weaker proof leaves a stronger one that is still fresh. What was signed for an object counts for that object.

    Raises:
        ClaimFailed: `session_open`.
    """
    presence.claim(tx)
    old = presence.session
    tx.people.end_session(old.session_sha256, tx.now)
    new = replace(old, session_sha256=digest_of(session_id), csrf_secret=csrf_secret, last_seen=tx.now, ended_at=None)
    if object_sha256:
        new = replace(new, bound_object=object_sha256, bound_at=tx.now)
    elif proof >= presence.facts(tx.now).assurance:
        new = replace(new, assurance=proof, stepped_up_at=tx.now)
    tx.people.add_session(new)
    bound: dict[str, EntryValue] = {"object_sha256": object_sha256} if object_sha256 else {}
    tx.append(session_entry("stepped_up", presence.person, new, assurance=int(proof), **bound))
    return replace(presence, session=new)


def session_entry(code: str, person: Person, session: Session, **members: EntryValue) -> EntryDraft:
    """Return the `identity` entry of a session; the beginning of the id's digest tells sessions apart."""
    own: dict[str, EntryValue] = {
        "decision": "allow",
        "code": code,
        "principal": {"type": "Human", "id": person.person},
        "user_id": person.user_id,
        "name": person.name,
        "session": session.session_sha256[:16],
        "assurance": int(session.assurance),
    }
    return EntryDraft(kind=EntryKind.IDENTITY, members=own | members)


def _known(people: PeopleReads, name: str) -> _Known | None:
    person = people.named(name)
    password = people.password(person.user_id) if person else None
    return _Known(person, password) if person and password else None


def _presence(people: PeopleReads, session_sha256: str) -> Presence | None:
    session = people.session(session_sha256)
    person = people.get(session.user_id) if session else None
    password = people.password(person.user_id) if person else None
    if session is None or person is None or password is None or person.disabled_at is not None:
        return None
    return Presence(person=person, session=session, restricted=password.one_time)


def _claimed(tx: Tx, known: _Known) -> Person:
    """Return the account as it is now, if the password that was checked still opens it.

    Raises:
        ClaimFailed: `password_current`.
    """
    person, verifier = tx.people.get(known.person.user_id), known.password.verifier
    if person is None or person.disabled_at is not None:
        raise ClaimFailed(_PASSWORD_CURRENT)
    claim = tx.people.spend_password if known.password.one_time else tx.people.claim_password
    if not claim(person.user_id, verifier):
        raise ClaimFailed(_PASSWORD_CURRENT)
    return person


def _begun(session_id: str, person: Person, assurance: Assurance, *, csrf_secret: str, now: datetime) -> Session:
    return Session(
        session_sha256=digest_of(session_id),
        user_id=person.user_id,
        assurance=assurance,
        csrf_secret=csrf_secret,
        created_at=now,
        last_seen=now,
        stepped_up_at=now,
    )


def _make_room(tx: Tx, person: Person) -> None:
    """End the oldest sessions of an account that has as many as it may have."""
    found = tx.people.sessions(person.user_id, since=began_after(tx.now))
    for each in found[MOST_SESSIONS - 1 :]:
        tx.people.end_session(each.session_sha256, tx.now)


def _operated(reader: Reader, person: str) -> frozenset[str]:
    accounts = [each for each in reader.people.all() if each.person == person]
    names = {person.casefold()} | {each.name.casefold() for each in accounts}
    return frozenset(agent.agent_id for agent in reader.agents.all() if agent.operated_by.casefold() in names)


def sweeping() -> Chore:
    """Return what the store attends to: sessions that are over are deleted."""
    return Chore(name="sessions", every_seconds=_SWEEP_SECONDS, unit=_sweep)


def _sweep(tx: Tx) -> None:
    before = tx.now - timedelta(seconds=LIFETIME_SECONDS)
    tx.people.forget_sessions(before=before, most=_SWEPT_AT_ONCE)
