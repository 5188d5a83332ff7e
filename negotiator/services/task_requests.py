"""What an agent sends to begin a task: read strictly, and turned into what the policies are asked about.

A correlation id and an expiry that are missing are for the policies to miss; what cannot be read, and what no task can
do without, is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from negotiator.canonical import decode_json, escape_pointer
from negotiator.errors import RequestError, quoted
from negotiator.model.governed import Presented

__all__ = ["TaskWish", "read_wish"]

_MEMBERS = frozenset({"correlation_id", "expires_at", "timeout_ms", "fallback"})
_CORRELATION: Final = re.compile(r"[!#-+\--:<-\[\]-~]{1,255}")
_UTC_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z")
_MAX_FALLBACK = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWish:
    """A task that somebody wants to begin.

    Attributes:
        correlation_id: of the body or of `UAIX-Correlation`; empty where neither has one.
        expires_at: of the body or of `UAIX-Expires`; None where neither has one.
        timeout_ms: time for the work, from its beginning.
        fallback: what the agent does where the task does not come to its end.
    """

    correlation_id: str
    expires_at: datetime | None
    timeout_ms: int
    fallback: str


def read_wish(data: bytes, presented: Presented, *, now: datetime, lifetime: timedelta) -> TaskWish:
    """Return what the body asks for.

    Args:
        data: JSON `{correlation_id, expires_at, timeout_ms, fallback}`.
        presented: whose correlation id and expiry count where the body has none; two that differ are refused.
        now: the present time.
        lifetime: a task that would expire later than this from now is refused.

    Raises:
        RequestError: `task_invalid`, with a pointer; or what strict decoding raises.
    """
    members = _members(decode_json(data))
    correlation, expires_at = _correlation(members), _expiry(members)
    if correlation and presented.correlation and correlation != presented.correlation:
        _refuse("correlation_id", "it differs from UAIX-Correlation")
    if expires_at and presented.expires_at and expires_at != presented.expires_at:
        _refuse("expires_at", "it differs from UAIX-Expires")
    expires_at = expires_at or presented.expires_at
    if expires_at is not None and expires_at > now + lifetime:
        _refuse("expires_at", f"a task lasts at most {int(lifetime.total_seconds())} seconds here")
    return TaskWish(
        correlation_id=correlation or presented.correlation,
        expires_at=expires_at,
        timeout_ms=_timeout(members, lifetime),
        fallback=_fallback(members),
    )


def _members(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        message = "send one JSON object with correlation_id, expires_at, timeout_ms and fallback"
        raise RequestError(message, code="task_invalid", pointer="")
    unknown = next((name for name in value if name not in _MEMBERS), None)
    if unknown is not None:
        message = f"a task has no member {quoted(unknown)}"
        raise RequestError(message, code="task_invalid", pointer=f"/{escape_pointer(unknown)}")
    return value


def _correlation(members: Mapping[str, Any]) -> str:
    value = members.get("correlation_id", "")
    if value != "" and not (isinstance(value, str) and _CORRELATION.fullmatch(value)):
        _refuse("correlation_id", "write 1 to 255 visible ASCII characters without quotes, comma or semicolon")
    return str(value)


def _expiry(members: Mapping[str, Any]) -> datetime | None:
    if "expires_at" not in members:
        return None
    value = members["expires_at"]
    moment = None
    if isinstance(value, str) and _UTC_TIME.fullmatch(value):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value)
    if moment is None:
        _refuse("expires_at", "write a time in UTC such as 2030-01-31T12:00:00Z")
    return moment


def _timeout(members: Mapping[str, Any], lifetime: timedelta) -> int:
    value, most = members.get("timeout_ms"), int(lifetime.total_seconds() * 1000)
    if type(value) is not int or not 0 < value <= most:
        _refuse("timeout_ms", f"write 1 to {most} milliseconds")
    return value


def _fallback(members: Mapping[str, Any]) -> str:
    value = members.get("fallback")
    if not isinstance(value, str) or not value.strip() or len(value) > _MAX_FALLBACK:
        _refuse("fallback", f"say in 1 to {_MAX_FALLBACK} characters what you do where it does not end well")
    return value


def _refuse(member: str, why: str) -> NoReturn:
    message = f"the member {member} cannot be used: {why}"
    raise RequestError(message, code="task_invalid", pointer=f"/{member}")
