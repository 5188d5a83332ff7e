"""`negotiator demo`: the story holds, and `--json` prints it as one document."""

from __future__ import annotations

from pathlib import Path

from negotiator.demo.story import STEPS
from tests.support.cli import separately


def test_the_story_holds_and_leaves_nothing_behind(tmp_path: Path):
    shown = separately("demo", "--json", folder=tmp_path, TMPDIR=str(tmp_path))
    assert (shown.status, shown.err) == (0, "")
    assert set(shown.document) == {"ok", "steps"}
    assert shown.document["ok"] is True
    assert [step["name"] for step in shown.document["steps"]] == [
        "discovered",
        "l0_read",
        "l1_keyless_negotiated",
        "overclaims_refused",
        "level_capped_without_identity",
        "obligations_listed",
        "omitted_token_refused",
        "memory_write_became_proposal",
        "stolen_token_refused",
        "two_workers_one_chain",
        "crash_left_unknown_outcome",
        "ledger_verified",
        "tampering_caught",
    ]
    assert all(
        set(step) == {"name", "ok", "detail"} and step["ok"] and step["detail"] for step in shown.document["steps"]
    )
    assert list(tmp_path.iterdir()) == []


def test_people_get_a_line_and_what_was_seen_for_each_step(tmp_path: Path):
    shown = separately("demo", "--keep", folder=tmp_path, TMPDIR=str(tmp_path))
    assert shown.status == 0
    lines = shown.out.splitlines()
    assert [line.split(":")[0] for line in lines[:-1:2]] == [f"✓ {name}" for name in STEPS]
    assert all(line.startswith("  → ") for line in lines[1:-1:2])
    assert lines[-1] == f"{len(STEPS)} of {len(STEPS)} steps told; each holds"
    [kept] = tmp_path.iterdir()
    assert shown.err == f"kept in {kept}\n"
    variables = {"NEGOTIATOR_DATABASE": f"sqlite:///{kept}/data/negotiator.db", "NEGOTIATOR_KEYS_DIR": f"{kept}/keys"}
    assert separately("ledger", "verify", folder=tmp_path, **variables).status == 0
