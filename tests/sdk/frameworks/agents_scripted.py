"""OpenAI Agents, Anthropic and smolagents with scripted models."""
import contextlib
import http.server
import io
import json
import sys
import threading
from pathlib import Path

import anthropic
import anthropic_example
import openai_agents_example
import smolagents_example
from agents import Agent, ModelResponse, RunConfig, Runner, ShellTool, Usage, set_tracing_disabled
from agents.models.interface import Model
from agents.run_config import SandboxRunConfig
from agents.sandbox import Manifest, SandboxAgent
from agents.sandbox.capabilities import Shell
from agents.sandbox.entries import File
from agents.sandbox.errors import WorkspaceReadNotFoundError
from cases import main
from openai.types.responses import (
    ResponseFunctionShellToolCall,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from smolagents import CodeAgent, tool
from smolagents.models import ChatMessage, MessageRole
from smolagents.models import Model as SmolModel

from nutshell_sandbox import AsyncSandbox, Sandbox
from nutshell_sandbox.adapters.anthropic import NutshellTools
from nutshell_sandbox.adapters.openai_agents import NutshellSandboxClient, NutshellShell, function_tools
from nutshell_sandbox.adapters.smolagents import NutshellPythonExecutor

set_tracing_disabled(True)


class Scripted(Model):
    """Gives its outputs one after the other, and keeps what it was shown."""

    def __init__(self, *outputs):
        self.outputs, self.shown, self.tools = list(outputs), [], []

    async def get_response(self, system_instructions, input, model_settings, tools, *_, **__):
        self.shown.append(input)
        self.tools = [one.name for one in tools]
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


def said(text):
    return ResponseOutputMessage(id="m", role="assistant", type="message", status="completed", content=[
        ResponseOutputText(text=text, type="output_text", annotations=[])])


def called(number, name, **arguments):
    return ResponseFunctionToolCall(type="function_call", call_id=f"c{number}", name=name,
                                    arguments=json.dumps(arguments))


def outputs_of(model):
    return {one["call_id"]: one["output"] for one in model.shown[-1]
            if one.get("type", "").endswith("call_output")}


async def case_openai_agents_calls_the_tools_and_reads_their_texts():
    model = Scripted(called(1, "write", path="a.py", content="x = 1\n"),
                     called(2, "edit", path="a.py", old="1", new="2"),
                     called(3, "bash", command="cat a.py; exit 3"),
                     called(4, "read", path="none"), called(5, "read", nonsense=1), said("done"))
    async with AsyncSandbox() as sandbox:
        agent = Agent(name="coder", model=model, tools=function_tools(sandbox))
        assert (await Runner.run(agent, "go")).final_output == "done"
        assert (await sandbox.files.read_text("a.py")) == "x = 2\n"
    told = outputs_of(model)
    assert "x = 2" in told["c3"] and "exit 3" in told["c3"], told
    assert "none" in told["c4"] and "nonsense" in told["c5"], told
    assert "grep" in model.tools and len(model.tools) == 13, model.tools


async def case_openai_agents_shell_tool_runs_in_the_sandbox():
    call = ResponseFunctionShellToolCall.model_validate({
        "type": "shell_call", "id": "s", "call_id": "c1", "status": "completed", "environment": None,
        "action": {"commands": ["echo out; echo err >&2; exit 4", "sleep 60", "echo never"],
                   "timeout_ms": 1000, "max_output_length": None}})
    model = Scripted(call, said("done"))
    async with AsyncSandbox() as sandbox:
        agent = Agent(name="coder", model=model, tools=[ShellTool(NutshellShell(sandbox))])
        await Runner.run(agent, "go")
    told = outputs_of(model)["c1"]
    assert [one["outcome"]["type"] for one in told] == ["exit", "timeout"], told
    assert told[0]["outcome"]["exit_code"] == 4 and told[0]["stdout"] == "out\n" \
        and told[0]["stderr"] == "err\n", told


async def case_openai_sandbox_agents_work_in_a_sandbox():
    client = NutshellSandboxClient(labels={"of": "agents"})
    model = Scripted(called(1, "exec_command", cmd="cat in/a.txt; pwd; exit 3"), said("done"))
    manifest = Manifest(entries={"in/a.txt": File(content=b"from the manifest\n")})
    session = await client.create(manifest=manifest)
    async with session:
        agent = SandboxAgent(name="coder", model=model, capabilities=[Shell()])
        run = RunConfig(sandbox=SandboxRunConfig(session=session))
        assert (await Runner.run(agent, "go", run_config=run)).final_output == "done"
        told = str(outputs_of(model)["c1"])
        assert "from the manifest" in told and "/workspace" in told and "3" in told, told
        await session.write(Path("b.bin"), io.BytesIO(b"\0\xff"))
        assert (await session.read(Path("b.bin"))).read() == b"\0\xff"
        try:
            await session.read(Path("none"))
            raise AssertionError("no error")
        except WorkspaceReadNotFoundError:
            pass
        payload = client.serialize_session_state(session.state)
        again = await client.resume(client.deserialize_session_state(payload))
        assert (await again.read(Path("b.bin"))).read() == b"\0\xff"
        archive = await session.persist_workspace()
    fresh = await client.create()
    async with fresh:
        await fresh.hydrate_workspace(archive)
        assert (await fresh.read(Path("in/a.txt"))).read() == b"from the manifest\n"
        assert await fresh.running()
    await client.delete(fresh)
    await client.delete(session)
    assert not await AsyncSandbox.list({"of": "agents"})


class Api(http.server.BaseHTTPRequestHandler):
    """Answers POST /v1/messages with the next of `answers`, and keeps the requests."""

    answers, requests = [], []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Api.requests.append(body)
        content = Api.answers.pop(0)
        data = json.dumps({
            "id": "m", "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_sequence": None,
            "stop_reason": "tool_use" if content[0]["type"] == "tool_use" else "end_turn",
            "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def scripted_api(*calls):
    """A client of an API on this machine whose model makes these calls."""
    Api.answers = [[{"type": "tool_use", "id": f"t{number}", "name": name, "input": given}]
                   for number, (name, given) in enumerate(calls)] + [[{"type": "text", "text": "done"}]]
    Api.requests = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}",
                              max_retries=0)
    server.shutdown()


def talk(tools, *calls):
    """The tool results of a conversation in which the model makes these calls."""
    messages, found = [{"role": "user", "content": "go"}], []
    with scripted_api(*calls) as client:
        while True:
            message = client.messages.create(model="scripted", max_tokens=100, messages=messages,
                                             tools=tools.definitions)
            results = tools.results(message)
            if not results:
                return found
            found += results
            messages += [{"role": "assistant", "content": message.content},
                         {"role": "user", "content": results}]


def case_anthropic_bash_keeps_its_state_and_restarts():
    with NutshellTools() as tools:
        found = talk(tools, ("bash", {"command": "mkdir -p d && cd d && export A='x y'; B=1"}),
                     ("bash", {"command": "pwd; echo \"$A\"; false"}), ("bash", {"restart": True}),
                     ("bash", {"command": "pwd; echo \"[$A]\"; python --version"}), ("bash", {}))
    texts = [one["content"] for one in found]
    assert texts[1] == "/workspace/d\nx y\n\n[exit 1]" and not found[1]["is_error"], texts
    assert texts[3].startswith("/workspace\n[]\nPython 3"), texts
    assert found[4]["is_error"] and "command" in texts[4], texts
    assert [one.get("type") for one in Api.requests[0]["tools"]] == ["bash_20250124", "text_editor_20250728"]


def case_anthropic_text_editor_edits_the_files_of_the_sandbox():
    edit = "str_replace_based_edit_tool"
    with NutshellTools(tools=["grep", "undo"]) as tools:
        found = talk(
            tools, (edit, {"command": "create", "path": "/workspace/a.txt", "file_text": "1\n2\n2\n"}),
            (edit, {"command": "view", "path": "/workspace/a.txt", "view_range": [2, -1]}),
            (edit, {"command": "str_replace", "path": "/workspace/a.txt", "old_str": "2", "new_str": "3"}),
            (edit, {"command": "str_replace", "path": "/workspace/a.txt", "old_str": "1\n", "new_str": ""}),
            (edit, {"command": "insert", "path": "/workspace/a.txt", "insert_line": 1, "insert_text": "mid"}),
            (edit, {"command": "view", "path": "/workspace"}),
            (edit, {"command": "view", "path": "/workspace/none"}),
            (edit, {"command": "undo_edit", "path": "/workspace/a.txt"}),
            (edit, {"command": "insert", "path": "/workspace/a.txt", "insert_line": 9, "insert_text": ""}),
            ("grep", {"pattern": "mid"}), ("bash", {"command": "truncate -s 20M big; : > empty"}),
            (edit, {"command": "view", "path": "/workspace/big"}),
            (edit, {"command": "view", "path": "/workspace/empty"}))
        assert tools.sandbox.files.read_text("a.txt") == "2\nmid\n2\n"
    errors = [number for number, one in enumerate(found) if one["is_error"]]
    assert errors == [2, 6, 7, 8, 11], found
    assert found[1]["content"] == "     2\t2\n     3\t2" and "a.txt" in found[5]["content"], found
    assert "a.txt" in found[9]["content"]


def case_anthropic_results_are_bounded():
    with NutshellTools(max_characters=1000) as tools:
        found = talk(tools, ("bash", {"command": "seq 1 100000"}))
    assert len(found[0]["content"]) < 1100 and "left out" in found[0]["content"]


class Smol(SmolModel):
    def __init__(self, *steps):
        super().__init__()
        self.steps, self.seen = list(steps), []

    def generate(self, messages, **_):
        self.seen.append(messages)
        text = f"Thought: go\n<code>\n{self.steps.pop(0)}\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=text)


@tool
def double(number: int) -> int:
    """Doubles a number.

    Args:
        number: the number.
    """
    return number * 2


def case_smolagents_runs_its_steps_in_one_process_of_the_sandbox():
    executor = NutshellPythonExecutor()
    model = Smol("import os\nx = 20\nprint(os.getcwd())", "y = double(x) + given\nprint(undefined)",
                 "final_answer({'sum': y})")
    agent = CodeAgent(tools=[double], model=model, executor=executor, verbosity_level=0)
    answer = agent.run("go", additional_args={"given": 2})
    assert answer == {"sum": 42}, answer
    shown = str(model.seen[-1])
    assert "/workspace" in shown and "NameError" in shown, shown[-600:]
    agent.cleanup()


def case_smolagents_survives_a_step_that_hangs_or_ends_its_process():
    with Sandbox() as sandbox:
        executor = NutshellPythonExecutor(sandbox, timeout=2)
        for code, word in (("while True: pass", "longer than"), ("import os; os._exit(1)", "ended")):
            try:
                executor(code)
                raise AssertionError("no error")
            except Exception as error:
                assert word in str(error), error
            assert executor("6 * 7").output == 42
        executor.cleanup()
        assert sandbox.run("echo mine").stdout == "mine\n", "a sandbox that was given was closed"


async def case_the_examples_run():
    model = Scripted(called(1, "bash", command="echo $((6*7))"), said("forty-two"))
    assert await openai_agents_example.main(model, "go") == "forty-two" and "42" in outputs_of(model)["c1"]
    with scripted_api(("bash", {"command": "echo $((6*7))"})) as client:
        assert anthropic_example.main(client, "scripted", "go") == "done"
    assert "42" in str(Api.requests[-1]["messages"])
    assert smolagents_example.main(Smol("final_answer(6 * 7)"), "go") == 42


if __name__ == "__main__":
    sys.exit(main(globals()))
