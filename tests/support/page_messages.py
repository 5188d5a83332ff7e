"""Every sentence that our pages may say, as catalogs must hold them.

`PYTHONPATH=. python -m tests.support.page_messages` writes the catalogs anew: every message that there is, in order,
with the translation that it had; a new one is empty, and the tests of catalogs name it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

import negotiator.web.discovery
import negotiator.web.languages
from negotiator.services.answers import SUPPORT_BOUNDARY
from negotiator.shipped import load_catalog
from negotiator.web.discovery.components import SECURITY_SCHEMES
from negotiator.web.discovery.endpoints import ENDPOINTS
from negotiator.web.discovery.pages import NAVIGATION

CATALOGS = Path(negotiator.web.languages.__file__).parent / "catalogs"
_TEMPLATES = Path(negotiator.web.discovery.__file__).parent / "templates"
_SENTENCES = frozenset(
    {"title", "description", "statement", "summary", "may", "must_not_imply", "needs", "fallback", "family"}
    | {"support_boundary"}
)
_WORDS = ("allowed", "conditional", "refused", "none", "optional", "required", "site")


def page_messages() -> list[str]:
    """Return every message once, in a stable order."""
    return list(dict.fromkeys([*_of_templates(), *NAVIGATION.values(), *_WORDS, *_of_documents()]))


def _of_templates() -> Iterator[str]:
    for template in sorted(_TEMPLATES.glob("*.html")):
        with template.open("rb") as file:
            options = {"trimmed": "true", "silent": "false", "trim_blocks": "true", "lstrip_blocks": "true"}
            for _, _, message, _ in babel_extract(file, ("_", "gettext"), (), options):
                assert isinstance(message, str)
                yield message


def _of_documents() -> Iterator[str]:
    catalog = load_catalog()
    yield from ("Agent access", "What this site offers to agents, and how to ask for it.", SUPPORT_BOUNDARY)
    yield from (endpoint.summary for endpoint in ENDPOINTS if endpoint.summary)
    yield from (scheme["description"] for scheme in SECURITY_SCHEMES.values())
    yield from _sentences(catalog.ladder)
    yield from _sentences(catalog.registry)
    for profile in catalog.profiles.values():
        yield from _sentences({name: value for name, value in profile.document.items() if name != "example"})


def _sentences(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            if name in _SENTENCES:
                yield from [member] if isinstance(member, str) else (each for each in member if isinstance(each, str))
            if not isinstance(member, str):
                yield from _sentences(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _sentences(member)


def read_catalog(language: str) -> Catalog:
    """Return a catalog with everything that its file says, fuzzy entries too."""
    return read_po(BytesIO((CATALOGS / f"{language}.po").read_bytes()), locale=language, abort_invalid=True)


def _write_anew(language: str) -> None:
    before = read_catalog(language)
    after = Catalog(locale=language, fuzzy=False)
    for message in page_messages():
        known = before.get(message)
        after.add(message, known.string if known else "")
    entries = BytesIO()
    write_po(entries, after, width=118, omit_header=True)
    header = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n"Language: {language}\\n"\n\n'
    (CATALOGS / f"{language}.po").write_text(header + entries.getvalue().decode().strip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    for file in CATALOGS.glob("*.po"):
        _write_anew(file.stem)
