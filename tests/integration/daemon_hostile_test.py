#!/usr/bin/env python3
"""Hostile requests that the daemon has to refuse and survive."""
import contextlib
import http.client
import os
import re
import resource
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from daemon_client import DAEMON, TOKENS, call_over, daemon
from support import Suite, expect, expect_equal, wait_until

suite = Suite()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def over_tcp(port, *arguments, **named):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        return call_over(connection, *arguments, **named)
    finally:
        connection.close()


@suite.case
def every_route_wants_a_token_over_tcp():
    port = free_port()
    with daemon(port=port) as one:
        document = one.call("GET", "/v1/openapi.json").json()
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                target = path.replace("{", "").replace("}", "")
                answer = over_tcp(port, method.upper(), target)
                wanted = 401 if operation.get("security") != [] else answer.status
                expect_equal(answer.status, wanted, f"{method} {path}")
        expect_equal(over_tcp(port, "GET", "/v1/none").status, 401, "unknown route")
        expect_equal(over_tcp(port, "GET", "/v1/sandboxes", token="alice").status, 200, "token")


@suite.case
def wrong_tokens_are_refused_and_then_barred():
    port = free_port()
    with daemon(port=port) as one:
        right = TOKENS["alice"]
        wrong = [right[:-1], right + "x", right.upper(), " " + right, ""]
        for token in wrong:
            answer = over_tcp(port, "GET", "/v1/sandboxes",
                              headers={"Authorization": "Bearer " + token})
            expect_equal(answer.status, 401, repr(token))
            expect_equal(answer.headers["WWW-Authenticate"], "Bearer", "challenge")
        for name, value in (("Authorization", "Basic YTpi"), ("Cookie", "token=" + right),
                            ("X-Forwarded-User", "root"), ("X-Api-Key", right)):
            expect_equal(over_tcp(port, "GET", "/v1/sandboxes", headers={name: value}).status, 401,
                         name)
        expect_equal(over_tcp(port, "GET", "/v1/sandboxes?token=" + right).status, 401, "query")
        for _ in range(10):
            last = over_tcp(port, "GET", "/v1/sandboxes", token="guess")
        expect_equal(last.status, 429, "after many guesses")
        expect_equal(last.headers["Retry-After"], "60", "Retry-After")
        for token in ("alice", "bob"):  # whom others who guess cannot bar: they may share a proxy
            answer = over_tcp(port, "GET", "/v1/sandboxes", token=token)
            expect_equal(answer.status, 200, f"{token}'s token after others' guesses")


@suite.case
def pages_of_others_may_not_call():
    port = free_port()
    with daemon(port=port) as one:
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"},
                        {"Host": "evil.example"}, {"Host": "localhost.evil.example:80"},
                        {"Host": "[::1].evil.example"}, {"Host": "[::1]evil.example:80"},
                        {"Host": "localhost:80.evil.example"}, {"Host": "[evil.example]"}):
            answer = over_tcp(port, "GET", "/v1/sandboxes", token="alice", headers=headers)
            expect_equal(answer.status, 403, str(headers))
            expect(answer.headers["Access-Control-Allow-Origin"] is None, "CORS")


@suite.case
def open_doors_are_refused_at_the_start():
    token = f'[[tokens]]\nname = "a"\ntenant = "a"\nsha256 = "{"0" * 64}"\n'
    for text, word in (("[tcp]\nport = 7070\n", "anyone"),
                       (f'[tcp]\nport = 7070\naddress = "0.0.0.0"\n{token}', "in the clear"),
                       ("[tcp]\nprot = 7070\n", "did you mean 'tcp.port'"),
                       ("[tcp]\nport = \"7070\"\n", "wrong kind"),
                       ("[[tokens]]\nname = \"x\"\ntenant = \"t\"\nsha256 = \"plain\"\n", "SHA-256"),
                       ("[[pools]]\nname = \"x\"\nmin_idel = 1\n", "min_idle"),
                       ("broken", "1")):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([DAEMON, "--config", file.name, "--show-config"],
                                  capture_output=True, text=True, timeout=30)
            expect_equal(done.returncode, 1, text)
            expect(word in done.stderr, f"{text!r}: {done.stderr}")


@suite.case
def broken_json_is_refused():
    with daemon() as one:
        bodies = ["[" * 1_000_000, "{", "{} {}", "NaN", '{"ttl_ms": NaN}', '{"ttl_ms": 1e999}',
                  '{"ttl_ms": -1}', '{"ttl_ms": ' + "9" * 5000 + "}", '{"ttl_ms": 1.5}',
                  '{"ttl_ms": 1, "ttl_ms": 2}', '{"labels": {"a": "1", "a": "2"}}',
                  b'{"image": "\xff\xfe"}', '{"image": "\\ud800"}', b"\xef\xbb\xbf{}",
                  '{"limits": {"memory_byte": 1}}', '{"imag": "x"}', '{"labels": ["a"]}',
                  '{"labels": {"a": 1}}', '{"environment": {"A=B": "c"}}', "[]", '"x"', "null",
                  '{"limits": {"cpus": -1}}', '{"limits": {"processes": 99999999999}}',
                  '{"require": ["nothing-there"]}', '{"workspace_mode": "other"}']
        for body in bodies:
            began = time.monotonic()
            answer = one.call("POST", "/v1/sandboxes", body)
            expect(answer.status in (400, 403, 413, 422), f"{body[:60]!r}: {answer.status}")
            expect_equal(answer.headers["Content-Type"], "application/problem+json", "type")
            expect(time.monotonic() - began < 20, f"{body[:60]!r} took long")
        hint = one.call("POST", "/v1/sandboxes", {"idle_timeout_m": 5}).json()["detail"]
        expect("did you mean 'idle_timeout_ms'" in hint, hint)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(one.socket)
            client.sendall(b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\n"
                           b"Content-Length: 20000000\r\n\r\n")
            expect(b" 413 " in client.recv(4096), "a body of 20 MB is not refused at once")
        expect_equal(one.call("GET", "/healthz").status, 200, "health")


@suite.case
def strange_ids_are_not_found():
    with daemon() as one:
        for name in ("a%2Fb", "%20", "-rf", "$(id)", "x" * 5000, "*", "%0d%0aX:%20y", "'", "ABC",
                     "%ff%fe", "a;b", "%25s%25n"):
            for method, what in (("GET", ""), ("DELETE", ""), ("POST", "/pause")):
                answer = one.call(method, f"/v1/sandboxes/{name}{what}")
                expect(answer.status in (400, 404), f"{method} {name[:20]}: {answer.status}")
        for name in ("..", "%2e%2e", "%00"):
            expect_equal(one.call("GET", f"/v1/sandboxes/{name}").status, 400, name)


@suite.case
def a_thousand_slow_clients():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    with daemon() as one:
        sandbox = one.make()
        slow = []
        for number in range(1000):
            client = socket.socket(socket.AF_UNIX)
            client.connect(one.socket)
            client.sendall(b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"
                           if number % 2 else b"GET /healthz HTTP/1.1\r\nHo")
            slow.append(client)
        began = time.monotonic()
        expect_equal(one.execute(sandbox, "echo", "served")["stdout"], "served\n", "output")
        expect(time.monotonic() - began < 20, "others wait")
        threads = len(os.listdir(f"/proc/{one.process.pid}/task"))
        expect(threads < 64, f"{threads} threads")
        for client in slow:
            client.close()


def tcp_client(port):
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def head_of(method, target, token=None, *lines):
    proof = [f"Authorization: Bearer {TOKENS[token]}"] if token else []
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: localhost", *proof, *lines, "",
                        ""]).encode()


def memory_of(one):
    with open(f"/proc/{one.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


@suite.case
def bodies_that_nobody_wants_cost_nothing():
    """The daemon never reads the body of a stranger, and no route keeps a body that it does not take."""
    port = free_port()
    with daemon(port=port) as one:
        piece = b"x" * (2 << 20)
        unwanted = [(method, target, None) for target in ("/v1/sandboxes", "/v1/none", "/mcp")
                    for method in ("GET", "POST", "DELETE")]
        unwanted += [("GET", target, "alice") for target in ("/metrics", "/v1/sandboxes")]
        unwanted += [("GET", target, None) for target in ("/healthz", "/readyz")] * 10
        before = memory_of(one)
        clients = []
        for line in ("Content-Length: 16777216", "Transfer-Encoding: chunked"):
            for method, target, token in unwanted:
                client = tcp_client(port)
                clients.append(client)
                with contextlib.suppress(OSError):  # it may have been answered and ended already
                    client.sendall(head_of(method, target, token, line) + b"fffffff\r\n" + piece)
        grown = memory_of(one) - before
        for client in clients:
            client.close()
        expect(grown < 24 << 20, f"{len(clients)} unfinished bodies cost {grown >> 20} MiB")
        answer = over_tcp(port, "GET", "/healthz", b"y" * 100)
        expect_equal(answer.status, 200, "health with a body")


@suite.case
def bodies_of_one_tenant_are_bounded_together():
    port = free_port()
    with daemon("[limits]\nbody_bytes = 16777216\nbody_bytes_of_tenant = 4194304\n",
                port) as one:
        clients = []
        for _ in range(12):  # 12 MiB in all
            client = tcp_client(port)
            clients.append(client)
            with contextlib.suppress(OSError):
                client.sendall(head_of("POST", "/v1/sandboxes/x/exec", "alice",
                                       "Content-Length: 1048577"))
                client.sendall(b"x" * (1 << 20))
        expect(wait_until(lambda: len(select.select(clients, [], [], 0)[0]) >= 7, 20),
               "bodies beyond the bound are not refused")
        answers = [client.recv(200) for client in select.select(clients, [], [], 0)[0]]
        expect(all(b" 503 " in answer for answer in answers), f"answers: {answers[0]}")
        expect_equal(over_tcp(port, "POST", "/v1/sandboxes/x/exec", {"argv": ["true"]},
                              token="bob").status, 404, "bob")
        for client in clients:
            client.close()


@suite.case
def followers_of_one_tenant_leave_room_for_others():
    port = free_port()
    with daemon("[limits]\nworkers = 16\n", port) as one:
        sandbox = one.make(token="alice")
        started = one.call("POST", f"/v1/sandboxes/{sandbox}/exec",
                           {"argv": ["sleep", "100"], "detach": True}, token="alice").json()
        target = f"/v1/sandboxes/{sandbox}/exec/{started['exec_id']}"
        followers = []
        for number in range(60):
            client = tcp_client(port)
            client.sendall(head_of("GET", target, "alice", "Accept: application/x-ndjson"))
            followers.append(client)
        expect(wait_until(lambda: len(select.select(followers, [], [], 0)[0]) == 4, 20),
               "a quarter of 16 workers follow")
        for token, ask in (("bob", lambda: over_tcp(port, "GET", "/v1/sandboxes", token="bob")),
                           ("the owner", lambda: one.call("GET", "/v1/sandboxes"))):
            times = []
            for _ in range(20):
                began = time.monotonic()
                expect_equal(ask().status, 200, token)
                times.append(time.monotonic() - began)
            expect(max(times) < 10, f"{token} waits {max(times):.2f} s")
        for client in followers:
            client.close()
        began = time.monotonic()
        expect_equal(over_tcp(port, "GET", "/v1/sandboxes", token="alice").status, 200, "alice")
        expect(time.monotonic() - began < 10, "workers stay with followers that hung up")


@suite.case
def idle_strangers_close_no_door():
    port = free_port()
    with daemon("[limits]\nconnections = 128\nconnections_of_address = 100\n", port) as one:
        idle = [tcp_client(port) for _ in range(300)]
        expect_equal(one.call("GET", "/v1/sandboxes").status, 200, "the owner's socket")
        for _ in range(5):
            expect_equal(over_tcp(port, "GET", "/v1/sandboxes", token="alice").status, 200, "alice")
        for client in idle:
            client.close()


@suite.case
def metrics_name_only_the_callers_pools():
    pools = "".join(f'[[pools]]\nname = "{name}"\nmax_total = 1\nmax_idle = 0\n{tenants}'
                    for name, tenants in (("for-all", ""), ("of-alice", 'tenants = ["alice"]\n'),
                                          ("of-bob", 'tenants = ["bob"]\n')))
    with daemon(pools) as one:
        for token, seen in (("alice", {"for-all", "of-alice"}), ("bob", {"for-all", "of-bob"}),
                            (None, {"for-all", "of-alice", "of-bob"})):
            text = one.call("GET", "/metrics", token=token).body.decode()
            expect_equal(set(re.findall(r'pool="([^"]*)"', text)), seen, str(token))


@suite.case
def half_sent_and_half_closed_requests():
    with daemon() as one:
        request = b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
        for cut in range(0, len(request), 7):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(one.socket)
                client.sendall(request[:cut])
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(one.socket)
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            client.shutdown(socket.SHUT_WR)
            expect(b"200 OK" in client.recv(4096), "no answer")
        expect_equal(one.call("GET", "/v1/sandboxes").json()["sandboxes"], [], "sandboxes")


@suite.case
def a_private_daemon_dies_with_its_parent():
    with tempfile.TemporaryDirectory(prefix="nutshell-private-") as directory:
        environment = {**os.environ, "NUTSHELL_RUNTIME_DIR": directory}
        os.chmod(directory, 0o700)
        parent = subprocess.Popen(["/bin/sh", "-c", f'"{DAEMON}" --private & sleep 600'],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                  env=environment)
        path = parent.stdout.readline().strip()
        expect(Path(path).exists(), f"no socket at {path!r}")
        from daemon_client import UnixConnection
        connection = UnixConnection(path)
        made = call_over(connection, "POST", "/v1/sandboxes", {})
        expect_equal(made.status, 201, "create")
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + 30
        while os.listdir(directory):
            expect(time.monotonic() < deadline, f"left: {os.listdir(directory)}")
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(suite.run())
