"""A long task from its beginning to its report, and the ways in which it ends without one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.services.task_moves import sweep_due
from negotiator.shipped import load_catalog
from tests.support.evidence import message
from tests.support.house import PLENTY, PREFIX, House, house

STATUS, REPORT = "uai.task.status.v1", "uai.agent.final-report.v1"
DONE = {"outcome": "completed", "summary": "all of it", "evidence": []}


@dataclass
class Worker:
    built: House
    client: httpx.AsyncClient
    api_token: str
    token: str

    @property
    def own(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.api_token}", "uaix-negotiation": self.token}

    def wish(self, **changes: Any) -> dict[str, Any]:
        expires_at = (self.built.clock.now() + timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
        wish = {"correlation_id": "c-1", "expires_at": expires_at, "timeout_ms": 600_000, "fallback": "ask a person"}
        return {name: value for name, value in (wish | changes).items() if value is not None}

    async def begins(self, key: str = "k-1", **changes: Any) -> httpx.Response:
        headers = self.own | ({"idempotency-key": key} if key else {})
        return await self.client.post(f"{PREFIX}/tasks", json=self.wish(**changes), headers=headers)

    async def begun(self, key: str = "k-1", **changes: Any) -> str:
        answer = await self.begins(key, **changes)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["task_id"])

    async def says(self, task_id: str, state: str, **body: Any) -> httpx.Response:
        data = message(STATUS, {"state": state, **body})
        return await self._post(f"/tasks/{task_id}/status", data)

    async def reports(self, task_id: str, **body: Any) -> httpx.Response:
        return await self._post(f"/tasks/{task_id}/final-report", message(REPORT, DONE | body))

    async def state(self, task_id: str) -> str:
        answer = await self.client.get(f"{PREFIX}/tasks/{task_id}", headers=self.own)
        return str(answer.json()["state"])

    async def _post(self, path: str, data: bytes) -> httpx.Response:
        headers = self.own | {"content-type": "application/json"}
        return await self.client.post(f"{PREFIX}{path}", content=data, headers=headers)

    def sweep(self) -> None:
        self.built.negotiator.store.transact_sync(sweep_due)

    def codes(self) -> list[str]:
        return [entry["code"] for entry in self.built.entries("task")]


@asynccontextmanager
async def worker(folder: Path, level: Level = Level.L4, **changes: Any) -> AsyncIterator[Worker]:
    with house(folder, **changes) as built:
        api_token = built.agent(max_level=level)
        async with built.client() as client:
            yield Worker(built, client, api_token, await built.token(client, level, api_token))


async def test_from_the_beginning_to_the_report(tmp_path: Path):
    async with worker(tmp_path) as at:
        answer = await at.begins()
        assert answer.status_code == 201, answer.text
        task_id = answer.json()["task_id"]
        assert answer.json()["state"] == "accepted"
        assert answer.headers["location"] == f"{PREFIX}/tasks/{task_id}"
        assert answer.headers["uaix-level"] == "L4"
        assert (await at.says(task_id, "running", progress=40, note="half way")).json()["progress"] == 40
        assert (await at.says(task_id, "completed", progress=100)).json()["state"] == "completed"
        closed = await at.reports(task_id)
        assert (closed.status_code, closed.json()["state"], closed.json()["outcome"]) == (200, "closed", "completed")
        report = await at.client.get(f"{PREFIX}/evidence/{closed.json()['final_report']}", headers=at.own)
        assert [each["kind"] for each in report.json()["counts_as"]] == ["final_report"]
        entries = at.built.entries("task")
        assert at.codes() == ["allowed", "task_status", "task_status", "task_reported"]
        assert entries[0]["decision_id"] == answer.headers["uaix-decision"]
        assert (entries[0]["decision"], entries[0]["action"]) == ("allow", "run_task")
        assert {entry["task_id"] for entry in entries} == {task_id}
        assert "half way" not in str(entries)
        assert at.built.negotiator.audit.verify().entries == len(at.built.entries())
        assert at.built.calls == []


@pytest.mark.parametrize("level", [Level.L0, Level.L2, Level.L3])
async def test_below_l4_the_policies_refuse(tmp_path: Path, level: Level):
    async with worker(tmp_path, level) as at:
        answer = await at.begins()
        assert (answer.status_code, answer.json()["code"]) == (403, "refused"), answer.text
        assert "ladder.run-task-level" in answer.json()["policies"]
        assert at.built.entries("task")[-1]["decision"] == "deny"
        assert at.built.negotiator.task_list.all() == ()


async def test_what_is_missing_is_listed_at_once(tmp_path: Path):
    async with worker(tmp_path) as at:
        answer = await at.begins("", correlation_id=None, expires_at=None)
        assert (answer.status_code, answer.json()["code"]) == (400, "correlation_required")
        assert [each["id"] for each in answer.json()["obligations"]] == ["correlation", "expiry", "idempotency_key"]
        expired = await at.begins(expires_at="2026-01-31T11:59:59Z")
        assert expired.json()["code"] == "packet_expired"


async def test_headers_say_what_the_body_does_not(tmp_path: Path):
    async with worker(tmp_path) as at:
        wish = at.wish()
        own = at.own | {
            "idempotency-key": "k-1",
            "uaix-correlation": wish.pop("correlation_id"),
            "uaix-expires": wish.pop("expires_at"),
        }
        begun = await at.client.post(f"{PREFIX}/tasks", json=wish, headers=own)
        assert (begun.status_code, begun.json()["correlation_id"]) == (201, "c-1")
        other = await at.client.post(f"{PREFIX}/tasks", json={**wish, "correlation_id": "c-2"}, headers=own)
        assert (other.status_code, other.json()["code"]) == (422, "task_invalid")


@pytest.mark.parametrize(
    "changes",
    [
        {"timeout_ms": 0},
        {"timeout_ms": 1.5},
        {"timeout_ms": "1000"},
        {"timeout_ms": True},
        {"timeout_ms": 10**15},
        {"timeout_ms": None},
        {"fallback": None},
        {"fallback": " "},
        {"fallback": "x" * 2_001},
        {"correlation_id": "two words"},
        {"correlation_id": 7},
        {"expires_at": "tomorrow"},
        {"expires_at": "2026-02-31T00:00:00Z"},
        {"expires_at": "2030-01-01T00:00:00Z"},
        {"more": 1},
    ],
    ids=str,
)
async def test_a_wish_that_cannot_be_is_refused_and_leaves_nothing(tmp_path: Path, changes: dict[str, Any]):
    async with worker(tmp_path) as at:
        answer = await at.begins(**changes)
        assert (answer.status_code, answer.json()["code"]) == (422, "task_invalid"), answer.text
        assert at.built.negotiator.task_list.all() == ()


async def test_the_same_key_begins_one_task(tmp_path: Path):
    async with worker(tmp_path) as at:
        first = await at.begins()
        again = await at.begins()
        assert (again.status_code, again.headers["idempotent-replayed"]) == (200, "true")
        assert again.json()["task_id"] == first.json()["task_id"]
        assert len(at.built.entries("replay")) == 1
        other = await at.begins(timeout_ms=5)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
        assert len(at.built.negotiator.task_list.all()) == 1


async def test_time_goes_before_what_an_agent_says(tmp_path: Path):
    async with worker(tmp_path) as at:
        task_id = await at.begun()
        at.built.clock.advance(600)
        late = await at.says(task_id, "running")
        assert (late.status_code, late.json()["code"]) == (409, "task_state_conflict")
        closed = await at.reports(task_id, outcome="failed")
        assert closed.json()["state"] == "closed", "the report is awaited until the expiry"
        assert at.codes() == ["allowed", "task_timed_out", "task_reported"]


@pytest.mark.parametrize(
    ("said", "codes", "state"),
    [
        (None, ["task_timed_out", "task_ended_without_report"], "unreported"),
        ("running", ["task_status", "task_timed_out", "task_ended_without_report"], "unreported"),
        ("completed", ["task_status", "task_ended_without_report"], "unreported"),
    ],
)
async def test_a_task_that_ends_without_its_report_is_recorded_so(
    tmp_path: Path, said: str | None, codes: list[str], state: str
):
    async with worker(tmp_path) as at:
        task_id = await at.begun()
        if said:
            assert (await at.says(task_id, said)).status_code == 200
        at.built.clock.advance(601)
        at.sweep()
        at.built.clock.advance(1_200)
        at.sweep()
        at.sweep()
        assert at.codes() == ["allowed", *codes]
        assert at.built.entries("task")[-1]["final_report"] is False
        assert await at.state(task_id) == state
        late = await at.reports(task_id)
        assert (late.status_code, late.json()["code"]) == (409, "task_state_conflict")
        assert at.built.entries("evidence") == []


async def test_a_task_of_which_nothing_was_heard_expires_at_once(tmp_path: Path):
    async with worker(tmp_path) as at:
        task_id = await at.begun(timeout_ms=3_600_000)
        at.built.clock.advance(1_801)
        at.sweep()
        assert (await at.state(task_id), at.codes()) == ("expired", ["allowed", "task_ended_without_report"])


@pytest.mark.parametrize(
    ("state", "progress", "status"),
    [("running", 100, 422), ("completed", 99, 422), ("completed", 100, 200), ("failed", 30, 200), ("blocked", 0, 200)],
)
async def test_progress_agrees_with_the_state(tmp_path: Path, state: str, progress: int, status: int):
    async with worker(tmp_path) as at:
        answer = await at.says(await at.begun(), state, progress=progress)
        assert answer.status_code == status, answer.text


async def test_a_report_agrees_with_what_was_said(tmp_path: Path):
    async with worker(tmp_path) as at:
        task_id = await at.begun()
        await at.says(task_id, "failed")
        other = await at.reports(task_id, outcome="completed")
        assert (other.status_code, other.json()["code"]) == (409, "task_state_conflict")
        assert (await at.reports(task_id, outcome="failed")).status_code == 200


async def test_a_report_names_evidence_that_is_there(tmp_path: Path):
    async with worker(tmp_path) as at:
        task_id = await at.begun()
        unknown = await at.reports(task_id, evidence=[f"sha256:{'0' * 64}"])
        assert (unknown.status_code, unknown.json()["code"]) == (422, "task_invalid")
        assert at.codes() == ["allowed"], "nothing was written"
        handed = await at.client.post(f"{PREFIX}/evidence?kind=audit_log", content=b"log", headers=at.own)
        assert (await at.reports(task_id, evidence=[handed.json()["id"]])).status_code == 200


@pytest.mark.parametrize(
    ("profile", "body", "members", "code"),
    [
        (REPORT, DONE, {}, "unknown_profile"),
        (STATUS, {"state": "promoted"}, {}, "task_invalid"),
        (STATUS, {"state": "closed"}, {}, "task_invalid"),
        (STATUS, {}, {}, "task_invalid"),
        (STATUS, {"state": "running", "note": "x" * 1_001}, {}, "task_invalid"),
        (STATUS, {"state": "running", "task_id": "another"}, {}, "task_invalid"),
        (STATUS, {"state": "running"}, {"conversation": {"correlation_id": "c-2"}}, "task_invalid"),
    ],
)
async def test_a_status_for_something_else_moves_nothing(
    tmp_path: Path, profile: str, body: dict[str, Any], members: dict[str, Any], code: str
):
    async with worker(tmp_path) as at:
        task_id = await at.begun()
        answer = await at._post(f"/tasks/{task_id}/status", message(profile, body, **members))
        assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
        assert (await at.state(task_id), at.codes()) == ("accepted", ["allowed"])


async def test_open_tasks_are_bounded(tmp_path: Path):
    async with worker(tmp_path, budgets=PLENTY | {"open_tasks_per_agent": 2}) as at:
        first = await at.begun("k-1")
        await at.begun("k-2")
        third = await at.begins("k-3")
        assert (third.status_code, third.json()["code"]) == (429, "over_budget")
        assert int(third.headers["retry-after"]) > 0
        await at.reports(first)
        assert (await at.begins("k-3")).status_code == 201


async def test_the_kill_switch_stops_beginnings_and_not_reports(tmp_path: Path):
    switch = tmp_path / "stop"
    async with worker(tmp_path, kill_switch=switch) as at:
        task_id = await at.begun()
        switch.touch()
        at.built.clock.advance(2)
        stopped = await at.begins("k-2")
        assert (stopped.status_code, stopped.json()["code"]) == (503, "governance_stopped")
        assert (await at.reports(task_id)).status_code == 200


async def test_a_revoked_agent_says_nothing_more(tmp_path: Path):
    async with worker(tmp_path) as at:
        task_id = await at.begun()
        at.built.negotiator.administration.revoke_agent("helper", actor="test")
        assert (await at.says(task_id, "running")).status_code == 401
        assert at.codes() == ["allowed"]


async def test_an_undeclared_caller_begins_nothing(tmp_path: Path):
    async with worker(tmp_path) as at:
        bare = await at.client.post(f"{PREFIX}/tasks", json=at.wish(), headers={"idempotency-key": "k"})
        assert (bare.status_code, bare.json()["code"]) == (401, "declaration_required")
        document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L2]]
        declared = await at.client.post(f"{PREFIX}/negotiations", json=document)
        token = declared.json()["body"]["token"]
        anonymous = await at.client.post(f"{PREFIX}/tasks", json=at.wish(), headers={"uaix-negotiation": token})
        assert anonymous.status_code == 403
        assert at.built.negotiator.task_list.all() == ()


async def test_the_negotiation_says_where_evidence_goes(tmp_path: Path):
    async with worker(tmp_path) as at:
        document = load_catalog().examples[PROFILE_OF_LEVEL[Level.L2]]
        answer = await at.client.post(f"{PREFIX}/negotiations", json=document)
        assert answer.json()["body"]["requires"]["evidence_url"] == f"{PREFIX}/evidence"
