"""Problem responses: the one place that knows HTTP statuses.

Rules:

- Every code has one row: status, title, and the next action where the refusal names none.
- A refusal without a row is 403, an error without one 400 (caller), 503 (unavailable) or 500 (us): never a success.
- Errors that only an operator can mend say nothing of their cause to the caller.
- Three forms, by `Accept`: `application/problem+json` (default, also where nothing fits), `text/plain`, and exactly
  `{"code", "url"}` as `application/vnd.uaix.no-op+json`.
- Never cached. 401 says how to declare, 429 and 503 when to come back. No link is built from what the client sent.

It does not decide, record or log. Source: RFC 9457, RFC 9110 sections 10.2.3 and 11.6.1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from negotiator.errors import NegotiatorError, RequestError, UnavailableError
from negotiator.model.consents import AccessRequest
from negotiator.model.findings import DECLARATION_FINDING_CODES, Finding, Severity
from negotiator.model.governed import Refusal
from negotiator.model.times import format_time
from negotiator.web.headers import VARY, accept_header
from negotiator.web.media import negotiate_media

__all__ = [
    "NO_OP_JSON",
    "PROBLEMS",
    "PROBLEM_JSON",
    "ProblemKind",
    "ProblemPages",
    "close_code",
    "problem_kind",
    "refusal_of",
    "send_early",
]

PROBLEM_JSON = "application/problem+json"
NO_OP_JSON = "application/vnd.uaix.no-op+json"
_OFFERS = (PROBLEM_JSON, "application/json", "text/plain", NO_OP_JSON)
_TYPE = "urn:uaix-negotiator:problem:"
_VARY = ", ".join(("Accept", "Authorization", *VARY))

_MEND = "send the request again, corrected"
_DECLARE = "post a capability declaration to {declare} and send its token in UAIX-Negotiation"
_OBLIGE = "meet the obligations listed, then send the request again"
_STOP = "do not repeat the request; use the fallback"
_LATER = "wait as retry_after says, then send the request again"
_HUMAN = "ask a human for consent, then send the request again with UAIX-Consent"
_ASK = "ask the site's operator or a human"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """What a code means over HTTP.

    Attributes:
        status: the HTTP status.
        title: the same for every occurrence (RFC 9457 section 3.1.3).
        next_action: what to do where the refusal names nothing; `{declare}` stands for that address.
    """

    status: int
    title: str
    next_action: str


_ROWS: tuple[tuple[str, int, str, str], ...] = (
    ("declaration_required", 401, "a capability declaration is needed", _DECLARE),
    (
        "credentials_invalid",
        401,
        "the credential cannot be used",
        "get a new credential and declare again at {declare}",
    ),
    ("negotiation_expired", 401, "the negotiation has ended", _DECLARE),
    ("body_malformed", 400, "the body cannot be read", _MEND),
    ("header_malformed", 400, "a header cannot be used", _MEND),
    ("text_not_storable", 400, "a text cannot be stored as it is", _MEND),
    ("query_malformed", 400, "the query cannot be used", _MEND),
    ("ambiguous_path", 400, "the path can be read in more than one way", "send the path in its plain form"),
    ("method_override", 400, "the method is overridden", "send the request with the method that you mean"),
    ("mixed_credentials", 400, "two kinds of credential", "send one of the two"),
    ("keyless_shape", 400, "a keyless message of the wrong shape", _MEND),
    ("keyless_overflow", 400, "a keyless message with too many places", _MEND),
    ("unsupported_alias", 400, "an alias that is not supported", _MEND),
    ("duplicate_key", 400, "a key stands twice", _MEND),
    ("json_too_deep", 400, "nested too deeply", _MEND),
    ("number_not_exact", 400, "a number that is not exact", _MEND),
    ("invalid_unicode", 400, "text that is not Unicode", _MEND),
    ("not_a_message", 400, "not a message", _MEND),
    ("time_malformed", 400, "a time that cannot be read", _MEND),
    ("unknown_profile", 422, "a profile that is not accepted here", "use a profile that this site publishes"),
    ("unknown_field", 422, "a field that the envelope does not have", _MEND),
    ("unknown_level", 422, "not a client level", "use one of L0 to L6"),
    (
        "declaration_invalid",
        422,
        "the declaration is not accepted as it is",
        "mend what the findings name, then declare again",
    ),
    *((code, 422, "the declaration contradicts itself", _MEND) for code in sorted(DECLARATION_FINDING_CODES)),
    ("task_invalid", 422, "the task cannot be as described", _MEND),
    ("evidence_kind_invalid", 422, "not a kind of evidence", _MEND),
    ("evidence_never_self", 422, "not evidence when you say it yourself", "hand it in signed by a registered issuer"),
    ("evidence_invalid", 422, "nothing that evidence can be made of", _MEND),
    ("attestation_invalid", 422, "the attestation does not hold", "ask the issuer to sign these bytes for this use"),
    ("body_too_large", 413, "the body is too large", "send a smaller body"),
    ("unsupported_media_type", 415, "a body of the wrong type", "send the body in a type that this address takes"),
    ("misdirected_host", 421, "this host is not served here", "use the site's public address"),
    ("over_budget", 429, "too many requests", _LATER),
    ("room_low", 503, "too little room to record it", _LATER),
    ("refused", 403, "not allowed here", _STOP),
    ("policy_error", 403, "not allowed: a policy could not be evaluated", _ASK),
    ("route_not_governed", 403, "no rule lets agents do this here", "ask the site's operator for a route rule"),
    ("idempotency_mismatch", 422, "the key was used for another request", "use a new key for a new request"),
    ("idempotency_in_flight", 409, "the first request with this key still runs", _LATER),
    ("idempotency_answer_not_stored", 409, "done already, the answer was not kept", "do not repeat the request"),
    ("effect_not_unknown", 409, "there is nothing to settle", "read the effect to see how it ended"),
    ("revision_mismatch", 409, "somebody else has changed it", "read the current revision and decide again"),
    ("revision_required", 428, "the expected revision is needed", "send the revision that you read"),
    ("identity_required", 403, "a verified identity is needed", _OBLIGE),
    ("memory_proposal_required", 403, "memory is written by proposal only", _OBLIGE),
    ("review_required", 403, "a human review is needed", _OBLIGE),
    ("consent_required", 403, "a human's consent is needed", _HUMAN),
    ("consent_pending", 403, "the consent is not given yet", "wait for the human's decision"),
    ("consent_denied", 403, "the human said no", _STOP),
    ("consent_expired", 403, "the consent has expired", _HUMAN),
    ("consent_spent", 403, "the consent was used already", _HUMAN),
    ("consent_revoked", 403, "the consent was taken back", _HUMAN),
    ("consent_mismatch", 403, "the consent was given for something else", _HUMAN),
    ("consent_invalid", 422, "a consent request that cannot be used", _MEND),
    ("consent_not_needed", 422, "no consent is asked for here", "send the request itself"),
    ("scope_not_allowed", 422, "a scope that is not given here", "ask for a narrower scope, or one that can be kept"),
    ("narrowing_refused", 422, "wider than what was asked for", "give at most what was asked for"),
    ("assurance_too_low", 403, "a stronger sign-in is needed", "let the human sign in with a second factor"),
    ("evidence_required", 403, "evidence is needed", _OBLIGE),
    ("packet_expired", 400, "the request has expired", "send a fresh request with a later UAIX-Expires"),
    ("correlation_required", 400, "a correlation id is needed", "send UAIX-Correlation"),
    ("expiry_required", 400, "an expiry time is needed", "send UAIX-Expires"),
    ("idempotency_key_missing", 400, "an idempotency key is needed", "send Idempotency-Key"),
    ("not_found", 404, "there is nothing here, or it is not yours", "look for what you need in /.well-known/uaix.json"),
    ("method_not_allowed", 405, "not with this method", "use a method that Allow names"),
    ("not_acceptable", 406, "not in a form that you accept", "accept one of the forms that exist"),
    ("task_state_conflict", 409, "the task has moved on", "read the task and decide again"),
    ("evidence_quota_reached", 409, "too much evidence", "withdraw evidence that is no longer needed"),
    ("display_changed", 409, "it changed while it was shown", "look at it again"),
    ("entry_archived", 410, "moved to an archive", _ASK),
    ("outcome_unknown", 409, "it may have happened", "do not repeat the request; let it be settled at settle_url"),
    ("site_error", 500, "the site failed while it answered", _ASK),
    ("internal_error", 500, "something is wrong on our side", _ASK),
    ("governance_stopped", 503, "the operator has stopped agents here", "wait until the operator lets agents in again"),
    ("ledger_unavailable", 503, "the decision could not be recorded", _LATER),
    ("store_unavailable", 503, "the store cannot be read", _LATER),
)

PROBLEMS: Mapping[str, ProblemKind] = MappingProxyType(
    {code: ProblemKind(status, title, next_action) for code, status, title, next_action in _ROWS}
)
"""Code to meaning. A code that stands twice (a finding that is also a refusal) has its last row."""

_OTHER_STATUS = MappingProxyType({"outcome_unknown": 503, "revision_mismatch": 412})
"""The second status of codes that have two: the site was called in this request; `If-Match` is stale."""

_CLOSE_CODES = MappingProxyType({401: 4401, 500: 1011, 503: 1013})
"""How a socket is closed for statuses other than 403. Source: RFC 6455 section 7.4 and its registry."""


def problem_kind(code: str) -> ProblemKind:
    """Return what a refusal's code means; an unknown one is refused like any other."""
    return PROBLEMS.get(code) or ProblemKind(403, "not allowed here", _STOP)


def refusal_of(error: NegotiatorError) -> Refusal:
    """Return the refusal that an error amounts to. Causes that only an operator can mend are left out."""
    match error:
        case RequestError():
            findings = (_finding(error),) if error.pointer is not None else ()
            return Refusal(code=error.code, detail=error.message, findings=findings)
        case UnavailableError():
            return Refusal(code=error.code, detail=error.message, retry_after_seconds=error.retry_after_seconds)
        case _:
            return Refusal(code="internal_error", detail="the operator finds the cause in the server's log")


def _finding(error: NegotiatorError) -> Finding:
    return Finding(
        code=error.code, severity=Severity.ERROR, pointer=error.pointer or "", message=error.message, source="codec"
    )


def _kind_of(error: NegotiatorError) -> ProblemKind:
    known = PROBLEMS.get(refusal_of(error).code)
    if known is not None:
        return known
    if isinstance(error, UnavailableError):
        return ProblemKind(503, "not available now", _LATER)
    return ProblemKind(400, "the request cannot be used", _MEND)


class ProblemPages:
    """Makes problem responses.

    Args:
        prefix: where our own routes live.
        public_url: the site's origin; None makes links relative to the server's `root_path`.
        ticket_url: where a person finds a consent request, by its id.
    """

    def __init__(
        self, *, prefix: str, public_url: str | None, ticket_url: Callable[[str], str] = lambda _request_id: ""
    ) -> None:
        self._ticket_url = ticket_url
        self._prefix = prefix.rstrip("/")
        self._public_url = (public_url or "").rstrip("/")

    def address(self, scope: Scope, path: str) -> str:
        """Return the address of one of our routes, given below the prefix."""
        return f"{self._public_url}{scope.get('root_path', '').rstrip('/')}{self._prefix}{path}"

    def error(
        self,
        scope: Scope,
        error: NegotiatorError,
        *,
        trace_id: str = "",
        members: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Return the response to an error; see `refusal` for the arguments."""
        problem = self._members(scope, refusal_of(error), _kind_of(error), trace_id) | dict(members or {})
        return self._response(scope, problem, headers or {})

    def refusal(
        self,
        scope: Scope,
        refusal: Refusal,
        *,
        trace_id: str = "",
        members: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        after_effect: bool = False,
        precondition: bool = False,
    ) -> Response:
        """Return the response to a refusal.

        Args:
            scope: of the request: its `Accept` and the server's `root_path` are read.
            refusal: what to say.
            trace_id: 32 hex digits, or empty.
            members: further members, such as `access_request`.
            headers: further headers.
            after_effect: the site was called in this request (`outcome_unknown` is 503 then, else 409).
            precondition: the request named a revision in `If-Match` (`revision_mismatch` is 412 then, else 409).
        """
        kind = problem_kind(refusal.code)
        other = {"outcome_unknown": after_effect, "revision_mismatch": precondition}.get(refusal.code, False)
        kind = replace(kind, status=_OTHER_STATUS[refusal.code]) if other else kind
        problem = self._members(scope, refusal, kind, trace_id) | dict(members or {})
        return self._response(scope, problem, headers or {})

    def _response(self, scope: Scope, problem: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
        media = negotiate_media(accept_header(scope), _OFFERS)
        match media:
            case "text/plain":
                content = _text(problem)
            case "application/vnd.uaix.no-op+json":
                content = _json({"code": problem["code"], "url": self._way_on(scope, problem)})
            case _:
                media, content = PROBLEM_JSON, _json(problem)
        own = {"Cache-Control": "no-store", "Vary": _VARY, **self._headers(scope, problem)}
        return Response(content, status_code=problem["status"], media_type=media, headers={**own, **headers})

    def _way_on(self, scope: Scope, problem: Mapping[str, Any]) -> str:
        """Return the one address that helps: settle, declare, or the ladder with its fallbacks."""
        settle_url: str | None = problem.get("settle_url")
        return settle_url or self.address(scope, "/negotiations" if problem["status"] == 401 else "/ladder")

    def _members(self, scope: Scope, refusal: Refusal, kind: ProblemKind, trace_id: str) -> dict[str, Any]:
        next_action = refusal.next_action or kind.next_action.format(declare=self.address(scope, "/negotiations"))
        problem = {
            "type": f"{_TYPE}{refusal.code}",
            "title": kind.title,
            "status": kind.status,
            "detail": refusal.detail,
            "instance": f"urn:uuid:{refusal.decision_id}" if refusal.decision_id else "",
            "code": refusal.code,
            "decision_id": refusal.decision_id,
            "obligations": [obligation.as_json() for obligation in refusal.obligations],
            "policies": list(refusal.policies),
            "fallback": refusal.fallback,
            "safe_default_response": refusal.safe_default,
            "next_action": next_action,
            "retry_after": _retry_after(refusal, kind),
            "trace_id": trace_id,
        }
        if refusal.findings:
            problem["findings"] = [finding.as_json() for finding in refusal.findings]
        if refusal.code == "outcome_unknown":
            problem["settle_url"] = self.address(scope, f"/effects/{refusal.effect_id or refusal.decision_id}/settle")
        if refusal.access_request is not None:
            problem["access_request"] = self._access(scope, refusal.access_request)
        return problem

    def _access(self, scope: Scope, access: AccessRequest) -> dict[str, Any]:
        """Return where a consent request stands; where there is none, where to ask."""
        request_url = self.address(scope, "/consents")
        if not access.request_id:
            return {"request_url": request_url}
        status_url = f"{request_url}/{access.request_id}"
        told = {
            "request_url": request_url,
            "id": access.request_id,
            "status": access.status,
            "status_url": status_url,
            "cancel_url": f"{status_url}/cancel",
            "ticket_url": self._ticket_url(access.request_id),
            "match_code": access.match_code,
            "expires_at": format_time(access.expires_at) if access.expires_at else "",
        }
        return told | {"approval_id": access.approval_id} if access.approval_id else told

    def _headers(self, scope: Scope, problem: Mapping[str, Any]) -> dict[str, str]:
        headers = {}
        if problem["status"] == 401:
            realm, declare = self._public_url or "http://localhost", self.address(scope, "/negotiations")
            headers["WWW-Authenticate"] = f'UAIX realm="{realm}", error="{problem["code"]}", declare="{declare}"'
        if problem["code"] == "idempotency_key_missing":
            headers["Link"] = f'<{self.address(scope, "/openapi.json")}>; rel="describedby"'
        if problem["retry_after"] is not None:
            headers["Retry-After"] = str(problem["retry_after"])
        return headers


def _retry_after(refusal: Refusal, kind: ProblemKind) -> int | None:
    """Return the seconds to wait; None where waiting does not help."""
    if refusal.retry_after_seconds:
        return refusal.retry_after_seconds
    return 1 if kind.status in {429, 503} and refusal.code != "outcome_unknown" else None


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _text(problem: Mapping[str, Any]) -> str:
    lines = [f"{problem['status']} {problem['title']}", problem["detail"], f"code: {problem['code']}"]
    lines += [f"missing: {each['title']}: {each['remedy']}" for each in problem["obligations"]]
    lines += [f"finding: {each['code']} {each['pointer']}: {each['message']}" for each in problem.get("findings", ())]
    access = problem.get("access_request", {})
    lines += [f"{name}: {access[name]}" for name in ("request_url", "status_url", "match_code") if access.get(name)]
    named = ("next_action", "fallback", "safe_default_response", "decision_id", "settle_url")
    lines += [f"{name}: {problem[name]}" for name in named if problem.get(name)]
    return "".join(f"{_one_line(line)}\n" for line in lines)


def _one_line(text: str) -> str:
    """Keep agents' text from making a second line or turning one round."""
    return "".join(character if character.isprintable() else " " for character in text)


def close_code(status: int) -> int:
    """Return the code that closes a socket where an HTTP answer would have had that status."""
    return _CLOSE_CODES.get(status, 4403)


async def send_early(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send `answer` to an HTTP request, or to a WebSocket that was not accepted.

    Where the server cannot carry an answer to a WebSocket, it is closed before accept, with 4401 or 4403; servers show
    that as 403.
    """
    if scope["type"] == "websocket" and "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": close_code(answer.status_code), "reason": ""})
        return
    await answer(scope, receive, send)
