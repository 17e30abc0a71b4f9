"""AutoGen: a real CodeExecutorAgent."""
import asyncio
import sys

import autogen_example
from autogen_agentchat.agents import CodeExecutorAgent
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock
from cases import main

from nutshell_sandbox.adapters.autogen import NutshellCodeExecutor


async def case_an_agent_runs_the_blocks_of_a_message():
    async with NutshellCodeExecutor() as executor:
        agent = CodeExecutorAgent("runner", code_executor=executor)
        text = "```python\nopen('a', 'w').write('kept')\nprint(6 * 7)\n```\n```sh\ncat a\n```"
        answer = await agent.on_messages([TextMessage(content=text, source="user")], CancellationToken())
        assert "42" in answer.chat_message.content and "kept" in answer.chat_message.content, answer


async def case_failures_stop_the_blocks_and_restart_takes_a_fresh_sandbox():
    async with NutshellCodeExecutor() as executor:
        blocks = [CodeBlock("open('a', 'w')\nraise SystemExit(3)", "python"), CodeBlock("echo never", "sh")]
        done = await executor.execute_code_blocks(blocks, CancellationToken())
        assert done.exit_code == 3 and "never" not in done.output, done
        done = await executor.execute_code_blocks([CodeBlock("", "cobol")], CancellationToken())
        assert done.exit_code == 1 and "cobol" in done.output
        await executor.restart()
        done = await executor.execute_code_blocks([CodeBlock("ls a", "bash")], CancellationToken())
        assert done.exit_code == 2, done


async def case_time_and_cancellation_end_the_code():
    async with NutshellCodeExecutor(timeout=0.5) as executor:
        sleep = [CodeBlock("sleep 60", "sh")]
        try:
            await executor.execute_code_blocks(sleep, CancellationToken())
            raise AssertionError("no timeout")
        except asyncio.TimeoutError:
            pass
    async with NutshellCodeExecutor() as executor:
        token = CancellationToken()
        asyncio.get_running_loop().call_later(0.5, token.cancel)
        try:
            await executor.execute_code_blocks(sleep, token)
            raise AssertionError("not cancelled")
        except asyncio.CancelledError:
            pass
        left = await executor.execute_code_blocks([CodeBlock("ps -e | grep -c '[s]leep'", "sh")], None)
        assert left.output.strip() == "0", left


async def case_the_example_runs():
    assert "42" in await autogen_example.main("print(6 * 7)")


if __name__ == "__main__":
    sys.exit(main(globals()))
