"""Trace context on its way to the site: exactly one valid `traceparent`, and the vendors' `tracestate` beside it.

Rules:

- The trace stays the caller's; the span is ours. It is made from the decision's id, so that whoever reads the site's
  traces finds the decision in the ledger: the first 16 hex digits of SHA-256 of `span:<decision id>`.
- Without a `traceparent` a new trace begins: the first 32 hex digits of SHA-256 of `trace:<decision id>`. It is not
  sampled: that is for the site to say.
- Of the flags, `sampled` and `random` go on; the others have no meaning yet and are cleared.
- `tracestate` goes on as it came, unless it is malformed or there is no trace that it could belong to.

What was received was checked before (`presented`). Source: W3C Trace Context Level 2, sections 3.2, 3.3 and 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from negotiator.canonical import sha256_hex

__all__ = ["traced"]

_TRACEPARENT, _TRACESTATE = b"traceparent", b"tracestate"
_KNOWN_FLAGS = 0x03
_RANDOM = 0x02
_MAX_MEMBERS = 32
_MAX_STATE = 4096
_KEY = r"(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
_VALUE = r"[ -+\--<>-~]{0,255}[!-+\--<>-~]"
_MEMBER = re.compile(f"{_KEY}={_VALUE}")

Header = tuple[bytes, bytes]


def traced(headers: Iterable[Header], decision_id: str) -> list[Header]:
    """Return the headers of a request with the trace that goes on to the site at their end.

    Args:
        headers: as they were received; `traceparent` is valid, or absent.
        decision_id: of the decision that lets the request go on.
    """
    kept: list[Header] = []
    parents: list[str] = []
    states: list[Header] = []
    for name, value in headers:
        match name.lower():
            case b"traceparent":
                parents.append(value.decode("latin-1").strip(" \t"))
            case b"tracestate":
                states.append((name, value))
            case _:
                kept.append((name, value))
    kept.append((_TRACEPARENT, _onward(parents[0] if parents else "", decision_id).encode()))
    return kept + states if parents and _is_state([value.decode("latin-1") for _, value in states]) else kept


def _onward(received: str, decision_id: str) -> str:
    span_id = sha256_hex(f"span:{decision_id}".encode())[:16]
    if not received:
        return f"00-{sha256_hex(f'trace:{decision_id}'.encode())[:32]}-{span_id}-{_RANDOM:02x}"
    return f"00-{received[3:35]}-{span_id}-{int(received[53:55], 16) & _KNOWN_FLAGS:02x}"


def _is_state(lines: Iterable[str]) -> bool:
    """Whether the lines of `tracestate` are, together, a list that a vendor can read; empty members are allowed."""
    whole = ",".join(lines)
    members = [member.strip(" \t") for member in whole.split(",")]
    filled = [member for member in members if member]
    keys = {member.partition("=")[0] for member in filled}
    return (
        len(whole) <= _MAX_STATE
        and len(filled) <= _MAX_MEMBERS
        and len(keys) == len(filled)
        and all(map(_MEMBER.fullmatch, filled))
    )
