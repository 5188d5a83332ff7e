"""What operators do to signing keys: list, make, rotate, retire. Each change commits with its `admin` entry.

| state | signs | its signatures hold |
| --- | --- | --- |
| signing | yes | yes |
| verifying | no: another key was put in its place | yes |
| retired | no | no, from the commit that retired it |

A key file is never deleted here. Runs on the host that has the files, without an event loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from negotiator.errors import RequestError, quoted
from negotiator.model.entries import EntryValue
from negotiator.model.keys import KEY_PURPOSES, KeyPurpose, SigningKey
from negotiator.ports import KeyFolder, Signer, Store, Tx
from negotiator.services.signing import key_entry, signing_here

__all__ = ["KeyAdministration", "ListedKey"]

_MAX_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKey:
    """A key, and whether its private half is on this host.

    Attributes:
        here: whether its file is on this host.
        key: as the store has it; None for a file that was not used yet.
    """

    key_id: str
    purpose: KeyPurpose
    here: bool
    key: SigningKey | None

    @property
    def state(self) -> str:
        """Its state; `new` where nothing was signed with it yet."""
        return self.key.state if self.key else "new"


class KeyAdministration:
    """The signing keys of one project."""

    def __init__(self, *, store: Store, folder: KeyFolder) -> None:
        self._store = store
        self._folder = folder

    def listed(self) -> Sequence[ListedKey]:
        """Return every key that the store knows or this host has a file of, by purpose, then by creation.

        Raises:
            ConfigError: the key files cannot be used.
            UnavailableError: the store cannot be read.
        """
        known = self._store.read_sync(lambda reader: reader.keys.all())
        files = {signer.key_id: purpose for purpose in KEY_PURPOSES for signer in self._folder.signers(purpose)}
        listed = [ListedKey(key_id=key.key_id, purpose=key.purpose, here=key.key_id in files, key=key) for key in known]
        unused = files.keys() - {key.key_id for key in known}
        listed += [ListedKey(key_id=key_id, purpose=files[key_id], here=True, key=None) for key_id in sorted(unused)]
        return sorted(listed, key=lambda item: list(KEY_PURPOSES).index(item.purpose))

    def add(self, purpose: KeyPurpose, *, actor: str) -> SigningKey:
        """Make the first key of a purpose on this host.

        Raises:
            RequestError: `key_exists`: there is one that signs; rotate it.
            ConfigError: the key files cannot be used.
            UnavailableError: it could not be recorded.
        """
        known = {key.key_id: key for key in self._store.read_sync(lambda reader: reader.keys.all())}
        files = self._folder.signers(purpose)
        if signing_here(files, known) is not None:
            message = f"this host has a key for {KEY_PURPOSES[purpose]} already; `negotiator key rotate {purpose}`"
            raise RequestError(message, code="key_exists")
        signer = self._folder.make(purpose)
        return self._store.transact_sync(lambda tx: _added(tx, purpose, signer, actor=actor))

    def rotate(self, purpose: KeyPurpose, *, actor: str) -> SigningKey:
        """Make a new key and let it sign in the place of this host's others; what those signed still holds.

        Raises:
            ConfigError: the key files cannot be used.
            UnavailableError: it could not be recorded.
        """
        before = self._folder.signers(purpose)
        signer = self._folder.make(purpose)

        def unit(tx: Tx) -> SigningKey:
            for old in before:
                _known(tx, purpose, old)
            rotated: list[EntryValue] = [old.key_id for old in before if tx.keys.rotate(old.key_id, tx.now)]
            key = _known(tx, purpose, signer)
            tx.append(key_entry("key_rotated", key, actor=actor, in_place_of=rotated))
            return key

        return self._store.transact_sync(unit)

    def retire(self, key_id: str, *, reason: str, actor: str) -> SigningKey:
        """Let nothing that a key has signed hold any more, and end the negotiations whose tokens it signed.

        Args:
            key_id: whole, or its beginning where that names one key.
            reason: for the ledger.
            actor: the user of this host, for the ledger.

        Raises:
            RequestError: `not_found`; `key_in_use` while it signs on this host.
            ConfigError: the key files cannot be used.
            UnavailableError: it could not be recorded.
        """
        known = {key.key_id: key for key in self._store.read_sync(lambda reader: reader.keys.all())}
        key = _named(known.values(), key_id)
        signer = signing_here(self._folder.signers(key.purpose), known)
        if signer is not None and signer.key_id == key.key_id:
            message = f"this key signs on this host; first run `negotiator key rotate {key.purpose}`"
            raise RequestError(message, code="key_in_use")

        def unit(tx: Tx) -> SigningKey:
            if not tx.keys.retire(key.key_id, tx.now):
                message = f"the key {quoted(key.key_id)} is retired already"
                raise RequestError(message, code="not_found")
            tx.append(key_entry("key_retired", key, actor=actor, reason=reason[:_MAX_REASON]))
            return next(each for each in tx.keys.all() if each.key_id == key.key_id)

        return self._store.transact_sync(unit)


def _added(tx: Tx, purpose: KeyPurpose, signer: Signer, *, actor: str) -> SigningKey:
    key = _known(tx, purpose, signer)
    tx.append(key_entry("key_added", key, actor=actor))
    return key


def _known(tx: Tx, purpose: KeyPurpose, signer: Signer) -> SigningKey:
    """Return the key of a file, which the store knows from now on."""
    tx.keys.add(SigningKey(key_id=signer.key_id, purpose=purpose, public=signer.public, created_at=tx.now))
    return next(key for key in tx.keys.all() if key.key_id == signer.key_id)


def _named(keys: Iterable[SigningKey], beginning: str) -> SigningKey:
    found = [key for key in keys if beginning and key.key_id.startswith(beginning)]
    if len(found) == 1:
        return found[0]
    message = f"{len(found)} keys have an id that begins with {quoted(beginning)}; `negotiator key list` shows them"
    raise RequestError(message, code="not_found")
