"""Promises around the code: what the repository's files may name, and that what the pages tell to type exists."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, ROOT

# Put together from pieces, so that this file passes its own test.
REGISTRIES = re.compile(
    "|".join([r"pypi\." + "org", "python" + "hosted", r"registry\." + "npmjs", r"deb\." + "debian"])
)
MACHINE_PATHS = re.compile(r"(?<![\w.:/}])/(?:tmp|root|home|Users|opt|work)/\w" + "|" + r"\.\./" + "shared")
PINS = re.compile(r"^(?:[A-Za-z0-9._-]+(?:\[[a-z]+\])?==\S+(?: ; .+)? \\|    --hash=sha256:[0-9a-f]{64}(?: \\)?)$")


def tracked_files() -> list[Path]:
    """What git knows, or would know: new files count before they are committed."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("forbidden", [REGISTRIES, MACHINE_PATHS], ids=["registries", "machine paths"])
def test_no_file_names_a_place_of_one_machine(forbidden: re.Pattern[str]):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if forbidden.search(line)
    ]
    assert not found


def test_requirements_are_pins_with_hashes_and_nothing_else():
    files = sorted((ROOT / "requirements").glob("*.txt"))
    assert {path.stem for path in files} == {"base", "build", "dev", "lock", "server"}
    odd = [line for path in files for line in path.read_text("utf-8").splitlines() if not PINS.match(line)]
    assert not odd


def test_smaller_requirements_pin_what_the_larger_pin():
    def pins(name: str) -> set[str]:
        text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
        return set(re.findall(r"^([A-Za-z0-9._-]+==\S+)", text, flags=re.MULTILINE))

    assert pins("base") < pins("server") < pins("dev")
    assert pins("build") < pins("dev")


def test_every_make_target_that_a_page_names_exists():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))
    code = "\n".join(
        piece for page in PAGES for piece in re.findall(r"```.*?```|`[^`]+`", page.read_text("utf-8"), flags=re.DOTALL)
    )
    named = set(re.findall(r"(?:^|`|\$ )make ([a-z]+)", code, flags=re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_place_that_a_page_names_exists(page: Path):
    folders = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
    named = re.findall(rf"`((?:{folders})/[\w./-]*)`", page.read_text("utf-8"))
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_wheel_ships_policies_profiles_and_schemas(tmp_path: Path):
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    folders = ("policies", "profiles", "schemas")
    files = [path for path in tracked_files() if path.relative_to(ROOT).parts[0] in folders]
    assert files
    assert {f"negotiator/_data/{path.relative_to(ROOT).as_posix()}" for path in files} <= names
    assert {f"negotiator/web/languages/catalogs/{language}.po" for language in ("es", "zh")} <= names
    assert not {name for name in names if name.startswith(("tests/", "bench/", "docs/"))}
