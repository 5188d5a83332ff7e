"""Lifespan passes through: ours around the site's. A site or a server without it is fine; a failed start-up is not."""

from contextlib import asynccontextmanager

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from negotiator.errors import ConfigError
from negotiator.web.middleware import NegotiatorMiddleware
from tests.support.asgi import ScriptedGateway, Server, http_scope

STARTUP, SHUTDOWN = {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}


async def lived(site, gateway=None):
    """Run one life of the process; return what was sent and who did what, in order."""
    gateway = gateway or ScriptedGateway()
    server = Server(STARTUP, SHUTDOWN)
    server.on_send = lambda message: gateway.life.append(message["type"].removeprefix("lifespan."))
    app = NegotiatorMiddleware(site, negotiator=gateway)
    error = None
    try:
        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, server.receive, server.send)
    except Exception as caught:  # noqa: BLE001 - what the server would see
        error = caught
    return gateway.life, error, server


def starlette(life, *, fails=False):
    @asynccontextmanager
    async def lifespan(_):
        life.append("site up")
        if fails:
            message = "no database"
            raise LookupError(message)
        yield {"pool": "ready"}
        life.append("site down")

    async def page(request):
        return PlainTextResponse(request.state.pool)

    return Starlette(lifespan=lifespan, routes=[Route("/", page)])


async def test_we_start_before_the_site_and_stop_after_it():
    gateway = ScriptedGateway()
    life, error, _ = await lived(starlette(gateway.life), gateway)
    assert life == ["startup", "site up", "startup.complete", "site down", "shutdown", "shutdown.complete"]
    assert error is None


async def test_the_sites_state_reaches_the_server():
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    server = Server(STARTUP, SHUTDOWN)
    await NegotiatorMiddleware(starlette([]), negotiator=ScriptedGateway())(scope, server.receive, server.send)
    assert scope["state"] == {"pool": "ready"}


async def test_our_failed_start_stops_the_server_before_the_site_starts():
    gateway = ScriptedGateway(startup_error=ConfigError("the key file is missing", code="config_invalid"))
    life, error, server = await lived(starlette(gateway.life), gateway)
    assert life == ["startup", "startup.failed"]
    assert server.sent[0]["message"] == "the key file is missing"
    assert isinstance(error, ConfigError)


async def test_the_sites_failed_start_stops_the_server():
    gateway = ScriptedGateway()
    life, error, server = await lived(starlette(gateway.life, fails=True), gateway)
    assert life == ["startup", "site up", "shutdown", "startup.failed"]
    assert "no database" in server.sent[0]["message"]
    assert isinstance(error, LookupError)


async def raises_at_once(scope, receive, send):
    assert scope["type"] == "http"


async def raises_after_receiving(scope, receive, send):
    await receive()
    raise NotImplementedError


async def returns_at_once(scope, receive, send):
    return


async def returns_after_starting(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})


async def forgets_to_say_goodbye(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()


@pytest.mark.parametrize(
    "site",
    [raises_at_once, raises_after_receiving, returns_at_once, returns_after_starting, forgets_to_say_goodbye],
)
async def test_a_site_without_a_whole_lifespan_is_fine(site):
    life, error, _ = await lived(site)
    assert life == ["startup", "startup.complete", "shutdown", "shutdown.complete"]
    assert error is None


async def test_a_site_that_dies_while_it_serves_takes_us_with_it():
    async def dies(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        raise LookupError

    life, error, _ = await lived(dies)
    assert life == ["startup", "startup.complete", "shutdown"]
    assert isinstance(error, LookupError)


async def test_a_server_without_lifespan_serves():
    gateway = ScriptedGateway()
    server = Server()
    app = NegotiatorMiddleware(Starlette(), negotiator=gateway)
    await app(http_scope("GET", "/uaix/v1/ladder"), server.receive, server.send)
    assert (server.status, gateway.life) == (200, [])


async def test_the_constructor_asks_for_nothing_that_must_be_open():
    class Closed(ScriptedGateway):
        def __getattribute__(self, name):
            assert name not in {"api", "enforcement", "startup"}, f"{name} was used before the first request"
            return super().__getattribute__(name)

    gateway = ScriptedGateway()
    gateway.__class__ = Closed
    NegotiatorMiddleware(Starlette(), negotiator=gateway)


async def test_other_scopes_go_to_the_site():
    seen = []

    async def site(scope, receive, send):
        seen.append(scope["type"])

    server = Server()
    await NegotiatorMiddleware(site, negotiator=ScriptedGateway())({"type": "x"}, server.receive, server.send)
    assert seen == ["x"]
