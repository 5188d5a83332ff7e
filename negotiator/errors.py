"""The error tree, split by who must act.

    NegotiatorError
    ├── RequestError        the caller sends something else
    ├── PolicyError         the policy author mends a bundle
    ├── ConfigError         the operator mends a setting (names file, key and line)
    ├── IntegrityError      somebody finds out who changed a record; never retried
    ├── UnavailableError    wait `retry_after_seconds` and try again
    │   └── UnsureError     the same; and nobody knows yet whether it was written
    └── ClaimFailed         nobody: a transaction tells its service that a claimed fact is not so

Rules:

- Every error has a `code`: snake_case, stable, listed in `docs/errors.md`.
- Messages are lower case, without a full stop, and say what to do next; input in them is quoted by `quoted`.
- Parsers and verifiers raise only these errors, on any bytes.
- A denial is a `Decision`, not an error.
"""

from __future__ import annotations

__all__ = [
    "ClaimFailed",
    "ConfigError",
    "IntegrityError",
    "NegotiatorError",
    "PolicyError",
    "RequestError",
    "UnavailableError",
    "UnsureError",
    "quoted",
]

_QUOTE_CHARACTERS = 80


def quoted(text: object) -> str:
    """Return `text` as an ASCII, single-line quotation of a bounded length, safe in logs and messages."""
    shown = ""
    for character in str(text)[: _QUOTE_CHARACTERS + 1]:
        escaped = ascii(character)[1:-1]
        if len(shown) + len(escaped) > _QUOTE_CHARACTERS:
            return f"'{shown}'..."
        shown += escaped
    return f"'{shown}'"


class NegotiatorError(Exception):
    """Root of all errors of this package.

    Args:
        message: what is wrong and what to do next; lower case, no full stop.
        code: stable snake_case code, listed in `docs/errors.md`.
        pointer: RFC 6901 JSON Pointer into the offending document, if there is one.
    """

    def __init__(self, message: str, *, code: str, pointer: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.pointer = pointer


class RequestError(NegotiatorError):
    """The caller sent something that cannot be used as it is."""


class PolicyError(NegotiatorError):
    """A policy bundle cannot be used; the last good one stays active."""


class ConfigError(NegotiatorError):
    """A setting cannot be used; the server refuses to start."""


class IntegrityError(NegotiatorError):
    """A record differs from what was committed. Carries the evidence in its message; never retried."""


class UnavailableError(NegotiatorError):
    """Something needed is not there now; nothing was done."""

    def __init__(self, message: str, *, code: str, retry_after_seconds: int = 1) -> None:
        super().__init__(message, code=code)
        self.retry_after_seconds = retry_after_seconds


class UnsureError(UnavailableError):
    """A commit's answer was lost and could not be found out in time: what it held may be durable, or not."""


class ClaimFailed(NegotiatorError):  # noqa: N818 - it is a signal inside a transaction, not a fault
    """A conditional statement found that a claimed fact does not hold; the unit was rolled back.

    Args:
        fact: the claim's name, e.g. `negotiation_live`.
    """

    def __init__(self, fact: str) -> None:
        super().__init__(f"the claim {fact} does not hold", code="claim_failed")
        self.fact = fact
