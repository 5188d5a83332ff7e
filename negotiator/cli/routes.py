"""`negotiator routes`: does every route that could change something have a rule?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
from starlette.routing import BaseRoute, Mount, Route

from negotiator.assembly import load_engine
from negotiator.cli.output import as_json_option, config_option, print_json
from negotiator.cli.serve import imported
from negotiator.cli.site import settings_of
from negotiator.demo.site import create_site
from negotiator.model.routes import UnmatchedRules
from negotiator.web.routing import SAFE_METHODS, Ambiguous, Governs, RouteTable

__all__ = ["command"]

_PARAMETER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_]*(?::([a-z]+))?\}")
_EXAMPLES = {"int": "1", "float": "1.5", "uuid": "00000000-0000-4000-8000-000000000000", "path": "x/y", "str": "x"}


@click.group(name="routes")
def command() -> None:
    """Check the route rules."""


@command.command()
@config_option
@click.option("--app", "site", default="", metavar="MODULE:APP", help="Your ASGI application; the demo site without.")
@as_json_option
def check(*, config: Path | None, site: str, as_json: bool) -> int:
    """List unsafe routes of the site that no rule covers, and rules that the policies cannot be asked about."""
    settings = settings_of(config)
    rules = settings.rules
    engine = load_engine(settings.policies_dir)
    app = imported(site) if site else create_site()
    unfit = [rule.label for rule in rules if not engine.applies(rule.action, rule.resource.type)]
    table = RouteTable(rules, UnmatchedRules(unsafe="deny_agents"))
    bare = [f"{method} {path}" for method, path in _unsafe_routes(app) if not _is_covered(table, method, path)]
    if as_json:
        print_json({"ok": not (unfit or bare), "uncovered": bare, "unfit": unfit})
    else:
        _print(bare, "no rule covers it; agents are refused there as [unmatched] says")
        _print(unfit, "the schema has no such action upon such a resource")
        click.echo("every unsafe route has a rule that the policies can be asked about" if not (unfit or bare) else "")
    return 1 if unfit or bare else 0


def _print(labels: list[str], why: str) -> None:
    for label in labels:
        click.echo(f"{label}: {why}")


def _unsafe_routes(app: object) -> Iterator[tuple[str, str]]:
    """Yield method and path of each unsafe route that the site tells of (Starlette and its relatives do)."""
    yield from _below(getattr(app, "routes", ()), "")


def _below(routes: object, prefix: str) -> Iterator[tuple[str, str]]:
    if not isinstance(routes, list | tuple):
        return
    for route in routes:
        match route:
            case Mount():
                yield from _below(route.routes, prefix + route.path)
            case Route():
                unsafe = sorted((route.methods or {"POST"}) - SAFE_METHODS)
                yield from ((method, prefix + route.path) for method in unsafe)
            case BaseRoute():
                continue


def _is_covered(table: RouteTable, method: str, path: str) -> bool:
    """Ask the table about one path that the site's template stands for."""
    example = _PARAMETER.sub(lambda found: _EXAMPLES.get(found[1] or "str", "x"), path)
    found = table.find({"method": method, "path": example, "raw_path": None, "root_path": ""})
    return isinstance(found, Governs | Ambiguous)
