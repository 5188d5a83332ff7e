"""Messages by language, from the `.po` files beside this module.

An entry that is marked fuzzy is a guess and is left out. Plural forms are not used: no sentence of ours counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from io import BytesIO
from types import MappingProxyType
from typing import TypeAlias

from babel.messages.pofile import read_po

__all__ = ["LANGUAGES", "Messages", "load_messages"]

Messages: TypeAlias = Mapping[str, str]

LANGUAGES: Mapping[str, str] = MappingProxyType({"en": "English", "es": "Español", "zh": "简体中文"})
"""Every language by its tag, with its own name for itself; the first is the source and the default."""


@cache
def load_messages(language: str) -> Messages:
    """Return the translations into `language`, by their English; none for English itself.

    Args:
        language: a tag of `LANGUAGES`; KeyError otherwise, since only code asks.
    """
    if language == next(iter(LANGUAGES)):
        return MappingProxyType({})
    LANGUAGES[language]
    data = files(__package__).joinpath("catalogs", f"{language}.po").read_bytes()
    catalog = read_po(BytesIO(data), locale=language, abort_invalid=True)
    usable = (message for message in catalog if message.id and message.string and not message.fuzzy)
    return MappingProxyType({str(message.id): str(message.string) for message in usable})
