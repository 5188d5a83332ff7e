"""The door of our own routes: what strangers ask that costs us work is paid for before anything of it is read.

- Behind it are declarations and validations, the two that anybody may send and that take decoding, policies and, for
  a declaration, a durable write.
- Whoever presents a credential passes: it is checked inside, and its agent has a budget of its own.
- A refusal here costs a look at a few headers and one prepared answer, so that a flood takes little from the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from negotiator.errors import UnavailableError
from negotiator.web.headers import accept_header
from negotiator.web.paths import route_path
from negotiator.web.problems import ProblemPages

__all__ = ["Door"]

_PREPARED: Final = 64
_CREDENTIALS: Final = frozenset({b"authorization", b"uaix-credential"})


class Door:
    """Lets requests for our own routes in, or answers them.

    Args:
        prefix: where our routes live.
        admit: takes a stranger's source address, or raises `UnavailableError`.
        problems: words refusals.
    """

    def __init__(self, *, prefix: str, admit: Callable[[str], None], problems: ProblemPages) -> None:
        self._costly = frozenset({f"{prefix}/negotiations", f"{prefix}/validate"})
        self._validate = f"{prefix}/validate"
        self._admit = admit
        self._problems = problems
        self._answer = lru_cache(maxsize=_PREPARED)(self._prepared)

    def refusal(self, scope: Scope, source: str) -> Response | None:
        """Return the answer to a stranger that is not let in; None for everybody else.

        Args:
            scope: of a request for one of our own paths.
            source: where it comes from.
        """
        if scope["type"] != "http" or scope["method"] != "POST":
            return None
        root_path = scope.get("root_path", "")
        path = route_path(scope["path"], root_path)
        if path not in self._costly or (path != self._validate and _has_credential(scope)):
            return None
        try:
            self._admit(source)
        except UnavailableError as error:
            return self._answer(accept_header(scope), root_path, error.code, error.message, error.retry_after_seconds)
        return None

    def _prepared(self, accept: str, root_path: str, code: str, message: str, retry_after_seconds: int) -> Response:
        headers = [(b"accept", accept.encode("latin-1"))] if accept else []
        scope: Scope = {"type": "http", "headers": headers, "root_path": root_path}
        error = UnavailableError(message, code=code, retry_after_seconds=retry_after_seconds)
        return self._problems.error(scope, error)


def _has_credential(scope: Scope) -> bool:
    return any(name.lower() in _CREDENTIALS for name, _ in scope["headers"])
