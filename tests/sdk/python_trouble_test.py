#!/usr/bin/env python3
"""The Python SDK in trouble: each case ends in a typed error, and nothing is left running."""
import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import python_sdk
from support import NUTSHELL, Suite, call, expect, expect_equal, payloads, random_token, wait_until

python_sdk.generate()
import nutshell_sandbox as nutshell  # noqa: E402
from nutshell_sandbox import AsyncClient, AsyncSandbox, Client, Sandbox, SandboxError  # noqa: E402

suite = Suite()
LONG = 'echo begun; while :; do sleep 0.05; done'


def failure_of(action, code):
    try:
        action()
    except SandboxError as error:
        expect_equal(error.code, code, f"code of {error!r}")
        return error
    raise AssertionError(f"no error {code}")


def is_listed(daemon, made):
    return any(one["id"] == made for one in daemon.call("GET", "/v1/sandboxes").json()["sandboxes"])


# Without a daemon --------------------------------------------------------------------------------

@suite.case
def without_daemon_and_programs_the_error_says_what_to_do():
    with tempfile.TemporaryDirectory() as empty, python_sdk.variables(
            NUTSHELL_BIN=f"{empty}/none/none", NUTSHELL_DAEMON=None, PATH=empty,
            NUTSHELL_RUNTIME_DIR=f"{empty}/run"):
        error = failure_of(Sandbox, "unavailable")
        expect("NUTSHELL_DAEMON" in error.message, error.message)
        async def make():
            async with AsyncSandbox():
                pass
        failure_of(lambda: asyncio.run(make()), "unavailable")


@suite.case
def a_daemon_that_is_not_there_is_named_and_none_is_started():
    with python_sdk.variables(NUTSHELL_DAEMON="/nonexistent/nutshelld.sock"):
        error = failure_of(Sandbox, "unavailable")
        expect("/nonexistent/nutshelld.sock" in error.message, error.message)
    for address in ("relative/socket", "ftp://host:1", "http://example.org:7070", "https://",
                    "https://host:99999", "http://user@[::1"):
        with python_sdk.variables(NUTSHELL_DAEMON=address):
            failure_of(Sandbox, "invalid_argument")


PRIVATE = """
import sys, os
from nutshell_sandbox import Sandbox, _endpoint
s = Sandbox()
print(s.client.address, flush=True)
print(_endpoint._private[os.getpid()][0], flush=True)
print(s.run('echo here').stdout, end='', flush=True)
if sys.argv[1] == 'die': os.kill(os.getpid(), 9)
if sys.argv[1] == 'restart':
    os.kill(_endpoint._private[os.getpid()][0], 9)
    try: s.run('true')
    except Exception as error: print(type(error).__name__)
    try: s.run('true')
    except Exception as error: print(type(error).__name__)
    with Sandbox() as t: print(t.run('echo again').stdout, end='')
"""


def run_private(word, programs=None):
    with tempfile.TemporaryDirectory() as place:
        environment = {"NUTSHELL_DAEMON": None, "NUTSHELL_RUNTIME_DIR": f"{place}/run"}
        if programs:
            environment["NUTSHELL_BIN"] = programs(Path(place))
        done = python_sdk.python(PRIVATE, word, environment=environment)
        lines = done.stdout.splitlines()
        expect(len(lines) >= 3 and lines[2] == "here", f"{done}")
        pid = int(lines[1])
        gone = wait_until(lambda: not Path(f"/proc/{pid}/stat").exists()
                          or Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
        expect(gone, f"the private daemon {pid} outlives its process")
        expect(wait_until(lambda: not Path(lines[0]).exists()), f"{word}: its socket is left: {done}")
        expect(wait_until(lambda: not payloads(place)), f"{word}: its sandboxes are left")
        return done, lines


@suite.case
def a_private_daemon_ends_with_its_process():
    for word in ("end", "die"):
        done, lines = run_private(word)
        expect_equal(done.stderr, "", f"what is printed at the end ({word})")
        expect_equal(done.returncode, 0 if word == "end" else -9, "status")


@suite.case
def a_private_daemon_that_was_killed_is_replaced():
    done, lines = run_private("restart")
    expect_equal(lines[-1], "again", f"a new sandbox: {done}")
    expect("Error" in lines[3], f"the first call after the kill: {lines}")
    expect_equal(done.stderr, "", "stderr")


def programs_that_fail_at_first(place):
    """The programs, of which `nutshell` fails when it is called for the first time."""
    folder = place / "bin"
    folder.mkdir()
    real = Path(NUTSHELL).parent
    (folder / "nutshelld").symlink_to(real / "nutshelld")
    (folder / "nutshell").write_text(
        f"#!/bin/sh\nif mkdir {place}/failed 2>/dev/null; then exit 125; fi\nexec {real}/nutshell \"$@\"\n")
    (folder / "nutshell").chmod(0o755)
    return str(folder)


@suite.case
def sandboxes_of_a_killed_private_daemon_end_although_they_cannot_be_asked_at_once():
    done, lines = run_private("restart", programs_that_fail_at_first)
    expect_equal(lines[-1], "again", f"a new sandbox: {done}")


# A daemon that ends, or is another one -----------------------------------------------------------

@suite.case
def a_daemon_killed_in_a_stream_gives_one_error_and_the_next_call_reconnects():
    with python_sdk.served() as daemon:
        sandbox = Sandbox()
        stream = iter(sandbox.stream(LONG))
        expect_equal(next(stream).text, "begun\n", "first chunk")
        daemon.stop(signal.SIGKILL)
        failure_of(lambda: next(stream), "unavailable")
        expect_equal(next(stream, None), None, "after its error the stream has ended")
        failure_of(lambda: sandbox.run("true"), "unavailable")
        daemon.start()
        expect_equal(sandbox.run("echo back").stdout, "back\n", "after the restart")
        sandbox.close()


@suite.case
def a_daemon_killed_in_an_asynchronous_call_gives_one_error():
    async def run(daemon):
        async with AsyncSandbox() as sandbox:
            token = random_token()
            waiting = asyncio.ensure_future(sandbox.run(["sh", "-c", LONG, token]))
            while not payloads(token) and not waiting.done():
                await asyncio.sleep(0.02)
            daemon.stop(signal.SIGKILL)
            try:
                await waiting
                raise AssertionError("no error")
            except SandboxError as error:
                expect_equal(error.code, "unavailable", "code")
            daemon.start()
            expect_equal((await sandbox.run("echo back")).stdout, "back\n", "after the restart")
    with python_sdk.served() as daemon:
        asyncio.run(run(daemon))


class Fake:
    """A server that gives each request the next of its answers."""

    def __init__(self, *answers):
        self.place = tempfile.mkdtemp() + "/socket"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.place)
        self.listener.listen(8)
        self.answers = list(answers)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while self.answers:
            connection, _ = self.listener.accept()
            with connection:
                while self.answers and connection.recv(65536):
                    answer = self.answers.pop(0)
                    connection.sendall(answer)
                    if b"Content-Length" not in answer:
                        break
        self.listener.close()


def http(status, body, extra=b""):
    return (f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            .encode() + extra + b"\r\n" + body)


V1 = http(200, b'{"pid":1,"api":"v1"}')


@suite.case
def a_server_of_another_version_is_told_from_others():
    for answer, word in ((http(200, b'{"pid":1,"api":"v2"}'), "'v2'"),
                         (http(404, b'{"title":"Not Found","status":404,"code":"not_found"}'), "older")):
        error = failure_of(lambda one=answer: Client(Fake(one).place).health(), "unsupported")
        expect(word in error.message and "'v1'" in error.message, error.message)
    newer = Fake(V1, http(200, b'{"status":"ok","colour":"blue"}'))
    expect_equal(Client(newer.place).health().colour, "blue", "a member that a newer daemon adds")
    strange = Fake(V1, http(400, b'{"title":"x","status":400,"code":"odd","detail":"why"}'))
    error = failure_of(lambda: Client(strange.place).health(), "odd")
    expect(type(error) is SandboxError and error.message == "why", repr(error))


@suite.case
def answers_that_are_no_answers_are_typed_errors():
    for answer in (b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\0" * 70000):
        failure_of(lambda one=answer: Client(Fake(one).place).health(), "corrupt")
    for answer in (b"", b"HTTP/1.1 200 OK\r\n", http(200, b'{"pid"')[:-3]):
        failure_of(lambda one=answer: Client(Fake(one).place).health(), "unavailable")
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    failure_of(lambda: Client(Fake(V1, chunked).place).health(), "corrupt")
    failure_of(lambda: Client(Fake(V1, http(200, b"[1")).place).health(), "corrupt")


@suite.case
def a_server_that_does_not_answer_is_given_up():
    silent = socket.socket(socket.AF_UNIX)
    place = tempfile.mkdtemp() + "/socket"
    silent.bind(place)
    silent.listen(8)
    failure_of(lambda: Client(place, timeout=0.3).health(), "deadline_exceeded")
    failure_of(lambda: asyncio.run(AsyncClient(place, timeout=0.3).health()), "deadline_exceeded")
    silent.close()


@suite.case
def a_wrong_token_is_refused_and_a_remote_daemon_works():
    from daemon_client import free_port
    port = free_port()
    with python_sdk.served(port=port):
        url = f"http://127.0.0.1:{port}"
        failure_of(lambda: Client(url, "wrong-token-0123456789").sandboxes(), "unauthenticated")
        failure_of(lambda: Client(url, "").sandboxes(), "unauthenticated")
        failure_of(lambda: Client(url, "two\r\nlines").sandboxes(), "invalid_argument")
        with Sandbox(client=Client(url, "alice-token-0123456789")) as sandbox:
            expect_equal(sandbox.run("echo remote").stdout, "remote\n", "over TCP")
            failure_of(lambda: Sandbox(client=sandbox.client, workspace="."), "permission_denied")
            other = Client(url, "bob-token-0123456789")
            failure_of(lambda: Sandbox.connect(sandbox.id, client=other), "not_found")


@suite.case
def tls_is_checked_against_the_named_authority():
    from daemon_client import free_port
    with tempfile.TemporaryDirectory() as place:
        made = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{place}/key",
             "-out", f"{place}/cert", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            capture_output=True, check=False)
        expect(made.returncode == 0, f"openssl: {made.stderr[-200:]}")
        port = free_port()
        tls = f'certificate = "{place}/cert"\nkey = "{place}/key"\n'
        with python_sdk.served(port=port, tcp=tls):
            url, token = f"https://localhost:{port}", "alice-token-0123456789"
            failure_of(lambda: Client(url, token).health(), "unavailable")
            with Sandbox(client=Client(url, token, ca=f"{place}/cert")) as sandbox:
                expect_equal(sandbox.run("seq 100000").stdout.count("\n"), 100000, "over TLS")
            async def run():
                async with AsyncSandbox(client=AsyncClient(url, token, ca=f"{place}/cert")) as one:
                    await one.files.write("big", b"x" * 3_000_000)
                    return len(await one.files.read("big"))
            expect_equal(asyncio.run(run()), 3_000_000, "bytes over TLS")


# Objects -----------------------------------------------------------------------------------------

@suite.case
def an_object_that_was_closed_says_so():
    with python_sdk.served():
        sandbox = Sandbox()
        made = sandbox.id
        sandbox.close()
        sandbox.close()
        for action in (lambda: sandbox.run("true"), lambda: sandbox.files.read("x"),
                       lambda: sandbox.tools.ls(), lambda: sandbox.fork(), sandbox.changes,
                       lambda: sandbox.stream("true"), lambda: sandbox.terminal(), lambda: sandbox.id):
            error = failure_of(action, "closed")
            expect(made in error.message, error.message)
        async def unstarted():
            await AsyncSandbox().run("true")
        failure_of(lambda: asyncio.run(unstarted()), "invalid_argument")


@suite.case
def a_sandbox_that_nobody_closed_ends_with_its_object_and_with_the_program():
    with python_sdk.served() as daemon:
        sandbox = Sandbox()
        made = sandbox.id
        sandbox.files.write("a", "b")
        del sandbox
        expect(not is_listed(daemon, made), "it is still there without any reference")
        code = "from nutshell_sandbox import Sandbox\ns = Sandbox()\nprint(s.id)"
        loop = ("import asyncio\nfrom nutshell_sandbox import AsyncSandbox\nasync def main():\n"
                "    global s\n    s = await AsyncSandbox()\n    print(s.id)\n    await s.run('true')\n"
                "asyncio.run(main())")
        cycle = code + "\ns.me = s\ndel s"
        broken = code + "\nraise SystemExit(3)"
        for text in (code, loop, cycle, broken):
            done = python_sdk.python("import warnings; warnings.simplefilter('error')\n" + text)
            expect_equal(done.stderr, "", "what destructors print")
            expect(not is_listed(daemon, done.stdout.strip()), f"left by {text}")


@suite.case
def a_forked_child_shares_no_connection_and_owns_no_sandbox():
    with python_sdk.served() as daemon:
        sandbox = Sandbox()
        sandbox.run("true")
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            told = "failed"
            try:
                told = sandbox.run("echo child").stdout
                sandbox.close()
            finally:
                os.write(writer, told.encode())
                os._exit(0)
        for number in range(20):
            expect_equal(sandbox.run(f"echo {number}").stdout, f"{number}\n", "in the parent")
        os.waitpid(pid, 0)
        expect_equal(os.read(reader, 100), b"child\n", "in the child")
        expect(is_listed(daemon, sandbox.id), "the child's close() ended the parent's sandbox")
        sandbox.close()
        os.close(reader)
        os.close(writer)


@suite.case
def threads_share_one_sandbox():
    failed = []

    def work(sandbox, number):
        try:
            for turn in range(10):
                text = f"{number}-{turn}"
                sandbox.files.write(f"f{number}", text)
                expect_equal(sandbox.run(["cat", f"f{number}"]).stdout, text, "output")
        except BaseException as error:  # reported by the case
            failed.append(error)
    with python_sdk.served(), Sandbox() as sandbox:
        threads = [threading.Thread(target=work, args=(sandbox, n)) for n in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    expect(not failed, f"{failed[:1]}")


@suite.case
def two_event_loops_share_one_sandbox():
    async def begin():
        one = await AsyncSandbox()
        await one.run("true")
        return one

    async def use(sandbox):
        return (await sandbox.run("echo loop")).stdout
    with python_sdk.served():
        sandbox = asyncio.run(begin())
        expect_equal(asyncio.run(use(sandbox)), "loop\n", "in the second loop")
        found = []
        threads = [threading.Thread(target=lambda: found.append(asyncio.run(use(sandbox))))
                   for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        expect_equal(found, ["loop\n"] * 4, "in four loops at once")
        asyncio.run(sandbox.close())


# Interrupts --------------------------------------------------------------------------------------

@suite.case
def a_callback_that_throws_ends_the_command():
    with python_sdk.served(), Sandbox() as sandbox:
        token = random_token()

        def throw(_):
            raise ZeroDivisionError
        try:
            sandbox.run(["sh", "-c", LONG, token], on_stdout=throw)
            raise AssertionError("the callback's exception was lost")
        except ZeroDivisionError:
            pass
        expect(wait_until(lambda: not payloads(token), 30), "the command runs on")
        expect_equal(sandbox.run("echo fine").stdout, "fine\n", "afterwards")
        with sandbox.stream(["sh", "-c", LONG, token]) as stream:
            for _ in stream:
                break
        expect(wait_until(lambda: not payloads(token), 30), "the stream's command runs on")


@suite.case
def a_cancelled_task_ends_its_command():
    async def run(token):
        async with AsyncSandbox() as sandbox:
            for options in ({}, {"on_stdout": lambda _: None}):
                task = asyncio.ensure_future(sandbox.run(["sh", "-c", LONG, token], **options))
                while not payloads(token) and not task.done():
                    await asyncio.sleep(0.02)
                expect(not task.done(), "the command does not run")
                task.cancel()
                try:
                    await task
                    raise AssertionError("not cancelled")
                except asyncio.CancelledError:
                    pass
                expect(wait_until(lambda: not payloads(token), 30), "the command runs on")
            expect_equal((await sandbox.run("echo fine")).stdout, "fine\n", "afterwards")
    with python_sdk.served():
        asyncio.run(run(random_token()))


@suite.case
def bad_arguments_are_refused_before_anything_happens():
    with python_sdk.served(), Sandbox() as sandbox:
        for action in (lambda: sandbox.run([]), lambda: sandbox.run(["a\0b"]),
                       lambda: sandbox.run("true", timeout=-1), lambda: sandbox.run("true", timeout=1e30),
                       lambda: sandbox.run("true", timeout="soon"),
                       lambda: sandbox.run("true", environment={"A=B": "c"}),
                       lambda: sandbox.run("true", idempotency_key="a\r\nX: y"),
                       lambda: sandbox.tools.call("no-such"), lambda: sandbox.tools.for_openai(["none"]),
                       lambda: sandbox.files.read("a\0b"), lambda: Sandbox(memory="12 parsecs"),
                       lambda: Sandbox(cpus=object()), lambda: Sandbox(spec={"nonsense": 1})):
            try:
                action()
                raise AssertionError("nothing was refused")
            except SandboxError as error:
                expect(error.code in ("invalid_argument", "not_found"), repr(error))
        failure_of(lambda: Sandbox.connect("../../v1/daemon?x=#"), "not_found")


@suite.case
def two_hundred_asynchronous_sandboxes_leave_no_descriptors():
    rounds, count = (10, 200) if os.environ.get("NUTSHELL_FULL") else (3, 80)

    async def one(number):
        async with AsyncSandbox(memory="16m", processes=8, client=client) as sandbox:
            expect_equal((await sandbox.run(f"echo {number}")).stdout, f"{number}\n", "output")

    async def run():
        held = []
        for _ in range(rounds):
            await asyncio.gather(*(one(number) for number in range(count)))
            await client.close()  # how many connections are kept differs from round to round
            gc.collect()
            held.append(len(os.listdir("/proc/self/fd")))
        return held
    with python_sdk.served():
        client = AsyncClient()
        held = asyncio.run(run())
    expect(held[-1] <= held[0], f"descriptors after each round: {held}")


@suite.case
def an_error_can_be_sent_to_another_process():
    import pickle
    with python_sdk.served(), Sandbox() as sandbox:
        error = failure_of(lambda: sandbox.files.read("none"), "not_found")
        again = pickle.loads(pickle.dumps(error))
        expect_equal((type(again), again.code, str(again), again.status),
                     (nutshell.NotFoundError, "not_found", str(error), 404), "after pickle")
        json.dumps(sandbox.info.to_dict())


if __name__ == "__main__":
    call("list")  # a runtime directory that works
    sys.exit(suite.run())
