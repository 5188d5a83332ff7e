import json

import pytest

from negotiator.errors import ConfigError, IntegrityError, RequestError, UnavailableError
from negotiator.model.findings import DECLARATION_FINDING_CODES, Finding, Severity
from negotiator.model.governed import Refusal
from negotiator.model.obligations import OBLIGATION_KINDS, Obligation
from negotiator.web.problems import PROBLEMS, ProblemPages, refusal_of
from tests.support.asgi import DECISION_ID, http_scope

PAGES = ProblemPages(prefix="/uaix/v1", public_url=None)
STATUSES = {
    400: """body_malformed header_malformed ambiguous_path method_override mixed_credentials keyless_shape
        keyless_overflow unsupported_alias duplicate_key json_too_deep number_not_exact invalid_unicode not_a_message
        packet_expired correlation_required expiry_required idempotency_key_missing""",
    401: "declaration_required credentials_invalid negotiation_expired",
    403: """refused route_not_governed identity_required memory_proposal_required review_required consent_required
        consent_pending consent_denied consent_expired consent_spent consent_revoked consent_mismatch
        assurance_too_low evidence_required policy_error""",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    409: "idempotency_in_flight outcome_unknown idempotency_answer_not_stored revision_mismatch display_changed",
    410: "entry_archived",
    413: "body_too_large",
    415: "unsupported_media_type",
    421: "misdirected_host",
    422: """unknown_profile unknown_field idempotency_mismatch declaration_invalid consent_invalid consent_not_needed
        scope_not_allowed narrowing_refused""",
    428: "revision_required",
    429: "over_budget",
    500: "site_error internal_error",
    503: "ledger_unavailable store_unavailable",
}
REFUSAL = Refusal(
    code="consent_required",
    detail="missing: a human's consent",
    decision_id=DECISION_ID,
    obligations=(Obligation(id="consent", title="a human's consent", remedy="ask", policies=("consent.post",)),),
    policies=("consent.post",),
    fallback="read the page",
    safe_default="stop",
    next_action="ask for consent",
)


def shown(refusal=REFUSAL, accept="", **options):
    headers = [(b"accept", accept.encode())] if accept else []
    return PAGES.refusal(http_scope("POST", "/comments", *headers), refusal, **options)


@pytest.mark.parametrize(
    ("status", "code"), [(each, code) for each, codes in STATUSES.items() for code in codes.split()]
)
def test_every_code_has_its_status(status, code):
    response = shown(Refusal(code=code, detail="x"))
    assert (response.status_code, json.loads(response.body)["status"]) == (status, status)


def test_every_obligation_and_finding_has_a_row():
    assert {kind.code for kind in OBLIGATION_KINDS} | DECLARATION_FINDING_CODES <= PROBLEMS.keys()


def test_a_code_without_a_row_is_still_a_refusal():
    assert shown(Refusal(code="brand_new", detail="x")).status_code == 403


def test_a_problem_has_exactly_the_members_of_the_interface():
    response = shown(trace_id="0af7651916cd43dd8448eb211c80319c")
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    assert "Accept" in response.headers["vary"].split(", ")
    assert json.loads(response.body) == {
        "type": "urn:uaix-negotiator:problem:consent_required",
        "title": "a human's consent is needed",
        "status": 403,
        "detail": "missing: a human's consent",
        "instance": f"urn:uuid:{DECISION_ID}",
        "code": "consent_required",
        "decision_id": DECISION_ID,
        "obligations": [{"id": "consent", "title": "a human's consent", "remedy": "ask", "policies": ["consent.post"]}],
        "policies": ["consent.post"],
        "fallback": "read the page",
        "safe_default_response": "stop",
        "next_action": "ask for consent",
        "retry_after": None,
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
    }


def test_findings_are_shown_where_there_are_some():
    finding = Finding(code="packet_expired", severity=Severity.ERROR, message="late", pointer="/delivery/expires_at")
    problem = json.loads(shown(Refusal(code="declaration_invalid", detail="x", findings=(finding,))).body)
    assert problem["findings"] == [finding.as_json()]


@pytest.mark.parametrize("accept", ["application/json", "*/*", "image/png", "text/html,*/*;q=0.1", "application/*"])
def test_problem_json_is_the_default_form(accept):
    assert shown(accept=accept).headers["content-type"] == "application/problem+json"


def test_plain_text_says_what_is_missing():
    response = shown(accept="text/plain")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.body.decode().splitlines() == [
        "403 a human's consent is needed",
        "missing: a human's consent",
        "code: consent_required",
        "missing: a human's consent: ask",
        "next_action: ask for consent",
        "fallback: read the page",
        "safe_default_response: stop",
        f"decision_id: {DECISION_ID}",
    ]


def test_an_agents_text_never_makes_a_second_line():
    refusal = Refusal(code="refused", detail="x", fallback="a\nb\r\u2028c\u202ed\x1b[2J")
    assert "fallback: a b  c d [2J" in shown(refusal, "text/plain").body.decode().split("\n")


@pytest.mark.parametrize(
    ("code", "url"), [("refused", "/uaix/v1/ladder"), ("declaration_required", "/uaix/v1/negotiations")]
)
def test_the_no_op_form_is_exactly_code_and_url(code, url):
    response = shown(Refusal(code=code, detail="x"), "application/vnd.uaix.no-op+json, application/json;q=0.5")
    assert response.headers["content-type"] == "application/vnd.uaix.no-op+json"
    assert json.loads(response.body) == {"code": code, "url": url}


def test_401_says_how_to_declare():
    response = shown(Refusal(code="negotiation_expired", detail="x"))
    challenge = 'UAIX realm="http://localhost", error="negotiation_expired", declare="/uaix/v1/negotiations"'
    assert response.headers["www-authenticate"] == challenge
    assert "www-authenticate" not in shown().headers


def test_links_come_from_configuration_and_the_servers_mount():
    scope = http_scope("POST", "/app/comments", (b"x-forwarded-host", b"evil.example"), root_path="/app")
    problem = json.loads(PAGES.refusal(scope, Refusal(code="declaration_required", detail="x")).body)
    assert "/app/uaix/v1/negotiations" in problem["next_action"]
    public = ProblemPages(prefix="/uaix/v1", public_url="https://example.org/")
    assert public.address(http_scope(), "/ladder") == "https://example.org/uaix/v1/ladder"


@pytest.mark.parametrize(
    ("refusal", "seconds"),
    [
        (Refusal(code="over_budget", detail="x", retry_after_seconds=30), "30"),
        (Refusal(code="over_budget", detail="x"), "1"),
        (Refusal(code="ledger_unavailable", detail="x"), "1"),
        (Refusal(code="consent_denied", detail="x", retry_after_seconds=600), "600"),
    ],
)
def test_who_should_wait_is_told_how_long(refusal, seconds):
    response = shown(refusal)
    assert response.headers["retry-after"] == seconds
    assert json.loads(response.body)["retry_after"] == int(seconds)


def test_a_missing_key_links_its_description():
    link = shown(Refusal(code="idempotency_key_missing", detail="x")).headers["link"]
    assert link == '</uaix/v1/openapi.json>; rel="describedby"'


def test_two_codes_have_a_second_status():
    unknown, stale = Refusal(code="outcome_unknown", detail="x"), Refusal(code="revision_mismatch", detail="x")
    assert shown(unknown, after_effect=True).status_code == 503
    assert "retry-after" not in shown(unknown, after_effect=True).headers
    assert shown(stale, precondition=True).status_code == 412
    assert shown(REFUSAL, after_effect=True, precondition=True).status_code == 403


class TestErrors:
    def test_a_callers_error_is_shown_with_its_pointer(self):
        error = RequestError("the key stands twice", code="duplicate_key", pointer="/body/a")
        problem = json.loads(PAGES.error(http_scope(), error).body)
        assert (problem["status"], problem["code"], problem["detail"]) == (400, "duplicate_key", "the key stands twice")
        assert problem["findings"][0]["pointer"] == "/body/a"

    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (RequestError("x", code="brand_new"), 400),
            (UnavailableError("x", code="brand_new"), 503),
            (UnavailableError("x", code="ledger_unavailable"), 503),
        ],
    )
    def test_an_error_is_never_a_success(self, error, status):
        assert PAGES.error(http_scope(), error).status_code == status

    @pytest.mark.parametrize("kind", [ConfigError, IntegrityError])
    def test_causes_for_the_operator_stay_with_the_operator(self, kind):
        error = kind("secret path /srv/keys", code="config_unreadable")
        response = PAGES.error(http_scope(), error)
        assert response.status_code == 500
        assert b"secret" not in response.body
        assert refusal_of(error).code == "internal_error"
