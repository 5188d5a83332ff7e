"""The same five addresses behind the routers of Starlette, Django and Flask, and behind one with every bad habit.

Each handler notes its method and the path that it is written for, as that router understood the request.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from posixpath import normpath
from urllib.parse import parse_qs, unquote

from asgiref.wsgi import WsgiToAsgi
from django.conf import settings as django_settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.urls import path as django_path
from flask import Flask
from flask import request as flask_request
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["PATHS", "ROUTERS", "Reached", "django_application"]

Reached = list[tuple[str, str]]
"""Method and written path of the handlers that ran."""

PATHS = ("/comments", "/comments/{id}", "/slashed/", "/sub/inner", "/files/{path:path}")
_METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS")


def starlette_site(reached: Reached) -> ASGIApp:
    """Starlette, with a mount."""

    def route(path: str, written: str) -> Route:
        async def handler(request: Request) -> PlainTextResponse:
            reached.append((request.method, written))
            return PlainTextResponse("")

        return Route(path, handler, methods=_METHODS)

    inner = Mount("/sub", app=Router(routes=[route("/inner", "/sub/inner")]))
    return Starlette(routes=[*(route(path, path) for path in PATHS if path != "/sub/inner"), inner])


def django_site(reached: Reached) -> ASGIApp:
    """Django's ASGI handler; its function views take every method."""

    def view(written: str) -> Callable[..., HttpResponse]:
        def handler(request: HttpRequest, **_: str) -> HttpResponse:
            reached.append((request.method or "", written))
            return HttpResponse("")

        return handler

    written = {path: re.sub(r"{(\w+)(?::path)?}", _django_part, path.removeprefix("/")) for path in PATHS}
    return django_application(django_path(route, view(path)) for path, route in written.items())


def django_application(routes: Iterable[URLPattern]) -> ASGIApp:
    """Return Django with these routes. Its settings are the process's: the last one that was made is served."""
    if not django_settings.configured:
        django_settings.configure(
            SECRET_KEY="made up",
            ALLOWED_HOSTS=["*"],
            MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
            LOGGING_CONFIG=None,
        )
    django_settings.ROOT_URLCONF = tuple(routes)
    application: ASGIApp = get_asgi_application()
    return application


def _django_part(found: re.Match[str]) -> str:
    return f"<{'path' if found[0].endswith(':path}') else 'str'}:{found[1]}>"


def flask_site(reached: Reached) -> ASGIApp:
    """Flask, through asgiref's adapter."""
    flask = Flask("site")
    for path in PATHS:

        def handler(written: str = path, **_: str) -> str:
            reached.append((flask_request.method, written))
            return ""

        rule = re.sub(r"{(\w+)(?::path)?}", lambda found: _django_part(found).replace("str:", "string:"), path)
        flask.add_url_rule(rule, path, handler, methods=_METHODS, provide_automatic_options=False)
    adapted: ASGIApp = WsgiToAsgi(flask)
    return adapted


_HABITS: Sequence[Callable[[str], str]] = (
    lambda path: path.partition("\0")[0],
    lambda path: unquote(unquote(path)),
    lambda path: path.replace("\\", "/"),
    lambda path: re.sub(r";[^/]*", "", path),
    lambda path: unicodedata.normalize("NFKC", path),
    lambda path: "/".join(segment.rstrip(" .") if segment.strip(" .") else segment for segment in path.split("/")),
    lambda path: re.sub(r"/{2,}", "/", path),
    lambda path: normpath(path) + ("/" if path.endswith("/") and path != "/" else ""),
    str.casefold,
)


def careless_site(reached: Reached) -> ASGIApp:
    """A plain callable that tidies paths up in every way known and lets the client name another method."""
    patterns = [(re.compile(re.sub(r"{\w+(:path)?}", r".+", path).rstrip("/") + "/?"), path) for path in PATHS]

    async def site(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope["root_path"])
        for habit in _HABITS:
            path = habit(path)
        found = [written for pattern, written in patterns if pattern.fullmatch(f"/{path.lstrip('/')}")]
        if found:
            reached.append((await _meant(scope, receive), found[0]))
        await PlainTextResponse("")(scope, receive, send)

    return site


async def _meant(scope: Scope, receive: Receive) -> str:
    """Return the method that a client of a careless framework means."""
    headers = {name.lower(): value.decode() for name, value in scope["headers"]}
    for name in (b"x-http-method-override", b"x-http-method", b"x-method-override"):
        if name in headers:
            return headers[name].upper()
    query = scope["query_string"].decode() + "&" + (await Request(scope, receive).body()).decode()
    return parse_qs(query).get("_method", [scope["method"]])[0].upper()


ROUTERS: dict[str, Callable[[Reached], ASGIApp]] = {
    "Starlette": starlette_site,
    "Django": django_site,
    "Flask": flask_site,
    "careless": careless_site,
}
