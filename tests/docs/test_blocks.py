"""Every block of the documentation that looks as if it runs, runs; every link leads somewhere.

- `python`: a program of its own, warnings as errors.
- `console`: lines `$ command` (`> ` continues one); the lines after it are what it prints, `...` stands for anything,
  no lines for anything too. A command fails by its exit status.
- `sh`: a script. Port 8000 in it is replaced by one that is free.
- A block is only shown if its language is one of `SHOWN`. No language at all is a mistake.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.docs import markdown

RUN = frozenset({"python", "console", "sh"})
SHOWN = frozenset({"text", "json", "toml", "cedar", "http", "html", "yaml"})
DIRECTIVES = frozenset({"{toctree}", "{note}", "{warning}"})
BLOCKS = [block for page in markdown.PAGES for block in markdown.split(page)[0]]
TIMEOUT_SECONDS = 120


def run(command: list[str], *, folder: Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("NEGOTIATOR_", "PYTEST_", "COV_"))
    }
    with subprocess.Popen(
        command,
        cwd=folder,
        env=kept | {"PATH": path, "HOME": str(folder), "NO_COLOR": "1", "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            end_all(process.pid)
    assert process.returncode == 0, f"exit status {process.returncode}\n{printed}"
    return printed


def end_all(session: int) -> None:
    """End what a block has left running, a server for instance."""
    with suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def console_steps(text: str) -> list[tuple[str, str]]:
    """Pairs of a command and the output that the page shows after it."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not parts[0].strip(), "a console block starts with `$ `"
    steps = []
    for part in parts[1:]:
        lines = part.splitlines()
        size = 1
        while size < len(lines) and lines[size - 1].endswith("\\") and lines[size].startswith("> "):
            size += 1
        command = "\n".join([lines[0], *(line.removeprefix("> ") for line in lines[1:size])])
        steps.append((command, "\n".join(lines[size:])))
    return steps


def matches(shown: str, printed: str) -> bool:
    shown, printed = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (shown, printed))
    pattern = ".*".join(re.escape(piece) for piece in shown.split("..."))
    return not shown or re.fullmatch(pattern, printed, flags=re.DOTALL) is not None


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language in RUN], ids=lambda block: block.name)
def test_block_runs(block: markdown.Block, tmp_path: Path):
    if block.language == "console":
        for command, shown in console_steps(block.text):
            printed = run(["bash", "-euo", "pipefail", "-c", command], folder=tmp_path)
            assert matches(shown, printed), f"{command}\nprints\n{printed}\nand not\n{shown}"
    elif block.language == "sh":
        text = block.text.replace("8000", str(free_port()))
        run(["bash", "-euo", "pipefail", "-c", text], folder=tmp_path)
    else:
        program = tmp_path / "block.py"
        program.write_text(block.text, encoding="utf-8")
        run([sys.executable, "-W", "error", str(program)], folder=tmp_path)


def test_no_block_escapes_by_its_language():
    unknown = {block.name: block.info for block in BLOCKS if block.language not in RUN | SHOWN | DIRECTIVES}
    assert not unknown


@pytest.mark.parametrize("page", markdown.PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    broken = []
    for link in markdown.links(page):
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        inside = target.is_relative_to(markdown.ROOT) and target.exists()
        if not inside or (fragment and fragment not in markdown.anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("", "anything\n", True),
        ("a\nb", "a  \nb\n", True),
        ("a", "a\nb\n", False),
        ("a\n...", "a\nb\nc\n", True),
        ("id ...: fine", "id 12: fine\n", True),
        ("id ...: fine", "id 12: bad\n", False),
        ("a.c", "abc\n", False),
    ],
)
def test_shown_output_is_compared(shown: str, printed: str, expected: bool):
    assert matches(shown, printed) is expected


def test_console_blocks_are_split_at_commands():
    text = "$ printf a \\\n>   b\nab\n$ true\n"
    assert console_steps(text) == [("printf a \\\n  b", "ab"), ("true", "")]
