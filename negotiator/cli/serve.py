"""`negotiator serve`: the API and the middleware around the demo site, or around your ASGI application.

Everything that can be wrong with the configuration is found before the first connection is accepted.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

import click
import uvicorn
from starlette.types import ASGIApp

from negotiator.assembly import Negotiator
from negotiator.cli.application import app_option, application
from negotiator.cli.output import config_option
from negotiator.cli.reach import check_reach
from negotiator.cli.signals import kill_switch_signals
from negotiator.cli.site import settings_of
from negotiator.config import Settings
from negotiator.errors import ConfigError, UnavailableError, quoted
from negotiator.web.access_log import AccessLog
from negotiator.web.log_lines import configure_logs
from negotiator.web.middleware import NegotiatorMiddleware

__all__ = ["command"]

_log = logging.getLogger("negotiator.serve")


@click.command(name="serve")
@config_option
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=8000, show_default=True, help="0 takes one that is free."
)
@app_option
def command(*, config: Path | None, host: str, port: int, app: str) -> None:
    """Serve a website behind the negotiator."""
    settings = settings_of(config, demo=not app)
    if not app and "root_aliases" not in settings.model_fields_set:
        settings = settings.model_copy(update={"root_aliases": True})
    check_reach(settings, host)
    configure_logs(settings.log_format, sys.stderr)
    negotiator = Negotiator(settings)
    site: ASGIApp = NegotiatorMiddleware(application(app), negotiator=negotiator)
    asyncio.run(negotiator.startup())
    with _listening(host, port) as listener, kill_switch_signals(negotiator.turn_kill_switch):
        _announce(f"serving on {_address(listener)}{settings.prefix}/ (stop with Ctrl-C)", settings)
        served = AccessLog(site) if settings.access_log else site
        _run(
            uvicorn.Config(
                served, log_config=None, log_level="info", access_log=False, proxy_headers=False, server_header=False
            ),
            listener,
        )


def _announce(sentence: str, settings: Settings) -> None:
    """Say where the site is: to people, or to whatever reads the log."""
    if settings.log_format == "json":
        _log.info(sentence)
    else:
        click.echo(sentence, err=True)


def _run(config: uvicorn.Config, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM; what is under way then is finished first.

    Raises:
        UnavailableError: `app_not_started`.
    """
    signal.signal(signal.SIGTERM, _stop)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        return
    except SystemExit:
        message = "the site failed at its start-up; the lines above say why"
        raise UnavailableError(message, code="app_not_started") from None


def _stop(*_: object) -> NoReturn:
    """Treat SIGTERM, which uvicorn raises again after it has shut down, like Ctrl-C: as a wish, not as a failure."""
    raise KeyboardInterrupt


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConfigError: `address_unusable`.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        message = f"cannot listen on {quoted(host)} port {port}: {error.strerror or error}"
        raise ConfigError(message, code="address_unusable") from None


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
