"""The OpenAPI 3.1 document of our routes, made from the route table.

- Exactly the routes of the table. HEAD and OPTIONS are left out: every path answers them, so naming them says nothing.
- The site's own routes are not in it: they are the site's to describe.

Source: OpenAPI Specification 3.1.1; RFC 9457 for problems.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from negotiator import __version__
from negotiator.web.discovery.components import HEADERS, PROBLEM, SCHEMAS, SECURITY_SCHEMES, Json, reference
from negotiator.web.discovery.endpoints import ENDPOINTS, KEYLESS_JSON, Endpoint
from negotiator.web.discovery.links import Links

__all__ = ["describe"]

_PATH_PARAMETER = re.compile(r"\{(\w+)\}")
_ALWAYS_POSSIBLE = (405, 503)
_TOKEN_ALONE: list[dict[str, list[str]]] = [
    {"apiToken": []},
    {"negotiation": []},
    {"apiToken": [], "negotiation": []},
]
_SECURITY = {"none": [], "optional": [{}, *_TOKEN_ALONE], "required": _TOKEN_ALONE, "site": [{"siteToken": []}]}
_TAGS = {
    "document": "discovery",
    "text": "discovery",
    "stylesheet": "discovery",
    "status": "status",
    "command": "negotiation",
}
_HEADERS = {"document": ("ETag",), "text": ("ETag",), "stylesheet": ("ETag",), "status": (), "command": ()}


def describe(
    links: Links,
    *,
    support_boundary: str,
    messages: Json,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
) -> dict[str, Any]:
    """Return the OpenAPI document of `endpoints`.

    Args:
        links: of the site.
        support_boundary: what the site does not claim; the document's description.
        messages: component name to schema, for the messages that the routes take and give.
        endpoints: the rows to describe.
    """
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        path = endpoint.full_path(links.prefix)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.1",
        "info": {
            "title": "Capability negotiation",
            "version": __version__,
            "summary": "Declare what you can do; learn what you may do, and what is missing for the rest.",
            "description": support_boundary,
        },
        "servers": [{"url": links.of("") or "/"}],
        "paths": paths,
        "components": {"schemas": {**SCHEMAS, **messages}, "headers": HEADERS, "securitySchemes": SECURITY_SCHEMES},
        "tags": [{"name": name} for name in dict.fromkeys(_TAGS.values())],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "tags": [_TAGS[endpoint.kind]],
        "security": _SECURITY[endpoint.auth],
        "x-uaix-level": endpoint.level.name,
        "responses": _responses(endpoint),
    }
    parameters = [*_path_parameters(endpoint), *_query_parameters(endpoint)]
    if parameters:
        operation["parameters"] = parameters
    if endpoint.accepts:
        content = {media: _content(media, endpoint.request) for media in endpoint.accepts}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PATH_PARAMETER.findall(endpoint.path)
    ]


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": parameter.name,
            "in": "query",
            "description": parameter.summary,
            "schema": {"type": "string", "enum": list(parameter.values)} if parameter.values else {"type": "string"},
        }
        for parameter in endpoint.parameters
    ]


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    responses = {str(status): _success(endpoint, status) for status in endpoint.statuses}
    if endpoint.kind in {"document", "text", "stylesheet"}:
        responses["304"] = {"description": "not changed since the entity tag in If-None-Match"}
    for status in sorted({*endpoint.problems, *_ALWAYS_POSSIBLE}):
        responses.setdefault(str(status), PROBLEM)
    return responses


def _success(endpoint: Endpoint, status: int) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": HTTPStatus(status).phrase.lower()}
    headers = [*_HEADERS[endpoint.kind], *endpoint.headers, *(("Location",) if status == 201 else ())]
    if headers:
        answer["headers"] = {name: reference("headers", name) for name in headers}
    if endpoint.media:
        answer["content"] = {media: _content(media, endpoint.response) for media in endpoint.media}
    return answer


def _content(media_type: str, schema: str) -> dict[str, Any]:
    if media_type == KEYLESS_JSON:
        return {"schema": {"type": "array", "description": "the same message, by the field registry's order"}}
    if not media_type.endswith("json"):
        return {"schema": {"type": "string"}}
    return {"schema": reference("schemas", schema) if schema else {"type": "object"}}
