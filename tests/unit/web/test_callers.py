import logging

import pytest

from negotiator.web.callers import Callers, origin_of
from tests.support.asgi import http_scope

SAME = (b"sec-fetch-site", b"same-origin")


async def classify(*headers, hook=lambda _: "ada", public_url="https://example.org"):
    return await Callers(hook, public_url).classify(http_scope("POST", "/comments", *headers))


@pytest.mark.parametrize(
    "header",
    [
        (b"uaix-negotiation", b"x"),
        (b"uaix-credential", b""),
        (b"UAIX-Correlation", b"x"),
        (b"uaix-anything", b"x"),
        (b"signature", b"sig=:x:"),
        (b"Signature-Input", b"sig=()"),
        (b"signature-agent", b"x"),
        (b"authorization", b"bearer UAIXT_1_x"),
    ],
)
async def test_who_identifies_itself_as_an_agent_is_one_even_in_a_signed_in_browser(header):
    assert await classify(SAME, header) == ("agent", "")


@pytest.mark.parametrize(
    "headers",
    [
        [SAME],
        [(b"sec-fetch-site", b"none")],
        [(b"origin", b"https://example.org")],
        [SAME, (b"origin", b"https://evil.example")],
        [SAME, (b"authorization", b"Bearer site-token"), (b"idempotency-key", b"k"), (b"traceparent", b"x")],
    ],
)
async def test_a_vouched_for_person_on_the_site_itself_is_human(headers):
    assert await classify(*headers) == ("human", "ada")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"sec-fetch-site", b"cross-site")],
        [(b"sec-fetch-site", b"same-site")],
        [(b"sec-fetch-site", b"")],
        [(b"sec-fetch-site", b"same-origin"), (b"sec-fetch-site", b"cross-site")],
        [(b"sec-fetch-site", b"cross-site"), (b"origin", b"https://example.org")],
        [(b"origin", b"null")],
        [(b"origin", b"http://example.org")],
        [(b"origin", b"https://example.org.evil.example")],
        [(b"origin", b"https://example.org"), (b"origin", b"https://example.org")],
        [(b"referer", b"https://example.org/")],
    ],
)
async def test_a_request_from_elsewhere_is_not_the_persons(headers):
    assert await classify(*headers) == ("unknown", "")


async def test_without_the_hook_nobody_is_human():
    assert await classify(SAME, hook=None) == ("unknown", "")


async def test_without_a_public_url_origin_proves_nothing():
    assert await classify((b"origin", b"http://localhost"), public_url=None) == ("unknown", "")
    assert await classify(SAME, public_url=None) == ("human", "ada")


@pytest.mark.parametrize("answer", [None, "", True, 7, b"ada"])
async def test_who_is_not_vouched_for_by_name_is_unknown(answer):
    assert await classify(SAME, hook=lambda _: answer) == ("unknown", "")


async def test_the_hook_may_be_a_coroutine_function_and_sees_the_scope():
    async def hook(scope):
        return scope["client"][0]

    assert await classify(SAME, hook=hook) == ("human", "192.0.2.7")


async def test_a_hook_that_fails_vouches_for_nobody_and_is_logged(caplog):
    def hook(_):
        message = "session store down"
        raise ConnectionError(message)

    with caplog.at_level(logging.ERROR):
        assert await classify(SAME, hook=hook) == ("unknown", "")
    assert "session store down" in caplog.text


async def test_the_hook_is_not_asked_about_agents_or_foreign_requests():
    def hook(_):
        raise AssertionError

    assert await classify((b"uaix-credential", b"x"), hook=hook) == ("agent", "")
    assert await classify((b"sec-fetch-site", b"cross-site"), hook=hook) == ("unknown", "")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Example.org/", "https://example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://example.org:8080/sub", "http://example.org:8080"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_origin_is_written_as_browsers_write_it(url, origin):
    assert origin_of(url) == origin
