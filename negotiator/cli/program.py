"""The program: its commands by name, loaded when they are called, and its exit statuses.

- 0 fine; 1 the thing checked is bad; 2 wrong usage, also where a command is missing; 3 could not be done.
- Whatever goes wrong is one line on standard error, `negotiator: <code>: <message>`. A traceback of something that we
  did not foresee is shown in Python's development mode only (`python -X dev -m negotiator …`).
- The list of commands needs none of their modules, so that it can be shown without the server's extra.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

from negotiator import __version__
from negotiator.cli.output import one_line
from negotiator.errors import IntegrityError, NegotiatorError, RequestError

__all__ = ["COMMANDS", "main"]

COMMANDS = MappingProxyType(
    {
        "agent": ("negotiator.cli.agents", "Register agents, list them, revoke them."),
        "consent": ("negotiator.cli.consents", "See what agents ask consent for; deny it, take it back."),
        "effects": ("negotiator.cli.effects", "Effects without a known outcome."),
        "demo": ("negotiator.cli.demo", "Tell the main job as a story over real HTTP."),
        "doctor": ("negotiator.cli.doctor", "Check everything, say what to do, change nothing."),
        "evidence": ("negotiator.cli.evidence", "Hand in evidence, list it, and say whose word counts for it."),
        "init": ("negotiator.cli.init", "Write a configuration and the shipped policies to FOLDER, for editing."),
        "key": ("negotiator.cli.keys", "List the keys that sign, make, rotate and retire them."),
        "ledger": ("negotiator.cli.ledger", "Read and verify the ledger."),
        "parity": (
            "negotiator.cli.parity",
            "Compare the page at URL with its JSON twin and keep the record as evidence.",
        ),
        "policy": ("negotiator.cli.policies", "Check policies before they decide anything."),
        "record": ("negotiator.cli.records", "Check, convert and digest UAI-1 messages."),
        "routes": ("negotiator.cli.routes", "Check the route rules."),
        "site": ("negotiator.cli.site_credentials", "Credentials with which the site settles effects."),
        "store": ("negotiator.cli.store", "Look after the database: migrate, status, backup, restore."),
        "user": ("negotiator.cli.people", "Accounts of people: passwords, second factors, roles."),
        "task": ("negotiator.cli.tasks", "Look at long tasks."),
        "serve": ("negotiator.cli.serve", "Serve a website behind the negotiator."),
    }
)
"""Command to its module and its sentence in the list of commands."""

SERVER_MODULES = frozenset(
    {
        "alembic",
        "argon2",
        "cedarpy",
        "cryptography",
        "jinja2",
        "jwt",
        "prometheus_client",
        "psycopg",
        "pydantic",
        "pyotp",
        "sqlalchemy",
        "starlette",
        "uuid_utils",
        "uvicorn",
        "webauthn",
    }
)
"""Top-level modules that only the extra `server` brings."""

_FINE, _BAD, _USAGE, _NOT_DONE = 0, 1, 2, 3


class _Program(click.Group):
    """Loads a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        """Run the command; click itself would add an empty line to an interrupt and fail at a closed pipe."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Abort from None
        except BrokenPipeError:
            return _reader_left()


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="negotiator", message="%(prog)s %(version)s")
def program() -> None:
    """Two-way capability negotiation between websites and AI agents."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        arguments: what follows the program's name; None means those of this process.
    """
    _print_anything()
    try:
        result = program.main(args=arguments, prog_name="negotiator", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return _USAGE
    except click.exceptions.Abort:
        return _fail("interrupted", "stopped before it was done", status=_NOT_DONE)
    except click.ClickException as error:
        return _fail("usage", error.format_message(), status=_USAGE)
    except NegotiatorError as error:
        status = _BAD if isinstance(error, RequestError | IntegrityError) else _NOT_DONE
        return _fail(error.code, error.message, status=status)
    except ModuleNotFoundError as error:
        return _without_module(error)
    except Exception as error:  # noqa: BLE001 - the program's edge: one line, and never a status that says fine
        return _unforeseen(error)
    return result if isinstance(result, int) else _FINE


def _without_module(error: ModuleNotFoundError) -> int:
    if (error.name or "").partition(".")[0] not in SERVER_MODULES:
        return _unforeseen(error)
    return _fail("server_not_installed", 'this command needs: pip install "uaix-negotiator[server]"', status=_NOT_DONE)


def _unforeseen(error: Exception) -> int:
    """Report what no branch above foresaw; an `OSError` is the machine's doing, anything else is ours."""
    if sys.flags.dev_mode:
        raise error
    if isinstance(error, OSError):
        return _fail("not_possible", str(error), status=_NOT_DONE)
    return _fail("internal_error", f"{type(error).__name__}: {error}", status=_NOT_DONE)


def _fail(code: str, message: str, *, status: int) -> int:
    click.echo(f"negotiator: {code}: {one_line(' '.join(message.split()))}", err=True)
    return status


def _print_anything() -> None:
    """Let standard output and error escape what their encoding lacks, instead of failing at it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _reader_left() -> int:
    """End as other tools do when whoever read our output has enough, without a complaint at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _FINE
