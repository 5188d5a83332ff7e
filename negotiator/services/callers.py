"""Who is calling: from what a request presents to an identity and a negotiation.

Rules:

- A presented but bad credential is an error, never silently anonymous.
- A token is accepted only together with the credential that it was made with (RFC 7800 `cnf`).
- A token's signature is checked once, since that it is ours never changes; what it opens is asked each time.
- What is found here may be stale by the time of the commit; `Caller.claim` makes it true inside the unit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, NoReturn, TypeVar

from negotiator.canonical import sha256_hex
from negotiator.errors import ClaimFailed, RequestError, UnavailableError
from negotiator.model.governed import Presented, Standing
from negotiator.model.levels import DEFAULT_ANONYMOUS_CAP
from negotiator.model.records import Agent, Credential, Identity, Negotiation
from negotiator.ports import Clock, Store, Tx, Verifiers
from negotiator.services.brought import NOTHING_BROUGHT, Brought
from negotiator.services.credentials import parse_api_token
from negotiator.services.signing import Signing

__all__ = ["NEGOTIATIONS_LEFT", "NEGOTIATION_LIVE", "NOBODY", "Caller", "Callers", "until_claimed"]

CREDENTIAL_ACTIVE = "credential_active"
NEGOTIATION_LIVE = "negotiation_live"
NEGOTIATIONS_LEFT = "negotiations_left"
_CACHED = 4096
_CLAIMS = 9
"""The credential, the negotiation, room for one more of it, the bundle (`Policies.claim`), the key that signs
(`Signing.claim`), the request's expiry and its idempotency key (`Enforcement`), the approval (`Consented`), the
evidence (`Brought`)."""

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

NOBODY = Identity(kind="anonymous", subject="anonymous", verified=False, max_level=DEFAULT_ANONYMOUS_CAP)
"""The identity of a caller that presented no credential and no token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An identity, and what it presented: its negotiation, if any, and the evidence that counts for it."""

    identity: Identity
    negotiation: Negotiation | None = None
    brought: Brought = NOTHING_BROUGHT

    @property
    def standing(self) -> Standing | None:
        """What must still hold while an exchange of this caller is open; None for a caller that presented nothing."""
        if self.negotiation is None and not self.identity.credential_id:
            return None
        return Standing(
            negotiation_id=self.negotiation.negotiation_id if self.negotiation else "",
            credential_id=self.identity.credential_id,
            max_level=self.identity.max_level,
        )

    def claim(self, tx: Tx) -> None:
        """Make true, inside a unit, what was found before it.

        Raises:
            ClaimFailed: `credential_active`, `negotiation_live` or `evidence_usable`.
        """
        identity = self.identity
        if identity.credential_id and not tx.agents.claim_credential(identity.credential_id, identity.max_level):
            raise ClaimFailed(CREDENTIAL_ACTIVE)
        if self.negotiation and not tx.negotiations.claim_live(self.negotiation.negotiation_id, tx.now):
            raise ClaimFailed(NEGOTIATION_LIVE)
        self.brought.claim(tx)


async def until_claimed(attempt: Callable[[frozenset[str]], Awaitable[T]]) -> T:
    """Return what `attempt` gives once its claims hold: it is made again at most once for each of them.

    Args:
        attempt: decides and commits; is told which claims have failed, to read afresh and to take them as not so.

    Raises:
        UnavailableError: `ledger_unavailable`, where what it stands on keeps changing. What `attempt` raises goes on.
    """
    failed: frozenset[str] = frozenset()
    for _ in range(_CLAIMS + 1):
        try:
            return await attempt(failed)
        except ClaimFailed as claim:
            failed |= {claim.fact}
    message = "the caller's state or the policies keep changing; try again"
    raise UnavailableError(message, code="ledger_unavailable")


class Callers:
    """Resolves callers. Rows are cached, since the unit of each request claims that they still hold."""

    def __init__(self, *, store: Store, signing: Signing, verifiers: Verifiers, clock: Clock, audience: str) -> None:
        self._store = store
        self._signing = signing
        self._verifiers = verifiers
        self._clock = clock
        self._audience = audience
        self._agents: _Bounded[str, tuple[Agent, Credential]] = _Bounded(_CACHED)
        self._negotiations: _Bounded[str, Negotiation] = _Bounded(_CACHED)
        self._tokens: _Bounded[str, str] = _Bounded(_CACHED)

    async def resolve(
        self, presented: Presented, *, fresh: bool = False, failed: frozenset[str] = frozenset()
    ) -> Caller:
        """Return the caller of a request.

        Args:
            presented: what its headers claim.
            fresh: read the rows again, also where they are cached.
            failed: the claims that a unit found not to hold, whatever rows and clock say here. A negotiation that was
                not live never is again; the ledger's time may be ahead of a clock that was set back.

        Raises:
            RequestError: `credentials_invalid`, `negotiation_expired`.
            UnavailableError: the store cannot be read.
        """
        fresh = fresh or bool(failed)
        identity = await self._identity(presented.credential, fresh=fresh) if presented.credential else NOBODY
        if not presented.negotiation:
            return Caller(identity=identity)
        negotiation = await self._negotiation(await self._negotiation_id(presented.negotiation), fresh=fresh)
        self._check_holder(negotiation, identity)
        if NEGOTIATION_LIVE in failed:
            _expired()
        if not identity.credential_id:
            identity = replace(NOBODY, subject=negotiation.subject)
        return Caller(identity=identity, negotiation=negotiation)

    async def _identity(self, credential: str, *, fresh: bool) -> Identity:
        """Return the identity that an API token proves.

        Raises:
            RequestError: `credentials_invalid`.
        """
        token = parse_api_token(credential)
        rows = None if fresh else self._agents.get(token.credential_id)
        if rows is None:
            rows = await self._store.read(lambda reader: reader.agents.with_credential(token.credential_id))
        verifier = rows[1].verifier if rows else ""
        # The comparison is made for unknown ids, too, so that time tells nothing about which ids exist.
        matches = self._verifiers.matches(token.secret, verifier)
        if rows is None or not matches or rows[0].revoked_at or rows[1].revoked_at:
            _refuse("the credential is unknown or revoked; ask the operator for a new one")
        self._agents.put(token.credential_id, rows)
        agent = rows[0]
        return Identity(
            kind="api_token",
            subject=agent.subject,
            verified=True,
            max_level=agent.max_level,
            credential_id=token.credential_id,
            agent_id=agent.agent_id,
            operated_by=agent.operated_by,
        )

    async def _negotiation_id(self, token: str) -> str:
        """Return the negotiation that a token of ours names; known tokens are kept by digest, never as they are."""
        digest = sha256_hex(token.encode())
        known = self._tokens.get(digest)
        if known is None:
            known = await self._verified_id(token)
            self._tokens.put(digest, known)
        return known

    async def _verified_id(self, token: str) -> str:
        claims = await self._signing.verified(token)
        if claims.get("iss") != self._audience or claims.get("aud") != self._audience:
            _refuse("the negotiation token was made for another site; declare here")
        negotiation_id = claims.get("jti")
        if not isinstance(negotiation_id, str):
            _refuse("the negotiation token names no negotiation; declare again")
        return negotiation_id

    async def _negotiation(self, negotiation_id: str, *, fresh: bool) -> Negotiation:
        found = None if fresh else self._negotiations.get(negotiation_id)
        if found is None:
            found = await self._store.read(lambda reader: reader.negotiations.get(negotiation_id))
        if found is None:
            _refuse("the negotiation is unknown here; declare again")
        if found.ended_at or found.expires_at <= self._clock.now():
            _expired()
        self._negotiations.put(negotiation_id, found)
        return found

    def _check_holder(self, negotiation: Negotiation, identity: Identity) -> None:
        if negotiation.credential_id != identity.credential_id:
            _refuse("the negotiation token belongs to another credential; present both together")
        if identity.credential_id and negotiation.principal.max_level != int(identity.max_level):
            message = "the operator changed the agent's highest level; declare again"
            raise RequestError(message, code="negotiation_expired")


def _refuse(message: str) -> NoReturn:
    raise RequestError(message, code="credentials_invalid")


def _expired() -> NoReturn:
    message = "the negotiation has ended or expired; declare again"
    raise RequestError(message, code="negotiation_expired")


class _Bounded(Generic[K, V]):
    """A dictionary that forgets what was used least recently."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        row = self._rows.get(key)
        if row is not None:
            self._rows.move_to_end(key)
        return row

    def put(self, key: K, row: V) -> None:
        self._rows[key] = row
        self._rows.move_to_end(key)
        if len(self._rows) > self._most:
            self._rows.popitem(last=False)
