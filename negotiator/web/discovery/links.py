"""Where things are: the only maker of addresses in our answers.

- With `public_url` set, links are absolute; without it they are references relative to the site's root.
- A mount point of the server's configuration (`root_path`) is part of every link.
- Nothing that a client sends (`Host`, `X-Forwarded-*`, the request's own path) is ever part of one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote

from negotiator.web.discovery.endpoints import endpoint_named

__all__ = ["Links"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Addresses of our routes.

    Attributes:
        public_url: the site's origin, or empty.
        prefix: where our routes live.
        mount: the server's `root_path`, or empty.
        language: of the texts that links lead to; empty leaves it to `Accept-Language`.
    """

    public_url: str
    prefix: str
    mount: str = ""
    language: str = ""

    def to(self, name: str, /, **parameters: str) -> str:
        """Return the address of the route `name` with its path parameters filled in, percent-encoded."""
        endpoint = endpoint_named(name)
        path = endpoint.full_path(self.prefix)
        for parameter, value in parameters.items():
            path = path.replace(f"{{{parameter}}}", quote(value, safe=":"))
        spoken = self.language and endpoint.kind == "document"
        return self.of(path) + (f"?lang={self.language}" if spoken else "")

    def spoken(self, language: str) -> Links:
        """Return links that lead to texts in `language`."""
        return replace(self, language=language)

    def of(self, path: str) -> str:
        """Return the address of `path`, given from the site's root; templates such as `{id}` stay as they are."""
        return f"{self.public_url}{self.mount.rstrip('/')}{path}"
