"""AutoGen: a code executor.

    from autogen_agentchat.agents import CodeExecutorAgent
    from nutshell_sandbox.adapters.autogen import NutshellCodeExecutor

    async with NutshellCodeExecutor() as executor:
        agent = CodeExecutorAgent("runner", code_executor=executor)
"""
from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nutshell_sandbox._async.sandbox import AsyncSandbox
from nutshell_sandbox.adapters._common import exit_code_of

if TYPE_CHECKING:
    _Base = object
    CodeResult: Any = None
else:
    from autogen_core.code_executor import CodeExecutor as _Base
    from autogen_core.code_executor import CodeResult

PROGRAMS = {"python": ["python3"], "py": ["python3"], "sh": ["sh"], "shell": ["sh"],
            "bash": ["bash"], "javascript": ["node"], "js": ["node"]}


class NutshellCodeExecutor(_Base):
    """Runs blocks of code in /workspace, each in a fresh process, until one fails. Files stay from
    block to block; `restart()` takes a fresh sandbox. `options` are those of AsyncSandbox."""

    def __init__(self, sandbox: AsyncSandbox | None = None, *, timeout: float = 60,
                 **options: Any) -> None:
        self._given, self._options, self._timeout = sandbox, options, timeout
        self._sandbox = sandbox

    async def start(self) -> None:
        if self._sandbox is None:
            self._sandbox = await AsyncSandbox(**self._options)

    async def stop(self) -> None:
        sandbox, self._sandbox = self._sandbox, self._given
        if sandbox is not None and sandbox is not self._given:
            await sandbox.close()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def execute_code_blocks(self, code_blocks: Sequence[Any], cancellation_token: Any) -> Any:
        await self.start()
        assert self._sandbox is not None
        outputs: list[str] = []
        for number, block in enumerate(code_blocks):
            program = PROGRAMS.get(block.language.lower())
            if program is None:
                known = ", ".join(sorted(PROGRAMS))
                return CodeResult(exit_code=1, output="".join(outputs) + (
                    f"Unknown language '{block.language}'; known are {known}."))
            place = f"/tmp/block-{number}"
            await self._sandbox.files.write(place, block.code)
            running = asyncio.ensure_future(
                self._sandbox.run([*program, place], timeout=self._timeout))
            if cancellation_token is not None:
                cancellation_token.link_future(running)
            done = await running
            outputs.append(done.stdout + done.stderr)
            if done.outcome == "timed_out":
                raise asyncio.TimeoutError(f"The code ran longer than {self._timeout} s.")
            if not done.is_ok:
                return CodeResult(exit_code=exit_code_of(done), output="".join(outputs))
        return CodeResult(exit_code=0, output="".join(outputs))
