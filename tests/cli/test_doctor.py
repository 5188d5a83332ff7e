"""`negotiator doctor` sees what is wrong, says what to do, and leaves the disk as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from negotiator.cli.checkup import disk_diagnosis
from negotiator.cli.reach import check_reach
from negotiator.config import Settings
from negotiator.errors import ConfigError
from negotiator.model.entries import EntryDraft, EntryKind
from negotiator.store import open_store
from tests.support.cli import Ran
from tests.support.time import StillClock

Run = Callable[..., Ran]
CONFIG = "site/negotiator.toml"


@pytest.fixture
def site(run: Run, tmp_path: Path) -> Path:
    """A site that has worked: keys, a database and one agent."""
    assert run("init", "site").status == 0
    for path in [tmp_path / "site", *(tmp_path / "site").rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o022)
    assert run("agent", "add", "helper", "--config", CONFIG).status == 0
    assert run("ledger", "verify", "--config", CONFIG).status == 0
    return tmp_path / "site"


def disk(folder: Path) -> Mapping[str, tuple[int, int, bytes]]:
    """Return mode, time and content of everything below `folder`."""
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
    }


def codes(shown: Ran, state: str) -> list[str]:
    """Return the codes of one state; the exit status says whether there is a problem."""
    document = shown.document
    assert shown.status == (0 if document["ok"] else 1)
    assert document["ok"] == all(check["state"] != "problem" for check in document["checks"])
    return [check["code"] for check in document["checks"] if check["state"] == state]


def test_a_sound_site_is_sound_and_stays_as_it_is(run: Run, site: Path):
    (site / "negotiator.toml").write_text(
        'public_url = "https://example.org"\n' + (site / "negotiator.toml").read_text()
    )
    before = disk(site.parent)
    shown = run("doctor", "--config", CONFIG, "--json")
    assert [check["about"] for check in shown.document["checks"]] == [
        "settings", "keys", "database", "disk", "policies", "routes", "reach", "files",
    ]  # fmt: skip
    assert codes(shown, "problem") == []
    assert set(codes(shown, "warning")) <= {"disk_low"}
    assert disk(site.parent) == before


def test_what_is_not_made_yet_is_not_made_and_no_problem(run: Run, tmp_path: Path):
    shown = run("doctor", "--json")
    assert codes(shown, "problem") == []
    assert "public_url_missing" in codes(shown, "warning")
    assert list(tmp_path.iterdir()) == []


def test_for_people_it_is_one_line_each_with_state_and_code(run: Run):
    shown = run("doctor")
    assert shown.status == 0
    assert "\nwarning reach: public_url_missing: only this machine" in shown.out
    assert {line.split()[0] for line in shown.out.splitlines()} <= {"ok", "warning"}


def test_settings_that_cannot_be_read_are_the_one_problem(run: Run, tmp_path: Path):
    (tmp_path / "bad.toml").write_text("projekt = 'x'\n")
    shown = run("doctor", "--config", "bad.toml", "--json")
    assert codes(shown, "problem") == ["config_invalid"]
    assert "did you mean project" in shown.document["checks"][0]["detail"]


BROKEN: Mapping[str, tuple[Callable[[Path], object], str]] = {
    "a key that others can read": (lambda s: (s / "var/keys/pepper.key").chmod(0o644), "key_file_unsafe"),
    "keys in an open folder": (lambda s: (s / "var/keys").chmod(0o755), "key_file_unsafe"),
    "a key that is a link": (lambda s: (s / "var/keys/token.key").symlink_to("pepper.key"), "key_file_unsafe"),
    "a key that is none": (lambda s: (s / "var/keys/pepper.key").write_text("x"), "key_file_unreadable"),
    "a pepper that is gone": (lambda s: (s / "var/keys/pepper.key").unlink(), "key_file_missing"),
    "keys beside the database": (
        lambda s: (s / "negotiator.toml").write_text(
            'database = "sqlite:///var/data/negotiator.db"\nkeys_dir = "var/data/keys"\n'
        ),
        "key_file_unsafe",
    ),
    "no database there": (
        lambda s: (s / "negotiator.toml").write_text('database = "postgresql://127.0.0.1:1/x"\n'),
        "store_unavailable",
    ),
    "a database of another kind": (
        lambda s: (s / "negotiator.toml").write_text('database = "mysql://127.0.0.1:1/x"\n'),
        "database_unsupported",
    ),
    "a file that is no database": (
        lambda s: (s / "var/data/negotiator.db").write_bytes(b"no database" * 1000),
        "store_unavailable",
    ),
    "a policy that cannot be read": (lambda s: (s / "policies/x.cedar").write_text("permit ("), "policy_unparsable"),
    "policies that are gone": (lambda s: (s / "policies").rename(s / "elsewhere"), "policy_unreadable"),
    "policies for everybody to write": (lambda s: (s / "policies").chmod(0o777), "writable_by_others"),
    "a configuration for everybody to write": (lambda s: (s / "negotiator.toml").chmod(0o666), "writable_by_others"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_wrong_is_named_and_left_alone(run: Run, site: Path, broken: str):
    assert run("doctor", "--config", CONFIG).status == 0
    spoil, code = BROKEN[broken]
    spoil(site)
    before = disk(site.parent)
    shown = run("doctor", "--config", CONFIG, "--json")
    assert code in codes(shown, "problem")
    assert shown.status == 1
    assert disk(site.parent) == before


def test_a_group_that_may_write_policies_is_only_a_warning(run: Run, site: Path):
    (site / "policies").chmod(0o775)
    assert "writable_by_others" in codes(run("doctor", "--config", CONFIG, "--json"), "warning")


def test_no_policies_is_a_warning_that_says_what_follows(run: Run, site: Path):
    for policy in (site / "policies").rglob("*.cedar"):
        policy.unlink()
    assert "policies_empty" in codes(run("doctor", "--config", CONFIG, "--json"), "warning")


def test_a_ledger_from_the_future_is_a_problem(run: Run, site: Path):
    ahead = StillClock(datetime.now(UTC) + timedelta(seconds=600))
    store = open_store(f"sqlite:///{site / 'var/data/negotiator.db'}", project="default", clock=ahead)
    store.transact_sync(lambda tx: tx.append(EntryDraft(kind=EntryKind.ADMIN, members={"decision": "allow"})))
    store.stop()
    assert "clock_behind" in codes(run("doctor", "--config", CONFIG, "--json"), "problem")


@pytest.mark.parametrize(
    ("free", "state"), [(1 << 40, "ok"), (1 << 30, "ok"), ((1 << 30) - 1, "warning"), ((64 << 20) - 1, "problem")]
)
def test_a_disk_is_low_before_it_is_full(free: int, state: str):
    assert disk_diagnosis(free).state == state


def test_a_database_that_cannot_be_made_is_a_problem(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "closed").write_text("a file")
    monkeypatch.setenv("NEGOTIATOR_DATABASE", "sqlite:///closed/x/y.db")
    assert "database_directory_missing" in codes(run("doctor", "--json"), "problem")


@pytest.mark.parametrize(
    ("given", "host", "code"),
    [
        ({}, "127.0.0.1", ""),
        ({}, "::1", ""),
        ({}, "localhost", ""),
        ({}, "0.0.0.0", "public_url_missing"),
        ({"allowed_hosts": ["example.org"]}, "0.0.0.0", "public_url_missing"),
        ({}, "localhost.example.org", "public_url_missing"),
        ({"public_url": "http://localhost:8000"}, "::", "public_url_loopback"),
        ({"public_url": "https://127.0.0.1"}, "192.0.2.1", "public_url_loopback"),
        ({"public_url": "https://example.org"}, "0.0.0.0", ""),
    ],
)
def test_other_machines_are_served_only_by_a_public_name(given, host, code):
    settings = Settings.model_validate(given)
    if not code:
        check_reach(settings, host)
        return
    with pytest.raises(ConfigError) as caught:
        check_reach(settings, host)
    assert caught.value.code == code
