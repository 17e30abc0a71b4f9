"""nutshell_sandbox.roomkit in a real agent of RoomKit with a scripted provider."""
import asyncio
import json
import sys
import warnings

import roomkit_example
from cases import main
from roomkit import Agent, ChannelCategory, InboundMessage, RoomKit, TextContent, WebSocketChannel
from roomkit.providers.ai.base import AIResponse, AIToolCall, ModelInfo
from roomkit.providers.ai.mock import MockAIProvider
from roomkit.sandbox import SANDBOX_TOOL_SCHEMAS, SandboxExecutor, SandboxResult

from nutshell_sandbox import AsyncSession, SandboxError
from nutshell_sandbox import roomkit as ours

TEN = ["read", "write", "edit", "ls", "grep", "find", "git", "diff", "delete", "bash"]


class Scripted(MockAIProvider):
    """With the context window that models have; for one of 8192 tokens RoomKit hides all tools."""

    @classmethod
    def available_models(cls):
        return [ModelInfo(id="mock", display_name="Mock", context_window=128_000)]


async def run_agent(executor, *calls):
    """The results of these tool calls, as the model of a real agent reads them."""
    responses = [AIResponse(content="", finish_reason="tool_calls", tool_calls=[
        AIToolCall(id=f"c{number}", name=name, arguments=arguments)])
        for number, (name, arguments) in enumerate(calls)]
    provider = Scripted(ai_responses=[*responses, AIResponse(content="done", finish_reason="stop")])
    kit = RoomKit()
    kit.register_channel(WebSocketChannel("ws"))
    agent = Agent("coder", provider=provider, sandbox=executor, system_prompt="Code.") \
        if executor else roomkit_example.make_agent(provider)
    kit.register_channel(agent)
    await kit.create_room(room_id="room")
    await kit.attach_channel("room", "ws")
    await kit.attach_channel("room", "coder", category=ChannelCategory.INTELLIGENCE)
    await kit.process_inbound(InboundMessage(channel_id="ws", sender_id="u",
                                             content=TextContent(body="go")), room_id="room")
    for _ in range(600):
        if len(provider.calls) > len(calls):
            break
        await asyncio.sleep(0.05)
    results = {}
    for message in provider.calls[-1].messages:
        for part in message.content if isinstance(message.content, list) else ():
            if getattr(part, "type", "") == "tool_result":
                results[part.tool_call_id] = part.result
    await kit.close()
    assert len(results) == len(calls), f"{len(results)} results of {len(calls)} calls"
    catalogue = [tool.name for tool in provider.calls[0].tools]
    return [results[f"c{number}"] for number in range(len(calls))], catalogue


def good(result):
    told = json.loads(result)
    assert told["exit_code"] == 0 and told["success"], told
    return told["output"]


async def case_the_ten_tools_are_in_an_agents_catalogue_and_every_call_works():
    calls = [("sandbox_write", {"path": "src/a.py", "content": "one\ntwo\nthree\nfour\n"}),
             ("sandbox_read", {"path": "src/a.py", "offset": 1, "limit": 2}),
             ("sandbox_edit", {"path": "src/a.py", "old_string": "two", "new_string": "2"}),
             ("sandbox_ls", {"path": "src"}),
             ("sandbox_grep", {"pattern": "^2$", "path": "src", "type": "py"}),
             ("sandbox_find", {"path": ".", "name": "*.py", "type": "f"}),
             ("sandbox_bash", {"command": "git init -q . && cat src/a.py && exit 3", "timeout": 20}),
             ("sandbox_git", {"args": "status --short"}),
             ("sandbox_write", {"path": "b.py", "content": "one\n2\nthree\nFOUR\n"}),
             ("sandbox_diff", {"file_a": "src/a.py", "file_b": "b.py"}),
             ("sandbox_delete", {"path": "b.py"}),
             ("sandbox_read", {"path": "b.py"})]
    results, catalogue = await run_agent(ours.NutshellSandboxExecutor(), *calls)
    missing = [name for name in TEN if f"sandbox_{name}" not in catalogue]
    assert not missing, f"not in the catalogue: {catalogue}"
    read = good(results[1])
    assert "2\ttwo" in read and "3\tthree" in read and "one" not in read and "four" not in read, read
    good(results[2])
    assert "a.py" in good(results[3]) and "a.py" in good(results[5])
    assert "2" in good(results[4]) and "three" not in good(results[4])
    bash = json.loads(results[6])
    assert bash["exit_code"] == 3 and not bash["success"] and "2\nthree" in bash["output"], bash
    assert "src/" in good(results[7])
    assert "FOUR" in good(results[9])
    good(results[10])
    gone = json.loads(results[11])
    assert gone["exit_code"] == 1 and "b.py" in gone["error"], gone


async def case_every_argument_of_the_reference_schemas_is_known():
    executor = ours.NutshellSandboxExecutor()
    known = {one["name"]: one["parameters"] for one in executor.tool_definitions()}
    for told in SANDBOX_TOOL_SCHEMAS:
        mine = known[told["name"]]
        names = set(told["parameters"].get("properties", {}))
        assert names <= set(mine["properties"]), (told["name"], names - set(mine["properties"]))
        required = set(told["parameters"].get("required", ()))
        assert set(mine.get("required", ())) <= required, (told["name"], required)
    for told in executor.tool_definitions():
        assert told["name"].startswith("sandbox_"), told
    assert isinstance(executor, SandboxExecutor)
    await executor.close()


async def case_a_command_that_takes_too_long_is_ended_with_its_children():
    executor = ours.NutshellSandboxExecutor(timeout=1)
    result = await executor.execute("bash", {"command": "sleep 77 & sleep 77"})
    assert isinstance(result, SandboxResult) and result.exit_code == 124, result
    again = await executor.execute("bash", {"command": "ps -e | grep -c sleep", "timeout": 30})
    assert again.output.split("\n")[-1].strip().startswith("0") or "0" in again.output, again
    await executor.close()


async def case_results_stay_below_the_size_that_roomkit_replaces():
    results, _ = await run_agent(ours.NutshellSandboxExecutor(),
                                 ("sandbox_bash", {"command": "seq 1 30000 | sed 's/$/ \"é\"/'"}),
                                 ("sandbox_write", {"path": "a", "content": "\u0001\\\"" * 9000}),
                                 ("sandbox_read", {"path": "a", "max_tokens": 20000}))
    for result in results:
        assert len(result) < 20000 and json.loads(result)["exit_code"] == 0, result[:200]


async def case_bad_calls_are_results_and_do_no_harm():
    executor = ours.NutshellSandboxExecutor()
    for command, arguments in (("no_such", {}), ("read", {}), ("read", {"path": "none"}),
                               ("edit", {"path": "none", "old_string": "", "new_string": ""}),
                               ("grep", {"pattern": "("}), ("git", {"args": "log 'unbalanced"}),
                               ("read", {"path": 7}), ("write", {"path": "../../etc/x", "content": ""})):
        result = await executor.execute(command, arguments)
        assert result.exit_code != 0 and result.error, (command, result)
    result = await executor.execute("delete", {"path": "$(touch /workspace/owned)"})
    assert result.exit_code != 0
    assert "owned" not in (await executor.execute("sandbox_ls", {})).output
    await executor.close()


async def case_executors_of_one_session_share_it_and_close_leaves_it():
    name = "tenant:a/b.c " + "x" * 80
    first = ours.ContainerSandboxExecutor(session_id=name, setup_commands=["echo made > made && pwd"],
                                          labels={"team": "red"}, env={"COLOR": "blue"})
    assert (await first.execute("bash", {"command": "cat made; echo $COLOR"})).output.count("blue") == 1
    await first.close()
    second = ours.ContainerSandboxExecutor(session_id=name)
    assert "made" in (await second.execute("read", {"path": "made"})).output
    given = await second.execute("bash", {"command": "echo $SHAPE"}, env={"SHAPE": "round"})
    assert given.output == "round\n", given
    backend = ours.DockerSandboxBackend()
    found = await backend.find_container(name)
    assert found and await backend.container_exists(found)
    listed = [one for one in await backend.list_containers({"team": "red"})]
    assert [one.session_id for one in listed] == [name] and listed[0].container_id == found, listed
    assert listed[0].status == "running" and listed[0].created_at.startswith("20"), listed
    await backend.delete_container(found)
    assert not await backend.container_exists(found)
    other = ours.ContainerSandboxExecutor(session_id="tenant:a/b.c-" + "x" * 80)
    assert (await other.execute("read", {"path": "made"})).exit_code == 1, "sessions collide"
    await backend.delete_container(await backend.find_container("tenant:a/b.c-" + "x" * 80))


async def case_an_executor_without_session_ends_its_sandbox():
    executor = ours.NutshellSandboxExecutor(labels={"of": "own"})
    await asyncio.gather(*(executor.execute("bash", {"command": "true"}) for _ in range(8)))
    assert len(await AsyncSession.list({"of": "own"})) == 1, "calls at once made several sandboxes"
    await executor.close()
    await executor.close()
    assert not await AsyncSession.list({"of": "own"})


async def case_a_sandbox_that_was_lost_is_replaced_with_its_setup():
    executor = ours.NutshellSandboxExecutor(setup_commands=["echo made > made"])
    await executor.execute("ls", {})
    sandbox = await executor.sandbox()
    await sandbox.client.send("destroySandbox", (sandbox.id,))
    assert "made" in (await executor.execute("read", {"path": "made"})).output
    await executor.close()


class OwnBuilder(ours.RtkCommandBuilder):
    def build_bash(self, args):
        return ["sh", "-c", "echo own: " + args["command"]]

    def build_greet(self, args):
        return ["echo", "hello", args["name"]]


async def case_a_users_own_command_builder_is_called():
    executor = ours.ContainerSandboxExecutor(command_builder=OwnBuilder())
    assert (await executor.execute("bash", {"command": "x"})).output == "own: x\n"
    assert (await executor.execute("greet", {"name": "you"})).output == "hello you\n"
    assert (await executor.execute("write", {"path": "a", "content": "b\n"})).exit_code == 0
    assert "1\tb" in (await executor.execute("read", {"path": "a"})).output
    await executor.close()


class Recorder(ours.NativeCommandBuilder):
    def build(self, command, arguments):
        if command == "fail":
            raise ValueError("no such luck")
        return super().build(command, arguments)


async def case_plain_programs_of_unix_run_by_the_native_builder():
    for builder in (ours.NativeCommandBuilder(), Recorder()):
        executor = ours.ContainerSandboxExecutor(command_builder=builder)
        tricky = "it's $(id) a file.txt"
        assert (await executor.execute("write", {"path": tricky, "content": "a\nb\nc"})).exit_code == 0
        edited = await executor.execute("edit", {"path": tricky, "old_string": "b\nc", "new_string": "B&\\n"})
        assert edited.exit_code == 0, edited
        read = await executor.execute("read", {"path": tricky, "offset": 1, "limit": 1})
        assert read.output.split() == ["2", "B&\\n"], read
        twice = await executor.execute("edit", {"path": tricky, "old_string": "", "new_string": "x"})
        assert twice.exit_code != 0
        assert tricky in (await executor.execute("ls", {})).output
        assert "B" in (await executor.execute("grep", {"pattern": "-*B"})).output
        assert tricky in (await executor.execute("find", {"name": "*.txt", "type": "f"})).output
        assert (await executor.execute("git", {"args": "--version"})).output.startswith("git")
        assert (await executor.execute("diff", {"file_a": tricky, "file_b": tricky})).exit_code == 0
        assert (await executor.execute("delete", {"path": tricky})).exit_code == 0
        assert (await executor.execute("delete", {"path": tricky})).exit_code != 0
        await executor.close()
    failed = await ours.ContainerSandboxExecutor(command_builder=Recorder()).execute("fail", {})
    assert failed.exit_code == 1 and "luck" in failed.error


class OwnBackend:
    """A backend of a user's own, with the methods that roomkit-sandbox documents."""

    def __init__(self):
        self.created, self.ran = [], []

    async def create_container(self, session_id, labels=None, env=None):
        self.created.append((session_id, labels, env))
        return "c1"

    async def exec_command(self, container_id, cmd, workdir="/workspace", env=None, timeout=30):
        self.ran.append((container_id, cmd, workdir, env, timeout))
        if cmd[-1] == "late":
            raise TimeoutError
        return ours.ExecResult(0, "out", "err")

    async def container_exists(self, container_id):
        return True

    async def find_container(self, session_id):
        return None


async def case_a_users_own_backend_is_used():
    backend = OwnBackend()
    executor = ours.ContainerSandboxExecutor(backend=backend, session_id="s", setup_commands=["a && b"],
                                             labels={"x": "y"}, env={"E": "f"}, workdir="/w")
    result = await executor.execute("bash", {"command": "hi", "timeout": 7}, env={"G": "h"})
    assert (result.exit_code, result.output, result.error) == (0, "out", "err")
    assert backend.created == [("s", {"x": "y"}, {"E": "f"})]
    assert backend.ran[1] == ("c1", ["sh", "-c", "hi"], "/w", {"G": "h"}, 7), backend.ran
    assert (await executor.execute("bash", {"command": "late"})).exit_code == 124
    assert [one["name"] for one in executor.tool_definitions()] == [one["name"] for one in SANDBOX_TOOL_SCHEMAS]
    unknown = await executor.execute("recall", {"id": "o1"})
    assert unknown.exit_code == 127 and "recall" in unknown.error and len(backend.ran) == 3, unknown


async def case_a_container_whose_setup_failed_is_deleted():
    class Failing(OwnBackend):
        async def exec_command(self, container_id, cmd, **_):
            return ours.ExecResult(1, "", "no such program")

        async def delete_container(self, container_id):
            self.ran.append(("deleted", container_id))
    backend = Failing()
    result = await ours.ContainerSandboxExecutor(backend=backend, setup_commands=["make"]).execute("ls", {})
    assert result.exit_code == 1 and "no such program" in result.error, result
    assert backend.ran == [("deleted", "c1")] and backend.created[0][0] == "roomkit-sandbox", backend.created


async def case_what_cannot_be_kept_is_refused_or_told():
    for make in (lambda: ours.DockerSandboxBackend(network="bridge"),
                 lambda: ours.SmolBSDSandboxBackend("/opt/smolbsd", network=True)):
        try:
            make()
            raise AssertionError("a network was ignored")
        except SandboxError as error:
            assert error.code == "unsupported"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ours.KubernetesSandboxBackend(namespace="prod")
        ours.SmolBSDSandboxBackend(smolbsd_dir="/opt/smolbsd", memory=64)
    assert [str(one.message).split(":")[0] for one in told] == ["namespace", "smolbsd_dir"], told
    executor = ours.ContainerSandboxExecutor(backend=ours.SmolBSDSandboxBackend(memory=64, workspace_gb=1))
    assert (await executor.sandbox()).timeout is None
    assert (await executor.execute("bash", {"command": "echo small"})).exit_code == 0
    await executor.close()


async def case_modules_have_the_names_of_roomkit_sandbox():
    import roomkit_sandbox
    for name in roomkit_sandbox.__all__:
        assert hasattr(ours, name), name
    from nutshell_sandbox.roomkit.docker_backend import DockerSandboxBackend
    from nutshell_sandbox.roomkit.k8s_backend import KubernetesSandboxBackend
    from nutshell_sandbox.roomkit.smolbsd_backend import SmolBSDSandboxBackend
    assert DockerSandboxBackend and KubernetesSandboxBackend and SmolBSDSandboxBackend
    import inspect
    from roomkit_sandbox import docker_backend, executor, k8s_backend, smolbsd_backend
    for module, name in ((executor, "ContainerSandboxExecutor"), (docker_backend, "DockerSandboxBackend"),
                         (k8s_backend, "KubernetesSandboxBackend"), (smolbsd_backend, "SmolBSDSandboxBackend"),
                         (roomkit_sandbox, "ContainerInfo"), (roomkit_sandbox, "ExecResult")):
        theirs = inspect.signature(getattr(module, name)).parameters
        mine = inspect.signature(getattr(ours, name)).parameters
        assert list(theirs) == list(mine)[:len(theirs)], (name, list(mine))
    for kind in (ours.DockerSandboxBackend, ours.KubernetesSandboxBackend, ours.SmolBSDSandboxBackend):
        assert isinstance(kind(), executor.ContainerBackendProtocol), kind


async def case_the_example_runs():
    results, _ = await run_agent(None, ("sandbox_bash", {"command": "echo $((6*7))"}))
    assert "42" in good(results[0])


if __name__ == "__main__":
    sys.exit(main(globals()))
