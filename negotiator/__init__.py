"""Two-way capability negotiation between websites and AI agents.

Importing this package loads nothing: the names below are looked up when they are first used, so that an agent's
process never loads the server's modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Negotiator": "negotiator.assembly",
    "NegotiatorMiddleware": "negotiator.web.middleware",
    "Settings": "negotiator.config",
    "load_bundle": "negotiator.policy",
    "decide": "negotiator.policy",
}

__all__ = ["Negotiator", "NegotiatorMiddleware", "Settings", "__version__", "decide", "load_bundle"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562: the type is the looked-up object's
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
