"""Law: whatever is appended verifies, and no two ledgers have the same last hash."""

from __future__ import annotations

import json

import pytest
import rfc8785
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from negotiator.errors import IntegrityError
from negotiator.ledger import RESERVED_MEMBERS, leaf_hash, line_hash, verify_chain
from negotiator.model.entries import EntryDraft, EntryKind
from tests.support.ledgers import chain_of, ledger

names = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=8)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    texts | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
members = st.dictionaries(names.filter(lambda name: name not in RESERVED_MEMBERS), values, max_size=5)
drafts = st.lists(st.builds(EntryDraft, kind=st.sampled_from(EntryKind), members=members), max_size=6)


@settings(max_examples=60, deadline=None)
@given(drafts)
def test_what_is_appended_verifies_and_holds_its_members(some):
    lines = chain_of(some)
    report = verify_chain(lines, project="site", expected_entries=len(some))
    assert report.last_hash == (line_hash(lines[-1]) if lines else "0" * 64)
    for each, line in zip(some, lines, strict=True):
        entry = json.loads(line)
        assert line == rfc8785.dumps(entry)
        assert {name: entry[name] for name in each.members} == each.members
        assert len(leaf_hash(line)) == 64


@settings(max_examples=60, deadline=None)
@given(drafts, drafts)
def test_different_histories_have_different_last_hashes(one, other):
    assume(chain_of(one) != chain_of(other))
    assert verify_chain(chain_of(one)).last_hash != verify_chain(chain_of(other)).last_hash


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=40) | st.sampled_from(ledger(4)), max_size=6))
def test_on_any_bytes_verification_answers_or_raises_its_own_error(lines):
    honest = ledger(4)
    if lines == honest[: len(lines)]:
        assert verify_chain(lines).entries == len(lines)
        return
    with pytest.raises(IntegrityError) as caught:
        verify_chain(lines)
    assert caught.value.code == "chain_broken"


@settings(max_examples=100, deadline=None)
@given(st.permutations(range(5)), st.integers(0, 5))
def test_only_the_one_order_verifies(order, cut):
    lines = ledger(5)
    chosen = [lines[place] for place in order][:cut]
    if list(order)[:cut] == list(range(cut)):
        assert verify_chain(chosen).entries == cut
    else:
        with pytest.raises(IntegrityError):
            verify_chain(chosen)
