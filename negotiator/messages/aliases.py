"""Other spellings of field names. There are none: a message has the full names or it is refused.

Rules:

- In the envelope, whose keys are closed, a key is an alias if it abbreviates a field in any way: its letters stand in
  the field's name in that order, from the start of a word on (`v`, `prof`, `msg_id`, `messageId`).
- In a body, which may have keys of its own, only another way of writing the whole name (`clientLevel`) and the
  initials of its words (`cl`) are aliases.

Source: the conformance family `unsupported-alias`.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["alias_in_body", "alias_in_envelope"]


def alias_in_envelope(key: str, fields: Iterable[str]) -> str | None:
    """Return the field that `key`, which is none itself, abbreviates; or None."""
    letters = _letters(key)
    return next((field for field in fields if letters and _abbreviates(letters, field)), None)


def alias_in_body(key: str, fields: Iterable[str]) -> str | None:
    """Return the field that `key`, which is none itself, spells otherwise; or None."""
    letters = _letters(key)
    return next((field for field in fields if letters in {_letters(field), _initials(field)}), None)


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _initials(field: str) -> str:
    return "".join(word[0] for word in field.split("_"))


def _abbreviates(letters: str, field: str) -> bool:
    words = field.split("_")
    return any(_is_subsequence(letters, "".join(words[start:])) for start in range(len(words)))


def _is_subsequence(letters: str, name: str) -> bool:
    rest = iter(name)
    return name.startswith(letters[0]) and all(letter in rest for letter in letters)
