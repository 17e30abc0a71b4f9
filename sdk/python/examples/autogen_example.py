"""A CodeExecutorAgent of AutoGen that runs the code of a message in a sandbox."""
import asyncio
import sys

from autogen_agentchat.agents import CodeExecutorAgent
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken

from nutshell_sandbox.adapters.autogen import NutshellCodeExecutor


async def main(code):
    async with NutshellCodeExecutor() as executor:
        agent = CodeExecutorAgent("runner", code_executor=executor)
        message = TextMessage(content=f"```python\n{code}\n```", source="user")
        return (await agent.on_messages([message], CancellationToken())).chat_message.content


if __name__ == "__main__":
    print(asyncio.run(main(" ".join(sys.argv[1:]) or "print(6 * 7)")))
