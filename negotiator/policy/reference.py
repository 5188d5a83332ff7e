"""The policy reference: the vocabulary and the policies of a bundle as a Markdown document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from negotiator.model.facts import FACTS
from negotiator.model.obligations import OBLIGATION_KINDS
from negotiator.policy.bundle import Bundle
from negotiator.policy.policies import Policy

__all__ = ["policy_reference"]

_ANNOTATIONS = (
    ("@id", "every policy", "its name in answers, findings and the ledger"),
    ("@title", "every policy", "what it says, in one sentence for people"),
    ("@requires", "forbids", "the obligation that satisfies it"),
    ("@remedy", "forbids", "how to get to yes"),
    ("@finding", "forbids of declare and advise", "the code of the finding that it makes"),
    ("@pointer", "forbids with @finding", "where in the message, unless the scan computed a place"),
    ("@fallback", "forbids", "what to do instead"),
    ("@public", "any policy", '"true" where an unidentified caller may see its id'),
    ("@source", "any policy", "the requirement that it obeys"),
)


def policy_reference(bundle: Bundle) -> str:
    """Return the reference of `bundle` in Markdown: facts, actions, annotations, obligations, policies."""
    return "\n".join(
        [
            "# Policy reference",
            "",
            f"Generated from the bundle `{bundle.digest}`. Python computes these facts; the policies decide.",
            *_section("Facts", ("on", "fact", "type", "who computes it", "obligation that changes it"), _facts()),
            *_section("Actions", ("action", "groups", "principals", "resources"), _actions(bundle)),
            *_section("Annotations", ("annotation", "on", "what it does"), _ANNOTATIONS),
            *_section("Obligations", ("obligation", "code of the refusal", "what it is"), _obligations()),
            *_section("Policies", ("policy", "file", "effect", "title", "requires", "finding"), _policies(bundle)),
            "",
        ]
    )


def _facts() -> Iterator[Sequence[str]]:
    for fact in FACTS:
        yield fact.on, _code(fact.name), _code(fact.cedar_type), fact.source, _code(fact.obligation)


def _actions(bundle: Bundle) -> Iterator[Sequence[str]]:
    for name, shape in bundle.vocabulary.actions.items():
        groups = ", ".join(map(_code, sorted(shape.groups)))
        yield _code(name), groups, ", ".join(shape.principals), ", ".join(shape.resources) or "a group"


def _obligations() -> Iterator[Sequence[str]]:
    for kind in OBLIGATION_KINDS:
        yield _code(kind.id), _code(kind.code), kind.title


def _policies(bundle: Bundle) -> Iterator[Sequence[str]]:
    for policy in sorted(bundle.policies.values(), key=_place):
        notes = (_code(policy.note("requires")), _code(policy.note("finding")))
        yield _code(policy.id), _code(policy.file), policy.effect, policy.title, *notes


def _place(policy: Policy) -> tuple[str, str]:
    return policy.file, policy.id


def _section(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from ("", f"## {title}", "", _row(heads), _row(["---"] * len(heads)))
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
