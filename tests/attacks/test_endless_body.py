"""A body of 100 MB in chunks: refused at the limit, long before its end, and never held in memory."""

from __future__ import annotations

import re
import select
import socket
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.support.house import PREFIX
from tests.support.killed import effects_in, victim

MEGABYTE = 1_048_576
PIECE = b"10000\r\n" + b"x" * 65_536 + b"\r\n"


def sent_until_answered(address: str, path: str) -> tuple[int, bytes]:
    """Send up to 100 MB in chunks until an answer begins; return how many bytes were taken, and its first part."""
    url = httpx.URL(address)
    head = f"POST {path} HTTP/1.1\r\nHost: {url.netloc.decode()}\r\nContent-Type: application/json\r\n"
    taken = 0
    with closing(socket.create_connection((url.host, url.port), timeout=60)) as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        while taken < 100 * MEGABYTE and not select.select([connection], [], [], 0)[0]:
            connection.sendall(PIECE)
            taken += len(PIECE)
        return taken, connection.recv(65_536)


def peak_kilobytes(pid: int) -> int:
    """Return the most memory that a process has held."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1])  # type: ignore[index]


@pytest.mark.parametrize("path", ["/task", "/comments", "/open", f"{PREFIX}/negotiations", f"{PREFIX}/validate"])
def test_it_is_refused_at_the_limit_and_memory_is_bounded(tmp_path: Path, database_url: str, path: str):
    with victim(tmp_path, database_url, "none", 1) as (process, address):
        assert httpx.get(f"{address}{PREFIX}/ladder", timeout=60).status_code == 200
        before = peak_kilobytes(process.pid)
        taken, answer = sent_until_answered(address, path)
        assert answer.startswith(b"HTTP/1.1 413 "), answer[:200]
        assert taken < 20 * MEGABYTE, "what is on its way in both sockets' buffers, and no more"
        assert peak_kilobytes(process.pid) - before < 20 * 1_024
        assert httpx.get(f"{address}/data", timeout=60).status_code == 200, "others are served as before"
    assert effects_in(tmp_path / "effects") == []
