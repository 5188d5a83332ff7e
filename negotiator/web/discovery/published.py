"""What discovery needs to know of a site. All of it is public; nothing here says how the site is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from negotiator.messages import Catalog
from negotiator.model.levels import Level
from negotiator.model.routes import Mode, RouteRule

__all__ = ["Published"]


class Published(Protocol):
    """A site as its discovery documents show it.

    Values may change while the site runs (`bundle_digest`, `public_keys`, `access`): documents are made from them at
    each request.
    """

    @property
    def prefix(self) -> str:
        """Where our own routes live, e.g. `/uaix/v1`."""
        ...

    @property
    def public_url(self) -> str | None:
        """The site's origin, e.g. `https://example.org`; empty or None makes links relative."""
        ...

    @property
    def routes(self) -> Sequence[RouteRule]:
        """All route rules; only those with `publish` are shown."""
        ...

    @property
    def catalog(self) -> Catalog:
        """Profiles, schemas, ladder, field registry and examples."""
        ...

    @property
    def bundle_digest(self) -> str:
        """The digest of the active policies, lower-case hex."""
        ...

    @property
    def public_keys(self) -> Mapping[str, Any]:
        """The JWKS document (RFC 7517)."""
        ...

    @property
    def mode(self) -> Mode:
        """Whether decisions bind."""
        ...

    @property
    def support_boundary(self) -> str:
        """What the site does not claim."""
        ...

    @property
    def access(self) -> Mapping[Level, Mapping[str, Any]]:
        """For each level the `actions` of a negotiation, as the policies give them.

        They are asked for a verified caller of that effective level with every ability of its rung and nothing else
        in hand. It is a function of the active policies and the configured routes, worked out when a bundle becomes
        active.
        """
        ...
