"""From the request to the verdict, and from the verdict to the answer. The site is never called undecided."""

import hashlib

import pytest

from negotiator.model.findings import Finding, Severity
from negotiator.model.governed import Refusal, Verdict
from negotiator.model.levels import Level
from negotiator.model.routes import UnmatchedRules
from tests.support.asgi import (
    DECISION_ID,
    FULL_DISK,
    PROPOSAL_ID,
    READING,
    Front,
    RecordingSite,
    ScriptedEnforcement,
    ScriptedGateway,
    Server,
    answer,
    body,
    http_scope,
    rule,
)

JWS = (b"uaix-negotiation", b"a.b.c")
AGENT = (b"uaix-correlation", b"run-7")


def front(verdict=None, site=None, **gateway):
    enforcement = ScriptedEnforcement(**({"verdict": verdict} if verdict else {}))
    return Front(site or RecordingSite(), ScriptedGateway(enforcement=enforcement, **gateway))


class TestAllowed:
    async def test_the_decision_is_made_on_the_whole_request(self):
        house = front()
        scope = http_scope("POST", "/comments?x=1", JWS, AGENT, (b"content-type", b"text/plain"))
        await house.ask(scope, Server(body(b"he", more=True), body(b"llo")))
        (request,) = house.enforcement.decided
        assert (request.method, request.target, request.rule.label) == ("POST", "/comments?x=1", "POST /comments")
        assert (request.presented.negotiation, request.presented.correlation) == ("a.b.c", "run-7")
        assert (request.caller_class, request.person, request.source) == ("agent", "", "192.0.2.7")
        assert (request.content_type, request.body, request.body_bytes) == ("text/plain", b"hello", 5)
        assert request.body_sha256 == hashlib.sha256(b"hello").hexdigest()

    async def test_the_answer_names_decision_and_level_and_stays_out_of_caches(self):
        site = RecordingSite(*answer(b"done", (b"cache-control", b"public"), (b"vary", b"Cookie")))
        server = await front(site=site).ask(http_scope())
        assert (server.status, server.body) == (200, b"done")
        assert server.header("uaix-decision") == DECISION_ID
        assert server.header("uaix-level") == "L3"
        assert server.header("cache-control") == "private, no-store"
        assert server.header("vary").startswith("Cookie, UAIX-Negotiation")

    async def test_without_an_agent_there_is_no_level(self):
        server = await front(Verdict(kind="proceed", decision_id=DECISION_ID)).ask(http_scope())
        assert (server.header("uaix-decision"), server.header("uaix-level")) == (DECISION_ID, None)

    async def test_the_site_sees_the_request_without_our_credentials(self):
        house = front()
        await house.ask(
            http_scope("POST", "/comments", JWS, (b"uaix-credential", b"x"), (b"authorization", b"Basic x"))
        )
        (scope,) = house.site.scopes
        assert [name for name, _ in scope["headers"]] == [b"host", b"authorization", b"traceparent"]
        assert set(scope["extensions"]) == {"tls"}

    async def test_a_person_is_named(self):
        house = front(human_authenticator=lambda _: "ada")
        await house.ask(http_scope("POST", "/comments", (b"sec-fetch-site", b"same-origin")))
        (request,) = house.enforcement.decided
        assert (request.caller_class, request.person) == ("human", "ada")

    async def test_a_read_is_decided_on_its_headers_and_has_no_outcome(self):
        house = front(READING)
        server = await house.ask(http_scope("GET", "/pages/about"), Server(body(b"odd but", more=True), body(b" fine")))
        assert (server.status, server.header("uaix-level"), server.header("uaix-decision")) == (200, "L1", DECISION_ID)
        assert house.site.body == b"odd but fine"
        assert house.enforcement.decided[0].body_sha256 == ""
        assert house.enforcement.outcomes == []

    async def test_the_cache_rule_of_a_route_is_kept(self):
        site = RecordingSite(*answer(b"x", (b"cache-control", b"public")))
        routes = (rule("GET /pages/{slug}", "read_static", undeclared="limited", cache="site"),)
        server = await front(READING, site, routes=routes).ask(http_scope("GET", "/pages/a"))
        assert server.header("cache-control") == "public"

    async def test_head_is_decided_under_the_rule_for_get(self):
        house = front(READING)
        await house.ask(http_scope("HEAD", "/pages/about"))
        assert [(each.method, each.rule.path) for each in house.enforcement.decided] == [("HEAD", "/pages/{slug}")]


class TestRefused:
    async def test_the_site_is_not_called(self):
        finding = Finding(code="packet_expired", severity=Severity.ERROR, message="late")
        refusal = Refusal(code="identity_required", detail="x", decision_id=DECISION_ID, findings=(finding,))
        house = front(Verdict(kind="refuse", decision_id=DECISION_ID, level=Level.L2, refusal=refusal))
        trace = (b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        server = await house.ask(http_scope("POST", "/comments", trace))
        assert house.site.calls == 0
        assert (server.status, server.json["code"]) == (403, "identity_required")
        assert server.json["trace_id"] == "0af7651916cd43dd8448eb211c80319c"
        assert (server.header("uaix-decision"), server.header("uaix-level")) == (DECISION_ID, "L2")
        assert server.header("cache-control") == "no-store"
        assert house.enforcement.outcomes == []

    async def test_a_refusal_without_words_is_a_refusal(self):
        house = front(Verdict(kind="refuse", decision_id=DECISION_ID))
        server = await house.ask(http_scope())
        assert (house.site.calls, server.status, server.json["code"]) == (0, 403, "refused")

    @pytest.mark.parametrize("scope", [http_scope(), http_scope("GET", "/pages/a"), http_scope("POST", "//comments")])
    async def test_what_cannot_be_recorded_is_503_and_the_site_is_not_called(self, scope):
        house = front()
        house.enforcement.decide_error = FULL_DISK
        server = await house.ask(scope)
        assert (house.site.calls, server.status, server.json["code"]) == (0, 503, "ledger_unavailable")
        assert server.header("retry-after") == "7"

    async def test_a_fault_of_ours_does_not_reach_the_site(self):
        house = front()
        house.enforcement.decide_error = ZeroDivisionError()
        with pytest.raises(ZeroDivisionError):
            await house.ask(http_scope())
        assert house.site.calls == 0


class TestHeld:
    async def test_an_allowed_memory_write_is_a_proposal(self):
        routes = (rule("POST /memory", "write_memory", "notes", max_body_bytes=1_000_000),)
        held = Verdict(kind="hold", decision_id=DECISION_ID, level=Level.L4, proposal_id=PROPOSAL_ID)
        house = front(held, routes=routes)
        content = b"m" * 600_000
        server = await house.ask(http_scope("POST", "/memory"), Server(body(content)))
        where = f"/uaix/v1/memory/proposals/{PROPOSAL_ID}"
        assert (house.site.calls, server.status, server.header("location")) == (0, 202, where)
        assert server.json == {
            "proposal_id": PROPOSAL_ID,
            "state": "pending",
            "decision_id": DECISION_ID,
            "status_url": where,
        }
        assert (server.header("uaix-level"), server.header("cache-control")) == ("L4", "no-store")
        assert house.enforcement.decided[0].body == content

    async def test_links_are_absolute_with_a_public_url(self):
        held = Verdict(kind="hold", decision_id=DECISION_ID, proposal_id=PROPOSAL_ID)
        house = front(held, public_url="https://example.org", allowed_hosts=("example.org",))
        server = await house.ask(http_scope("POST", "/comments", (b"host", b"example.org")))
        assert server.header("location") == f"https://example.org/uaix/v1/memory/proposals/{PROPOSAL_ID}"


class TestUngoverned:
    async def test_nothing_is_added_and_the_scope_is_the_servers(self):
        house = front(site=RecordingSite(*answer(b"hi", (b"x", b"1"))))
        scope = http_scope("GET", "/free", (b"host", b"any.example"))
        server = await house.ask(scope)
        assert house.site.scopes[0] is scope
        assert server.sent == list(answer(b"hi", (b"x", b"1")))
        assert (house.enforcement.decided, house.enforcement.refused) == ([], [])

    async def test_our_credentials_are_removed(self):
        house = front()
        await house.ask(http_scope("GET", "/free", JWS, (b"UAIX-Credential", b"x"), AGENT))
        assert [name for name, _ in house.site.scopes[0]["headers"]] == [b"host", b"uaix-correlation"]

    async def test_our_own_paths_never_reach_the_site(self):
        house = front()
        for path in ("/uaix/v1/negotiations", "/.well-known/uaix.json"):
            server = await house.ask(http_scope("GET", path))
            assert (server.header("x-from"), server.body) == ("api", path.encode())
        assert house.site.calls == 0

    @pytest.mark.parametrize("header", [JWS, (b"uaix-credential", b"bad one"), (b"signature-input", b"sig=()")])
    async def test_an_unlisted_unsafe_route_is_refused_to_agents(self, header):
        house = front()
        server = await house.ask(http_scope("DELETE", "/free", header))
        assert (house.site.calls, server.status, server.json["code"]) == (0, 403, "route_not_governed")
        ((request, code, _),) = house.enforcement.refused
        assert (request.rule.resource.name, request.caller_class, code) == ("unmatched", "agent", "route_not_governed")
        assert server.header("uaix-decision") == DECISION_ID

    @pytest.mark.parametrize("hook", [None, lambda _: "ada"])
    async def test_and_open_to_others(self, hook):
        house = front(human_authenticator=hook)
        server = await house.ask(http_scope("POST", "/free"), Server(body(b"form")))
        assert (server.status, house.site.body) == (200, b"form")
        assert server.header("uaix-decision") is None

    @pytest.mark.parametrize(("headers", "calls"), [([(b"sec-fetch-site", b"same-origin")], 1), ([], 0), ([AGENT], 0)])
    async def test_or_closed_to_all_but_people(self, headers, calls):
        unmatched = UnmatchedRules(unsafe="deny_unknown")
        house = front(unmatched=unmatched, human_authenticator=lambda _: "ada")
        await house.ask(http_scope("POST", "/free", *headers))
        assert (house.site.calls, len(house.enforcement.refused)) == (calls, 1 - calls)

    async def test_or_to_nobody(self):
        house = front(unmatched=UnmatchedRules(unsafe="pass"))
        await house.ask(http_scope("POST", "/free", AGENT))
        assert (house.site.calls, house.enforcement.decided) == (1, [])

    async def test_or_decided(self):
        house = front(unmatched=UnmatchedRules(safe="govern", unsafe="govern"))
        await house.ask(http_scope("POST", "/free"))
        await house.ask(http_scope("GET", "/free"))
        assert [each.rule.action for each in house.enforcement.decided] == ["post", "read_static"]
