"""Google ADK: a real agent with a scripted model."""
import sys

import google_adk_example
from cases import main
from google.adk.agents import LlmAgent
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, File
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from nutshell_sandbox import Sandbox
from nutshell_sandbox.adapters.google_adk import NutshellCodeExecutor, nutshell_tools

STEPS, SEEN = [], []


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        SEEN.append(llm_request)
        yield LlmResponse(content=types.Content(role="model", parts=[STEPS.pop(0)]))


async def run(agent):
    runner = InMemoryRunner(agent=agent, app_name="test")
    session = await runner.session_service.create_session(app_name="test", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    return [event async for event in runner.run_async(user_id="u", session_id=session.id,
                                                      new_message=message)]


async def case_an_agent_calls_the_tools():
    STEPS[:] = [types.Part.from_function_call(name="write", args={"path": "a", "content": "hi\n"}),
                types.Part.from_function_call(name="bash", args={"command": "cat a; exit 3"}),
                types.Part.from_function_call(name="read", args={"path": "none"}),
                types.Part(text="done")]
    with Sandbox() as sandbox:
        agent = LlmAgent(name="coder", model=Scripted(model="scripted"), tools=nutshell_tools(sandbox))
        await run(agent)
        assert sandbox.files.read_text("a") == "hi\n"
    parts = [part.function_response.response for content in SEEN[-1].contents
             for part in content.parts if part.function_response]
    assert "hi" in parts[1]["result"] and "none" in parts[2]["error"], parts
    declared = SEEN[0].config.tools[0].function_declarations
    assert len(declared) == 13


async def case_code_of_answers_runs_in_the_sandbox():
    SEEN.clear()
    STEPS[:] = [types.Part(text="```python\nprint(6 * 7)\n```"), types.Part(text="done")]
    executor = NutshellCodeExecutor()
    await run(LlmAgent(name="coder", model=Scripted(model="scripted"), code_executor=executor))
    assert "42" in str(SEEN[-1].contents), SEEN[-1].contents
    given = CodeExecutionInput(code="print(open('d.csv').read())\nraise SystemExit(3)",
                               input_files=[File(name="d.csv", content=b"1,2")])
    done = executor.execute_code(None, given)
    assert (done.stdout, done.exit_code) == ("1,2\n", 3), done
    executor.close()


async def case_the_example_runs():
    STEPS[:] = [types.Part.from_function_call(name="bash", args={"command": "true"}), types.Part(text="done")]
    assert await google_adk_example.main(Scripted(model="scripted"), "go") == "done"


if __name__ == "__main__":
    sys.exit(main(globals()))
