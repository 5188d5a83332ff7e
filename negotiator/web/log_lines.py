"""What the server logs, one event to a line, as text or as JSON.

Rules:

- A line is ASCII. Control characters, direction marks and everything else that is not plain is escaped, so no text of a
  caller's makes a second line, hides one or turns one round; in text, the lines of a traceback are marked by `  | `.
- Members come from the house alone (`event`): whatever else a record carries is left out. Texts are cut at
  `MAX_TEXT_CHARACTERS`, tracebacks at their last `MAX_TRACE_CHARACTERS`.
- Lines of the server that quote an address with its query are left out; the access log has the path.
- A record that cannot be worded is named by its unworded form rather than lost.

It does not keep a site from logging secrets of its own.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

from negotiator.model.times import format_time

__all__ = ["MAX_TEXT_CHARACTERS", "LogFormat", "configure_logs", "event", "log_handler"]

LogFormat = Literal["text", "json"]

MAX_TEXT_CHARACTERS: Final = 1_024
MAX_TRACE_CHARACTERS: Final = 16_384

_MEMBERS: Final = "negotiator_members"
_PLAIN = re.compile(r"[A-Za-z0-9._~/:%@!$&'()*+,;-]+")
_LEVELS: Final[Mapping[str, int]] = {"": logging.WARNING, "negotiator": logging.INFO, "uvicorn": logging.INFO}
"""Logger to the least that is logged; the root stands for the site and for libraries."""


def configure_logs(log_format: LogFormat, stream: TextIO) -> None:
    """Send every log of this process to `stream`. The one place where logging is set up."""
    root = logging.getLogger()
    for present in [each for each in root.handlers if isinstance(each, _Lines)]:
        root.removeHandler(present)
    root.addHandler(log_handler(log_format, stream))
    for name, level in _LEVELS.items():
        logging.getLogger(name).setLevel(level)


def log_handler(log_format: LogFormat, stream: TextIO) -> logging.Handler:
    """Return a handler that writes lines of that format."""
    handler = _Lines(stream)
    handler.setFormatter(_Json() if log_format == "json" else _Text())
    handler.addFilter(_quotes_no_address)
    return handler


def event(**members: str | float) -> Mapping[str, Any]:
    """Return what `extra` of a logging call takes, so that the members are part of the line; empty ones are not."""
    return {_MEMBERS: {name: value for name, value in members.items() if value != ""}}


class _Lines(logging.StreamHandler[TextIO]):
    """Our own handler, told from others'."""


class _Text(logging.Formatter):
    """`time severity logger: message member=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        head = f"{_time(record)} {record.levelname.lower()} {_escaped(record.name)}: {_escaped(_message(record))}"
        members = "".join(f" {name}={_word(value)}" for name, value in _members(record).items())
        trace = "".join(f"\n  | {_escaped(line)}" for line in _trace(self, record).splitlines())
        return head + members + trace


class _Json(logging.Formatter):
    """One object: `time severity logger message`, the event's members, `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "severity": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        line |= {name: _cut(value) if isinstance(value, str) else value for name, value in _members(record).items()}
        if trace := _trace(self, record):
            line["exception"] = trace
        return _json(line)


def _time(record: logging.LogRecord) -> str:
    return format_time(datetime.fromtimestamp(record.created, UTC))


def _message(record: logging.LogRecord) -> str:
    try:
        return _cut(record.getMessage())
    except Exception:  # noqa: BLE001 - arguments that do not fit; a log line is no place to fail
        return _cut(repr(record.msg))


def _members(record: logging.LogRecord) -> Mapping[str, Any]:
    members: Mapping[str, Any] = getattr(record, _MEMBERS, {})
    return members


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[0] is None:
        return ""
    return formatter.formatException(record.exc_info)[-MAX_TRACE_CHARACTERS:]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARACTERS else f"{text[:MAX_TEXT_CHARACTERS]}..."


def _json(value: object) -> str:
    """Return ASCII without control characters; `json` itself lets DEL pass."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("\x7f", "\\u007f")


def _escaped(text: str) -> str:
    return text if text.isascii() and text.isprintable() else _json(text)[1:-1].replace('\\"', '"')


def _word(value: object) -> str:
    """Return a value that ends where it ends: bare where it is plain, else quoted."""
    text = _cut(str(value))
    return text if _PLAIN.fullmatch(text) else _json(text)


def _quotes_no_address(record: logging.LogRecord) -> bool:
    """Whether a record may be logged: uvicorn's lines of WebSockets hold the query."""
    return not (record.name.startswith("uvicorn") and '"WebSocket' in str(record.msg))
