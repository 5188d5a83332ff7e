"""Bundles: a folder of policies and their schema, checked as a whole.

Rules:

- All or nothing: a bundle with one error does not load, and the error names file, policy and every other fault too.
- Each file is parsed and validated by itself, so that messages can say which.
- A bundle without policies loads, denies everything, and says so (`Bundle.empty`).
- The digest is of the files, not of their meaning: SHA-256 of RFC 8785 of `{format: 1, files: {path: sha256}}`.

It does not read disks: whoever has the files hands them over as bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import cedarpy

from negotiator.canonical import canonical_bytes, sha256_hex
from negotiator.model.findings import Finding, Severity
from negotiator.policy.checks import check_policy
from negotiator.policy.policies import SCHEMA_SUFFIX, Policy, check_text, fault, parse_file, policy_set, told
from negotiator.policy.vocabulary import Vocabulary, missing_words, read_vocabulary

__all__ = ["POLICY_SUFFIX", "Bundle", "bundle_digest", "read_bundle"]

POLICY_SUFFIX = ".cedar"
_MAX_FILES = 1_000
_TOLD_CHARACTERS = 400


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A checked set of policies.

    Attributes:
        digest: lower-case hex SHA-256 over the files.
        policies: by `@id`, in the order of files and of policies inside them.
        schema: Cedar's handle.
        vocabulary: the actions that the schema defines.
        warnings: what was found and does not keep it from loading.
    """

    digest: str
    policies: Mapping[str, Policy]
    schema: cedarpy.Schema
    vocabulary: Vocabulary
    warnings: tuple[Finding, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is no policy at all: everything is denied then."""
        return not self.policies

    @cached_property
    def public_ids(self) -> frozenset[str]:
        """The policies that an unidentified caller may be told of by id."""
        return frozenset(name for name, policy in self.policies.items() if policy.note("public") == "true")


def read_bundle(files: Mapping[str, bytes]) -> tuple[Bundle | None, list[Finding]]:
    """Return the bundle, or None, and everything found, worst first. Never raises, whatever the bytes."""
    used = {path: files[path] for path in sorted(files) if path.endswith((POLICY_SUFFIX, SCHEMA_SUFFIX))}
    if len(used) > _MAX_FILES:
        return None, [fault("policy_invalid", f"{len(used)} files are too many; {_MAX_FILES} is the most", "bundle")]
    texts, findings = _texts(used)
    schema, vocabulary, found = _schema(texts)
    findings += found
    policies, found = _policies(texts, schema)
    findings += found
    if any(finding.severity is Severity.ERROR for finding in findings) or schema is None:
        return None, sorted(findings, key=_rank)
    bundle = Bundle(
        digest=bundle_digest(used),
        policies=MappingProxyType({policy.id: policy for policy in policies}),
        schema=schema,
        vocabulary=vocabulary,
        warnings=tuple(findings),
    )
    return bundle, findings


def bundle_digest(files: Mapping[str, bytes]) -> str:
    """Return the digest of the policy files and the schema among `files`."""
    used = {path: sha256_hex(data) for path, data in files.items() if path.endswith((POLICY_SUFFIX, SCHEMA_SUFFIX))}
    return sha256_hex(canonical_bytes({"format": 1, "files": used}))


def _texts(files: Mapping[str, bytes]) -> tuple[dict[str, str], list[Finding]]:
    texts: dict[str, str] = {}
    findings: list[Finding] = []
    for path, data in files.items():
        text, faults = check_text(path, data)
        findings += faults
        if not faults:
            texts[path] = text
    return texts, findings


def _schema(texts: Mapping[str, str]) -> tuple[cedarpy.Schema | None, Vocabulary, list[Finding]]:
    nothing = Vocabulary({})
    paths = [path for path in texts if path.endswith(SCHEMA_SUFFIX)]
    if len(paths) != 1:
        message = f"a bundle has one *{SCHEMA_SUFFIX} file; this one has {len(paths)} that can be read"
        return None, nothing, [fault("schema_invalid", message, "bundle")]
    [path] = paths
    try:
        schema = cedarpy.Schema.from_str(texts[path], release_gil=True)
        vocabulary = read_vocabulary(schema)
    except ValueError as problem:
        message = f"{path} is not a Cedar schema: {told(problem)}"
        return None, nothing, [fault("schema_invalid", message, f"file:{path}")]
    lacking = missing_words(vocabulary)
    remedy = "extend the shipped schema; rename and drop nothing"
    return schema, vocabulary, [fault("schema_invalid", f"{path}: {word}", f"file:{path}", remedy) for word in lacking]


def _policies(texts: Mapping[str, str], schema: cedarpy.Schema | None) -> tuple[list[Policy], list[Finding]]:
    policies: list[Policy] = []
    findings: list[Finding] = []
    for path, text in texts.items():
        if path.endswith(POLICY_SUFFIX):
            parsed, found = _file(path, text, schema)
            policies += parsed
            findings += found
    return policies, findings + _duplicates(policies)


def _file(path: str, text: str, schema: cedarpy.Schema | None) -> tuple[list[Policy], list[Finding]]:
    policies, findings = parse_file(path, text)
    if any(finding.code == "policy_unparsable" for finding in findings):
        return [], findings
    findings += _validity(path, text, schema)
    for policy in policies:
        findings += check_policy(policy) if _fits(policy) else [_too_deep(policy)]
    return policies, findings


def _validity(path: str, text: str, schema: cedarpy.Schema | None) -> list[Finding]:
    """Return what Cedar's strict validation says, in terms of our ids."""
    if schema is None:
        return []
    result = cedarpy.validate_policies(text, schema, release_gil=True)
    names = result.id_annotations_by_policy_id
    findings = []
    for error in result.errors:
        name = names.get(error.policy_id, "")
        source = f"policy:{name}" if name else f"file:{path}"
        message = " ".join(error.error.split())[:_TOLD_CHARACTERS]
        if name:
            message = message.replace(f"`{error.policy_id}`", f"`{name}`")
        findings.append(fault("policy_invalid", f"{path}: {name or 'policy without @id'}: {message}", source))
    return findings


def _fits(policy: Policy) -> bool:
    """Whether Cedar's JSON form, which has a smaller depth than its text, holds the policy."""
    try:
        policy_set([policy])
    except (ValueError, RecursionError):
        return False
    return True


def _too_deep(policy: Policy) -> Finding:
    message = f"{policy.file}: {policy.id}: nests too deeply; split it, or name the values in a set"
    return fault("policy_invalid", message, policy.source)


def _duplicates(policies: Sequence[Policy]) -> list[Finding]:
    counts = Counter(policy.id for policy in policies)
    return [
        fault("policy_id_duplicate", f"@id {told(name)} is used {count} times; {_where(name, policies)}", "bundle")
        for name, count in counts.items()
        if count > 1
    ]


def _where(name: str, policies: Iterable[Policy]) -> str:
    return "in " + ", ".join(sorted({policy.file for policy in policies if policy.id == name}))


def _rank(finding: Finding) -> int:
    return (Severity.ERROR, Severity.WARNING, Severity.INFO).index(finding.severity)
