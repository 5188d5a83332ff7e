"""Which site a command is about: the configuration's, or else the demo site under `./var`."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from negotiator.assembly import Negotiator
from negotiator.cli.output import environment
from negotiator.config import Settings
from negotiator.demo.settings import demo_settings
from negotiator.errors import ConfigError, quoted
from negotiator.store import database_file

__all__ = ["check_is_there", "host_actor", "opened", "settings_of"]

_DEMO_FOLDER = Path("var")


def settings_of(config: Path | None, *, demo: bool = True) -> Settings:
    """Return the settings of `config`; where there is none, those of the demo site or, without `demo`, the defaults.

    Environment variables count in each case.

    Raises:
        ConfigError: naming file, line and key.
    """
    variables = environment()
    settings = Settings.load(config, variables)
    if config or variables.get("NEGOTIATOR_CONFIG") or not demo:
        return settings
    given = {key: getattr(settings, key) for key in settings.model_fields_set}
    return demo_settings(_DEMO_FOLDER).model_copy(update=given)


@contextmanager
def opened(config: Path | None, *, existing: bool = False) -> Iterator[Negotiator]:
    """Give a negotiator for one command, and let go of it afterwards.

    Args:
        config: the configuration's file.
        existing: the command only makes sense where there is a database already.

    Raises:
        ConfigError: as `settings_of` does; `database_missing`.
    """
    settings = settings_of(config)
    if existing:
        check_is_there(settings.database)
    negotiator = Negotiator(settings)
    try:
        yield negotiator
    finally:
        negotiator.stop()


def check_is_there(database: str) -> None:
    """Refuse to make a database where a command only makes sense with one.

    Raises:
        ConfigError: `database_missing`.
    """
    file = database_file(database)
    if file is not None and not file.exists():
        message = f"there is no database {quoted(file)} yet; start the server first, or name its configuration"
        raise ConfigError(message, code="database_missing")


def host_actor() -> str:
    """Return who runs this command, for the ledger; by number where the machine has no name for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"
