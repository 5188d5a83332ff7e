"""What is refused first when the disk fills, so that there is room for what was promised.

| free space, as a part of the reserve | refused from there on |
| --- | --- |
| all of it | declarations of strangers, and validations |
| a half | all declarations |
| a quarter | effects: each needs room for two entries |
| – | reads go on until the disk is full |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final

from negotiator.errors import UnavailableError
from negotiator.model.conditions import Condition
from negotiator.ports import Disk

__all__ = ["Claimant", "Room"]

_MEBIBYTE: Final = 1 << 20
_RETRY_SECONDS: Final = 60


class Claimant(Enum):
    """Who wants room."""

    STRANGER = "declarations without a credential"
    DECLARATION = "declarations"
    EFFECT = "effects"


_PART: Final[Mapping[Claimant, float]] = MappingProxyType(
    {Claimant.STRANGER: 1.0, Claimant.DECLARATION: 0.5, Claimant.EFFECT: 0.25}
)


class Room:
    """Free space against what is kept in reserve.

    Args:
        disk: where the database grows.
        reserve_mebibytes: 0 reserves nothing.
    """

    def __init__(self, disk: Disk, *, reserve_mebibytes: int) -> None:
        self._disk = disk
        self._reserve = reserve_mebibytes * _MEBIBYTE

    def require(self, claimant: Claimant) -> None:
        """Refuse what there is no room for any more.

        Raises:
            UnavailableError: `room_low`.
        """
        if self._lacks(claimant):
            message = "there is little room left to record anything; try again later"
            raise UnavailableError(message, code="room_low", retry_after_seconds=_RETRY_SECONDS)

    def conditions(self) -> Sequence[Condition]:
        """Return what an operator has to know."""
        refused = [claimant for claimant in Claimant if self._lacks(claimant)]
        if not refused:
            return ()
        words = f"the disk is nearly full: {refused[-1].value} are refused; make room, or add some"
        return (Condition(code="room_low", state="degraded", detail=words),)

    def _lacks(self, claimant: Claimant) -> bool:
        free = self._disk.free_bytes()
        return free is not None and free < self._reserve * _PART[claimant]
