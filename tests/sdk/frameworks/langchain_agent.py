"""LangChain and deepagents: real agents with a scripted model."""
import sys

import deepagents_example
import langchain_example
from cases import main
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

from nutshell_sandbox import Sandbox
from nutshell_sandbox.adapters.deepagents import NutshellBackend
from nutshell_sandbox.adapters.langchain import NutshellTools


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        names = [one.get("name") or one["function"]["name"] if isinstance(one, dict) else one.name
                 for one in tools]
        self.metadata = {"names": names}
        return self


def script(*calls):
    steps = [AIMessage(content="", tool_calls=[{"name": name, "args": given, "id": f"c{number}"}])
             for number, (name, given) in enumerate(calls)]
    return Scripted(messages=iter([*steps, AIMessage(content="done")]))


def results_of(state):
    return [one for one in state["messages"] if isinstance(one, ToolMessage)]


def case_langchain_agent_calls_the_tools():
    with NutshellTools() as tools:
        model = script(("write", {"path": "a.txt", "content": "one\n"}),
                       ("bash", {"command": "cat a.txt; exit 2"}), ("read", {"path": "none"}))
        state = create_agent(model, tools=tools.tools).invoke({"messages": [("user", "go")]})
        assert tools.sandbox.files.read_text("a.txt") == "one\n"
    found = results_of(state)
    assert "one" in found[1].content and found[1].artifact.exec_result.exit_code == 2, found
    assert found[2].artifact.is_error and found[2].artifact.failure.code == "not_found"
    assert state["messages"][-1].content == "done"


def case_deep_agent_works_in_the_sandbox():
    for contract in ("langchain-tests", "deepagents"):
        backend = NutshellBackend(contract=contract)
        model = script(("write_file", {"file_path": "/workspace/src/a.py", "content": "print(6 * 7)\n"}),
                       ("execute", {"command": "python src/a.py"}),
                       ("edit_file", {"file_path": "/workspace/src/a.py", "old_string": "7", "new_string": "8"}),
                       ("glob", {"pattern": "**/*.py", "path": "/workspace"}),
                       ("grep", {"pattern": "print", "path": "/workspace"}),
                       ("read_file", {"file_path": "/workspace/src/a.py"}),
                       ("ls", {"path": "/workspace/src"}))
        agent = create_deep_agent(model=model, backend=backend)
        found = [one.content for one in results_of(agent.invoke({"messages": [("user", "go")]}))]
        assert "42" in found[1], found
        assert "src/a.py" in found[3] and "a.py" in found[4] and "6 * 8" in found[5], found
        assert "a.py" in found[6], found
        assert backend.sandbox.run(["python3", "src/a.py"]).stdout == "48\n"
        backend.close()


def case_the_contract_of_deepagents_overwrites_and_names_absolute_paths():
    with Sandbox() as sandbox:
        backend = NutshellBackend(sandbox, contract="deepagents")
        assert backend.write("/workspace/a", "1").error is None
        assert backend.write("/workspace/a", "2").error is None
        assert [one["path"] for one in backend.glob("a", "/workspace").matches] == ["/workspace/a"]
        assert backend.id == sandbox.id
        backend.close()
        assert sandbox.run("cat a").stdout == "2", "a sandbox that was given was closed"


def case_the_examples_run():
    assert langchain_example.main(script(("bash", {"command": "true"})), "go") == "done"
    assert deepagents_example.main(script(("execute", {"command": "true"})), "go") == "done"


if __name__ == "__main__":
    sys.exit(main(globals()))
