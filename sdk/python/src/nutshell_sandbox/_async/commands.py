"""Running commands: to their end, as a stream, in the background."""
from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from nutshell_sandbox import _io_async as io
from nutshell_sandbox._async.http import AsyncBody
from nutshell_sandbox._generated import ExecState
from nutshell_sandbox._results import Chunk, ExecResult
from nutshell_sandbox.errors import SandboxError, UnavailableError, error_of

if TYPE_CHECKING:
    from nutshell_sandbox._async.sandbox import AsyncSandbox

Callback = Callable[[str], object]
LINES = {"Accept": "application/x-ndjson"}


class AsyncExecStream:
    """The output of a command as it comes; iterate over it for `Chunk`s.

    `result` is there once the iteration has ended. Leaving the `with` block before that ends the
    command with all its processes.
    """

    def __init__(self, sandbox: AsyncSandbox, operation: str, captured: tuple[str, ...], *,
                 stdin: str | bytes | None = None, **more: Any) -> None:
        self._sandbox = sandbox
        self._stdin = stdin
        self._call = (operation, captured, more)
        self._body: AsyncBody | None = None
        self._chunks: AsyncIterator[Chunk] | None = None
        self._kept: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
        self._result: ExecResult | None = None
        self.exec_id = ""

    @property
    def result(self) -> ExecResult:
        if self._result is None:
            raise error_of("conflict", "The command has not ended: read its stream to the end first.")
        return self._result

    async def __aenter__(self) -> AsyncExecStream:
        await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Chunk]:
        if self._chunks is None:
            self._chunks = self._read()
        return self._chunks

    async def _open(self) -> AsyncBody:
        if self._body is None:
            operation, captured, more = self._call
            if self._stdin is not None:
                await self._sandbox._add_input(  # pyright: ignore[reportPrivateUsage]
                    more["body"], self._stdin, as_file=True)
            self._body = await self._sandbox.client.open(operation, captured, headers=LINES, **more)
        return self._body

    async def _read(self) -> AsyncIterator[Chunk]:
        body = await self._open()
        try:
            async for line in body.lines():
                told: dict[str, Any] = json.loads(line)
                kind = told["type"]
                if kind in ("stdout", "stderr"):
                    chunk = _chunk(kind, told)
                    self._kept[kind].append(chunk.data)
                    yield chunk
                elif kind == "start":
                    self.exec_id = told["exec_id"]
                elif kind == "end":
                    self._result = self._ended(told)
                elif kind == "error":
                    raise error_of(told.get("code", ""), told.get("detail", ""))
        except (ValueError, KeyError, AttributeError) as error:
            if isinstance(error, SandboxError):
                raise
            raise error_of("corrupt", f"The daemon sent an event that is none: {error}") from None
        finally:
            await body.close()
        if self._result is None:
            raise UnavailableError("The stream ended before the command did.")

    def _ended(self, told: dict[str, Any]) -> ExecResult:
        for stream, pieces in self._kept.items():
            data = b"".join(pieces)
            told[stream] = data.decode(errors="replace")
            if told[stream].encode() != data:
                told[stream + "_base64"] = base64.b64encode(data).decode()
        del told["type"]
        return ExecResult(told)

    async def run(self, on_stdout: Callback | None, on_stderr: Callback | None) -> ExecResult:
        """Reads to the end, and calls back with each piece."""
        async with self:
            async for chunk in self:
                callback = on_stdout if chunk.stream == "stdout" else on_stderr
                if callback is not None:
                    await io.settle(callback(chunk.text))
        return self.result

    async def close(self) -> None:
        if self._body is not None:
            await self._body.close()


def _chunk(kind: Any, told: Mapping[str, Any]) -> Chunk:
    encoded = told.get("data_base64")
    data = base64.b64decode(encoded) if encoded is not None else told["data"].encode()
    return Chunk(kind, data, int(told.get("offset", 0)))


class AsyncJob:
    """A command that runs on without its caller."""

    def __init__(self, sandbox: AsyncSandbox, exec_id: str) -> None:
        self._sandbox = sandbox
        self.exec_id = exec_id

    @property
    def _captured(self) -> tuple[str, str]:
        return (self._sandbox.id, self.exec_id)

    async def status(self) -> ExecState:
        """Whether it runs, and how much it has written."""
        return await self._sandbox.client.send_for(ExecState, "getExec", self._captured)

    def stream(self, stdout_offset: int = 0, stderr_offset: int = 0) -> AsyncExecStream:
        """Its output from these offsets on, and then as it comes. Closing the stream leaves the
        job running."""
        query = {"stdout_offset": stdout_offset, "stderr_offset": stderr_offset}
        return AsyncExecStream(self._sandbox, "getExec", self._captured, query=query)

    async def wait(self, on_stdout: Callback | None = None,
                   on_stderr: Callback | None = None) -> ExecResult:
        """Waits for its end; the result has all its output."""
        return await self.stream().run(on_stdout, on_stderr)

    async def signal(self, number: int) -> None:
        """Sends it a signal."""
        await self._sandbox.client.send("signalExec", self._captured, body={"signal": int(number)})

    async def kill(self) -> None:
        """Ends it with all its processes."""
        await self._sandbox.client.send("signalExec", self._captured, body={})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.exec_id})"
