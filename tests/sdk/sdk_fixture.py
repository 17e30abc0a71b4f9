"""Surroundings for the SDKs' own tests: daemons, none at all, and servers of other versions."""
import concurrent.futures
import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from support import NUTSHELL, PATIENCE, REPOSITORY, Failed, expect, expect_equal, processes, wait_until  # noqa: E402 pylint: disable=wrong-import-position

POOL = '[[pools]]\nname = "agents"\nmin_idle = 1\nmax_idle = 2\nmax_total = 4\n'
CLEAN = {name: None for name in ("NUTSHELL_DAEMON", "NUTSHELL_TOKEN", "NUTSHELL_TOKEN_FILE", "NUTSHELL_DAEMON_CA")}
SCENARIOS = sorted((REPOSITORY / "sdk/scenarios").glob("*.json"))
# Operations and the methods that call them, in TypeScript's names.
METHODS = {
    "health": "Client.health", "readiness": "Client.ready", "metrics": "Client.metrics", "daemon": "Client.daemon",
    "openapi": "Client.openapi", "createSandbox": "Sandbox.create", "listSandboxes": "Sandbox.list",
    "checkSpec": "Client.check", "getSandbox": "Sandbox.connect", "destroySandbox": "Sandbox.destroy",
    "pauseSandbox": "Sandbox.pause", "resumeSandbox": "Sandbox.resume", "extendSandbox": "Sandbox.extend",
    "getStats": "Sandbox.stats", "listChanges": "Sandbox.changes", "createCheckpoint": "Sandbox.checkpoint",
    "rollback": "Sandbox.rollback", "forkSandbox": "Sandbox.fork", "exec": "Sandbox.run", "getExec": "Job.status",
    "signalExec": "Job.signal", "openTerminal": "Sandbox.terminal", "readFile": "Files.read",
    "writeFile": "Files.write", "removeFile": "Files.remove", "listDirectory": "Files.list",
    "makeDirectory": "Files.makeDirectory", "listTools": "Client.tools", "callTool": "Sandbox.undo",
    "ensureSession": "Session.open", "listSessions": "Session.list", "getSession": "Session.refresh",
    "endSession": "Session.end", "renewSession": "Session.renew", "forgetWorkspace": "Session.forget",
    "listPools": "Pool.list", "getPool": "Pool.refresh", "acquire": "Pool.acquire", "release": "Sandbox.close",
    "warmPool": "Pool.warm", "drainPool": "Pool.drain", "batch": "Client.batch", "listAuditRecords": "Client.audit",
    "getHistory": "Sandbox.history", "getEnvironment": "Sandbox.environment", "whyGone": "Sandbox.whyGone",
    "sweep": "Client.sweep", "getNetwork": "Sandbox.networkStatus", "setNetwork": "Sandbox.setNetwork",
    "listNetworkEvents": "Sandbox.networkEvents",
}
NOT_FOR_SDKS = {
    "openStream": "the protocol to init belongs to the command line",
    "openOwnStream": "the protocol to init belongs to the command line",
    "restack": "part of how the command line forks",
}


def described():
    """Operations and error codes of the API's description."""
    told = json.loads((REPOSITORY / "docs/api/openapi.json").read_text())
    operations = {one["operationId"] for methods in told["paths"].values() for one in methods.values()}
    return operations, told["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]


def expect_all_operations():
    operations, _ = described()
    expect_equal(sorted(operations - set(METHODS) - set(NOT_FOR_SDKS)), [], "operations without a method")
    expect_equal(sorted((set(METHODS) | set(NOT_FOR_SDKS)) - operations), [], "methods without an operation")


def programs():
    return str(Path(NUTSHELL).parent)


@contextlib.contextmanager
def served(config="", **more):
    """A daemon of the test's own, and the environment that names it."""
    from daemon_client import daemon  # pylint: disable=import-outside-toplevel
    with daemon(config, **more) as one:
        yield one, {**CLEAN, "NUTSHELL_BIN": programs(), "NUTSHELL_DAEMON": one.socket,
                    "NUTSHELL_RUNTIME_DIR": str(one.directory / "run"), "NUTSHELL_STATE_DIR": str(one.directory / "state")}


@contextlib.contextmanager
def alone(with_programs=True):
    """An environment without a daemon. Afterwards nothing of Nutshell runs there."""
    with tempfile.TemporaryDirectory(prefix="nutshell-sdk-") as directory:
        place = Path(directory) / "run"
        yield {**CLEAN, "NUTSHELL_RUNTIME_DIR": str(place), "NUTSHELL_STATE_DIR": str(Path(directory) / "state"),
               "NUTSHELL_BIN": programs() if with_programs else str(Path(directory) / "none")}
        expect(wait_until(lambda: not daemons_at(place)), f"left running: {daemons_at(place)}")


def daemons_at(place):
    """Processes whose environment names this runtime directory."""
    wanted = f"NUTSHELL_RUNTIME_DIR={place}".encode()
    found = []
    for pid, words in processes():
        with contextlib.suppress(OSError):
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            if wanted in variables and "nutshell" in str(words[:1]):
                found.append((pid, words))
    return found


def merged(environment):
    return {name: value for name, value in {**os.environ, **environment}.items() if value is not None}


class Conversation:
    """A program that says lines and waits for lines."""

    def __init__(self, words, environment):
        self.errors = tempfile.TemporaryFile("w+")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [str(word) for word in words], env=merged(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True, start_new_session=True)

    def hear(self, wanted=None):
        line = self.process.stdout.readline().strip()
        expect(line == wanted if wanted else line, f"it said {line!r}, not {wanted!r}: {self.told()}")
        return line

    def say(self, word="go"):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def told(self):
        self.errors.seek(0)
        return self.errors.read()[-1500:]

    def end(self, status=0, seconds=90):
        try:
            found = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"it does not end: {self.told()}") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        expect(found == status, f"its status is {found}, not {status}: {self.told()}")
        return self.told()


@contextlib.contextmanager
def conversation(words, environment):
    one = Conversation(words, environment)
    try:
        yield one
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.wait(30)
        one.process.stdin.close()
        one.process.stdout.close()
        one.errors.close()


@contextlib.contextmanager
def servers(*answers):
    """HTTP servers, one for each function that gets (path) and gives (status, type, body), or None to hang up."""
    running = []
    for answer in answers:
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            told = staticmethod(answer)

            def do_GET(self):  # pylint: disable=invalid-name
                found = self.told(self.path)
                if found is None:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
                    self.close_connection = True
                    return
                status, kind, body = found
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass
        one = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=one.serve_forever, daemon=True).start()
        running.append(one)
    try:
        yield [one.server_address[1] for one in running]
    finally:
        for one in running:
            one.shutdown()
            one.server_close()


MALFORMED = (
    b"", b"\r\n\r\n", b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"x" * 200_000,
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1e9\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}xx0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    b"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull")


@contextlib.contextmanager
def malformed_servers():
    """Unix sockets, at each of which every request gets one malformed answer, and the connection ends."""
    def serve(listener, answer):
        with contextlib.suppress(OSError):
            while True:
                one, _ = listener.accept()
                with one, contextlib.suppress(OSError):
                    one.recv(1 << 16)
                    one.sendall(answer)
    with tempfile.TemporaryDirectory(prefix="nutshell-sdk-") as directory:
        listeners = []
        for number, answer in enumerate(MALFORMED):
            listeners.append(socket.socket(socket.AF_UNIX))
            listeners[-1].bind(f"{directory}/{number}")
            listeners[-1].listen()
            threading.Thread(target=serve, args=(listeners[-1], answer), daemon=True).start()
        try:
            yield [f"{directory}/{number}" for number in range(len(MALFORMED))]
        finally:
            for one in listeners:
                one.shutdown(socket.SHUT_RDWR)
                one.close()


@contextlib.contextmanager
def hung(process):
    """A process all of whose threads are stopped, for a while."""
    def is_stopped():
        states = [Path(f"{task}/stat").read_text().rpartition(")")[2].split()[0]
                  for task in Path(f"/proc/{process.pid}/task").iterdir()]
        return set(states) == {"T"}
    process.send_signal(signal.SIGSTOP)
    try:
        expect(wait_until(is_stopped, 30), "the daemon is not stopped")
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def of_other_versions():
    """Servers: a newer one, an older one, a foreign one, one with an unknown code, and one that hangs up."""
    def json_of(told, status=200, kind="application/json"):
        return status, kind, json.dumps(told).encode()

    def begins(path, rest):
        return json_of({"pid": 2, "api": "v1"}) if path == "/v1/daemon" else rest
    return servers(
        lambda path: json_of({"pid": 2, "api": "v2"}),
        lambda path: begins(path, (404, "text/plain", b"no such page")),
        lambda path: (200, "text/html", b"<html>hello</html>"),
        lambda path: begins(path, json_of({"title": "x", "status": 400, "code": "code_of_later", "detail": "new"}, 400,
                                          "application/problem+json")),
        lambda path: begins(path, None))


def interrupt_all(calls, converse):
    """Presses Ctrl-C in each of these calls, at the same time in programs of their own."""
    def press(number):
        mark = str(4_242_000 + os.getpid() % 1000 * 100 + number)
        with alone() as environment, converse("interrupted", calls[number], mark, environment=environment) as one:
            interrupt(one, environment, calls[number], mark)
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as threads:
        for done in [threads.submit(press, number) for number in range(len(calls))]:
            done.result()


def interrupt(one, environment, call, mark):
    """Presses Ctrl-C while a call runs. Its command, `sleep MARK`, and the private daemon end."""
    place = environment["NUTSHELL_RUNTIME_DIR"]
    one.hear()
    if call not in ("create", "files"):
        expect(wait_until(lambda: any(mark.encode() in words for _, words in processes())), f"{call}: the command does not run")
    else:
        time.sleep(0.2)  # in the middle of its calls
    os.killpg(one.process.pid, signal.SIGINT)
    one.process.wait(PATIENCE)
    expect(one.process.returncode != 0, f"{call}: Ctrl-C did not end it")
    expect(wait_until(lambda: not daemons_at(place)), f"{call}: the private daemon goes on")
    expect(wait_until(lambda: not any(mark.encode() in words for _, words in processes())), f"{call}: the command goes on")
