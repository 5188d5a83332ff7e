"""People in the store, and what their secrets are kept with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeAlias, TypeVar

from negotiator.model.people import Factor, HumanClaim, Password, Person, Session

__all__ = ["HumanAuthenticator", "PasswordHashes", "PeopleReads", "PeopleWrites", "Sealer", "SlowWork"]

T = TypeVar("T")

HumanAuthenticator: TypeAlias = Callable[[Any], Awaitable[HumanClaim | None]]
"""The site's own sign-in, for sites that have one: given an ASGI scope, whom it vouches for; None for nobody.

Called for every request of a person, on the event loop: it must be quick and must not read the body. It says who and
with which roles; how sure that is it does not say: people vouched for so have the assurance `SESSION`, whatever the
site did to know them. What it raises is logged, and nobody is vouched for.
"""


class PeopleReads(Protocol):
    """Accounts of people, their passwords, factors and sessions."""

    def all(self) -> Sequence[Person]:
        """Return every account, disabled ones too, by creation."""
        ...

    def get(self, user_id: str) -> Person | None: ...

    def named(self, name: str) -> Person | None: ...

    def password(self, user_id: str) -> Password | None: ...

    def factors(self, user_id: str) -> Sequence[Factor]:
        """Return the factors of an account, by creation."""
        ...

    def session(self, session_sha256: str) -> Session | None:
        """Return the session, open or not."""
        ...

    def sessions(self, user_id: str, *, since: datetime) -> Sequence[Session]:
        """Return the sessions of an account that began after `since` and were not ended, newest first."""
        ...


class PeopleWrites(PeopleReads, Protocol):
    """Changes to them."""

    def add(self, person: Person, password: Password) -> bool:
        """Store both; False if an account has that name, or had it."""
        ...

    def change(self, person: Person) -> None:
        """Store its roles and whether it is disabled."""
        ...

    def set_password(self, password: Password) -> None: ...

    def rehash(self, user_id: str, *, old: str, new: str) -> bool:
        """Put another verifier of the same password; False if the password is not any more what it was."""
        ...

    def claim_password(self, user_id: str, verifier: str) -> bool:
        """Claim: it is still the password, and is not spent."""
        ...

    def spend_password(self, user_id: str, verifier: str) -> bool:
        """Claim and spend: it is still the one-time password, and nobody has used it."""
        ...

    def add_factor(self, factor: Factor) -> bool:
        """Store it; False if that security key is registered here already, by whomever."""
        ...

    def remove_factor(self, user_id: str, factor_id: str) -> bool:
        """Delete it; False if there is none."""
        ...

    def advance_factor(self, factor: Factor, counter: int, at: datetime) -> bool:
        """Claim and raise: its counter is still below `counter`, so that what was shown is shown for the first time."""
        ...

    def use_factor(self, factor: Factor, at: datetime) -> bool:
        """Claim and note a use of a key that never counts: its counter is still 0."""
        ...

    def add_session(self, session: Session) -> None: ...

    def touch_session(self, session_sha256: str, *, at: datetime, seen_before: datetime) -> bool:
        """Note that it was used, if it is not ended and that was not noted since `seen_before`."""
        ...

    def claim_session(self, session_sha256: str, *, since: datetime) -> bool:
        """Claim: it began after `since`, was not ended, and its account is not disabled."""
        ...

    def end_session(self, session_sha256: str, at: datetime) -> bool:
        """End it; False if it was ended or is unknown."""
        ...

    def end_sessions(self, user_id: str, at: datetime) -> int:
        """End all of an account; return how many were not ended."""
        ...

    def forget_sessions(self, *, before: datetime, most: int) -> int:
        """Delete those that began before then, at most `most`, the oldest first; return how many."""
        ...


class PasswordHashes(Protocol):
    """Slow, salted hashes of passwords. Each call takes a tenth of a second and much memory: run them as `SlowWork`."""

    def make(self, password: str) -> str:
        """Return a verifier of `password`, with a fresh salt."""
        ...

    def matches(self, verifier: str, password: str) -> bool:
        """Whether `password` is the one. With an empty verifier it takes as long, and is False."""
        ...

    def is_outdated(self, verifier: str) -> bool:
        """Whether a verifier was made with other parameters than are used now."""
        ...


class Sealer(Protocol):
    """Encryption of secrets that have to be read again, under a key outside the database."""

    def seal(self, secret: str, *, place: str) -> str:
        """Return the sealed form of `secret`, which opens at `place` only."""
        ...

    def open(self, sealed: str, *, place: str) -> str:
        """Return the secret.

        Raises:
            IntegrityError: `secret_unreadable`: it was sealed under another key or for another place, or was changed.
        """
        ...


class SlowWork(Protocol):
    """A gate before what takes long: few at a time, a short queue, then a refusal."""

    async def run(self, work: Callable[[], T], *, source: str) -> T:
        """Return what `work`, run in a thread, returns.

        Raises:
            UnavailableError: too many wait.
        """
        ...
