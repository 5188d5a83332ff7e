"""Declarations and the caller's own affairs over HTTP: forms in and out, limits, refusals, methods."""

import httpx
import pytest

from negotiator.errors import RequestError, UnavailableError
from negotiator.messages import decode_message
from negotiator.web.api import create_api
from negotiator.web.discovery.endpoints import ENDPOINTS, JSON, KEYLESS_JSON
from tests.support.web_api import (
    API_TOKEN,
    DECISION_ID,
    EXISTING,
    FINDING,
    MESSAGE,
    NEGOTIATION_ID,
    NEGOTIATION_TOKEN,
    PREFIX,
    PROPOSAL_ID,
    ScriptedNegotiations,
    ScriptedSite,
    client_of,
    refused,
)

DECLARE = f"{PREFIX}/negotiations"
OWN = f"{DECLARE}/{NEGOTIATION_ID}"
VALIDATE = f"{PREFIX}/validate"
AS_JSON = {"content-type": JSON}
PRESENTING = {"uaix-negotiation": NEGOTIATION_TOKEN, "authorization": f"Bearer {API_TOKEN}"}


def site_giving(outcome):
    return ScriptedSite(negotiations=ScriptedNegotiations(outcome=outcome))


async def post(site, url=DECLARE, *, content=b"{}", headers=AS_JSON):
    async with client_of(site, client="192.0.2.7") as client:
        return await client.post(url, content=content, headers=headers)


def assert_problem(answer, status, code):
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"


async def test_a_declaration_is_handed_on_as_it_came_and_answered_201():
    site = ScriptedSite()
    answer = await post(site, f"{DECLARE}?strict=1", content=b'{"a" : 1}', headers={**AS_JSON, **PRESENTING})
    assert (answer.status_code, answer.json()) == (201, MESSAGE)
    assert answer.headers["location"] == OWN
    assert (answer.headers["uaix-decision"], answer.headers["uaix-level"]) == (DECISION_ID, "L1")
    assert answer.headers["cache-control"] == "no-store"
    (asked,) = site.negotiations.asked
    assert (asked["data"], asked["strict"], asked["source"]) == (b'{"a" : 1}', True, "192.0.2.7")
    assert (asked["presented"].credential, asked["presented"].negotiation) == (API_TOKEN, NEGOTIATION_TOKEN)


async def test_the_stored_negotiation_is_200_and_says_where_it_is():
    answer = await post(site_giving(EXISTING))
    assert (answer.status_code, answer.json()) == (200, MESSAGE)
    assert answer.headers["content-location"] == OWN
    assert "location" not in answer.headers


async def test_keyless_in_and_keyless_out_are_the_same_message():
    site = ScriptedSite()
    answer = await post(site, content=b"[]", headers={"content-type": KEYLESS_JSON, "accept": KEYLESS_JSON})
    assert answer.headers["content-type"] == KEYLESS_JSON
    decoded = decode_message(answer.content, site.catalog)
    assert (decoded.encoding, decoded.keyed) == ("keyless", MESSAGE)


@pytest.mark.parametrize("sent", [JSON, KEYLESS_JSON, "application/uai+json", "Application/JSON; charset=UTF-8"])
@pytest.mark.parametrize("url", [DECLARE, VALIDATE])
async def test_types_that_hold_json_are_read(url, sent):
    answer = await post(ScriptedSite(), url, headers={"content-type": sent})
    assert answer.is_success


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "text/json"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-type": "application/jsonp"},
        {"content-type": JSON, "content-encoding": "gzip"},
    ],
)
@pytest.mark.parametrize("url", [DECLARE, VALIDATE])
async def test_other_types_are_415_and_nothing_is_asked(url, headers):
    site = ScriptedSite()
    assert_problem(await post(site, url, headers=headers), 415, "unsupported_media_type")
    assert site.negotiations.asked == []


@pytest.mark.parametrize("url", [DECLARE, VALIDATE])
async def test_a_body_at_the_limit_is_read_and_one_byte_more_is_413(url):
    site = ScriptedSite(max_message_bytes=64)
    assert (await post(site, url, content=b"x" * 64)).is_success
    assert_problem(await post(site, url, content=b"x" * 65), 413, "body_too_large")
    assert len(site.negotiations.asked) == 1


@pytest.mark.parametrize("lie", [{}, {"content-length": "10"}])
async def test_a_streamed_body_over_the_limit_is_413_before_it_is_whole(lie):
    drawn = 0

    async def chunks():
        nonlocal drawn
        for _ in range(1000):
            drawn += 1
            yield b"x" * 10

    site = ScriptedSite(max_message_bytes=64)
    assert_problem(await post(site, content=chunks(), headers={**AS_JSON, **lie}), 413, "body_too_large")
    assert drawn < 20
    assert site.negotiations.asked == []


async def test_an_announced_length_over_the_limit_is_413_unread():
    async def unread():
        pytest.fail("the body was read")
        yield b""

    answer = await post(ScriptedSite(), content=unread(), headers={**AS_JSON, "content-length": "1000000"})
    assert_problem(answer, 413, "body_too_large")


async def test_a_client_that_leaves_in_its_body_asks_nothing():
    site, sent = ScriptedSite(), []
    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": DECLARE, "headers": headers, "query_string": b""}
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message)

    await create_api(site)(scope, receive, send)
    assert site.negotiations.asked == []
    assert sent[0]["status"] == 400


@pytest.mark.parametrize("query", ["strict=yes", "strict=", "strict=1&strict=1", "strict=2"])
@pytest.mark.parametrize("url", [DECLARE, VALIDATE])
async def test_a_flag_that_could_mean_anything_is_400(url, query):
    assert_problem(await post(ScriptedSite(), f"{url}?{query}"), 400, "query_malformed")


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "image/*"])
async def test_an_answer_that_nobody_could_read_is_406_before_anything_is_decided(accept):
    site = ScriptedSite()
    assert_problem(await post(site, headers={**AS_JSON, "accept": accept}), 406, "not_acceptable")
    assert site.negotiations.asked == []


@pytest.mark.parametrize(
    ("code", "status"),
    [("body_malformed", 400), ("keyless_shape", 400), ("credentials_invalid", 401), ("refused", 403)],
)
async def test_a_refused_declaration_is_a_problem_that_names_its_decision(code, status):
    answer = await post(site_giving(refused(code)))
    assert_problem(answer, status, code)
    assert answer.headers["uaix-decision"] == answer.json()["decision_id"] == DECISION_ID


async def test_findings_make_a_422_with_fallback_and_safe_default():
    answer = await post(site_giving(refused("declaration_invalid", FINDING)))
    assert_problem(answer, 422, "declaration_invalid")
    problem = answer.json()
    assert problem["findings"] == [FINDING.as_json()]
    assert (problem["fallback"], problem["safe_default_response"]) == ("read the page", "stop")


async def test_a_refusal_takes_the_form_that_the_caller_accepts():
    site = site_giving(refused("refused"))
    plain = await post(site, headers={**AS_JSON, "accept": f"{JSON};q=0.1, text/plain"})
    no_op = await post(site, headers={**AS_JSON, "accept": f"{JSON};q=0.1, application/vnd.uaix.no-op+json"})
    assert plain.headers["content-type"].startswith("text/plain")
    assert set(no_op.json()) == {"code", "url"}


async def test_a_spent_budget_is_429_and_a_silent_ledger_503_with_the_wait():
    spent = await post(site_giving(UnavailableError("wait", code="over_budget", retry_after_seconds=7)))
    silent = await post(site_giving(UnavailableError("wait", code="ledger_unavailable", retry_after_seconds=3)))
    assert_problem(spent, 429, "over_budget")
    assert_problem(silent, 503, "ledger_unavailable")
    assert (spent.headers["retry-after"], silent.headers["retry-after"]) == ("7", "3")


async def test_a_fault_of_ours_is_500_and_says_nothing_of_itself():
    answer = await post(site_giving(ZeroDivisionError("the secret cause")))
    assert_problem(answer, 500, "internal_error")
    assert "secret" not in answer.text


async def test_a_fault_of_ours_still_reaches_the_server():
    transport = httpx.ASGITransport(create_api(site_giving(ZeroDivisionError("cause"))))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        with pytest.raises(ZeroDivisionError):
            await client.post(DECLARE, content=b"{}", headers=AS_JSON)


@pytest.mark.parametrize(("method", "url"), [("POST", DECLARE), ("GET", OWN), ("DELETE", OWN), ("GET", f"{PREFIX}/me")])
async def test_two_kinds_of_credential_are_400(method, url):
    site = ScriptedSite()
    both = {**AS_JSON, "authorization": f"Bearer {API_TOKEN}", "uaix-credential": API_TOKEN}
    async with client_of(site) as client:
        assert_problem(await client.request(method, url, headers=both), 400, "mixed_credentials")
    assert site.negotiations.asked == []


async def test_a_bad_credential_is_never_anonymous():
    site = ScriptedSite()
    answer = await post(site, headers={**AS_JSON, "authorization": "Basic YTpi"})
    assert_problem(answer, 401, "credentials_invalid")
    assert "declare=" in answer.headers["www-authenticate"]
    assert site.negotiations.asked == []


async def test_ones_own_negotiation_is_read_keyed_or_keyless_without_its_token():
    async with client_of(ScriptedSite()) as client:
        keyed = await client.get(OWN, headers=PRESENTING)
        keyless = await client.get(OWN, headers={**PRESENTING, "accept": KEYLESS_JSON})
    assert keyed.headers["uaix-level"] == "L1"
    assert keyed.json()["body"] == {name: each for name, each in MESSAGE["body"].items() if name != "token"}
    assert decode_message(keyless.content, ScriptedSite().catalog).keyed == keyed.json()


async def test_ending_ones_negotiation_is_204_without_a_body():
    site = ScriptedSite()
    async with client_of(site) as client:
        answer = await client.delete(OWN, headers=PRESENTING)
    assert (answer.status_code, answer.content) == (204, b"")
    assert site.negotiations.asked[0]["id"] == NEGOTIATION_ID


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize(
    ("identifier", "headers"),
    [
        ("01890a5d-ac96-774b-bcce-b302099a8000", PRESENTING),
        (NEGOTIATION_ID, {}),
        (NEGOTIATION_ID.upper(), PRESENTING),
        (f"{{{NEGOTIATION_ID}}}", PRESENTING),
        ("%00", PRESENTING),
        ("x" * 5000, PRESENTING),
    ],
)
async def test_unknown_foreign_and_impossible_negotiations_look_alike(method, identifier, headers):
    async with client_of(ScriptedSite()) as client:
        answer = await client.request(method, f"{DECLARE}/{identifier}", headers=headers)
    assert_problem(answer, 404, "not_found")


async def test_me_and_proposals_are_for_those_who_present_themselves():
    async with client_of(ScriptedSite()) as client:
        me, nobody = await client.get(f"{PREFIX}/me", headers=PRESENTING), await client.get(f"{PREFIX}/me")
        proposal = await client.get(f"{PREFIX}/memory/proposals/{PROPOSAL_ID}", headers=PRESENTING)
        foreign = await client.get(f"{PREFIX}/memory/proposals/{NEGOTIATION_ID}", headers=PRESENTING)
    assert me.json()["scopes"] == ["project:default"]
    assert_problem(nobody, 401, "declaration_required")
    assert (proposal.status_code, proposal.json()["state"]) == (200, "pending")
    assert_problem(foreign, 404, "not_found")


async def test_validate_hands_on_bytes_and_options_and_answers_200():
    site = ScriptedSite()
    answer = await post(site, f"{VALIDATE}?strict=1&profile=uai.error.v1", content=b"no json", headers=AS_JSON)
    assert (answer.status_code, answer.json()) == (200, {"valid": True, "findings": []})
    (asked,) = site.negotiations.asked
    assert asked == {"data": b"no json", "strict": True, "profile": "uai.error.v1"}


async def test_validate_answers_whatever_accept_says_and_429_where_the_budget_is_spent():
    site = ScriptedSite()
    assert (await post(site, VALIDATE, headers={**AS_JSON, "accept": "image/png"})).status_code == 200
    site.negotiations.report = UnavailableError("wait", code="over_budget", retry_after_seconds=2)
    assert_problem(await post(site, VALIDATE), 429, "over_budget")
    site.negotiations.report = RequestError("too large", code="body_too_large")
    assert_problem(await post(site, VALIDATE), 413, "body_too_large")


_PATHS = sorted({e.full_path(PREFIX).format(id=NEGOTIATION_ID, name="capability", profile="x") for e in ENDPOINTS})


@pytest.mark.parametrize("path", _PATHS)
async def test_another_method_is_405_with_allow_as_options_say(path):
    async with client_of(ScriptedSite()) as client:
        options = await client.options(path)
        other = await client.request("PATCH", path)
    assert (options.status_code, options.content) == (204, b"")
    assert_problem(other, 405, "method_not_allowed")
    assert other.headers["allow"] == options.headers["allow"]
    assert "PATCH" not in other.headers["allow"]


@pytest.mark.parametrize(
    "path", ["/ladder", "/healthz", f"/negotiations/{NEGOTIATION_ID}", "/me", "/none", "/profiles/none"]
)
async def test_head_is_the_head_of_get(path):
    async with client_of(ScriptedSite()) as client:
        head = await client.head(PREFIX + path, headers=PRESENTING)
        get = await client.get(PREFIX + path, headers=PRESENTING)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers == get.headers
    assert int(head.headers["content-length"]) == len(get.content)


@pytest.mark.parametrize(
    "path", [f"{PREFIX}/none", f"{PREFIX}/ladder/", f"{PREFIX}//ladder", PREFIX, "/", f"{PREFIX}/LADDER"]
)
async def test_a_path_that_is_not_there_is_a_404_problem_and_no_redirect(path):
    async with client_of(ScriptedSite()) as client:
        assert_problem(await client.get(path), 404, "not_found")


async def test_a_problem_names_only_our_own_addresses():
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(f"{PREFIX}/me", headers={"host": "evil.test", "x-forwarded-host": "evil.test"})
    assert "evil" not in answer.text + str(answer.headers)
