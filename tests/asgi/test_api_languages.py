"""Discovery for people: forms and languages over HTTP."""

import re

import pytest

from negotiator.web.discovery.endpoints import ENDPOINTS, JSON, WELL_KNOWN_ACCESS, WELL_KNOWN_SITE
from negotiator.web.languages import LANGUAGES
from tests.support.web_api import HOSTILE, PREFIX, ScriptedSite, client_of, route

_SAMPLE = {"id": "uai.client.tool-agent.v1", "name": "capability", "profile": "uai.client.tool-agent.v1"}
_PATHS = [e.full_path(PREFIX).format(**_SAMPLE) for e in ENDPOINTS if e.kind == "document"]
_FORMS = ("text/html", "text/markdown", "text/plain")
_BEGUN = {"en": "The seven", "es": "Los siete", "zh": "七个"}


@pytest.mark.parametrize("path", _PATHS)
@pytest.mark.parametrize("form", _FORMS)
async def test_every_document_speaks_every_language_in_every_form(path, form):
    async with client_of(ScriptedSite()) as client:
        answers = {
            language: await client.get(path, headers={"accept": form, "accept-language": language})
            for language in LANGUAGES
        }
    assert [answer.headers["content-language"] for answer in answers.values()] == list(LANGUAGES)
    assert {answer.headers["content-type"] for answer in answers.values()} == {f"{form}; charset=utf-8"}
    assert len({answer.text for answer in answers.values()}) == len(LANGUAGES)
    assert len({answer.headers["etag"] for answer in answers.values()}) == len(LANGUAGES)


@pytest.mark.parametrize("path", _PATHS)
async def test_json_is_the_same_in_every_language(path):
    async with client_of(ScriptedSite()) as client:
        answers = [await client.get(path, headers={"accept-language": language}) for language in LANGUAGES]
    assert len({(each.content, each.headers["etag"], each.headers["content-language"]) for each in answers}) == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", _PATHS)
async def test_codes_and_identifiers_are_the_same_in_every_language(path, language):
    async with client_of(ScriptedSite()) as client:
        english, other = [
            (await client.get(path, headers={"accept": "text/html", "accept-language": each})).text
            for each in ("en", language)
        ]
    codes = re.compile(r"<code>[^<]*</code>|<span class=\"method\">[^<]*</span>")
    assert sorted(codes.findall(other)) == sorted(codes.findall(english))


@pytest.mark.parametrize("path", _PATHS)
@pytest.mark.parametrize("language", LANGUAGES)
async def test_markdown_and_text_leave_out_nothing_that_html_says(path, language):
    headers = {"accept-language": language}
    async with client_of(ScriptedSite()) as client:
        html, *others = [(await client.get(path, headers={**headers, "accept": form})).text for form in _FORMS]
    main = html.partition("<main")[2].partition("</main>")[0].partition(">")[2]
    cells = re.sub(r"(?s)<thead>.*?</thead>", " ", main)  # plain text names columns only where a cell follows the name
    missing = [
        _words(re.sub(r"<[^>]*>", " ", page)) - _words(other) for page, other in zip((main, cells), others, strict=True)
    ]
    assert missing == [set(), set()]


def _words(text: str) -> set[str]:
    return set(
        re.findall(
            "[\u4e00-\u9fff]|[^\\W\u4e00-\u9fff]+", text.replace("&#39;", "'").replace("&#34;", '"').replace("\\", "")
        )
    )


@pytest.mark.parametrize("form", _FORMS)
async def test_an_address_may_ask_for_a_language_and_links_keep_it(form):
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(f"{PREFIX}/?lang=es", headers={"accept": form, "accept-language": "zh"})
    assert answer.headers["content-language"] == "es"
    assert _BEGUN["es"] in answer.text
    assert f"{PREFIX}/ladder?lang=es" in answer.text


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_page_says_its_language_and_links_to_the_others(language):
    path = f"{PREFIX}/profiles/{_SAMPLE['id']}"
    async with client_of(ScriptedSite()) as client:
        page = (await client.get(path, headers={"accept": "text/html", "accept-language": language})).text
    assert f'<html lang="{language}">' in page
    others = [other for other in LANGUAGES if other != language]
    assert re.findall(r'<a lang="(\w+)" hreflang="\w+" href="([^"]+)"', page) == [
        (other, f"{path}?lang={other}") for other in others
    ]


@pytest.mark.parametrize("query", ["lang=de", "lang=", "lang=es&lang=es", "lang=../es"])
@pytest.mark.parametrize("accept", [JSON, "text/html"])
async def test_a_language_that_there_is_not_is_refused_with_those_that_there_are(query, accept):
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(f"{PREFIX}/ladder?{query}", headers={"accept": accept})
    assert (answer.status_code, answer.json()["code"]) == (400, "query_malformed")
    assert "en, es, zh" in answer.json()["detail"]


async def test_every_line_of_a_header_counts():
    lines = [("accept", "text/html;q=0.1"), ("accept", "text/markdown")]
    languages = [("accept-language", "de"), ("accept-language", "es;q=0.2")]
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(f"{PREFIX}/ladder", headers=[*lines, *languages])
        tags = [("if-none-match", '"a"'), ("if-none-match", f'"b", W/{answer.headers["etag"]}')]
        again = await client.get(f"{PREFIX}/ladder", headers=[*lines, *languages, *tags])
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.headers["content-language"] == "es"
    assert again.status_code == 304
    assert again.headers["content-language"] == "es"


@pytest.mark.parametrize("path", [*_PATHS, "/llms.txt"])
@pytest.mark.parametrize("form", [JSON, *_FORMS])
async def test_head_is_get_without_its_body_and_star_matches_all(path, form):
    async with client_of(ScriptedSite()) as client:
        got = await client.get(path, headers={"accept": form, "accept-language": "zh"})
        head = await client.head(path, headers={"accept": form, "accept-language": "zh"})
        same = await client.head(path, headers={"accept": form, "accept-language": "zh", "if-none-match": "*"})
    assert (head.status_code, head.content, dict(head.headers)) == (200, b"", dict(got.headers))
    assert (same.status_code, same.headers["etag"]) == (304, got.headers["etag"])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", [JSON, *_FORMS])
@pytest.mark.parametrize("path", [*_PATHS, "/llms.txt"])
async def test_an_unpublished_route_is_named_in_no_form_and_language(path, form, language):
    async with client_of(ScriptedSite()) as client:
        answer = await client.get(path, headers={"accept": form, "accept-language": language})
    assert answer.status_code == 200
    assert "hidden" not in answer.text + str(answer.headers)


@pytest.mark.parametrize("path", ["/llms.txt", f"{PREFIX}/", WELL_KNOWN_SITE, WELL_KNOWN_ACCESS])
@pytest.mark.parametrize("name", [HOSTILE, "[x](https://evil.test)", "# a\n\n# b", "![x](https://evil.test)"])
async def test_hostile_names_mean_nothing_in_markdown(path, name):
    site = ScriptedSite(routes=(route("GET /pages", name=name),))
    async with client_of(site) as client:
        text = (await client.get(path, headers={"accept": "text/markdown"})).text
    assert "](https://evil.test" not in text.replace("\\](", "")
    assert "<script" not in text.replace("\\<", "")
    assert "\n# b" not in text


async def test_llms_txt_has_the_form_that_llmstxt_org_asks_for():
    async with client_of(ScriptedSite()) as client:
        answer = await client.get("/llms.txt", headers={"accept": "image/png"})
    lines = answer.text.splitlines()
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert lines[0].startswith("# ")
    assert lines[2].startswith("> ")
    assert f"- [ladder]({PREFIX}/ladder): " in answer.text
    assert "POST /comments" in answer.text


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_root_aliases_answer_as_the_routes_below_the_prefix(path):
    async with client_of(ScriptedSite(root_aliases=True)) as client:
        alias, own = await client.get(path), await client.get(PREFIX + path)
    assert (alias.status_code, alias.json()) == (own.status_code, own.json()) == (200, own.json())


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/me", "/ladder"])
async def test_without_the_setting_nothing_is_ours_at_the_root(path):
    async with client_of(ScriptedSite()) as client:
        assert (await client.get(path)).status_code == 404
