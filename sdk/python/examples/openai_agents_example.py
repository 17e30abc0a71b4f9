"""An agent of OpenAI Agents whose tools and shell are those of a sandbox."""
import asyncio
import sys

from agents import Agent, Runner

from nutshell_sandbox import AsyncSandbox
from nutshell_sandbox.adapters.openai_agents import function_tools


async def main(model, task):
    async with AsyncSandbox() as sandbox:
        agent = Agent(name="coder", model=model, tools=function_tools(sandbox))
        return (await Runner.run(agent, task)).final_output


if __name__ == "__main__":  # needs OPENAI_API_KEY
    print(asyncio.run(main("gpt-5", " ".join(sys.argv[1:]) or "Which system is this?")))
