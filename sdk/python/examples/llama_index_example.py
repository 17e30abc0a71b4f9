"""An agent of LlamaIndex with the tools of a sandbox."""
import asyncio
import sys

from llama_index.core.agent.workflow import FunctionAgent

from nutshell_sandbox import Sandbox
from nutshell_sandbox.adapters.llama_index import nutshell_tools


async def main(model, task):
    with Sandbox() as sandbox:
        return str(await FunctionAgent(llm=model, tools=nutshell_tools(sandbox)).run(task))


if __name__ == "__main__":  # needs llama-index-llms-openai and OPENAI_API_KEY
    from llama_index.llms.openai import OpenAI
    print(asyncio.run(main(OpenAI("gpt-5"), " ".join(sys.argv[1:]) or "Which system is this?")))
