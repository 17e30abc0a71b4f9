#!/usr/bin/env python3
"""Ports of sandboxes at the daemon: URLs with a token, for HTTP and WebSocket."""
import base64
import hashlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from daemon_client import TOKENS, UnixConnection, call_over, daemon, free_port
from ports_fixture import SERVER, start_words
from support import NUTSHELL, Suite, expect, expect_equal, repetitions, wait_until

suite = Suite()
CSP = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"


def start_server(one, made, port=8080, token=None):
    told = one.execute(made, *start_words(port), token=token, stdin=SERVER)
    expect_equal(told["exit_code"], 0, f"the server in the sandbox: {told}")


def opened(one, made, port=8080, token=None):
    """The path of the port's URL."""
    answer = one.call("POST", f"/v1/sandboxes/{made}/ports", {"port": port}, token)
    expect_equal(answer.status, 201, f"open: {answer.body[:300]}")
    return answer.json()["path"]


def listed(one, made, token=None):
    return one.call("GET", f"/v1/sandboxes/{made}/ports", token=token).json()["ports"]


def records(one, made, token=None):
    told = one.call("GET", f"/v1/audit?sandbox={made}&limit=1000", token=token).json()["records"]
    return [(record["action"], record.get("outcome"), record) for record in told]


def over_tcp(port, *arguments, **named):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        return call_over(connection, *arguments, **named)
    finally:
        connection.close()


@suite.case
def a_url_leads_to_the_server():
    with daemon() as one:
        made = one.make()
        start_server(one, made)
        path = opened(one, made)
        expect(path.startswith(f"/v1/sandboxes/{made}/ports/8080/") and path.endswith("/"), path)
        told = one.call("GET", path + "a%20b/c?x=1&y=a+b&z&%2F=%26").json()
        expect_equal((told["method"], told["path"]), ("GET", "/a%20b/c?x=1&y=a%20b&z&%2F=%26"), "request")
        expect_equal(told["headers"]["Host"], "localhost:8080", "Host")
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            told = one.call(method, path, b"x" * 1000).json()
            expect_equal((told["method"], told["length"]), (method, 1000), method)
        sent = os.urandom(5 << 20)
        told = one.call("POST", path, sent).json()
        expect_equal(told["sha256"], hashlib.sha256(sent).hexdigest(), "5 MiB")
        connection = UnixConnection(one.socket)
        connection.request("POST", path, iter([b"ab", b"cd"]), {}, encode_chunked=True)
        expect_equal(json.loads(connection.getresponse().read())["length"], 4, "a body of unknown length")
        connection.close()
        expect_equal(one.call("GET", path + "large").body, bytes(range(256)) * (8 << 12), "8 MiB")
        head = one.call("HEAD", path + "large")
        expect_equal((head.status, head.body), (200, b""), "HEAD")
        missing = one.call("GET", path + "missing")
        expect_equal((missing.status, missing.body), (404, b"no such page"), "the server's own refusal")
        expect_equal(one.call("GET", path + "nothing").status, 204, "no content")
        into = one.call("GET", path[:-1] + "?a=b")
        expect_equal((into.status, into.headers["Location"]), (307, path + "?a=b"), "without its slash")
        with ThreadPoolExecutor(16) as many:
            told = list(many.map(lambda i: one.call("GET", path + str(i)).status, range(repetitions(40, 1000))))
        expect_equal(set(told), {200}, "many at once")


@suite.case
def the_token_is_all_that_a_client_needs():
    port = free_port()
    with daemon(port=port) as one:
        made = one.make("alice")
        start_server(one, made, token="alice")
        path = opened(one, made, token="alice")
        expect_equal(over_tcp(port, "GET", path).status, 200, "without the daemon's token")
        expect_equal(over_tcp(port, "POST", path, b"x" * 100_000).json()["length"], 100_000, "a body")
        # No page of another host name can find it out; one that knows it may use it.
        expect_equal(over_tcp(port, "GET", path, headers={"Host": "preview.example"}).status, 200, "host name")
        token = path.split("/")[6]
        wrong = [path.replace(token, token[:-1]), path.replace(token, token + "0"), path.replace(token, "x"),
                 path.replace(token, token.upper() + "g"), path.replace("8080", "8081"), path.replace(made, made[:8]),
                 path.replace("8080", "08080x"), path.replace("8080", "70000")]
        answers = {over_tcp(port, method, one_path, token=name).status
                   for one_path in wrong for method in ("GET", "POST") for name in (None, "alice", "bob")}
        expect_equal(answers, {404}, "wrong URLs")
        refused = {over_tcp(port, "GET", one_path).body for one_path in wrong[:6]}
        expect_equal(len(refused), 1, f"answers to wrong URLs: {refused}")
        expect_equal(over_tcp(port, "GET", path).status, 200, "the right one afterwards")


@suite.case
def ports_are_explicit_listed_recorded_and_gone_with_the_sandbox():
    with daemon() as one:
        made = one.make("alice")
        start_server(one, made, token="alice")
        expect_equal(listed(one, made, "alice"), [], "ports before")
        path = opened(one, made, token="alice")
        expect_equal(opened(one, made, token="alice"), path, "opened again")
        other = opened(one, made, 9000, token="alice")
        for _ in range(3):
            one.call("GET", path)
        expect_equal([(port["port"], port["path"], port["requests"]) for port in listed(one, made, "alice")],
                     [(8080, path, 3), (9000, other, 0)], "list")
        place = f"/v1/sandboxes/{made}/ports"
        for method, target, body in (("POST", place, {"port": 8080}), ("GET", place, None),
                                     ("DELETE", place + "/8080", None)):
            expect_equal(one.call(method, target, body, "bob").status, 404, f"{method} of another tenant")
        expect_equal(one.call("DELETE", place + "/9000", token="alice").status, 204, "close")
        expect_equal(one.call("DELETE", place + "/9000", token="alice").status, 404, "close again")
        expect_equal(one.call("GET", other).status, 404, "a closed port")
        for word in ("0", "x", "65536", "-1"):
            expect_equal(one.call("DELETE", f"{place}/{word}", token="alice").status, 400, word)
        for port in (0, 65536, -1, "8080", None):
            expect_equal(one.call("POST", place, {"port": port}, "alice").status, 400, str(port))
        one.call("DELETE", f"/v1/sandboxes/{made}", token="alice")
        expect_equal(one.call("GET", path).status, 404, "after its end")
        told = [(action, record.get("detail", "")) for action, outcome, record in records(one, made, "alice")
                if outcome == "ok"]
        expect_equal([action for action, _ in told if "port" in action],
                     ["open port", "open port", "open port", "close port", "close port"], "record")
        expect_equal([detail for action, detail in told if action == "close port"],
                     ["port 9000: 0 requests", "port 8080: 3 requests"], "record of the end")
        expect(path.split("/")[6] not in json.dumps(records(one, made, "alice")), "the token is in the record")
        expect(path.split("/")[6] not in (one.directory / "log").read_text(), "the token is in the log")


@suite.case
def at_most_thirty_two_ports_are_open():
    with daemon() as one:
        made = one.make()
        for port in range(1, 33):
            opened(one, made, port)
        refused = one.call("POST", f"/v1/sandboxes/{made}/ports", {"port": 33})
        expect_equal((refused.status, refused.json()["code"]), (429, "resource_exhausted"), "one more")


@suite.case
def a_websocket_is_carried():
    with daemon() as one:
        made = one.make()
        start_server(one, made)
        path = opened(one, made)
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(30)
        client.connect(one.socket)
        key = base64.b64encode(os.urandom(16)).decode()
        client.sendall((f"GET {path}live HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        f"Origin: null\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
        reader = client.makefile("rb")
        expect_equal(reader.readline(), b"HTTP/1.1 101 Switching Protocols\r\n", "status")
        head = b"".join(iter(reader.readline, b"\r\n"))
        wanted = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        expect(base64.b64encode(wanted) in head, f"accept: {head}")
        for text in (b"one", b"two", b"x" * 100):
            client.sendall(bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text)
            size = reader.read(2)[1]
            expect_equal(reader.read(size), b"you said " + text, "message")
        client.sendall(b"\x88\x80\0\0\0\0")
        expect_equal(reader.read(1), b"", "the end")
        client.close()


@suite.case
def events_come_as_they_are_written_and_end_with_the_client():
    with daemon() as one:
        made = one.make()
        start_server(one, made)
        path = opened(one, made)
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(30)
        client.connect(one.socket)
        client.sendall(f"GET {path}events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        began, heard = time.monotonic(), b""
        while b"data: 3" not in heard:
            heard += client.recv(4096)
        expect(time.monotonic() - began < 20, "events come late")  # all of them take 50 seconds
        client.close()
        hung_up = lambda: one.execute(made, "test", "-e", "/workspace/hung-up")["exit_code"] == 0
        expect(wait_until(hung_up, 30), "the server was not told that its client is gone")


@suite.case
def credentials_and_cookies_pass_in_neither_direction():
    with daemon() as one:
        made = one.make("alice")
        start_server(one, made, token="alice")
        path = opened(one, made, token="alice")
        sent = {"Cookie": "session=1", "Referer": "http://localhost" + path, "X-Own": "kept", "Accept": "text/html",
                "Origin": "https://elsewhere.example", "X-Forwarded-For": "10.0.0.1", "Connection": "X-Hop",
                "X-Hop": "1"}
        got = one.call("GET", path, token="alice", headers=sent).json()["headers"]
        expect_equal({name.lower() for name in got} - {"accept-encoding"},
                     {"host", "x-own", "accept", "origin", "connection"}, "headers that reach the server")
        expect_equal(got["Origin"], "http://localhost:8080", "Origin")
        expect(TOKENS["alice"] not in json.dumps(got), "the daemon's token")
        answer = one.call("GET", path + "cookie")
        expect_equal((answer.headers["Set-Cookie"], answer.headers["X-Own"]), (None, "kept"), "headers of the answer")
        expect_equal(answer.headers["Content-Security-Policy"], CSP, "a page has an origin of its own")
        expect_equal(answer.headers["Referrer-Policy"], "no-referrer", "the URL stays secret")
        away = one.call("GET", path + "away")
        expect_equal((away.status, away.headers["Location"]), (302, path + "login?next=1"), "Location")
        asked = one.call("OPTIONS", path, headers={"Origin": "null", "Access-Control-Request-Method": "PUT",
                                                   "Access-Control-Request-Headers": "x-own"})
        expect_equal((asked.status, asked.headers["Access-Control-Allow-Headers"]), (204, "x-own"), "preflight")
        expect_equal(one.call("OPTIONS", path).json()["method"], "OPTIONS", "an OPTIONS of its own")


@suite.case
def a_hostile_server_gets_no_further():
    with daemon() as one:
        made = one.make()
        start_server(one, made)
        path = opened(one, made)
        for place in ("garbage", "two-lengths", "huge-head", "unasked", "empty", "forged"):
            answer = one.call("GET", path + place)
            expect(answer.status == 502 or (place == "forged" and answer.status in (500, 502)),
                   f"{place}: {answer.status} {answer.body[:200]}")
            expect(answer.headers["Set-Cookie"] is None, f"{place}: a forged header")
            expect_equal(one.call("GET", path).status, 200, f"after {place}")
        nobody = one.call("GET", opened(one, made, 9))
        expect_equal(nobody.status, 502, "no server")
        expect("no server listens on port 9" in nobody.json()["detail"], nobody.body)


@suite.case
def a_paused_or_ended_sandbox_is_told():
    with daemon() as one:
        made = one.make()
        start_server(one, made)
        path = opened(one, made)
        one.call("POST", f"/v1/sandboxes/{made}/pause")
        expect(one.call("GET", path).status in (409, 502), "paused")
        one.call("POST", f"/v1/sandboxes/{made}/resume")
        expect_equal(one.call("GET", path).status, 200, "resumed")


@suite.case
def the_command_line_goes_through_the_daemon():
    with daemon() as one:
        made = one.make()
        start_server(one, made)
        environment = {**one.environment(), "NUTSHELL_DAEMON": one.socket}

        def nutshell(*words):
            return subprocess.run([NUTSHELL, *words], env=environment, capture_output=True, text=True, timeout=60)
        process = subprocess.Popen([NUTSHELL, "forward", made, "8080:0", "--json"], env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            port = json.loads(process.stdout.readline())["local"]
            for _ in range(2):
                expect_equal(over_tcp(port, "GET", "/").status, 200, "through it")
        finally:
            process.terminate()
            expect_equal(process.wait(30), 0, "end")
            process.stdout.close()
            process.stderr.close()
        asked = [record for action, _, record in records(one, made) if action == "connect to port"]
        expect_equal([record["detail"] for record in asked], ['{"port":"8080"}'] * 2, "record")
        path = nutshell("forward", made, "8080", "--url").stdout.strip()
        expect_equal(one.call("GET", path).status, 200, f"URL: {path}")
        expect_equal(nutshell("forward", made, "--list").stdout.strip(), path, "list")
        expect_equal(nutshell("forward", made, "8080", "--close").returncode, 0, "close")
        expect_equal(nutshell("forward", made, "--list").stdout, "", "list afterwards")
        refused = nutshell("forward", made, "8080", "--close")
        expect_equal((refused.returncode, "is not open" in refused.stderr), (125, True), refused.stderr)


if __name__ == "__main__":
    sys.exit(suite.run())
