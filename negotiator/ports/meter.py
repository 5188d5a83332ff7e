"""What is counted while the house works, for whoever watches it. Counting decides nothing and fails nothing."""

from __future__ import annotations

from typing import Literal, Protocol

__all__ = ["Meter", "Unmetered"]


class Meter(Protocol):
    """Counts. What it is told comes from the house, never from a caller's words."""

    def decided(self, *, decision: Literal["allow", "deny"], code: str, action: str, seconds: float) -> None:
        """Count one recorded decision.

        Args:
            decision: the answer.
            code: `allowed`, or the problem code of the refusal.
            action: what was decided on; `declare` for a declaration.
            seconds: from the question to the committed answer.
        """
        ...

    def abandoned(self) -> None:
        """Count one request whose client left before anything was decided."""
        ...

    def batch(self, *, entries: int, seconds: float) -> None:
        """Count one commit of the store. Called on the writer's thread.

        Args:
            entries: how many ledger entries it made durable.
            seconds: from asking for the lock to the durable commit.
        """
        ...


class Unmetered:
    """Counts nothing (`Meter`)."""

    def decided(self, *, decision: Literal["allow", "deny"], code: str, action: str, seconds: float) -> None:
        """Let it pass."""

    def abandoned(self) -> None:
        """Let it pass."""

    def batch(self, *, entries: int, seconds: float) -> None:
        """Let it pass."""
