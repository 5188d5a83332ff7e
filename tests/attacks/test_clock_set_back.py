"""A wall clock that is set back revives nothing: the ledger's time never falls, and what it has ended stays ended."""

from __future__ import annotations

from pathlib import Path

from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog
from tests.support.house import PREFIX, house

HOUR = 3_600


async def test_entries_never_go_back_in_time(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        async with built.client() as client:
            for step in (0, -HOUR, 1, -2 * HOUR, 5 * HOUR):
                built.clock.moment += type(built.clock.moment - built.clock.moment)(seconds=step)
                assert (await client.get("/data")).status_code == 200
        times = [entry["time"] for entry in built.entries()]
        assert times == sorted(times)
        assert len(set(times)) == 2, "the first hour holds until the clock has caught up"
        assert built.negotiator.audit.verify().entries == 5


async def test_an_expired_negotiation_stays_expired(tmp_path: Path, database_url: str):
    with house(tmp_path, database=database_url) as built:
        api_token = built.agent()
        document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L2]]
        own = {"authorization": f"Bearer {api_token}"}
        async with built.client() as client:
            token = await built.token(client, Level.L2, api_token)
            headers = {"uaix-negotiation": token, "uaix-credential": api_token}
            assert (await client.get("/screen", headers=headers)).status_code == 200
            built.clock.advance(2 * HOUR)
            assert (await client.get("/data")).status_code == 200
            built.clock.advance(-2 * HOUR)
            refused = await client.get("/screen", headers=headers)
            renewing = await client.post(
                f"{PREFIX}/negotiations", json=document, headers=own | {"uaix-negotiation": token}
            )
            again = await client.post(f"{PREFIX}/negotiations", json=document, headers=own)
            fresh = {"uaix-negotiation": again.json()["body"]["token"], "uaix-credential": api_token}
            allowed = await client.get("/screen", headers=fresh)
        for answer in (refused, renewing):
            assert (answer.status_code, answer.json()["code"]) == (401, "negotiation_expired")
        assert again.status_code == 201, "the answer that has expired is not given again"
        assert allowed.status_code == 200
        assert built.calls == ["GET /screen", "GET /data", "GET /screen"]
        assert [entry["code"] for entry in built.entries("decision")] == ["allowed", "negotiation_expired"]
