"""Our own HTTP routes as one ASGI application.

    application   the router made from the route table, and the one place where errors become problem responses
    resources     methods of one path: HEAD, OPTIONS, 405
    requests      what handlers read: presented claims, bounded bodies, query flags
    answers       what handlers write: JSON, keyless JSON, headers
    negotiations, validation, status, documents   the handlers
    ports         what the application needs from the services

Handlers are thin: they read, call one service, and write. What the routes are is `web/discovery/endpoints.py`.
"""

from __future__ import annotations

from negotiator.web.api.application import create_api, own_paths
from negotiator.web.api.ports import Condition, Negotiations, Proposals, Site

__all__ = ["Condition", "Negotiations", "Proposals", "Site", "create_api", "own_paths"]
