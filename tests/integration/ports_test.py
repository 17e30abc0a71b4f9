#!/usr/bin/env python3
"""`nutshell forward`: servers in a sandbox, reached at ports of this machine."""
import contextlib
import http.client
import json
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from ports_fixture import SERVER, start_words
from support import (Suite, call, create, destroy, end_of, expect, expect_equal, expect_refusal, read_line,
                     repetitions, sandbox, start, wait_until)

suite = Suite()


def start_server(made, port=8080):
    ended = call("exec", "-i", made, "--", *start_words(port), given=SERVER.encode())
    expect_equal(ended.status, 0, f"the server in the sandbox: {ended!r}")


@contextlib.contextmanager
def forwarded(made, *ports):
    """The local ports, and the process."""
    process = start("forward", made, *ports, "--json")
    try:
        yield [json.loads(read_line(process))["local"] for _ in ports], process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        end_of(process)
        process.stdout.close()
        process.stderr.close()


def get(port, path, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@suite.case
def a_server_in_a_sandbox_is_reached():
    with sandbox() as made:
        start_server(made)
        with forwarded(made, "8080:0") as ([port], process):
            status, body = get(port, "/path?a=b")
            expect_equal((status, json.loads(body)["path"]), (200, "/path?a=b"), "answer")
            expect_equal(get(port, "/large")[1], bytes(range(256)) * (8 << 12), "8 MiB out")
            sent = bytes(range(256)) * (8 << 12)
            expect_equal(json.loads(get(port, "/", "POST", sent)[1])["length"], len(sent), "8 MiB in")
            with ThreadPoolExecutor(16) as many:
                told = list(many.map(lambda i: get(port, f"/{i}")[0], range(repetitions(40, 1000))))
            expect_equal(set(told), {200}, "many at once")
            process.send_signal(signal.SIGINT)
            expect_equal(end_of(process), 0, "Ctrl-C")
        with socket.socket() as probe:
            expect(probe.connect_ex(("127.0.0.1", port)) != 0, "the port is still open")
        expect_equal(call("exec", made, "--", "true").status, 0, "the sandbox afterwards")


@suite.case
def several_ports_are_forwarded_at_once():
    with sandbox() as made:
        start_server(made, 8080)
        start_server(made, 8081)
        with forwarded(made, "8080:0", "8081:0") as (ports, _):
            for port in ports:
                expect_equal(get(port, "/missing"), (404, b"no such page"), f"port {port}")


@suite.case
def a_port_without_a_server_is_refused_and_told():
    with sandbox() as made, forwarded(made, "9:0") as ([port], process):
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port), 30) as client, \
                    contextlib.suppress(ConnectionResetError):
                expect_equal(client.recv(1), b"", "bytes of nobody")
        process.send_signal(signal.SIGTERM)
        end_of(process)
        told = process.stderr.read().decode()
        expect_equal(told.count("no server listens on port 9 of the sandbox"), 1, f"told: {told}")
        expect("start one there" in told, told)


@suite.case
def a_server_that_starts_later_is_reached():
    with sandbox() as made, forwarded(made, "8080:0") as ([port], _):
        with contextlib.suppress(OSError, http.client.HTTPException):
            get(port, "/")
        start_server(made)
        expect_equal(get(port, "/")[0], 200, "status")


@suite.case
def half_closed_connections_still_receive():
    with sandbox() as made:
        script = ("import socket; s = socket.create_server(('::1', 7000), family=socket.AF_INET6);"
                  "open('/workspace/ready', 'w').close(); c = s.accept()[0]; n = 0\n"
                  "while part := c.recv(65536): n += len(part)\n"
                  "c.sendall(str(n).encode())")
        server = start("exec", made, "--", "/usr/bin/python3", "-c", script)
        expect(wait_until(lambda: call("exec", made, "--", "test", "-e", "ready").status == 0), "no server")
        with forwarded(made, "7000:0") as ([port], _), socket.create_connection(("127.0.0.1", port), 30) as client:
            client.sendall(b"x" * (3 << 20))
            client.shutdown(socket.SHUT_WR)
            expect_equal(client.recv(100), str(3 << 20).encode(), "what the server counted")
            expect_equal(client.recv(100), b"", "the end")
        expect_equal(end_of(server), 0, "the server")


@suite.case
def a_flood_through_one_connection_does_not_stop_others():
    with sandbox() as made:
        start_server(made)
        with forwarded(made, "8080:0") as ([port], _):
            deaf = socket.create_connection(("127.0.0.1", port), 30)
            deaf.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n" * 20)  # and reads nothing of 160 MiB
            try:
                for _ in range(20):
                    expect_equal(get(port, "/")[0], 200, "beside a flood")
            finally:
                deaf.close()


@suite.case
def it_ends_with_the_sandbox():
    made = create()
    start_server(made)
    with forwarded(made, "8080:0") as ([port], process):
        expect_equal(get(port, "/")[0], 200, "status")  # the line with the port comes before it has connected
        destroy(made)
        expect_equal(end_of(process), 0, "status")
        told = process.stderr.read().decode()
        expect("has ended, and its ports with it" in told, told)


@suite.case
def a_paused_sandbox_is_refused():
    with sandbox() as made:
        call("pause", made)
        expect_refusal(call("forward", made, "8080"), "paused", "nutshell resume")
        call("resume", made)


@suite.case
def a_local_port_that_is_taken_is_refused():
    with sandbox() as made, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        expect_refusal(call("forward", made, f"8080:{port}"), "8080:0")


@suite.case
def wrong_words_are_refused():
    with sandbox() as made:
        for word in ("x", "0", "70000", "80:x", "80:", ":80", "-1", "80:80:80"):
            ended = call("forward", made, "--", word) if word.startswith("-") else call("forward", made, word)
            expect(ended.status == 125, f"{word}: {ended!r}")
        expect_refusal(call("forward", made), "which port")
    expect_refusal(call("forward", "n000000000000", "80"), "no sandbox")


@suite.case
def a_busy_connection_ends_at_once():
    """Ctrl-C does not wait for a transfer."""
    with sandbox() as made:
        start_server(made)
        with forwarded(made, "8080:0") as ([port], process):
            client = socket.create_connection(("127.0.0.1", port), 30)
            client.sendall(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
            client.recv(10)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            expect_equal(end_of(process), 0, "status")
            expect(time.monotonic() - began < 20, "the end took long")  # the transfer takes 50 seconds
            client.close()
        hung_up = lambda: call("exec", made, "--", "test", "-e", "hung-up").status == 0
        expect(wait_until(hung_up), "the server was not told")


if __name__ == "__main__":
    sys.exit(suite.run())
