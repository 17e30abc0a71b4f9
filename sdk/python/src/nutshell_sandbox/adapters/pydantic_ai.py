"""pydantic-ai: a workspace backend, and the tools as a toolset.

    from pydantic_ai import Agent
    from nutshell_sandbox.adapters.pydantic_ai import NutshellToolset

    agent = Agent(model, toolsets=[NutshellToolset()])
"""
from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nutshell_sandbox import _tool_schemas
from nutshell_sandbox._async.sandbox import AsyncSandbox
from nutshell_sandbox._results import ExecResult
from nutshell_sandbox.errors import NotFoundError, SandboxError, UnavailableError

if TYPE_CHECKING:
    _Toolset = object
    ModelRetry: Any = None
    CommandResult: Any = None
    ToolDefinition: Any = None
    ToolsetTool: Any = None
    WorkspaceOutputLimitError: Any = None
    WorkspaceRef: Any = None
    WorkspaceTimeoutError: Any = None
    WorkspaceUnavailableError: Any = None
    core_schema: Any = None
    SchemaValidator: Any = None
else:
    from pydantic_ai import ModelRetry
    from pydantic_ai.messages import WorkspaceRef
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset as _Toolset
    from pydantic_ai.toolsets import ToolsetTool
    from pydantic_ai.workspaces.protocol import (
        CommandResult,
        WorkspaceOutputLimitError,
        WorkspaceTimeoutError,
        WorkspaceUnavailableError,
    )
    from pydantic_core import SchemaValidator, core_schema

PROVIDER = "nutshell"
IDLE_SECONDS = 3600.0
YEAR = 365 * 86400.0


class NutshellWorkspace:
    """A WorkspaceBackend. Without `ref` the first operation makes a sandbox, with the options of
    AsyncSandbox. As the protocol wants, it outlives the run: `delete()` ends it, or an hour
    without use."""

    def __init__(self, ref: Any = None, **options: Any) -> None:
        self._ref = ref
        self._options = {"idle_timeout": IDLE_SECONDS, **options}
        self._sandbox: AsyncSandbox | None = None
        self._making: asyncio.Task[AsyncSandbox] | None = None

    @property
    def ref(self) -> Any:
        return self._ref

    async def working_dir(self) -> str:
        sandbox = await self._opened()
        return (await self._run(sandbox, ["pwd", "-P"], None, None)).stdout.rstrip("\n")

    async def run(self, command: str | Sequence[str], *, shell: bool = False,
                  env: Mapping[str, str] | None = None, timeout: float | None = None) -> Any:
        if isinstance(command, str) != shell:
            raise TypeError("a command for the shell is a text, any other a list of arguments")
        if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
            raise ValueError("timeout must be a positive finite number or None")
        sandbox = await self._opened()
        result = await self._run(sandbox, command, env, timeout)
        if result.outcome == "timed_out":
            raise WorkspaceTimeoutError(f"The command ran longer than {timeout} s.",
                                        stdout=result.stdout, stderr=result.stderr)
        if result.outcome == "output_limit" or result.stdout_truncated or result.stderr_truncated:
            raise WorkspaceOutputLimitError(
                "The command wrote more than is kept.", limit=len(result.stdout) + len(result.stderr),
                stdout=result.stdout, stderr=result.stderr)
        if result.exit_code is None and not await self._is_there(sandbox):
            raise WorkspaceUnavailableError(f"The sandbox {sandbox.id} ended during the command.")
        code = result.exit_code if result.exit_code is not None else 128 + (result.signal or 9)
        return CommandResult(exit_code=code, stdout=result.stdout, stderr=result.stderr)

    async def realpath(self, path: str) -> str:
        """Resolves links; what is not there stays as it is written."""
        sandbox = await self._opened()
        done = await self._run(sandbox, ["realpath", "-m", "--", path], None, 30)
        if not done.is_ok:
            raise OSError(done.stderr.strip() or f"{path} cannot be resolved")
        return done.stdout.removesuffix("\n")

    async def delete(self) -> None:
        """Ends the sandbox."""
        sandbox = await self._opened()
        try:
            await sandbox.client.send("destroySandbox", (sandbox.id,))
        except NotFoundError:
            pass

    async def _run(self, sandbox: AsyncSandbox, command: str | Sequence[str],
                   env: Mapping[str, str] | None, timeout: float | None) -> ExecResult:
        try:
            return await sandbox.run(command, environment=env, timeout=timeout or YEAR)
        except (NotFoundError, UnavailableError) as error:
            raise WorkspaceUnavailableError(error.message) from None

    @staticmethod
    async def _is_there(sandbox: AsyncSandbox) -> bool:
        try:
            await sandbox.refresh()
        except SandboxError:
            return False
        return True

    async def _opened(self) -> AsyncSandbox:
        if self._sandbox is not None:
            return self._sandbox
        if self._making is None:
            self._making = asyncio.ensure_future(self._open())
        making = self._making
        try:
            # A caller that is cancelled must not lose the sandbox that is being made.
            return await asyncio.shield(making)
        finally:
            if making.done() and self._sandbox is None:
                self._making = None

    async def _open(self) -> AsyncSandbox:
        if self._ref is None:
            sandbox = await AsyncSandbox(**self._options)
            self._ref = WorkspaceRef(provider=PROVIDER, id=sandbox.detach())
        else:
            if self._ref.provider != PROVIDER:
                raise ValueError(f"The reference is to '{self._ref.provider}', not to a sandbox of Nutshell.")
            try:
                sandbox = await AsyncSandbox.connect(
                    self._ref.id, client=self._options.get("client"))
            except NotFoundError as error:
                raise WorkspaceUnavailableError(error.message) from None
        self._sandbox = sandbox
        return sandbox


class NutshellToolset(_Toolset):
    """The tools of a sandbox. Without `sandbox` it makes one when the agent enters it, or at the
    first call, and ends it when the agent leaves it."""

    def __init__(self, sandbox: AsyncSandbox | None = None, tools: Iterable[str] | None = None,
                 id: str = "nutshell", **options: Any) -> None:
        self._given, self._options, self._id = sandbox, options, id
        self._sandbox = sandbox
        self._entered = 0
        self._schemas = _tool_schemas.schemas(tools)

    @property
    def id(self) -> str:
        return self._id

    async def __aenter__(self) -> NutshellToolset:
        self._entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self._entered -= 1
        if not self._entered and self._given is None and self._sandbox is not None:
            sandbox, self._sandbox = self._sandbox, None
            await sandbox.close()

    async def get_tools(self, ctx: Any) -> dict[str, Any]:
        return {one["name"]: ToolsetTool(
            toolset=self, max_retries=2,
            tool_def=ToolDefinition(name=one["name"], description=one["description"],
                                    parameters_json_schema=one["inputSchema"]),
            args_validator=SchemaValidator(core_schema.dict_schema(core_schema.str_schema())))
            for one in self._schemas}

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        if self._sandbox is None:
            self._sandbox = await AsyncSandbox(**self._options)
        try:
            done = await self._sandbox.tools.call(name, tool_args)
        except SandboxError as error:
            raise ModelRetry(f"{error.code}: {error.message}") from None
        if done.is_error:
            raise ModelRetry(done.text)
        return done.text
