"""`docs/errors.md` lists every code once, with its status, and none that nobody gives."""

from __future__ import annotations

from negotiator.web.problems import PROBLEMS
from tests.docs.codes import REGISTERED, documented, given_codes
from tests.docs.markdown import ROOT

LATER = "Registered, and not given yet"
SECTIONS = documented(ROOT / "docs" / "errors.md")
SECOND_STATUS = {"outcome_unknown": 503, "revision_mismatch": 412}


def test_every_code_has_one_row_and_every_row_a_code():
    listed = [code for rows in SECTIONS.values() for code in rows]
    assert sorted(listed) == sorted(given_codes() | REGISTERED)


def test_what_is_not_given_yet_is_said_to_be_so():
    assert set(SECTIONS[LATER]) == REGISTERED - given_codes()


def test_each_row_has_the_status_of_its_problem_somebody_and_something_to_do():
    for rows in SECTIONS.values():
        for code, (status, who, what) in rows.items():
            kind = PROBLEMS.get(code)
            second = f" or {SECOND_STATUS[code]}" if code in SECOND_STATUS else ""
            assert status == (f"{kind.status}{second}" if kind else ""), code
            assert who, code
            assert what, code


def test_the_reading_of_the_sources_finds_codes_in_each_of_their_places():
    assert given_codes() >= {
        "config_invalid",  # an argument
        "policy_unparsable",  # an argument by position
        "declaration_invalid",  # a variable
        "negotiation_ended",  # a member of a document
        "idempotency_mismatch",  # what a function returns
        "over_budget",  # a table of lanes and an argument
        "consent_required",  # an obligation
        "boundary_unclear",  # a finding that policies name
    }
    assert "entry_archived" not in given_codes()
