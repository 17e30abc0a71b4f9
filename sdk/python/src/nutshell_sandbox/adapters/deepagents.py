"""deepagents: a backend whose files and commands are those of a sandbox.

    from deepagents import create_deep_agent
    from nutshell_sandbox.adapters.deepagents import NutshellBackend

    agent = create_deep_agent(model=model, backend=NutshellBackend())
"""
from __future__ import annotations

import asyncio
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

from nutshell_sandbox._sync.sandbox import Sandbox
from nutshell_sandbox.adapters._common import Held, exit_code_of, merged
from nutshell_sandbox.errors import SandboxError

if TYPE_CHECKING:
    _Base = object
    ExecuteResponse: Any = None
    FileDownloadResponse: Any = None
    FileUploadResponse: Any = None
    GlobResult: Any = None
    WriteResult: Any = None
else:
    from deepagents.backends.protocol import (
        ExecuteResponse,
        FileDownloadResponse,
        FileUploadResponse,
        GlobResult,
        WriteResult,
    )
    from deepagents.backends.sandbox import BaseSandbox as _Base

DAY = 86400
WORKSPACE = "/workspace"
ERRORS = {"not_found": "file_not_found", "permission_denied": "permission_denied",
          "outside_root": "permission_denied", "is_directory": "is_directory"}


class NutshellBackend(_Base):
    """Without `sandbox` it makes one at its first use, with the options of Sandbox, and ends it
    with `close()` or with itself. Commands run in /workspace.

    Where langchain-tests' suite for sandboxes and deepagents differ, `contract` chooses. With
    "langchain-tests", `write` refuses a file that is there, and `glob` gives paths relative to the
    directory that was searched, with directories; with "deepagents", `write` overwrites and `glob`
    gives absolute paths of files.
    """

    def __init__(self, sandbox: Sandbox | None = None, *, timeout: float = 120,
                 contract: Literal["langchain-tests", "deepagents"] = "langchain-tests",
                 **options: Any) -> None:
        self._held = Held(sandbox, options)
        self._timeout = timeout
        self._is_relative = contract == "langchain-tests"

    @property
    def sandbox(self) -> Sandbox:
        return self._held.sandbox

    @property
    def id(self) -> str:
        return self.sandbox.id

    def execute(self, command: str, *, timeout: int | None = None) -> Any:
        seconds = self._timeout if timeout is None else timeout or DAY
        result = self.sandbox.run(merged(command), timeout=seconds)
        output = result.stdout
        if result.outcome != "exited":
            output = f"{output}\n[{result.ending}]".lstrip("\n")
        is_cut = result.stdout_truncated or result.outcome == "output_limit"
        return ExecuteResponse(output=output, exit_code=exit_code_of(result), truncated=is_cut)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[Any]:
        return [FileUploadResponse(path=path, error=self._upload(path, content))
                for path, content in files]

    def _upload(self, path: str, content: bytes) -> str | None:
        if not path.startswith("/"):
            return "invalid_path"
        try:
            self.sandbox.files.write(path, content)
        except SandboxError as error:
            return self._error_of(path, error)
        return None

    def download_files(self, paths: list[str]) -> list[Any]:
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> Any:
        if not path.startswith("/"):
            return FileDownloadResponse(path=path, error="invalid_path")
        try:
            return FileDownloadResponse(path=path, content=self.sandbox.files.read(path))
        except SandboxError as error:
            return FileDownloadResponse(path=path, error=self._error_of(path, error))

    def _error_of(self, path: str, error: SandboxError) -> str:
        if error.code == "invalid_argument" and "directory" in error.message:
            return "is_directory"
        if error.code == "invalid_argument":
            return "invalid_path"
        return ERRORS.get(error.code, error.message)

    def write(self, file_path: str, content: str) -> Any:
        if self._is_relative and self.sandbox.run(["test", "-e", file_path]).is_ok:
            return WriteResult(error=f"{file_path} already exists. Read it, then edit it.")
        return super().write(file_path, content)  # type: ignore[misc]

    async def awrite(self, file_path: str, content: str) -> Any:
        return await asyncio.to_thread(self.write, file_path, content)

    def glob(self, pattern: str, path: str | None = None) -> Any:
        if not self._is_relative:
            return super().glob(pattern, path)  # type: ignore[misc]
        # %P is relative to the directory; a name may hold anything but NUL and a slash.
        found = self.sandbox.run(["find", path or WORKSPACE, "-mindepth", "1", "-printf",
                                  "%y %P\\0"], timeout=self._timeout)
        if found.outcome != "exited":
            return GlobResult(error=f"glob: {found.ending}")
        entries = [one.partition(" ") for one in found.stdout.split("\0") if one]
        return GlobResult(matches=[{"path": name, "is_dir": kind == "d"}
                                   for kind, _, name in sorted(entries, key=itemgetter(2))
                                   if matches(name.split("/"), pattern.strip("/").split("/"))])

    async def aglob(self, pattern: str, path: str | None = None) -> Any:
        return await asyncio.to_thread(self.glob, pattern, path)

    def close(self) -> None:
        self._held.close()


def matches(names: list[str], pattern: list[str]) -> bool:
    """Whether a path matches a glob, both as lists of their parts. `**` stands for any number of
    directories; a name that begins with a dot is matched only by a part that does, too."""
    if not pattern:
        return not names
    if pattern[0] == "**":
        rest = pattern[1:] or ["*"]
        return matches(names, rest) or (
            bool(names) and names[0][0] != "." and matches(names[1:], pattern))
    if not names or (names[0][0] == "." and pattern[0][:1] != "."):
        return False
    return fnmatchcase(names[0], pattern[0]) and matches(names[1:], pattern[1:])
