"""A second server process on a site's database and keys, as a second worker or another host would be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from negotiator.config import Settings
from negotiator.errors import UnavailableError

__all__ = ["Worker", "another_worker"]

_SERVING = re.compile(r"serving on (http://\S+?)/uaix/")
_STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A server process; `crash` ends it at once, as losing power would."""

    url: str
    crash: Callable[[], None]


@contextmanager
def another_worker(settings: Settings) -> Iterator[Worker]:
    """Run `negotiator serve` around the demo site until the block ends.

    Raises:
        UnavailableError: `server_not_started`.
    """
    command = (sys.executable, "-m", "negotiator", "serve", "--port", "0")
    process = subprocess.Popen(  # noqa: S603 - this interpreter and this package, with arguments that stand above
        command, env=_environment(settings), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield Worker(url=_address(process), crash=process.kill)
        finally:
            process.terminate()
            _ended(process)


def _environment(settings: Settings) -> dict[str, str]:
    """Return this process's environment with the same database and keys, and no other setting of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NEGOTIATOR_")}
    own = {
        "NEGOTIATOR_DATABASE": settings.database,
        "NEGOTIATOR_KEYS_DIR": str(settings.keys_dir),
        "NEGOTIATOR_EFFECT_LEASE_SECONDS": str(settings.effect_lease_seconds),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    return kept | own


def _address(process: subprocess.Popen[str]) -> str:
    """Return where the process serves, as its first line says."""
    line = process.stderr.readline() if process.stderr else ""
    found = _SERVING.match(line)
    if found is None:
        message = f"the second worker did not start: {line.strip() or 'it said nothing'}"
        raise UnavailableError(message, code="server_not_started")
    return found[1]


def _ended(process: subprocess.Popen[str]) -> None:
    """Wait for the end, and bring it about where it does not come."""
    try:
        process.communicate(timeout=_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
