#!/usr/bin/env python3
"""Sessions of the daemon's /mcp: found again after a client's or the daemon's end, ended by their
lease, within their tenant's quota; its record, and calls that become tasks."""
import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from daemon_client import DAEMON, UnixConnection, call_over, daemon
from mcp_http_client import BOB, BOTH, META, host, text_of
from support import (Suite, expect, expect_equal, expect_gone, payloads, random_token, scratch,
                     wait_until)

suite = Suite()
TASKS = {**META, "io.modelcontextprotocol/clientCapabilities": {
    "extensions": {"io.modelcontextprotocol/tasks": {}}}}


def call(server, session, name, at="/mcp", /, **arguments):
    answer = server.in_session(session, "tools/call", {"name": f"sandbox_{name}", "arguments": arguments},
                               path=at)
    expect_equal(answer.status, 200, f"status of {name}: {answer.body[:200]}")
    return answer.message["result"]


def restart(server, number=signal.SIGTERM):
    server.daemon.stop(number)
    server.daemon.log.close()
    server.daemon.start()


# Sessions ---------------------------------------------------------------------------------------

@suite.case
def each_connection_has_a_sandbox_made_at_its_first_call():
    with host("") as server:
        one, other = server.initialize(), server.initialize()
        expect_equal(server.daemon.call("GET", "/v1/sandboxes", token="alice").json()["sandboxes"], [],
                     "sandboxes before the first call")
        call(server, one, "write", path="a.txt", content="x")
        expect(call(server, other, "read", path="a.txt")["isError"], "two connections share a sandbox")
        listed = server.daemon.call("GET", "/v1/sandboxes", token="alice").json()["sandboxes"]
        expect_equal(len(listed), 2, "sandboxes")


@suite.case
def session_goes_on_after_the_daemon_was_killed():
    with host("") as server:
        unused, session, ended = server.initialize(), server.initialize(), server.initialize()
        call(server, session, "write", path="a.txt", content="kept")
        call(server, ended, "ls")
        server.send(None, method="DELETE", Mcp_Session_Id=ended)
        restart(server, signal.SIGKILL)
        expect_equal(server.in_session(session, "ping", token=BOB).status, 404, "with bob's token")
        expect("kept" in text_of(call(server, session, "read", path="a.txt")), "the file is gone")
        wrong = server.in_session(session, "ping", MCP_Protocol_Version="2025-06-18")
        expect_equal(wrong.status, 400, "another revision than was agreed on")
        expect_equal(server.in_session(unused, "ping").status, 404, "one that never had a sandbox")
        expect_equal(server.in_session(ended, "ping").status, 404, "one that was ended")


@suite.case
def named_session_is_found_by_any_client_of_its_tenant():
    with host("") as server:
        named = "/mcp?session=review"
        first = server.initialize(path=named)
        call(server, first, "write", named, path="a.txt", content="kept")
        expect_equal(server.in_session(first, "ping").status, 404, "the session under no name")
        expect_equal(server.send(None, method="DELETE", path=named, Mcp_Session_Id=first).status, 204,
                     "the client's end")
        restart(server)
        again = server.initialize(path=named)
        expect("kept" in text_of(call(server, again, "read", named, path="a.txt")), "with a handshake")
        answer = server.stateless("tools/call", {"name": "sandbox_read", "arguments": {"path": "a.txt"}},
                                  path=named)
        expect("kept" in text_of(answer.message["result"]), "without one")
        about = server.daemon.call("GET", "/v1/sessions/review", token="alice")
        expect_equal(about.status, 200, "the same session over the API")
        expect_equal(server.daemon.call("GET", "/v1/sessions/review", token="bob").status, 404, "for bob")
        stolen = server.stateless("tools/call", {"name": "sandbox_read", "arguments": {"path": "a.txt"}},
                                  path=named, token=BOB)
        expect(stolen.message["result"]["isError"], "bob's session of this name is alice's")
        for wrong in ("..%2Fx", "a%20b", "x" * 64, ".hidden"):
            answer = server.stateless("tools/call", {"name": "sandbox_ls", "arguments": {}},
                                      path=f"/mcp?session={wrong}")
            expect(answer.message["result"]["isError"], f"session {wrong!r}")


@suite.case
def lease_ends_a_sandbox_that_nobody_uses():
    with host("[mcp]\nlease_seconds = 6\n") as server:
        session = server.initialize()
        call(server, session, "write", path="a.txt", content="x")
        began = time.monotonic()
        while time.monotonic() - began < 8:  # longer than the lease, and used all the while
            expect(not call(server, session, "read", path="a.txt")["isError"], "ended while in use")
            time.sleep(0.5)
        expect(wait_until(lambda: not server.daemon.call("GET", "/v1/sandboxes", token="alice")
                          .json()["sandboxes"], 40), "the lease ends nothing")
        told = text_of(call(server, session, "ls"))
        expect("new one" in told, f"{told[:200]!r}")


@suite.case
def quota_of_a_tenant_holds_and_leaves_others_alone():
    with host('[[quotas]]\ntenant = "alice"\nsandboxes = 1\n') as server:
        one, other = server.initialize(), server.initialize()
        expect(not call(server, one, "ls")["isError"], "the first")
        refused = call(server, other, "ls")
        expect(refused["isError"] and "too little left of its sandboxes" in text_of(refused), f"{refused}")
        expect(not server.tool("ls", token=BOB)["isError"], "bob's")


@suite.case
def sessions_of_one_token_are_bounded():
    with host("[mcp]\nsessions = 3\n") as server:
        of_bob = server.initialize(token=BOB)
        many = [server.initialize() for _ in range(8)]
        alive = [session for session in many if server.in_session(session, "ping").status == 200]
        expect_equal(alive, many[-3:], "the newest three")
        expect_equal(server.in_session(of_bob, "ping", token=BOB).status, 200, "bob's")


@suite.case
def callers_on_the_socket_need_no_token():
    with daemon() as one:
        headers = {"Content-Type": "application/json", "Accept": BOTH, "MCP-Protocol-Version": "2026-07-28",
                   "Mcp-Method": "tools/list"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
        answer = call_over(UnixConnection(one.socket), "POST", "/mcp", body, None, headers)
        expect_equal((answer.status, len(answer.json()["result"]["tools"])), (200, 13), "tools")


# Settings --------------------------------------------------------------------------------------

@suite.case
def settings_decide_what_is_served():
    with host('[mcp]\nprofile = "readonly"\ntool_prefix = ""\ntools = ["read", "grep"]\n') as server:
        names = [tool["name"] for tool in server.stateless("tools/list").message["result"]["tools"]]
        expect_equal(names, ["read", "grep"], "tools")
    with host("[mcp]\nenabled = false\n") as server:
        expect_equal(server.stateless("tools/list").status, 404, "switched off")
    with scratch() as directory:
        for wrong in ("[mcp]\ntool = []\n", '[mcp]\nprofile = "all"\n', '[mcp]\ntools = ["reed"]\n',
                      '[mcp]\nmemory = "much"\n', "[mcp]\nlease_seconds = 0\n", "[mcp]\nmulti = 1\n",
                      '[mcp]\nauthorization_servers = ["https://login.example.com"]\n',
                      '[mcp]\nresource_url = "https://x/mcp"\nauthorization_servers = ["x"]\n'):
            (directory / "config.toml").write_text(wrong)
            ended = subprocess.run([DAEMON, "--config", directory / "config.toml", "--show-config"],
                                   capture_output=True, text=True, timeout=30)
            expect(ended.returncode != 0 and "config.toml:" in ended.stderr, f"{wrong!r}: {ended.stderr}")


# The record -------------------------------------------------------------------------------------

@suite.case
def record_of_the_sandbox_is_a_resource():
    with host("") as server:
        listed = server.stateless("resources/list").message["result"]["resources"]
        expect("nutshell://audit" in [one["uri"] for one in listed], f"{listed}")
        expect_equal(server.stateless("resources/read", {"uri": "nutshell://audit"}).code, -32602,
                     "before the first call")
        server.tool("bash", command="echo of-alice")
        server.tool("bash", token=BOB, command="echo of-bob")
        read = server.stateless("resources/read", {"uri": "nutshell://audit"}).message["result"]
        lines = [json.loads(line) for line in read["contents"][0]["text"].splitlines()]
        expect(any("of-alice" in line["what"] for line in lines), f"{lines}")
        expect(not any("of-bob" in line["what"] for line in lines), "another's record")
        expect(all(line["who"] == "token alice" for line in lines), f"{lines}")
        done = server.stateless("completion/complete", {
            "ref": {"type": "ref/resource", "uri": "nutshell://file/{+path}"},
            "argument": {"name": "path", "value": ""}})
        expect_equal(done.message["result"]["completion"]["values"], [], "completion")


@suite.case
def outputs_and_files_are_their_owners():
    with host("") as server:
        shown = text_of(server.tool("bash", command="seq 1 3000"))
        output = next(word for word in shown.replace("\n", " ").split() if word.startswith("o")
                      and len(word.rstrip(".,)")) == 5).rstrip(".,)")
        server.tool("write", path="dir/a.txt", content="of alice")
        server.tool("ls", token=BOB)
        for uri, wanted in ((f"nutshell://output/{output}", "2999"), ("nutshell://file/dir/a.txt", "of alice")):
            read = server.stateless("resources/read", {"uri": uri}).message["result"]
            expect(wanted in read["contents"][0]["text"], uri)
            expect_equal(server.stateless("resources/read", {"uri": uri}, token=BOB).code, -32602,
                         f"bob reads {uri}")
        done = server.stateless("completion/complete", {
            "ref": {"type": "ref/resource", "uri": "nutshell://file/{+path}"},
            "argument": {"name": "path", "value": "di"}})
        expect_equal(done.message["result"]["completion"]["values"], ["dir/"], "completion")


# Tasks ------------------------------------------------------------------------------------------

def begin_task(server, command):
    answer = server.stateless("tools/call", {"name": "sandbox_bash", "_meta": TASKS,
                                             "arguments": {"command": command, "wait": 300}})
    return answer.message["result"]


def task(server, verb, identifier, meta=None, **headers):
    return server.stateless(f"tasks/{verb}", {"taskId": identifier, "_meta": meta or TASKS},
                            Mcp_Name=identifier, **headers)


@suite.case
def long_call_becomes_a_task_of_its_owner():
    with host("") as server:
        short = begin_task(server, "echo short")
        expect_equal(short["resultType"], "complete", "a short call")
        made = begin_task(server, "until [ -e go ]; do sleep 0.1; done; echo long")
        expect_equal((made["resultType"], made["status"]), ("task", "working"), f"{made}")
        identifier = made["taskId"]
        expect_equal(task(server, "get", identifier).message["result"]["status"], "working", "at first")
        expect_equal(task(server, "get", identifier, token=BOB).code, -32602, "for bob")
        expect_equal(task(server, "cancel", identifier, token=BOB).code, -32602, "bob cancels it")
        expect_equal(task(server, "get", identifier, META).code, -32021, "without the capability")
        expect_equal(task(server, "get", "0" * 32).code, -32602, "one that never was")
        expect_equal(server.stateless("tasks/get", {"taskId": identifier, "_meta": TASKS}, Mcp_Name="x").code,
                     -32020, "another name in the header")
        with ThreadPoolExecutor() as threads:  # the result waits for the end of the task
            waiting = threads.submit(task, server, "result", identifier)
            expect_equal(task(server, "result", identifier, token=BOB).code, -32602, "its result for bob")
            server.tool("write", path="go", content="")
            expect("long" in text_of(waiting.result().message["result"]), "its result")
        expect_equal(task(server, "get", identifier).message["result"]["status"], "completed", "at the end")
        for _ in range(2):
            told = task(server, "result", identifier).message["result"]
            expect("long" in text_of(told) and not told["isError"], f"the result of one that has ended: {told}")
        ended = task(server, "get", identifier).message["result"]["result"]
        expect("long" in text_of(ended), f"{ended}")
        expect_equal(task(server, "result", "0" * 32).code, -32602, "the result of one that never was")


@suite.case
def cancelled_task_kills_the_whole_tree():
    with host("") as server:
        token = random_token()
        made = begin_task(server, f"(setsid sh -c 'sleep 600; : {token}' &) ; sleep 600; : {token}")
        expect_equal(made.get("resultType"), "task", f"{made}")
        expect(wait_until(lambda: payloads(token)), "the command does not run")
        expect_equal(task(server, "cancel", made["taskId"]).message["result"]["resultType"], "complete",
                     "acknowledged")
        expect_gone(token, 20)
        expect_equal(task(server, "get", made["taskId"]).message["result"]["status"], "cancelled", "status")


@suite.case
def daemon_that_is_killed_takes_its_tasks_with_it():
    with host("") as server:
        token = random_token()
        made = begin_task(server, f"sleep 600; : {token}")
        expect_equal(made.get("resultType"), "task", f"{made}")
        restart(server, signal.SIGKILL)
        expect_gone(token, 20)
        expect_equal(task(server, "get", made["taskId"]).code, -32602, "the task")


if __name__ == "__main__":
    sys.exit(suite.run())
