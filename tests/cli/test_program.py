"""Promises of every command: exit statuses, one line of error, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from negotiator import __version__
from negotiator.cli.program import COMMANDS
from tests.support.cli import PROGRAM, plain_environment, separately

ODD_SITE = """
class App:
    routes = property(lambda self: 1 / 0)

    def __call__(self): ...


app = App()
"""


def test_help_lists_every_command_and_says_it_with_the_commands_own_words(run):
    shown = run("--help")
    assert shown.status == 0
    for name, (home, sentence) in COMMANDS.items():
        assert f"{name} " in shown.out
        assert sentence in " ".join(shown.out.split())
        assert import_module(home).command.help.startswith(sentence.removesuffix("."))


@pytest.mark.parametrize("arguments", [(), ("agent",), ("ledger",), ("policy",), ("record",), ("routes",)])
def test_without_a_command_the_help_is_shown_and_nothing_was_done(run, arguments):
    shown = run(*arguments)
    assert (shown.status, shown.err) == (2, "")
    assert "Commands:" in shown.out


def test_the_version_is_the_packages(run):
    assert run("--version").out == f"negotiator {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("serve", "--frob"),
        ("serve", "--port", "70000"),
        ("agent", "add"),
        ("agent", "add", "helper", "--max-level", "L7"),
        ("record", "encode", "x.json", "--to", "yaml"),
        ("ledger", "tail", "-n", "0"),
    ],
)
def test_wrong_usage_is_2_in_one_line(run, arguments):
    shown = run(*arguments)
    assert (shown.status, shown.out, shown.code) == (2, "", "usage")


@pytest.mark.parametrize(
    "arguments",
    [
        ("agent", "add", "helper"),
        ("agent", "list"),
        ("agent", "revoke", "helper"),
        ("ledger", "tail"),
        ("ledger", "verify"),
        ("routes", "check"),
        ("serve", "--port", "0"),
    ],
)
@pytest.mark.parametrize(
    ("config", "code", "words"),
    [
        ('prefx = "/uaix/v1"\n', "config_invalid", ["site.toml, line 1", "prefx", "unknown key", "prefix"]),
        ('prefix = "/uaix/v1"\n[[routes]]\nmatch = "GET /"\nacton = "x"\n', "config_invalid", ["line 4", "action"]),
        ('prefix = "/uaix/v1"\nprefix\n', "config_unparsable", ["site.toml", "line 2"]),
        (None, "config_unreadable", ["site.toml"]),
    ],
    ids=["misspelt key", "misspelt route key", "no TOML", "no file"],
)
def test_a_bad_configuration_is_named_with_file_key_and_line(run, tmp_path: Path, arguments, config, code, words):
    if config is not None:
        (tmp_path / "site.toml").write_text(config)
    shown = run(*arguments, "--config", "site.toml")
    assert (shown.status, shown.out, shown.code) == (3, "", code)
    assert all(word in shown.err for word in words)
    assert sorted(path.name for path in tmp_path.iterdir()) == (["site.toml"] if config is not None else [])


def test_a_folder_is_no_configuration(run, tmp_path: Path):
    assert run("ledger", "tail", "--config", tmp_path).code == "config_unreadable"


def test_a_misspelt_environment_variable_is_refused(run, monkeypatch):
    monkeypatch.setenv("NEGOTIATOR_PREFX", "/x")
    shown = run("agent", "list")
    assert (shown.status, shown.code) == (3, "config_invalid")
    assert "prefix" in shown.err


def test_a_variable_changes_the_demo_site_and_does_not_replace_it(run, monkeypatch):
    monkeypatch.setenv("NEGOTIATOR_PREFIX", "/agents")
    assert run("routes", "check").status == 0


def test_what_nobody_foresaw_is_one_line_and_no_success(run, tmp_path: Path):
    (tmp_path / "odd_site.py").write_text(ODD_SITE)
    shown = run("routes", "check", "--app", "odd_site:app")
    assert (shown.status, shown.out, shown.code) == (3, "", "internal_error")
    assert "ZeroDivisionError" in shown.err


def test_development_mode_shows_the_traceback(tmp_path: Path):
    (tmp_path / "odd_site.py").write_text(ODD_SITE)
    program = (PROGRAM[0], "-X", "dev", *PROGRAM[1:])
    shown = separately("routes", "check", "--app", "odd_site:app", folder=tmp_path, program=program)
    assert shown.status == 1
    assert "Traceback" in shown.err


def test_an_interrupt_is_one_line(tmp_path: Path):
    pipe = tmp_path / "message.json"
    os.mkfifo(pipe)
    command = [*PROGRAM, "record", "digest", str(pipe)]
    with (
        subprocess.Popen(command, env=plain_environment(), stderr=subprocess.PIPE, text=True) as process,
        pipe.open("wb"),  # opens only when the command reads it
    ):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "negotiator: interrupted: stopped before it was done\n")


def test_a_reader_that_left_is_no_complaint(tmp_path: Path):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, "record", "decode", "-"],
        env=plain_environment(),
        input=b'{"profile": "uai.task.status.v1", "body": {}}',
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_output_that_cannot_show_a_character_escapes_it(tmp_path: Path):
    (tmp_path / "flat.json").write_text('{"profile": "uai.capability.profile.v1", "body": {}}')
    shown = separately("record", "validate", "flat.json", folder=tmp_path, PYTHONIOENCODING="latin-1")
    assert (shown.status, shown.err) == (1, "")
    assert "  \\u2192 " in shown.out
