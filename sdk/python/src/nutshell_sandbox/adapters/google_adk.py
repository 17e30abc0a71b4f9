"""Google ADK: the tools of a sandbox, and a code executor.

    from google.adk.agents import LlmAgent
    from nutshell_sandbox.adapters.google_adk import NutshellCodeExecutor, nutshell_tools

    with Sandbox() as sandbox:
        agent = LlmAgent(name="coder", model=model, tools=nutshell_tools(sandbox))
"""
from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nutshell_sandbox._sync.sandbox import Sandbox
from nutshell_sandbox._tool_schemas import schemas
from nutshell_sandbox.adapters._common import Held, exit_code_of

if TYPE_CHECKING:
    class _Executor:
        timeout_seconds: int | None = None
        def __init__(self, **members: Any) -> None: ...
    class _Tool:
        def __init__(self, **members: Any) -> None: ...
    CodeExecutionResult: Any = None
    PrivateAttr: Any = None
    types: Any = None
else:
    from google.adk.code_executors.base_code_executor import BaseCodeExecutor as _Executor
    from google.adk.code_executors.code_execution_utils import CodeExecutionResult
    from google.adk.tools.base_tool import BaseTool as _Tool
    from google.genai import types
    from pydantic import PrivateAttr

DEFAULT_SECONDS = 60


class NutshellTool(_Tool):
    """One tool of a sandbox."""

    def __init__(self, sandbox: Sandbox, told: dict[str, Any]) -> None:
        super().__init__(name=told["name"], description=told["description"])
        self._sandbox, self._told = sandbox, told

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(
            name=self._told["name"], description=self._told["description"],
            parameters_json_schema=self._told["inputSchema"])

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        done = await asyncio.to_thread(self._sandbox.tools.call, self._told["name"], args)
        return {"error" if done.is_error else "result": done.text}


def nutshell_tools(sandbox: Sandbox, tools: Iterable[str] | None = None) -> list[NutshellTool]:
    """The tools of a sandbox, or those named."""
    return [NutshellTool(sandbox, one) for one in schemas(tools)]


class NutshellCodeExecutor(_Executor):
    """Runs the Python code of a model's answers, each in a fresh process in /workspace, where
    files stay. The sandbox ends with the executor unless it was given."""

    _held: Any = PrivateAttr()

    def __init__(self, sandbox: Sandbox | None = None, *, timeout_seconds: int = DEFAULT_SECONDS,
                 **options: Any) -> None:
        super().__init__(timeout_seconds=timeout_seconds)
        self._held = Held(sandbox, options)

    def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
        sandbox: Sandbox = self._held.sandbox
        for file in code_execution_input.input_files:
            sandbox.files.write(file.name, _bytes_of(file.content))
        done = sandbox.run(["python3", "-"], stdin=code_execution_input.code,
                           timeout=self.timeout_seconds or DEFAULT_SECONDS)
        error = done.stderr if done.exit_code is not None else f"{done.stderr}\n[{done.ending}]"
        return CodeExecutionResult(stdout=done.stdout, stderr=error, exit_code=exit_code_of(done))

    def close(self) -> None:
        self._held.close()


def _bytes_of(content: str | bytes) -> bytes:
    """ADK gives files as bytes, or as base64."""
    if isinstance(content, bytes):
        return content
    try:
        return base64.b64decode(content, validate=True)
    except ValueError:
        return content.encode()
