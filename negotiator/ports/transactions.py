"""The one way to change state, and the way to read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Protocol, TypeVar

from negotiator.model.entries import EntryDraft, EntryPosition
from negotiator.ports.aggregates import (
    AgentReads,
    AgentWrites,
    ApprovalReads,
    ApprovalWrites,
    ConsentReads,
    ConsentWrites,
    EvidenceReads,
    EvidenceWrites,
    IdempotencyReads,
    IdempotencyWrites,
    IntentReads,
    IntentWrites,
    KeyReads,
    KeyWrites,
    LedgerReads,
    NegotiationReads,
    NegotiationWrites,
    ProposalReads,
    ProposalWrites,
    SiteCredentialReads,
    SiteCredentialWrites,
    StateWrites,
    TaskReads,
    TaskWrites,
)
from negotiator.ports.people import PeopleReads, PeopleWrites

__all__ = ["Chore", "Lane", "Reader", "Store", "Tx"]

T = TypeVar("T")


class Lane(IntEnum):
    """Who goes first when units wait: the lower number."""

    OUTCOME = 0
    GOVERNED = 1
    DECLARATION = 2


class Reader(Protocol):
    """A consistent view of committed state."""

    @property
    def agents(self) -> AgentReads: ...
    @property
    def negotiations(self) -> NegotiationReads: ...
    @property
    def keys(self) -> KeyReads: ...
    @property
    def intents(self) -> IntentReads: ...
    @property
    def idempotency(self) -> IdempotencyReads: ...
    @property
    def proposals(self) -> ProposalReads: ...
    @property
    def tasks(self) -> TaskReads: ...
    @property
    def evidence(self) -> EvidenceReads: ...
    @property
    def site_credentials(self) -> SiteCredentialReads: ...
    @property
    def consents(self) -> ConsentReads: ...
    @property
    def approvals(self) -> ApprovalReads: ...
    @property
    def people(self) -> PeopleReads: ...
    @property
    def ledger(self) -> LedgerReads: ...


class Tx(Protocol):
    """One unit's view of the database, inside the head lock.

    Attributes:
        project: whose rows and entries these are.
        owner: the random id of this process.
        now: max(wall clock, time of the last entry), fixed for the unit.
        epoch: of the ledger; one more after each restored backup.
    """

    project: str
    owner: str
    now: datetime
    epoch: int

    def append(self, draft: EntryDraft) -> EntryPosition:
        """Give the entry its place; the row is written when the batch ends."""
        ...

    @property
    def agents(self) -> AgentWrites: ...
    @property
    def negotiations(self) -> NegotiationWrites: ...
    @property
    def keys(self) -> KeyWrites: ...
    @property
    def intents(self) -> IntentWrites: ...
    @property
    def idempotency(self) -> IdempotencyWrites: ...
    @property
    def proposals(self) -> ProposalWrites: ...
    @property
    def tasks(self) -> TaskWrites: ...
    @property
    def evidence(self) -> EvidenceWrites: ...
    @property
    def site_credentials(self) -> SiteCredentialWrites: ...
    @property
    def consents(self) -> ConsentWrites: ...
    @property
    def approvals(self) -> ApprovalWrites: ...
    @property
    def people(self) -> PeopleWrites: ...
    @property
    def state(self) -> StateWrites: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """A unit that a process runs again and again while it writes.

    Attributes:
        name: for the log.
        every_seconds: pause between two runs, by the monotonic clock.
        unit: as any unit is: it may run again after a failure, at the next turn.
        done: called on the writer's thread once the unit is durable.
        at_stop: run once more when the store stops, after everything that waited.
    """

    name: str
    every_seconds: float
    unit: Callable[[Tx], object]
    done: Callable[[], None] | None = None
    at_stop: bool = False


class Store(Protocol):
    """The durable state of one project."""

    def attend(self, chore: Chore) -> None:
        """Run `chore` from now on, on the writer's thread and in its batches, once that thread has started."""
        ...

    def start(self) -> None:
        """Start the writer's thread, and with it the chores; else the first unit does."""
        ...

    def waiting(self) -> Mapping[Lane, int]:
        """Return how many units wait in each lane of this process."""
        ...

    def capacity(self) -> Mapping[Lane, int]:
        """Return how many units may wait in each lane; one more is refused."""
        ...

    async def transact(self, unit: Callable[[Tx], T], lane: Lane = Lane.GOVERNED) -> T:
        """Run `unit` in the writer's next batch and return its value once that batch is committed.

        Raises:
            ClaimFailed: as the unit raised it; the unit left nothing.
            UnavailableError: `ledger_unavailable`; nothing of the unit is durable.
            UnsureError: `ledger_unavailable`; whether it is durable could not be found out in time.
        """
        ...

    def transact_sync(self, unit: Callable[[Tx], T], lane: Lane = Lane.GOVERNED) -> T:
        """The same for a thread without an event loop (command line)."""
        ...

    async def read(self, query: Callable[[Reader], T]) -> T:
        """Run `query` on committed state, off the event loop.

        Raises:
            UnavailableError: `store_unavailable`.
        """
        ...

    def read_sync(self, query: Callable[[Reader], T]) -> T:
        """The same for a thread without an event loop."""
        ...

    def stop(self, timeout_seconds: float = 10.0) -> None:
        """Refuse new units, write what is queued, end the writer and close every connection."""
        ...
