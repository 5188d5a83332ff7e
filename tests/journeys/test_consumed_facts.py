"""A repetition takes as met what the first request has used up, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from negotiator.model.decisions import Query
from negotiator.model.levels import Level
from negotiator.services.enforcement import Enforcement
from tests.support.house import house


async def test_a_consent_that_is_spent_does_not_keep_its_answer_from_being_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    consents = [True]
    query_of = Enforcement._query

    def query(self: Enforcement, *arguments: Any, **options: Any) -> Query:
        found = query_of(self, *arguments, **options)
        return replace(found, request=replace(found.request, has_consent=bool(consents)))

    monkeypatch.setattr(Enforcement, "_query", query)
    with house(tmp_path) as built:
        api_token = built.agent()
        async with built.client() as client:
            token = await built.token(client, Level.L3, api_token)
            own = {"uaix-credential": api_token, "uaix-negotiation": token, "idempotency-key": "k-1"}
            first = await client.post("/comments", content=b"hello", headers=own)
            assert (first.status_code, first.text) == (200, "from the site")
            consents.clear()
            again = await client.post("/comments", content=b"hello", headers=own)
            assert (again.text, again.headers.get("idempotent-replayed")) == ("from the site", "true")
            other = await client.post("/comments", content=b"another", headers=own)
            assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
            assert [each["id"] for each in other.json()["obligations"]] == ["consent"]
            fresh = await client.post("/comments", content=b"hello", headers=own | {"idempotency-key": "k-2"})
            assert (fresh.status_code, fresh.json()["code"]) == (403, "consent_required")
        assert built.calls == ["POST /comments"]
        [replay] = built.entries("replay")
        assert replay["facts"]["request"]["has_consent"] is True
