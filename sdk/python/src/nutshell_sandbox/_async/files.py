"""The files of a sandbox."""
from __future__ import annotations

import os
import posixpath
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, List

from nutshell_sandbox import _io_async as io
from nutshell_sandbox import _programs
from nutshell_sandbox._generated import Directory, DirectoryEntry
from nutshell_sandbox.errors import InvalidArgumentError, NotFoundError, TooLargeError

if TYPE_CHECKING:
    from nutshell_sandbox._async.sandbox import AsyncSandbox

WORKSPACE = "/workspace"


class FileEvent:
    """A change that `watch` noticed: `added`, `modified` or `removed`."""

    __slots__ = ("kind", "path")

    def __init__(self, kind: str, path: str) -> None:
        self.kind, self.path = kind, path

    def __repr__(self) -> str:
        return f"FileEvent({self.kind}, {self.path})"


class AsyncFiles:
    """Reads and writes files. A relative path begins at /workspace."""

    def __init__(self, sandbox: AsyncSandbox) -> None:
        self._sandbox = sandbox

    async def read(self, path: str, *, offset: int = 0, length: int | None = None) -> bytes:
        """A file's bytes, or `length` of them from `offset` on."""
        headers = None
        if length == 0:
            return b""
        if offset or length is not None:
            last = "" if length is None else str(offset + length - 1)
            headers = {"Range": f"bytes={offset}-{last}"}
        return await self._send("readFile", path, headers=headers)

    async def read_text(self, path: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """A file as text."""
        return (await self.read(path)).decode(encoding, errors)

    async def write(self, path: str, content: str | bytes | bytearray | memoryview, *,
                    mode: int | None = None) -> None:
        """Replaces a file at once, or makes it with the directories that lead to it."""
        data = content.encode() if isinstance(content, str) else bytes(content)
        query = {"mode": None if mode is None else f"{mode:04o}"}
        await self._send("writeFile", path, query, data=data)

    async def list(self, path: str = WORKSPACE, *, recursive: bool = False) -> List[DirectoryEntry]:
        """What is in a directory; with `recursive`, also in all below. Paths are relative to it."""
        told = await self._directory(path, recursive)
        if told.truncated:
            raise TooLargeError(f"{path} has more entries than one answer holds; list its parts.")
        return told.entries

    async def _directory(self, path: str, recursive: bool) -> Directory:
        return await self._sandbox.client.send_for(
            Directory, "listDirectory", (self._sandbox.id,),
            query={"path": absolute(path), "recursive": recursive or None})

    async def make_directory(self, path: str) -> None:
        """Makes a directory."""
        await self._send("makeDirectory", path, data=b"")

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Removes a file, or a directory."""
        await self._send("removeFile", path, {"recursive": recursive or None})

    async def exists(self, path: str) -> bool:
        """Whether there is something at this path; a link counts by itself."""
        try:
            await self.stat(path)
        except NotFoundError:
            return False
        return True

    async def stat(self, path: str) -> DirectoryEntry:
        """Kind, size, mode and time of one entry."""
        parent, name = posixpath.split(absolute(path).rstrip("/"))
        if not name:
            raise InvalidArgumentError("The root directory has no entry of its own.")
        told = await self._directory(parent or "/", False)
        for one in told.entries:
            if one.path == name:
                return one
        if told.truncated:
            raise TooLargeError(f"{parent} has more entries than one answer holds.")
        raise NotFoundError(f"{path}: no such file or directory")

    async def upload(self, local: str | os.PathLike[str], path: str) -> None:
        """Copies a file or a directory of this machine to `path`, as `nutshell cp` does."""
        await self._copy(os.path.abspath(local), f"{self._sandbox.id}:{absolute(path)}")

    async def download(self, path: str, local: str | os.PathLike[str]) -> str:
        """Copies a file or a directory out, as `nutshell cp` does: files that a tool of this
        machine would run or trust are held back. Returns what it says about those."""
        return await self._copy(f"{self._sandbox.id}:{absolute(path)}", os.path.abspath(local))

    async def _copy(self, source: str, target: str) -> str:
        http = await self._sandbox.client.http()
        return await io.call_blocking(_programs.copy, http.endpoint, source, target)

    async def watch(self, path: str = WORKSPACE, *, interval: float = 0.5) -> AsyncIterator[FileEvent]:
        """Yields changes below a directory, which it lists every `interval` seconds."""
        before = await self._seen(path)
        while True:
            await io.pause(interval)
            now = await self._seen(path)
            for name, state in now.items():
                if name not in before:
                    yield FileEvent("added", name)
                elif before[name] != state:
                    yield FileEvent("modified", name)
            for name in before:
                if name not in now:
                    yield FileEvent("removed", name)
            before = now

    async def _seen(self, path: str) -> dict[str, tuple[Any, ...]]:
        return {one.path: (one.kind, one.size if one.kind != "directory" else 0,
                           one.modified_ns if one.kind != "directory" else 0, one.mode)
                for one in await self.list(path, recursive=True)}

    async def _send(self, operation: str, path: str, query: dict[str, Any] | None = None,
                    **more: Any) -> bytes:
        return await self._sandbox.client.send(operation, (self._sandbox.id,),
                                               query={"path": absolute(path), **(query or {})},
                                               timeout=None, **more)


def absolute(path: str) -> str:
    """The path in the sandbox; one that is relative begins at /workspace."""
    return path if path.startswith("/") else posixpath.join(WORKSPACE, path)
