"""A crew whose coder has the tools of a sandbox."""
import sys

from crewai import Agent, Crew, Task

from nutshell_sandbox import Sandbox
from nutshell_sandbox.adapters.crewai import nutshell_tools


def main(model, task):
    with Sandbox() as sandbox:
        coder = Agent(role="coder", goal="Answer with facts.", backstory="Runs commands to find out.",
                      llm=model, tools=nutshell_tools(sandbox, ["read", "write", "edit", "bash"]))
        work = Task(description=task, expected_output="the answer", agent=coder)
        return str(Crew(agents=[coder], tasks=[work]).kickoff())


if __name__ == "__main__":  # needs the provider's key
    print(main("anthropic/claude-sonnet-4-5", " ".join(sys.argv[1:]) or "Which system is this?"))
