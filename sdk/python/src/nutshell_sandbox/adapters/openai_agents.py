"""OpenAI Agents: function tools, an executor for its shell tool, and a client for its sandboxes.

    from agents import Agent, Runner, ShellTool
    from nutshell_sandbox.adapters.openai_agents import NutshellShell, function_tools

    async with AsyncSandbox() as sandbox:
        agent = Agent(name="coder", tools=[*function_tools(sandbox), ShellTool(NutshellShell(sandbox))])
        await Runner.run(agent, "Run the tests.")

    run = RunConfig(sandbox=SandboxRunConfig(client=NutshellSandboxClient()))
    await Runner.run(SandboxAgent(name="coder"), "Run the tests.", run_config=run)
"""
from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nutshell_sandbox._async.sandbox import AsyncSandbox
from nutshell_sandbox._tool_schemas import schemas
from nutshell_sandbox.adapters._common import exit_code_of
from nutshell_sandbox.errors import NotFoundError, SandboxError

if TYPE_CHECKING:
    class _Model:
        def __init__(self, **members: Any) -> None: ...
    class _Client:
        def _wrap_session(self, inner: Any, *, instrumentation: Any = None) -> Any: ...
        def _validate_manifest_for_create(self, manifest: Any) -> None: ...
    class _Session:
        state: Any
        def normalize_path(self, path: Any, *, for_write: bool = False) -> Path: ...
    _State = _Model
    ExecResult: Any = None
    ExecTimeoutError: Any = None
    ExecTransportError: Any = None
    Instrumentation: Any = None
    Manifest: Any = None
    WorkspaceArchiveReadError: Any = None
    WorkspaceArchiveWriteError: Any = None
    WorkspaceReadNotFoundError: Any = None
    resolve_snapshot: Any = None
    FunctionTool: Any = None
    ShellCallOutcome: Any = None
    ShellCommandOutput: Any = None
    ShellResult: Any = None
else:
    from agents import FunctionTool
    from agents.sandbox.errors import (
        ExecTimeoutError,
        ExecTransportError,
        WorkspaceArchiveReadError,
        WorkspaceArchiveWriteError,
        WorkspaceReadNotFoundError,
    )
    from agents.sandbox.manifest import Manifest
    from agents.sandbox.session import BaseSandboxClient as _Client
    from agents.sandbox.session import BaseSandboxSession as _Session
    from agents.sandbox.session import SandboxSessionState as _State
    from agents.sandbox.session.manager import Instrumentation
    from agents.sandbox.session.sandbox_client import BaseSandboxClientOptions as _Model
    from agents.sandbox.snapshot import resolve_snapshot
    from agents.sandbox.types import ExecResult
    from agents.tool import ShellCallOutcome, ShellCommandOutput, ShellResult

DEFAULT_SECONDS = 120.0
IDLE_SECONDS = 3600.0  # a session outlives its client, so that it can be resumed


def function_tools(sandbox: AsyncSandbox, tools: Iterable[str] | None = None) -> list[Any]:
    """The tools of a sandbox as FunctionTools."""
    return [_function_tool(sandbox, one) for one in schemas(tools)]


def _function_tool(sandbox: AsyncSandbox, told: dict[str, Any]) -> Any:
    async def invoke(_: Any, arguments: str) -> str:
        try:
            given = json.loads(arguments or "{}")
        except ValueError as error:
            return f"The arguments are no JSON: {error}"
        return (await sandbox.tools.call(told["name"], given)).text
    return FunctionTool(name=told["name"], description=told["description"],
                        params_json_schema=told["inputSchema"], on_invoke_tool=invoke,
                        strict_json_schema=False)


class NutshellShell:
    """The executor of a ShellTool: runs its commands in a sandbox, one after the other."""

    def __init__(self, sandbox: AsyncSandbox, *, timeout: float = DEFAULT_SECONDS) -> None:
        self._sandbox, self._timeout = sandbox, timeout

    async def __call__(self, request: Any) -> Any:
        action = request.data.action
        seconds = action.timeout_ms / 1000 if action.timeout_ms else self._timeout
        outputs: list[Any] = []
        for command in action.commands:
            done = await self._sandbox.run(command, timeout=seconds)
            is_late = done.outcome == "timed_out"
            outcome = ShellCallOutcome(type="timeout" if is_late else "exit",
                                       exit_code=None if is_late else exit_code_of(done))
            outputs.append(ShellCommandOutput(command=command, stdout=done.stdout,
                                              stderr=done.stderr, outcome=outcome))
            if is_late:
                break
        return ShellResult(output=outputs, max_output_length=action.max_output_length)


class NutshellSandboxClientOptions(_Model):
    """The options of the sandboxes: those of AsyncSandbox that are plain values."""

    type: Literal["nutshell"] = "nutshell"
    options: dict[str, Any] = {}


class NutshellSandboxState(_State):
    """The sandbox of a session, to be found again."""

    type: Literal["nutshell"] = "nutshell"
    sandbox_id: str
    options: dict[str, Any] = {}


class NutshellSandboxSession(_Session):
    """A session whose commands and files are those of a sandbox."""

    def __init__(self, sandbox: AsyncSandbox, state: Any) -> None:
        self.sandbox, self.state = sandbox, state

    async def _exec_internal(self, *command: str | Path, timeout: float | None = None) -> Any:
        words = [str(word) for word in command]
        try:
            done = await self.sandbox.run(words, timeout=timeout, working_directory=self._root())
        except SandboxError as error:
            raise ExecTransportError(command=command, cause=error, message=error.message) from error
        if done.outcome == "timed_out":
            raise ExecTimeoutError(command=command, timeout_s=timeout)
        return ExecResult(stdout=done.stdout_raw, stderr=done.stderr_raw,
                          exit_code=exit_code_of(done))

    def _root(self) -> str | None:
        root = str(self.state.manifest.root)
        return None if root == "/workspace" else root

    async def read(self, path: Path, *, user: Any = None) -> io.IOBase:
        try:
            return io.BytesIO(await self.sandbox.files.read(str(self.normalize_path(path))))
        except NotFoundError as error:
            raise WorkspaceReadNotFoundError(path=path, cause=error) from error
        except SandboxError as error:
            raise WorkspaceArchiveReadError(path=path, cause=error) from error

    async def write(self, path: Path, data: Any, *, user: Any = None) -> None:
        content = data.read()
        try:
            await self.sandbox.files.write(str(self.normalize_path(path, for_write=True)), content)
        except SandboxError as error:
            raise WorkspaceArchiveWriteError(path=path, cause=error) from error

    async def running(self) -> bool:
        try:
            return (await self.sandbox.refresh()).state == "running"
        except SandboxError:
            return False

    async def persist_workspace(self) -> io.IOBase:
        root, place = str(self.state.manifest.root), f"/tmp/workspace-{uuid.uuid4().hex}.tar"
        try:
            await self.sandbox.run(["tar", "-C", root, "-cf", place, "."], check=True)
            data = await self.sandbox.files.read(place)
            await self.sandbox.files.remove(place)
        except SandboxError as error:
            raise WorkspaceArchiveReadError(path=Path(root), cause=error) from error
        return io.BytesIO(data)

    async def hydrate_workspace(self, data: Any) -> None:
        root, place = str(self.state.manifest.root), f"/tmp/workspace-{uuid.uuid4().hex}.tar"
        try:
            await self.sandbox.files.write(place, data.read())
            # Unpacked inside, so that no member of the archive leads out of the sandbox.
            await self.sandbox.run(["tar", "-C", root, "-xf", place], check=True)
            await self.sandbox.files.remove(place)
        except SandboxError as error:
            raise WorkspaceArchiveWriteError(path=Path(root), cause=error) from error


class NutshellSandboxClient(_Client):
    """Makes sandboxes for SandboxAgents. `options` are those of AsyncSandbox."""

    backend_id = "nutshell"
    supports_default_options = True

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._client = options.pop("client", None)
        self._options = options
        self._instrumentation = Instrumentation()
        self._dependencies = None

    async def create(self, *, snapshot: Any = None, manifest: Any = None, options: Any = None) -> Any:
        manifest = manifest if manifest is not None else Manifest()
        self._validate_manifest_for_create(manifest)
        more: dict[str, Any] = options.options if options is not None else {}
        given: dict[str, Any] = {"idle_timeout": IDLE_SECONDS, **self._options, **more}
        sandbox = await AsyncSandbox(client=self._client, **given)
        session_id = uuid.uuid4()
        state = NutshellSandboxState(
            session_id=session_id, manifest=manifest, sandbox_id=sandbox.detach(), options=given,
            snapshot=resolve_snapshot(snapshot, str(session_id)))
        return self._wrapped(sandbox, state)

    async def delete(self, session: Any) -> Any:
        inner: NutshellSandboxSession = session._inner
        try:
            await inner.sandbox.client.send("destroySandbox", (inner.sandbox.id,))
        except NotFoundError:
            pass
        return session

    async def resume(self, state: Any) -> Any:
        try:
            sandbox = await AsyncSandbox.connect(state.sandbox_id, client=self._client)
            is_there = True
        except NotFoundError:
            sandbox = await AsyncSandbox(client=self._client, **state.options)
            state.sandbox_id = sandbox.detach()
            is_there = False
        session = self._wrapped(sandbox, state)
        session._inner._set_start_state_preserved(is_there)
        return session

    def deserialize_session_state(self, payload: dict[str, object]) -> Any:
        validate: Any = NutshellSandboxState
        return validate.model_validate(payload)

    def _wrapped(self, sandbox: AsyncSandbox, state: Any) -> Any:
        return self._wrap_session(NutshellSandboxSession(sandbox, state),
                                  instrumentation=self._instrumentation)
