"""`healthz` and `readyz`."""

import pytest

from negotiator.web.api import Condition
from tests.support.web_api import PREFIX, ScriptedSite, client_of

_DOWN = Condition(code="store_unavailable", state="down", detail="the disk is full")
_DEGRADED = Condition(code="bundle_refused", state="degraded", detail="the last bundle stays")


async def ready(site, *, client="127.0.0.1", headers=None):
    async with client_of(site, client=client) as http:
        return await http.get(f"{PREFIX}/readyz", headers=headers or {})


async def test_healthz_answers_whatever_else_is_wrong():
    async with client_of(ScriptedSite(wrong=[_DOWN], policy_count=0)) as client:
        answer = await client.get(f"{PREFIX}/healthz", headers={"accept": "text/plain"})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("wrong", "policies", "status", "word", "codes"),
    [
        ([], 3, 200, "ok", []),
        ([], 0, 200, "degraded", ["policies_empty"]),
        ([_DEGRADED], 3, 200, "degraded", ["bundle_refused"]),
        ([_DEGRADED, _DOWN], 0, 503, "down", ["bundle_refused", "store_unavailable", "policies_empty"]),
    ],
)
async def test_readyz_is_as_good_as_its_worst_condition_and_names_each(wrong, policies, status, word, codes):
    answer = await ready(ScriptedSite(wrong=wrong, policy_count=policies))
    assert (answer.status_code, answer.json()["status"]) == (status, word)
    assert [condition["code"] for condition in answer.json()["conditions"]] == codes


async def test_readyz_names_the_routes_that_undeclared_callers_pass():
    assert (await ready(ScriptedSite())).json()["pass_routes"] == ["POST /hidden"]


@pytest.mark.parametrize(
    ("client", "headers"),
    [("192.0.2.7", {}), ("127.0.0.1", {"x-forwarded-for": "127.0.0.1"}), ("127.0.0.1", {"forwarded": "for=_x"})],
)
async def test_details_are_for_loopback_only(client, headers):
    answer = await ready(ScriptedSite(wrong=[_DOWN]), client=client, headers=headers)
    assert (answer.status_code, answer.json()) == (503, {"status": "down"})


async def test_details_are_for_ipv6_loopback_too():
    assert "mode" in (await ready(ScriptedSite(), client="::1")).json()


@pytest.mark.parametrize("local", ["127.0.0.1", "::1"])
async def test_metrics_are_for_this_machine(local):
    async with client_of(ScriptedSite(), client=local) as http:
        answer = await http.get(f"{PREFIX}/metrics")
    assert (answer.status_code, answer.text) == (200, "negotiator_effects_open 0.0\n")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("client", "headers"),
    [("192.0.2.7", {}), ("127.0.0.1", {"x-forwarded-for": "127.0.0.1"}), ("127.0.0.1", {"via": "1.1 proxy"})],
)
async def test_for_others_there_are_no_metrics(client, headers):
    async with client_of(ScriptedSite(), client=client) as http:
        answer = await http.get(f"{PREFIX}/metrics", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "negotiator_" not in answer.text
