"""Changes between a decision and its commit, without sleeps: who decides lets a rival go first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from negotiator.policy import Engine, surface_of
from negotiator.services.policies import Policies
from negotiator.shipped import shipped_folder
from negotiator.store import PolicyFolder
from tests.support.house import House

__all__ = ["InterruptedPolicies", "interrupted", "policies_with"]


class InterruptedPolicies(Policies):
    """After an engine was taken, and before what it answers is recorded, `between` happens.

    Attributes:
        asked: how often an engine was taken: once for each time that a request is decided.
        between: is told that number.
    """

    asked = 0
    between: Callable[[int], None] = staticmethod(lambda _asked: None)

    @property
    def engine(self) -> Engine:
        engine = self._in_force.engine
        self.asked += 1
        self.between(self.asked)
        return engine


def interrupted(built: House) -> InterruptedPolicies:
    """Give a house that has answered nothing yet policies that can be interrupted."""
    negotiator = built.negotiator
    assert "enforcement" not in negotiator.__dict__, "the house has taken its policies already"
    policies = InterruptedPolicies(negotiator.engine, surface=surface_of(negotiator.routes))
    negotiator.__dict__["policies"] = policies
    return policies


def policies_with(rule: str) -> Mapping[str, bytes]:
    """Return the files of the shipped policies and one more."""
    return {**PolicyFolder(shipped_folder("policies")).read(), "more.cedar": rule.encode()}
