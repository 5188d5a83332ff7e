"""Keys of several hosts on one database: each verifies what the others sign, without a restart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from negotiator.errors import RequestError
from negotiator.model.levels import Level
from tests.support.databases import KINDS, new_database
from tests.support.house import PREFIX, House, house


@pytest.fixture(params=KINDS)
def hosts(request, tmp_path: Path) -> Iterator[tuple[House, House]]:
    """Two hosts with key folders of their own; the pepper is the same."""
    with ExitStack() as stack:
        url = stack.enter_context(new_database(request.param, tmp_path / "shared"))
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
        first = stack.enter_context(house(tmp_path / "a", database=url))
        _ = first.negotiator.verifiers
        (tmp_path / "b" / "keys").mkdir(mode=0o700)
        pepper = tmp_path / "b" / "keys" / "pepper.key"
        pepper.write_bytes((first.negotiator.settings.keys_dir / "pepper.key").read_bytes())
        pepper.chmod(0o600)
        second = stack.enter_context(house(tmp_path / "b", database=url))
        yield first, second


async def test_a_host_verifies_what_another_one_signed(hosts):
    first, second = hosts
    api_token = first.agent()
    async with first.client() as here, second.client() as there:
        token = await first.token(here, Level.L3, api_token)
        own = {"uaix-negotiation": token, "uaix-credential": api_token}
        assert (await there.get("/screen", headers=own)).status_code == 200
        first.negotiator.key_administration.rotate("token", actor="ana")
        for host in hosts:
            host.clock.advance(5)
        newer = await first.token(here, Level.L2)
        assert (await there.get("/data", headers={"uaix-negotiation": newer})).status_code == 200
        published = (await there.get(f"{PREFIX}/keys")).json()["keys"]
    assert {key["kid"] for key in published} >= {key.key_id for key in first.negotiator.key_administration.listed()}
    assert all(key["use"] == "sig" and key["purpose"] == "token" and "d" not in key for key in published)


async def test_an_invented_key_costs_one_look_a_second(hosts):
    first, second = hosts
    looks: list[int] = []
    store = second.negotiator.store
    read = store.read

    async def counted(query):
        looks.append(1)
        return await read(query)

    async with first.client() as here, second.client() as there:
        token = await first.token(here, Level.L2)
        head, _, rest = token.partition(".")
        await there.get("/data", headers={"uaix-negotiation": token})
        store.read = counted  # type: ignore[method-assign]
        for number in range(20):
            forged = f"{head[:-4]}{number:04}.{rest}"
            assert (await there.get("/data", headers={"uaix-negotiation": forged})).status_code == 401
        assert len(looks) <= 1


async def test_a_host_whose_keys_are_all_retired_makes_a_new_one(hosts):
    first, second = hosts
    async with first.client() as here, second.client() as there:
        token = await first.token(here, Level.L2)
        await second.token(there, Level.L2)
        [lost] = [key for key in first.negotiator.key_administration.listed() if key.here]
        second.negotiator.key_administration.retire(lost.key_id, reason="stolen", actor="ana")
        assert (await there.get("/data", headers={"uaix-negotiation": token})).status_code == 401
        assert (await here.get("/data", headers={"uaix-negotiation": token})).status_code == 401
        again = await first.token(here, Level.L2)
        assert (await there.get("/data", headers={"uaix-negotiation": again})).status_code == 200
    states = [(key.state, key.here) for key in first.negotiator.key_administration.listed()]
    assert sorted(states) == [("retired", True), ("signing", False), ("signing", True)]


def test_the_key_that_signs_here_is_not_retired_before_another_one_does(hosts):
    first, _second = hosts
    keys = first.negotiator.key_administration
    signing = keys.rotate("token", actor="ana")
    with pytest.raises(RequestError) as caught:
        keys.retire(signing.key_id[:12], reason="a mistake", actor="ana")
    assert caught.value.code == "key_in_use"
    assert "key rotate token" in caught.value.message
    with pytest.raises(RequestError) as caught:
        keys.retire("", reason="a mistake", actor="ana")
    assert caught.value.code == "not_found"


def test_each_purpose_has_keys_of_its_own(hosts):
    first, _second = hosts
    keys = first.negotiator.key_administration
    made = {purpose: keys.add(purpose, actor="ana") for purpose in ("receipt", "checkpoint", "webhook")}
    assert len({key.key_id for key in made.values()}) == 3
    with pytest.raises(RequestError) as caught:
        keys.add("receipt", actor="ana")
    assert caught.value.code == "key_exists"
    assert [entry["purpose"] for entry in first.entries("admin") if entry["code"] == "key_added"] == list(made)
