"""Credentials of the site itself, with which it says what became of effects (`settlements`). They open nothing else.

They are made and revoked on the host of the database. Only a keyed hash of the secret is kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from negotiator.errors import RequestError, quoted
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.records import SiteCredential
from negotiator.ports import Ids, Store, Tx, Verifiers
from negotiator.services.credentials import ApiToken, format_site_token, parse_site_token

__all__ = ["NewSiteCredential", "SiteCredentials"]

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSiteCredential:
    """A site credential and the only copy of its token."""

    credential: SiteCredential
    token: str = field(repr=False)


class SiteCredentials:
    """The credentials of the site itself. Made and revoked on the host, without an event loop."""

    def __init__(self, *, store: Store, verifiers: Verifiers, ids: Ids) -> None:
        self._store = store
        self._verifiers = verifiers
        self._ids = ids

    def add(self, name: str, *, actor: str) -> NewSiteCredential:
        """Make a credential for the site.

        Args:
            name: lower-case letters, digits, `.`, `_`, `-`; at most 64; unique among those that are not revoked.
            actor: the user of this host who makes it, for the ledger.

        Raises:
            RequestError: `name_invalid`, `name_taken`.
            UnavailableError: it could not be recorded.
        """
        if not _NAME.fullmatch(name):
            message = f"{quoted(name)} is no name; use lower-case letters, digits, '.', '_' and '-', at most 64"
            raise RequestError(message, code="name_invalid")
        token = ApiToken(credential_id=self._ids.new(), secret=self._ids.secret())
        verifier = self._verifiers.verifier(token.secret)

        def unit(tx: Tx) -> SiteCredential:
            made = SiteCredential(credential_id=token.credential_id, name=name, verifier=verifier, created_at=tx.now)
            if not tx.site_credentials.add(made):
                message = f"a site credential named {quoted(name)} is there already; revoke it or take another name"
                raise RequestError(message, code="name_taken")
            tx.append(_entry("site_credential_added", made, actor))
            return made

        return NewSiteCredential(credential=self._store.transact_sync(unit), token=format_site_token(token))

    def listed(self) -> tuple[SiteCredential, ...]:
        """Return every one, revoked ones too, by creation."""
        return tuple(self._store.read_sync(lambda reader: reader.site_credentials.all()))

    def revoke(self, name: str, *, actor: str) -> SiteCredential:
        """Revoke one: it opens nothing from this commit on.

        Raises:
            RequestError: `not_found`.
            UnavailableError: it could not be recorded.
        """

        def unit(tx: Tx) -> SiteCredential:
            revoked = tx.site_credentials.revoke(name, tx.now)
            if revoked is None:
                message = f"no site credential is named {quoted(name)}; `negotiator site list` shows them"
                raise RequestError(message, code="not_found")
            tx.append(_entry("site_credential_revoked", revoked, actor))
            return revoked

        return self._store.transact_sync(unit)

    async def of_token(self, text: str) -> SiteCredential:
        """Return the credential that a token proves.

        Raises:
            RequestError: `credentials_invalid`.
            UnavailableError: the store cannot be read.
        """
        token = parse_site_token(text)
        found = await self._store.read(lambda reader: reader.site_credentials.get(token.credential_id))
        # The comparison is made for unknown ids, too, so that time tells nothing about which ids exist.
        matches = self._verifiers.matches(token.secret, found.verifier if found else "")
        if found is None or not matches or found.revoked_at:
            message = "the site credential is unknown or revoked; make a new one with `negotiator site add`"
            raise RequestError(message, code="credentials_invalid")
        return found


def _entry(code: str, credential: SiteCredential, actor: str) -> EntryDraft:
    members: dict[str, EntryValue] = {
        "decision": "allow",
        "code": code,
        "actor": {"type": "Host", "id": actor},
        "credential_id": credential.credential_id,
        "name": credential.name,
    }
    return EntryDraft(kind=EntryKind.IDENTITY, members=members)
