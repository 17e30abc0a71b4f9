"""An agent of Google ADK with the tools of a sandbox."""
import asyncio
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from nutshell_sandbox import Sandbox
from nutshell_sandbox.adapters.google_adk import nutshell_tools


async def main(model, task):
    with Sandbox() as sandbox:
        agent = LlmAgent(name="coder", model=model, tools=nutshell_tools(sandbox))
        runner = InMemoryRunner(agent=agent, app_name="example")
        session = await runner.session_service.create_session(app_name="example", user_id="user")
        message = types.Content(role="user", parts=[types.Part(text=task)])
        texts = [part.text async for event in runner.run_async(
            user_id="user", session_id=session.id, new_message=message)
            for part in event.content.parts if part.text]
        return texts[-1]


if __name__ == "__main__":  # needs GOOGLE_API_KEY
    print(asyncio.run(main("gemini-2.5-flash", " ".join(sys.argv[1:]) or "Which system is this?")))
