"""Receipts of approvals: what proves that a person gave one, signed by a key of its own purpose.

Members are named after ISO/IEC TS 27560 where it has a word. It is an authorisation receipt and makes no claim about
consent in the sense of any law. The same approval in the same state gives the same receipt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from negotiator.model.consents import Approval, ApprovalUse, ConsentRequest
from negotiator.model.keys import KeyPurpose, SigningKey
from negotiator.model.times import format_time
from negotiator.ports import KeyFolder, Signer, Store, Tx
from negotiator.services.signing import key_entry, signing_here

__all__ = ["Receipts"]

_PURPOSE: Final[KeyPurpose] = "receipt"
_STATEMENT: Final = (
    "An authorisation receipt: what a person allowed an agent to do here. It is no claim of legal consent."
)


class Receipts:
    """Signs receipts of one project.

    Args:
        store: with the public halves of keys.
        folder: with the private halves; a receipt key is made when the first receipt is asked for.
        issuer: this site.
    """

    def __init__(self, *, store: Store, folder: KeyFolder, issuer: str) -> None:
        self._store = store
        self._folder = folder
        self._issuer = issuer

    async def signed(self, approval: Approval, request: ConsentRequest, uses: Sequence[ApprovalUse]) -> dict[str, Any]:
        """Return `{receipt, signature}`; the signature is a compact JWS whose payload is the receipt (RFC 8785).

        Raises:
            UnavailableError: a new key cannot be recorded.
            ConfigError: the key files cannot be used.
        """
        receipt = _receipt(approval, request, uses, issuer=self._issuer)
        signer = await self._signer()
        return {"receipt": receipt, "signature": await asyncio.to_thread(_sign, signer, receipt)}

    async def _signer(self) -> Signer:
        known = {key.key_id: key for key in await self._store.read(lambda reader: reader.keys.all())}
        signer = signing_here(await asyncio.to_thread(self._folder.signers, _PURPOSE), known)
        if signer is None:
            signer = await asyncio.to_thread(self._folder.make, _PURPOSE)
        if signer.key_id not in known:
            await self._publish(signer)
        return signer

    async def _publish(self, signer: Signer) -> None:
        def unit(tx: Tx) -> None:
            key = SigningKey(key_id=signer.key_id, purpose=_PURPOSE, public=signer.public, created_at=tx.now)
            if tx.keys.add(key):
                tx.append(key_entry("key_added", key, actor=tx.owner))

        await self._store.transact(unit)


def _sign(signer: Signer, receipt: Mapping[str, Any]) -> str:
    return signer.sign(receipt, purpose=_PURPOSE)


def _receipt(
    approval: Approval, request: ConsentRequest, uses: Sequence[ApprovalUse], *, issuer: str
) -> dict[str, Any]:
    events = [{"state": "given", "time": format_time(approval.granted_at), "entity": approval.approver}]
    events += [{"state": "used", "time": format_time(use.used_at), "decision_id": use.decision_id} for use in uses]
    if approval.revoked_at is not None:
        events.append({"state": "withdrawn", "time": format_time(approval.revoked_at), "entity": approval.revoked_by})
    return {
        "schema_version": "uaix-approval-receipt/1",
        "record_id": approval.approval_id,
        "issuer": issuer,
        "statement": _STATEMENT,
        "authorised_by": {"id": approval.approver, "name": approval.approver_name, "assurance": approval.assurance},
        "recipient": approval.subject,
        "purpose": {
            "action": approval.action,
            "resource": {"type": approval.resource_type, "id": approval.resource},
            "reason": request.reason,
        },
        "request_id": approval.request_id,
        "scope": approval.scope,
        "binds": list(approval.binds),
        "binding_digest": approval.digest,
        "display_digest": approval.display_digest,
        "bundle_digest": approval.bundle_digest,
        "uses": approval.uses,
        "uses_left": approval.uses_left,
        "valid_until": format_time(approval.expires_at),
        "events": events,
    }
