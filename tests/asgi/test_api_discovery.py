"""Discovery over HTTP: every document, every representation, conditional answers, links that hold."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from negotiator.model.levels import Level
from negotiator.web.discovery.endpoints import ENDPOINTS, JSON, KEYLESS_JSON, WELL_KNOWN_ACCESS, WELL_KNOWN_SITE
from tests.support.web_api import HOSTILE, PREFIX, ScriptedSite, client_of, route

_SAMPLE = {"id": "uai.client.tool-agent.v1", "name": "capability", "profile": "uai.client.tool-agent.v1"}
_DOCUMENTS = [
    (e.full_path(PREFIX).format(**_SAMPLE), media) for e in ENDPOINTS if e.kind == "document" for media in e.media
]
_PAGES = [path for path, media in _DOCUMENTS if media == "text/html"]
_BEGINNINGS = {"text/html": "<!doctype html>", "text/markdown": "# "}
_VOID = {"meta", "link", "br", "hr", "img", "input"}


class _Outline(HTMLParser):
    """Notes tags, attributes and text, and fails on an end tag that closes nothing."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def _hrefs(value: Any) -> Iterator[str]:
    """Yield every address that a document says anybody can fetch."""
    if isinstance(value, dict):
        if value.get("method", "GET") == "GET" and value.get("credential") != "required" and "href" in value:
            yield value["href"]
        yield from (value[key] for key in ("start", "example", "examples", "body_schema") if _is_text(value.get(key)))
        yield from (link for member in value.values() for link in _hrefs(member))
    elif isinstance(value, list):
        yield from (link for member in value for link in _hrefs(member))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


@pytest.mark.parametrize(("path", "media"), _DOCUMENTS)
async def test_every_document_has_every_representation_of_its_row(path, media):
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(path, headers={"accept": media})
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == media
    assert answer.headers["vary"] == "Accept, Accept-Language"
    assert "public" in answer.headers["cache-control"]
    assert answer.headers["content-language"] == "en"
    assert answer.json() if media.endswith("json") else answer.text.startswith(_BEGINNINGS.get(media, ""))


@pytest.mark.parametrize(("path", "media"), _DOCUMENTS)
async def test_an_unchanged_document_is_304_without_a_body(path, media):
    async with client_of(ScriptedSite()) as client:
        first = await client.get(path, headers={"accept": media})
        again = await client.get(
            path, headers={"accept": media, "if-none-match": f'"other", W/{first.headers["etag"]}'}
        )
    assert (again.status_code, again.content) == (304, b"")
    assert {name: again.headers[name] for name in ("etag", "vary", "cache-control")} == {
        name: first.headers[name] for name in ("etag", "vary", "cache-control")
    }


async def test_the_entity_tag_belongs_to_one_representation_and_one_state():
    site = ScriptedSite()
    async with client_of(site) as client:
        as_json = await client.get(WELL_KNOWN_SITE)
        as_html = await client.get(WELL_KNOWN_SITE, headers={"accept": "text/html"})
        site.bundle_digest = "ef" * 32
        later = await client.get(WELL_KNOWN_SITE, headers={"if-none-match": as_json.headers["etag"]})
    assert as_json.headers["etag"] != as_html.headers["etag"]
    assert later.status_code == 200
    assert later.json()["bundle_digest"] == "ef" * 32


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("text/html;q=0.4, application/json;q=0.9", JSON),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
        ("text/*", "text/html"),
    ],
)
async def test_accept_decides_by_weight_and_json_is_the_default(accept, media):
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(f"{PREFIX}/ladder", headers={"accept": accept})
    assert answer.headers["content-type"].partition(";")[0] == media


async def test_406_lists_what_exists():
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(f"{PREFIX}/examples/{_SAMPLE['profile']}", headers={"accept": "image/png"})
    assert answer.status_code == 406
    assert answer.json()["code"] == "not_acceptable"
    assert all(media in answer.json()["detail"] for media in (JSON, KEYLESS_JSON, "text/html"))


@pytest.mark.parametrize("path", ["/profiles/none", "/schemas/none", "/examples/none", "/schemas/..%2f..%2fetc"])
async def test_a_name_that_nothing_has_is_a_404_problem_that_says_where_to_look(path):
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(PREFIX + path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("root_path", ["", "/mounted"])
@pytest.mark.parametrize("well_known", [WELL_KNOWN_SITE, WELL_KNOWN_ACCESS, f"{PREFIX}/"])
async def test_every_link_of_the_first_documents_answers_200(well_known, root_path):
    async with client_of(ScriptedSite(), root_path=root_path) as client:
        links = set(_hrefs((await client.get(root_path + well_known)).json()))
        answers = {link: (await client.get(link)).status_code for link in links}
    assert len(answers) >= 5
    assert set(answers.values()) == {200}
    assert all(link.startswith(f"{root_path}/") for link in answers)


@pytest.mark.parametrize("listing", ["/ladder", "/profiles", "/schemas", "/examples"])
async def test_every_link_of_a_listing_answers_200(listing):
    async with client_of(ScriptedSite()) as client:
        links = set(_hrefs((await client.get(PREFIX + listing)).json()))
        statuses = {(await client.get(link)).status_code for link in links}
    assert len(links) >= 5
    assert statuses == {200}


@pytest.mark.parametrize("path", _PAGES)
async def test_no_link_is_made_from_what_the_client_sent(path):
    forged = {
        "host": "evil.test",
        "x-forwarded-host": "evil.test",
        "x-forwarded-prefix": "/evil",
        "forwarded": "host=evil",
    }
    async with client_of(ScriptedSite()) as client:
        answers = [await client.get(path, headers={**forged, "accept": media}) for media in (JSON, "text/html")]
    assert all("evil" not in answer.text + str(answer.headers) for answer in answers)


async def test_a_public_url_makes_links_absolute():
    async with client_of(ScriptedSite(public_url="https://example.org")) as client:
        document = (await client.get(WELL_KNOWN_ACCESS)).json()
    assert document["declare"]["href"] == f"https://example.org{PREFIX}/negotiations"
    assert all(level["fallback"]["href"].startswith("https://example.org/") for level in document["levels"])


async def test_the_manifest_says_what_the_site_runs():
    async with client_of(ScriptedSite()) as client:
        document = (await client.get(WELL_KNOWN_SITE)).json()
    assert [level["level"] for level in document["levels"]] == [level.name for level in Level]
    assert {(each["method"], each["name"]) for each in document["endpoints"]} == {(e.method, e.name) for e in ENDPOINTS}
    assert [each["name"] for each in document["encodings"]] == ["keyed", "minified", "keyless"]
    assert document["public_keys"] == [{"kty": "OKP", "kid": "k1", "x": "AA"}]
    assert (document["mode"], document["bundle_digest"]) == ("enforce", "ab" * 32)


async def test_access_says_what_each_level_may_do_where_and_what_is_missing():
    async with client_of(ScriptedSite()) as client:
        levels = {each["level"]: each for each in (await client.get(WELL_KNOWN_ACCESS)).json()["levels"]}
    assert "read_static" in levels["L0"]["allowed"]
    assert "post" in levels["L0"]["refused"]
    assert levels["L3"]["conditional"] == {"post": ["consent"]}
    comments = next(each for each in levels["L3"]["routes"] if each["path"] == "/comments")
    assert comments == {
        "methods": ["POST"],
        "path": "/comments",
        "action": "post",
        "resource": "comments",
        "declaration": "required",
        "status": "conditional",
        "obligations": ["consent"],
    }


@pytest.mark.parametrize(("path", "media"), _DOCUMENTS)
async def test_an_unpublished_route_and_policy_ids_are_named_nowhere(path, media):
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(path, headers={"accept": media})
    assert not re.search(r"hidden|ladder\.read|consent\.write", answer.text)


async def test_keyed_and_keyless_examples_are_one_message():
    path = f"{PREFIX}/examples/{_SAMPLE['profile']}"
    site = ScriptedSite()
    async with client_of(site) as client:
        keyed = (await client.get(path)).json()
        keyless = (await client.get(path, headers={"accept": KEYLESS_JSON})).json()
    assert keyed["profile"] == _SAMPLE["profile"]
    slots = dict(zip(site.catalog.envelope.fields, keyless, strict=False))
    assert {name: slot for name, slot in slots.items() if slot is not None and name != "body"} == {
        name: member for name, member in keyed.items() if name != "body"
    }
    fields = site.catalog.profiles[_SAMPLE["profile"]].order.fields
    assert dict(zip(fields, slots["body"], strict=True)) == {field: keyed["body"].get(field) for field in fields}


@pytest.mark.parametrize("path", _PAGES)
async def test_a_page_is_well_nested_and_needs_no_script(path):
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(path, headers={"accept": "text/html"})
    outline = _Outline(answer.text)
    assert outline.open == []
    assert outline.all("script") == outline.all("style") == outline.all("img") == []
    assert all(not name.startswith("on") and name != "style" for _, given in outline.tags for name in given)
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", _PAGES)
async def test_a_page_can_be_read_by_ear_and_on_a_phone(path):
    async with client_of(ScriptedSite()) as client:
        outline = _Outline((await client.get(path, headers={"accept": "text/html"})).text)
    assert outline.all("html") == [{"lang": "en"}]
    assert len(outline.all("h1")) == len(outline.all("main")) == len(outline.all("title")) == 1
    assert any(meta.get("name") == "viewport" for meta in outline.all("meta"))
    assert all(header.get("scope") in {"col", "row"} for header in outline.all("th"))
    assert sum("aria-current" in link for link in outline.all("a")) == 1
    ids = [given["id"] for _, given in outline.tags if "id" in given]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", _PAGES)
async def test_every_link_of_a_page_answers_200(path):
    async with client_of(ScriptedSite()) as client:
        outline = _Outline((await client.get(path, headers={"accept": "text/html"})).text)
        links = {each["href"].partition("#")[0] for tag in ("a", "link") for each in outline.all(tag)} - {""}
        statuses = {link: (await client.get(link)).status_code for link in links}
    assert len(statuses) >= 9
    assert set(statuses.values()) == {200}


@pytest.mark.parametrize("path", [f"{PREFIX}/", WELL_KNOWN_SITE, WELL_KNOWN_ACCESS])
async def test_hostile_names_stay_text(path):
    site = ScriptedSite(routes=(route(f"GET /{HOSTILE}", name=HOSTILE),), support_boundary=HOSTILE)
    async with client_of(site) as client:
        outline = _Outline((await client.get(path, headers={"accept": "text/html"})).text)
    assert outline.open == []
    assert outline.all("script") == []
    assert HOSTILE in outline.text


async def test_the_ladder_page_shows_each_level_with_its_limits():
    site = ScriptedSite()
    async with client_of(site) as client:
        text = _Outline((await client.get(f"{PREFIX}/ladder", headers={"accept": "text/html"})).text).text
    for rung in site.catalog.ladder["levels"]:
        assert all(line in text for line in (*rung["may"], *rung["must_not_imply"], rung["fallback"]))


async def test_the_stylesheet_is_there_and_loads_nothing():
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(f"{PREFIX}/static/pages.css")
        again = await client.get(f"{PREFIX}/static/pages.css", headers={"if-none-match": answer.headers["etag"]})
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "url(" not in answer.text
    assert "@import" not in answer.text
    assert again.status_code == 304
