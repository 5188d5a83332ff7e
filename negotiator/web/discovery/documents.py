"""The discovery documents as JSON values. Each is a pure function of the site, its links and the path's parameters.

- A document says `href` where something can be fetched, and `path` where a template has to be filled in first.
- Only route rules with `publish` are shown, and of those what a client needs, never how they are guarded inside.
- Words about levels and profiles are the catalog's; nothing is said here that is not in `profiles/` or the policies.

What a document looks like as a page is its template's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from negotiator import __version__
from negotiator.errors import RequestError
from negotiator.messages import encode_message
from negotiator.model.levels import Level
from negotiator.model.routes import RouteRule
from negotiator.web.discovery.endpoints import ENDPOINTS, JSON, KEYLESS_JSON, Endpoint, endpoint_named
from negotiator.web.discovery.links import Links
from negotiator.web.discovery.openapi import describe
from negotiator.web.discovery.published import Published
from negotiator.web.discovery.representations import from_json

__all__ = ["DOCUMENTS", "SUMMARISED", "Builder", "alone"]

Builder: TypeAlias = Callable[[Published, Links, Mapping[str, str]], dict[str, Any]]

UAIX_VERSION = "1.0"

_ENCODINGS = (
    {"name": "keyed", "media_type": JSON},
    {"name": "minified", "media_type": JSON},
    {"name": "keyless", "media_type": KEYLESS_JSON},
)
_FALLBACK_ROUTES = MappingProxyType(
    {
        Level.L0: "start",
        Level.L1: "site",
        Level.L2: "start",
        Level.L3: "access",
        Level.L4: "access",
        Level.L5: "access",
        Level.L6: "access",
    }
)
"""Where each level goes when something richer is refused: always readable without a declaration."""

_LISTED = ("id", "family", "level", "title", "summary")
_UNLISTED = frozenset({"body", "example"})

_OPEN_TO_UNDECLARED = frozenset({"limited", "pass"})


def start(site: Published, links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the list of everything that can be read here without knowing a name."""
    return {
        "title": "Agent access",
        "summary": "What this site offers to agents, and how to ask for it.",
        "declare": _declare(links),
        "documents": [
            {"name": e.name, "href": links.to(e.name), "summary": e.summary, "level": e.level.name}
            for e in ENDPOINTS
            if e.kind == "document" and "{" not in e.path and e.name != "start"
        ],
        "routes": [_route(rule, links) for rule in _published(site)],
        "support_boundary": site.support_boundary,
    }


def manifest(site: Published, links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return `/.well-known/uaix.json`."""
    return {
        "uaix_version": UAIX_VERSION,
        "software": {"name": "uaix-negotiator", "version": __version__},
        "mode": site.mode,
        "bundle_digest": site.bundle_digest,
        "start": links.to("start"),
        "declare": _declare(links),
        "levels": [
            {
                "level": rung["level"],
                "profile": rung["profile"],
                "title": rung["title"],
                "href": links.to("profile", id=rung["profile"]),
            }
            for rung in site.catalog.ladder["levels"]
        ],
        "profiles": list(site.catalog.profiles),
        "encodings": list(_ENCODINGS),
        "schemas": [{"name": name, "href": links.to("schema", name=name)} for name in site.catalog.schemas],
        "endpoints": [_endpoint(endpoint, links) for endpoint in ENDPOINTS],
        "routes": [_route(rule, links) for rule in _published(site)],
        "public_keys": list(site.public_keys["keys"]),
        "support_boundary": site.support_boundary,
    }


def access(site: Published, links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return `/.well-known/uaix-agent-access.json`: the short form for agents.

    The answers are taken once: of a bundle that is replaced meanwhile, no level is shown beside another one's.
    """
    by_level = site.access
    return {
        "uaix_version": UAIX_VERSION,
        "declare": _declare(links),
        "levels": [_level_access(site, links, rung, by_level) for rung in site.catalog.ladder["levels"]],
        "support_boundary": site.support_boundary,
    }


def ladder(site: Published, links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the ladder with a link to each profile and its example."""
    levels = [{**rung, **_profile_links(site, links, rung["profile"])} for rung in site.catalog.ladder["levels"]]
    return {**site.catalog.ladder, "levels": levels}


def profiles(site: Published, links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return every profile by id and title."""
    listed = [
        {member: found.document[member] for member in _LISTED if member in found.document}
        | _profile_links(site, links, name)
        for name, found in site.catalog.profiles.items()
    ]
    return {"profiles": sorted(listed, key=lambda each: (each["family"], each.get("level", ""), each["id"]))}


def profile(site: Published, links: Links, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return one profile."""
    found = site.catalog.profiles.get(parameters["id"])
    if found is None:
        raise _unknown(links, "profiles")
    document = {name: member for name, member in found.document.items() if name not in _UNLISTED}
    schema = {"body_schema": links.to("schema", name=found.body)} if found.body else {}
    return {**document, **schema, **_profile_links(site, links, found.id)}


def schemas(site: Published, links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return every schema by name and title."""
    return {
        "schemas": [
            {"name": name, "title": schema["title"], "href": links.to("schema", name=name)}
            for name, schema in site.catalog.schemas.items()
        ]
    }


def schema(site: Published, links: Links, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return one schema, unchanged."""
    found = site.catalog.schemas.get(parameters["name"])
    if found is None:
        raise _unknown(links, "schemas")
    return dict(found)


def fields(site: Published, _links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the field registry, unchanged."""
    return dict(site.catalog.registry)


def examples(site: Published, links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return which profiles have an example."""
    return {
        "examples": [
            {
                "profile": name,
                "title": site.catalog.profiles[name].document["title"],
                "href": links.to("example", profile=name),
                "media_types": [JSON, KEYLESS_JSON],
            }
            for name in site.catalog.examples
        ]
    }


def example(site: Published, links: Links, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return one example in both forms; as JSON and as keyless JSON each is served alone."""
    keyed = site.catalog.examples.get(parameters["profile"])
    if keyed is None:
        raise _unknown(links, "examples")
    return {
        "profile": parameters["profile"],
        "title": site.catalog.profiles[parameters["profile"]].document["title"],
        "keyed": keyed,
        "keyless": from_json(encode_message(keyed, "keyless", site.catalog)),
    }


def openapi(site: Published, links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the OpenAPI document."""
    envelope = {"$ref": links.to("schema", name="envelope")}
    messages = {
        "Message": envelope,
        "CapabilityMessage": _message(envelope, links.to("schema", name="capability")),
        "TaskStatusMessage": _message(envelope, links.to("schema", name="task-status")),
        "FinalReportMessage": _message(envelope, links.to("schema", name="final-report")),
        "NegotiationMessage": _message(envelope, links.to("schema", name="negotiation")),
        "Problem": {"$ref": links.to("schema", name="error")},
    }
    return describe(links, support_boundary=site.support_boundary, messages=messages)


def keys(site: Published, _links: Links, _parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the JWKS document."""
    return dict(site.public_keys)


DOCUMENTS: Mapping[str, Builder] = MappingProxyType(
    {
        "start": start,
        "site": manifest,
        "access": access,
        "ladder": ladder,
        "profiles": profiles,
        "profile": profile,
        "schemas": schemas,
        "schema": schema,
        "fields": fields,
        "examples": examples,
        "example": example,
        "openapi": openapi,
        "keys": keys,
        "llms": start,
    }
)
"""Every document by the name of its row in the route table."""


SUMMARISED = frozenset({"openapi"})
"""Documents whose pages are a summary of them: what only machines need is left to the twin."""


def alone(name: str, value: dict[str, Any], media_type: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return what is served of a document in a JSON type: the document, but of an example only the message."""
    if name != "example":
        return value
    return value["keyless" if media_type == KEYLESS_JSON else "keyed"]


def _declare(links: Links) -> dict[str, Any]:
    endpoint = endpoint_named("negotiate")
    return {
        "method": endpoint.method,
        "href": links.to("negotiate"),
        "content_types": list(endpoint.accepts),
        "body_schema": links.to("schema", name="capability"),
        "examples": links.to("examples"),
        "token_header": "UAIX-Negotiation",
    }


def _endpoint(endpoint: Endpoint, links: Links) -> dict[str, Any]:
    """Return a row of the route table; a template is a `path`, everything else an `href`."""
    where = "path" if "{" in endpoint.path else "href"
    return {
        "name": endpoint.name,
        "method": endpoint.method,
        where: links.of(endpoint.full_path(links.prefix)),
        "level": endpoint.level.name,
        "credential": endpoint.auth,
        "summary": endpoint.summary,
    }


def _published(site: Published) -> Iterator[RouteRule]:
    return (rule for rule in site.routes if rule.publish)


def _route(rule: RouteRule, links: Links) -> dict[str, Any]:
    return {
        "methods": sorted(rule.methods) or ["*"],
        "path": links.of(rule.path),
        "action": rule.action,
        "resource": rule.resource.name,
        "declaration": "optional" if rule.undeclared in _OPEN_TO_UNDECLARED else "required",
    }


def _level_access(
    site: Published, links: Links, rung: Mapping[str, Any], by_level: Mapping[Level, Mapping[str, Any]]
) -> dict[str, Any]:
    level = Level.parse(rung["level"])
    answers = by_level[level]
    return {
        "level": rung["level"],
        "profile": rung["profile"],
        "title": rung["title"],
        "fallback": {"text": rung["fallback"], "href": links.to(_FALLBACK_ROUTES[level])},
        "allowed": [action for action, answer in answers.items() if answer["status"] == "allowed"],
        "conditional": {
            action: _missing(answer) for action, answer in answers.items() if answer["status"] == "conditional"
        },
        "refused": [action for action, answer in answers.items() if answer["status"] == "refused"],
        "routes": [_route(rule, links) | _standing_of(rule, answers) for rule in _published(site)],
    }


def _standing_of(rule: RouteRule, answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the level may do on one route: the resource's own answer, else the action's.

    Policy ids and reasons are left out: they are for those who declare.
    """
    answer = answers[rule.action]
    own = answer.get("resources", {}).get(rule.resource.name, answer)
    return {"status": own["status"], "obligations": _missing(own)}


def _missing(answer: Mapping[str, Any]) -> list[str]:
    return [obligation["id"] for obligation in answer["obligations"]]


def _profile_links(site: Published, links: Links, name: str) -> dict[str, str]:
    example_link = {"example": links.to("example", profile=name)} if name in site.catalog.examples else {}
    return {"href": links.to("profile", id=name)} | example_link


def _message(envelope: Mapping[str, str], body: str) -> dict[str, Any]:
    return {"allOf": [envelope, {"type": "object", "properties": {"body": {"$ref": body}}}]}


def _unknown(links: Links, listing: str) -> RequestError:
    message = f"there is nothing of that name; {links.to(listing)} lists what there is"
    return RequestError(message, code="not_found")
