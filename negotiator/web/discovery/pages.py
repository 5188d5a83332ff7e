"""Pages for people, rendered from the same values as their JSON twins, in each of our languages.

- Everything is escaped. Only a catalog's own messages are markup; a name from a configuration or a message is text
  and stays text.
- No script, no inline style, no image, no foreign address: the policy header says so, and nothing here needs more.
- A value that a template asks for and does not get is an error, never an empty cell.
- Markdown and plain text are made from the HTML of the same template (`prose`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, TypeAlias

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from negotiator.web.discovery.endpoints import endpoint_named
from negotiator.web.discovery.links import Links
from negotiator.web.discovery.prose import markdown_of, text_of
from negotiator.web.discovery.representations import json_value
from negotiator.web.languages import LANGUAGES, load_messages

__all__ = ["FORMS", "NAVIGATION", "PAGE_HEADERS", "Pages", "Reading", "stylesheet"]

PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}
"""On every HTML page."""

_Form: TypeAlias = tuple[str, Callable[[str], bytes]]

FORMS: Mapping[str, _Form] = MappingProxyType(
    {
        "text/html": ("layout.html", str.encode),
        "text/markdown": ("content.html", markdown_of),
        "text/plain": ("content.html", text_of),
    }
)
"""Media types for people: the layout around the content, and what is made of the page."""

NAVIGATION: Mapping[str, str] = MappingProxyType(
    {
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
)
_SECTIONS = {"profile": "profiles", "example": "examples", "schema": "schemas", "site": "start"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a document is read.

    Attributes:
        media_type: one of `FORMS`.
        language: one of `LANGUAGES`.
        links: of the site.
        parameters: of the document's path, by name.
    """

    media_type: str
    language: str
    links: Links
    parameters: Mapping[str, str]


class Pages:
    """The templates in every language, loaded once."""

    def __init__(self) -> None:
        self._templates = {language: _environment(language) for language in LANGUAGES}

    def render(self, name: str, value: Mapping[str, Any], *, reading: Reading, support_boundary: str) -> bytes:
        """Return the document `name` for people.

        Args:
            name: the document's row in the route table; its template has the same name.
            value: the document, as its JSON twin has it.
            reading: how it is read.
            support_boundary: stands at the foot of every page.
        """
        layout, written = FORMS[reading.media_type]
        links = reading.links
        template = self._templates[reading.language].get_template(f"{name}.html")
        page = template.render(
            layout=layout,
            document=json_value(value),
            link=links.to,
            name=name,
            summary=endpoint_named(name).summary,
            section=_SECTIONS.get(name, name),
            navigation=[(target, label, links.to(target)) for target, label in NAVIGATION.items()],
            support_boundary=support_boundary,
            twin=links.to(name, **reading.parameters),
            language=reading.language,
            languages=[(tag, own, links.spoken(tag).to(name, **reading.parameters)) for tag, own in LANGUAGES.items()],
        )
        return written(page)


def stylesheet() -> bytes:
    """Return the bytes of the pages' stylesheet."""
    return files("negotiator.web.discovery").joinpath("static", "pages.css").read_bytes()


@cache
def _environment(language: str) -> Environment:
    messages = load_messages(language)

    def translated(message: str) -> str:
        return messages.get(message, message)

    def translated_number(one: str, many: str, number: int) -> str:
        return translated(one if number == 1 else many)

    templates = Environment(
        loader=PackageLoader("negotiator.web.discovery"),
        extensions=["jinja2.ext.i18n"],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"pretty": _pretty, "say": translated}
    templates.install_gettext_callables(  # type: ignore[attr-defined]  # added by the extension
        translated, translated_number, newstyle=True
    )
    return templates


def _pretty(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
