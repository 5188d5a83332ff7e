"""Free space beside a database's file (`Disk`), looked at no more than once a second."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from negotiator.ports import Clock

__all__ = ["LOOK_EVERY_SECONDS", "FolderDisk"]

LOOK_EVERY_SECONDS: Final = 1.0


class FolderDisk:
    """The file system of one folder; without a folder the database is elsewhere, and its space not ours to know."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._looked_at = float("-inf")
        self._free: int | None = None

    def free_bytes(self) -> int | None:
        """Return what unprivileged processes may still write there; None where it cannot be told."""
        if self._folder is None:
            return None
        now = self._clock.monotonic()
        if now - self._looked_at >= LOOK_EVERY_SECONDS:
            self._looked_at = now
            self._free = _free(self._folder)
        return self._free


def _free(folder: Path) -> int | None:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize
