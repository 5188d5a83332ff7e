"""A policy folder: everything that looks like a policy is read, or nothing is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from negotiator.errors import PolicyError
from negotiator.store import PolicyFolder
from negotiator.store.environment import MAX_POLICY_FILE_BYTES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "policies"
    (root / "site" / "deep").mkdir(parents=True)
    (root / "schema.cedarschema").write_bytes(b"schema")
    (root / "ladder.cedar").write_bytes(b"ladder\r\n\xff")
    (root / "site" / "deep" / "own.cedar").write_bytes(b"own")
    (root / "cases").mkdir()
    (root / "cases" / "ladder.yaml").write_bytes(b"no policy")
    (root / "site" / "schema.cedarschema").write_bytes(b"not the schema")
    return root


def refused(folder: Path) -> str:
    with pytest.raises(PolicyError) as caught:
        PolicyFolder(folder).read()
    assert caught.value.code == "policy_unreadable"
    return caught.value.message


def test_policies_and_the_schema_are_read_as_they_are(folder):
    assert PolicyFolder(folder).read() == {
        "ladder.cedar": b"ladder\r\n\xff",
        "schema.cedarschema": b"schema",
        "site/deep/own.cedar": b"own",
    }


def test_an_empty_folder_has_no_policies(tmp_path):
    assert PolicyFolder(tmp_path).read() == {}


def test_hidden_names_are_left_out(folder):
    (folder / ".ladder.cedar.swp").write_bytes(b"")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.cedar").write_bytes(b"")
    assert len(PolicyFolder(folder).read()) == 3


def test_mounted_configuration_is_read_through_its_links(folder, tmp_path):
    mounted = tmp_path / "mounted"
    (mounted / "..2026").mkdir(parents=True)
    (mounted / "..2026" / "a.cedar").write_bytes(b"a")
    (mounted / "..data").symlink_to("..2026")
    (mounted / "a.cedar").symlink_to("..data/a.cedar")
    assert PolicyFolder(mounted).read() == {"a.cedar": b"a"}
    (tmp_path / "current").symlink_to(mounted)
    assert PolicyFolder(tmp_path / "current").read() == {"a.cedar": b"a"}


def test_a_change_is_seen_at_the_next_read(folder):
    source = PolicyFolder(folder)
    before = source.read()
    (folder / "ladder.cedar").write_bytes(b"other")
    assert source.read() != before


@pytest.mark.parametrize("name", ["gone", "ladder.cedar"])
def test_what_is_no_folder_is_refused(folder, name):
    assert name in refused(folder / name)


def test_a_link_that_leads_out_is_refused(folder, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "x.cedar").symlink_to(tmp_path / "secret")
    assert "secret" not in refused(folder)


def test_a_link_to_nowhere_is_refused(folder):
    (folder / "x.cedar").symlink_to("nowhere")
    refused(folder)


def test_a_loop_of_links_is_refused(folder):
    (folder / "x.cedar").symlink_to("y.cedar")
    (folder / "y.cedar").symlink_to("x.cedar")
    refused(folder)


def test_a_linked_folder_is_refused_not_left_out(folder, tmp_path):
    (folder / "more").symlink_to(tmp_path)
    assert "more" in refused(folder)


def test_a_folder_named_like_a_policy_is_refused(folder):
    (folder / "x.cedar").mkdir()
    assert "x.cedar" in refused(folder)


def test_a_pipe_is_refused_without_waiting(folder):
    os.mkfifo(folder / "x.cedar")
    assert "x.cedar" in refused(folder)


def test_a_misspelt_suffix_is_refused_not_left_out(folder):
    (folder / "forbid.CEDAR").write_bytes(b"")
    assert "forbid.CEDAR" in refused(folder)


def test_a_file_beyond_the_limit_is_refused(folder):
    with (folder / "x.cedar").open("wb") as file:
        file.truncate(MAX_POLICY_FILE_BYTES + 1)
    assert "x.cedar" in refused(folder)
