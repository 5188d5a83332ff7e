"""The one route table: every HTTP route that is ours, as data.

The router, the OpenAPI document, the discovery documents and the documentation are made from it, so none of them can
name a route that another does not. A row says what the route is; what it does is a handler, found by the row's name.

It holds no code, and says nothing about the site's own routes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from negotiator.model.levels import Level
from negotiator.model.obligations import EVIDENCE_KINDS
from negotiator.web.languages import LANGUAGES

__all__ = [
    "ENDPOINTS",
    "JSON",
    "KEYLESS_JSON",
    "LANGUAGE",
    "LLMS_PATH",
    "WELL_KNOWN_ACCESS",
    "WELL_KNOWN_PATHS",
    "WELL_KNOWN_SITE",
    "Endpoint",
    "Parameter",
    "endpoint_named",
]

JSON = "application/json"
KEYLESS_JSON = "application/vnd.uaix.keyless+json"

WELL_KNOWN_SITE = "/.well-known/uaix.json"
WELL_KNOWN_ACCESS = "/.well-known/uaix-agent-access.json"
LLMS_PATH = "/llms.txt"
"""Ours only where the site answers 404."""
WELL_KNOWN_PATHS = frozenset({WELL_KNOWN_SITE, WELL_KNOWN_ACCESS})
"""The paths outside the prefix that are ours (RFC 8615)."""

_PROSE = ("text/html", "text/markdown", "text/plain")

Auth = Literal["none", "optional", "required", "site"]
Kind = Literal["document", "text", "stylesheet", "status", "command"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter of a route."""

    name: str
    summary: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One route.

    Attributes:
        name: unique; the handler's name, the OpenAPI `operationId` and the relation in discovery documents.
        method: upper-case; GET also answers HEAD, and OPTIONS is answered for every path.
        path: Starlette path syntax; below the prefix unless `rooted`.
        rooted: `path` stands at the site's root.
        root_alias: answered at the site's root, too, where `root_aliases` is on.
        kind: `document` is public, cacheable discovery in several representations, `text` in one; `command` is never
            cached.
        summary: one sentence without its full stop.
        level: the lowest client level that has a use for it.
        auth: whether a credential or negotiation is read at all, and whether one is needed; `site` takes only a
            credential of the site itself.
        request: name of the request's schema; empty where no body is read.
        response: name of the schema of the first success.
        media: media types of a success, the default first.
        accepts: media types of the request.
        statuses: successes, the usual one first.
        problems: statuses of the problem responses that this route adds to 405 and 503.
        headers: our response headers that a success carries.
        query: its query parameters.
    """

    name: str
    method: str
    path: str
    summary: str
    level: Level
    kind: Kind = "document"
    rooted: bool = False
    root_alias: bool = False
    auth: Auth = "none"
    request: str = ""
    response: str = ""
    media: tuple[str, ...] = (JSON, *_PROSE)
    accepts: tuple[str, ...] = ()
    statuses: tuple[int, ...] = (200,)
    problems: tuple[int, ...] = (400, 406)
    headers: tuple[str, ...] = ()
    query: tuple[Parameter, ...] = ()

    def full_path(self, prefix: str) -> str:
        """Return the path template from the site's root, e.g. `/uaix/v1/negotiations/{id}`."""
        return self.path if self.rooted else prefix + self.path

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All query parameters; every text for people takes `lang`."""
        return (*self.query, LANGUAGE) if self.kind in {"document", "text"} else self.query


LANGUAGE = Parameter("lang", "the language of sentences for people, instead of Accept-Language", tuple(LANGUAGES))

_STRICT = Parameter("strict", "demand all eighteen body fields", ("0", "1"))
_PROFILE = Parameter("profile", "check against this profile id instead of the message's own")
_PAGE = Parameter("page", "the path of one page; without it, the list of records")
_KIND = Parameter("kind", "what it is evidence of; a final report says so itself", EVIDENCE_KINDS)
_MESSAGE_TYPES = (JSON, KEYLESS_JSON, "application/*+json")
_MESSAGES_OUT = (JSON, KEYLESS_JSON)

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        name="site",
        method="GET",
        path=WELL_KNOWN_SITE,
        rooted=True,
        summary="What this site offers to agents: versions, levels, routes, schemas and keys",
        level=Level.L0,
    ),
    Endpoint(
        name="access",
        method="GET",
        path=WELL_KNOWN_ACCESS,
        rooted=True,
        summary="The short form: what each level may do here, where to declare, what to fall back to",
        level=Level.L0,
    ),
    Endpoint(
        name="start",
        method="GET",
        path="/",
        summary="Where to begin: every document with a link",
        level=Level.L0,
    ),
    Endpoint(
        name="ladder",
        method="GET",
        path="/ladder",
        summary="The seven client levels: what each may do, must not imply, and falls back to",
        level=Level.L0,
    ),
    Endpoint(
        name="profiles",
        method="GET",
        path="/profiles",
        summary="Every published profile",
        level=Level.L0,
    ),
    Endpoint(
        name="profile",
        method="GET",
        path="/profiles/{id}",
        summary="One profile by its id",
        level=Level.L0,
        problems=(400, 404, 406),
    ),
    Endpoint(
        name="schemas",
        method="GET",
        path="/schemas",
        summary="Every JSON Schema",
        level=Level.L1,
    ),
    Endpoint(
        name="schema",
        method="GET",
        path="/schemas/{name}",
        summary="One JSON Schema (2020-12) by its name",
        level=Level.L1,
        media=(JSON, "application/schema+json", *_PROSE),
        problems=(400, 404, 406),
    ),
    Endpoint(
        name="fields",
        method="GET",
        path="/registry/fields",
        summary="The order of fields in keyless messages",
        level=Level.L1,
    ),
    Endpoint(
        name="examples",
        method="GET",
        path="/examples",
        summary="A valid example of every profile",
        level=Level.L0,
    ),
    Endpoint(
        name="example",
        method="GET",
        path="/examples/{profile}",
        summary="A valid message of one profile, keyed or keyless",
        level=Level.L0,
        media=(JSON, KEYLESS_JSON, *_PROSE),
        problems=(400, 404, 406),
    ),
    Endpoint(
        name="openapi",
        method="GET",
        path="/openapi.json",
        summary="OpenAPI 3.1 description of these routes",
        level=Level.L1,
        media=(JSON, "application/vnd.oai.openapi+json", *_PROSE),
    ),
    Endpoint(
        name="keys",
        method="GET",
        path="/keys",
        summary="The public keys that verify what is signed here (RFC 7517)",
        level=Level.L1,
        media=(JSON, "application/jwk-set+json", *_PROSE),
    ),
    Endpoint(
        name="llms",
        method="GET",
        path=LLMS_PATH,
        rooted=True,
        kind="text",
        summary="Where to begin, for language models (llmstxt.org); the site's own text where it has one",
        level=Level.L0,
        media=("text/plain",),
        problems=(400,),
    ),
    Endpoint(
        name="parity",
        method="GET",
        path="/parity",
        kind="status",
        summary="What each of these pages shows of its JSON twin, with the digests of both",
        level=Level.L2,
        response="Parity",
        media=(JSON,),
        problems=(400, 404),
        query=(_PAGE,),
    ),
    Endpoint(
        name="stylesheet",
        method="GET",
        path="/static/pages.css",
        kind="stylesheet",
        summary="How the HTML pages look",
        level=Level.L0,
        media=("text/css",),
        problems=(),
    ),
    Endpoint(
        name="healthz",
        method="GET",
        path="/healthz",
        root_alias=True,
        kind="status",
        summary="Whether the process answers",
        level=Level.L0,
        response="Health",
        media=(JSON,),
        problems=(),
    ),
    Endpoint(
        name="readyz",
        method="GET",
        path="/readyz",
        root_alias=True,
        kind="status",
        summary="Whether the site can be governed now; details for operators only",
        level=Level.L0,
        response="Health",
        media=(JSON,),
        statuses=(200, 503),
        problems=(),
    ),
    Endpoint(
        name="metrics",
        method="GET",
        path="/metrics",
        root_alias=True,
        kind="status",
        summary="Numbers of this process for Prometheus; for operators only",
        level=Level.L0,
        media=("text/plain",),
        problems=(404,),
    ),
    Endpoint(
        name="negotiate",
        method="POST",
        path="/negotiations",
        kind="command",
        summary="Declare what you can do and learn what you may do; with UAIX-Negotiation, renew",
        level=Level.L1,
        auth="optional",
        request="CapabilityMessage",
        response="NegotiationMessage",
        media=_MESSAGES_OUT,
        accepts=_MESSAGE_TYPES,
        statuses=(201, 200),
        problems=(400, 401, 403, 406, 413, 415, 422, 429),
        headers=("UAIX-Decision", "UAIX-Level"),
        query=(_STRICT,),
    ),
    Endpoint(
        name="negotiation",
        method="GET",
        path="/negotiations/{id}",
        kind="command",
        summary="Read one of your own negotiations; its token is not shown again",
        level=Level.L1,
        auth="required",
        response="NegotiationMessage",
        media=_MESSAGES_OUT,
        problems=(400, 401, 404, 406),
        headers=("UAIX-Level",),
    ),
    Endpoint(
        name="end_negotiation",
        method="DELETE",
        path="/negotiations/{id}",
        kind="command",
        summary="End one of your own negotiations; its token is void from then on",
        level=Level.L1,
        auth="required",
        media=(),
        statuses=(204,),
        problems=(400, 401, 404),
    ),
    Endpoint(
        name="validate",
        method="POST",
        path="/validate",
        kind="command",
        summary="Check any message and store nothing",
        level=Level.L1,
        request="Message",
        response="ValidationReport",
        media=(JSON,),
        accepts=_MESSAGE_TYPES,
        problems=(400, 413, 415, 429),
        query=(_STRICT, _PROFILE),
    ),
    Endpoint(
        name="me",
        method="GET",
        path="/me",
        kind="command",
        summary="Your own identity, negotiations and scopes",
        level=Level.L1,
        auth="required",
        response="Self",
        media=(JSON,),
        problems=(400, 401, 406),
    ),
    Endpoint(
        name="proposal",
        method="GET",
        path="/memory/proposals/{id}",
        kind="command",
        summary="Read one of your own memory proposals",
        level=Level.L4,
        auth="required",
        response="Proposal",
        media=(JSON,),
        problems=(400, 401, 404, 406),
    ),
    Endpoint(
        name="effect",
        method="GET",
        path="/effects/{id}",
        kind="command",
        summary="Read what became of one of your own effects; its id is that of its decision",
        level=Level.L2,
        auth="required",
        response="Effect",
        media=(JSON,),
        problems=(400, 401, 404, 406),
    ),
    Endpoint(
        name="settle_effect",
        method="POST",
        path="/effects/{id}/settle",
        kind="command",
        summary="For the site, never for agents: say whether an effect was carried out of which nobody knows",
        level=Level.L0,
        auth="site",
        request="Settlement",
        response="Effect",
        media=(JSON,),
        accepts=(JSON,),
        problems=(400, 401, 403, 404, 406, 409, 413, 415),
    ),
    Endpoint(
        name="request_consent",
        method="POST",
        path="/consents",
        kind="command",
        summary="Ask a human to consent to one request of yours; needs an Idempotency-Key",
        level=Level.L3,
        auth="required",
        request="ConsentRequest",
        response="Consent",
        media=(JSON,),
        accepts=(JSON,),
        statuses=(202,),
        problems=(400, 401, 403, 406, 413, 415, 422, 429),
    ),
    Endpoint(
        name="consent",
        method="GET",
        path="/consents/{id}",
        kind="command",
        summary="Where one of your own consent requests stands; with Prefer: wait=N, once it is decided",
        level=Level.L3,
        auth="required",
        response="Consent",
        media=(JSON,),
        problems=(400, 401, 404, 406),
    ),
    Endpoint(
        name="cancel_consent",
        method="POST",
        path="/consents/{id}/cancel",
        kind="command",
        summary="Take back one of your own consent requests",
        level=Level.L3,
        auth="required",
        response="Consent",
        media=(JSON,),
        problems=(400, 401, 404, 406),
    ),
    Endpoint(
        name="revoke_approval",
        method="DELETE",
        path="/approvals/{id}",
        kind="command",
        summary="Give back one of your own approvals; it covers nothing from then on",
        level=Level.L3,
        auth="required",
        media=(),
        statuses=(204,),
        problems=(400, 401, 404),
    ),
    Endpoint(
        name="approval_receipt",
        method="GET",
        path="/approvals/{id}/receipt",
        kind="command",
        summary="The signed receipt of one of your own approvals",
        level=Level.L3,
        auth="required",
        response="Receipt",
        media=(JSON,),
        problems=(400, 401, 404, 406),
    ),
    Endpoint(
        name="begin_task",
        method="POST",
        path="/tasks",
        kind="command",
        summary="Begin a long task that runs at your side; needs an Idempotency-Key",
        level=Level.L4,
        auth="required",
        request="TaskRequest",
        response="Task",
        media=(JSON,),
        accepts=(JSON,),
        statuses=(201, 200),
        problems=(400, 401, 403, 406, 413, 415, 422, 429),
        headers=("UAIX-Decision", "UAIX-Level"),
    ),
    Endpoint(
        name="task",
        method="GET",
        path="/tasks/{id}",
        kind="command",
        summary="Where one of your own tasks stands",
        level=Level.L4,
        auth="required",
        response="Task",
        media=(JSON,),
        problems=(400, 401, 404, 406),
    ),
    Endpoint(
        name="task_status",
        method="POST",
        path="/tasks/{id}/status",
        kind="command",
        summary="Say where one of your own tasks stands",
        level=Level.L4,
        auth="required",
        request="TaskStatusMessage",
        response="Task",
        media=(JSON,),
        accepts=_MESSAGE_TYPES,
        problems=(400, 401, 404, 406, 409, 413, 415, 422),
    ),
    Endpoint(
        name="task_report",
        method="POST",
        path="/tasks/{id}/final-report",
        kind="command",
        summary="Close one of your own tasks with its final report, which is kept as evidence",
        level=Level.L4,
        auth="required",
        request="FinalReportMessage",
        response="Task",
        media=(JSON,),
        accepts=_MESSAGE_TYPES,
        problems=(400, 401, 404, 406, 409, 413, 415, 422),
    ),
    Endpoint(
        name="add_evidence",
        method="POST",
        path="/evidence",
        kind="command",
        summary="Hand in evidence, signed by others in UAIX-Attestation or your own; name it in UAIX-Evidence",
        level=Level.L3,
        auth="required",
        request="Evidence",
        response="EvidenceLink",
        media=(JSON,),
        accepts=("*/*",),
        statuses=(201, 200),
        problems=(400, 401, 403, 406, 409, 413, 415, 422),
        query=(_KIND,),
    ),
    Endpoint(
        name="evidence",
        method="GET",
        path="/evidence/{id}",
        kind="command",
        summary="What evidence counts for you as, by its id",
        level=Level.L3,
        auth="required",
        response="EvidenceShown",
        media=(JSON,),
        problems=(400, 401, 404, 406),
    ),
    Endpoint(
        name="withdraw_evidence",
        method="DELETE",
        path="/evidence/{id}",
        kind="command",
        summary="Take back evidence that you have handed in; it counts for nothing from then on",
        level=Level.L3,
        auth="required",
        media=(),
        statuses=(204,),
        problems=(400, 401, 404),
    ),
)
"""Every route, in the order in which it is listed; literal paths stand before the patterns that would match them."""


def endpoint_named(name: str, among: Iterable[Endpoint] = ENDPOINTS) -> Endpoint:
    """Return the row called `name`; KeyError if the table has none, since only code asks."""
    for endpoint in among:
        if endpoint.name == name:
            return endpoint
    raise KeyError(name)
