"""The option `--app`, and the ASGI application that it names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from starlette.types import ASGIApp
from uvicorn.importer import ImportFromStringError, import_from_string

from negotiator.demo.site import create_site
from negotiator.errors import ConfigError, quoted

__all__ = ["app_option", "application"]

F = TypeVar("F", bound=Callable[..., Any])

_APP = click.option(
    "--app", default="", metavar="MODULE:APP", help="Your ASGI application, found from here; without: the demo site."
)


def app_option(function: F) -> F:
    """Add `--app MODULE:APP`."""
    return _APP(function)


def application(name: str) -> ASGIApp:
    """Return the ASGI application that `module:attribute` names, or a fresh demo site for an empty name.

    Modules of the working directory are found first, as other servers do.

    Raises:
        ConfigError: `app_not_found`, also where the module raises while it is imported.
    """
    if not name:
        return create_site()
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = import_from_string(name)
    except ImportFromStringError as error:
        raise ConfigError(str(error), code="app_not_found") from None
    except Exception as error:
        message = f"importing {quoted(name)} failed: {type(error).__name__}: {error}"
        raise ConfigError(message, code="app_not_found") from error
    if not callable(found):
        message = f"{quoted(name)} is no ASGI application: it cannot be called"
        raise ConfigError(message, code="app_not_found")
    app: ASGIApp = found
    return app
