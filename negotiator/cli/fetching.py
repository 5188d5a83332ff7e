"""Reading one address of one origin, within bounds: no redirect, no content coding, a few seconds, a bounded size."""

from __future__ import annotations

import time
from typing import Final

import httpx

from negotiator.errors import RequestError, UnavailableError, quoted

__all__ = ["MAX_FETCHED_BYTES", "MAX_SECONDS", "Origin"]

MAX_FETCHED_BYTES: Final = 262_144
MAX_SECONDS: Final = 5.0


class Origin:
    """The origin of an address that a person has given; nothing is read from any other.

    Args:
        url: `http` or `https`, without credentials.
        seconds: for everything that is read from it.

    Raises:
        RequestError: `parity_unusable`.
    """

    def __init__(self, url: str, *, seconds: float = MAX_SECONDS) -> None:
        self._url = _parsed(url)
        self._ends = time.monotonic() + seconds
        self._seconds = seconds

    def read(self, reference: str, *, accept: str) -> bytes:
        """Return the body of a 200 answer.

        Args:
            reference: an address, or one relative to the origin's.
            accept: the media type that is asked for; the answer must have it.

        Raises:
            RequestError: `parity_unusable`: another origin, another answer, too long.
            UnavailableError: `parity_unreachable`.
        """
        url = self._url.join(reference)
        if (url.scheme, url.host, url.port) != (self._url.scheme, self._url.host, self._url.port) or url.userinfo:
            message = f"{quoted(url)} is of another origin and is not read"
            raise RequestError(message, code="parity_unusable")
        try:
            with (
                httpx.Client(follow_redirects=False, timeout=self._seconds, trust_env=False) as client,
                client.stream("GET", url, headers={"accept": accept, "accept-encoding": "identity"}) as answer,
            ):
                _check_head(answer, accept)
                return self._body(answer)
        except httpx.HTTPError as problem:
            message = f"{quoted(url)} cannot be read: {quoted(problem)}"
            raise UnavailableError(message, code="parity_unreachable") from None

    def _body(self, answer: httpx.Response) -> bytes:
        body = bytearray()
        for chunk in answer.iter_raw(16_384):
            body += chunk
            if len(body) > MAX_FETCHED_BYTES:
                message = f"{quoted(answer.url)} has more than {MAX_FETCHED_BYTES} bytes"
                raise RequestError(message, code="parity_unusable")
            if time.monotonic() > self._ends:
                message = f"{quoted(answer.url)} was not read within {self._seconds:g} seconds"
                raise UnavailableError(message, code="parity_unreachable")
        return bytes(body)


def _parsed(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        parsed = httpx.URL()
    if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.userinfo:
        message = f"{quoted(url)} is no address that can be compared; write http(s)://host/path, without credentials"
        raise RequestError(message, code="parity_unusable")
    return parsed


def _check_head(answer: httpx.Response, accept: str) -> None:
    media = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    coding = answer.headers.get("content-encoding", "identity").strip().lower()
    wanted = media == accept or (accept == "application/json" and media.endswith("+json"))
    if answer.status_code != 200 or coding != "identity" or not wanted:
        message = f"{quoted(answer.url)} answers {answer.status_code} {quoted(media)}, and not 200 {accept}, uncoded"
        raise RequestError(message, code="parity_unusable")
