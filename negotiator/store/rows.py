"""How values become rows and rows become values.

Rules:

- A column has the name of the field. The `codecs` of a shape say which fields need translation, the others go as
  they are.
- What is read back equals what was written: nothing is rounded, reordered or cut.
- Texts that one of the databases would refuse or cut are refused before the row is written, on every database alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Generic, NoReturn, TypeVar

import orjson
from sqlalchemy import String, Table

from negotiator.errors import RequestError, quoted
from negotiator.model.consents import Approval, ApprovalUse, ConsentRequest, ConsentState
from negotiator.model.evidence import Evidence, EvidenceIssuer, EvidenceLink
from negotiator.model.facts import AgentFacts, DeclaredFacts
from negotiator.model.keys import SigningKey
from negotiator.model.levels import Level
from negotiator.model.people import Assurance, Factor, FactorKind, Password, Person, Session
from negotiator.model.records import (
    Agent,
    Credential,
    Intent,
    KeyUse,
    Negotiation,
    OutcomeEnd,
    Proposal,
    ProposalState,
    Settled,
    SiteCredential,
    StoredAnswer,
)
from negotiator.model.tasks import Task, TaskState
from negotiator.model.times import format_time, parse_time
from negotiator.store import tables

__all__ = [
    "AGENT",
    "APPROVAL",
    "APPROVAL_USE",
    "CONSENT_REQUEST",
    "CREDENTIAL",
    "EVIDENCE",
    "EVIDENCE_ISSUER",
    "EVIDENCE_LINK",
    "FACTOR",
    "INTENT",
    "KEY_USE",
    "NEGOTIATION",
    "PASSWORD",
    "PERSON",
    "PROPOSAL",
    "SESSION",
    "SIGNING_KEY",
    "SITE_CREDENTIAL",
    "STORED_ANSWER",
    "TASK",
    "RowShape",
    "bounded",
]

T = TypeVar("T")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Codec:
    """A field's way into its column and back."""

    to_column: Callable[[Any], Any]
    from_column: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class RowShape(Generic[T]):
    """One kind of record and its table."""

    model: type[T]
    table: Table
    codecs: Mapping[str, Codec]

    def to_row(self, project: str, value: T) -> dict[str, Any]:
        """Return the columns of `value`.

        Raises:
            RequestError: `text_not_storable`.
        """
        row: dict[str, Any] = {"project_id": project}
        for name in self.columns:
            codec = self.codecs.get(name)
            field = getattr(value, name)
            row[name] = codec.to_column(field) if codec else field
        return bounded(self.table, row)

    def from_row(self, row: Sequence[Any]) -> T:
        """Return the value of a row that holds `columns` in their order."""
        values = {}
        for name, column in zip(self.columns, row, strict=True):
            codec = self.codecs.get(name)
            values[name] = codec.from_column(column) if codec else column
        return self.model(**values)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold fields: all but `project_id`."""
        return _COLUMNS[self.table.name]


_COLUMNS = {
    table.name: tuple(c.name for c in table.c if c.name != "project_id") for table in tables.metadata.sorted_tables
}
_LENGTHS = {
    table.name: tuple((c.name, c.type.length) for c in table.c if isinstance(c.type, String))
    for table in tables.metadata.sorted_tables
}


def bounded(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    """Return `row`, whose texts fit their columns.

    Raises:
        RequestError: `text_not_storable`, for a text that is too long or holds NUL or a lone surrogate.
    """
    for name, characters in _LENGTHS[table.name]:
        text = row.get(name)
        if text is None:
            continue
        if characters is not None and len(text) > characters:
            _refuse(f"the {name} {quoted(text)} has {len(text)} characters; send at most {characters}")
        if _UNSTORABLE.search(text):
            _refuse(f"the {name} {quoted(text)} holds NUL or a lone surrogate; leave it out")
    return row


def _refuse(message: str) -> NoReturn:
    raise RequestError(message, code="text_not_storable")


def _optional_time_text(moment: datetime | None) -> str | None:
    """Return the column of a time that may be absent."""
    return None if moment is None else format_time(moment)


def _optional_time(text: str | None) -> datetime | None:
    return None if text is None else parse_time(text)


def _json_text(value: object) -> str:
    return orjson.dumps(value, default=_plain).decode()


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise TypeError


def _declared(text: str) -> DeclaredFacts:
    members = orjson.loads(text)
    return DeclaredFacts(**members | {"declared_evidence": frozenset(members["declared_evidence"])})


def _facts_text(facts: AgentFacts | DeclaredFacts) -> str:
    return _json_text({f.name: getattr(facts, f.name) for f in fields(facts)})


def _principal(text: str) -> AgentFacts:
    return AgentFacts(**orjson.loads(text))


_TIME = Codec(format_time, parse_time)
_MAYBE_TIME = Codec(_optional_time_text, _optional_time)
_LEVEL = Codec(int, Level)
_JSON = Codec(_json_text, orjson.loads)
_FLAG = Codec(bool, bool)

AGENT = RowShape(Agent, tables.agents, {"max_level": _LEVEL, "created_at": _TIME, "revoked_at": _MAYBE_TIME})
SIGNING_KEY = RowShape(
    SigningKey,
    tables.signing_keys,
    {"created_at": _TIME, "rotated_at": _MAYBE_TIME, "retired_at": _MAYBE_TIME},
)
CREDENTIAL = RowShape(Credential, tables.credentials, {"created_at": _TIME, "revoked_at": _MAYBE_TIME})
NEGOTIATION = RowShape(
    Negotiation,
    tables.negotiations,
    {
        "strict": Codec(bool, bool),
        "declared_level": _LEVEL,
        "effective_level": _LEVEL,
        "principal": Codec(_facts_text, _principal),
        "declared": Codec(_facts_text, _declared),
        "body": _JSON,
        "issued_at": _TIME,
        "expires_at": _TIME,
        "ended_at": _MAYBE_TIME,
    },
)
INTENT = RowShape(
    Intent,
    tables.intents,
    {
        "opened_at": _TIME,
        "ended_at": _MAYBE_TIME,
        "end": Codec(
            lambda end: None if end is None else str(end.value),
            lambda text: None if text is None else OutcomeEnd(text),
        ),
        "settled": Codec(
            lambda settled: None if settled is None else str(settled.value),
            lambda text: None if text is None else Settled(text),
        ),
    },
)
KEY_USE = RowShape(
    KeyUse,
    tables.idempotency,
    {"used_at": _TIME, "consumed": Codec(" ".join, lambda text: tuple(text.split()))},
)
STORED_ANSWER = RowShape(
    StoredAnswer,
    tables.stored_answers,
    {
        "headers": Codec(_json_text, lambda text: tuple((name, value) for name, value in orjson.loads(text))),
        "body": Codec(bytes, bytes),
        "stored_at": _TIME,
    },
)
SITE_CREDENTIAL = RowShape(SiteCredential, tables.site_credentials, {"created_at": _TIME, "revoked_at": _MAYBE_TIME})
PROPOSAL = RowShape(
    Proposal,
    tables.proposals,
    {
        "state": Codec(lambda state: str(state.value), ProposalState),
        "held": _JSON,
        "body": Codec(bytes, bytes),
        "created_at": _TIME,
    },
)
CONSENT_REQUEST = RowShape(
    ConsentRequest,
    tables.consent_requests,
    {
        "values": _JSON,
        "body": Codec(bytes, bytes),
        "state": Codec(lambda state: str(state.value), ConsentState),
        "created_at": _TIME,
        "expires_at": _TIME,
        "not_after": _MAYBE_TIME,
        "ended_at": _MAYBE_TIME,
    },
)
APPROVAL = RowShape(
    Approval,
    tables.approvals,
    {
        "binds": _JSON,
        "values": _JSON,
        "roles": _JSON,
        "granted_at": _TIME,
        "expires_at": _TIME,
        "revoked_at": _MAYBE_TIME,
    },
)
APPROVAL_USE = RowShape(ApprovalUse, tables.approval_uses, {"used_at": _TIME})

PERSON = RowShape(
    Person,
    tables.users,
    {
        "roles": Codec(lambda roles: ",".join(sorted(roles)), lambda text: frozenset(text.split(",")) - {""}),
        "created_at": _TIME,
        "disabled_at": _MAYBE_TIME,
    },
)
PASSWORD = RowShape(Password, tables.passwords, {"one_time": _FLAG, "spent": _FLAG, "changed_at": _TIME})
FACTOR = RowShape(
    Factor,
    tables.factors,
    {"kind": Codec(lambda kind: str(kind.value), FactorKind), "created_at": _TIME, "used_at": _MAYBE_TIME},
)
SESSION = RowShape(
    Session,
    tables.sessions,
    {
        "assurance": Codec(int, Assurance),
        "created_at": _TIME,
        "last_seen": _TIME,
        "stepped_up_at": _TIME,
        "bound_at": _MAYBE_TIME,
        "ended_at": _MAYBE_TIME,
    },
)
TASK = RowShape(
    Task,
    tables.tasks,
    {
        "state": Codec(lambda state: str(state.value), TaskState),
        "created_at": _TIME,
        "changed_at": _TIME,
        "expires_at": _TIME,
        "due_at": _MAYBE_TIME,
        "ended_at": _MAYBE_TIME,
    },
)
EVIDENCE = RowShape(Evidence, tables.evidence, {"content": Codec(bytes, bytes), "created_at": _TIME})
EVIDENCE_LINK = RowShape(EvidenceLink, tables.evidence_links, {"created_at": _TIME})
EVIDENCE_ISSUER = RowShape(
    EvidenceIssuer,
    tables.evidence_issuers,
    {
        "kinds": Codec(_json_text, lambda text: tuple(orjson.loads(text))),
        "created_at": _TIME,
        "revoked_at": _MAYBE_TIME,
    },
)
