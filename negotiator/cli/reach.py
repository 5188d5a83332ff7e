"""What serving other machines needs beyond what serving this one does.

- One table, `NEEDS`: the server refuses at the first row that is not met, before it listens; `doctor` shows every row.
- What the table does not know of is not needed. Rows are added where a part brings a need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from negotiator.config import Settings
from negotiator.errors import ConfigError, quoted

__all__ = ["NEEDS", "Need", "check_reach", "is_loopback", "unmet_needs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that must be so before other machines are served.

    Attributes:
        code: stable, in `docs/errors.md`.
        is_met: by these settings.
        remedy: what to do.
    """

    code: str
    is_met: Callable[[Settings], bool]
    remedy: str


def check_reach(settings: Settings, host: str) -> None:
    """Refuse to serve other machines before everything that this needs is there.

    Args:
        settings: of the site.
        host: the address to listen on.

    Raises:
        ConfigError: with the code of the first need that is not met.
    """
    if is_loopback(host):
        return
    for need in unmet_needs(settings):
        message = f"serving on {quoted(host)} {need.remedy}; or serve on 127.0.0.1"
        raise ConfigError(message, code=need.code)


def unmet_needs(settings: Settings) -> Sequence[Need]:
    """Return what keeps these settings from serving other machines."""
    return [need for need in NEEDS if not need.is_met(settings)]


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`; a name other than localhost may lead anywhere."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _is_public(settings: Settings) -> bool:
    return not settings.public_url or not is_loopback(urlsplit(settings.public_url).hostname or "")


NEEDS: Sequence[Need] = (
    Need(
        code="public_url_missing",
        is_met=lambda settings: bool(settings.public_url),
        remedy="needs public_url, the https origin of the site; it answers to its host and to allowed_hosts",
    ),
    Need(
        code="public_url_loopback",
        is_met=_is_public,
        remedy="needs a public_url that other machines can use, such as https://example.org",
    ),
)
"""In the order in which they are told."""
