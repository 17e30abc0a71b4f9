#!/usr/bin/env python3
"""Two tenants on one daemon: one attacks in every way a tenant or a stranger can, the other measures.

    scripts/soak hostile 2m

First the honest tenant works alone and its slowest hundredth is noted; then the attacks run beside
it. It must see no error, and its slowest hundredth may take three times as long at most. Strangers
come from loopback, as does everything else here.
"""
import contextlib
import json
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from daemon_client import TOKENS, Daemon, call_over, free_port  # noqa: E402
import http.client  # noqa: E402

MOST_TIMES_SLOWER = 3


class Honest:
    """One command and one list at a time, over a kept connection."""

    def __init__(self, port):
        self.port, self.sandbox, self.errors = port, None, []

    def connect(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        made = call_over(self.connection, "POST", "/v1/sandboxes", {"ttl_ms": 3_600_000}, "alice")
        assert made.status == 201, made.body
        self.sandbox = made.json()["id"]

    def step(self):
        word = str(time.monotonic())
        ran = call_over(self.connection, "POST", f"/v1/sandboxes/{self.sandbox}/exec",
                        {"argv": ["/bin/echo", word]}, "alice")
        if ran.status != 200 or ran.json()["stdout"] != word + "\n":
            self.errors.append(f"exec: {ran.status} {ran.body[:200]}")
        listed = call_over(self.connection, "GET", "/v1/sandboxes", None, "alice")
        if listed.status != 200:
            self.errors.append(f"list: {listed.status} {listed.body[:200]}")

    def measure(self, seconds):
        """Milliseconds of the slowest hundredth of the steps."""
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                self.step()
            except OSError as error:
                self.errors.append(f"{error}")
                self.connection.close()
            times.append(1000 * (time.monotonic() - began))
        return sorted(times)[len(times) * 99 // 100], len(times)


class Attack(threading.Thread):
    def __init__(self, act, port):
        super().__init__(daemon=True)
        self.act, self.port, self.over, self.rounds, self.held = act, port, False, 0, []

    def run(self):
        while not self.over:
            with contextlib.suppress(OSError, ValueError, KeyError, http.client.HTTPException):
                self.act(self)
            self.rounds += 1
            time.sleep(0.01)
        for connection in self.held:
            connection.close()

    def ask(self, method, path, body=None, token="bob", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            return call_over(connection, method, path, body, token, headers)
        finally:
            connection.close()

    def hold(self, text, most=300):
        """A connection that is opened, begun and never finished."""
        if len(self.held) >= most:
            self.held.pop(0).close()
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        connection.sendall(text)
        self.held.append(connection)


def wrong_tokens(attack):
    attack.ask("GET", "/v1/sandboxes", token="wrong" * 10)


def idle_connections(attack):
    attack.hold(b"")


def unfinished_bodies(attack):
    attack.hold(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000000\r\n\r\n"
                + b"x" * 100_000, most=100)


def followers(attack):
    made = attack.ask("POST", "/v1/sandboxes", {"ttl_ms": 20_000}).json()["id"]
    begun = attack.ask("POST", f"/v1/sandboxes/{made}/exec",
                       {"argv": ["sleep", "15"], "detach": True}).json()["exec_id"]
    for _ in range(100):
        attack.hold((f"GET /v1/sandboxes/{made}/exec/{begun} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {TOKENS['bob']}\r\n"
                     "Accept: application/x-ndjson\r\n\r\n").encode())


def floods(attack):
    made = attack.ask("POST", "/v1/sandboxes", {"ttl_ms": 20_000}).json()["id"]
    attack.ask("POST", f"/v1/sandboxes/{made}/exec",
               {"argv": ["sh", "-c", "yes | head -c 100000000"],
                "output_limit_bytes": 10 ** 15, "timeout_ms": 5000})
    attack.ask("DELETE", f"/v1/sandboxes/{made}")


def fork_bombs(attack):
    made = attack.ask("POST", "/v1/sandboxes", {"ttl_ms": 20_000}).json()["id"]
    attack.ask("POST", f"/v1/sandboxes/{made}/exec",
               {"argv": ["sh", "-c", ":(){ :|:& };:"], "timeout_ms": 2000})
    attack.ask("DELETE", f"/v1/sandboxes/{made}")


def long_labels(attack):
    attack.ask("POST", "/v1/sessions",
               {"name": f"s{attack.rounds % 50}", "labels": {"a": "x" * 1_000_000}})


ATTACKS = (wrong_tokens, idle_connections, unfinished_bodies, followers, floods, fork_bombs,
           long_labels)


def main():
    seconds = float(sys.argv[1])
    port, problems = free_port(), []
    with tempfile.TemporaryDirectory(prefix="nutshell-hostile-") as directory:
        one = Daemon(directory, port=port).start()
        attacks = [Attack(act, port) for act in ATTACKS]
        try:
            honest = Honest(port)
            honest.connect()
            honest.measure(2)
            quiet, steps = honest.measure(seconds / 4)
            print(f"alone: p99 {quiet:.1f} ms of {steps} steps", flush=True)
            for attack in attacks:
                attack.start()
            honest.measure(2)
            loud, steps = honest.measure(seconds * 3 / 4)
            print(f"attacked: p99 {loud:.1f} ms of {steps} steps, {loud / quiet:.1f}x; "
                  + json.dumps({a.act.__name__: a.rounds for a in attacks}), flush=True)
            for attack in attacks:
                attack.over = True
            for attack in attacks:
                attack.join(60)
            problems += honest.errors[:20]
            if loud > MOST_TIMES_SLOWER * quiet:
                problems.append(f"p99 is {loud / quiet:.1f} times that of a quiet daemon")
            if not all(attack.rounds for attack in attacks):
                problems.append("an attack did not run at all")
            if one.call("GET", "/readyz").status != 200:
                problems.append("the daemon is not ready any more")
        finally:
            if one.process.poll() is None:
                one.stop()
            one.end_sandboxes()
            one.log.close()
    for text in problems:
        print("FAIL hostile: " + text)
    print(f"{0 if problems else 1} passed, {len(problems)} failed, 0 skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
