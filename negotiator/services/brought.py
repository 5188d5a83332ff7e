"""The evidence that counts in one request: a claim, as other headers make.

The decision is made as if all of it still counted; `Brought.claim` makes that true in the unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from negotiator.errors import ClaimFailed
from negotiator.model.evidence import EVIDENCE_ID, EvidenceLink, strongest
from negotiator.model.records import Identity
from negotiator.ports import Reader, Store, Tx

__all__ = ["EVIDENCE_USABLE", "NOTHING_BROUGHT", "Brought", "EvidenceUse"]

EVIDENCE_USABLE: Final = "evidence_usable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """For each kind the strongest evidence that was named and that its caller may use.

    Attributes:
        links: by kind.
    """

    links: Mapping[str, EvidenceLink] = field(default_factory=dict)

    @property
    def tags(self) -> Mapping[str, str]:
        """The facts `evidence:<kind>`, with the origin as value."""
        return {f"evidence:{kind}": link.origin for kind, link in sorted(self.links.items())}

    @property
    def ids(self) -> Mapping[str, str]:
        """Kind to evidence id, for the entry."""
        return {kind: link.evidence_id for kind, link in sorted(self.links.items())}

    def claim(self, tx: Tx) -> None:
        """Claim, inside a unit, that all of it still counts.

        Raises:
            ClaimFailed: `evidence_usable`.
        """
        for link in self.links.values():
            if not tx.evidence.claim(link):
                raise ClaimFailed(EVIDENCE_USABLE)


NOTHING_BROUGHT: Final = Brought()


class EvidenceUse:
    """What the evidence that a request names is worth to its caller."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def brought(self, identity: Identity, evidence_ids: Sequence[str]) -> Brought:
        """Return what counts of the evidence with these ids; unknown and foreign ids count for nothing.

        Raises:
            UnavailableError: the store cannot be read.
        """
        wanted = [each for each in evidence_ids if EVIDENCE_ID.fullmatch(each)]
        if not wanted or not identity.verified:
            return NOTHING_BROUGHT
        subject = identity.subject

        def query(reader: Reader) -> list[EvidenceLink]:
            return [link for each in wanted for link in reader.evidence.links(each, subject)]

        return Brought(links=strongest(await self._store.read(query)))
