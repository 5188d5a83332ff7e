"""The kill switch as a file: what turns it, and that what cannot be told or done never lets agents in."""

from __future__ import annotations

from pathlib import Path

import pytest

from negotiator.errors import ConfigError
from negotiator.store import FileSwitch
from tests.support.stores import HandClock

NOWHERE = Path("/proc/none/kill-switch")


def test_turned_on_it_is_on_at_once_and_for_others_of_the_path_within_a_second(tmp_path: Path):
    clock = HandClock()
    one, two = (FileSwitch(tmp_path / "deeper" / "stop", clock) for _ in range(2))
    assert (one.on, two.on) == (False, False)
    one.turn(on=True)
    one.turn(on=True)
    assert (one.on, two.on) == (True, False)
    clock.move(1)
    assert two.on
    assert one.look() == two.look()
    two.turn(on=False)
    two.turn(on=False)
    assert not two.on


def test_what_an_operator_left_there_is_not_overwritten(tmp_path: Path):
    (tmp_path / "stop").write_text("because of the flood")
    FileSwitch(tmp_path / "stop", HandClock()).turn(on=True)
    assert (tmp_path / "stop").read_text() == "because of the flood"


def test_where_the_file_cannot_be_made_it_is_on_here_until_it_is_turned_off():
    switch = FileSwitch(NOWHERE, HandClock())
    assert not switch.on
    for _ in range(2):
        with pytest.raises(ConfigError) as caught:
            switch.turn(on=True)
        assert caught.value.code == "kill_switch_unwritable"
        assert switch.on
        assert switch.look()[""] is True
    switch.turn(on=False)
    assert not switch.on


def test_what_cannot_be_removed_stays_on(tmp_path: Path):
    (tmp_path / "stop").mkdir()
    switch = FileSwitch(tmp_path / "stop", HandClock())
    with pytest.raises(ConfigError):
        switch.turn(on=False)
    assert switch.on


def test_what_cannot_be_told_counts_as_on(tmp_path: Path):
    (tmp_path / "file").touch()
    assert FileSwitch(tmp_path / "file" / "stop", HandClock()).on
