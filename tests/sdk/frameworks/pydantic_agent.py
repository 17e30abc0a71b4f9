"""pydantic-ai: a real agent with a scripted model."""
import sys

import pydantic_ai_example
from cases import main
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from nutshell_sandbox import AsyncSandbox
from nutshell_sandbox.adapters.pydantic_ai import NutshellToolset


def scripted(*steps):
    seen, left = [], list(steps)

    def answer(messages, info):
        seen.append((messages, info))
        step = left.pop(0)
        return ModelResponse(parts=[TextPart(step) if isinstance(step, str) else ToolCallPart(*step)])
    return FunctionModel(answer), seen


async def case_an_agent_calls_the_tools_and_is_told_what_it_can_mend():
    model, seen = scripted(("write", {"path": "a", "content": "hi\n"}), ("read", {"path": "none"}),
                           ("bash", {"command": "cat a; exit 3"}), "done")
    async with AsyncSandbox() as sandbox:
        done = await Agent(model, toolsets=[NutshellToolset(sandbox)]).run("go")
        assert done.output == "done"
        assert await sandbox.files.read_text("a") == "hi\n"
    parts = [part for message in seen[-1][0] for part in message.parts]
    ended = {part.tool_name: part.outcome for part in parts if part.part_kind == "tool-return"}
    assert ended == {"write": "success", "read": "retried", "bash": "success"}, ended
    assert "exit 3" in str(parts[-1].content), parts[-1]
    assert len(seen[0][1].function_tools) == 13


async def case_a_toolset_of_its_own_ends_its_sandbox():
    model, _ = scripted(("bash", {"command": "echo hi"}), "done")
    toolset = NutshellToolset(tools=["bash"], labels={"of": "toolset"})
    assert (await Agent(model, toolsets=[toolset]).run("go")).output == "done"
    assert not await AsyncSandbox.list({"of": "toolset"})


def case_the_example_runs():
    model, seen = scripted(("bash", {"command": "echo $((6*7))"}), "done")
    assert pydantic_ai_example.main(model, "go") == "done" and "42" in str(seen[-1][0])


if __name__ == "__main__":
    sys.exit(main(globals()))
