"""Which site a command is about: the configuration's, or else the demo site under `./var`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from negotiator.assembly import Negotiator
from negotiator.cli.output import environment
from negotiator.config import Settings
from negotiator.demo.settings import demo_settings

__all__ = ["opened", "settings_of"]


def settings_of(config: Path | None) -> Settings:
    """Return the settings of `config`, or those of the demo site where there is none.

    Raises:
        ConfigError: naming file, line and key.
    """
    variables = environment()
    if config is None and not any(name.startswith("NEGOTIATOR_") for name in variables):
        return demo_settings(Path("var"))
    return Settings.load(config, variables)


@contextmanager
def opened(config: Path | None) -> Iterator[Negotiator]:
    """Give a negotiator for one command, and let go of it afterwards."""
    negotiator = Negotiator(settings_of(config))
    try:
        yield negotiator
    finally:
        negotiator.stop()
