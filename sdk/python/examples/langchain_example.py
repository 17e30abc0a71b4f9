"""A LangChain agent with the tools of a sandbox."""
import sys

from langchain.agents import create_agent

from nutshell_sandbox.adapters.langchain import NutshellTools


def main(model, task):
    with NutshellTools() as tools:
        state = create_agent(model, tools=tools.tools).invoke({"messages": [("user", task)]})
        return state["messages"][-1].content


if __name__ == "__main__":  # needs the provider's package and key
    print(main("anthropic:claude-sonnet-4-5", " ".join(sys.argv[1:]) or "Which system is this?"))
