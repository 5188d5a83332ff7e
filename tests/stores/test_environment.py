"""The machine's clock and randomness have the shapes that everything else relies on."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta

from negotiator.store import RandomIds, SystemClock


def test_the_clock_is_aware_and_in_utc():
    before = datetime.now(UTC)
    now = SystemClock().now()
    assert before <= now <= datetime.now(UTC)
    assert now.utcoffset() == timedelta(0)
    assert SystemClock().monotonic() <= SystemClock().monotonic()


def test_ids_are_uuid7_in_order_of_their_making():
    made = [RandomIds().new() for _ in range(1_000)]
    assert len(set(made)) == 1_000
    assert made == sorted(made)
    assert {uuid.UUID(each).version for each in made} == {7}
    assert all(str(uuid.UUID(each)) == each for each in made)


def test_secrets_are_thirty_two_bytes_of_url_safe_text():
    made = {RandomIds().secret() for _ in range(100)}
    assert len(made) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{43}", each) for each in made)
