"""Real container engines for the suites, started by scripts/engine next to any engine of the machine."""
import http.client
import json
import os
import signal
import socket
import subprocess

from support import REPOSITORY, Skip, call_json, repetitions, wait_until

ENGINE = str(REPOSITORY / "scripts/engine")
IMAGE = "nutshell-test"
VARIABLES = {"docker": "DOCKER_HOST", "docker-new": "DOCKER_HOST", "runsc": "DOCKER_HOST",
             "podman": "CONTAINER_HOST", "rootless": "CONTAINER_HOST"}
CANNOT = 77


class Engine:
    """A running engine. use() puts its address into the environment of programs that are started later."""

    def __init__(self, kind):
        done = subprocess.run([ENGINE, "start", kind], capture_output=True, text=True, timeout=300)
        if done.returncode == CANNOT:
            raise Skip(done.stderr.strip().splitlines()[-1])
        if done.returncode != 0:
            raise RuntimeError(f"scripts/engine start {kind}: {done.stderr}")
        self.kind = kind
        self.address = done.stdout.strip()
        self.socket = self.address.removeprefix("unix://")
        self.backend = "podman" if VARIABLES[kind] == "CONTAINER_HOST" else "docker"

    def use(self):
        """Makes this process's children find this engine, and none of the other kind."""
        for name in ("DOCKER_HOST", "CONTAINER_HOST"):
            os.environ[name] = "unix:///nowhere/engine.sock"
        os.environ[VARIABLES[self.kind]] = self.address

    def pid(self):
        return int(subprocess.run([ENGINE, "pid", self.kind], capture_output=True, text=True,
                                  check=True, timeout=30).stdout)

    def stop(self):
        """Ends the engine alone; its data stay, and so do containers that outlive it."""
        pid = self.pid()
        os.kill(pid, signal.SIGTERM)
        if not wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 20):
            os.kill(pid, signal.SIGKILL)

    def restart(self):
        subprocess.run([ENGINE, "restart", self.kind], check=True, capture_output=True, timeout=120)

    def ask(self, method, path, body=None):
        connection = UnixConnection(self.socket)
        text = json.dumps(body) if body is not None else None
        connection.request(method, "/v1.41" + path, text, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text[:1] in (b"{", b"[") else None

    def inspect(self, sandbox):
        return self.ask("GET", f"/containers/nutshell-{sandbox}/json")[1]

    def containers(self):
        """Names of all containers, ours or not."""
        return [name.lstrip("/") for one in self.ask("GET", "/containers/json?all=1")[1]
                for name in one["Names"]]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


_started = {}


def engine(kind="docker"):
    """Starts an engine once, and makes later calls use it."""
    if os.geteuid() != 0:
        raise Skip("engines are started as root")
    if kind not in _started:
        try:
            _started[kind] = Engine(kind)
        except Skip as reason:
            _started[kind] = reason
    if isinstance(_started[kind], Skip):
        raise _started[kind]
    _started[kind].use()
    return _started[kind]


def on_engines(suite, usual, long):
    """Adds a case for each of the `usual` engines; with scripts/test --full, for each of `long`."""
    def decorate(function):
        for kind in repetitions(usual, long):
            def case(kind=kind):
                function(engine(kind))
            case.__name__ = f"{function.__name__}_with_{kind}"
            suite.case(case)
        return function
    return decorate


def flags(where, *more):
    runtime = ["--runtime", "runsc"] if where.kind == "runsc" else []
    return ["--backend", where.backend, "--image", IMAGE, *runtime, *more]


def shell(where, script, *more):
    return call_json("run", *flags(where, *more), "--", "sh", "-c", script)
