"""The policies in force: recorded, then swapped, then waited for; and claimed by digest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from negotiator.errors import ClaimFailed, UnavailableError
from negotiator.ports import Lane
from negotiator.services.policies import Policies
from tests.support.policy import RULES, engine

OTHER = RULES + '\n@id("other") @title("other") forbid (principal, action, resource);'


class WitnessingStore:
    """Notes which bundle is in force at each unit; the units that `fails` numbers are not written."""

    def __init__(self, policies: Policies, *, fails: tuple[int, ...] = ()) -> None:
        self.policies = policies
        self.fails = fails
        self.seen: list[str] = []

    def transact_sync(self, unit: Callable[[Any], Any], lane: Lane = Lane.GOVERNED) -> None:
        self.seen.append(self.policies.engine.bundle.digest)
        if len(self.seen) in self.fails:
            message = "the disk is full"
            raise UnavailableError(message, code="ledger_unavailable")


@pytest.mark.parametrize("fails", [(), (2,)])
def test_the_change_is_recorded_before_it_decides_and_waited_for_after(fails):
    old, new = engine(), engine(OTHER)
    policies = Policies(old, surface=())
    store = WitnessingStore(policies, fails=fails)
    assert policies.replace(new, store=store, actor="olga")
    assert store.seen == [old.bundle.digest, new.bundle.digest]


def test_a_change_that_is_not_recorded_is_none():
    policies = Policies(engine(), surface=())
    store = WitnessingStore(policies, fails=(1,))
    with pytest.raises(UnavailableError):
        policies.replace(engine(OTHER), store=store, actor="olga")
    assert policies.engine.bundle.digest == engine().bundle.digest
    assert len(store.seen) == 1


def test_a_bundle_is_claimed_by_what_it_holds():
    policies = Policies(engine(), surface=())
    policies.claim(engine())
    with pytest.raises(ClaimFailed) as caught:
        policies.claim(engine(OTHER))
    assert caught.value.fact == "bundle_in_force"


def test_the_matrix_goes_with_its_bundle():
    policies = Policies(engine(), surface=())
    before = policies.access
    assert policies.access is before
    policies.replace(engine(OTHER), store=WitnessingStore(policies), actor="olga")
    assert policies.access is not before
