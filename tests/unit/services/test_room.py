"""Room: as the disk fills, strangers' declarations are refused first and effects last; reads never."""

from __future__ import annotations

import pytest

from negotiator.errors import UnavailableError
from negotiator.services.room import Claimant, Room

MEBIBYTE = 1 << 20


class FixedDisk:
    def __init__(self, free: int | None) -> None:
        self.free = free

    def free_bytes(self) -> int | None:
        return self.free


def refused(free: int | None, *, reserve: int = 100) -> set[Claimant]:
    room = Room(FixedDisk(free), reserve_mebibytes=reserve)
    lacking = set()
    for claimant in Claimant:
        try:
            room.require(claimant)
        except UnavailableError:
            lacking.add(claimant)
    return lacking


@pytest.mark.parametrize(
    ("free", "who"),
    [
        (100 * MEBIBYTE, set()),
        (100 * MEBIBYTE - 1, {Claimant.STRANGER}),
        (50 * MEBIBYTE, {Claimant.STRANGER}),
        (50 * MEBIBYTE - 1, {Claimant.STRANGER, Claimant.DECLARATION}),
        (25 * MEBIBYTE - 1, set(Claimant)),
        (0, set(Claimant)),
        (None, set()),
    ],
)
def test_the_order_of_refusal(free: int | None, who: set[Claimant]) -> None:
    assert refused(free) == who


def test_the_refusal_says_when_to_come_back() -> None:
    with pytest.raises(UnavailableError) as caught:
        Room(FixedDisk(0), reserve_mebibytes=1).require(Claimant.EFFECT)
    assert (caught.value.code, caught.value.retry_after_seconds) == ("room_low", 60)


def test_without_a_reserve_nothing_is_refused() -> None:
    assert refused(0, reserve=0) == set()


def test_operators_are_told_what_is_refused() -> None:
    assert Room(FixedDisk(None), reserve_mebibytes=1).conditions() == ()
    [condition] = Room(FixedDisk(30 * MEBIBYTE), reserve_mebibytes=100).conditions()
    assert (condition.code, condition.state) == ("room_low", "degraded")
    assert "declarations are refused" in condition.detail
