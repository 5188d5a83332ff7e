"""People who approve, review, operate and audit: their accounts, factors and sessions, as values.

- An account is what somebody signs in with; a person may have several, and policies look at the person.
- Each proof that somebody gives counts for `FRESH_SECONDS`; then the session counts as a mere session again.
- A security key that signed one object's digest counts as `WEBAUTHN` for that object alone.

Times are aware UTC `datetime`s with microseconds. What proves somebody is never in a `repr`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Final

__all__ = [
    "ADMIN",
    "CLOCK_SKEW_SECONDS",
    "FRESH_SECONDS",
    "IDLE_SECONDS",
    "LIFETIME_SECONDS",
    "ROLES",
    "TOUCH_SECONDS",
    "Assurance",
    "Factor",
    "FactorKind",
    "HumanClaim",
    "Password",
    "Person",
    "Session",
    "assurance_at",
    "is_open",
]

ADMIN: Final = "admin"

ROLES: Final = ("approver", "reviewer", "operator", "auditor", ADMIN)
"""The roles that people hold."""

FRESH_SECONDS: Final = 300
"""How long a proof counts."""

CLOCK_SKEW_SECONDS: Final = 60
"""How far the clocks of hosts may differ."""

IDLE_SECONDS: Final = 1_800
"""A session that was not used for so long is over."""

LIFETIME_SECONDS: Final = 43_200
"""No session lasts longer, however much it is used."""

TOUCH_SECONDS: Final = 60
"""How often it is written down that a session was used, at most."""


class Assurance(IntEnum):
    """How surely the person is the one who acts now (`Human.assurance` in policies)."""

    SESSION = 1
    PASSWORD = 2
    TOTP = 3
    WEBAUTHN = 4


class FactorKind(StrEnum):
    """What a second factor is: a one-time code (RFC 6238) or a security key (W3C Web Authentication)."""

    TOTP = "totp"
    WEBAUTHN = "webauthn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """An account of a person.

    Attributes:
        user_id: of the account.
        name: what is typed to sign in; unique, and never given again.
        person: who it is; the same for all accounts of one person. Policies and records name people by it.
        roles: a subset of `ROLES`.
        locale: the language of pages, e.g. `es`; empty where the browser says.
        disabled_at: it opens nothing since then.
    """

    user_id: str
    name: str
    person: str
    roles: frozenset[str]
    locale: str
    created_at: datetime
    disabled_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Password:
    """The password of an account.

    Attributes:
        verifier: Argon2id, in PHC form.
        one_time: somebody else chose it: it opens one session, and only to choose another.
        spent: a one-time password that was used.
    """

    user_id: str
    verifier: str = field(repr=False)
    one_time: bool
    spent: bool
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A second factor of an account.

    Attributes:
        label: what its owner calls it.
        secret: for `totp` the shared secret, sealed; for `webauthn` the public key (COSE, base64url).
        credential_id: what a security key calls itself, base64url; empty for `totp`.
        counter: the last accepted time step, or the key's signature counter; only ever raised.
    """

    factor_id: str
    user_id: str
    kind: FactorKind
    label: str
    secret: str = field(repr=False)
    credential_id: str
    counter: int
    created_at: datetime
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser in which somebody is signed in.

    Attributes:
        session_sha256: digest of the session's id, which only the browser has.
        assurance: of the best proof at `stepped_up_at`.
        csrf_secret: what tokens in forms and challenges are made with.
        last_seen: written at most once in `TOUCH_SECONDS`.
        bound_object: the digest of the one object that a security key has signed last; empty for none.
        bound_at: when.
    """

    session_sha256: str = field(repr=False)
    user_id: str
    assurance: Assurance
    csrf_secret: str = field(repr=False)
    created_at: datetime
    last_seen: datetime
    stepped_up_at: datetime
    bound_object: str = ""
    bound_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanClaim:
    """Whom the site itself vouches for.

    Attributes:
        person: the person's id.
        roles: of this person here; unknown words are dropped.
    """

    person: str
    roles: frozenset[str] = frozenset()


def is_open(session: Session, now: datetime) -> bool:
    """Whether the session has neither been ended, nor been left alone, nor lasted too long."""
    return (
        session.ended_at is None
        and now - session.last_seen < timedelta(seconds=IDLE_SECONDS)
        and now - session.created_at < timedelta(seconds=LIFETIME_SECONDS)
    )


def assurance_at(session: Session, now: datetime, *, object_sha256: str = "") -> Assurance:
    """Return how surely the session's person acts at `now`.

    Args:
        session: an open one.
        now: the time of the decision.
        object_sha256: the digest of what is decided upon. With it, a security key counts as `WEBAUTHN` only if it has
            signed this very digest, and as a second factor (`TOTP`) otherwise.
    """
    general = session.assurance if _is_fresh(session.stepped_up_at, now) else Assurance.SESSION
    if not object_sha256:
        return general
    if session.bound_at is not None and session.bound_object == object_sha256 and _is_fresh(session.bound_at, now):
        return Assurance.WEBAUTHN
    return min(general, Assurance.TOTP)


def _is_fresh(moment: datetime, now: datetime) -> bool:
    return timedelta(seconds=-CLOCK_SKEW_SECONDS) <= now - moment < timedelta(seconds=FRESH_SECONDS)
