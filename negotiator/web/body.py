"""A request's body: read whole and handed on as the same bytes, or counted while it flows.

Rules:

- Read whole up to the rule's limit, whatever `Content-Length` says: more is `body_too_large`, another length than
  announced is `body_malformed`. In memory up to 256 KiB, then in a temporary file that a thread writes and reads.
- SHA-256 is taken while reading; the site gets those bytes, once.
- A client that leaves while its body is read is `ClientLeft`: nothing was decided.
- A flowing body goes through undecided; past the limit the site is told that the client is gone.
"""

from __future__ import annotations

import asyncio
import hashlib
import mmap
import re
from collections.abc import AsyncIterator
from contextlib import closing
from tempfile import SpooledTemporaryFile

from starlette.types import Message, Receive

from negotiator.errors import RequestError

__all__ = ["MAX_BODY_IN_MEMORY", "ClientLeft", "FlowingBody", "WholeBody", "read_whole", "too_large"]

MAX_BODY_IN_MEMORY = 262_144
"""Bytes that are kept in memory for one body."""

_CHUNK = 65_536


class ClientLeft(Exception):  # noqa: N818 - it is an event, not a fault
    """The client left before its request was whole."""


def too_large(limit: int) -> RequestError:
    """Return the error for a body over `limit` bytes."""
    return RequestError(f"the body is larger than {limit} bytes; send a smaller one", code="body_too_large")


class WholeBody:
    """A body that was read whole. Close it."""

    def __init__(self) -> None:
        self._file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(max_size=MAX_BODY_IN_MEMORY)  # noqa: SIM115
        self._digest = hashlib.sha256()
        self.size = 0

    @property
    def in_memory(self) -> bool:
        """Whether it is small enough to be kept in memory."""
        return self.size <= MAX_BODY_IN_MEMORY

    @property
    def sha256(self) -> str:
        """Lower-case hex digest of the bytes."""
        return self._digest.hexdigest()

    async def append(self, chunk: bytes) -> None:
        """Add bytes at the end."""
        self._digest.update(chunk)
        self.size += len(chunk)
        if self.in_memory:
            self._file.write(chunk)
        else:
            await asyncio.to_thread(self._file.write, chunk)

    async def content(self) -> bytes:
        """Return all bytes."""
        return b"".join([chunk async for chunk in self._chunks()])

    def contains(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether `pattern` is found anywhere in the bytes; a large body is searched on disk."""
        if self.in_memory:
            self._file.seek(0)
            return pattern.search(self._file.read()) is not None
        self._file.flush()
        with closing(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)) as mapped:
            return pattern.search(mapped) is not None

    async def messages(self) -> AsyncIterator[Message]:
        """Yield the ASGI messages that carry the bytes; the last one says so."""
        left = self.size
        async for chunk in self._chunks():
            left -= len(chunk)
            yield {"type": "http.request", "body": chunk, "more_body": left > 0}
        if self.size == 0:
            yield {"type": "http.request", "body": b"", "more_body": False}

    def close(self) -> None:
        """Let the bytes go."""
        self._file.close()

    async def _chunks(self) -> AsyncIterator[bytes]:
        self._file.seek(0)
        if self.in_memory:
            if self.size:
                yield self._file.read()
            return
        while chunk := await asyncio.to_thread(self._file.read, _CHUNK):
            yield chunk


async def read_whole(receive: Receive, *, limit: int, announced: int | None) -> WholeBody:
    """Return the whole body.

    Args:
        receive: the server's.
        limit: the most bytes that are taken.
        announced: the request's `Content-Length`, if it has one.

    Raises:
        RequestError: `body_too_large`, `body_malformed`.
        ClientLeft: the client left.
    """
    if announced is not None and announced > limit:
        raise too_large(limit)
    body = WholeBody()
    try:
        await _fill(body, receive, limit)
        _check_length(body, announced)
    except BaseException:
        body.close()
        raise
    return body


def _check_length(body: WholeBody, announced: int | None) -> None:
    if announced is not None and announced != body.size:
        message = "the body is not as long as Content-Length says"
        raise RequestError(message, code="body_malformed")


async def _fill(body: WholeBody, receive: Receive, limit: int) -> None:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        chunk = message.get("body", b"")
        if body.size + len(chunk) > limit:
            raise too_large(limit)
        await body.append(chunk)
        more = message.get("more_body", False)


class FlowingBody:
    """A body that the site reads from the server itself, counted on its way.

    Args:
        receive: the server's.
        limit: the most bytes that go through.
        afterwards: what the site receives once the body has ended.
    """

    def __init__(self, receive: Receive, *, limit: int, afterwards: Receive) -> None:
        self._receive = receive
        self._limit = limit
        self._afterwards = afterwards
        self._size = 0
        self._ended = False
        self.over_limit = False

    async def receive(self) -> Message:
        """Return the next message: the site's `receive`."""
        if self.over_limit:
            return {"type": "http.disconnect"}
        if self._ended:
            return await self._afterwards()
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._ended = True
            return message
        self._size += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        self.over_limit = self._size > self._limit
        return {"type": "http.disconnect"} if self.over_limit else message
