"""Somebody with the database alters history: every change inside is found, at its index, with evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
import rfc8785

from negotiator.errors import IntegrityError
from negotiator.ledger import line_hash, verify_chain
from tests.support.ledgers import ledger

LINES = ledger(6)


def caught_at(lines: list[bytes]) -> int:
    with pytest.raises(IntegrityError) as caught:
        verify_chain(lines, project="site")
    assert caught.value.code == "chain_broken"
    found = re.match(r"the chain is broken at index (\d+): its .+", caught.value.message)
    assert found, caught.value.message
    return int(found[1])


def forged(line: bytes, **changes: object) -> bytes:
    """Return a canonical line with other members; None takes a member away."""
    members = {name: value for name, value in (json.loads(line) | changes).items() if value is not None}
    return rfc8785.dumps(members)


def with_line(index: int, line: bytes) -> list[bytes]:
    return [*LINES[:index], line, *LINES[index + 1 :]]


def rewritten_after(lines: list[bytes], index: int) -> list[bytes]:
    """Repair every `prev` after `index`, as an attacker without a checkpoint to fear would."""
    for place in range(index + 1, len(lines)):
        lines[place] = forged(lines[place], prev=line_hash(lines[place - 1]))
    return lines


def test_the_honest_ledger_verifies():
    assert verify_chain(LINES, project="site").entries == 6


@pytest.mark.parametrize("index", range(6))
def test_one_flipped_bit_in_any_byte(index):
    line = LINES[index]
    for place in range(len(line)):
        for bit in (0x01, 0x80):
            flipped = bytearray(line)
            flipped[place] ^= bit
            lines = with_line(index, bytes(flipped))
            if index == 5 and _is_honest_looking(lines):
                continue
            assert caught_at(lines) in {index, index + 1}


def _is_honest_looking(lines: list[bytes]) -> bool:
    """Whether only the last entry's own content differs: nothing follows that would name it."""
    try:
        verify_chain(lines, project="site", expected_entries=6)
    except IntegrityError:
        return False
    return line_hash(lines[-1]) != line_hash(LINES[-1])


ATTACKS: dict[str, tuple[Callable[[], list[bytes]], int]] = {
    "drop the first": (lambda: LINES[1:], 0),
    "drop one inside": (lambda: LINES[:2] + LINES[3:], 2),
    "swap two": (lambda: [*LINES[:2], LINES[3], LINES[2], *LINES[4:]], 2),
    "repeat one": (lambda: [*LINES[:3], LINES[2], *LINES[3:]], 3),
    "repeat the last": (lambda: [*LINES, LINES[-1]], 6),
    "an empty line": (lambda: [*LINES[:3], b"", *LINES[3:]], 3),
    "two newlines": (lambda: with_line(2, LINES[2] + b"\n\n"), 2),
    "a carriage return": (lambda: with_line(2, LINES[2] + b"\r\n"), 2),
    "white space": (lambda: with_line(2, LINES[2].replace(b",", b", ", 1)), 2),
    "another order": (lambda: with_line(2, json.dumps(dict(reversed(json.loads(LINES[2]).items()))).encode()), 2),
    "a member twice": (lambda: with_line(2, LINES[2].replace(b"{", b'{"decision":"allow",', 1)), 2),
    "an escape for a letter": (lambda: with_line(2, LINES[2].replace(b"deny", b"\\u0064eny")), 2),
    "a float for an integer": (lambda: with_line(2, LINES[2].replace(b'"v":1', b'"v":1.0')), 2),
    "a list": (lambda: with_line(2, b"[]"), 2),
    "no JSON": (lambda: with_line(2, b"\xff{"), 2),
    "depth": (lambda: with_line(2, b'{"a":' * 5_000), 2),
    "another decision": (lambda: with_line(2, forged(LINES[2], decision="allow")), 3),
    "another epoch": (lambda: rewritten_after(with_line(2, forged(LINES[2], epoch=2)), 2), 3),
    "a zero epoch": (lambda: rewritten_after(with_line(2, forged(LINES[2], epoch=0)), 2), 2),
    "a false version": (lambda: rewritten_after(with_line(2, forged(LINES[2], v=True)), 2), 2),
    "an unknown version": (lambda: rewritten_after(with_line(2, forged(LINES[2], v=2)), 2), 2),
    "no version": (lambda: rewritten_after(with_line(2, forged(LINES[2], v=None)), 2), 2),
    "an index as text": (lambda: rewritten_after(with_line(2, forged(LINES[2], index="2")), 2), 2),
    "another project": (lambda: rewritten_after(with_line(2, forged(LINES[2], project="other")), 2), 2),
    "an unknown kind": (lambda: rewritten_after(with_line(2, forged(LINES[2], kind="gossip")), 2), 2),
    "a kind that is a list": (lambda: rewritten_after(with_line(2, forged(LINES[2], kind=["admin"])), 2), 2),
    "a time that goes back": (
        lambda: rewritten_after(with_line(2, forged(LINES[2], time="2026-05-03T00:00:00.000000Z")), 2),
        2,
    ),
    "a time of less precision": (
        lambda: rewritten_after(with_line(2, forged(LINES[2], time="2026-05-04T00:00:02Z")), 2),
        2,
    ),
    "a time that is a number": (lambda: rewritten_after(with_line(2, forged(LINES[2], time=1)), 2), 2),
    "no predecessor": (lambda: rewritten_after(with_line(2, forged(LINES[2], prev=None)), 2), 2),
    "a beginning that names something": (lambda: with_line(0, forged(LINES[0], prev="f" * 64)), 0),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_attack_is_found_at_its_index(attack):
    lines, index = ATTACKS[attack]
    assert caught_at(lines()) == index


def test_the_evidence_names_both_values():
    with pytest.raises(IntegrityError) as caught:
        verify_chain(with_line(2, forged(LINES[2], decision="allow")))
    assert json.loads(LINES[3])["prev"] in caught.value.message
    assert line_hash(forged(LINES[2], decision="allow")) in caught.value.message


def test_a_history_written_again_from_its_beginning_needs_a_kept_checkpoint():
    lines = rewritten_after(with_line(0, forged(LINES[0], decision="allow")), 0)
    report = verify_chain(lines, project="site", expected_entries=6)
    assert report.last_hash != line_hash(LINES[-1])
    assert any("written again" in sentence for sentence in report.unproved)


def test_bytes_beyond_any_entry_are_refused_without_being_parsed():
    assert caught_at(with_line(2, b"{" + b" " * 262_145)) == 2
