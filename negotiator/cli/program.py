"""The program: its commands by name, loaded when they are called, and its exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from negotiator import __version__
from negotiator.errors import (
    ConfigError,
    IntegrityError,
    NegotiatorError,
    PolicyError,
    RequestError,
    UnavailableError,
)

__all__ = ["main"]

_COMMANDS = {
    "agent": "negotiator.cli.agents",
    "demo": "negotiator.cli.demo",
    "init": "negotiator.cli.init",
    "ledger": "negotiator.cli.ledger",
    "policy": "negotiator.cli.policies",
    "record": "negotiator.cli.records",
    "routes": "negotiator.cli.routes",
    "serve": "negotiator.cli.serve",
}
_SERVER_MODULES = frozenset(
    {"alembic", "cedarpy", "jinja2", "jwt", "pydantic", "sqlalchemy", "starlette", "uuid_utils", "uvicorn"}
)
_STATUS: tuple[tuple[type[NegotiatorError], int], ...] = (
    (RequestError, 1),
    (PolicyError, 1),
    (IntegrityError, 1),
    (ConfigError, 3),
    (UnavailableError, 3),
)


class _Program(click.Group):
    """Loads a command's module only when it is needed, so that the agents' side works without the server's extra."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        home = _COMMANDS.get(cmd_name)
        if home is None:
            return None
        command: click.Command = import_module(home).command
        return command


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="negotiator", message="%(prog)s %(version)s")
def program() -> None:
    """Two-way capability negotiation between websites and AI agents."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: what follows the program's name; None means those of this process.
    """
    try:
        result = program.main(args=arguments, prog_name="negotiator", standalone_mode=False)
    except click.exceptions.Abort:
        return _fail("interrupted", "stopped before it was done", status=3)
    except click.ClickException as error:
        return _fail("usage", error.format_message(), status=2)
    except NegotiatorError as error:
        return _fail(error.code, error.message, status=_status_of(error))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _SERVER_MODULES:
            raise
        return _fail("server_not_installed", 'this command needs: pip install "uaix-negotiator[server]"', status=3)
    except BrokenPipeError:
        _close_quietly()
    return result if isinstance(result, int) else 0


def _status_of(error: NegotiatorError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 3)


def _fail(code: str, message: str, *, status: int) -> int:
    line = " ".join(message.split())
    click.echo(f"negotiator: {code}: {line}", err=True)
    return status


def _close_quietly() -> NoReturn:
    """The reader of our output left: end as other tools do, without a traceback at exit."""
    sys.stderr.close()
    sys.exit(0)
