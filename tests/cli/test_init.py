"""`negotiator init`: what it writes works, and it overwrites nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from negotiator.config import Settings
from negotiator.shipped import shipped_folder


def test_what_it_writes_loads_and_checks(run, tmp_path: Path):
    shown = run("init", "site")
    assert (shown.status, shown.err) == (0, "")
    settings = Settings.load(tmp_path / "site" / "negotiator.toml")
    assert settings.policies_dir == tmp_path / "site" / "policies"
    assert settings.keys_dir.is_relative_to(tmp_path / "site")
    assert run("policy", "check", "site/policies").status == 0
    assert run("agent", "add", "helper", "--config", "site/negotiator.toml").status == 0
    assert run("ledger", "verify", "--config", "site/negotiator.toml").status == 0


def test_the_written_configuration_says_the_defaults(run, tmp_path: Path):
    run("init", "site")
    written = Settings.load(tmp_path / "site" / "negotiator.toml")
    places = {"database", "keys_dir", "kill_switch", "policies_dir", "routes"}
    assert written.model_dump(exclude=places) == Settings().model_dump(exclude=places)


def test_the_policies_are_the_shipped_ones(run, tmp_path: Path):
    document = run("init", "site", "--json").document
    assert set(document) == {"configuration", "policies"}
    shipped = {path.name: path.read_bytes() for path in shipped_folder("policies").iterdir()}
    assert {path.name: path.read_bytes() for path in Path(document["policies"]).iterdir()} == shipped


@pytest.mark.parametrize("name", ["negotiator.toml", "policies"])
def test_nothing_is_overwritten_and_nothing_half_written(run, tmp_path: Path, name):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / name).write_text("mine")
    shown = run("init", "site")
    assert (shown.status, shown.out, shown.code) == (3, "", "already_there")
    assert [(path.name, path.read_text()) for path in (tmp_path / "site").iterdir()] == [(name, "mine")]


def test_a_file_in_the_way_is_one_line(run, tmp_path: Path):
    (tmp_path / "site").write_text("mine")
    shown = run("init", "site")
    assert (shown.status, shown.out, shown.code) == (3, "", "folder_unwritable")
    assert (tmp_path / "site").read_text() == "mine"
