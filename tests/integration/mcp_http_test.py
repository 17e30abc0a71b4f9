#!/usr/bin/env python3
"""The daemon's /mcp: whose requests are served, whose sessions they are, and what hostile ones get."""
import contextlib
import json
import socket
import sys
import threading
import time

from mcp_http_client import ALICE, BOB, BOTH, META, MANY, host, text_of
from support import (Suite, expect, expect_equal, expect_gone, needs_full, payloads, random_token,
                     wait_until)

suite = Suite()


@suite.case
def requests_without_a_token_are_refused():
    with host(MANY + 'resource_url = "https://sandbox.example.com/mcp"\n'
              'authorization_servers = ["https://login.example.com"]\n') as server:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for method in ("POST", "GET", "DELETE", "PUT"):
            expect_equal(server.send(ping, method=method, Authorization=None).status, 401, method)
        for wrong in ("", "Bearer", "Bearer wrong", f"Bearer {ALICE[:-1]}", f"Bearer {ALICE}x",
                      f"Bearer {ALICE.upper()}", f"Bearer  {ALICE}", f"Basic {ALICE}"):
            expect_equal(server.send(ping, Authorization=wrong).status, 401, f"{wrong!r}")
        answer = server.send(b"{}", Authorization=None, path=f"/mcp?token={ALICE}")
        expect_equal(answer.status, 401, "a token in the query")
        told = answer.headers["www-authenticate"]
        expect("resource_metadata=" in told and "/.well-known/oauth-protected-resource/mcp" in told, told)
        metadata = server.send(None, method="GET", path="/.well-known/oauth-protected-resource/mcp",
                               Authorization=None)
        expect_equal(json.loads(metadata.body)["authorization_servers"], ["https://login.example.com"],
                     "metadata")
        expect_equal(json.loads(metadata.body)["resource"], "https://sandbox.example.com/mcp", "resource")
    with host() as server:
        answer = server.send(b"{}", Authorization=None)
        expect_equal(answer.headers["www-authenticate"], "Bearer", "without an authorization server")
        expect_equal(server.send(None, method="GET", path="/.well-known/oauth-protected-resource").status,
                     404, "no metadata")


@suite.case
def foreign_hosts_and_origins_are_refused():
    with host(origins=["http://localhost:3000"]) as server:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for headers in ({"Host": "evil.example.com"}, {"Origin": "http://evil.example.com"},
                        {"Origin": "null"}, {"Host": "localhost.evil.com"},
                        {"Origin": "http://127.0.0.1.evil.com"}, {"Host": "127.0.0.1.evil.com"}):
            answer = server.send(ping, **headers)
            expect_equal(answer.status, 403, f"{headers}")
            expect("access-control-allow-origin" not in answer.headers, "CORS")
        for headers in ({"Host": "localhost:1"}, {"Origin": "http://localhost:3000"}):
            expect(server.stateless("server/discover", **headers).status == 200, f"{headers}")


@suite.case
def stateless_requests_say_the_same_in_header_and_body():
    with host() as server:
        call = {"name": "sandbox_ls", "arguments": {}}
        for headers in ({"Mcp_Method": "tools/list"}, {"Mcp_Method": None}, {"Mcp_Name": "sandbox_rm"},
                        {"Mcp_Name": None}, {"MCP_Protocol_Version": "2025-11-25"},
                        {"MCP_Protocol_Version": None}, {"Mcp_Param_Sandbox": "abc"},
                        {"Mcp_Name": "=?base64?!!!?="}):
            answer = server.stateless("tools/call", call, **headers)
            expect_equal((answer.status, answer.code), (400, -32020), f"{headers}")
        answer = server.stateless("tools/call", {"name": "sandbox_ls", "arguments": {"sandbox": "x"}})
        expect_equal((answer.status, answer.code), (400, -32020), "a parameter that is not mirrored")
        expect_equal(server.stateless("none").status, 404, "unknown method")
        expect_equal(server.send(None, method="GET").status, 405, "GET")


@suite.case
def owners_have_their_own_sandboxes():
    with host() as server:
        expect(not server.tool("write", path="a.txt", content="of alice")["isError"], "write")
        made = text_of(server.tool("create")).strip()
        expect(server.tool("read", token=BOB, path="a.txt")["isError"], "bob reads alice's file")
        expect(made not in text_of(server.tool("list", token=BOB)), "bob sees alice's sandbox")
        stolen = server.tool("ls", token=BOB, headers={"Mcp_Param_Sandbox": made}, sandbox=made)
        expect(stolen["isError"], "bob uses alice's sandbox")
        expect(server.tool("destroy", token=BOB, id=made)["isError"], "bob ends alice's sandbox")
        expect(made in text_of(server.tool("list")), "it lives")


@suite.case
def sessions_are_bound_to_their_token():
    with host() as server:
        session = server.initialize()
        expect(len(session) >= 32 and session.isalnum(), f"{session!r}")
        expect(session != server.initialize(), "session ids repeat")
        expect_equal(server.in_session(session, "ping").status, 200, "own session")
        expect_equal(server.in_session(session, "ping", token=BOB).status, 404, "with bob's token")
        expect_equal(server.send(None, method="DELETE", token=BOB, Mcp_Session_Id=session).status, 404,
                     "bob ends it")
        for wrong in ("0" * 32, session[:-1], session.upper() + "x", "../" + session, "a b"):
            expect_equal(server.in_session(wrong, "ping").status, 404, f"session {wrong!r}")
        expect_equal(server.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status, 400, "none")
        wrong = server.in_session(session, "ping", MCP_Protocol_Version="2025-06-18")
        expect_equal(wrong.status, 400, "another revision")
        expect_equal(server.send(None, method="DELETE", Mcp_Session_Id=session).status, 204, "end")
        expect_equal(server.in_session(session, "ping").status, 404, "after its end")


@suite.case
def answers_of_others_do_not_reach_a_session():
    with host() as server:
        one, other = server.initialize(), server.initialize(token=BOB, Authorization=f"Bearer {BOB}")
        for body in ({"jsonrpc": "2.0", "id": "nutshell-1", "result": {}},
                     {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}):
            expect_equal(server.send(body, Mcp_Session_Id=one).status, 202, "taken and dropped")
            expect_equal(server.send(body, Mcp_Session_Id=other).status, 404, "another's session")


@suite.case
def hostile_bodies_get_their_error():
    with host() as server:
        session = server.initialize()
        for body, status, code in ((b"{", 400, -32700), (b"\xff", 400, -32700), (b"[]", 400, -32600),
                                   (b"[" * 100000, 400, -32700), (b"42", 400, -32600),
                                   (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}', 400, -32700),
                                   (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600)):
            answer = server.send(body, Mcp_Session_Id=session)
            expect_equal((answer.status, answer.code), (status, code), f"{body[:40]!r}")
        expect_equal(server.send(b"{}", Content_Type="text/plain").status, 415, "content type")
        expect_equal(server.send(b"{}", Accept="text/html").status, 406, "accept")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it reads no more of it
            expect_equal(server.send(b"x" * (33 << 20)).status, 413, "a body too large")
        expect_equal(server.in_session(session, "ping").status, 200, "the server lives")


@suite.case
def output_cannot_forge_an_event():
    with host() as server:
        answer = server.stateless("tools/call", {
            "name": "sandbox_bash", "_meta": {"progressToken": 1},
            "arguments": {"command": "printf 'x\\n\\nevent: forged\\ndata: {\"id\":1}\\n\\n'; sleep 1.5",
                          "raw": True}})
        expect("event-stream" in answer.headers["content-type"], "a stream")
        for line in answer.body.decode().splitlines():
            expect(line == "" or line.startswith(("data: {", ":")), f"{line[:80]!r}")
        expect("forged" in text_of(answer.message["result"]), "as data")


def hang_up_during(server, token, headers, params):
    """Sends a call and closes the connection once its command runs."""
    body = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}).encode()
    lines = [f"POST {server.place.path} HTTP/1.1", f"Host: 127.0.0.1:{server.place.port}",
             "Content-Type: application/json", f"Accept: {BOTH}", f"Content-Length: {len(body)}",
             f"Authorization: Bearer {server.token}", *headers]
    with socket.create_connection((server.place.hostname, server.place.port)) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        expect(wait_until(lambda: payloads(token), 30), "the command does not start")


@suite.case
def hanging_up_cancels_in_the_stateless_revision():
    with host() as server:
        server.tool("ls")
        token = random_token()
        arguments = {"command": f"(setsid sh -c 'sleep 600; : {token}') & sleep 600; : {token}", "wait": 300}
        hang_up_during(server, token, ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call",
                                       "Mcp-Name: sandbox_bash"],
                       {"name": "sandbox_bash", "arguments": arguments, "_meta": META})
        expect_gone(token, 20)
        expect(not server.tool("ls")["isError"], "the sandbox lives")


@suite.case
def client_of_a_session_killed_in_a_call_leaves_nothing_running():
    with host() as server:
        session, token = server.initialize(), random_token()
        params = {"name": "sandbox_bash", "arguments": {"command": f"sleep 600; : {token}", "wait": 300}}
        hang_up_during(server, token, [f"Mcp-Session-Id: {session}"], params)
        expect_gone(token, 30)


@suite.case
def client_of_a_session_that_is_heard_of_again_finds_its_work():
    needs_full("takes half a minute")
    with host() as server:
        session, token = server.initialize(), random_token()
        params = {"name": "sandbox_bash",
                  "arguments": {"command": f"sleep 14; : {token}; echo done > done.txt", "wait": 300}}
        hang_up_during(server, token, [f"Mcp-Session-Id: {session}"], params)
        time.sleep(0.5)
        server.in_session(session, "ping")
        read = {"name": "sandbox_read", "arguments": {"path": "done.txt"}}
        expect(wait_until(lambda: not server.in_session(session, "tools/call", read)
                          .message["result"]["isError"], 40), "the command did not end by itself")


@suite.case
def a_session_cancels_by_message_and_by_its_end():
    with host() as server:
        for way in ("message", "delete"):
            session = server.initialize()
            token, answers = random_token(), []
            params = {"name": "sandbox_bash", "arguments": {"command": f"sleep 600; : {token}", "wait": 300}}
            thread = threading.Thread(
                target=lambda: answers.append(server.in_session(session, "tools/call", params)))
            thread.start()
            expect(wait_until(lambda: payloads(token), 30), "the command does not start")
            if way == "message":
                server.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                             "params": {"requestId": 2}}, Mcp_Session_Id=session)
            else:
                server.send(None, method="DELETE", Mcp_Session_Id=session)
            expect_gone(token, 20)
            thread.join(20)
            expect(not [m for m in answers[0].messages if "id" in m], f"{answers[0].messages}")


@suite.case
def a_session_takes_its_sandbox_with_it():
    with host() as server:
        session = server.initialize()
        server.in_session(session, "tools/call", {"name": "sandbox_ls", "arguments": {}})
        about = server.in_session(session, "resources/read", {"uri": "nutshell://sandbox"}).message
        made = json.loads(about["result"]["contents"][0]["text"])["id"]
        place = f"/v1/sandboxes/{made}"
        expect_equal(server.daemon.call("GET", place, token="alice").status, 200, "a sandbox")
        expect_equal(server.daemon.call("GET", place, token="bob").status, 404, "for bob")
        server.send(None, method="DELETE", Mcp_Session_Id=session)
        expect_equal(server.daemon.call("GET", place, token="alice").status, 404, "after the session")


@suite.case
def many_streams_at_once_leave_others_served():
    with host() as server:
        server.tool("ls")
        slow = [threading.Thread(target=lambda: server.tool("bash", command="sleep 8"))
                for _ in range(20)]
        for thread in slow:
            thread.start()
        expect_equal(server.stateless("tools/list").status, 200, "tools/list")
        expect(all(thread.is_alive() for thread in slow), "it waits for others")
        for thread in slow:
            thread.join()


if __name__ == "__main__":
    sys.exit(suite.run())
