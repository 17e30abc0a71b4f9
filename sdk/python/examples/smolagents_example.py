"""A CodeAgent of smolagents whose code runs in a sandbox."""
import sys

from smolagents import CodeAgent, InferenceClientModel

from nutshell_sandbox.adapters.smolagents import NutshellPythonExecutor


def main(model, task):
    agent = CodeAgent(tools=[], model=model, executor=NutshellPythonExecutor(), verbosity_level=0)
    try:
        return agent.run(task)
    finally:
        agent.cleanup()


if __name__ == "__main__":  # needs HF_TOKEN
    print(main(InferenceClientModel(), " ".join(sys.argv[1:]) or "What is the 30th prime?"))
