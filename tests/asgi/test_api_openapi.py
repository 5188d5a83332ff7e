"""The OpenAPI document: its structure, and that it lists exactly what the router answers."""

import re

import jsonschema
import pytest

from negotiator.web.api import create_api
from negotiator.web.discovery.endpoints import ENDPOINTS
from tests.support.web_api import NEGOTIATION_ID, PREFIX, ScriptedSite, client_of

# The parts of the OpenAPI 3.1 meta-schema that tools rely on.
_OPERATION = {
    "type": "object",
    "required": ["operationId", "responses", "security"],
    "properties": {
        "parameters": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "in", "schema"],
                "properties": {"in": {"enum": ["query", "path", "header"]}},
                "if": {"properties": {"in": {"const": "path"}}},
                "then": {"properties": {"required": {"const": True}}, "required": ["required"]},
            },
        },
        "requestBody": {"type": "object", "required": ["content"]},
        "responses": {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {"^[1-5][0-9]{2}$": {"type": "object", "required": ["description"]}},
            "additionalProperties": False,
        },
    },
}
_STRUCTURE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["openapi", "info", "paths", "components"],
    "properties": {
        "openapi": {"type": "string", "pattern": r"^3\.1\.[0-9]+$"},
        "info": {"type": "object", "required": ["title", "version"]},
        "servers": {"type": "array", "items": {"type": "object", "required": ["url"]}},
        "paths": {
            "type": "object",
            "patternProperties": {
                "^/": {"type": "object", "patternProperties": {"^(get|post|put|patch|delete)$": _OPERATION}}
            },
            "additionalProperties": False,
        },
        "components": {
            "type": "object",
            "properties": {
                "schemas": {"type": "object", "additionalProperties": {"type": "object"}},
                "securitySchemes": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "required": ["type"]},
                },
            },
        },
    },
}


async def _document():
    async with client_of(ScriptedSite()) as client:
        return (await client.get(f"{PREFIX}/openapi.json")).json()


def _references(value):
    if isinstance(value, dict):
        yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
        yield from (found for member in value.values() for found in _references(member))
    elif isinstance(value, list):
        yield from (found for member in value for found in _references(member))


async def test_it_has_the_structure_of_openapi_3_1():
    document = await _document()
    jsonschema.Draft202012Validator(_STRUCTURE).validate(document)
    identifiers = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(identifiers) == len(set(identifiers)) == len(ENDPOINTS)


async def test_it_lists_exactly_the_routes_of_the_router():
    document = await _document()
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    routed = set()
    async with client_of(ScriptedSite()) as client:
        for path in document["paths"]:
            allow = (await client.options(re.sub(r"\{\w+\}", NEGOTIATION_ID, path))).headers["allow"]
            routed |= {(method, path) for method in allow.split(", ")}
    assert described == {(method, path) for method, path in routed if method not in {"HEAD", "OPTIONS"}}
    assert described == {(e.method, e.full_path(PREFIX)) for e in ENDPOINTS}


def test_every_row_has_a_route_and_every_route_a_row():
    app = create_api(ScriptedSite())
    routed = {each.path for each in app._app.routes}
    assert routed == {e.full_path(PREFIX) for e in ENDPOINTS}


async def test_every_reference_leads_somewhere():
    document = await _document()
    references = set(_references(document))
    async with client_of(ScriptedSite()) as client:
        for reference in references:
            if reference.startswith("#/components/"):
                kind, name = reference.removeprefix("#/components/").split("/")
                assert name in document["components"][kind]
            else:
                assert (await client.get(reference)).status_code == 200
    assert f"{PREFIX}/schemas/error" in references
    assert "#/components/schemas/CapabilityMessage" in references


async def test_security_says_how_to_present_oneself():
    document = await _document()
    schemes = document["components"]["securitySchemes"]
    assert (schemes["apiToken"]["type"], schemes["apiToken"]["scheme"]) == ("http", "bearer")
    assert (schemes["negotiation"]["in"], schemes["negotiation"]["name"]) == ("header", "UAIX-Negotiation")
    declare = document["paths"][f"{PREFIX}/negotiations"]["post"]
    assert {} in declare["security"]
    assert {} not in document["paths"][f"{PREFIX}/me"]["get"]["security"]
    assert document["paths"][f"{PREFIX}/ladder"]["get"]["security"] == []


@pytest.mark.parametrize("status", ["400", "401", "403", "406", "413", "415", "422", "429", "503"])
async def test_refusals_of_a_declaration_are_described_as_problems(status):
    document = await _document()
    answer = document["paths"][f"{PREFIX}/negotiations"]["post"]["responses"][status]
    assert answer["content"]["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
