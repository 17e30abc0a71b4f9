"""RoomKit's SandboxExecutor."""
from __future__ import annotations

import asyncio
import json
import secrets
import shlex
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from nutshell_sandbox._results import ToolResult
from nutshell_sandbox._tool_schemas import roomkit_catalogue
from nutshell_sandbox.errors import NotFoundError, SandboxError
from nutshell_sandbox.roomkit.backends import (
    DEFAULT_IMAGE,
    ContainerInfo,
    ExecResult,
    NutshellBackend,
    status_of,
)
from nutshell_sandbox.roomkit.commands import (
    CommandBuilder,
    NativeCommandBuilder,
    RtkCommandBuilder,
    can_build,
    is_own,
)

if TYPE_CHECKING:
    from nutshell_sandbox._async.session import AsyncSession

PREFIX = "sandbox_"
# RoomKit replaces a result beyond about 20000 characters by a preview, which loses its end.
MOST_CHARACTERS = 19_500
# Jobs need an agent that asks again; the result of a call is all that RoomKit's tools have.
LEFT_OUT = {"sandbox_job"}
# Tools that the reference has; command builders know these.
REFERENCE = ("read", "write", "edit", "ls", "grep", "find", "git", "diff", "delete", "bash")
SHELL_LETTERS = frozenset("|&;<>()$`*?[]{}~#!=\n")


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
    SANDBOX_TOOL_SCHEMAS: list[dict[str, Any]] = []
else:
    try:
        from roomkit.sandbox import SANDBOX_TOOL_SCHEMAS
        from roomkit.sandbox import SandboxExecutor as _Base
        from roomkit.sandbox import SandboxResult
    except ImportError:
        _Base, SandboxResult, SANDBOX_TOOL_SCHEMAS = object, _PlainResult, []


@runtime_checkable
class ContainerBackendProtocol(Protocol):
    """The methods of a backend of your own."""

    async def create_container(self, session_id: str, labels: dict[str, str] | None = ...,
                               env: dict[str, str] | None = ...) -> str: ...

    async def exec_command(self, container_id: str, cmd: list[str], workdir: str = ...,
                           env: dict[str, str] | None = ..., timeout: int = ...) -> ExecResult: ...

    async def container_exists(self, container_id: str) -> bool: ...

    async def find_container(self, session_id: str) -> str | None: ...

    async def delete_container(self, container_id: str) -> None: ...

    async def list_containers(self, labels: dict[str, str] | None = ...) -> list[ContainerInfo]: ...


class NutshellSandboxExecutor(_Base):
    """Gives a RoomKit agent a sandbox and its tools.

    Executors with the same `session_id` share a sandbox, which `close()` leaves running. Without
    one, the executor has a sandbox of its own that ends with `close()`. `setup_commands` run in a
    shell, once in each new sandbox; if one fails, so do the calls, with its output. `backend` is
    one of this package's, or any object with roomkit-sandbox's methods for containers: it gets the
    commands of `command_builder`, by default those of RTK, and has RoomKit's ten tools. Further
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
        # A backend of the caller's own may have no way to end what nobody finds again.
        self._session_id = session_id or (
            f"roomkit-{secrets.token_hex(8)}" if isinstance(self._backend, NutshellBackend)
            else "roomkit-sandbox")
        self._is_own = session_id is None
        self._workdir, self._timeout = workdir, timeout
        self._setup, self._labels, self._env = setup_commands or [], labels or {}, env or {}
        self._builder = command_builder
        self._session: AsyncSession | None = None
        self._container_id: str | None = None
        self._lock: tuple[Any, asyncio.Lock] | None = None
        self._catalogue = _own_catalogue() if isinstance(self._backend, NutshellBackend) \
            else _reference_catalogue()

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
        session, self._session, self._container_id = self._session, None, None
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
            if self._session is not None:
                return self._session
            place = self._workdir if self._workdir != "/workspace" else None
            session: AsyncSession = await self._backend.open(
                self._session_id, self._labels, self._env, self._setup, place)
            self._session = session
            return session

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
        builder = self._builder or RtkCommandBuilder()
        if not can_build(builder, command):
            return SandboxResult(exit_code=127, error=f"There is no tool '{command}'.")
        container = await self._ensure_container()
        done = await self._backend.exec_command(
            container, builder.build(command, given), workdir=self._workdir, env=env,
            timeout=self._seconds(given))
        return SandboxResult(exit_code=done.exit_code, output=done.stdout, error=done.stderr)

    async def _ensure_container(self) -> str:
        async with self._locked():
            known = self._container_id
            if known and await self._backend.container_exists(known):
                return known
            found: str | None = await self._backend.find_container(self._session_id)
            self._container_id = found
            if not found:
                self._container_id = found = await self._make_container()
            return found

    async def _make_container(self) -> str:
        """A new container in which the setup ran; none, if a command of it fails."""
        made: str = await self._backend.create_container(
            session_id=self._session_id, labels=self._labels, env=self._env)
        for line in self._setup:
            done = await self._backend.exec_command(
                made, setup_words(line), workdir=self._workdir, timeout=self._timeout)
            if done.exit_code != 0:
                if hasattr(self._backend, "delete_container"):
                    await self._backend.delete_container(made)
                raise SandboxError(f"The setup command '{line[:80]}' failed: {done.stderr[:200]}")
        return made


class ContainerSandboxExecutor(NutshellSandboxExecutor):
    """NutshellSandboxExecutor under roomkit-sandbox's name."""


def _own_catalogue() -> list[dict[str, Any]]:
    return [{"name": one["name"], "description": one["description"], "parameters": one["inputSchema"]}
            for one in roomkit_catalogue() if one["name"] not in LEFT_OUT]


def _reference_catalogue() -> list[dict[str, Any]]:
    """The tools of a backend that has nothing but commands."""
    known = {PREFIX + name for name in REFERENCE}
    return list(SANDBOX_TOOL_SCHEMAS) or [one for one in _own_catalogue() if one["name"] in known]


def setup_words(line: str) -> list[str]:
    """The arguments of a plain command; a shell for what only a shell understands."""
    if not SHELL_LETTERS.isdisjoint(line):
        return ["sh", "-c", line]
    return shlex.split(line)


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
