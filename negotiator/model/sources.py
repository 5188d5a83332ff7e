"""Source addresses as budgets and the ledger name them: whole networks, never one of a network's many addresses.

- A budget belongs to an IPv4 address, or to an IPv6 /64: one customer has all of it.
- The ledger names a /24 or a /56: enough to see where a flood comes from, too little to point at a person.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network

__all__ = ["network_of", "spender_of"]

_REMEMBERED = 4096


@lru_cache(maxsize=_REMEMBERED)
def spender_of(source: str) -> str:
    """Return whose budget a source spends; what is no address stands for itself."""
    return _network(source, v4=32, v6=64)


@lru_cache(maxsize=_REMEMBERED)
def network_of(source: str) -> str:
    """Return the network of a source as the ledger names it; `unknown` for what is no address."""
    return _network(source, v4=24, v6=56) if _is_address(source) else "unknown"


def _network(source: str, *, v4: int, v6: int) -> str:
    if not _is_address(source):
        return source
    address = ip_address(source.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    return str(ip_network(f"{address}/{v4 if isinstance(address, IPv4Address) else v6}", strict=False))


def _is_address(source: str) -> bool:
    try:
        ip_address(source)
    except ValueError:
        return False
    return True
