"""CrewAI: a real crew with a scripted model."""
import os
import sys

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from cases import main  # noqa: E402
import crewai_example  # noqa: E402
from crewai import Agent, Crew, Task  # noqa: E402
from crewai.llms.base_llm import BaseLLM  # noqa: E402

from nutshell_sandbox import Sandbox  # noqa: E402
from nutshell_sandbox.adapters.crewai import nutshell_tools  # noqa: E402


class Scripted(BaseLLM):
    def call(self, messages, *_, **__):
        self.seen.append(str(messages))
        return self.steps.pop(0)

    def supports_function_calling(self):
        return False


def scripted(*steps):
    model = Scripted(model="scripted")
    object.__setattr__(model, "steps", list(steps))
    object.__setattr__(model, "seen", [])
    return model


def case_a_crew_calls_the_tools():
    model = scripted('Thought: write\nAction: write\nAction Input: {"path": "a.txt", "content": "hello\\n"}',
                     'Thought: run\nAction: bash\nAction Input: {"command": "cat a.txt; echo $((6*7))"}',
                     "Thought: I now know the final answer\nFinal Answer: done")
    with Sandbox() as sandbox:
        agent = Agent(role="coder", goal="code", backstory="codes", llm=model,
                      tools=nutshell_tools(sandbox, ["write", "bash"]))
        task = Task(description="go", expected_output="done", agent=agent)
        assert str(Crew(agents=[agent], tasks=[task]).kickoff()) == "done"
        assert sandbox.files.read_text("a.txt") == "hello\n"
    assert "hello" in model.seen[-1] and "42" in model.seen[-1], model.seen[-1][-500:]


def case_every_tool_has_a_model_of_its_arguments():
    with Sandbox() as sandbox:
        tools = {one.name: one for one in nutshell_tools(sandbox)}
        assert len(tools) == 13
        assert "42" in tools["bash"].run(command="echo $((6*7))")
        assert "none" in tools["read"].run(path="none")


def case_the_example_runs():
    model = scripted('Thought: run\nAction: bash\nAction Input: {"command": "echo $((6*7))"}',
                     "Thought: I now know the final answer\nFinal Answer: forty-two")
    assert crewai_example.main(model, "go") == "forty-two" and "42" in model.seen[-1]


if __name__ == "__main__":
    sys.exit(main(globals()))
