"""States, binds, digests and narrowing of consents."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from negotiator.canonical import digest
from negotiator.errors import RequestError
from negotiator.model.consents import (
    ALWAYS_BOUND,
    BINDS,
    BINDS_OF_SCOPE,
    SCOPES,
    TRANSITIONS,
    Binding,
    ConsentState,
    Narrowing,
    approval_fault,
    differing,
    match_code,
    narrowed,
)
from tests.support.stores import BOUND, START, approval, consent_request

LATE = START + timedelta(days=1)


def test_a_request_moves_once():
    assert TRANSITIONS.keys() == set(ConsentState)
    assert TRANSITIONS[ConsentState.PENDING] == set(ConsentState) - {ConsentState.PENDING}
    assert all(not after for state, after in TRANSITIONS.items() if state is not ConsentState.PENDING)


def test_scopes_are_narrow_before_wide():
    sets = [set(BINDS_OF_SCOPE[scope]) for scope in SCOPES]
    assert sets[0] > sets[1] > sets[2] >= ALWAYS_BOUND
    assert sets[0] == set(BINDS)
    assert sets[0] - sets[1] == {"body"}
    assert sets[1] - sets[2] == {"target"}


def test_the_digest_is_over_binds_and_values_in_one_order():
    binds = BINDS_OF_SCOPE["template"]
    expected = digest({"binds": list(binds), "values": {name: BOUND[name] for name in binds}})
    assert Binding(BOUND).digest(reversed(binds)) == expected
    assert Binding(BOUND).digest(BINDS) != expected


@pytest.mark.parametrize("bind", BINDS)
def test_every_bound_value_changes_the_digest(bind):
    changed = {**BOUND, bind: {"x-tenant": "red"} if bind == "bound_headers" else "something else"}
    assert Binding(changed).digest(BINDS) != Binding(BOUND).digest(BINDS)
    assert differing(approval(), Binding(changed)) == (bind,)


def test_a_value_that_is_not_known_equals_nothing():
    unknown = Binding({name: value for name, value in BOUND.items() if name != "body"})
    assert unknown.digest(BINDS) == ""
    assert unknown.digest(BINDS_OF_SCOPE["template"]) == Binding(BOUND).digest(BINDS_OF_SCOPE["template"])
    assert approval_fault(approval(), unknown, START) == "consent_mismatch"


@pytest.mark.parametrize(
    ("changes", "at", "fault"),
    [
        ({}, START, ""),
        ({"revoked_at": START}, START, "consent_revoked"),
        ({"uses_left": 0}, START, "consent_spent"),
        ({}, START + timedelta(minutes=15), "consent_expired"),
        ({"digest": "ab" * 32}, START, "consent_mismatch"),
    ],
)
def test_why_an_approval_does_not_cover(changes, at, fault):
    assert approval_fault(approval(**changes), Binding(BOUND), at) == fault


def test_one_use_of_what_was_asked_unless_the_person_says_otherwise():
    assert narrowed(consent_request(), Narrowing(), latest=LATE) == ("exact", 1, LATE)
    sooner = START + timedelta(minutes=1)
    wide = consent_request(scope="resource", not_after=START + timedelta(hours=2))
    assert narrowed(wide, Narrowing(scope="template", uses=2, expires_at=sooner), latest=LATE) == (
        "template", 2, sooner,
    )  # fmt: skip
    assert narrowed(wide, Narrowing(expires_at=LATE), latest=LATE) == ("resource", 1, START + timedelta(hours=2))


@pytest.mark.parametrize(
    "narrowing", [Narrowing(scope="template"), Narrowing(scope="resource"), Narrowing(uses=3), Narrowing(uses=0)]
)
def test_nothing_is_widened(narrowing):
    with pytest.raises(RequestError) as caught:
        narrowed(consent_request(), narrowing, latest=LATE)
    assert caught.value.code == "narrowing_refused"


def test_bytes_that_nobody_knows_are_not_approved_exactly():
    without = consent_request(scope="template", values={k: v for k, v in BOUND.items() if k != "body"})
    with pytest.raises(RequestError):
        narrowed(without, Narrowing(scope="exact"), latest=LATE)


def test_a_request_whose_time_is_over_is_expired_before_the_sweep():
    request = consent_request()
    assert request.state_at(request.expires_at - timedelta(microseconds=1)) is ConsentState.PENDING
    assert request.state_at(request.expires_at) is ConsentState.EXPIRED
    assert consent_request(state=ConsentState.DENIED).state_at(LATE) is ConsentState.DENIED


def test_match_codes_are_short_plain_and_each_requests_own():
    codes = {match_code(str(number), "ab" * 32) for number in range(1_000)}
    assert len(codes) == 1_000
    assert all(re.fullmatch("[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}", code) for code in codes)
    assert match_code("q1", "a") != match_code("q1", "b")
