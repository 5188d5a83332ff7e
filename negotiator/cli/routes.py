"""`negotiator routes`: does every route that could change something have a rule?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
from starlette.endpoints import HTTPEndpoint
from starlette.routing import Host, Mount, Route

from negotiator.assembly import load_engine
from negotiator.cli.application import app_option, application
from negotiator.cli.output import as_json_option, config_option, one_line, print_json
from negotiator.cli.site import settings_of
from negotiator.errors import ConfigError
from negotiator.model.routes import UnmatchedRules
from negotiator.web.routing import SAFE_METHODS, Ambiguous, Governs, RouteTable

__all__ = ["command"]

_PARAMETER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*(?::([a-z]+))?\}")
_EXAMPLES = {"int": "1", "float": "1.5", "uuid": "00000000-0000-4000-8000-000000000000", "path": "x/y", "str": "x"}
_UNSAFE_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@click.group(name="routes")
def command() -> None:
    """Check the route rules."""


@command.command()
@config_option
@app_option
@as_json_option
def check(*, config: Path | None, app: str, as_json: bool) -> int:
    """List unsafe routes of the site that no rule covers, and rules that the policies cannot be asked about."""
    settings = settings_of(config, demo=not app)
    rules = settings.rules
    engine = load_engine(settings.policies_dir)
    unfit = [rule.label for rule in rules if not engine.applies(rule.action, rule.resource.type)]
    table = RouteTable(rules, UnmatchedRules(unsafe="deny_agents"))
    routes = _routes_of(application(app))
    bare = [f"{method} {path}" for method, path in _unsafe(routes) if not _is_covered(table, method, path)]
    if as_json:
        print_json({"ok": not (unfit or bare), "uncovered": bare, "unfit": unfit})
    else:
        _print(bare, f"no rule covers it; [unmatched] unsafe = {settings.unmatched.unsafe} applies")
        _print(unfit, "the schema has no such action upon such a resource")
        if not (unfit or bare):
            click.echo("every unsafe route has a rule that the policies can be asked about")
    return 1 if unfit or bare else 0


def _print(labels: list[str], why: str) -> None:
    for label in labels:
        click.echo(one_line(f"{label}: {why}"))


def _routes_of(app: object) -> list[object]:
    """Return what the site tells of its routes, as Starlette and its relatives do; middleware around it is opened.

    Raises:
        ConfigError: `routes_unknown`.
    """
    for _ in range(100):
        routes = getattr(app, "routes", None)
        if isinstance(routes, list | tuple):
            return list(routes)
        app = getattr(app, "app", None)
    message = "the application does not tell its routes; name the Starlette or FastAPI application itself"
    raise ConfigError(message, code="routes_unknown")


def _unsafe(routes: list[object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield method and path of each unsafe route, mounts opened."""
    for route in routes:
        match route:
            case Mount():
                yield from _unsafe(list(route.routes), prefix + route.path)
            case Host():
                yield from _unsafe(list(route.routes), prefix)
            case Route():
                yield from ((method, prefix + route.path) for method in sorted(_methods(route) - SAFE_METHODS))
            case _:
                continue


def _methods(route: Route) -> frozenset[str]:
    """Return what the route answers; a class that is no `HTTPEndpoint` may answer anything."""
    if route.methods is not None:
        return frozenset(route.methods)
    if isinstance(route.endpoint, type) and issubclass(route.endpoint, HTTPEndpoint):
        return frozenset(method for method in _UNSAFE_METHODS if hasattr(route.endpoint, method.lower()))
    return _UNSAFE_METHODS


def _is_covered(table: RouteTable, method: str, path: str) -> bool:
    """Ask the table about one path that the site's template stands for."""
    example = _PARAMETER.sub(lambda found: _EXAMPLES.get(found[1] or "str", "x"), path)
    found = table.find({"method": method, "path": example, "raw_path": None, "root_path": ""})
    return isinstance(found, Governs | Ambiguous)
