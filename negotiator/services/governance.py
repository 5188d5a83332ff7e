"""Whether decisions bind, and whether agents are let in at all: modes and the kill switch.

- In the mode `shadow` everything is decided and recorded as ever. What is denied reaches the site all the same: its
  entry says `decision: deny` and `mode: shadow`. Requests that cannot be handed on safely (their form is at fault) are
  refused in every mode, and memory is held as a proposal in every mode. Keys are not taken, so that none denies.
- While the kill switch is on, every governed request is refused, but those of people where the route lets people in
  undeclared.
- A change of either is an `admin` entry, at the latest ten seconds after a process of the new kind has begun to write.
  The switch is remembered by its place: hosts that have switches of their own do not record each other's.
"""

from __future__ import annotations

from collections.abc import Sequence

from negotiator.canonical import sha256_hex
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.governed import GovernedRequest
from negotiator.model.routes import Mode, RouteRule
from negotiator.ports import Chore, Switch, Tx

__all__ = ["Governance"]

_EVERY_SECONDS = 10.0
_OPEN_TO_PEOPLE = frozenset({"human_only", "pass", "limited"})


class Governance:
    """The modes of one site, and its kill switch.

    Args:
        mode: of the site.
        rules: of the routes, each with the mode that holds for it.
        switch: the kill switch.
    """

    def __init__(self, *, mode: Mode, rules: Sequence[RouteRule], switch: Switch) -> None:
        self._modes = _described(mode, rules)
        self._switch = switch

    @property
    def chore(self) -> Chore:
        """What the store attends to."""
        return Chore(name="governance", every_seconds=_EVERY_SECONDS, unit=self.record)

    @property
    def notices(self) -> Sequence[tuple[str, str]]:
        """What an operator should know now: code and sentence."""
        found = []
        if "shadow" in self._modes:
            found.append(("mode_shadow", f"denials do not bind: {self._modes}"))
        if self.stopped:
            found.append(
                ("governance_stopped", "the kill switch is on; remove its file to let agents in, or send SIGUSR2")
            )
        return found

    @property
    def stopped(self) -> bool:
        """Whether the kill switch is on."""
        return self._switch.on

    def turn(self, *, on: bool) -> None:
        """Turn the kill switch on or off; `record` writes the entry.

        Raises:
            ConfigError: `kill_switch_unwritable`, as `Switch.turn` does.
        """
        self._switch.turn(on=on)

    def stops(self, request: GovernedRequest) -> bool:
        """Whether the kill switch keeps this request out."""
        return self.stopped and not (
            request.caller_class == "human"
            and not request.presented.negotiation
            and request.rule.undeclared in _OPEN_TO_PEOPLE
        )

    def record(self, tx: Tx) -> None:
        """The unit: an entry for each change since it was last recorded."""
        _record(tx, "mode", self._modes, usual="enforce", code="mode_changed")
        for place, on in self._switch.look().items():
            name = f"kill_switch:{place or sha256_hex(tx.owner.encode())[:16]}"
            _record(tx, name, "on" if on else "off", usual="off", code="kill_switch_changed")


def _described(mode: Mode, rules: Sequence[RouteRule]) -> str:
    """Return the modes in one line, e.g. `enforce; shadow: POST /comments`."""
    others = sorted(rule.label for rule in rules if rule.mode != mode)
    other = "shadow" if mode == "enforce" else "enforce"
    return f"{mode}; {other}: {', '.join(others)}" if others else mode


def _record(tx: Tx, name: str, value: str, *, usual: str, code: str) -> None:
    """Write an entry if `value` is not what was recorded last; a new site is as it usually is."""
    before = tx.state.get(name) or usual
    if before == value:
        return
    tx.state.put(name, value, tx.now)
    members: dict[str, EntryValue] = {
        "decision": "allow",
        "code": code,
        "actor": {"type": "Host", "id": tx.owner},
        "before": before,
        "now": value,
    }
    tx.append(EntryDraft(kind=EntryKind.ADMIN, members=members))
