"""`negotiator policy check`: what becomes active, what does not, and what only looks as if it would protect."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from negotiator.shipped import shipped_folder

PERMIT = '@id("x")\n@title("x")\npermit (principal is Uaix::Agent, action == Uaix::Action::"post", resource);\n'
FORBID = '@title("no")\nforbid (principal is Uaix::Agent, action == Uaix::Action::"post", resource)'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the shipped schema alone."""
    made = tmp_path / "policies"
    made.mkdir()
    shutil.copy(shipped_folder("policies") / "schema.cedarschema", made)
    return made


def test_the_shipped_policies_have_nothing_to_find(run):
    shown = run("policy", "check")
    assert (shown.status, shown.out, shown.err) == (0, "the shipped policies can become active\n", "")
    assert run("policy", "check", "--json").document == {"ok": True, "usable": True, "findings": []}


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("permit (principal, action, resource", "policy_unparsable", "extra.cedar"),
        (PERMIT.replace('@id("x")\n', ""), "policy_id_missing", "extra.cedar"),
        (PERMIT + PERMIT, "policy_id_duplicate", "x"),
        (f'@id("x")\n{FORBID} when {{ principal.nonsense }};', "policy_invalid", "nonsense"),
        (f'@id("x")\n{FORBID} when {{ principal.operated_by == "me" }};', "policy_invalid", "operated_by"),
        (f'@id("x")\n{FORBID} unless {{ principal in Uaix::Level::"L9" }};', "policy_invalid", "L9"),
        (f'@id("x")\n@requires("consnt")\n@remedy("ask")\n{FORBID};', "policy_invalid", "consnt"),
        (f'@id("x")\n@requirse("consent")\n@remedy("ask")\n{FORBID};', "policy_invalid", "requirse"),
    ],
    ids=["broken", "no id", "twice the id", "no such fact", "may error", "no such level", "obligation", "annotation"],
)
def test_what_cannot_become_active_is_bad_and_named(run, folder: Path, text, code, words):
    (folder / "extra.cedar").write_text(text)
    shown = run("policy", "check", folder)
    assert (shown.status, shown.err) == (1, "")
    assert shown.out.endswith("the policies cannot become active\n")
    document = run("policy", "check", folder, "--json").document
    assert (document["ok"], document["usable"]) == (False, False)
    first = document["findings"][0]
    assert (first["severity"], first["code"]) == ("error", code)
    assert words in first["message"]


def test_no_policy_at_all_denies_everything_and_is_told_aloud(run, folder: Path):
    shown = run("policy", "check", folder)
    assert shown.status == 1
    assert "policies_empty" in shown.out
    assert "everything is denied" in shown.out
    assert shown.out.endswith("the policies can become active\n")
    assert run("policy", "check", folder, "--json").document["usable"] is True


def test_a_warning_is_a_finding_and_does_not_keep_policies_from_becoming_active(run, folder: Path):
    (folder / "extra.cedar").write_text(PERMIT.replace('@title("x")\n', ""))
    document = run("policy", "check", folder, "--json").document
    assert (document["ok"], document["usable"]) == (False, True)
    assert run("policy", "check", folder).status == 1


def test_an_empty_folder_has_no_schema(run, tmp_path: Path):
    assert run("policy", "check", tmp_path, "--json").document["findings"][0]["code"] == "schema_invalid"


def test_a_file_that_cannot_be_read_as_a_policy_is_a_finding(run, folder: Path):
    (folder / "gone.cedar").symlink_to(folder / "nowhere")
    shown = run("policy", "check", folder, "--json")
    assert (shown.status, shown.document["findings"][0]["code"]) == (1, "policy_unreadable")


@pytest.mark.parametrize("name", ["missing", "a-file"])
def test_what_is_no_folder_could_not_be_checked(run, tmp_path: Path, name):
    (tmp_path / "a-file").write_text("")
    shown = run("policy", "check", name)
    assert (shown.status, shown.out, shown.code) == (3, "", "policies_missing")
