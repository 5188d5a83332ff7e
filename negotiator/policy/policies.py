"""Policies as values: what one file of Cedar text says, policy by policy.

Rules:

- The text is bounded before Cedar sees it: its parser ends the process, without an error, on deep nesting.
- A policy is known by its `@id` alone. One without, or with an empty one, is refused; so is a template.
- Annotations are read here, once, and never again while deciding.
- Any bytes give findings, never an exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import cedarpy

from negotiator.errors import quoted
from negotiator.model.findings import Finding, Severity

__all__ = ["MAX_FILE_BYTES", "SCHEMA_SUFFIX", "Policy", "check_text", "fault", "parse_file", "policy_set", "told"]

SCHEMA_SUFFIX = ".cedarschema"
MAX_FILE_BYTES = 1_048_576
_MAX_DEPTH = 100
_MAX_CHAINED = 400
"""Brackets inside one another; operators and clauses in one policy, or statements in a schema, which may chain too."""

_SKIPPED = r'"(?:[^"\\]++|\\.)*+"?|//[^\n]*+'
_POLICY_TOKEN = re.compile(
    _SKIPPED
    + r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>;)"
    + r"|(?P<chain>&&|\|\||[.+*!-]|\b(?:if|when|unless)\b)",
    re.DOTALL,
)
_SCHEMA_TOKEN = re.compile(_SKIPPED + r"|(?P<open>[(\[{<])|(?P<close>[)\]}>])|(?P<chain>;)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy.

    Attributes:
        id: the value of `@id`.
        file: the path of its file inside the bundle.
        effect: what it does when it matches.
        annotations: name to value, as written; an annotation without a value has the empty one.
        body: Cedar's JSON form; read-only.
    """

    id: str
    file: str
    effect: Literal["permit", "forbid"]
    annotations: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def title(self) -> str:
        """What the policy says, for people; its id where no `@title` does."""
        return self.annotations.get("title", "") or self.id

    def note(self, name: str) -> str:
        """Return an annotation's value; empty where there is none."""
        return self.annotations.get(name, "")

    @property
    def source(self) -> str:
        """How findings name it."""
        return f"policy:{self.id}"


def policy_set(policies: Sequence[Policy]) -> cedarpy.PolicySet:
    """Return Cedar's handle of `policies` under our own ids, so that reasons are those ids.

    Raises:
        ValueError: Cedar's JSON form does not hold one of them (too deeply nested).
    """
    bodies = {policy.id: policy.body for policy in policies}
    text = json.dumps({"staticPolicies": bodies, "templates": {}, "templateLinks": []})
    return cedarpy.PolicySet.from_json_str(text, release_gil=True)


def fault(code: str, message: str, source: str, remedy: str = "") -> Finding:
    """Return an error: something for which a bundle is not loaded."""
    return Finding(code=code, severity=Severity.ERROR, message=message, remedy=remedy, source=source)


def check_text(path: str, data: bytes) -> tuple[str, list[Finding]]:
    """Return the text of a file, and what keeps it from being given to Cedar."""
    is_schema = path.endswith(SCHEMA_SUFFIX)
    code = "schema_invalid" if is_schema else "policy_unparsable"
    source = f"file:{path}"
    if not path.isprintable():
        return "", [fault(code, f"the path {quoted(path)} has control characters", source, "rename the file")]
    if len(data) > MAX_FILE_BYTES:
        return "", [fault(code, f"{path} has {len(data)} bytes; split it, {MAX_FILE_BYTES} is the most", source)]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        return "", [fault(code, f"{path} is not UTF-8 at byte {problem.start}", source, "save it as UTF-8")]
    if line := _nests_at(text, _SCHEMA_TOKEN if is_schema else _POLICY_TOKEN):
        chained = "statements" if is_schema else "operators and clauses in one policy"
        message = f"{path} line {line}: more than {_MAX_DEPTH} nested brackets or {_MAX_CHAINED} {chained}"
        return "", [fault(code, message, source, "split it, or name the values in a set")]
    return text, []


def parse_file(path: str, text: str) -> tuple[list[Policy], list[Finding]]:
    """Return the policies of one file, in order, and what is wrong with it."""
    try:
        parsed = json.loads(cedarpy.policies_to_json_str(text))
    except (ValueError, RecursionError) as problem:
        message = f"{path} is not Cedar: {told(problem)}"
        return [], [fault("policy_unparsable", message, f"file:{path}", "mend the file")]
    findings = [_template(path, name) for name in parsed["templates"]]
    policies = []
    for name, body in sorted(parsed["staticPolicies"].items(), key=lambda item: _number(item[0])):
        annotations = {key: value or "" for key, value in body.get("annotations", {}).items()}
        if annotations.get("id"):
            policies.append(_policy(path, annotations, body))
        else:
            message = f"{path}: {_place(name)} has no @id"
            findings.append(fault("policy_id_missing", message, f"file:{path}", 'give it one: @id("concern.rule")'))
    return policies, findings


def _template(path: str, name: str) -> Finding:
    message = f"{path}: {_place(name)} is a template, which nothing links"
    return fault("policy_invalid", message, f"file:{path}", "write out its principal and resource")


def _policy(path: str, annotations: dict[str, str], body: dict[str, Any]) -> Policy:
    return Policy(
        id=annotations["id"],
        file=path,
        effect=body["effect"],
        annotations=MappingProxyType(annotations),
        body=body,
    )


def _nests_at(text: str, tokens: re.Pattern[str]) -> int:
    """Return the line where a text grows past the bounds; 0 if none does."""
    depth = chained = 0
    for token in tokens.finditer(text):
        depth, chained = _after(token.lastgroup, depth, chained)
        if depth > _MAX_DEPTH or chained > _MAX_CHAINED:
            return text.count("\n", 0, token.start()) + 1
    return 0


def _after(token: str | None, depth: int, chained: int) -> tuple[int, int]:
    match token:
        case "open":
            return depth + 1, chained
        case "close":
            return max(depth - 1, 0), chained
        case "chain":
            return depth, chained + 1
        case "end":
            return depth, 0
        case _:
            return depth, chained


def _number(name: str) -> int:
    """Cedar names the policies of a text `policy0`, `policy1` and so on."""
    return int(name.removeprefix("policy"))


def _place(name: str) -> str:
    return f"policy number {_number(name) + 1}"


def told(problem: object) -> str:
    """Return Cedar's own words as one bounded line."""
    return quoted(" ".join(str(problem).split()))
