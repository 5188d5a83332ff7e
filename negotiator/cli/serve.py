"""`negotiator serve`: the API and the middleware around the demo site, or around your ASGI application."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import click
import uvicorn
from starlette.types import ASGIApp
from uvicorn.importer import ImportFromStringError, import_from_string

from negotiator.assembly import Negotiator
from negotiator.cli.output import config_option
from negotiator.cli.site import settings_of
from negotiator.config import Settings
from negotiator.demo.site import create_site
from negotiator.errors import ConfigError, quoted
from negotiator.web.middleware import NegotiatorMiddleware

__all__ = ["command", "imported"]


@click.command(name="serve")
@config_option
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65_535), default=8000, show_default=True)
@click.option("--app", "site", default="", metavar="MODULE:APP", help="Your ASGI application; the demo site without.")
def command(*, config: Path | None, host: str, port: int, site: str) -> None:
    """Serve a website behind the negotiator."""
    settings = settings_of(config)
    _check_reach(settings, host)
    negotiator = Negotiator(settings)
    app = NegotiatorMiddleware(imported(site) if site else create_site(), negotiator=negotiator)
    click.echo(f"serving on http://{host}:{port}{settings.prefix}/ – stop with Ctrl-C", err=True)
    uvicorn.run(app, host=host, port=port, log_level="info", proxy_headers=False, server_header=False)


def imported(name: str) -> ASGIApp:
    """Return the ASGI application that `module:attribute` names.

    Raises:
        ConfigError: `app_not_found`.
    """
    try:
        app: ASGIApp = import_from_string(name)
    except ImportFromStringError as error:
        raise ConfigError(str(error), code="app_not_found") from None
    return app


def _check_reach(settings: Settings, host: str) -> None:
    """Refuse to serve other machines without knowing the name by which they call this one."""
    if settings.public_url or _is_loopback(host):
        return
    message = f"serving on {quoted(host)} needs public_url, the https origin of the site; or serve on 127.0.0.1"
    raise ConfigError(message, code="public_url_missing")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
