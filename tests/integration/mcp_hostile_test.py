#!/usr/bin/env python3
"""The MCP server and clients that mean it harm, or are broken."""
import json
import os
import sys

from mcp_client import client
from support import Suite, expect, expect_equal, memory_of, repetitions

suite = Suite()


@suite.case
def malformed_messages_get_an_error_and_the_server_lives():
    wrong = [(b"{", -32700), (b"nonsense", -32700), (b"\xff\xfe", -32700), (b"42", -32600),
             (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
             (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}', -32700),
             (b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}', -32700),
             (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32700),
             (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', -32700),
             (b"[" * 100000, -32700), (b'{"a":' * 100000, -32700), (b"[]", -32600),
             (b"[" + b"0," * 300000 + b"0]", -32700),
             (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', -32700),
             (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', -32700),
             (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
             (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
             (b'{"jsonrpc":"1.0","id":3,"method":"ping"}', -32600),
             (b'{"id":3,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":3}', -32600),
             (b'{"jsonrpc":"2.0","id":3,"method":7}', -32600),
             (b'[{"jsonrpc":"2.0","id":3,"method":"ping"}]', -32600),
             (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}', -32602),
             (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":7}}', -32602)]
    with client() as server:
        for data, code in wrong:
            server.raw(data + b"\n")
            answer = server.next()
            found = answer.get("error", {}).get("code")
            # A number that no double holds is refused as an id, if it is not refused as a number.
            expect(found == code or (b"999" in data and found == -32600), f"{data[:60]!r}: {answer}")
        for silent in (b"", b"   ", b'{"jsonrpc":"2.0","method":"notifications/none"}',
                       b'{"jsonrpc":"2.0","id":"nobody-asked","result":{}}',
                       b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}'):
            server.raw(silent + b"\n")
        server.ask("ping")
        expect_equal(server.notifications, [], "answers to what needs none")


@suite.case
def message_of_a_gigabyte_is_skipped_in_bounded_memory():
    size = repetitions(64, 1024) << 20
    with client() as server:
        server.ask("ping")
        piece = b"x" * (1 << 20)
        for _ in range(size >> 20):
            server.raw(piece)
        server.raw(b"\n")
        expect_equal(server.next()["error"]["code"], -32600, "code")
        expect(memory_of(server.process.pid, "VmHWM") < 300 << 20,
               f"{memory_of(server.process.pid, 'VmHWM') >> 20} MiB at most")
        server.ask("ping")


@suite.case
def pipelined_messages_are_all_answered():
    with client() as server:
        server.tool("ls")
        wanted = set()
        lines = b""
        for index in range(300):
            identifier = f"r{index}"
            wanted.add(identifier)
            params = {"name": "sandbox_read", "arguments": {"path": "hello.txt"}}
            method = "tools/call" if index % 3 else "ping"
            lines += json.dumps({"jsonrpc": "2.0", "id": identifier, "method": method,
                                 "params": params if index % 3 else {}}).encode() + b"\n"
        for begin in range(0, len(lines), 777):  # in pieces that end anywhere
            server.raw(lines[begin:begin + 777])
        while wanted:
            message = server.next()
            if "id" in message:
                expect("result" in message, f"{message}")
                wanted.remove(message["id"])


@suite.case
def batches_are_answered_where_they_exist():
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "ping"},
             {"jsonrpc": "2.0", "method": "notifications/none"},
             {"jsonrpc": "2.0", "id": 2, "method": "none"}, 5]
    with client(handshake="2025-03-26") as server:
        server.raw(json.dumps(batch).encode() + b"\n")
        answers = server.next()
        expect_equal(sorted(str(a["id"]) for a in answers), ["1", "2", "None"], "ids")
        server.raw(json.dumps(batch[:1] * 65).encode() + b"\n")
        expect_equal(server.next()["error"]["code"], -32600, "a batch bomb")


@suite.case
def messages_out_of_order_get_an_error():
    with client(handshake=None) as server:
        expect_equal(server.error("tools/list"), -32602, "before the handshake")
        expect_equal(server.error("tools/call", {"name": "sandbox_ls"}), -32602, "call")
        server.tell("notifications/initialized")
        server.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        expect_equal(server.error("initialize", {"protocolVersion": "2025-06-18"}), -32600, "twice")
        expect_equal(server.error("server/discover"), -32601, "of the other era")


@suite.case
def arguments_that_are_wrong_are_a_tool_error():
    with client() as server:
        for arguments in ({"path": 5}, {"path": "a", "extra": 1}, {}, {"path": "a\x00b"},
                          {"path": "hello.txt", "offset": -1}, {"path": "hello.txt", "limit": 10 ** 30}):
            result = server.tool("read", **arguments)
            expect(result["isError"], f"{arguments}: {result}")
            expect("invalid_argument" in result["content"][0]["text"], f"{arguments}: {result}")
        for path in ("/etc/shadow", "/proc/1/environ"):
            expect(server.tool("read", path=path)["isError"], f"{path} can be read")


@suite.case
def output_of_a_command_never_reaches_the_protocol():
    forged = '{"jsonrpc":"2.0","id":1,"result":{"forged":true}}'
    with client() as server:
        text = server.text("bash", command=f"printf '\\n%s\\n\\n' '{forged}'; echo to-stderr >&2; "
                                           "printf '\\033[2J\\000'", raw=True)
        expect("forged" in text, "as data")
        server.ask("ping")
        expect(not [m for m in server.notifications if "forged" in str(m.get("result"))], "a forged answer")
        expect(b"forged" not in server.errors, "on the server's standard error")


@suite.case
def memory_stays_flat_over_many_calls():
    with client() as server:
        for _ in range(200):
            server.text("read", path="hello.txt")
        before = memory_of(server.process.pid)
        descriptors = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        for _ in range(repetitions(500, 10000)):
            server.text("read", path="hello.txt")
        after = memory_of(server.process.pid)
        expect(after - before < 2 << 20, f"{before} bytes became {after}")
        expect(len(os.listdir(f"/proc/{server.process.pid}/fd")) <= descriptors + 1, "descriptors")


if __name__ == "__main__":
    sys.exit(suite.run())
