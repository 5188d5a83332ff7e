"""What operators do to agents: add, list, revoke. Each change commits with its `identity` entry.

An API token is shown once, when it is made; only a keyed hash of its secret is stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from negotiator.errors import RequestError, quoted
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.levels import DEFAULT_IDENTIFIED_CAP, Level
from negotiator.model.records import Agent, Credential, Principal
from negotiator.ports import Ids, Store, Tx, Verifiers
from negotiator.services.credentials import ApiToken, format_api_token

__all__ = ["Administration", "NewAgent"]

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgent:
    """An agent and the only copy of its API token."""

    agent: Agent
    api_token: str = field(repr=False)


class Administration:
    """The agents of one project. Runs on the host, without an event loop."""

    def __init__(self, *, store: Store, verifiers: Verifiers, ids: Ids) -> None:
        self._store = store
        self._verifiers = verifiers
        self._ids = ids

    def add_agent(
        self, name: str, *, max_level: Level = DEFAULT_IDENTIFIED_CAP, operated_by: str = "", actor: str
    ) -> NewAgent:
        """Register an agent and make its first API token.

        Args:
            name: lower-case letters, digits, `.`, `_`, `-`; at most 64; unique among agents that are not revoked.
            max_level: the highest level that its declarations may reach.
            operated_by: the person who runs it; that person does not approve what it asks for.
            actor: the user of this host who registers it, for the ledger.

        Raises:
            RequestError: `name_invalid`, `name_taken`.
            UnavailableError: it could not be recorded.
        """
        if not _NAME.fullmatch(name):
            message = f"{quoted(name)} is no agent name; use lower-case letters, digits, '.', '_' and '-', at most 64"
            raise RequestError(message, code="name_invalid")
        agent_id, token = self._ids.new(), ApiToken(credential_id=self._ids.new(), secret=self._ids.secret())
        verifier = self._verifiers.verifier(token.secret)

        def unit(tx: Tx) -> Agent:
            agent = Agent(agent_id=agent_id, name=name, max_level=max_level, operated_by=operated_by, created_at=tx.now)
            credential = Credential(
                credential_id=token.credential_id, agent_id=agent_id, verifier=verifier, created_at=tx.now
            )
            if not tx.agents.add(agent, credential):
                message = f"an agent named {quoted(name)} is registered already; revoke it or take another name"
                raise RequestError(message, code="name_taken")
            tx.append(_entry("agent_added", agent, actor, max_level=max_level.name))
            return agent

        return NewAgent(agent=self._store.transact_sync(unit), api_token=format_api_token(token))

    def agents(self) -> Sequence[Agent]:
        """Return every agent, revoked ones too, by creation."""
        return self._store.read_sync(lambda reader: reader.agents.all())

    def revoke_agent(self, name: str, *, actor: str) -> Agent:
        """Revoke an agent and its credentials: they open nothing from this commit on.

        Raises:
            RequestError: `not_found`.
            UnavailableError: it could not be recorded.
        """

        def unit(tx: Tx) -> Agent:
            agent = tx.agents.revoke(name, tx.now)
            if agent is None:
                message = f"no agent named {quoted(name)} is registered; `negotiator agent list` shows them"
                raise RequestError(message, code="not_found")
            tx.append(_entry("agent_revoked", agent, actor))
            return agent

        return self._store.transact_sync(unit)


def _entry(code: str, agent: Agent, actor: str, **members: EntryValue) -> EntryDraft:
    own: dict[str, EntryValue] = {
        "decision": "allow",
        "code": code,
        "principal": Principal(type="Agent", id=agent.subject).as_json(),
        "actor": {"type": "Host", "id": actor},
        "name": agent.name,
    }
    return EntryDraft(kind=EntryKind.IDENTITY, members=own | members)
