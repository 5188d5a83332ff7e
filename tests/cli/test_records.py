"""`negotiator record` on the published examples, and on what is no message."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from negotiator.model.levels import Level
from negotiator.shipped import load_examples
from tests.support.cli import separately
from tests.support.house import PREFIX, house

FAILING = load_examples("failing")
VALID = load_examples("valid")


def _file(folder: Path, example) -> Path:
    file = folder / "message.json"
    if "raw" in example:
        file.write_text(example["raw"] * example.get("times", 1), encoding="utf-8", errors="surrogatepass")
    else:
        file.write_bytes(orjson.dumps(example["message"]))
    return file


def _strict(example) -> list[str]:
    return ["--strict"] if example["strict"] else []


@pytest.mark.parametrize("name", sorted(FAILING))
def test_each_failing_example_is_bad_for_the_published_reason(run, tmp_path: Path, name):
    example = FAILING[name]
    shown = run("record", "validate", _file(tmp_path, example), *_strict(example), "--json")
    assert shown.status == 1
    assert shown.document["valid"] is False
    errors = {each["code"] for each in shown.document["findings"] if each["severity"] == "error"}
    assert errors >= set(example["expect"]) != set()


@pytest.mark.parametrize("name", sorted(VALID))
def test_each_valid_example_is_fine(run, tmp_path: Path, name):
    example = VALID[name]
    file = _file(tmp_path, example)
    shown = run("record", "validate", file, *_strict(example))
    assert (shown.status, shown.err) == (0, "")
    assert shown.out.splitlines()[-1] == f"valid  sha256:{run('record', 'digest', file).out.strip()}"


def test_an_overclaim_is_told_to_people_with_policy_and_remedy(run, tmp_path: Path):
    shown = run("record", "validate", _file(tmp_path, FAILING["capability_level_overclaim"]))
    assert shown.status == 1
    first, *_, last = shown.out.splitlines()
    assert first.startswith("error: capability_level_overclaim at /body/")
    assert "(policy:" in first
    assert "  → " in shown.out
    assert last == "not valid"


async def test_the_command_and_the_route_say_the_same(run, tmp_path: Path):
    message = orjson.dumps(FAILING["capability_level_overclaim"]["message"])
    (tmp_path / "message.json").write_bytes(message)
    with house(tmp_path / "house") as built:
        async with built.client() as client:
            headers = {"content-type": "application/json"}
            answer = await client.post(f"{PREFIX}/validate", content=message, headers=headers)
    assert run("record", "validate", "message.json", "--json").document == answer.json()


def test_another_profile_than_the_demanded_one_is_bad(run, tmp_path: Path):
    file = _file(tmp_path, VALID["L1"])
    assert run("record", "validate", file, "--profile", "uai.client.structured-fetch.v1").status == 0
    shown = run("record", "validate", file, "--profile", "uai.client.tool-agent.v1", "--json")
    assert shown.status == 1
    assert [each["code"] for each in shown.document["findings"]] == ["unknown_profile"]


@pytest.mark.parametrize("level", list(Level))
def test_encodings_lose_nothing(run, tmp_path: Path, level):
    file = _file(tmp_path, VALID[level.name])
    digest = run("record", "digest", file).out
    for encoding in ("keyed", "minified", "keyless"):
        (tmp_path / "again").write_text(run("record", "encode", file, "--to", encoding).out)
        assert run("record", "digest", "again").out == digest
        assert run("record", "decode", "again").document == VALID[level.name]["message"]
        document = run("record", "encode", file, "--to", encoding, "--json").document
        assert document["digest"] == digest.strip()
        assert isinstance(document["message"], list) is (encoding == "keyless")
    assert run("record", "digest", file, "--json").document == {"digest": digest.strip()}


@pytest.mark.parametrize("subcommand", ["encode", "decode", "digest"])
def test_bytes_that_are_no_message_are_bad(run, tmp_path: Path, subcommand):
    (tmp_path / "bytes").write_bytes(b'{"a": 1, "a": 2}')
    shown = run("record", subcommand, "bytes")
    assert (shown.status, shown.out, shown.code) == (1, "", "duplicate_key")


@pytest.mark.parametrize("subcommand", ["validate", "encode", "decode", "digest"])
@pytest.mark.parametrize("name", ["missing.json", "", "a\0b"])
def test_what_cannot_be_read_could_not_be_done(run, subcommand, name):
    shown = run("record", subcommand, name or ".")
    assert (shown.status, shown.out, shown.code) == (3, "", "file_unreadable")


def test_an_endless_file_is_too_large_and_not_read_to_its_end(run):
    assert run("record", "digest", "/dev/zero").code == "body_too_large"


def test_keys_of_the_message_cannot_forge_a_line(run, tmp_path: Path):
    message = VALID["L1"]["message"] | {"body": VALID["L1"]["message"]["body"] | {"x\u202e": 1}}
    (tmp_path / "message.json").write_bytes(orjson.dumps(message))
    shown = run("record", "validate", "message.json")
    assert "\u202e" not in shown.out
    assert "\\u202e" in shown.out


def test_a_message_comes_by_standard_input(tmp_path: Path):
    message = orjson.dumps(VALID["L1"]["message"])
    shown = separately("record", "validate", "-", folder=tmp_path, given=message)
    assert (shown.status, shown.err) == (0, "")
