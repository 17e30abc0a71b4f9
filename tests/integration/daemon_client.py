"""A daemon of the test's own, and a small client of it that is not ours: Python's http.client."""
import contextlib
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from support import NUTSHELL, Failed, expect

DAEMON = str(Path(NUTSHELL).parent / "nutshelld")
TOKENS = {"alice": "alice-token-0123456789", "bob": "bob-token-0123456789"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)  # without a timeout it waits for a place in the queue
        self.sock.settimeout(60)


class Answer:
    def __init__(self, response, body):
        self.status, self.headers, self.body = response.status, response.headers, body

    def json(self):
        return json.loads(self.body)


class Daemon:
    """`nutshelld` with directories of its own."""

    def __init__(self, directory, config="", port=0, tcp=""):
        self.directory, self.port = Path(directory), port
        self.socket = str(self.directory / "nutshelld.sock")
        self.config = self.directory / "nutshelld.toml"
        tokens = "".join(
            f'[[tokens]]\nname = "{name}"\ntenant = "{name}"\n'
            f'sha256 = "{hashlib.sha256(text.encode()).hexdigest()}"\n'
            for name, text in TOKENS.items())
        tcp = f"[tcp]\nport = {port}\n{tcp}" if port else ""
        config = config.replace("@DIRECTORY@", str(self.directory))
        self.config.write_text(f"drain_seconds = 10\n{tcp}{tokens}{config}")
        self.process = None

    def environment(self):
        (self.directory / "run").mkdir(mode=0o700, exist_ok=True)
        return {**os.environ, "NUTSHELL_RUNTIME_DIR": str(self.directory / "run"),
                "NUTSHELL_STATE_DIR": str(self.directory / "state")}

    def start(self):
        self.log = open(self.directory / "log", "ab")
        self.process = subprocess.Popen(
            [DAEMON, "--config", str(self.config), "--socket", self.socket], stderr=self.log,
            stdin=subprocess.DEVNULL, env=self.environment())
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if self.call("GET", "/healthz").status == 200:
                    return self
            if self.process.poll() is not None:
                raise Failed("the daemon ended: " + (self.directory / "log").read_text()[-500:])
            time.sleep(0.02)
        raise Failed("the daemon does not answer")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(60)

    def end_sandboxes(self):
        """Every tenant's, without the daemon, whose end ends none."""
        words = subprocess.run([NUTSHELL, "list", "-q"], env=self.environment(), timeout=60,
                               capture_output=True, text=True, check=True).stdout.split()
        if words:
            subprocess.run([NUTSHELL, "destroy", *words], env=self.environment(), timeout=60,
                           capture_output=True, check=False)  # one may end by itself meanwhile

    def call(self, method, path, body=None, token=None, headers=None):
        connection = UnixConnection(self.socket)
        try:
            return call_over(connection, method, path, body, token, headers)
        finally:
            connection.close()

    def make(self, token=None, **spec):
        answer = self.call("POST", "/v1/sandboxes", spec, token)
        expect(answer.status == 201, f"create: {answer.status} {answer.body[:300]}")
        return answer.json()["id"]

    def execute(self, sandbox, *argv, token=None, **more):
        answer = self.call("POST", f"/v1/sandboxes/{sandbox}/exec", {"argv": argv, **more}, token)
        expect(answer.status == 200, f"exec: {answer.status} {answer.body[:300]}")
        return answer.json()


def call_over(connection, method, path, body=None, token=None, headers=None):
    headers = dict(headers or {})
    if token:
        headers["Authorization"] = "Bearer " + TOKENS.get(token, token)
    if body is not None and not isinstance(body, (bytes, str)):
        body = json.dumps(body)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    return Answer(response, response.read())


@contextlib.contextmanager
def daemon(config="", port=0, tcp=""):
    with tempfile.TemporaryDirectory(prefix="nutshell-daemon-") as directory:
        one = Daemon(directory, config, port, tcp).start()
        try:
            yield one
        finally:
            if one.process.poll() is None:
                one.stop()
            one.end_sandboxes()
            one.log.close()
