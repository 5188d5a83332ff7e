"""The operator's token: what opens numbers and details to a monitor on another machine.

- It is one line of 32 to 512 visible ASCII characters in a file that only the server's user can read.
- It is read once, at the start. What is kept is its digest, and digests are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from pathlib import Path

from negotiator.errors import ConfigError, quoted
from negotiator.store.keyfiles import load_secret_file

__all__ = ["OperatorToken"]

_TOKEN = re.compile(rb"[!-~]{32,512}")


class OperatorToken:
    """Knows the token when it sees it."""

    @classmethod
    def open(cls, path: Path, *, database_directory: Path | None) -> OperatorToken:
        """Return what knows the token in the file at `path`.

        Raises:
            ConfigError: `key_file_unsafe`, `key_file_unreadable`, `operator_token_unfit`, naming the path.
        """
        token = load_secret_file(path, database_directory=database_directory).removesuffix(b"\n")
        if not _TOKEN.fullmatch(token):
            message = (
                f"{quoted(path)} holds no token of 32 to 512 visible characters in one line; "
                "write one with: openssl rand -hex 32"
            )
            raise ConfigError(message, code="operator_token_unfit")
        return cls(token)

    def __init__(self, token: bytes) -> None:
        self._digest = hashlib.sha256(token).digest()

    def matches(self, given: str) -> bool:
        """Compare in constant time; text that is no token matches nothing."""
        return hmac.compare_digest(hashlib.sha256(given.encode("utf-8", "surrogatepass")).digest(), self._digest)
