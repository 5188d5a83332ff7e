"""Verification recomputes everything, and says what it cannot know."""

from __future__ import annotations

import pytest

from negotiator.errors import IntegrityError
from negotiator.ledger import line_hash, verify_chain
from tests.support.ledgers import ledger


def test_a_whole_ledger_verifies_and_the_report_says_what_was_seen():
    lines = ledger(5)
    report = verify_chain(lines, project="site", expected_entries=5)
    assert (report.entries, report.project) == (5, "site")
    assert report.first_time == "2026-05-04T00:00:00.000000Z"
    assert report.last_time == "2026-05-04T00:00:04.000000Z"
    assert report.last_hash == line_hash(lines[-1])
    assert "5 entries" in report.unproved[0]
    assert all("checkpoint" in sentence for sentence in report.unproved)


def test_an_exported_file_verifies_line_by_line(tmp_path):
    file = tmp_path / "ledger.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in ledger(3)))
    with file.open("rb") as exported:
        assert verify_chain(exported).entries == 3


def test_an_empty_ledger_is_no_proof_of_anything():
    report = verify_chain([])
    assert (report.entries, report.first_time, report.last_time) == (0, "", "")
    assert report.unproved


@pytest.mark.parametrize("expected", [0, 4, 6])
def test_a_known_size_is_held_against_what_was_seen(expected):
    with pytest.raises(IntegrityError) as caught:
        verify_chain(ledger(5), expected_entries=expected)
    assert caught.value.code == "ledger_truncated"
    assert "5" in caught.value.message
    assert str(expected) in caught.value.message


def test_truncation_alone_goes_unnoticed_and_the_report_admits_it():
    report = verify_chain(ledger(5)[:3])
    assert report.entries == 3
    assert "cut off after the 3 entries" in report.unproved[0]


def test_the_first_line_says_whose_ledger_it_is_where_nobody_asked():
    assert verify_chain(ledger(2, "other")).project == "other"
    with pytest.raises(IntegrityError):
        verify_chain(ledger(2, "other"), project="site")
