"""Effects of which nobody knows how they ended: the site, or whoever runs this host, says what became of them.

Rules:

- Only an interrupted effect is settled, once. The same word again changes nothing; another word is refused.
- The site settles with a credential of its own, if the policies allow it (`settle_effect`); the command line of this
  host does, under the name of its user. An agent never does: it would give itself a second effect.
- `done` ends the matter: whoever asks again with the key hears that the answer is not kept. `not_done` releases the
  key: whoever asks again with it is decided anew and, if allowed, reaches the site.
- An agent may read its own effects, the site all of them; to anybody else there is none.

It does not: find out what happened, or run anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from negotiator.canonical import decode_json
from negotiator.errors import ClaimFailed, RequestError, UnavailableError
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.governed import Presented
from negotiator.model.records import Intent, OutcomeEnd, Settled, SiteCredential
from negotiator.model.times import format_time
from negotiator.ports import Store, Tx
from negotiator.services.callers import Callers
from negotiator.services.credentials import is_site_token
from negotiator.services.policies import Policies
from negotiator.services.site_credentials import SiteCredentials

__all__ = ["MAX_NOTE", "Settlements"]

MAX_NOTE: Final = 500
_ACTION: Final = "settle_effect"
_ATTEMPTS: Final = 3


class Settlements:
    """Effects, for those who may know of them, and what is said of them afterwards."""

    def __init__(
        self, *, store: Store, callers: Callers, credentials: SiteCredentials, policies: Policies, project: str
    ) -> None:
        self._store = store
        self._callers = callers
        self._credentials = credentials
        self._policies = policies
        self._project = project

    async def get(self, effect_id: str, presented: Presented) -> Mapping[str, Any]:
        """Return an effect to the agent that caused it, or to the site.

        Raises:
            RequestError: `not_found`, also where it is somebody else's; `credentials_invalid`, `negotiation_expired`.
        """
        subject = None
        if is_site_token(presented.credential):
            await self._credentials.of_token(presented.credential)
        else:
            caller = await self._callers.resolve(presented, fresh=True)
            subject = caller.identity.subject if caller.standing else ""
        found = await self._store.read(lambda reader: reader.intents.get(effect_id))
        if found is None or (subject is not None and (found.principal_type, found.subject) != ("Agent", subject)):
            raise _not_found()
        return _shown(found)

    async def authorise(self, presented: Presented) -> SiteCredential:
        """Return the site credential that a request presents.

        Raises:
            RequestError: `credentials_invalid`, for agents and everybody else, whatever effect they name.
        """
        if not is_site_token(presented.credential) or presented.negotiation:
            message = "settling takes a site credential, made with `negotiator site add`; agents never settle"
            raise RequestError(message, code="credentials_invalid")
        return await self._credentials.of_token(presented.credential)

    async def settle(self, effect_id: str, data: bytes, credential: SiteCredential) -> Mapping[str, Any]:
        """Take the site's word for what became of an effect.

        Args:
            effect_id: the decision's id.
            data: JSON, `{"outcome": "done" | "not_done", "note": text}`; the note may be left out.
            credential: as `authorise` gave it.

        Raises:
            RequestError: `body_malformed` and as `decode_json` does; `credentials_invalid`, `refused`, `not_found`,
                `effect_not_unknown`.
            UnavailableError: it could not be recorded.
        """
        settled, note = _settlement(data)
        for _ in range(_ATTEMPTS):
            try:
                return _shown(await self._store.transact(self._unit(effect_id, settled, note, credential)))
            except ClaimFailed:
                continue
        message = "the policies keep changing; try again"
        raise UnavailableError(message, code="ledger_unavailable")

    def settle_here(self, effect_id: str, settled: Settled, *, note: str, actor: str) -> Intent:
        """Take the word of this host's user `actor`, who needs no policy: the database is theirs.

        Raises:
            RequestError: `note_invalid`, `not_found`, `effect_not_unknown`.
            UnavailableError: it could not be recorded.
        """
        if not _is_note(note):
            message = f"the note must be one line of at most {MAX_NOTE} characters"
            raise RequestError(message, code="note_invalid")
        who: dict[str, EntryValue] = {"decision": "allow", "actor": {"type": "Host", "id": actor}}
        return self._store.transact_sync(lambda tx: _settle(tx, effect_id, settled, note, who))

    def _unit(self, effect_id: str, settled: Settled, note: str, credential: SiteCredential) -> Callable[[Tx], Intent]:
        """Return the unit that settles with the site's credential, if the policies in force allow it.

        Raises:
            RequestError: `refused`.
        """
        engine = self._policies.engine
        decision = engine.decide_for_site(_ACTION)
        if not decision.allowed:
            message = "the policies of this site do not let it settle effects; an operator can"
            raise RequestError(message, code="refused")
        who: dict[str, EntryValue] = {
            "decision": decision.decision,
            "principal": {"type": "Site", "id": self._project},
            "actor": {"type": "SiteCredential", "id": credential.credential_id},
            "policies": list(decision.policies),
            "bundle_digest": decision.bundle_digest,
            "engine": engine.name,
        }

        def unit(tx: Tx) -> Intent:
            self._policies.claim(engine)
            if not tx.site_credentials.claim_active(credential.credential_id):
                message = "the site credential is revoked; make a new one with `negotiator site add`"
                raise RequestError(message, code="credentials_invalid")
            return _settle(tx, effect_id, settled, note, who)

        return unit


def _settle(tx: Tx, effect_id: str, settled: Settled, note: str, who: Mapping[str, EntryValue]) -> Intent:
    """Settle an effect and record who did; nothing is written where it is settled so already."""
    known = tx.intents.get(effect_id)
    if known is None:
        raise _not_found()
    if known.end is OutcomeEnd.INTERRUPTED and known.settled is settled:
        return known
    if not tx.intents.settle(effect_id, settled):
        message = "the outcome of this effect is known, or it is still under way; there is nothing to settle"
        raise RequestError(message, code="effect_not_unknown")
    members: dict[str, EntryValue] = {
        **who,
        "decision_id": effect_id,
        "code": "effect_settled",
        "action": _ACTION,
        "outcome": settled.value,
        "effect_principal": {"type": known.principal_type, "id": known.subject},
    }
    tx.append(EntryDraft(kind=EntryKind.ADMIN, members=members | ({"note": note} if note else {})))
    return tx.intents.get(effect_id) or known


def _settlement(data: bytes) -> tuple[Settled, str]:
    """Return the outcome and the note of a request's body."""
    value = decode_json(data, max_bytes=8_192, max_depth=4)
    known = isinstance(value, dict) and value.keys() <= {"outcome", "note"}
    outcome, note = (value.get("outcome"), value.get("note", "")) if isinstance(value, dict) else (None, None)
    if not known or not isinstance(outcome, str) or not isinstance(note, str) or not _is_note(note):
        raise _malformed()
    try:
        return Settled(outcome), note
    except ValueError:
        raise _malformed() from None


def _malformed() -> RequestError:
    message = f'send {{"outcome": "done" or "not_done", "note": one line of at most {MAX_NOTE} characters}}'
    return RequestError(message, code="body_malformed")


def _is_note(note: str) -> bool:
    return len(note) <= MAX_NOTE and note.isprintable()


def _not_found() -> RequestError:
    message = "there is no such effect, or it is not yours"
    return RequestError(message, code="not_found")


def _shown(effect: Intent) -> dict[str, Any]:
    return {
        "effect_id": effect.decision_id,
        "state": effect.state,
        "action": effect.action,
        "opened_at": format_time(effect.opened_at),
        "ended_at": format_time(effect.ended_at) if effect.ended_at else None,
        "end": effect.end.value if effect.end else None,
        "settled": effect.settled.value if effect.settled else None,
    }
