#!/usr/bin/env python3
"""The MCP server as a well-behaved client meets it: on pipes, in both generations of the protocol."""
import json
import signal
import subprocess
import sys
from pathlib import Path

from mcp_client import Client, client, project, sandbox_of
from support import (NUTSHELL, Suite, call, expect, expect_equal, expect_gone, payloads,
                     random_token, scratch, wait_until)

suite = Suite()
STATELESS = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
             "io.modelcontextprotocol/clientCapabilities": {}}
TOOLS = ["read", "write", "edit", "ls", "grep", "find", "git", "diff", "delete", "bash", "job",
         "recall", "undo"]


# The server's description------------------------------------------------------------------------

@suite.case
def every_revision_with_a_handshake_is_agreed_on():
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        with client(handshake=revision) as server:
            expect_equal(server.agreed["protocolVersion"], revision, "revision")
            expect_equal(len(server.ask("tools/list")["tools"]), len(TOOLS), "tools")


@suite.case
def stateless_revision_needs_no_handshake():
    with client(handshake=None) as server:
        found = server.ask("server/discover", {"_meta": STATELESS})
        expect_equal(found["supportedVersions"], ["2026-07-28"], "revisions")
        result = server.ask("tools/call", {"_meta": STATELESS, "name": "sandbox_read",
                                           "arguments": {"path": "hello.txt"}})
        expect_equal(result["resultType"], "complete", "type")
        expect("hello" in result["content"][0]["text"], f"{result}")


@suite.case
def list_of_tools_is_the_same_bytes_at_every_start():
    lines = set()
    with project() as directory:
        for _ in range(3):
            server = Client(cwd=directory)
            server.send("tools/list")
            lines.add(server.messages.get(timeout=30))
            server.close()
    expect_equal(len(lines), 1, "different answers")
    tools = json.loads(lines.pop())["result"]["tools"]
    bare = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]
    catalogue = call("tool", "list", "--json").stdout.decode().strip()
    expect_equal(json.dumps(bare, separators=(",", ":"), ensure_ascii=False), catalogue,
                 "the catalogue that is measured")


@suite.case
def annotations_follow_the_policy():
    with client() as server:
        for tool in server.ask("tools/list")["tools"]:
            hints = tool["annotations"]
            expect_equal(set(hints), {"title", "readOnlyHint", "destructiveHint", "idempotentHint",
                                      "openWorldHint"}, "hints")
            expect_equal(hints["openWorldHint"], False, f"openWorldHint of {tool['name']}")
            expect_equal(hints["destructiveHint"], False, f"destructiveHint of {tool['name']}")
            expect(tool["title"], "title")
            expect("outputSchema" not in tool, "text alone by default")
            expect(not {"anyOf", "oneOf", "allOf"} & set(tool["inputSchema"]), "schema's root")
    with scratch() as shared, client("--unsafe-mount", f"{shared}:/workspace/shared") as server:
        hints = {tool["name"]: tool["annotations"]["destructiveHint"]
                 for tool in server.ask("tools/list")["tools"]}
        expect_equal(hints["sandbox_bash"], True, "destructiveHint beside the host's own files")
        expect_equal(hints["sandbox_read"], False, "destructiveHint of what reads")


@suite.case
def profile_choice_and_prefix_are_kept():
    with client("--profile", "readonly") as server:
        names = [tool["name"] for tool in server.ask("tools/list")["tools"]]
        expect_equal(names, [f"sandbox_{name}" for name in
                             ("read", "ls", "grep", "find", "git", "diff", "recall")], "names")
        expect_equal(server.error("tools/call", {"name": "sandbox_bash",
                                                 "arguments": {"command": "id"}}), -32602, "bash")
        refused = server.tool("git", args=["commit", "-m", "x"])
        expect(refused["isError"], f"git commit: {refused}")
    with client("--tools", "read,ls", "--tool-prefix", "") as server:
        expect_equal([tool["name"] for tool in server.ask("tools/list")["tools"]], ["read", "ls"],
                     "names")


@suite.case
def structured_content_comes_when_asked_for():
    with client() as server:
        expect("structuredContent" not in server.tool("ls"), "text alone")
    with client("--structured") as server:
        expect(all("outputSchema" in tool for tool in server.ask("tools/list")["tools"]), "schemas")
        result = server.tool("bash", command="echo hi; exit 3")
        expect_equal(result["structuredContent"]["text"], result["content"][0]["text"], "text")
        expect_equal(result["structuredContent"]["exit_code"], 3, "exit code")
        expect_equal(result["isError"], False, "a command that fails is no error of the tool")


# The sandbox ------------------------------------------------------------------------------------

@suite.case
def no_sandbox_is_made_before_the_first_call():
    with client() as server:
        server.ask("tools/list")
        server.ask("resources/list")
        expect_equal(sandbox_of(server), None, "sandbox")
        server.tool("ls")
        expect(sandbox_of(server), "a sandbox after the first call")


@suite.case
def project_is_copied_on_write_and_the_work_can_be_applied():
    with project() as directory, client(cwd=directory) as server:
        expect("/workspace is the project" in server.agreed["instructions"], "instructions")
        expect("nutshell apply" in server.agreed["instructions"], "instructions")
        server.text("write", path="new.txt", content="made inside\n")
        expect(not (directory / "new.txt").exists(), "the host's directory has changed")
        made = sandbox_of(server)
        expect(b"new.txt" in call("diff", made).stdout, "diff shows it")
        expect_equal(call("apply", made).status, 0, "apply")
        expect_equal((directory / "new.txt").read_text(), "made inside\n", "applied")


@suite.case
def sandbox_is_found_again_by_its_project():
    with project() as directory:
        with client(cwd=directory) as server:
            server.text("write", path="kept.txt", content="x")
            first = sandbox_of(server)
        with client(cwd=directory) as server:
            expect(not server.tool("read", path="kept.txt")["isError"], "the file is still there")
            expect_equal(sandbox_of(server), first, "sandbox")
        with client() as server:
            server.tool("ls")
            expect(sandbox_of(server) != first, "another project has another sandbox")


@suite.case
def two_clients_of_a_project_have_a_sandbox_each():
    with project() as directory, client(cwd=directory) as one, client(cwd=directory) as other:
        one.text("write", path="mine.txt", content="x")
        expect(other.tool("read", path="mine.txt")["isError"], "the other client sees it")
        expect(sandbox_of(one) != sandbox_of(other), "one sandbox for two clients")


@suite.case
def named_session_is_shared_and_found_from_anywhere():
    name = random_token()
    with client("--session", name) as one, client("--session", name) as other:
        one.text("write", path="shared.txt", content="x")
        expect(not other.tool("read", path="shared.txt")["isError"], "shared")


@suite.case
def sandbox_that_is_gone_is_made_anew_and_told():
    with client() as server:
        server.text("write", path="lost.txt", content="x")
        first = sandbox_of(server)
        call("destroy", first)
        text = server.text("ls")
        expect("this is a new one" in text, f"{text[:200]!r}")
        expect("hello.txt" in text, f"{text[:300]!r}")
        expect(sandbox_of(server) != first, "another sandbox")
        expect("new one" not in server.text("ls"), "told once")
        call("destroy", sandbox_of(server))
        refused = server.tool("write", path="a", content="b")
        told = refused["content"][0]["text"]
        expect("new one" in told or "new sandbox" in told, f"{told!r}")


@suite.case
def changed_files_outlive_the_sandbox_and_the_server():
    with project() as directory:
        for write in ("one", "two"):
            with client(cwd=directory) as server:
                server.text("write", path=f"{write}.txt", content=write)
                first = sandbox_of(server)
            expect_equal(call("destroy", first).status, 0, "destroy")
        with client(cwd=directory) as server:
            text = server.text("ls")
            expect("this is a new one" in text and "2 changed files" in text, text[:300])
            expect("one.txt" in text and "two.txt" in text and "hello.txt" in text, text[:300])
            expect("new one" not in server.text("ls"), "told once")
            expect_equal(call("apply", sandbox_of(server)).status, 0, "apply")
        expect_equal((directory / "two.txt").read_text(), "two", "applied")


@suite.case
def first_answer_in_a_new_sandbox_tells_that_it_is_new():
    """Also without changes, and after the server was restarted."""
    for flags, told in (((), "left no changes"), (("--no-project",), "All that was in it is gone")):
        with project() as directory:
            with client(*flags, cwd=directory) as server:
                expect("new one" not in server.text("ls"), "the first sandbox of all")
                first = sandbox_of(server)
            with client(*flags, cwd=directory) as server:
                expect("new one" not in server.text("ls"), "the same sandbox")
            expect_equal(call("destroy", first).status, 0, "destroy")
            with client(*flags, cwd=directory) as server:
                text = server.text("ls")
                expect("this is a new one" in text and told in text, text[:300])
                expect("new one" not in server.text("ls"), "told once")


@suite.case
def client_opened_again_at_once_gets_its_sandbox():
    """The first server still ends a call, or was killed."""
    with project() as directory:
        one = Client(cwd=directory)
        one.text("write", path="mine.txt", content="x")
        first = sandbox_of(one)
        one.send("tools/call", {"name": "sandbox_bash", "arguments": {"command": "sleep 1"}})
        one.process.stdin.close()
        with client(cwd=directory) as other:
            expect(not other.tool("read", path="mine.txt")["isError"], "its file")
            expect_equal(sandbox_of(other), first, "the sandbox")
            one.close()
            other.process.kill()
            with client(cwd=directory) as third:
                third.tool("ls")
                expect_equal(sandbox_of(third), first, "the sandbox after a kill")


@suite.case
def lease_ends_a_sandbox_that_nobody_uses():
    with client("--idle-timeout", "2s") as server:
        server.text("write", path="lost.txt", content="x")
        made = sandbox_of(server)
        expect(wait_until(lambda: made.encode() not in call("list", "-q").stdout, 20), "it lives on")
        expect("this is a new one" in server.text("ls"), "told")


@suite.case
def home_and_root_are_no_projects():
    with project() as directory, client(cwd="/") as server:
        expect("empty at first" in server.agreed["instructions"], "instructions")
        expect("hello" not in server.text("ls"), "an empty workspace")
        del directory


@suite.case
def client_outside_of_projects_is_asked_for_its_roots():
    with project() as directory:
        with client(cwd="/", roots=["/none", directory]) as server:
            expect_equal(server.text("read", path="hello.txt").splitlines()[1], "1\thello", "a file of the root")
            about = server.ask("resources/read", {"uri": "nutshell://sandbox"})
            expect_equal(json.loads(about["contents"][0]["text"])["project"], str(directory), "the project")
            server.text("bash", command="true")
            asked = [one for one in server.notifications if one.get("method") == "roots/list"]
            expect_equal(len(asked), 1, "how often it is asked")
        with client("--no-project", cwd="/", roots=[directory]) as server:
            expect("(0 dirs, 0 files)" in server.text("ls"), "no project was wanted")
    with client(cwd="/", roots=[]) as server:
        expect("(0 dirs, 0 files)" in server.text("ls"), "without roots")


@suite.case
def roots_that_hold_the_home_directory_are_no_projects():
    with project() as home, project() as beside:
        (home / "deep").mkdir()
        link = beside / "link"
        link.symlink_to(home)
        above = home.parent
        roots = ["/", "//", "/.", "/proc/..", "/proc/self/root", "/proc/self/cwd", str(home), f"{home}/",
                 f"{home}/deep/..", f"{home}/../{home.name}", str(link), str(above), f"/proc/self/root{home}"]
        with client(cwd="/", roots=roots, env={"HOME": str(home)}) as server:
            expect("(0 dirs, 0 files)" in server.text("ls"), "a root that is or holds the home directory")
        with client(cwd="/", roots=[f"{link}/deep"], env={"HOME": str(link)}) as server:
            server.text("ls")
            about = server.ask("resources/read", {"uri": "nutshell://sandbox"})
            expect_equal(json.loads(about["contents"][0]["text"])["project"], f"{link}/deep", "below it")


@suite.case
def stateless_client_is_asked_for_its_roots():
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"roots": {}}}
    with project() as directory, client(cwd="/", handshake=None) as server:
        call_of = {"name": "sandbox_ls", "arguments": {}, "_meta": meta}
        asked = server.ask("tools/call", call_of)
        expect_equal(asked["resultType"], "input_required", f"{asked}")
        expect_equal(asked["inputRequests"]["roots"]["method"], "roots/list", f"{asked}")
        answered = server.ask("tools/call", {**call_of, "inputResponses": {
            "roots": {"roots": [{"uri": f"file://{directory}"}]}}})
        expect("hello.txt" in answered["content"][0]["text"], f"{answered}")


@suite.case
def sandbox_that_cannot_be_made_is_a_tool_error_that_helps():
    with client("--require", "no-such-protection") as server:
        result = server.tool("ls")
        expect(result["isError"], f"{result}")
        expect("nutshell doctor" in result["content"][0]["text"], f"{result}")
        expect_equal(len(server.ask("tools/list")["tools"]), len(TOOLS), "the server lives")


@suite.case
def several_sandboxes_are_the_clients_own():
    with client("--multi") as server, client() as stranger:
        stranger.tool("ls")
        foreign = sandbox_of(stranger)
        names = [tool["name"] for tool in server.ask("tools/list")["tools"]]
        expect_equal(names[-4:], [f"sandbox_{verb}" for verb in ("create", "list", "fork", "destroy")],
                     "names")
        server.text("write", path="a.txt", content="one")
        other = server.text("create").strip()
        expect(server.tool("read", path="a.txt", sandbox=other)["isError"], "separate files")
        server.text("write", path="a.txt", content="two", sandbox=other)
        twin = server.text("fork", id=other).strip()
        expect("two" in server.text("read", path="a.txt", sandbox=twin), "forked files")
        expect("one" in server.text("read", path="a.txt"), "the default one")
        listed = server.text("list")
        expect(other in listed and twin in listed and foreign not in listed, listed)
        for tool, arguments in (("read", {"path": "hello.txt", "sandbox": foreign}),
                                ("destroy", {"id": foreign}), ("fork", {"id": foreign}),
                                ("ls", {"sandbox": "../x"}), ("ls", {"sandbox": ""})):
            expect(server.tool(tool, **arguments)["isError"], f"{tool} {arguments}")
        server.text("destroy", id=other)
        expect(other not in server.text("list"), "ended")
        expect(foreign.encode() in call("list", "-q").stdout, "the stranger's lives")


# Long work --------------------------------------------------------------------------------------

@suite.case
def same_output_is_said_again_only_when_asked_to():
    lines = {"command": "seq -f 'number %g of many lines' 1 3000"}
    for flags, is_pointed_to in (((), True), (("--repeat-output",), False)):
        with client(*flags) as server:
            first, second = server.text("bash", **lines), server.text("bash", **lines)
            expect_equal("unchanged since" in second, is_pointed_to, f"{flags}: {second[:200]}")
            if not is_pointed_to:
                expect_equal(second.splitlines()[1:3], first.splitlines()[1:3], "the same again")


@suite.case
def cancelled_call_kills_the_whole_tree():
    with client() as server:
        token = random_token()
        server.tool("ls")
        script = f"(setsid sh -c 'sleep 600; : {token}' &) ; sleep 600; : {token}"
        identifier = server.send("tools/call", {"name": "sandbox_bash",
                                                "arguments": {"command": script, "wait": 300}})
        expect(wait_until(lambda: payloads(token), 20), "the command does not start")
        server.tell("notifications/cancelled", {"requestId": identifier, "reason": "changed my mind"})
        expect_gone(token, 20)
        server.ask("ping")
        expect(not [m for m in server.notifications if m.get("id") == identifier],
               "an answer to a cancelled call")
        expect("hello" in server.text("read", path="hello.txt"), "the sandbox lives")


@suite.case
def client_killed_in_a_call_leaves_nothing_running():
    token = random_token()
    program = ("import subprocess, sys, time\n"
               "server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
               "for line in sys.argv[1].split('\\n'):\n"
               "    server.stdin.write(line.encode() + b'\\n'); server.stdin.flush()\n"
               "print(server.pid, flush=True)\ntime.sleep(600)\n")
    messages = [{"jsonrpc": "2.0", "id": 1, "method": "initialize",
                 "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
                {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                 "params": {"name": "sandbox_bash",
                            "arguments": {"command": f"sleep 600; : {token}", "wait": 300}}}]
    with project() as directory:
        parent = subprocess.Popen([sys.executable, "-c", program,
                                   "\n".join(map(json.dumps, messages)), NUTSHELL, "mcp"],
                                  cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        server = int(parent.stdout.readline())
        expect(wait_until(lambda: payloads(token), 30), "the command does not start")
        parent.kill()
        parent.wait()
        expect_gone(token, 20)
        expect(wait_until(lambda: not Path(f"/proc/{server}").exists(), 20), "the server is left")


@suite.case
def server_killed_in_a_call_leaves_nothing_running():
    """The command could have become a job, and nobody knows of it yet; what is a job already goes on."""
    with project() as directory:
        token, job = random_token(), random_token()
        one = Client(cwd=directory)
        one.tool("bash", command=f"sleep 600; echo {job}", wait=0, timeout=600)
        one.send("tools/call", {"name": "sandbox_bash",
                                "arguments": {"command": f"sleep 600; echo {token}", "wait": 500, "timeout": 600}})
        expect(wait_until(lambda: payloads(token), 20), "it runs")
        one.process.kill()
        one.process.wait()
        expect_gone(token, 20)
        expect(payloads(job), "the job has ended")
        with client(cwd=directory) as other:
            expect("running" in other.text("job", id="j1"), "the next server goes on with the job")
            other.tool("job", id="j1", stop=True)


@suite.case
def server_told_to_end_ends_its_commands():
    for number in (signal.SIGTERM, signal.SIGINT):
        token = random_token()
        with client() as server:
            server.send("tools/call", {"name": "sandbox_bash",
                                       "arguments": {"command": f"sleep 600; : {token}", "wait": 300}})
            expect(wait_until(lambda: payloads(token), 20), "the command does not start")
            server.process.send_signal(number)
            expect_equal(server.process.wait(20), 0, "status")
            expect_gone(token, 20)


@suite.case
def progress_comes_to_those_who_ask():
    with client() as server:
        server.tool("ls")
        arguments = {"command": "sleep 3.3", "wait": 20}
        server.ask("tools/call", {"name": "sandbox_bash", "arguments": arguments})
        expect(not [m for m in server.notifications if m["method"] == "notifications/progress"],
               "progress that nobody asked for")
        server.ask("tools/call", {"name": "sandbox_bash", "arguments": arguments,
                                  "_meta": {"progressToken": "p1"}})
        seen = [m["params"]["progress"] for m in server.notifications
                if m["method"] == "notifications/progress"]
        expect(len(seen) >= 2 and seen == sorted(set(seen)), f"progress {seen}")


@suite.case
def calls_run_side_by_side():
    with client() as server:
        server.tool("ls")
        waits = {"command": "until [ -e go ]; do sleep 0.05; done; echo went", "wait": 60, "timeout": 60}
        slow = server.send("tools/call", {"name": "sandbox_bash", "arguments": waits})
        server.text("write", path="go", content="")  # would come too late behind bash
        expect("went" in str(server.answer(slow)), "bash ended before it was told")


@suite.case
def job_outlives_its_call():
    with client() as server:
        text = server.text("bash", command="echo begin; sleep 2; echo end", wait=0)
        job = text.split("job ")[1].split()[0].rstrip(",.")
        expect(wait_until(lambda: "end" in server.text("job", id=job, wait=5), 20), "the job's end")


# Resources, completion, prompts -----------------------------------------------------------------

@suite.case
def resources_are_read_and_paths_completed():
    with client() as server:
        result = server.text("bash", command="seq 1 3000")
        output = next(word for word in result.replace("\n", " ").split() if word.startswith("o")
                      and len(word.rstrip(".,)")) == 5).rstrip(".,)")
        whole = server.ask("resources/read", {"uri": f"nutshell://output/{output}"})
        expect("2999" in whole["contents"][0]["text"], "the whole output")
        file = server.ask("resources/read", {"uri": "nutshell://file/src/main.c"})
        expect("main(void)" in file["contents"][0]["text"], "the file")
        for uri in ("nutshell://file/none", "nutshell://output/../../x", "nutshell://output/o0000",
                    "nutshell://file/../../../../etc/shadow", "file:///etc/passwd", "nutshell://"):
            expect_equal(server.error("resources/read", {"uri": uri}), -32002, uri)
        reference = {"type": "ref/resource", "uri": "nutshell://file/{+path}"}
        for typed, wanted in (("", ["src/", "hello.txt"]), ("h", ["hello.txt"]),
                              ("src/", ["src/main.c"]), ("none/", [])):
            done = server.ask("completion/complete", {"ref": reference, "argument": {
                "name": "path", "value": typed}})
            expect_equal(done["completion"]["values"], wanted, f"completion of {typed!r}")


@suite.case
def review_prompt_holds_the_change():
    with client() as server:
        expect("Nothing was changed" in str(server.ask("prompts/get", {"name": "review"})), "empty")
        server.text("write", path="new.txt", content="fresh line\n")
        told = server.ask("prompts/get", {"name": "review", "arguments": {"focus": "names"}})
        text = told["messages"][0]["content"]["text"]
        expect("fresh line" in text and "names" in text, text[:300])
        server.text("bash", command="echo x > .envrc; echo y > tool; chmod +x tool; mkdir -p .git/hooks; "
                                    "echo z > .git/hooks/pre-commit; touch \"$(printf '.envrc\\n- \"ok\"')\"")
        text = server.ask("prompts/get", {"name": "review"})["messages"][0]["content"]["text"]
        for words in ('".envrc": direnv runs it', '".git/', "--unsafe-git", "can be run now", '- "tool"'):
            expect(words in text, f"{words!r} is not in {text[:800]}")
        expect('\n- "ok"' not in text, "a name made a line of its own")
        expect_equal(server.error("prompts/get", {"name": "none"}), -32602, "unknown prompt")


@suite.case
def logging_follows_its_level():
    with client() as server:
        server.ask("logging/setLevel", {"level": "info"})
        server.tool("ls")
        logged = [m for m in server.notifications if m["method"] == "notifications/message"]
        expect(any("sandbox" in m["params"]["data"] for m in logged), f"{server.notifications}")
        expect_equal(server.error("logging/setLevel", {"level": "loud"}), -32602, "level")


if __name__ == "__main__":
    sys.exit(suite.run())
