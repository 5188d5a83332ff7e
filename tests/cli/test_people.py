"""`negotiator user` on the host."""

from __future__ import annotations

import io
import re
import sys
from types import SimpleNamespace

import pytest

from tests.support.cli import separately

PASSWORD = "correct horse battery"


@pytest.fixture
def typed(monkeypatch):
    """Put bytes on standard input."""

    def put(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False))

    return put


def test_the_first_admin_is_made_on_the_host(run):
    made = run("user", "add", "ada", "--role", "admin", "--role", "approver", "--person", "p:ada", "--locale", "es")
    assert made.status == 0
    assert re.fullmatch(r"([a-z2-7]{5}-){3}[a-z2-7]{5}\n", made.out)
    assert "shown this once" in made.err
    [listed] = run("user", "list", "--json").document
    assert (listed["name"], listed["person"], listed["locale"]) == ("ada", "p:ada", "es")
    assert (listed["roles"], listed["one_time_password_set"], listed["factors"]) == (["admin", "approver"], True, [])
    assert made.out.strip() not in run("ledger", "tail", "--json").out


def test_a_password_comes_over_standard_input(run, typed):
    typed(PASSWORD.encode() + b"\n")
    made = run("user", "add", "ada", "--role", "admin", "--password-stdin", "--json")
    assert (made.status, made.document["one_time_password"]) == (0, None)
    assert run("user", "list", "--json").document[0]["one_time_password_set"] is False
    typed(b"another horse battery")
    assert run("user", "passwd", "ada", "--password-stdin").status == 0
    assert [entry["code"] for entry in run("ledger", "tail", "--json").document] == ["user_added", "password_set"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"two\nlines of a password\n", b"\xff" * 20, b"x" * 5_000, b"short\n"],
    ids=["nothing", "an empty line", "two lines", "no text", "too much", "too short"],
)
def test_what_is_no_password_is_refused(run, typed, content):
    typed(content)
    refused = run("user", "add", "ada", "--role", "admin", "--password-stdin")
    assert (refused.status, refused.out, refused.code) == (1, "", "password_unfit")


def test_a_password_is_asked_for_on_a_terminal_only(run, typed):
    typed(PASSWORD.encode())
    refused = run("user", "add", "ada", "--role", "admin", "--password")
    assert (refused.status, refused.code) == (3, "terminal_needed")
    assert run("user", "add", "ada", "--role", "admin", "--password", "--password-stdin").status == 2


def test_a_password_typed_on_a_terminal_is_taken(run, monkeypatch):
    asked = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.prompt", lambda text, **options: (asked.append(options), PASSWORD)[1])
    made = run("user", "add", "ada", "--role", "admin", "--password", "--json")
    assert (made.status, made.document["one_time_password"]) == (0, None)
    assert [(each["hide_input"], each["confirmation_prompt"]) for each in asked] == [(True, True)]


def test_a_password_is_no_argument(run):
    assert run("user", "add", "ada", "--role", "admin", PASSWORD).status == 2
    assert run("user", "add", "ada", "--role", "admin", f"--password={PASSWORD}").status == 2


def test_factors_are_added_listed_and_removed(run):
    run("user", "add", "ada", "--role", "admin")
    added = run("user", "factor", "add", "ada", "--label", "phone", "--json").document
    assert added["url"].startswith("otpauth://totp/")
    shown = run("user", "factor", "list", "ada")
    assert "phone" in shown.out
    assert "never used" in shown.out
    assert "secret=" not in shown.out
    [listed] = run("user", "factor", "list", "ada", "--json").document
    assert listed == {name: value for name, value in added.items() if name != "url"}
    assert run("user", "factor", "remove", "ada", "phone").status == 0
    assert run("user", "factor", "list", "ada", "--json").document == []
    assert run("user", "factor", "remove", "ada", "phone").code == "not_found"


def test_accounts_are_disabled_enabled_and_given_roles(run):
    run("user", "add", "ada", "--role", "admin")
    run("user", "add", "eve", "--role", "approver")
    refused = run("user", "disable", "ada")
    assert (refused.status, refused.code) == (1, "last_admin")
    assert run("user", "disable", "eve", "--json").document["disabled_at"]
    assert "disabled" in run("user", "list").out
    assert run("user", "enable", "eve", "--json").document["disabled_at"] is None
    assert run("user", "roles", "eve", "auditor", "reviewer", "--json").document["roles"] == ["auditor", "reviewer"]
    assert run("user", "roles", "eve").out == "eve is nothing here\n"
    assert run("user", "roles", "eve", "god").status == 2
    assert run("user", "roles", "ada", "auditor").code == "last_admin"
    assert run("user", "add", "eve", "--role", "admin").code == "name_taken"


def test_without_a_database_there_is_nobody(run):
    for arguments in (("list",), ("passwd", "ada"), ("disable", "ada"), ("factor", "list", "ada")):
        assert run("user", *arguments).code == "database_missing"


def test_a_piped_password_does_not_show(tmp_path):
    made = separately(
        "user", "add", "ada", "--role", "admin", "--password-stdin", folder=tmp_path, given=PASSWORD.encode()
    )
    assert (made.status, made.err) == (0, "")
    assert PASSWORD not in made.out
