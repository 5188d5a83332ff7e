"""What was true when the decision was made, and is not when it commits, lets nothing through.

Without sleeps: the first time that the engine is asked for, a rival process commits the change; then the decision
goes on with what it knew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from negotiator.assembly import Negotiator
from negotiator.model.governed import GovernedRequest, Presented, Verdict
from negotiator.model.levels import Level
from negotiator.policy import Engine
from negotiator.services.enforcement import Enforcement
from tests.support.house import House, house, settings_in


def rival_change(rival: Negotiator, change: str, negotiation_id: str) -> None:
    match change:
        case "the negotiation ends":
            ended = rival.store.transact_sync(lambda tx: tx.negotiations.end(negotiation_id, tx.now))
            assert ended
        case "the agent is revoked":
            rival.administration.revoke_agent("helper", actor="rival")


def enforcement_with(built: House, engine: Callable[[], Engine]) -> Enforcement:
    negotiator = built.negotiator
    return Enforcement(
        store=negotiator.store,
        callers=negotiator.callers,
        engine=engine,
        leases=negotiator.leases,
        clock=negotiator.clock,
        ids=negotiator.ids,
        prefix=negotiator.prefix,
    )


async def decide(built: House, tmp_path: Path, change: str) -> tuple[Verdict, int]:
    """Decide a request while a rival makes `change`; return the verdict and how often the engine was asked."""
    asked = 0
    api_token = built.agent()
    async with built.client() as client:
        token = await built.token(client, Level.L2, api_token)
    [declared] = built.entries("declare")
    rival = Negotiator(settings_in(tmp_path), clock=built.clock)

    def engine() -> Engine:
        nonlocal asked
        asked += 1
        if asked == 1:
            rival_change(rival, change, declared["negotiation_id"])
        return built.negotiator.engine

    rule = next(rule for rule in built.negotiator.routes if rule.action == "render_ui")
    request = GovernedRequest(
        method="GET",
        target="/screen",
        rule=rule,
        presented=Presented(negotiation=token, credential=api_token),
        caller_class="agent",
    )
    try:
        return await enforcement_with(built, engine).decide(request), asked
    finally:
        rival.stop()


@pytest.mark.parametrize(
    ("change", "code"),
    [("the negotiation ends", "negotiation_expired"), ("the agent is revoked", "credentials_invalid")],
)
async def test_a_change_between_decision_and_commit_is_seen(tmp_path: Path, change: str, code: str) -> None:
    with house(tmp_path) as built:
        verdict, asked = await decide(built, tmp_path, change)
        assert asked == 1, "the second look finds that nothing needs deciding any more"
        assert verdict.kind == "refuse"
        assert verdict.refusal is not None
        assert verdict.refusal.code == code
        assert built.entries("intent") == []
        last = built.entries()[-1]
        assert (last["kind"], last["decision"], last["code"]) == ("decision", "deny", code)
        assert built.calls == []


async def test_the_same_request_passes_when_no_rival_interferes(tmp_path: Path) -> None:
    with house(tmp_path) as built:
        verdict, asked = await decide(built, tmp_path, "nothing happens")
        assert (verdict.kind, verdict.intent_open, asked) == ("proceed", True, 1)
        assert len(built.entries("intent")) == 1
