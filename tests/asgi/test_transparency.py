"""What a site may rely on, with real Starlette around and behind us: streams, tasks, context, HTTP clients."""

import asyncio
from contextvars import ContextVar

import httpx
import pytest
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

from negotiator.model.records import OutcomeEnd
from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.asgi import READING, ScriptedEnforcement, ScriptedGateway, Server, http_scope, rule

TENANT = ContextVar("tenant", default="nobody")
ROUTES = (rule("POST /comments"), rule("GET /events", "read_static", undeclared="limited"), rule("POST /stream"))


class Outside:
    """A middleware around us: sets a context variable and reads what the site set."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        TENANT.set("acme")
        await self.app(scope, receive, send)
        scope.setdefault("after", TENANT.get())


async def comments(request):
    seen = TENANT.get()
    TENANT.set("changed by the site")
    return JSONResponse({"tenant": seen, "body": (await request.body()).decode()}, status_code=201)


def site(*routes):
    return Starlette(routes=[Route("/comments", comments, methods=["POST"]), *routes])


def client_of(app):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1")


async def test_context_variables_pass_both_ways():
    app = Outside(NegotiatorMiddleware(site(), negotiator=ScriptedGateway(routes=ROUTES)))
    scope, server = http_scope(), Server()
    await app(scope, server.receive, server.send)
    assert server.json["tenant"] == "acme"
    assert scope["after"] == "changed by the site"


async def test_an_http_client_sees_the_sites_answer_and_our_headers():
    app = NegotiatorMiddleware(site(), negotiator=ScriptedGateway(routes=ROUTES))
    async with client_of(app) as client:
        answer = await client.post("/comments", content=b"hello", headers={"UAIX-Correlation": "run-7"})
    assert (answer.status_code, answer.json()["body"], answer.headers["uaix-level"]) == (201, "hello", "L3")


async def test_it_may_stand_inside_starlettes_own_stack():
    gateway = ScriptedGateway(routes=ROUTES)
    app = Starlette(
        routes=[Route("/comments", comments, methods=["POST"])],
        middleware=[Middleware(NegotiatorMiddleware, negotiator=gateway)],
    )
    async with client_of(app) as client:
        assert (await client.post("/comments", content=b"x")).status_code == 201
        assert (await client.post("/Comments", content=b"x")).json()["code"] == "ambiguous_path"
    assert len(gateway.enforcement.decided) == 1


async def test_a_stream_flows_chunk_by_chunk():
    """Each chunk is made only after the one before it has reached the server."""

    async def events(_):
        async def source():
            for number in range(3):
                assert len(server.sent) == number + 1
                yield f"data: {number}\n\n"

        return StreamingResponse(source(), media_type="text/event-stream")

    for method, path, enforcement in (
        ("POST", "/stream", ScriptedEnforcement()),
        ("GET", "/events", ScriptedEnforcement(verdict=READING)),
    ):
        app = site(Route("/stream", events, methods=["POST"]), Route("/events", events))
        server = Server()
        gateway = ScriptedGateway(routes=ROUTES, enforcement=enforcement)
        await NegotiatorMiddleware(app, negotiator=gateway)(http_scope(method, path), server.receive, server.send)
        assert server.body == b"data: 0\n\ndata: 1\n\ndata: 2\n\n"
        assert server.complete


async def test_an_endless_stream_ends_when_the_client_leaves():
    async def endless(_):
        async def source():
            while True:
                yield b"tick"
                server.leave()
                await asyncio.sleep(0)

        return StreamingResponse(source())

    enforcement = ScriptedEnforcement()
    gateway = ScriptedGateway(routes=ROUTES, enforcement=enforcement)
    app = NegotiatorMiddleware(site(Route("/stream", endless, methods=["POST"])), negotiator=gateway)
    server = Server()
    await asyncio.wait_for(app(http_scope("POST", "/stream"), server.receive, server.send), timeout=10)
    assert [each.end for each in enforcement.outcomes] == [OutcomeEnd.CLIENT_GONE]
    assert not server.complete


@pytest.mark.parametrize("path", ["/stream", "/free"])
async def test_background_tasks_run_after_the_answer(path):
    ran = []

    async def later():
        ran.append(server.complete)

    async def page(_):
        return PlainTextResponse("done", background=BackgroundTask(later))

    server = Server()
    app = NegotiatorMiddleware(site(Route(path, page, methods=["POST"])), negotiator=ScriptedGateway(routes=ROUTES))
    await app(http_scope("POST", path), server.receive, server.send)
    assert ran == [True]


async def test_starlettes_error_page_is_a_complete_answer_followed_by_the_exception():
    async def fails(_):
        message = "no table"
        raise LookupError(message)

    gateway = ScriptedGateway(routes=ROUTES)
    app = NegotiatorMiddleware(site(Route("/stream", fails, methods=["POST"])), negotiator=gateway)
    server = Server()
    with pytest.raises(LookupError):
        await app(http_scope("POST", "/stream"), server.receive, server.send)
    assert (server.status, server.body, server.complete) == (500, b"Internal Server Error", True)
    assert [(each.end, each.status) for each in gateway.enforcement.outcomes] == [(OutcomeEnd.COMPLETE, 500)]


async def test_parallel_requests_share_nothing():
    gateway = ScriptedGateway(routes=ROUTES)
    app = NegotiatorMiddleware(site(), negotiator=gateway)
    async with client_of(app) as client:
        answers = await asyncio.gather(*(client.post("/comments", content=str(n).encode()) for n in range(20)))
    assert [each.json()["body"] for each in answers] == [str(n) for n in range(20)]
    assert len(gateway.enforcement.outcomes) == 20
