"""The story of the main job, told over real HTTP: each step does what a client would do and checks what came back.

A step is a function of the `Stage`; it returns one sentence of what was seen, and fails through `holds`, so that a step
that saw something else can never be told as a success. Its docstring is its line in the story.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
import orjson

from negotiator.assembly import Negotiator
from negotiator.demo.server import served
from negotiator.demo.settings import demo_settings
from negotiator.demo.site import create_site
from negotiator.demo.worker import another_worker
from negotiator.errors import IntegrityError
from negotiator.ledger import verify_chain
from negotiator.messages import decode_message, encode_message
from negotiator.model.findings import DECLARATION_FINDING_CODES
from negotiator.model.levels import PROFILE_OF_LEVEL, Level
from negotiator.shipped import load_catalog, load_examples
from negotiator.web.middleware import NegotiatorMiddleware

__all__ = ["STEPS", "Step", "StepResult", "tell"]

Seen = TypeVar("Seen")

_ARCHIVE = "/api/digest?of=archive"
_KEYLESS = "application/vnd.uaix.keyless+json"


class NotSeenError(Exception):
    """A step saw something else than the story says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What a step saw; `ok` is false where it was not what the story says."""

    name: str
    ok: bool
    detail: str

    def as_json(self) -> dict[str, Any]:
        """Return the step as the demo's document lists it."""
        return {"name": self.name, "ok": self.ok, "detail": self.detail}


@dataclass(slots=True)
class Stage:
    """What the steps share: a client, the site's operator, and what earlier steps learned."""

    http: httpx.Client
    operator: Negotiator
    declare_at: str = ""
    api_token: str = ""
    seen: dict[str, Any] = field(default_factory=dict)

    def declare(self, document: Mapping[str, Any], **headers: str) -> httpx.Response:
        """Post a declaration."""
        return self.http.post(self.declare_at, json=document, headers=headers)


Step = Callable[[Stage], str]


def tell(folder: Path) -> Iterator[StepResult]:
    """Serve the demo site, with its state below `folder`, and give each step's result as soon as it is there."""
    settings = demo_settings(folder)
    operator = Negotiator(settings)
    app = NegotiatorMiddleware(create_site(), negotiator=Negotiator(settings))
    try:
        with served(app) as url, httpx.Client(base_url=url, timeout=30) as http:
            stage = Stage(http=http, operator=operator)
            for name, step in STEPS.items():
                result = _run(name, step, stage)
                yield result
                if not result.ok:
                    return
    finally:
        operator.stop()


def _run(name: str, step: Step, stage: Stage) -> StepResult:
    try:
        return StepResult(name=name, ok=True, detail=step(stage))
    except Exception as error:  # noqa: BLE001 - whatever a step met, it is not what the story says
        return StepResult(name=name, ok=False, detail=f"{type(error).__name__}: {error}")


def holds(fact: object, otherwise: str) -> None:
    """Fail the step unless `fact` holds."""
    if not fact:
        raise NotSeenError(otherwise)


def discovered(stage: Stage) -> str:
    """An agent that knows nothing finds out where to declare."""
    manifest = stage.http.get("/.well-known/uaix.json")
    holds(manifest.status_code == 200, f"the manifest answered {manifest.status_code}")
    access = stage.http.get("/.well-known/uaix-agent-access.json")
    holds(access.status_code == 200, f"the short form answered {access.status_code}")
    declare, levels = access.json()["declare"], access.json()["levels"]
    holds([each["level"] for each in levels] == [level.name for level in Level], f"the levels are {levels}")
    schema = stage.http.get(declare["body_schema"])
    holds(schema.status_code == 200, f"the schema of a declaration answered {schema.status_code}")
    stage.declare_at = declare["href"]
    return f"{len(levels)} client levels; declarations go to {declare['method']} {stage.declare_at}"


def l0_read(stage: Stage) -> str:
    """A client that declares nothing reads as an anonymous L0, and the read is recorded."""
    answer = stage.http.get("/articles/ladder")
    holds(answer.status_code == 200 and "<h1>" in answer.text, f"the article answered {answer.status_code}")
    decision_id = answer.headers.get("uaix-decision")
    holds(decision_id, "the answer names no decision")
    holds(answer.headers.get("uaix-level") == "L0", "the read was not decided as L0")
    return f"an article, decision {decision_id}"


def l1_keyless_negotiated(stage: Stage) -> str:
    """The smallest safe packet, in arrays, gets a negotiation, in arrays."""
    catalog = load_catalog()
    keyed = orjson.dumps(load_examples("valid")["smallest-safe-packet"]["message"])
    keyless = encode_message(decode_message(keyed, catalog), "keyless", catalog)
    answer = stage.http.post(stage.declare_at, content=keyless, headers={"content-type": _KEYLESS, "accept": _KEYLESS})
    holds(answer.status_code == 201, f"the declaration answered {answer.status_code}: {answer.text[:300]}")
    holds(isinstance(answer.json(), list), "the answer is not keyless")
    body = decode_message(answer.content, catalog).keyed["body"]
    holds(body["effective_level"] == "L1", f"the effective level is {body['effective_level']}")
    allowed = [name for name, cell in body["actions"].items() if cell["status"] == "allowed"]
    holds(set(allowed) >= {"read_static", "read_json"}, f"only {allowed} is allowed")
    return f"{len(keyless)} bytes of arrays; allowed now: {', '.join(allowed)}"


def overclaims_refused(stage: Stage) -> str:
    """Each way to claim too much is refused, or warned of, by a finding that says how to mend it."""
    told: set[str] = set()
    for name, example in load_examples("failing").items():
        new = set(example["expect"]) & DECLARATION_FINDING_CODES - told
        if not new:
            continue
        strict = {"strict": "1"} if example["strict"] else {}
        answer = stage.http.post(stage.declare_at, params=strict, json=example["message"])
        findings = answer.json()["findings"]
        codes = {finding["code"] for finding in findings if finding["severity"] == "error"}
        holds(answer.status_code == 422, f"{name} answered {answer.status_code}")
        holds(new <= codes, f"{name}: expected {sorted(new)}, got {sorted(codes)}")
        holds(all(finding["remedy"] for finding in findings), f"{name}: a finding has no remedy")
        told |= new
    missing = DECLARATION_FINDING_CODES - told
    holds(not missing, f"no example shows {sorted(missing)}")
    return f"{len(told)} findings, each with its remedy"


def level_capped_without_identity(stage: Stage) -> str:
    """A tool agent without a credential is capped at L2 and told what would lift the cap."""
    answer = stage.declare(_example(Level.L3))
    holds(answer.status_code == 201, f"the declaration answered {answer.status_code}: {answer.text[:300]}")
    body = answer.json()["body"]
    holds(body["effective_level"] == "L2", f"the effective level is {body['effective_level']}")
    lifts = [obligation["id"] for obligation in body["level_obligations"]]
    holds(lifts == ["identity"], f"the cap names {lifts}")
    return "declared L3, effective L2; lifted by: identity"


def obligations_listed(stage: Stage) -> str:
    """An identified L3 agent that posts a comment hears everything that is missing at once."""
    new = stage.operator.administration.add_agent("gazette-helper", max_level=Level.L4, actor="demo")
    stage.api_token = new.api_token
    answer = stage.declare(_example(Level.L3), authorization=f"Bearer {new.api_token}")
    holds(answer.status_code == 201, f"the declaration answered {answer.status_code}: {answer.text[:300]}")
    body = answer.json()["body"]
    holds(body["effective_level"] == "L3", f"the effective level is {body['effective_level']}")
    stage.seen["token"] = body["token"]
    refused = stage.http.post("/comments", json={"text": "hello"}, headers=_as_agent(stage))
    holds(refused.status_code == 403, f"the comment answered {refused.status_code}: {refused.text[:300]}")
    problem = refused.json()
    missing = [obligation["id"] for obligation in problem["obligations"]]
    holds({"consent", "idempotency_key"} <= set(missing), f"only {missing} is listed")
    holds(all(obligation["remedy"] for obligation in problem["obligations"]), "an obligation has no remedy")
    holds(problem["code"] == "consent_required", f"the code is {problem['code']}")
    return f"403 {problem['code']}; missing: {', '.join(missing)}"


def omitted_token_refused(stage: Stage) -> str:
    """Leaving the token out is not the cheapest way in."""
    answer = stage.http.post("/comments", json={"text": "hello"})
    holds(answer.status_code == 401, f"the comment answered {answer.status_code}")
    holds(answer.json()["code"] == "declaration_required", f"the code is {answer.json()['code']}")
    holds("declare=" in answer.headers.get("www-authenticate", ""), "the answer does not say where to declare")
    comments = stage.http.get("/api/comments").json()
    holds(comments == ["First."], f"the site was called: {comments}")
    return "401 declaration_required, and the site was not called"


def memory_write_became_proposal(stage: Stage) -> str:
    """An L4 agent's memory write is held for a human; the site's memory is unchanged."""
    answer = stage.declare(_example(Level.L4), authorization=f"Bearer {stage.api_token}")
    holds(answer.status_code == 201, f"the declaration answered {answer.status_code}: {answer.text[:300]}")
    holds(answer.json()["body"]["effective_level"] == "L4", "the effective level is not L4")
    stage.seen["token"] = answer.json()["body"]["token"]
    headers = _as_agent(stage) | {"uaix-correlation": "demo-memory-1", "idempotency-key": "demo-memory-1"}
    held = stage.http.put("/memory/house/tea", content=b"The kettle is on the right.", headers=headers)
    holds(held.status_code == 202, f"the memory write answered {held.status_code}: {held.text[:300]}")
    own = {"authorization": f"Bearer {stage.api_token}"}
    proposal = stage.http.get(held.headers["location"], headers=own).json()
    holds(proposal["state"] == "pending", f"the proposal is {proposal}")
    remembered = stage.http.get("/memory/house/tea").json()["content"]
    holds(remembered == "The kettle is on the left.", f"the memory reads {remembered}")
    return f"202, proposal {proposal['proposal_id']} waits; the memory is unchanged"


def stolen_token_refused(stage: Stage) -> str:
    """Somebody else who holds the agent's token, alone or beside a credential of their own, gets nothing."""
    thief = stage.operator.administration.add_agent("thief", max_level=Level.L4, actor="demo").api_token
    stolen = {"uaix-negotiation": stage.seen["token"]}
    for headers in (stolen, stolen | {"uaix-credential": thief}):
        refused = stage.http.get("/api/comments", headers=headers)
        holds(refused.status_code == 401, f"the token opened the site: {refused.status_code}")
        holds(refused.json()["code"] == "credentials_invalid", f"the code is {refused.json()['code']}")
    own = stage.http.get("/api/comments", headers=_as_agent(stage))
    holds(own.status_code == 200, f"its owner was answered {own.status_code}")
    return "401 credentials_invalid, without and with another credential; its owner goes on"


def two_workers_one_chain(stage: Stage) -> str:
    """A second server process joins on the same database; both answer at once, and the ledger is one chain."""
    before = stage.operator.audit.verify().entries
    with (
        another_worker(stage.operator.settings) as worker,
        httpx.Client(base_url=worker.url, timeout=30) as second,
    ):
        with ThreadPoolExecutor(4) as clients:
            reads = [clients.submit(client.get, "/api/articles") for client in (stage.http, second) for _ in range(10)]
        answers = [read.result() for read in reads]
    holds(all(answer.status_code == 200 for answer in answers), "a worker refused a read")
    decisions = {answer.headers["uaix-decision"] for answer in answers}
    report = stage.operator.audit.verify()
    since = [orjson.loads(line) for line in stage.operator.audit.tail(report.entries - before)]
    recorded = [entry["decision_id"] for entry in since if entry["kind"] == "decision"]
    holds(sorted(recorded) == sorted(decisions), f"{len(decisions)} answers and {len(recorded)} entries")
    return f"{len(answers)} answers of two processes, {report.entries} entries, one unbroken chain"


def crash_left_unknown_outcome(stage: Stage) -> str:
    """A worker dies while the site works: nobody knows what was done, the ledger says so, and nothing runs twice."""
    headers = _as_agent(stage) | {
        "uaix-correlation": "demo-crash-1",
        "uaix-expires": "2099-01-01T00:00:00Z",
        "idempotency-key": "demo-crash-1",
    }
    with (
        another_worker(stage.operator.settings) as worker,
        httpx.Client(base_url=worker.url, timeout=30) as second,
        ThreadPoolExecutor(1) as client,
    ):
        asked = client.submit(second.post, _ARCHIVE, headers=headers)
        begun = _seen(stage.operator.effects.unfinished, "the effect did not begin")
        worker.crash()
        holds(isinstance(asked.exception(), httpx.TransportError), "the crashed worker answered")
    decision_id = begun[0].decision_id
    ended = _seen(
        lambda: [effect for effect in stage.operator.effects.unfinished() if effect.ended_at],
        "no sweep ended the effect",
    )
    holds([effect.decision_id for effect in ended] == [decision_id], "another effect was ended")
    again = stage.http.post(_ARCHIVE, headers=headers)
    holds(again.status_code == 409, f"the same key again answered {again.status_code}: {again.text[:300]}")
    holds(again.json()["code"] == "outcome_unknown", f"the code is {again.json()['code']}")
    holds(decision_id in again.json()["settle_url"], "the answer does not say what has to be settled")
    return "interrupted in the ledger; the same key again: 409 outcome_unknown, and the site was not called"


def _seen(look: Callable[[], Sequence[Seen]], otherwise: str) -> Sequence[Seen]:
    """Return what `look` sees as soon as it sees something, within half a minute."""
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        if found := look():
            return found
        time.sleep(0.1)
    raise NotSeenError(otherwise)


def ledger_verified(stage: Stage) -> str:
    """Every answer above is an entry of one unbroken chain."""
    report = stage.operator.audit.verify()
    kinds = {orjson.loads(line)["kind"] for line in stage.operator.audit.tail(report.entries)}
    holds({"declare", "decision", "identity", "proposal"} <= kinds, f"only {sorted(kinds)} is recorded")
    return f"{report.entries} entries, one unbroken chain"


def tampering_caught(stage: Stage) -> str:
    """Turn one refusal in a copy of the ledger into a permit, and verification names the place."""
    lines = list(stage.operator.audit.tail(10_000))
    chosen = next(index for index, line in enumerate(lines) if b'"decision":"deny"' in line)
    lines[chosen] = lines[chosen].replace(b'"decision":"deny"', b'"decision":"allow"')
    try:
        verify_chain(lines)
    except IntegrityError as error:
        return error.message
    message = "the changed copy verified"
    raise NotSeenError(message)


STEPS: dict[str, Step] = {
    step.__name__: step
    for step in (
        discovered,
        l0_read,
        l1_keyless_negotiated,
        overclaims_refused,
        level_capped_without_identity,
        obligations_listed,
        omitted_token_refused,
        memory_write_became_proposal,
        stolen_token_refused,
        two_workers_one_chain,
        crash_left_unknown_outcome,
        ledger_verified,
        tampering_caught,
    )
}


def _as_agent(stage: Stage) -> dict[str, str]:
    """Return the headers of the identified agent on the site's own routes."""
    return {"uaix-credential": stage.api_token, "uaix-negotiation": stage.seen["token"]}


def _example(level: Level) -> Mapping[str, Any]:
    """Return the published example of a level."""
    return load_catalog().examples[PROFILE_OF_LEVEL[level]]
