"""Pages that repeat what the code says: made from it, or held complete against it."""

from __future__ import annotations

import json
import re

import pytest

from negotiator.config import RouteSettings, Settings, UnmatchedSettings
from negotiator.web.discovery.endpoints import ENDPOINTS
from negotiator.web.headers import VARY
from tests.docs.markdown import ROOT
from tests.docs.reference import HTTP, generated

CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", generated(), ids=lambda page: page.name)
def test_generated_parts_are_up_to_date(page):
    assert page.read_text(encoding="utf-8") == generated()[page], "run `make reference`"


def test_every_route_of_ours_is_in_the_route_table():
    page = HTTP.read_text(encoding="utf-8")
    for endpoint in ENDPOINTS:
        assert f"| `{endpoint.method} {endpoint.full_path('…')}` |" in page


@pytest.mark.parametrize(
    "header",
    [*VARY, *(header for endpoint in ENDPOINTS for header in endpoint.headers), "traceparent"],
)
def test_every_header_of_ours_is_explained(header):
    assert f"| `{header}` |" in HTTP.read_text(encoding="utf-8")


def _rows(section: str) -> dict[str, str]:
    """Return key to default of a section's table."""
    text = CONFIGURATION.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([a-z_]+)` \| [^|]+ \| ([^|]+?) \| [^|]+ \|$", text, flags=re.MULTILINE))


@pytest.mark.parametrize(
    ("section", "model", "tables"),
    [
        ("Top level", Settings, {"routes", "unmatched", "budgets"}),
        ("Routes", RouteSettings, set()),
        ("Requests without a rule", UnmatchedSettings, set()),
    ],
)
def test_every_setting_is_documented_with_its_default(section, model, tables):
    fields = {name: field for name, field in model.model_fields.items() if name not in tables}
    rows = _rows(section)
    assert set(rows) == set(fields)
    for name, field in fields.items():
        assert rows[name] == _shown(field), name


def _shown(field) -> str:
    if field.is_required():
        return "needed"
    default = field.get_default()
    if default is None or default in ("", ()):
        return "unset"
    return f"`{json.dumps(str(default) if not isinstance(default, bool | int) else default)}`"
