"""Which key signs, and which keys' signatures hold.

Rules:

- A key signs once its public half is in the store, with an `admin` entry: every host can verify what it is given.
- The newest key that signs for its purpose and whose file this host has does it; where there is none, one is made.
- What the store says of keys is read again every `LOOK_EVERY_SECONDS`, and at once for a `kid` that is not known, at
  most once a second: invented ones cause no load. These are reads; nothing waits for the head of the ledger.
- A retired key's tokens open nothing from the commit that retired it, whatever is known here: that commit ended their
  negotiations, and `claim` keeps a new one from being signed with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from negotiator.errors import ClaimFailed, UnavailableError
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.keys import SigningKey
from negotiator.ports import Clock, KeyFolder, Lane, Signer, Store, Tx

__all__ = ["KEY_USABLE", "LOOK_EVERY_SECONDS", "Signing", "key_entry", "signing_here"]

KEY_USABLE: Final = "key_usable"
LOOK_EVERY_SECONDS: Final = 5.0

_UNKNOWN_EVERY_SECONDS = 1.0


class Signing:
    """The keys of negotiation tokens. Shared by everybody who signs or verifies in this process.

    Args:
        store: with the public halves of every host.
        folder: with the private halves of this one.
        clock: for pauses between looks.
    """

    def __init__(self, *, store: Store, folder: KeyFolder, clock: Clock) -> None:
        self._store = store
        self._folder = folder
        self._clock = clock
        self._known: Mapping[str, SigningKey] = {}
        self._signer: Signer | None = None
        self._looked_at: float | None = None
        self._unknown_at = clock.monotonic()
        self._under_way: asyncio.Future[None] | None = None

    async def signer(self, *, fresh: bool = False) -> Signer:
        """Return the key that signs tokens now.

        Args:
            fresh: look again, also where it was looked a moment ago.

        Raises:
            UnavailableError: the store cannot be read, or a new key cannot be recorded.
            ConfigError: the key files cannot be used.
        """
        if fresh or self._signer is None or self._age() >= LOOK_EVERY_SECONDS:
            await self._look()
            self._signer = await self._chosen()
        return self._signer

    async def verified(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token that one of our keys signed; `exp` is not looked at.

        Raises:
            RequestError: `credentials_invalid`, for anything else.
            UnavailableError: the store cannot be read.
        """
        if self._folder.key_id(token) not in self._known:
            await self._look_for_unknown()
        return self._folder.verified(token, self._public)

    async def _look_for_unknown(self) -> None:
        """Look again, at most once in a while; whoever comes during a look waits for what it finds."""
        if self._clock.monotonic() >= self._unknown_at:
            self._unknown_at = self._clock.monotonic() + _UNKNOWN_EVERY_SECONDS
            self._under_way = asyncio.ensure_future(self._look())
        if self._under_way is not None and self._under_way.get_loop() is asyncio.get_running_loop():
            await asyncio.shield(self._under_way)

    def claim(self, tx: Tx, signer: Signer) -> None:
        """Claim, inside a unit, that what `signer` signs will hold.

        Raises:
            ClaimFailed: `key_usable`.
        """
        if not tx.keys.claim_usable(signer.key_id):
            raise ClaimFailed(KEY_USABLE)

    async def refresh(self) -> None:
        """Look again where it is time; where the store cannot be read, what is known stays."""
        if self._age() >= LOOK_EVERY_SECONDS:
            with suppress(UnavailableError):
                await self._look()

    def public_keys(self) -> Mapping[str, Any]:
        """Return the JWKS document of every key that is not retired, as of the last look (RFC 7517)."""
        return {"keys": [key.as_jwk() for key in self._known.values() if key.retired_at is None]}

    def _public(self, key_id: str) -> str | None:
        key = self._known.get(key_id)
        return key.public if key and key.purpose == "token" and key.retired_at is None else None

    def _age(self) -> float:
        return float("inf") if self._looked_at is None else self._clock.monotonic() - self._looked_at

    async def _look(self) -> None:
        self._looked_at = self._clock.monotonic()
        keys = await self._store.read(lambda reader: reader.keys.all())
        self._known = {key.key_id: key for key in keys}

    async def _chosen(self) -> Signer:
        files = await asyncio.to_thread(self._folder.signers, "token")
        signer = signing_here(files, self._known)
        if signer is None:
            signer = await asyncio.to_thread(self._folder.make, "token")
        if signer.key_id not in self._known:
            await self._store.transact(partial(_publish, signer=signer), Lane.DECLARATION)
            await self._look()
        return signer


def signing_here(files: Sequence[Signer], known: Mapping[str, SigningKey]) -> Signer | None:
    """Return, of the keys whose files are here, the one that signs: the newest; one that nobody knows yet is newer."""
    able = [signer for signer in files if signer.key_id not in known or known[signer.key_id].state == "signing"]
    return max(able, key=lambda signer: _newness(signer, known), default=None)


def _newness(signer: Signer, known: Mapping[str, SigningKey]) -> tuple[bool, str, str]:
    key = known.get(signer.key_id)
    return key is None, key.created_at.isoformat() if key else "", signer.key_id


def _publish(tx: Tx, *, signer: Signer) -> None:
    key = SigningKey(key_id=signer.key_id, purpose="token", public=signer.public, created_at=tx.now)
    if tx.keys.add(key):
        tx.append(key_entry("key_added", key, actor=tx.owner))


def key_entry(code: str, key: SigningKey, *, actor: str, **members: EntryValue) -> EntryDraft:
    """Return the `admin` entry of a change to a key."""
    own: dict[str, EntryValue] = {
        "decision": "allow",
        "code": code,
        "actor": {"type": "Host", "id": actor},
        "key_id": key.key_id,
        "purpose": key.purpose,
    }
    return EntryDraft(kind=EntryKind.ADMIN, members=own | members)
