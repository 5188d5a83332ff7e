"""The base installation: the agents' side works without the extra `server`, and the rest says what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from negotiator.cli.program import SERVER_MODULES
from negotiator.shipped import load_examples
from tests.support.cli import plain_environment, separately

_BLOCKED = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(SERVER_MODULES)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from negotiator.cli import main
sys.exit(main(sys.argv[1:]))
"""
WITHOUT = (sys.executable, "-c", _BLOCKED)


@pytest.mark.parametrize(
    "arguments",
    [
        ("agent", "list"),
        ("demo",),
        ("ledger", "verify"),
        ("policy", "check"),
        ("routes", "check"),
        ("serve",),
        ("user", "list"),
    ],
    ids=" ".join,
)
def test_a_server_command_says_what_to_install(tmp_path: Path, arguments):
    shown = separately(*arguments, folder=tmp_path, program=WITHOUT)
    assert (shown.status, shown.out, shown.code) == (3, "", "server_not_installed")
    assert "uaix-negotiator[server]" in shown.err
    assert list(tmp_path.iterdir()) == []


def test_help_needs_no_server(tmp_path: Path):
    assert separately("--help", folder=tmp_path, program=WITHOUT).status == 0


def test_init_needs_no_server(tmp_path: Path):
    assert separately("init", "site", folder=tmp_path, program=WITHOUT).status == 0


def test_validation_leaves_the_policies_out_and_says_so(tmp_path: Path):
    overclaim = load_examples("failing")["capability_level_overclaim"]["message"]
    (tmp_path / "overclaim.json").write_bytes(orjson.dumps(overclaim))
    (tmp_path / "flat.json").write_bytes(orjson.dumps(overclaim | {"body": {"client_level": 3}}))
    shown = separately("record", "validate", "overclaim.json", "--json", folder=tmp_path, program=WITHOUT)
    assert (shown.status, shown.document["valid"]) == (0, True)
    assert shown.err.startswith("note: ")
    assert shown.err.count("\n") == 1
    shown = separately("record", "validate", "flat.json", "--json", folder=tmp_path, program=WITHOUT)
    assert shown.status == 1
    assert {each["code"] for each in shown.document["findings"]} == {"schema_violation"}


def test_the_agents_side_loads_no_server_module():
    program = (
        "import sys, negotiator; from negotiator.messages import Validator, decode_message, encode_message; "
        "from negotiator.shipped import load_catalog; load_catalog(); "
        f"print(sorted({sorted(SERVER_MODULES)!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    ).replace(f"{sorted(SERVER_MODULES)!r} &", f"set({sorted(SERVER_MODULES)!r}) &")
    done = subprocess.run(
        [sys.executable, "-c", program], env=plain_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
