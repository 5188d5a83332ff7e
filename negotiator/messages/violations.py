"""Schema violations in words: what is wrong at which place, and what would be right.

Both validators are brought to one shape, so that a finding reads the same whoever found it. Words come from a table
by keyword; what would be right comes from the schema's own `description`. Nothing of the instance is shown unquoted.

It does not: decide whether something is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jsonschema_rs
from jsonschema import exceptions

from negotiator.canonical import escape_pointer
from negotiator.errors import quoted
from negotiator.model.findings import Finding, Severity

__all__ = ["Violation"]

_KINDS = MappingProxyType(
    {str: "text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place where a document breaks its schema.

    Attributes:
        keyword: the schema keyword that it breaks.
        expected: the keyword's value.
        instance: what stands there.
        path: the way to it.
        described: the schema's description of what should stand there; empty if it has none.
    """

    keyword: str
    expected: Any
    instance: Any
    path: tuple[str | int, ...]
    described: str = ""

    @classmethod
    def from_jsonschema(cls, error: exceptions.ValidationError) -> Violation:
        """Return what jsonschema found."""
        schema = error.schema if isinstance(error.schema, Mapping) else {}
        return cls(
            keyword=str(error.validator),
            expected=error.validator_value,
            instance=error.instance,
            path=tuple(error.absolute_path),
            described=str(schema.get("description", "")),
        )

    @classmethod
    def from_jsonschema_rs(cls, error: jsonschema_rs.ValidationError) -> Violation:
        """Return what jsonschema-rs found."""
        return cls(
            keyword=error.kind.name, expected=error.kind.value, instance=error.instance, path=tuple(error.instance_path)
        )

    def as_finding(self, *, schema: str, under: str = "") -> Finding:
        """Return the violation as a finding of severity error.

        Args:
            schema: name of the schema.
            under: JSON Pointer to the checked document within the message.
        """
        pointer = under + "".join(f"/{escape_pointer(str(token))}" for token in self.path)
        wording = _WORDINGS.get(self.keyword, _any_other)
        return Finding(
            code="schema_violation",
            severity=Severity.ERROR,
            pointer=pointer,
            message=wording(self),
            remedy=f"send {self.described}" if self._describes_the_place() else f"follow the schema {schema}",
            source=f"schema:{schema}",
        )

    def _describes_the_place(self) -> bool:
        return bool(self.described) and self.keyword not in {"required", "additionalProperties", "propertyNames"}


def _any_other(violation: Violation) -> str:
    return f"{quoted(violation.instance)} breaks the rule {quoted(violation.keyword)}"


def _type(violation: Violation) -> str:
    wanted = violation.expected if isinstance(violation.expected, list) else [violation.expected]
    return f"expected {' or '.join(map(str, wanted))}, not {_KINDS.get(type(violation.instance), 'null')}"


def _required(violation: Violation) -> str:
    missing = [name for name in _listed(violation.expected) if name not in violation.instance]
    return f"missing: {', '.join(map(str, missing))}"


def _enum(violation: Violation) -> str:
    return f"{quoted(violation.instance)} is none of {', '.join(map(str, _listed(violation.expected)))}"


def _listed(value: object) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else [value]


_WORDINGS: Mapping[str, Callable[[Violation], str]] = MappingProxyType(
    {
        "type": _type,
        "required": _required,
        "enum": _enum,
        "const": lambda violation: f"{quoted(violation.instance)} is not {quoted(violation.expected)}",
        "not": lambda violation: f"{quoted(violation.instance)} may not stand here",
        "pattern": lambda violation: f"{quoted(violation.instance)} is not in the form that it needs",
        "minLength": lambda violation: f"the text is shorter than {violation.expected} characters",
        "maxLength": lambda violation: f"the text is longer than {violation.expected} characters",
        "maxItems": lambda violation: f"the list has more than {violation.expected} items",
        "minimum": lambda violation: f"{quoted(violation.instance)} is less than {violation.expected}",
        "maximum": lambda violation: f"{quoted(violation.instance)} is more than {violation.expected}",
        "additionalProperties": lambda _: "the object has members that the schema does not know",
    }
)
