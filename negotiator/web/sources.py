"""Where a request comes from: the peer, or whom a trusted proxy says that it speaks for.

`X-Forwarded-For` is read from the right: each trusted proxy added the address that it saw, and the first address that
is no trusted proxy's is the source. From any other peer the header is a stranger's claim and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network

from starlette.types import Scope

from negotiator.web.headers import list_header

__all__ = ["Sources", "source_of"]


class Sources:
    """Finds sources.

    Args:
        trusted: networks of the proxies in front of us.
    """

    def __init__(self, trusted: Sequence[str]) -> None:
        self._trusted = tuple(ip_network(network) for network in trusted)

    def of(self, scope: Scope) -> str:
        """Return the source address of a request; empty where the server tells none."""
        peer = source_of(scope)
        if not self._trusted or not self._trusts(peer):
            return peer
        for name in reversed(list_header(scope, b"x-forwarded-for").split(",")):
            said = name.strip()
            if not _is_address(said):
                return peer
            if not self._trusts(said):
                return said
            peer = said
        return peer

    def told(self, scope: Scope) -> Scope:
        """Return the scope with its source in the place of the peer."""
        if not self._trusted:
            return scope
        source = self.of(scope)
        return scope if source == source_of(scope) else {**scope, "client": (source, 0)}

    def _trusts(self, host: str) -> bool:
        return _is_address(host) and any(ip_address(host) in network for network in self._trusted)


def source_of(scope: Scope) -> str:
    """Return the address of the peer; empty where the server tells none."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
