"""`negotiator serve` without configuration, in a process of its own: every route answers, and nothing is lost."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog
from negotiator.web.discovery.endpoints import ENDPOINTS
from tests.support.cli import Ran, separately
from tests.support.serving import serving

PREFIX = "/uaix/v1"
PLACES = {"profiles/{id}": "profiles/uai.task.status.v1", "schemas/{name}": "schemas/capability"} | {
    "examples/{profile}": "examples/uai.client.structured-fetch.v1"
}
SITE = """
from contextlib import asynccontextmanager

from starlette.applications import Starlette

@asynccontextmanager
async def failing(app):
    raise RuntimeError("the site's own fault")
    yield

app = Starlette()
failing_app = Starlette(lifespan=failing)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, httpx.Client]]:
    folder = tmp_path_factory.mktemp("site")
    with serving(folder) as client:
        yield folder, client


def _declare(client: httpx.Client, level: Level, **headers: str) -> Mapping[str, Any]:
    document = load_catalog().examples[PROFILE_OF_LEVEL[level]]
    answer = client.post(f"{PREFIX}/negotiations", json=document, headers=headers)
    assert answer.status_code == 201, answer.text
    body: Mapping[str, Any] = answer.json()["body"]
    return body


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.kind != "command"], ids=lambda endpoint: endpoint.name)
def test_every_public_route_answers_in_each_of_its_forms(site, endpoint):
    _, client = site
    path = endpoint.full_path(PREFIX)
    for place, example in PLACES.items():
        path = path.replace(place, example)
    for media in endpoint.media:
        answer = client.get(path, headers={"accept": media})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].split(";")[0] == media


def test_health_is_answered_at_the_root_too_and_the_demo_site_keeps_its_llms_txt(site):
    _, client = site
    assert client.get("/healthz").json() == client.get(f"{PREFIX}/healthz").json()
    assert client.get("/readyz").status_code == 200
    assert client.get("/llms.txt").text.startswith("# The Demo Gazette")


def test_a_negotiation_is_made_read_renewed_and_ended(site):
    _, client = site
    first = _declare(client, Level.L1)
    token = {"uaix-negotiation": first["token"]}
    assert first["effective_level"] == "L1"
    read = client.get(f"{PREFIX}/negotiations/{first['negotiation_id']}", headers=token)
    assert read.json()["body"]["negotiation_id"] == first["negotiation_id"]
    assert "token" not in read.json()["body"]
    [own] = client.get(f"{PREFIX}/me", headers=token).json()["negotiations"]
    assert own["negotiation_id"] == first["negotiation_id"]
    second = _declare(client, Level.L1, **token)
    assert second["identity"]["subject"] == first["identity"]["subject"]
    assert client.get(f"{PREFIX}/me", headers=token).json()["code"] == "negotiation_expired"
    token = {"uaix-negotiation": second["token"]}
    assert client.delete(f"{PREFIX}/negotiations/{second['negotiation_id']}", headers=token).status_code == 204
    assert client.get(f"{PREFIX}/me", headers=token).status_code == 401


def test_any_message_is_validated(site):
    _, client = site
    for example in load_catalog().examples.values():
        answer = client.post(f"{PREFIX}/validate", json=example)
        assert (answer.status_code, answer.json()["valid"]) == (200, True)
    assert client.post(f"{PREFIX}/validate", json={"profile": "uai.nonsense.v1"}).json()["valid"] is False


def test_reads_are_decided_and_writes_refused_with_everything_missing(site):
    folder, client = site
    article = client.get("/articles/ladder")
    assert (article.status_code, article.headers["uaix-level"]) == (200, "L0")
    assert article.headers["uaix-decision"]
    assert client.post("/comments", content=b"hello").json()["code"] == "declaration_required"
    api_token = separately("agent", "add", "writer", folder=folder).out.strip()
    token = _declare(client, Level.L3, authorization=f"Bearer {api_token}")["token"]
    headers = {"uaix-credential": api_token, "uaix-negotiation": token}
    refused = client.post("/comments", content=b"hello", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "consent_required")
    assert [each["id"] for each in refused.json()["obligations"]] == ["consent", "idempotency_key"]
    assert client.get("/api/comments").json() == ["First."]


def test_an_agent_that_was_added_while_the_server_runs_proposes_memory(site):
    folder, client = site
    api_token = separately("agent", "add", "keeper", "--max-level", "L4", folder=folder).out.strip()
    own = {"authorization": f"Bearer {api_token}"}
    body = _declare(client, Level.L4, **own)
    assert body["effective_level"] == "L4"
    headers = {"uaix-credential": api_token, "uaix-negotiation": body["token"], "uaix-correlation": "c-1"}
    held = client.put("/memory/house/tea", content=b"x", headers=headers | {"idempotency-key": "k-1"})
    assert held.status_code == 202, held.text
    assert client.get(held.headers["location"], headers=own).json()["state"] == "pending"
    assert client.get("/memory/house/tea").json() == {"content": "The kettle is on the left."}
    assert separately("agent", "revoke", "keeper", folder=folder).status == 0
    refused = client.get("/articles/ladder", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (401, "credentials_invalid")


def test_what_was_answered_is_in_the_ledger_after_the_server_was_told_to_stop(tmp_path: Path):
    with serving(tmp_path) as client:
        answers = [client.get("/articles/ladder") for _ in range(5)]
    decisions = {answer.headers["uaix-decision"] for answer in answers}
    entries = separately("ledger", "tail", "--json", folder=tmp_path).document
    assert {entry["decision_id"] for entry in entries} == decisions
    assert separately("ledger", "verify", "--json", folder=tmp_path).document["entries"] == len(entries) == 5


def test_your_own_application_is_found_in_the_working_directory(tmp_path: Path):
    (tmp_path / "own_site.py").write_text(SITE)
    with serving(tmp_path, "--app", "own_site:app") as client:
        assert client.get("/").status_code == 404
        assert client.get(f"{PREFIX}/ladder").status_code == 200


def _refused(folder: Path, *arguments: str, **variables: str) -> Ran:
    shown = separately("serve", "--port", "0", *arguments, folder=folder, **variables)
    assert (shown.status, shown.out) == (3, "")
    return shown


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org"])
def test_other_machines_are_not_served_without_a_public_address(tmp_path: Path, host):
    assert _refused(tmp_path, "--host", host).code == "public_url_missing"
    assert list(tmp_path.iterdir()) == []


def test_policies_that_cannot_decide_keep_the_server_from_starting(tmp_path: Path):
    assert _refused(tmp_path, NEGOTIATOR_POLICIES_DIR="missing").code == "policy_unreadable"
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "broken.cedar").write_text("permit (")
    shown = _refused(tmp_path, NEGOTIATOR_POLICIES_DIR="policies")
    assert "broken.cedar" in shown.err
    assert shown.code in {"policy_unparsable", "schema_invalid"}


def test_a_database_that_cannot_be_opened_keeps_the_server_from_starting(tmp_path: Path):
    (tmp_path / "a-file").write_text("")
    shown = _refused(tmp_path, NEGOTIATOR_DATABASE="sqlite:///a-file/x/y.db")
    assert shown.code == "database_directory_missing"


def test_a_port_that_is_taken_is_one_line(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        shown = separately("serve", "--port", port, folder=tmp_path)
    assert (shown.status, shown.code) == (3, "address_unusable")


def test_a_site_that_fails_at_its_start_is_said_to_have_failed(tmp_path: Path):
    (tmp_path / "own_site.py").write_text(SITE)
    shown = separately("serve", "--port", "0", "--app", "own_site:failing_app", folder=tmp_path)
    assert shown.status == 3
    assert "the site's own fault" in shown.err
    assert shown.err.splitlines()[-1].startswith("negotiator: app_not_started: ")
