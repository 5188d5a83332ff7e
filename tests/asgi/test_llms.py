"""`/llms.txt` through the middleware: the site's own unless the site answers 404."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from negotiator.web.api import create_api
from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.asgi import ScriptedGateway, rule
from tests.support.web_api import ScriptedSite

OURS = "# Agent access\n"


def client_of(answer, *, rules=(), root_path="", **more):
    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "HEAD", "POST"])])
    gateway = ScriptedGateway(routes=rules, api=create_api(ScriptedSite()), **more)
    transport = httpx.ASGITransport(NegotiatorMiddleware(app, negotiator=gateway), root_path=root_path)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


def answering(status, text="the site's own", **more):
    async def answer(_request):
        return PlainTextResponse(text, status_code=status, **more)

    return answer


@pytest.mark.parametrize("status", [200, 204, 301, 401, 403, 410, 500])
async def test_any_answer_of_the_site_but_404_stays(status):
    async with client_of(answering(status, headers={"x-site": "yes"})) as client:
        answer = await client.get("/llms.txt")
    assert (answer.status_code, answer.headers["x-site"]) == (status, "yes")
    assert OURS not in answer.text


@pytest.mark.parametrize("root_path", ["", "/mounted"])
async def test_ours_stands_in_for_a_404_and_nothing_of_the_404_is_left(root_path):
    missing = answering(404, "no such page", headers={"x-site": "yes", "set-cookie": "a=b"})
    async with client_of(missing, root_path=root_path) as client:
        answer = await client.get(f"{root_path}/llms.txt")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert answer.text.startswith(OURS)
    assert "no such page" not in answer.text
    assert "x-site" not in answer.headers
    assert "set-cookie" not in answer.headers


async def test_head_and_conditional_requests_are_answered_as_elsewhere():
    async with client_of(answering(404)) as client:
        got, head = await client.get("/llms.txt"), await client.head("/llms.txt")
        same = await client.get("/llms.txt", headers={"if-none-match": got.headers["etag"]})
    assert (head.status_code, head.content, dict(head.headers)) == (200, b"", dict(got.headers))
    assert (same.status_code, same.content) == (304, b"")


async def test_a_404_in_pieces_is_dropped_whole_and_its_task_still_runs():
    ran = []

    async def missing(_request):
        async def pieces():
            yield b"no such "
            yield b"page"

        return StreamingResponse(pieces(), status_code=404, background=BackgroundTask(ran.append, "ran"))

    async with client_of(missing) as client:
        answer = await client.get("/llms.txt")
    assert answer.text.startswith(OURS)
    assert "no such" not in answer.text
    assert ran == ["ran"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/llms.txt"), ("GET", "/a/llms.txt"), ("GET", "/llms.txt/"), ("GET", "/LLMS.txt"), ("GET", "/allms.txt")],
)
async def test_a_404_of_another_path_or_method_stays(method, path):
    async with client_of(answering(404, "no such page")) as client:
        answer = await client.request(method, path, headers={"cookie": "s=1"})
    assert (answer.status_code, OURS in answer.text) == (404, False)


async def test_a_site_that_governs_the_path_is_asked_first():
    reading = rule("GET /llms.txt", "read_static", undeclared="limited")
    async with client_of(answering(404), rules=(reading,)) as client:
        assert (await client.get("/llms.txt")).text.startswith(OURS)
    async with client_of(answering(200), rules=(reading,)) as client:
        assert (await client.get("/llms.txt")).text == "the site's own"


async def test_a_foreign_host_gets_nothing_of_ours():
    async with client_of(answering(404)) as client:
        answer = await client.get("/llms.txt", headers={"host": "evil.test"})
    assert answer.status_code == 421
    assert "evil" not in answer.text.replace("evil.test", "", 1)
