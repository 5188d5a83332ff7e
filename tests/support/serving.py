"""`negotiator serve` in a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.cli import PROGRAM, plain_environment

__all__ = ["serving"]


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[httpx.Client]:
    """Serve on a free port, give a client, and end with SIGTERM, which must be a clean end."""
    command = [*PROGRAM, "serve", "--port", "0", *arguments]
    log = folder / "serve.log"
    with (
        log.open("wb") as written,
        subprocess.Popen(
            command, cwd=folder, env=plain_environment(), stdout=written, stderr=subprocess.PIPE
        ) as process,
    ):
        assert process.stderr is not None
        first = process.stderr.readline().decode()
        found = re.match(r"serving on (http://\S+?)/uaix/v1/ ", first)
        assert found, first
        try:
            with httpx.Client(base_url=found[1], timeout=30) as client:
                yield client
        finally:
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    assert "Traceback" not in err.decode(), err.decode()
