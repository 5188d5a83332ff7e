"""`negotiator agent`: register agents and their API tokens. Runs on the host of the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from negotiator.cli.output import as_json_option, config_option, print_json
from negotiator.cli.site import host_actor, opened
from negotiator.model.levels import DEFAULT_IDENTIFIED_CAP, Level
from negotiator.model.records import Agent
from negotiator.model.times import format_time

__all__ = ["command"]

_LEVELS = click.Choice([level.name for level in Level])


@click.group(name="agent")
def command() -> None:
    """Register agents, list them, revoke them."""


@command.command()
@click.argument("name")
@click.option("--max-level", type=_LEVELS, default=DEFAULT_IDENTIFIED_CAP.name, show_default=True)
@click.option("--operated-by", default="", help="The person who runs it, for policies on self-approval.")
@config_option
@as_json_option
def add(name: str, *, max_level: str, operated_by: str, config: Path | None, as_json: bool) -> None:
    """Register the agent NAME and print its API token, once."""
    with opened(config) as negotiator:
        new = negotiator.administration.add_agent(
            name, max_level=Level.parse(max_level), operated_by=operated_by, actor=host_actor()
        )
    if as_json:
        print_json({**_shown(new.agent), "api_token": new.api_token})
        return
    click.echo(new.api_token)
    click.echo(f"{name} may reach {max_level}. The token is shown this once; only its keyed hash is kept.", err=True)


@command.command(name="list")
@config_option
@as_json_option
def list_agents(*, config: Path | None, as_json: bool) -> None:
    """List every agent, revoked ones too."""
    with opened(config, existing=True) as negotiator:
        agents = negotiator.administration.agents()
    if as_json:
        print_json([_shown(agent) for agent in agents])
        return
    for agent in agents:
        state = f"revoked {format_time(agent.revoked_at)}" if agent.revoked_at else "active"
        click.echo(f"{agent.name:<24} {agent.max_level.name}  {state:<36} {agent.agent_id}")


@command.command()
@click.argument("name")
@config_option
@as_json_option
def revoke(name: str, *, config: Path | None, as_json: bool) -> None:
    """Revoke the agent NAME: its credentials and negotiations open nothing from now on."""
    with opened(config, existing=True) as negotiator:
        agent = negotiator.administration.revoke_agent(name, actor=host_actor())
    if as_json:
        print_json(_shown(agent))
    else:
        click.echo(f"{name} is revoked")


def _shown(agent: Agent) -> dict[str, Any]:
    return {
        "agent_id": agent.agent_id,
        "name": agent.name,
        "max_level": agent.max_level.name,
        "operated_by": agent.operated_by or None,
        "created_at": format_time(agent.created_at),
        "revoked_at": format_time(agent.revoked_at) if agent.revoked_at else None,
    }
