"""A deep agent whose files and commands are those of a sandbox."""
import sys

from deepagents import create_deep_agent

from nutshell_sandbox.adapters.deepagents import NutshellBackend


def main(model, task):
    backend = NutshellBackend(contract="deepagents")
    try:
        agent = create_deep_agent(model=model, backend=backend)
        return agent.invoke({"messages": [("user", task)]})["messages"][-1].content
    finally:
        backend.close()


if __name__ == "__main__":  # needs the provider's package and key
    print(main("anthropic:claude-sonnet-4-5", " ".join(sys.argv[1:]) or "Which system is this?"))
