"""A terminal in a sandbox, over a WebSocket."""
from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from nutshell_sandbox._async.client import ANSWER_SECONDS, AsyncClient
from nutshell_sandbox._async.http import AsyncConnection, AsyncHttp, Head, problem_of, translated
from nutshell_sandbox._results import ExecResult
from nutshell_sandbox.errors import ClosedError, CorruptError, UnavailableError, error_of

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
MOST_FRAME = 16 << 20
MOST_SENT = 32 << 10


class AsyncTerminal:
    """A command at a terminal. `result` is there once `read()` has given b""."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._is_open = True
        self._result: ExecResult | None = None

    @classmethod
    async def open(cls, client: AsyncClient, id: str,
                   query: Sequence[tuple[str, Any]]) -> AsyncTerminal:
        http = await client.http()
        target = f"/v1/sandboxes/{quote(id)}/terminal?{urlencode(query, quote_via=quote)}"
        deadline = time.monotonic() + ANSWER_SECONDS
        connection = await http.connect(deadline)
        try:
            await _upgrade(http, connection, target, deadline)
        except BaseException as error:
            connection.close()
            raise translated(error) from error
        return cls(connection)

    async def __aenter__(self) -> AsyncTerminal:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, data: str | bytes) -> None:
        """Types this."""
        raw = data.encode() if isinstance(data, str) else data
        for first in range(0, len(raw), MOST_SENT):
            await self._frame(BINARY, raw[first:first + MOST_SENT])

    async def resize(self, rows: int, columns: int) -> None:
        await self._frame(TEXT, json.dumps({"rows": rows, "columns": columns}).encode())

    async def signal(self, number: int) -> None:
        """Sends a signal to the command."""
        await self._frame(TEXT, json.dumps({"signal": int(number)}).encode())

    async def read(self) -> bytes:
        """What the terminal showed since the last call; b"" once the command has ended."""
        while self._is_open:
            kind, data = await self._next()
            if kind == BINARY and data:
                return data
            if kind == TEXT:
                self._end(data)
            elif kind == PING:
                await self._frame(PONG, data)
            elif kind == CLOSE:
                self._is_open = False
                self._connection.close()
                if self._result is None:
                    raise UnavailableError("The daemon closed the terminal.")
        return b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self.read():
            yield data

    @property
    def result(self) -> ExecResult:
        if self._result is None:
            raise error_of("conflict", "The command at the terminal has not ended.")
        return self._result

    async def close(self) -> None:
        """Hangs up: the command ends with all its processes."""
        if self._is_open:
            self._is_open = False
            self._connection.close()

    def _end(self, data: bytes) -> None:
        told: dict[str, Any] = json.loads(data)
        if "outcome" not in told:
            self._is_open = False
            self._connection.close()
            raise error_of(str(told.get("code", "")), str(told.get("detail", "")))
        self._result = ExecResult(told)

    async def _frame(self, kind: int, data: bytes) -> None:
        if not self._is_open:
            raise ClosedError("The terminal was closed.")
        mask = os.urandom(4)
        size = len(data)
        head = bytes([0x80 | kind])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + size.to_bytes(2, "big")
        else:
            head += bytes([0x80 | 127]) + size.to_bytes(8, "big")
        repeated = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
        try:
            await self._connection.send(head + mask + masked, time.monotonic() + ANSWER_SECONDS)
        except BaseException as error:
            await self.close()
            raise translated(error) from error

    async def _next(self) -> tuple[int, bytes]:
        """The next message; pieces of one are put together."""
        kind, whole = 0, b""
        try:
            while True:
                first, second = await self._take(2)
                size = second & 0x7F
                if size > 125:
                    size = int.from_bytes(await self._take(2 if size == 126 else 8), "big")
                if second & 0x80 or size + len(whole) > MOST_FRAME:
                    raise CorruptError("The daemon sent a frame that no server sends.")
                data = await self._take(size)
                opcode = first & 0x0F
                if opcode >= CLOSE:
                    return opcode, data
                kind, whole = opcode or kind, whole + data
                if first & 0x80:
                    return kind, whole
        except BaseException as error:
            await self.close()
            raise translated(error) from error

    async def _take(self, size: int) -> bytes:
        held = self._connection.held
        while len(held) < size:
            await self._connection.fill(None)
        data = bytes(held[:size])
        del held[:size]
        return data


async def _upgrade(http: AsyncHttp, connection: AsyncConnection, target: str,
                   deadline: float) -> None:
    key = base64.b64encode(os.urandom(16)).decode()
    request = http.request_bytes("GET", target, None, {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key})
    await connection.send(request, deadline)
    head: Head = await http.read_head(connection, deadline)
    if head.status == 101:
        return
    length = head.headers.get("content-length", "0")
    while len(connection.held) < min(int(length) if length.isdigit() else 0, 1 << 20):
        await connection.fill(deadline)
    raise problem_of(head.status, bytes(connection.held))
