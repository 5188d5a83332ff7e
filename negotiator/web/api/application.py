"""Our own routes as one ASGI application, made from the route table.

- One Starlette route for each path; `Resource` knows the methods.
- Whatever a handler raises becomes a problem response here and nowhere else.
- No redirect is ever made from a request's own address: a path with a slash too many is 404.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from negotiator.errors import RequestError, UnavailableError
from negotiator.web.api.consents import ConsentRoutes
from negotiator.web.api.documents import DocumentRoutes
from negotiator.web.api.effects import EffectRoutes
from negotiator.web.api.evidence import EvidenceRoutes
from negotiator.web.api.negotiations import NegotiationRoutes
from negotiator.web.api.ports import Site
from negotiator.web.api.refusals import Refusals
from negotiator.web.api.resources import BodilessHead, Handler, Resource
from negotiator.web.api.status import StatusRoutes
from negotiator.web.api.tasks import TaskRoutes
from negotiator.web.api.validation import ValidationRoutes
from negotiator.web.discovery.endpoints import ENDPOINTS, WELL_KNOWN_PATHS, Endpoint

__all__ = ["create_api", "own_paths"]


def create_api(site: Site) -> ASGIApp:
    """Return the application that answers our own paths of `site`."""
    refusals = Refusals(site)
    app = Starlette(
        routes=_routes(site, refusals),
        exception_handlers={
            RequestError: refusals.of_error,
            UnavailableError: refusals.of_error,
            404: refusals.of_missing_path,
            405: refusals.of_method,
            ClientDisconnect: _nobody_listens,
            Exception: refusals.of_fault,
        },
    )
    app.router.redirect_slashes = False
    return BodilessHead(app)


def own_paths(site: Site) -> frozenset[str]:
    """Return the exact paths outside the prefix that are ours."""
    return WELL_KNOWN_PATHS | {endpoint.path for endpoint in _aliased(site)}


def _aliased(site: Site) -> list[Endpoint]:
    """Return the rows that are answered at the site's root, too."""
    return [endpoint for endpoint in ENDPOINTS if endpoint.root_alias and site.root_aliases]


def _routes(site: Site, refusals: Refusals) -> list[Route]:
    handlers = _handlers(site, refusals)
    resources: dict[str, dict[str, Handler]] = {}
    for endpoint in ENDPOINTS:
        resources.setdefault(endpoint.full_path(site.prefix), {})[endpoint.method] = handlers[endpoint.name]
    for endpoint in _aliased(site):
        resources.setdefault(endpoint.path, {})[endpoint.method] = handlers[endpoint.name]
    return [Route(path, Resource(methods)) for path, methods in resources.items()]


def _handlers(site: Site, refusals: Refusals) -> Mapping[str, Handler]:
    documents, status, validation = DocumentRoutes(site), StatusRoutes(site), ValidationRoutes(site)
    negotiations, effects = NegotiationRoutes(site, refusals), EffectRoutes(site)
    consents, evidence, tasks = ConsentRoutes(site), EvidenceRoutes(site), TaskRoutes(site, refusals)
    return {
        **{e.name: documents.handler(e.name) for e in ENDPOINTS if e.kind == "document"},
        "llms": documents.llms,
        "stylesheet": documents.stylesheet,
        "parity": documents.parity,
        "healthz": status.healthz,
        "readyz": status.readyz,
        "metrics": status.metrics,
        "negotiate": negotiations.negotiate,
        "negotiation": negotiations.negotiation,
        "end_negotiation": negotiations.end_negotiation,
        "validate": validation.validate,
        "me": negotiations.me,
        "proposal": negotiations.proposal,
        "effect": effects.effect,
        "settle_effect": effects.settle_effect,
        "request_consent": consents.request_consent,
        "consent": consents.consent,
        "cancel_consent": consents.cancel_consent,
        "revoke_approval": consents.revoke_approval,
        "approval_receipt": consents.approval_receipt,
        "begin_task": tasks.begin_task,
        "task": tasks.task,
        "task_status": tasks.task_status,
        "task_report": tasks.task_report,
        "add_evidence": evidence.add_evidence,
        "evidence": evidence.evidence,
        "withdraw_evidence": evidence.withdraw_evidence,
    }


async def _nobody_listens(_request: Request, _error: Exception) -> Response:
    """The client left while its body was read: nothing was decided, and nobody reads this."""
    return Response(status_code=400)
