"""Who is there: a person in a session, as policies and units see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from negotiator.errors import ClaimFailed, RequestError
from negotiator.model.approvers import Approver
from negotiator.model.facts import HumanFacts
from negotiator.model.people import LIFETIME_SECONDS, ROLES, Assurance, HumanClaim, Person, Session, assurance_at
from negotiator.ports import Tx
from negotiator.services.accounts import By

__all__ = ["Presence", "vouched_for"]

_SESSION_OPEN: Final = "session_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """A person who is signed in, as of one read.

    Attributes:
        restricted: the password is a one-time password: until it is changed the person has no roles.
    """

    person: Person
    session: Session
    restricted: bool

    def facts(self, now: datetime, *, object_sha256: str = "") -> HumanFacts:
        """Return the principal of a decision.

        Args:
            now: the time of the decision.
            object_sha256: the digest of what is decided upon, where that has one; see `assurance_at`.
        """
        if self.restricted:
            return HumanFacts(person=self.person.person, assurance=int(Assurance.SESSION))
        assurance = assurance_at(self.session, now, object_sha256=object_sha256)
        return HumanFacts(person=self.person.person, assurance=int(assurance), roles=self.person.roles)

    def approver(self, now: datetime, *, object_sha256: str, operated_agents: frozenset[str]) -> Approver:
        """Return the person as who decides on consents.

        Args:
            now: the time of the decision.
            object_sha256: the digest of what is shown, which is what a security key has to have signed.
            operated_agents: as `Sessions.operated_agents` gives them.
        """
        facts = self.facts(now, object_sha256=object_sha256)
        return Approver(
            person_id=facts.person,
            name=self.person.name,
            roles=facts.roles,
            assurance=facts.assurance,
            operated_agents=operated_agents,
        )

    def claim(self, tx: Tx) -> None:
        """Claim, in the unit that records what the person does, that the session still stands.

        Whoever is disabled, or has other roles, has no session any more.

        Raises:
            ClaimFailed: `session_open`.
        """
        if not tx.people.claim_session(self.session.session_sha256, since=began_after(tx.now)):
            raise ClaimFailed(_SESSION_OPEN)

    def by(self) -> By:
        """Return the person as who makes a change."""
        return By(type="Human", id=self.person.person, claim=self.claim)

    def require_unrestricted(self) -> None:
        """Let nothing be done but changing a one-time password.

        Raises:
            RequestError: `password_change_required`.
        """
        if self.restricted:
            message = "somebody else knows this password; choose your own first"
            raise RequestError(message, code="password_change_required")


def began_after(now: datetime) -> datetime:
    """Return since when a session that is open at `now` can have begun."""
    return now - timedelta(seconds=LIFETIME_SECONDS)


def vouched_for(claim: HumanClaim) -> HumanFacts:
    """Return the principal of a person for whom the site vouches: a mere session, whatever the site did."""
    return HumanFacts(person=claim.person, assurance=int(Assurance.SESSION), roles=claim.roles & frozenset(ROLES))
