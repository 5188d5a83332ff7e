"""`negotiator user`: accounts of people. Runs on the host of the database.

A password is typed on a terminal or read from standard input; never an argument, which other users of the host see.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from negotiator.cli.output import as_json_option, config_option, one_line, print_json
from negotiator.cli.site import host_actor, opened
from negotiator.errors import ConfigError, RequestError
from negotiator.model.people import ROLES, Factor, Person
from negotiator.model.times import format_time
from negotiator.services.accounts import Account, By, NewPassword

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])

_ROLE = click.Choice(ROLES)
_MAX_STDIN_BYTES: Final = 4_096


@click.group(name="user")
def command() -> None:
    """Accounts of people: passwords, second factors, roles."""


def _password_options(function: F) -> F:
    """Add `--password` and `--password-stdin`."""
    ask = click.option("--password", "ask", is_flag=True, help="Ask for the password on the terminal.")
    read = click.option("--password-stdin", is_flag=True, help="Read the password from standard input, one line.")
    return ask(read(function))


@command.command()
@click.argument("name")
@click.option("--role", "roles", type=_ROLE, multiple=True, required=True, help="May be given again.")
@click.option("--person", default="", metavar="ID", help="Who it is, if that person has an account already.")
@click.option("--locale", default="", metavar="TAG", help="The language of pages, such as es.")
@_password_options
@config_option
@as_json_option
def add(
    name: str,
    *,
    roles: tuple[str, ...],
    person: str,
    locale: str,
    ask: bool,
    password_stdin: bool,
    config: Path | None,
    as_json: bool,
) -> None:
    """Make the account NAME and print a one-time password, once; or take the password that is given."""
    password = _given(ask=ask, from_stdin=password_stdin)
    with opened(config) as negotiator:
        new = negotiator.accounts.add(
            name, roles=roles, person=person, locale=locale, password=password, by=By(id=host_actor())
        )
    _tell_password(new, as_json=as_json)


@command.command()
@click.argument("name")
@_password_options
@config_option
@as_json_option
def passwd(name: str, *, ask: bool, password_stdin: bool, config: Path | None, as_json: bool) -> None:
    """Give the account NAME a one-time password, or the password that is given, and sign it out everywhere."""
    password = _given(ask=ask, from_stdin=password_stdin)
    with opened(config, existing=True) as negotiator:
        new = negotiator.accounts.set_password(name, password=password, by=By(id=host_actor()))
    _tell_password(new, as_json=as_json)


@command.command(name="list")
@config_option
@as_json_option
def list_users(*, config: Path | None, as_json: bool) -> None:
    """List every account, disabled ones too."""
    with opened(config, existing=True) as negotiator:
        accounts = negotiator.accounts.listed()
    if as_json:
        print_json([_shown_account(account) for account in accounts])
        return
    for account in accounts:
        click.echo(one_line(_row(account)))


@command.command()
@click.argument("name")
@config_option
@as_json_option
def disable(name: str, *, config: Path | None, as_json: bool) -> None:
    """Let the account NAME open nothing any more; it is signed out everywhere."""
    with opened(config, existing=True) as negotiator:
        person = negotiator.accounts.disable(name, by=By(id=host_actor()))
    _tell(person, "is disabled", as_json=as_json)


@command.command()
@click.argument("name")
@config_option
@as_json_option
def enable(name: str, *, config: Path | None, as_json: bool) -> None:
    """Let the account NAME sign in again."""
    with opened(config, existing=True) as negotiator:
        person = negotiator.accounts.enable(name, by=By(id=host_actor()))
    _tell(person, "may sign in again", as_json=as_json)


@command.command()
@click.argument("name")
@click.argument("roles", nargs=-1, type=_ROLE)
@config_option
@as_json_option
def roles(name: str, *, roles: tuple[str, ...], config: Path | None, as_json: bool) -> None:
    """Give the account NAME these ROLES and no others, and sign it out everywhere."""
    with opened(config, existing=True) as negotiator:
        person = negotiator.accounts.set_roles(name, roles, by=By(id=host_actor()))
    _tell(person, f"is {', '.join(sorted(person.roles)) or 'nothing'} here", as_json=as_json)


@command.group()
def factor() -> None:
    """Second factors of an account."""


@factor.command(name="add")
@click.argument("name")
@click.option("--label", default="authenticator", show_default=True, help="What its owner calls it.")
@config_option
@as_json_option
def add_factor(name: str, *, label: str, config: Path | None, as_json: bool) -> None:
    """Give the account NAME a secret for one-time codes and print it as an otpauth: URL, once."""
    with opened(config, existing=True) as negotiator:
        new = negotiator.accounts.add_totp(name, label=label, by=By(id=host_actor()))
    if as_json:
        print_json({**_shown_factor(new.factor), "url": new.url})
        return
    click.echo(new.url)
    click.echo("Enter it in an authenticator app. It is shown this once; what is kept of it is sealed.", err=True)


@factor.command(name="list")
@click.argument("name")
@config_option
@as_json_option
def list_factors(name: str, *, config: Path | None, as_json: bool) -> None:
    """List the second factors of the account NAME."""
    with opened(config, existing=True) as negotiator:
        factors = negotiator.accounts.account(name).factors
    if as_json:
        print_json([_shown_factor(each) for each in factors])
        return
    for each in factors:
        used = f"used {format_time(each.used_at)}" if each.used_at else "never used"
        click.echo(one_line(f"{each.kind.value:<9} {each.label:<24} {used:<33} {each.factor_id}"))


@factor.command(name="remove")
@click.argument("name")
@click.argument("factor_id")
@config_option
@as_json_option
def remove_factor(name: str, factor_id: str, *, config: Path | None, as_json: bool) -> None:
    """Take a factor from the account NAME, by its id or label; the account is signed out everywhere."""
    with opened(config, existing=True) as negotiator:
        removed = negotiator.accounts.remove_factor(name, factor_id, by=By(id=host_actor()))
    if as_json:
        print_json(_shown_factor(removed))
    else:
        click.echo(one_line(f"{removed.label} ({removed.kind.value}) opens nothing any more"))


def _given(*, ask: bool, from_stdin: bool) -> str | None:
    """Return the password that is given; None where one is to be made.

    Raises:
        RequestError: `password_unfit`, for input that is not one line.
        ConfigError: `terminal_needed`.
    """
    if ask and from_stdin:
        message = "--password and --password-stdin exclude each other"
        raise click.UsageError(message)
    if from_stdin:
        return _line(sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1))
    if not ask:
        return None
    if not sys.stdin.isatty():
        message = "a password is asked for on a terminal only; use --password-stdin to read one"
        raise ConfigError(message, code="terminal_needed")
    typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return typed


def _line(content: bytes) -> str:
    try:
        text = content.decode() if len(content) <= _MAX_STDIN_BYTES else ""
    except UnicodeDecodeError:
        text = ""
    line = text.removesuffix("\n").removesuffix("\r")
    if not line or "\n" in line:
        message = "standard input is not one line of text; write the password and nothing else to it"
        raise RequestError(message, code="password_unfit")
    return line


def _tell_password(new: NewPassword, *, as_json: bool) -> None:
    if as_json:
        print_json({**_shown(new.person), "one_time_password": new.one_time_password or None})
    elif new.one_time_password:
        click.echo(new.one_time_password)
        click.echo(
            f"It opens one session for {new.person.name}, to choose a password. It is shown this once.", err=True
        )
    else:
        click.echo(f"{new.person.name} may sign in with that password")


def _tell(person: Person, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_shown(person))
    else:
        click.echo(f"{person.name} {what}")


def _row(account: Account) -> str:
    person = account.person
    state = f"disabled {format_time(person.disabled_at)}" if person.disabled_at else "active"
    factors = "+".join(["one-time password" if account.one_time else "password", *_kinds(account)])
    return f"{person.name:<24} {person.person:<24} {state:<36} {','.join(sorted(person.roles)):<32} {factors}"


def _kinds(account: Account) -> list[str]:
    return sorted({each.kind.value for each in account.factors})


def _shown_account(account: Account) -> dict[str, Any]:
    return {**_shown(account.person), "one_time_password_set": account.one_time, "factors": _kinds(account)}


def _shown(person: Person) -> dict[str, Any]:
    return {
        "user_id": person.user_id,
        "name": person.name,
        "person": person.person,
        "roles": sorted(person.roles),
        "locale": person.locale or None,
        "created_at": format_time(person.created_at),
        "disabled_at": format_time(person.disabled_at) if person.disabled_at else None,
    }


def _shown_factor(each: Factor) -> dict[str, Any]:
    return {
        "factor_id": each.factor_id,
        "kind": each.kind.value,
        "label": each.label,
        "created_at": format_time(each.created_at),
        "used_at": format_time(each.used_at) if each.used_at else None,
    }
