"""A small client of HTTP/1.1 with kept connections, over a Unix socket or TCP with TLS."""
from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from nutshell_sandbox import _io_async as io
from nutshell_sandbox.errors import (
    CorruptError,
    DeadlineExceededError,
    SandboxError,
    UnauthenticatedError,
    UnavailableError,
    error_of,
)

if TYPE_CHECKING:
    from nutshell_sandbox._endpoint import Endpoint

MOST_HEAD = 64 << 10
PIECE = 256 << 10
MOST_IDLE = 64
CONNECT_SECONDS = 10.0
KEPT = 16 << 10        # bytes of an answer; what was made is named at its beginning
REST_SECONDS = 1.0


class AsyncConnection:
    """A connection, and the bytes of it that nobody has taken yet."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.held = bytearray()
        self.uses = 0
        self.is_sent = True  # the whole of the last request
        self.answer: AsyncKeptAnswer | None = None
        self._tls: Any = None
        self._incoming: Any = None
        self._outgoing: Any = None
        self._poller = select.poll()
        self._poller.register(sock, select.POLLIN)

    async def start_tls(self, context: Any, host: str, deadline: float | None) -> None:
        import ssl
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self._flush(deadline)
                self._incoming.write(await self._more(deadline))
        await self._flush(deadline)

    async def _flush(self, deadline: float | None) -> None:
        data = self._outgoing.read()
        if data:
            await io.send(self.sock, data, deadline)

    async def _more(self, deadline: float | None) -> bytes:
        if self.answer is not None and self._tls is None and self.answer.has_room:
            data = await self.answer.receive(self.sock, deadline)
        else:
            data = await io.receive(self.sock, PIECE, deadline)
        if not data:
            raise ConnectionResetError("the connection was closed")
        return data

    async def send(self, data: bytes, deadline: float | None) -> None:
        if self._tls is None:
            await io.send(self.sock, data, deadline)
            return
        for first in range(0, len(data), PIECE):
            self._tls.write(data[first:first + PIECE])
            await self._flush(deadline)

    async def fill(self, deadline: float | None) -> None:
        """Waits for more bytes; the end of the connection is an error."""
        if self._tls is None:
            self.held += await self._more(deadline)
            return
        import ssl
        while True:
            try:
                data = self._tls.read(PIECE)
            except ssl.SSLWantReadError:
                await self._flush(deadline)
                self._incoming.write(await self._more(deadline))
                continue
            except ssl.SSLZeroReturnError:
                data = b""
            if not data:
                raise ConnectionResetError("the connection was closed")
            if self.answer is not None:
                self.answer.add(data)
            self.held += data
            return

    def is_alive(self) -> bool:
        """Whether a connection that waited can be used again: nothing came, not even its end."""
        return not self.held and not self._poller.poll(0)

    async def line(self, deadline: float | None) -> bytes:
        held = self.held
        while (at := held.find(b"\r\n")) < 0:
            if len(held) > MOST_HEAD:
                raise CorruptError("The daemon sent a line without an end.")
            await self.fill(deadline)
        data = bytes(held[:at])
        del held[:at + 2]
        return data

    def close(self) -> None:
        if self.answer is None:  # else the rest of the answer may be wanted
            with contextlib.suppress(OSError):
                self.sock.close()

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):  # an interrupt came before it had one
            self.sock.close()


class AsyncKeptAnswer:
    """The bytes of an answer that tells of something made, kept until its maker owns that: an
    interrupt can come between any two steps of reading them."""

    def __init__(self) -> None:
        self._room = bytearray()  # text has no zero bytes, so they tell where it ends
        self._used = 0
        self._connection: AsyncConnection | None = None

    @property
    def has_room(self) -> bool:
        return self._used < KEPT

    def begin(self, connection: AsyncConnection) -> None:
        self._room, self._used = bytearray(KEPT), 0
        self._connection, connection.answer = connection, self

    async def receive(self, sock: socket.socket, deadline: float | None) -> bytes:
        first = self._used
        size = await io.receive_into(sock, memoryview(self._room)[first:], deadline)
        self._used = first + size
        return bytes(self._room[first:self._used])

    def add(self, data: bytes) -> None:
        data = data[:KEPT - self._used]
        self._room[self._used:self._used + len(data)] = data
        self._used += len(data)

    def end(self) -> None:
        """The answer was read; the connection is for others."""
        if self._connection is not None:
            self._connection.answer = None
            self._connection = None

    def drop(self) -> None:
        """Nothing of it is wanted."""
        connection = self._connection
        self.end()
        if connection is not None:
            connection.close()

    async def find(self, pattern: bytes) -> str:
        """What the pattern finds in an answer whose reading was interrupted; what is on its way is
        awaited for a moment. Then the connection is closed, by which the daemon ends what it
        would still make."""
        connection, self._connection = self._connection, None
        self._used = len(self._room.rstrip(b"\0"))
        if connection is not None:
            deadline = time.monotonic() + REST_SECONDS
            with contextlib.suppress(Exception):
                while not re.search(pattern, self._room):
                    await connection.fill(deadline)
            connection.answer = None
            connection.close()
        found = re.search(pattern, self._room)
        return found[1].decode() if found else ""


class Head:
    """The first part of an answer."""

    __slots__ = ("status", "headers")

    def __init__(self, text: bytes) -> None:
        first, *lines = text.split(b"\r\n")
        if not first.startswith(b"HTTP/1.") or not first[9:12].isdigit():
            raise CorruptError("What answers at the daemon's address does not speak HTTP.")
        self.status = int(first[9:12])
        self.headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.decode("latin-1").partition(":")
            self.headers[name.lower()] = value.strip()


class AsyncBody:
    """The body of an answer, as it comes. Closing it early closes the connection."""

    def __init__(self, http: AsyncHttp, connection: AsyncConnection, head: Head,
                 deadline: float | None) -> None:
        self.head = head
        self._http, self._deadline = http, deadline
        self._connection: AsyncConnection | None = connection
        self._is_chunked = "chunked" in head.headers.get("transfer-encoding", "")
        length = head.headers.get("content-length", "")
        self._left = int(length) if length.isdigit() else 0
        self._is_done = not self._is_chunked and self._left == 0

    async def read_piece(self) -> bytes:
        """The next bytes; b"" at the end."""
        connection = self._connection
        if self._is_done or connection is None:
            self._end()
            return b""
        try:
            if self._is_chunked:
                data = await self._chunk(connection)
            else:
                data = await self._part(connection)
        except BaseException as error:
            await self.close()
            raise translated(error) from error
        if self._is_done:
            self._end()
        return data

    async def _part(self, connection: AsyncConnection) -> bytes:
        held = connection.held
        if not held:
            await connection.fill(self._deadline)
        data = bytes(held[:self._left])
        del held[:len(data)]
        self._left -= len(data)
        self._is_done = self._left == 0
        return data

    async def _chunk(self, connection: AsyncConnection) -> bytes:
        if self._left == 0:
            size = (await connection.line(self._deadline)).partition(b";")[0]
            try:
                self._left = int(size, 16)
            except ValueError:
                raise CorruptError("The daemon sent a chunk without a size.") from None
            if self._left == 0:
                while await connection.line(self._deadline):
                    pass
                self._is_done = True
                return b""
        held = connection.held
        if not held:
            await connection.fill(self._deadline)
        data = bytes(held[:self._left])
        del held[:len(data)]
        self._left -= len(data)
        if self._left == 0:
            await connection.line(self._deadline)
        return data

    async def read(self) -> bytes:
        pieces: list[bytes] = []
        while piece := await self.read_piece():
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def lines(self) -> AsyncIterator[bytes]:
        held = b""
        while piece := await self.read_piece():
            *whole, held = (held + piece).split(b"\n") if b"\n" in piece else [held + piece]
            for line in whole:
                if line:
                    yield line
        if held:
            yield held

    def _end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._http.keep(connection, self.head)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        self._is_done = True
        if connection is not None:
            connection.close()


class AsyncHttp:
    """Requests to one daemon. Threads, event loops and forked processes may share it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._idle = io.Idle()
        self._context: Any = None
        host = "localhost" if endpoint.socket_path else endpoint.address.partition("://")[2]
        self._fixed = f" HTTP/1.1\r\nHost: {host}\r\n"
        if endpoint.token:
            self._fixed += f"Authorization: Bearer {endpoint.token}\r\n"

    async def open(self, method: str, target: str, body: bytes | None = None,
                   headers: Mapping[str, str] | None = None, timeout: float | None = None,
                   kept: AsyncKeptAnswer | None = None) -> AsyncBody:
        """Sends a request. What the answer's head says is not judged here."""
        deadline = None if timeout is None else time.monotonic() + timeout
        data = self.request_bytes(method, target, body, headers)
        while True:
            connection = await self._connection(deadline)
            is_used = connection.uses > 0
            connection.uses += 1
            if kept is not None:
                kept.begin(connection)
            try:
                head = await self._exchange(connection, data, deadline)
                return AsyncBody(self, connection, head, deadline)
            except BaseException as error:
                nothing_came = not connection.held
                connection.close()
                # The daemon closed a connection that waited. A request that only reads, or that was
                # not sent whole, may be sent again.
                may_repeat = method == "GET" or not connection.is_sent
                if is_used and nothing_came and may_repeat and isinstance(error, ConnectionError):
                    if kept is not None:
                        kept.drop()
                    continue
                raise translated(error) from error

    async def _exchange(self, connection: AsyncConnection, data: bytes,
                        deadline: float | None) -> Head:
        connection.is_sent = False
        try:
            await connection.send(data, deadline)
            connection.is_sent = True
        except (BrokenPipeError, ConnectionResetError):
            # A request that is refused early may be answered before all of it was sent.
            with contextlib.suppress(OSError):
                return await self.read_head(connection, deadline)
            raise
        return await self.read_head(connection, deadline)

    async def request(self, method: str, target: str, body: bytes | None = None,
                      headers: Mapping[str, str] | None = None, timeout: float | None = None,
                      kept: AsyncKeptAnswer | None = None) -> tuple[Head, bytes]:
        """Sends a request and reads its answer; an answer that is a problem is raised."""
        answer = await self.open(method, target, body, headers, timeout, kept)
        data = await answer.read()
        if answer.head.status >= 400:
            raise problem_of(answer.head.status, data)
        return answer.head, data

    async def open_good(self, method: str, target: str, body: bytes | None = None,
                        headers: Mapping[str, str] | None = None,
                        timeout: float | None = None) -> AsyncBody:
        answer = await self.open(method, target, body, headers, timeout)
        if answer.head.status >= 400:
            raise problem_of(answer.head.status, await answer.read())
        return answer

    def request_bytes(self, method: str, target: str, body: bytes | None,
                 headers: Mapping[str, str] | None) -> bytes:
        text = method + " " + target + self._fixed
        if headers:
            for name, value in headers.items():
                if "\r" in value or "\n" in value:
                    raise error_of("invalid_argument", f"The header {name} has more than one line.")
                text += f"{name}: {value}\r\n"
        if body is None:
            return (text + "\r\n").encode("latin-1")
        return f"{text}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body

    async def _connection(self, deadline: float | None) -> AsyncConnection:
        waiting = self._idle.of_here()
        while waiting:
            try:
                connection: AsyncConnection = waiting.pop()
            except IndexError:  # another thread was faster
                break
            if connection.is_alive():
                return connection
            connection.close()
        return await self.connect(deadline)

    async def connect(self, deadline: float | None) -> AsyncConnection:
        """A new connection, for a request or to be upgraded."""
        soon = time.monotonic() + CONNECT_SECONDS
        deadline = soon if deadline is None else min(soon, deadline)
        try:
            if self.endpoint.socket_path:
                return AsyncConnection(await self._connect_unix(deadline))
            connection = AsyncConnection(await self._connect_tcp(deadline))
            if self.endpoint.tls:
                if self._context is None:
                    self._context = self.endpoint.tls_context()
                await connection.start_tls(self._context, self.endpoint.host, deadline)
            return connection
        except OSError as error:
            raise UnavailableError(
                f"The daemon at {self.endpoint.address} does not answer: "
                f"{error.strerror or error or 'no connection in time'}.",
                details={"sent": False}) from None

    async def _connect_unix(self, deadline: float) -> socket.socket:
        while True:
            sock = socket.socket(socket.AF_UNIX)
            try:
                await io.try_connect(sock, self.endpoint.socket_path, deadline)
                return sock
            except BlockingIOError:  # the queue of the socket is full
                sock.close()
                if time.monotonic() >= deadline:
                    raise
                await io.pause(0.005)
            except BaseException:
                sock.close()
                raise

    async def _connect_tcp(self, deadline: float) -> socket.socket:
        failed: OSError = OSError("no address")
        for family, kind, protocol, _, address in await io.resolve(
                self.endpoint.host, self.endpoint.port):
            sock = socket.socket(family, kind, protocol)
            try:
                await io.try_connect(sock, address, deadline)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock
            except OSError as error:
                sock.close()
                failed = error
            except BaseException:
                sock.close()
                raise
        raise failed

    async def read_head(self, connection: AsyncConnection, deadline: float | None) -> Head:
        held = connection.held
        while True:
            while (at := held.find(b"\r\n\r\n")) < 0:
                if len(held) > MOST_HEAD:
                    raise CorruptError("The head of the daemon's answer is too long.")
                await connection.fill(deadline)
            head = Head(bytes(held[:at]))
            del held[:at + 4]
            if head.status >= 200 or head.status == 101:
                return head

    def keep(self, connection: AsyncConnection, head: Head) -> None:
        if connection.answer is not None:
            connection.answer.end()
        waiting = self._idle.of_here()
        if head.headers.get("connection", "") == "close" or connection.held or \
                len(waiting) >= MOST_IDLE:
            connection.close()
        else:
            waiting.append(connection)

    async def close(self) -> None:
        self._idle.close()


def translated(error: BaseException) -> BaseException:
    """Our error for what went wrong on the way; interrupts and cancellations stay what they are."""
    if isinstance(error, SandboxError) or not isinstance(error, OSError):
        return error
    if isinstance(error, TimeoutError):
        return DeadlineExceededError("The daemon did not answer in time.")
    return UnavailableError("The daemon closed the connection before its answer was complete: "
                            f"{error.strerror or error}.")


def problem_of(status: int, data: bytes) -> SandboxError:
    """The error that a problem document tells of."""
    try:
        read: Any = json.loads(data)
    except ValueError:
        read = {}
    told = cast("dict[str, Any]", read if isinstance(read, dict) else {})
    detail = str(told.get("detail") or data[:200].decode(errors="replace")
                 or f"the daemon answered {status}")
    code = told.get("code")
    if isinstance(code, str):
        return error_of(code, detail, status=status)
    if status == 401:
        return UnauthenticatedError(detail, status=status)
    return error_of("unavailable" if status in (429, 503) else "corrupt",
                    f"The daemon answered {status}: {detail}", status=status)
