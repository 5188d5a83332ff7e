"""What two requests must have in common to be one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from negotiator.model.facts import RequestFacts
from negotiator.model.governed import GovernedRequest, Presented
from negotiator.services.keys import CONSUMABLE, consumed_facts, fingerprint
from tests.support.asgi import WRITE

REQUEST = GovernedRequest(
    method="POST",
    target="/comments?x=1",
    rule=WRITE,
    presented=Presented(idempotency_key="k"),
    caller_class="agent",
    content_type="text/plain",
    body_sha256="ab" * 32,
    conditions=(("range", "bytes=0-1"),),
)


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "PUT"},
        {"target": "/comments?x=2"},
        {"content_type": ""},
        {"body_sha256": "cd" * 32},
        {"conditions": ()},
        {"conditions": (("if-range", "bytes=0-1"),)},
        {"socket": True},
    ],
    ids=str,
)
def test_anything_else_is_another_request(changes):
    assert fingerprint(replace(REQUEST, **changes)) != fingerprint(REQUEST)


def test_what_ties_it_to_other_records_is_no_part_of_it():
    later = Presented(idempotency_key="k", correlation="c-2", consent="a-2", traceparent="00-x")
    assert fingerprint(replace(REQUEST, presented=later, source="192.0.2.9")) == fingerprint(REQUEST)


def test_only_what_an_effect_uses_up_is_taken_as_met():
    every = RequestFacts(has_consent=True, has_correlation=True, has_idempotency_key=True)
    assert consumed_facts(every) == CONSUMABLE == ("has_consent",)
    assert consumed_facts(RequestFacts()) == ()
