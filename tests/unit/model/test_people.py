"""How long a session lasts, and how surely somebody acts in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from negotiator.model.people import Assurance, Session, assurance_at, is_open

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
OBJECT, OTHER = "ab" * 32, "cd" * 32


def session(assurance: Assurance = Assurance.TOTP, **changes: object) -> Session:
    made = Session(
        session_sha256="00" * 32,
        user_id="u1",
        assurance=assurance,
        csrf_secret="secret",
        created_at=NOW,
        last_seen=NOW,
        stepped_up_at=NOW,
    )
    return replace(made, **changes)


def later(**units: float) -> datetime:
    return NOW + timedelta(**units)


def test_the_order_of_assurance_is_a_promise():
    assert [(each.name, int(each)) for each in Assurance] == [
        ("SESSION", 1), ("PASSWORD", 2), ("TOTP", 3), ("WEBAUTHN", 4),
    ]  # fmt: skip


@pytest.mark.parametrize("proof", list(Assurance))
@pytest.mark.parametrize(
    ("seconds", "fresh"), [(0, True), (299.999999, True), (300, False), (-60, True), (-60.1, False)]
)
def test_a_proof_counts_for_five_minutes(proof, seconds, fresh):
    assert assurance_at(session(proof), later(seconds=seconds)) == (proof if fresh else Assurance.SESSION)


@pytest.mark.parametrize(
    ("bound", "asked", "after", "counts"),
    [
        (OBJECT, OBJECT, 0, Assurance.WEBAUTHN),
        (OBJECT, OTHER, 0, Assurance.SESSION),
        (OBJECT, "", 0, Assurance.SESSION),
        (OBJECT, OBJECT, 300, Assurance.SESSION),
        ("", OBJECT, 0, Assurance.SESSION),
    ],
)
def test_a_key_that_signed_an_object_counts_for_it_alone(bound, asked, after, counts):
    one = session(Assurance.SESSION, bound_object=bound, bound_at=NOW if bound else None)
    assert assurance_at(one, later(seconds=after), object_sha256=asked) == counts


def test_a_key_that_signed_no_object_is_a_second_factor_for_objects():
    one = session(Assurance.WEBAUTHN)
    assert assurance_at(one, NOW) == Assurance.WEBAUTHN
    assert assurance_at(one, NOW, object_sha256=OBJECT) == Assurance.TOTP


@pytest.mark.parametrize(
    ("changes", "seconds", "opened"),
    [
        ({}, 1_799, True),
        ({}, 1_800, False),
        ({"last_seen": later(hours=11.9)}, 43_199, True),
        ({"last_seen": later(hours=11.9)}, 43_200, False),
        ({"ended_at": NOW}, 0, False),
    ],
)
def test_a_session_ends_by_idleness_age_or_hand(changes, seconds, opened):
    assert is_open(session(**changes), later(seconds=seconds)) is opened


def test_what_proves_somebody_is_in_no_repr():
    assert "secret" not in repr(session()).replace("csrf_secret", "")
    assert "0000" not in repr(session())
