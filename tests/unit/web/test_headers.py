import pytest

from negotiator.model.governed import Verdict
from negotiator.model.levels import Level
from negotiator.web.headers import VARY, decorated, governed_scope, merged_vary, site_scope
from tests.support.asgi import DECISION_ID, http_scope, start

VERDICT = Verdict(kind="proceed", decision_id=DECISION_ID, level=Level.L3)


def values(message, name):
    return [value for key, value in message["headers"] if key.lower() == name]


@pytest.mark.parametrize(
    "name",
    [b"uaix-negotiation", b"uaix-credential", b"UAIX-Credential", b"uaix-decision", b"uaix-level", b"UAIX-Mode"],
)
def test_the_site_sees_neither_credentials_nor_forged_statements(name):
    scope = http_scope("GET", "/", (b"accept", b"*/*"), (name, b"x"), (b"uaix-correlation", b"c"))
    assert [key for key, _ in site_scope(scope)["headers"]] == [b"host", b"accept", b"uaix-correlation"]
    assert (name, b"x") in scope["headers"]


def test_a_scope_without_them_is_the_same_object():
    scope = http_scope("GET", "/", (b"authorization", b"Bearer site's own"))
    assert site_scope(scope) is scope


def test_a_governed_site_sees_two_extensions_at_most():
    scope = http_scope(
        "GET", "/", extensions={"tls": {"a": 1}, "websocket.http.response": {}, "http.response.push": {}}
    )
    assert governed_scope(scope, DECISION_ID)["extensions"] == {"tls": {"a": 1}, "websocket.http.response": {}}
    assert "http.response.push" in scope["extensions"]
    assert governed_scope(http_scope("GET", "/", extensions=None), DECISION_ID)["extensions"] == {}


def test_the_sites_cache_headers_are_replaced():
    site = start(
        200,
        (b"Cache-Control", b"public, max-age=60"),
        (b"expires", b"Thu, 01 Dec 2033 16:00:00 GMT"),
        (b"surrogate-control", b"max-age=60"),
        (b"CDN-Cache-Control", b"max-age=60"),
        (b"cloudflare-cdn-cache-control", b"max-age=60"),
        (b"etag", b'"1"'),
    )
    message = decorated(site, VERDICT, "private")
    assert values(message, b"cache-control") == [b"private, no-store"]
    assert {key.lower() for key, _ in message["headers"]} == {
        b"etag",
        b"uaix-decision",
        b"uaix-level",
        b"vary",
        b"cache-control",
    }


def test_a_rule_may_leave_caching_to_the_site():
    message = decorated(start(200, (b"cache-control", b"public")), VERDICT, "site")
    assert values(message, b"cache-control") == [b"public"]
    assert values(message, b"uaix-decision") == [DECISION_ID.encode()]


def test_the_site_cannot_speak_for_us():
    site = start(200, (b"UAIX-Decision", b"forged"), (b"uaix-level", b"L6"), (b"idempotent-replayed", b"true"))
    message = decorated(site, VERDICT, "private")
    assert values(message, b"uaix-decision") == [DECISION_ID.encode()]
    assert values(message, b"uaix-level") == [b"L3"]
    assert values(message, b"idempotent-replayed") == []


def test_repeated_headers_stay_apart_and_the_sites_message_is_not_changed():
    site = start(200, (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2"))
    assert values(decorated(site, VERDICT, "private"), b"set-cookie") == [b"a=1", b"b=2"]
    assert site == start(200, (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2"))


@pytest.mark.parametrize(
    ("lines", "added", "merged"),
    [
        ([], ["A", "B"], b"A, B"),
        ([b"Accept, a"], ["A", "B"], b"Accept, a, B"),
        ([b"Accept", b"Cookie"], ["A"], b"Accept, Cookie, A"),
        ([b"*"], ["A"], b"*"),
        ([b"Accept, *"], ["A"], b"*"),
        ([b""], ["A"], b"A"),
    ],
)
def test_vary_is_merged(lines, added, merged):
    assert merged_vary(lines, added) == merged


def test_an_answer_varies_with_every_header_of_ours():
    (vary,) = values(decorated(start(200, (b"vary", b"Accept")), VERDICT, "private"), b"vary")
    assert vary.decode().split(", ") == ["Accept", *VARY]
