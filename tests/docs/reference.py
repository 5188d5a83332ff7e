"""The generated parts of the documentation; `make reference` writes them, a test compares them.

- `docs/policy-reference.md`, whole: the vocabulary and the shipped policies.
- `docs/http.md`, between its markers: the route table.
- `docs/budgets.md`, between its markers: the table of budgets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from negotiator.model.budgets import BUDGETS
from negotiator.policy import load_bundle, policy_reference
from negotiator.shipped import shipped_folder
from negotiator.store import PolicyFolder
from negotiator.web.discovery.endpoints import ENDPOINTS, Endpoint
from tests.docs.markdown import ROOT

POLICY_REFERENCE = ROOT / "docs" / "policy-reference.md"
HTTP = ROOT / "docs" / "http.md"
BUDGETS_PAGE = ROOT / "docs" / "budgets.md"


def _between(name: str) -> re.Pattern[str]:
    start, end = f"<!-- {name}: made by `make reference` -->\n", f"<!-- end of {name} -->"
    return re.compile(f"(?<={re.escape(start)}).*?(?={re.escape(end)})", re.DOTALL)


_ROUTES = _between("routes")
_BUDGETS = _between("budgets")
_WHO = {"none": "anybody", "optional": "anybody; a credential counts", "required": "its owner", "site": "the site"}


def generated() -> dict[Path, str]:
    """Return each page with generated parts as it has to be."""
    bundle = load_bundle(PolicyFolder(shipped_folder("policies")).read())
    pages = {POLICY_REFERENCE: policy_reference(bundle)}
    table = "\n".join(_table())
    pages[HTTP] = _ROUTES.sub(lambda _: f"\n{table}\n\n", HTTP.read_text(encoding="utf-8"))
    budgets = "\n".join(_budgets())
    pages[BUDGETS_PAGE] = _BUDGETS.sub(lambda _: f"\n{budgets}\n\n", BUDGETS_PAGE.read_text(encoding="utf-8"))
    return pages


def _budgets() -> Iterator[str]:
    yield "| key | default | what it bounds | what happens to what is more |"
    yield "| --- | --- | --- | --- |"
    for row in BUDGETS.values():
        yield f"| `{row.name}` | `{row.default}` | {row.bounds} | {row.beyond} |"


def _table() -> Iterator[str]:
    yield "| route | who | from | success | problems | what it is |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for endpoint in ENDPOINTS:
        yield f"| {' | '.join(_cells(endpoint))} |"


def _cells(endpoint: Endpoint) -> Iterator[str]:
    yield f"`{endpoint.method} {endpoint.full_path('…')}`"
    yield _WHO[endpoint.auth]
    yield endpoint.level.name
    yield ", ".join(map(str, endpoint.statuses))
    yield ", ".join(map(str, endpoint.problems))
    parameters = "".join(f"; `?{each.name}=`: {each.summary}" for each in endpoint.query)
    yield endpoint.summary + parameters


if __name__ == "__main__":
    for page, text in generated().items():
        page.write_text(text, encoding="utf-8")
