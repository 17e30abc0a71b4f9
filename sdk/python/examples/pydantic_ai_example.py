"""An agent of pydantic-ai with the tools of a sandbox."""
import sys

from pydantic_ai import Agent

from nutshell_sandbox.adapters.pydantic_ai import NutshellToolset


def main(model, task):
    return Agent(model, toolsets=[NutshellToolset()]).run_sync(task).output


if __name__ == "__main__":  # needs the provider's package and key
    print(main("anthropic:claude-sonnet-4-5", " ".join(sys.argv[1:]) or "Which system is this?"))
