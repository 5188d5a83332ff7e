"""How entries follow one another, and how a stranger verifies that they do.

Rules:

- A `ChainHead` is all that the next entry depends on. Appending gives a new head and changes nothing, so that
  a transaction takes entries back by forgetting the head.
- Verification recomputes everything from the lines themselves; a stored hash is never believed.
- The steps of one line, in order: it is canonical, its version is known, its index is the next, it names the line
  before, its project is the ledger's, its epoch and time do not go back, its kind is known.
- A chain shows that nothing *inside* what was read was altered, dropped, swapped or added. It cannot show what
  was cut from the end, nor that the whole was not written again: that takes a checkpoint that somebody else kept,
  and the report says so.

It does not: read files or databases, or know keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from negotiator.canonical import entry_bytes
from negotiator.errors import IntegrityError, NegotiatorError, quoted
from negotiator.ledger.entry import (
    ENTRY_VERSION,
    MAX_ENTRY_BYTES,
    ZERO_HASH,
    entry_line,
    leaf_hash,
    line_hash,
)
from negotiator.model.entries import EntryDraft, EntryKind
from negotiator.model.times import format_time, parse_time

__all__ = ["ChainHead", "ChainReport", "PlacedEntry", "genesis", "verify_chain"]

_BEFORE_ALL = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """An entry in its place.

    Attributes:
        line: its canonical bytes.
        leaf_hash: lower-case hex.
    """

    index: int
    time: str
    line: bytes
    leaf_hash: str


@dataclass(frozen=True, slots=True)
class ChainHead:
    """Where the next entry goes.

    Attributes:
        size: entries so far; the next one's index.
        prev: hash of the last line, or `ZERO_HASH`.
        time: of the last entry; the next one's is not before it.
    """

    project: str
    epoch: int
    size: int
    prev: str
    time: datetime

    def append(self, draft: EntryDraft, *, now: datetime) -> tuple[ChainHead, PlacedEntry]:
        """Return the head after `draft`, and the entry.

        Args:
            draft: what the entry tells.
            now: aware; where it lies before the last entry, that entry's time is taken (clocks step back).

        Raises:
            NegotiatorError: as `entry_line` does.
        """
        moment = max(now, self.time)
        time = format_time(moment)
        line = entry_line(draft, epoch=self.epoch, index=self.size, time=time, project=self.project, prev=self.prev)
        placed = PlacedEntry(self.size, time, line, leaf_hash(line))
        return ChainHead(self.project, self.epoch, self.size + 1, line_hash(line), moment), placed


def genesis(project: str) -> ChainHead:
    """Return the head of an empty ledger."""
    return ChainHead(project, 1, 0, ZERO_HASH, _BEFORE_ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """What a verification saw.

    Attributes:
        entries: how many.
        project: whose ledger; empty where nothing was seen and none was asked for.
        first_time, last_time: as in the entries; empty where there are none.
        last_hash: hash of the last line: what a kept note of it can be compared with.
        unproved: sentences on what these lines alone cannot show.
    """

    entries: int
    project: str
    first_time: str
    last_time: str
    last_hash: str
    unproved: tuple[str, ...]


def verify_chain(
    lines: Iterable[bytes], *, project: str | None = None, expected_entries: int | None = None
) -> ChainReport:
    """Recompute a whole ledger from its lines, in one pass and constant memory.

    Args:
        lines: canonical bytes of the entries from index 0 on; one newline at a line's end is taken off.
        project: whose ledger it must be; None takes the first line's.
        expected_entries: how many there must be, where the caller knows (a head row, a kept note).

    Raises:
        IntegrityError: `chain_broken`, naming the index and what differs, with both values;
            `ledger_truncated`, where fewer or more than `expected_entries` were seen. No other exception escapes.

    Source: LED-02; RFC 8785.
    """
    head = genesis(project or "")
    first = ""
    for line in lines:
        line = line.removesuffix(b"\n")  # noqa: PLW2901 - JSONL files have it, the ledger does not
        head = _after(head, line, any_project=project is None and head.size == 0)
        first = first or format_time(head.time)
    if expected_entries is not None and head.size != expected_entries:
        message = f"the ledger has {head.size} entries where {expected_entries} are known to have been written"
        raise IntegrityError(message, code="ledger_truncated")
    return ChainReport(
        entries=head.size,
        project=head.project,
        first_time=first,
        last_time=format_time(head.time) if head.size else "",
        last_hash=head.prev,
        unproved=_unproved(head.size),
    )


def _after(head: ChainHead, line: bytes, *, any_project: bool) -> ChainHead:
    """Return the head after a line that continues it."""
    entry = _decoded(head.size, line)
    for name, wanted, found in _comparisons(head, entry, any_project=any_project):
        if type(wanted) is not type(found) or wanted != found:
            raise _broken(head.size, f"its {name} is {_shown(found)}, expected {_shown(wanted)}")
    epoch, time = _advanced(head, entry)
    return ChainHead(entry["project"], epoch, head.size + 1, line_hash(line), time)


def _decoded(index: int, line: bytes) -> Mapping[str, Any]:
    """Return the members of a line that is, byte for byte, its own canonical form.

    A repeated key, a float, other spacing or order, and bytes that are no JSON all fail here.
    """
    if len(line) > MAX_ENTRY_BYTES:
        raise _broken(index, f"its length is {len(line)} bytes, more than the {MAX_ENTRY_BYTES} that an entry may have")
    try:
        entry = orjson.loads(line)
        canonical = isinstance(entry, dict) and entry_bytes(entry) == line
    except (orjson.JSONDecodeError, NegotiatorError) as problem:
        raise _broken(index, f"its bytes are no canonical entry: {problem}") from None
    if not canonical:
        raise _broken(index, "its bytes are not the canonical form of what they hold")
    members: Mapping[str, Any] = entry
    return members


def _comparisons(
    head: ChainHead, entry: Mapping[str, Any], *, any_project: bool
) -> Iterator[tuple[str, object, object]]:
    """Yield member, wanted value, found value; all of one type, so that `true` is not 1."""
    yield "v", ENTRY_VERSION, entry.get("v")
    yield "index", head.size, entry.get("index")
    yield "prev", head.prev, entry.get("prev")
    found = entry.get("project")
    wanted = found if any_project and isinstance(found, str) else head.project
    yield "project", wanted, found


def _advanced(head: ChainHead, entry: Mapping[str, Any]) -> tuple[int, datetime]:
    """Return epoch and time of an entry in which neither goes back and whose kind is known."""
    epoch, text, kind = entry.get("epoch"), entry.get("time"), entry.get("kind")
    if type(epoch) is not int or epoch < head.epoch:
        raise _broken(head.size, f"its epoch is {_shown(epoch)}, expected {head.epoch} or more")
    try:
        time = parse_time(text if isinstance(text, str) else "")
    except NegotiatorError:
        raise _broken(head.size, f"its time is {_shown(text)}, expected RFC 3339 with microseconds in UTC") from None
    if time < head.time:
        raise _broken(head.size, f"its time is {_shown(text)}, before {format_time(head.time)} of the entry before")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise _broken(head.size, f"its kind is {_shown(kind)}, which is none")
    return epoch, time


_KINDS: Final = frozenset(kind.value for kind in EntryKind)


def _broken(index: int, what: str) -> IntegrityError:
    message = f"the chain is broken at index {index}: {what}"
    return IntegrityError(message, code="chain_broken")


def _shown(value: object) -> str:
    return "absent" if value is None else quoted(value)


def _unproved(entries: int) -> tuple[str, ...]:
    """Say what needs a checkpoint, in sentences for people."""
    if not entries:
        return ("whether this ledger ever held entries: that takes a checkpoint kept elsewhere",)
    return (
        f"that nothing was cut off after the {entries} entries seen: that takes a checkpoint kept elsewhere",
        "that the whole ledger was not written again: that takes a checkpoint kept elsewhere",
    )
