"""`python -m bench.load PORT RATE`: send the request on standard input RATE times a second, for ever, evenly spread."""

from __future__ import annotations

import asyncio
import sys

CONNECTIONS = 8


async def main(port: int, rate: float) -> None:
    request = sys.stdin.buffer.read()
    await asyncio.gather(
        *(_send(port, request, pause=CONNECTIONS / rate, wait=number / rate) for number in range(CONNECTIONS))
    )


async def _send(port: int, request: bytes, *, pause: float, wait: float) -> None:
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    due = loop.time() + wait
    while True:
        due = max(due + pause, loop.time())  # what was missed, stopped or waiting, is not made up for
        await asyncio.sleep(due - loop.time())
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
