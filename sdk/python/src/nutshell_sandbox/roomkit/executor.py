"""RoomKit's SandboxExecutor."""
from __future__ import annotations

import asyncio
import json
import secrets
from typing import TYPE_CHECKING, Any

from nutshell_sandbox._results import ToolResult
from nutshell_sandbox._tool_schemas import roomkit_catalogue
from nutshell_sandbox.errors import NotFoundError, SandboxError
from nutshell_sandbox.roomkit.backends import (
    DEFAULT_IMAGE,
    NutshellBackend,
    status_of,
)
from nutshell_sandbox.roomkit.commands import CommandBuilder, NativeCommandBuilder, is_own

if TYPE_CHECKING:
    from nutshell_sandbox._async.session import AsyncSession

PREFIX = "sandbox_"
# RoomKit replaces a result beyond about 20000 characters by a preview, which loses its end.
MOST_CHARACTERS = 19_500
# Jobs need an agent that asks again; the result of a call is all that RoomKit's tools have.
LEFT_OUT = {"sandbox_job"}


class _PlainResult:
    """Stands for RoomKit's SandboxResult where RoomKit is not installed."""

    def __init__(self, exit_code: int, output: str = "", error: str = "",
                 metadata: dict[str, Any] | None = None) -> None:
        self.exit_code, self.output, self.error = exit_code, output, error
        self.metadata = metadata or {}

    @property
    def success(self) -> bool:
        return self.exit_code == 0

    def model_dump_json(self) -> str:
        return json.dumps({"exit_code": self.exit_code, "output": self.output,
                           "error": self.error, "metadata": self.metadata,
                           "success": self.success})


if TYPE_CHECKING:
    _Base = object
    SandboxResult: Any = _PlainResult
else:
    try:
        from roomkit.sandbox import SandboxExecutor as _Base
        from roomkit.sandbox import SandboxResult
    except ImportError:
        _Base, SandboxResult = object, _PlainResult


class NutshellSandboxExecutor(_Base):
    """Gives a RoomKit agent a sandbox and its tools.

    Executors with the same `session_id` share a sandbox, which `close()` leaves running. Without
    one, the executor has a sandbox of its own that ends with `close()`. `setup_commands` run in a
    shell, once in each new sandbox; if one fails, so do the calls, with its output. `backend` is
    one of this package's, or any object with roomkit-sandbox's methods for containers. Further
    options are those of AsyncSandbox.
    """

    def __init__(
        self,
        backend: Any | None = None,
        image: str = DEFAULT_IMAGE,
        session_id: str | None = None,
        workdir: str = "/workspace",
        timeout: int = 30,
        setup_commands: list[str] | None = None,
        labels: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
        command_builder: CommandBuilder | None = None,
        **options: Any,
    ) -> None:
        self._backend: Any = backend or NutshellBackend(image, **options)
        self._session_id = session_id or f"roomkit-{secrets.token_hex(8)}"
        self._is_own = session_id is None
        self._workdir, self._timeout = workdir, timeout
        self._setup, self._labels, self._env = setup_commands or [], labels or {}, env or {}
        self._builder = command_builder
        self._session: AsyncSession | None = None
        self._container = ""
        self._lock: tuple[Any, asyncio.Lock] | None = None
        self._catalogue = [
            {"name": one["name"], "description": one["description"],
             "parameters": one["inputSchema"]}
            for one in roomkit_catalogue() if one["name"] not in LEFT_OUT]

    def tool_definitions(self) -> list[dict[str, Any]]:
        """The tools, under RoomKit's names."""
        return list(self._catalogue)

    async def execute(self, command: str, arguments: dict[str, Any] | None = None, *,
                      env: dict[str, str] | None = None) -> Any:
        """Calls a tool. Failures are results, as RoomKit expects them."""
        command = command.removeprefix(PREFIX)
        given = dict(arguments or {})
        try:
            if not isinstance(self._backend, NutshellBackend):
                return await self._execute_there(command, given, env)
            if self._is_built(command) or (env and command == "bash"):
                return await self._execute_built(command, given, env)
            return await self._call_tool(command, given)
        except TimeoutError:
            return SandboxResult(exit_code=124, error=f"Command timed out after "
                                                      f"{self._seconds(given)}s")
        except SandboxError as error:
            return SandboxResult(exit_code=1, error=f"{error.code}: {error.message}")
        except Exception as error:  # a user's builder or backend
            return SandboxResult(exit_code=1, error=f"{type(error).__name__}: {error}")

    async def close(self) -> None:
        """Ends a sandbox of its own; one of a session goes on for the next executor."""
        session, self._session, self._container = self._session, None, ""
        if session is None or not self._is_own:
            return
        try:
            await session.end()
        except NotFoundError:
            pass

    def _is_built(self, command: str) -> bool:
        builder = self._builder
        if builder is None:
            return False
        if is_own(builder, command):
            return not (type(builder) is NativeCommandBuilder and
                        command in ("write", "edit", "delete"))
        return False

    def _seconds(self, given: dict[str, Any]) -> int:
        wanted = given.get("timeout", self._timeout)
        is_good = isinstance(wanted, int) and not isinstance(wanted, bool) and wanted > 0
        return wanted if is_good else self._timeout

    def _locked(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        return self._lock[1]

    async def sandbox(self) -> AsyncSession:
        """The sandbox of this executor, made at its first use."""
        async with self._locked():
            if self._session is None:
                place = self._workdir if self._workdir != "/workspace" else None
                self._session = await self._backend.open(
                    self._session_id, self._labels, self._env, self._setup, place)
            return self._session

    async def _execute_built(self, command: str, given: dict[str, Any],
                             env: dict[str, str] | None) -> Any:
        words = self._builder.build(command, given) if self._builder is not None \
            else ["bash", "-c", str(given.get("command", ""))]
        sandbox = await self.sandbox()
        result = await sandbox.run(words, timeout=self._seconds(given), environment=env,
                                   working_directory=self._workdir)
        if result.outcome == "timed_out":
            raise TimeoutError
        error = result.stderr if result.exit_code is not None else \
            f"{result.stderr}\n[{result.ending}]".lstrip("\n")
        return SandboxResult(exit_code=status_of(result), output=fitting(result.stdout, ""),
                             error=fitting(error, "")[:MOST_CHARACTERS // 4])

    async def _call_tool(self, command: str, given: dict[str, Any]) -> Any:
        sandbox = await self.sandbox()
        if command in ("read", "recall") and isinstance(given.get("offset"), int):
            given["offset"] += 1  # RoomKit counts lines from 0
        if command == "bash":
            given["timeout"] = self._seconds(given)
            given["wait"] = min(given["timeout"], 600)
        try:
            told = await sandbox.tools.call(command, given)
        except NotFoundError:
            if await self._is_same(sandbox):
                raise
            told = await sandbox.tools.call(command, given)
        return self._result(told)

    @staticmethod
    async def _is_same(session: AsyncSession) -> bool:
        """Whether the sandbox is still there, so that what was not found is something else."""
        was = session.session.sandbox_id
        return (await session.ensure()).sandbox_id == was

    @staticmethod
    def _result(told: ToolResult) -> Any:
        ended = told.exec_result
        if ended is not None:
            error = "" if ended.outcome == "exited" else ended.ending
            return SandboxResult(exit_code=status_of(ended),
                                 output=fitting(told.text, told.output_id), error=error)
        if told.is_error:
            return SandboxResult(exit_code=1, error=fitting(told.text, told.output_id))
        return SandboxResult(exit_code=0, output=fitting(told.text, told.output_id))

    # A user's own backend

    async def _execute_there(self, command: str, given: dict[str, Any],
                             env: dict[str, str] | None) -> Any:
        container = await self._ensure_container()
        builder = self._builder or NativeCommandBuilder()
        done = await self._backend.exec_command(
            container, builder.build(command, given), workdir=self._workdir, env=env,
            timeout=self._seconds(given))
        return SandboxResult(exit_code=done.exit_code, output=done.stdout, error=done.stderr)

    async def _ensure_container(self) -> str:
        async with self._locked():
            if self._container and await self._backend.container_exists(self._container):
                return self._container
            self._container = await self._backend.find_container(self._session_id) or ""
            if not self._container:
                made = await self._backend.create_container(
                    session_id=self._session_id, labels=self._labels, env=self._env)
                for line in self._setup:
                    done = await self._backend.exec_command(
                        made, ["sh", "-c", line], workdir=self._workdir, timeout=self._timeout)
                    if done.exit_code != 0:
                        raise SandboxError(f"The setup command '{line[:80]}' failed: "
                                           f"{done.stderr[:200]}")
                self._container = made
            return self._container


class ContainerSandboxExecutor(NutshellSandboxExecutor):
    """NutshellSandboxExecutor under roomkit-sandbox's name."""


def fitting(text: str, output_id: str) -> str:
    """The text, cut at a line so that its JSON is short enough for RoomKit."""
    if len(json.dumps(text)) <= MOST_CHARACTERS:
        return text
    rest = f"recall {output_id} for the rest" if output_id else "use a narrower command for the rest"
    low, high = 0, len(text)
    while low < high:  # the longest beginning whose JSON fits
        middle = (low + high + 1) // 2
        if len(json.dumps(text[:middle])) <= MOST_CHARACTERS - 100:
            low = middle
        else:
            high = middle - 1
    kept = text[:low].rpartition("\n")[0] or text[:low]
    return f"{kept}\n[{len(text) - len(kept)} more characters: {rest}]"
