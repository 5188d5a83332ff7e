"""What an attacker puts into headers and forms: refused with its code, recorded, and the site is not called."""

import pytest

from negotiator.model.routes import UnmatchedRules
from tests.support.asgi import HOST, Front, RecordingSite, ScriptedGateway, Server, body, http_scope, rule

LENGTH = (b"content-length", b"0")
FORM = (b"content-type", b"application/x-www-form-urlencoded")

ATTACKS = {
    "no host": ([(b"host", b"")], 400, "header_malformed"),
    "two hosts": ([HOST, HOST], 400, "header_malformed"),
    "foreign host": ([(b"host", b"evil.example")], 421, "misdirected_host"),
    "two lengths": ([LENGTH, LENGTH], 400, "header_malformed"),
    "length and chunked": ([LENGTH, (b"transfer-encoding", b"chunked")], 400, "header_malformed"),
    "negative length": ([(b"content-length", b"-1")], 400, "header_malformed"),
    "trailer": ([(b"trailer", b"x-sum")], 400, "header_malformed"),
    "two types": ([FORM, FORM], 400, "header_malformed"),
    "override": ([(b"x-http-method-override", b"GET")], 400, "method_override"),
    "empty key": ([(b"idempotency-key", b"")], 400, "header_malformed"),
    "huge key": ([(b"idempotency-key", b"k" * 10_240)], 400, "header_malformed"),
    "two keys": ([(b"idempotency-key", b"a"), (b"idempotency-key", b"a")], 400, "header_malformed"),
    "list of keys": ([(b"idempotency-key", b"a, b")], 400, "header_malformed"),
    "control bytes": ([(b"idempotency-key", b"a\x00\x1b")], 400, "header_malformed"),
    "two negotiations": ([(b"uaix-negotiation", b"a.b.c")] * 2, 400, "header_malformed"),
    "script as a token": ([(b"uaix-negotiation", b"<script>")], 400, "header_malformed"),
    "script as a correlation": ([(b"uaix-correlation", b'"><script>')], 400, "header_malformed"),
    "no time": ([(b"uaix-expires", b"tomorrow")], 400, "header_malformed"),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_bad_header_is_refused(attack):
    headers, status, code = ATTACKS[attack]
    house = Front()
    server = await house.ask(http_scope("POST", "/comments", *headers))
    assert (house.site.calls, house.enforcement.decided) == (0, [])
    assert (server.status, server.json["code"]) == (status, code)
    assert [each[1] for each in house.enforcement.refused] == [code]
    for _, value in headers:
        assert len(value) < 3 or value not in server.body


async def test_what_is_known_of_the_caller_is_recorded_with_the_refusal():
    house = Front()
    await house.ask(http_scope("POST", "/comments", (b"uaix-credential", b"uaixt_1"), (b"idempotency-key", b"")))
    ((request, code, detail),) = house.enforcement.refused
    assert (request.presented.credential, request.caller_class, code) == ("uaixt_1", "agent", "header_malformed")
    assert "idempotency-key" in detail


@pytest.mark.parametrize("target", ["/comments?_method=DELETE", "/comments?a=1&%5Fmethod=PUT"])
async def test_an_override_in_the_query(target):
    house = Front()
    server = await house.ask(http_scope("POST", target))
    assert (house.site.calls, server.status, server.json["code"]) == (0, 400, "method_override")


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        (FORM, b"text=hi&_method=DELETE"),
        (FORM, b"t=" + b"x" * 400_000 + b"&_method=DELETE"),
        ((b"content-type", b"multipart/form-data; boundary=b"), b'--b\r\nContent-Disposition: x; name="_method"\r\n'),
    ],
)
async def test_an_override_in_the_form(content_type, content):
    house = Front()
    half = len(content) // 2
    server = await house.ask(
        http_scope("POST", "/comments", content_type), Server(body(content[:half], more=True), body(content[half:]))
    )
    assert (house.site.calls, server.status, server.json["code"]) == (0, 400, "method_override")


@pytest.mark.parametrize("route", [rule("GET /comments", "read_json"), rule("GET /comments", stream_body=True)])
async def test_a_form_is_read_for_an_override_even_where_bodies_flow(route):
    house = Front(gateway=ScriptedGateway(routes=(route, rule("DELETE /comments"))))
    server = await house.ask(http_scope("GET", "/comments", FORM), Server(body(b"a=1&_method=DELETE")))
    assert (house.site.calls, server.status, server.json["code"]) == (0, 400, "method_override")
    server = await house.ask(http_scope("GET", "/comments", FORM), Server(body(b"a=1&method=DELETE")))
    assert (house.site.body, server.status) == (b"a=1&method=DELETE", 200)


async def test_json_that_speaks_of_a_method_is_no_override():
    house = Front()
    scope = http_scope("POST", "/comments", (b"content-type", b"application/json"))
    server = await house.ask(scope, Server(body(b'{"_method": "DELETE"}')))
    assert (house.site.calls, server.status) == (1, 200)


class TestReachingForANeighbour:
    """`DELETE /comments/{id}` is governed, `POST /comments/{id}` is not."""

    def house(self, **options):
        return Front(gateway=ScriptedGateway(routes=(rule("DELETE /comments/{id}"),), **options))

    @pytest.mark.parametrize(
        ("method", "target", "headers", "content"),
        [
            ("POST", "/comments/7", [(b"x-http-method-override", b"DELETE")], b""),
            ("GET", "/comments/7", [(b"x-method-override", b"DELETE")], b""),
            ("GET", "/comments/7?_method=delete", [], b""),
            ("POST", "/comments/7?_method=delete", [], b""),
            ("POST", "/comments/7", [FORM], b"_method=delete"),
            ("POST", "//comments/7", [FORM], b"a=1&_method=delete"),
        ],
    )
    @pytest.mark.parametrize("unsafe", ["deny_agents", "pass"])
    async def test_an_override_does_not_reach_the_governed_method(self, unsafe, method, target, headers, content):
        house = self.house(unmatched=UnmatchedRules(unsafe=unsafe))
        server = await house.ask(http_scope(method, target, *headers), Server(body(content)))
        assert (house.site.calls, server.status, server.json["code"]) == (0, 400, "method_override")
        assert len(house.enforcement.refused) == 1

    @pytest.mark.parametrize("content", [b"", b"text=hello", b"t=" + b"x" * 500_000])
    async def test_a_plain_form_reaches_the_site_byte_for_byte(self, content):
        house = self.house()
        server = await house.ask(http_scope("POST", "/comments/7", FORM), Server(body(content)))
        assert (server.status, house.site.body) == (200, content)
        assert server.header("uaix-decision") is None

    @pytest.mark.parametrize("content_type", [b"application/json", b"multipart/form-data; boundary=b"])
    async def test_other_bodies_flow_untouched_whatever_their_size(self, content_type):
        house = self.house()
        scope = http_scope("POST", "/comments/7", (b"content-type", content_type))
        await house.ask(scope, Server(body(b"x" * 2_000_000, more=True), body(b"y")))
        assert house.site.scopes == [scope]
        assert [len(message["body"]) for message in house.site.received] == [2_000_000, 1]

    async def test_a_plain_read_beside_a_governed_method_is_untouched(self):
        house = self.house()
        scope = http_scope("GET", "/comments/7")
        await house.ask(scope)
        assert house.site.scopes[0] is scope

    async def test_a_form_that_never_ends_is_nobodys(self):
        house = self.house()
        server = Server(body(b"a=1", more=True))
        server.leave()
        await house.ask(http_scope("POST", "/comments/7", FORM), server)
        assert (house.site.calls, server.sent) == (0, [])


class TestHosts:
    async def test_our_own_paths_are_served_to_our_hosts_only(self):
        house = Front(gateway=ScriptedGateway(allowed_hosts=("example.org",)))
        server = await house.ask(http_scope("GET", "/uaix/v1/ladder", (b"host", b"evil.example")))
        assert (server.status, server.json["code"]) == (421, "misdirected_host")
        server = await house.ask(http_scope("GET", "/uaix/v1/ladder", (b"host", b"example.org")))
        assert server.header("x-from") == "api"

    async def test_no_link_is_built_from_what_the_client_sent(self):
        house = Front(RecordingSite(), ScriptedGateway(allowed_hosts=("*.example.org",)))
        forwarded = [(b"host", b"a.example.org"), (b"x-forwarded-host", b"evil.example"), (b"forwarded", b"host=evil")]
        server = await house.ask(http_scope("POST", "//comments", *forwarded))
        assert server.status == 400
        assert all(b"evil" not in value and b"a.example" not in value for _, value in server.sent[0]["headers"])
        assert b"evil" not in server.body
