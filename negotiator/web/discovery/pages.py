"""HTML pages, rendered from the same values as their JSON twins.

- Everything is escaped; nothing is marked safe. A name from a configuration or a message is text and stays text.
- No script, no inline style, no image, no foreign address: the policy header says so, and nothing here needs more.
- A value that a template asks for and does not get is an error, never an empty cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from negotiator.web.discovery.endpoints import endpoint_named
from negotiator.web.discovery.links import Links
from negotiator.web.discovery.representations import json_value

__all__ = ["PAGE_HEADERS", "Pages", "stylesheet"]

PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}
"""On every HTML page."""

_NAVIGATION = ("start", "ladder", "access", "profiles", "examples", "schemas", "fields", "openapi", "keys")
_NAMES = {
    "start": "Start",
    "ladder": "Ladder",
    "access": "Access",
    "profiles": "Profiles",
    "examples": "Examples",
    "schemas": "Schemas",
    "fields": "Fields",
    "openapi": "Routes",
    "keys": "Keys",
}
_SECTIONS = {"profile": "profiles", "example": "examples", "schema": "schemas", "site": "start"}


class Pages:
    """The templates, loaded once."""

    def __init__(self) -> None:
        self._templates = Environment(
            loader=PackageLoader("negotiator.web.discovery"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._templates.filters["pretty"] = _pretty

    def render(self, name: str, value: Mapping[str, Any], *, links: Links, support_boundary: str) -> bytes:
        """Return the page of the document `name`.

        Args:
            name: the document's row in the route table; its template has the same name.
            value: the document, as its JSON twin has it.
            links: of the site.
            support_boundary: stands at the foot of every page.
        """
        page = self._templates.get_template(f"{name}.html").render(
            document=json_value(value),
            link=links.to,
            path=links.of,
            name=name,
            summary=endpoint_named(name).summary,
            section=_SECTIONS.get(name, name),
            navigation=[(target, _NAMES[target], links.to(target)) for target in _NAVIGATION],
            support_boundary=support_boundary,
        )
        return page.encode()


def stylesheet() -> bytes:
    """Return the bytes of the pages' stylesheet."""
    return files("negotiator.web.discovery").joinpath("static", "pages.css").read_bytes()


def _pretty(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
