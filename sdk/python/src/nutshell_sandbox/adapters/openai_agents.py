"""OpenAI Agents: function tools, and an executor for its shell tool.

    from agents import Agent, Runner, ShellTool
    from nutshell_sandbox.adapters.openai_agents import NutshellShell, function_tools

    async with AsyncSandbox() as sandbox:
        agent = Agent(name="coder", tools=[*function_tools(sandbox), ShellTool(NutshellShell(sandbox))])
        await Runner.run(agent, "Run the tests.")
"""
from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nutshell_sandbox._async.sandbox import AsyncSandbox
from nutshell_sandbox._tool_schemas import schemas
from nutshell_sandbox.adapters._common import exit_code_of

if TYPE_CHECKING:
    FunctionTool: Any = None
    ShellCallOutcome: Any = None
    ShellCommandOutput: Any = None
    ShellResult: Any = None
else:
    from agents import FunctionTool
    from agents.tool import ShellCallOutcome, ShellCommandOutput, ShellResult

DEFAULT_SECONDS = 120.0


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
