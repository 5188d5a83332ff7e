import pytest

from negotiator.model.routes import UnmatchedRules
from negotiator.web.routing import Ambiguous, Beside, Governs, Own, Passes, RouteTable, Unmatched
from tests.support.asgi import http_scope, rule

COMMENTS = rule("POST /comments")
COMMENT = rule("DELETE /comments/{id:int}", resource="comment")
PAGES = rule("GET /pages/{slug}", "read_static", "pages", undeclared="limited")
FILES = rule("* /files/{path:path}", resource="files")
ADMIN = rule("GET /admin/secret", "read_static", "secret", undeclared="deny")
ADMIN_ANY = rule("GET /admin/{page}", "read_static", "admin", undeclared="limited")
RULES = (COMMENTS, COMMENT, PAGES, FILES, ADMIN, ADMIN_ANY)


def find(method, target, *, rules=RULES, unmatched=None, **more):
    table = RouteTable(rules, unmatched or UnmatchedRules(), prefix="/uaix/v1", own_paths={"/llms.json"})
    scope = http_scope(method, target, **more)
    found = table.find(scope)
    assert table.find(scope) == found, "the second, remembered answer differs"
    return found


@pytest.mark.parametrize(
    ("method", "target", "governing"),
    [
        ("POST", "/comments", COMMENTS),
        ("post", "/comments", COMMENTS),
        ("POST", "/comments?page=//..;x", COMMENTS),
        ("POST", "/comments/", COMMENTS),
        ("POST", "/comments//", COMMENTS),
        ("POST", "/comments%2F", COMMENTS),
        ("POST", "/%63omments", COMMENTS),
        ("DELETE", "/comments/7", COMMENT),
        ("DELETE", "/comments/7/", COMMENT),
        ("GET", "/pages/About", PAGES),
        ("HEAD", "/pages/about", PAGES),
        ("GET", "/pages/caf%C3%A9", PAGES),
        ("GET", "/pages/a%20b", PAGES),
        ("GET", "/pages/100%25", PAGES),
        ("GET", "/pages/a;b=c", PAGES),
        ("PURGE", "/files/a/b", FILES),
        ("GET", "/files", FILES),
        ("GET", "/files/", FILES),
        ("GET", "/files/a//b", FILES),
        ("GET", "/files/a%2Fb", FILES),
        ("GET", "/admin/secret", ADMIN),
        ("GET", "/admin/secret/", ADMIN),
        ("GET", "/admin/open", ADMIN_ANY),
    ],
)
def test_a_rule_governs_what_the_site_would_serve(method, target, governing):
    assert find(method, target) == Governs(governing)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "//comments"),
        ("POST", "/x//../comments"),
        ("POST", "/./comments"),
        ("POST", "/x/../comments"),
        ("POST", "/x/%2e%2e/comments"),
        ("POST", "/comments/."),
        ("POST", "/comments/../x"),
        ("POST", "/Comments"),
        ("POST", "/COMMENTS/"),
        ("POST", "/comments;a=b"),
        ("POST", "/comments%3Ba=b"),
        ("POST", "/comments/;a=b"),
        ("POST", "/comments%00"),
        ("POST", "/comments%00.html"),
        ("POST", "/comments%0A"),
        ("POST", "/comm%09ents"),
        ("POST", "/comments%7F"),
        ("POST", "\\comments"),
        ("POST", "/x\\..\\comments"),
        ("POST", "/x%5C..%5Ccomments"),
        ("POST", "/comments%5C"),
        ("POST", "/%2563omments"),
        ("POST", "/comments%252F"),
        ("POST", "/comments%25%32%46"),
        ("POST", "/comments%20"),
        ("POST", "/comments."),
        ("POST", "/comments/%2e"),
        ("POST", "/%EF%BD%83omments"),
        ("POST", "/comments%2F%2E%2E%2Fcomments"),
        ("POST", "/comments/%252e%252e/x"),
        ("DELETE", "/comments//7"),
        ("GET", "/pages/%2e%2e"),
        ("GET", "/pages/a%5Cb"),
        ("GET", "/pages/..%2Fadmin%2Fsecret"),
        ("GET", "/pages/%00"),
        ("GET", "/files/../admin/secret"),
        ("GET", "/files/%252e%252e/x"),
        ("GET", "/admin/Secret"),
        ("GET", "/admin/secret;x"),
        ("GET", "/admin/secret%20"),
    ],
)
def test_what_may_be_read_in_two_ways_is_ambiguous(method, target):
    assert isinstance(find(method, target), Ambiguous)


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/about",
        "/x/../y",
        "//cdn/x",
        "/a%2Fb",
        "/a%00",
        "/caf%C3%A9",
        "/a;b",
        "/commentsx",
        "/comments.d/x",
        "/%2e",
    ],
)
def test_a_path_that_touches_no_rule_is_left_alone(target):
    assert find("GET", target) == Passes()


def test_another_method_of_a_governed_path_is_beside_it():
    assert find("GET", "/comments") == Beside(COMMENTS)
    assert find("GET", "//Comments") == Beside(COMMENTS)
    assert find("PUT", "/comments") == Unmatched(find("PUT", "/other").rule, COMMENTS)
    assert find("PUT", "/comments", unmatched=UnmatchedRules(unsafe="pass")) == Beside(COMMENTS)


@pytest.mark.parametrize(
    ("unsafe", "expected"),
    [("deny_agents", Unmatched), ("deny_unknown", Unmatched), ("govern", Governs), ("pass", Passes)],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "BREW"])
def test_an_unsafe_method_without_a_rule_is_treated_as_configured(method, unsafe, expected):
    assert isinstance(find(method, "/other", unmatched=UnmatchedRules(unsafe=unsafe)), expected)


@pytest.mark.parametrize(("method", "action"), [("GET", "read_static"), ("HEAD", "read_static"), ("POST", "post")])
def test_unmatched_requests_may_be_governed(method, action):
    found = find(method, "/other", unmatched=UnmatchedRules(safe="govern", unsafe="govern"))
    assert (found.rule.action, found.rule.resource.name) == (action, "unmatched")


def test_a_governed_remainder_has_no_neighbours():
    found = find("PUT", "/comments", unmatched=UnmatchedRules(unsafe="govern"))
    assert (type(found), found.rule.resource.name) == (Governs, "unmatched")


@pytest.mark.parametrize("target", ["/uaix/v1", "/uaix/v1/", "/uaix/v1/negotiations", "/uaix/v1/../x", "/llms.json"])
def test_our_own_paths_come_first(target):
    assert find("POST", target, rules=(rule("* /{path:path}"),)) == Own()


@pytest.mark.parametrize("target", ["/uaix/v10", "/uaix", "/llms.json/", "/UAIX/v1"])
def test_what_only_looks_like_ours_is_not(target):
    assert find("GET", target) == Passes()


class TestRootPath:
    def test_the_mount_of_the_server_is_no_part_of_the_path(self):
        assert find("POST", "/app/comments", root_path="/app") == Governs(COMMENTS)
        assert find("POST", "/app/uaix/v1/validate", root_path="/app") == Own()

    def test_a_server_that_leaves_it_out_is_understood(self):
        assert find("POST", "/comments", root_path="/app") == Governs(COMMENTS)

    def test_it_is_a_whole_segment(self):
        assert find("POST", "/apple/comments", root_path="/app") == find("POST", "/other")

    def test_at_the_mount_itself_the_home_page_is_meant(self):
        home = rule("GET /", "read_static", "home", undeclared="limited")
        assert find("GET", "/app", rules=(home,), root_path="/app") == Governs(home)

    def test_odd_raw_paths_are_read_below_it(self):
        assert isinstance(find("POST", "/app//comments", root_path="/app"), Ambiguous)


class TestOrder:
    def test_specific_before_general_by_configuration(self):
        general, special = rule("GET /a/{x}", "read_static"), rule("GET /a/b", "read_static")
        assert find("GET", "/a/b", rules=(general, special)) == Governs(general)
        assert find("GET", "/a/b", rules=(special, general)) == Governs(special)

    def test_a_general_rule_does_not_take_the_twin_of_a_special_one(self):
        special, general = rule("POST /comments"), rule("POST /{path:path}", resource="all")
        assert find("POST", "/comments/", rules=(special, general)) == Governs(special)

    def test_a_rule_that_spells_the_twin_out_has_it(self):
        bare, slashed = rule("POST /comments"), rule("POST /comments/", resource="slashed")
        assert find("POST", "/comments", rules=(bare, slashed)) == Governs(bare)
        assert find("POST", "/comments/", rules=(bare, slashed)) == Governs(slashed)

    def test_a_rule_that_spells_the_twin_out_for_another_method_has_no_say(self):
        bare, slashed = rule("POST /comments"), rule("GET /comments/", "read_static")
        assert find("POST", "/comments/", rules=(bare, slashed)) == Governs(bare)


def test_a_missing_raw_path_is_the_path():
    scope = http_scope("POST", "/comments")
    scope["raw_path"] = None
    assert RouteTable(RULES, UnmatchedRules()).find(scope) == Governs(COMMENTS)


def test_a_very_long_odd_path_is_ambiguous_only_where_rules_are():
    target = "/x//" + "y" * 3000
    assert isinstance(find("GET", target), Ambiguous)
    assert find("GET", target, rules=()) == Passes()
    assert find("GET", "/x/" + "y" * 3000) == Passes()


def test_many_paths_do_not_grow_the_table():
    table = RouteTable(RULES, UnmatchedRules())
    for number in range(10_000):
        assert table.find(http_scope("GET", f"/page-{number}")) == Passes()
    assert len(table._cache) <= 4096
    table.find(http_scope("G" * 2000, "/x"))
    table.find(http_scope("GET", "/" + "x" * 2000))
    assert all(len(key[0]) + len(key[1]) < 1024 for key in table._cache)


class TestSockets:
    @pytest.mark.parametrize("target", ["/comments", "/comments/", "/pages/x", "/files/a"])
    def test_any_rule_of_the_path_governs_a_socket(self, target):
        table = RouteTable(RULES, UnmatchedRules())
        assert isinstance(table.find_websocket(http_scope("GET", target)), Governs)

    def test_without_a_rule_a_socket_is_unsafe(self):
        assert isinstance(RouteTable(RULES, UnmatchedRules()).find_websocket(http_scope("GET", "/x")), Unmatched)
        assert isinstance(
            RouteTable(RULES, UnmatchedRules()).find_websocket(http_scope("GET", "//comments")), Ambiguous
        )
