"""Where a request comes from: the peer, unless a trusted proxy speaks for somebody."""

from __future__ import annotations

import pytest

from negotiator.web.sources import Sources


def scope(peer: str | None, *forwarded: str) -> dict[str, object]:
    headers = [(b"x-forwarded-for", line.encode()) for line in forwarded]
    return {"type": "http", "headers": headers, "client": (peer, 5) if peer is not None else None}


TRUSTED = ("127.0.0.1", "10.0.0.0/8", "fd00::/8")


@pytest.mark.parametrize(
    ("peer", "forwarded", "source"),
    [
        ("192.0.2.1", (), "192.0.2.1"),
        ("192.0.2.1", ("198.51.100.7",), "192.0.2.1"),  # a stranger's claim
        ("127.0.0.1", ("198.51.100.7",), "198.51.100.7"),
        ("127.0.0.1", ("203.0.113.9, 198.51.100.7",), "198.51.100.7"),  # what stands to the left is a claim
        ("127.0.0.1", ("203.0.113.9", "198.51.100.7"), "198.51.100.7"),
        ("127.0.0.1", ("198.51.100.7, 10.1.2.3",), "198.51.100.7"),  # through two proxies of ours
        ("127.0.0.1", ("10.1.2.3",), "10.1.2.3"),
        ("127.0.0.1", (), "127.0.0.1"),
        ("127.0.0.1", ("nonsense",), "127.0.0.1"),
        ("127.0.0.1", ("198.51.100.7, nonsense",), "127.0.0.1"),
        ("fd00::1", ("2001:db8::5",), "2001:db8::5"),
        (None, ("198.51.100.7",), ""),
    ],
)
def test_the_source_of_a_request(peer: str | None, forwarded: tuple[str, ...], source: str) -> None:
    assert Sources(TRUSTED).of(scope(peer, *forwarded)) == source


def test_nobody_is_believed_without_being_named() -> None:
    assert Sources(()).of(scope("127.0.0.1", "198.51.100.7")) == "127.0.0.1"


def test_our_routes_are_told_the_source_instead_of_the_peer() -> None:
    sources = Sources(TRUSTED)
    assert sources.told(scope("127.0.0.1", "198.51.100.7"))["client"] == ("198.51.100.7", 0)
    plain = scope("192.0.2.1", "198.51.100.7")
    assert sources.told(plain) is plain
