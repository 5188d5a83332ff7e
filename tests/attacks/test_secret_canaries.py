"""Twenty-odd secrets go through a whole house with every log open, and are found again nowhere.

Each is planted where a caller or an operator puts one: headers of ours, well-formed and not, the site's own
credentials, queries, bodies, API tokens, key files. Looked through afterwards: every row and every byte of the
database, the ledger, the log at DEBUG in each of its formats and with a line for each request, every problem, the
metrics and every discovery document. What is kept on purpose (the correlation id, the trace id) is looked for in the
same way and must be found: so the search is known to find.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from negotiator.canonical import sha256_hex
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog
from negotiator.web.access_log import AccessLog
from negotiator.web.discovery.endpoints import ENDPOINTS
from negotiator.web.log_lines import log_handler
from tests.support.canaries import every_row, forms
from tests.support.house import PREFIX, House, house

KEPT: Final = {"correlation": "kept-correlation-7f3a", "trace": "ab" * 16}
FORGED: Final = "Zm9yZ2Vk.@@.c2lnbmF0dXJl"
THE_TESTS_OWN_CLIENT: Final = ("httpx", "httpcore")


@dataclass(frozen=True)
class Sent:
    """One request with a secret in it; `@@` is where the secret stands."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""

    def with_secret(self, secret: str) -> dict[str, Any]:
        return {
            "method": self.method,
            "url": self.path.replace("@@", secret),
            "headers": {name: value.replace("@@", secret) for name, value in self.headers.items()},
            "content": self.body.replace("@@", secret).encode(),
        }


def get(**headers: str) -> Sent:
    return Sent("GET", "/data", {name.replace("_", "-"): value for name, value in headers.items()})


def declare(body: str, path: str = "/negotiations") -> Sent:
    return Sent("POST", PREFIX + path, {"content-type": "application/json"}, body)


def example_with_a_secret() -> str:
    """Return a declaration whose extension and whose unknown member hold a secret."""
    message = load_catalog().examples[PROFILE_OF_LEVEL[Level.L1]]
    body = {**message["body"], "extensions": {"note": "@@"}, "something_else": "@@"}
    return json.dumps({**message, "body": body})


PLANTED: Final[Mapping[str, Sent]] = {
    "the site's Authorization": get(authorization="Basic @@"),
    "a cookie": get(cookie="session=@@"),
    "a credential that nobody gave out": get(uaix_credential="@@"),
    "a credential in another form": get(uaix_credential="@@ !"),
    "a forged negotiation": get(uaix_negotiation=FORGED),
    "a negotiation in another form": get(uaix_negotiation="@@"),
    "a consent": get(uaix_consent="@@"),
    "evidence": get(uaix_evidence="a, @@"),
    "a correlation id in another form": get(uaix_correlation="@@ ,"),
    "an expiry in another form": get(uaix_expires="@@"),
    "a trace in another form": get(traceparent="@@"),
    "an idempotency key in another form": get(idempotency_key="@@ ,"),
    "a bearer token on our route": Sent("GET", f"{PREFIX}/me", {"authorization": "Bearer @@"}),
    "an operator's token that is none": Sent("GET", f"{PREFIX}/metrics", {"authorization": "Bearer @@", "via": "1 x"}),
    "another scheme on our route": Sent("GET", f"{PREFIX}/me", {"authorization": "Basic @@"}),
    "a query of the site's": Sent("GET", "/private?token=@@"),
    "a query of ours": Sent("GET", f"{PREFIX}/ladder?token=@@"),
    "a flag of ours": declare("@@", "/negotiations?strict=@@"),
    "a body": Sent("POST", "/comments", {"content-type": "text/plain"}, "password=@@"),
    "a body that passes": Sent("POST", "/open", {"content-type": "text/plain"}, "password=@@"),
    "a form": Sent("POST", "/form", {"content-type": "application/x-www-form-urlencoded"}, "_method=DELETE&p=@@"),
    "a declaration that is none": declare('{"body": "@@'),
    "a declaration": declare(example_with_a_secret()),
    "a message to be validated": declare(example_with_a_secret(), "/validate"),
}


def secret_of(name: str) -> str:
    """Return a secret that has every character a grammar of ours allows, and no other meaning."""
    return f"canary-{sha256_hex(name.encode())[:20]}"


async def use_real_ones(built: House, client: httpx.AsyncClient) -> tuple[dict[str, str], list[httpx.Response]]:
    """Let a registered agent read, write and be refused with genuine secrets, and return those."""
    api_token = built.agent("owner", max_level=Level.L4)
    token = await built.token(client, Level.L4, api_token)
    key = secret_of("an idempotency key")
    headers = {
        "uaix-credential": api_token,
        "uaix-negotiation": token,
        "idempotency-key": key,
        "uaix-correlation": KEPT["correlation"],
        "traceparent": f"00-{KEPT['trace']}-{'cd' * 8}-01",
    }
    answers = [
        await client.request(method, path, headers=headers)
        for method, path in [("GET", "/data"), ("POST", "/comments"), ("PUT", "/memory/tea"), ("PUT", "/memory/tea")]
    ]
    assert {answer.status_code for answer in answers} >= {200, 202, 403}
    return {"an API token": api_token, "a negotiation": token, "an idempotency key": key}, answers


def key_files(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted((folder / "keys").iterdir()):
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("-----")]
        found |= {f"{path.name}, line {number}": line for number, line in enumerate(lines)}
    return found


async def documents(client: httpx.AsyncClient) -> bytes:
    paths = [e.full_path(PREFIX) for e in ENDPOINTS if e.method == "GET" and e.kind != "command" and "{" not in e.path]
    answers = [await client.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    return b"\n".join(answer.content for answer in answers)


def head_and_body(answer: httpx.Response) -> bytes:
    return repr(answer.headers.multi_items()).encode() + answer.content


@contextmanager
def lines_of_both_formats() -> Iterator[Mapping[str, io.StringIO]]:
    """Write the log of this test in each format, too; the test's own client is no part of it."""
    streams = {"log as text": io.StringIO(), "log as JSON": io.StringIO()}
    handlers = [log_handler("text", streams["log as text"]), log_handler("json", streams["log as JSON"])]
    for handler in handlers:
        handler.addFilter(lambda record: not record.name.startswith(THE_TESTS_OWN_CLIENT))
        logging.getLogger().addHandler(handler)
    try:
        yield streams
    finally:
        for handler in handlers:
            logging.getLogger().removeHandler(handler)


async def test_no_secret_is_found_again(tmp_path: Path, database_url: str, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    secrets = {name: secret_of(name) for name in PLANTED}
    operator_token = tmp_path / "operator.token"
    operator_token.write_text(secret_of("the operator's token") * 2)
    operator_token.chmod(0o600)
    settings = {"database": database_url, "operator_token_file": operator_token}
    with lines_of_both_formats() as logs, house(tmp_path, **settings) as built:
        built.app = AccessLog(built.app)
        async with built.client() as client:
            answers = [await client.request(**sent.with_secret(secrets[name])) for name, sent in PLANTED.items()]
            real, more = await use_real_ones(built, client)
            places = {"documents and metrics": await documents(client)}
        places["ledger"] = b"\n".join(built.negotiator.audit.tail(10_000))
    places["database"] = every_row(database_url)
    accepted = answers[list(PLANTED).index("a declaration")]
    assert accepted.status_code == 201, accepted.text
    problems = [answer for answer in [*answers, *more] if answer.status_code >= 400]
    places["problems"] = b"\n".join(map(head_and_body, problems))
    records = [record for record in caplog.records if not record.name.startswith(THE_TESTS_OWN_CLIENT)]
    places |= {name: stream.getvalue().encode() for name, stream in logs.items()}
    places["log"] = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in records).encode()

    secrets |= real | key_files(tmp_path) | {"the operator's token": operator_token.read_text()}
    assert len(secrets) >= 20
    assert len(problems) >= 15
    assert len(set(secrets.values())) == len(secrets)
    found = [
        (name, place)
        for name, secret in secrets.items()
        for place, content in places.items()
        if any(form in content for form in forms(secret))
    ]
    assert found == []
    for kept in KEPT.values():
        assert kept.encode() in places["ledger"]
        assert kept.encode() in places["database"]
    for name in logs:
        assert KEPT["trace"].encode() in places[name]
        assert places[name].count(b"negotiator.access") > len(PLANTED)
    assert b"negotiator_decisions_total{" in places["documents and metrics"]
