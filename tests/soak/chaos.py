#!/usr/bin/env python3
"""Honest work on a daemon while everything around it is killed, stopped and frozen at random.

    scripts/soak chaos 10m [SEED]

Agents keep a model of what was acknowledged to them, and only of that: a write whose answer was lost
may have happened or not, but an acknowledged one is there until its sandbox is gone. At the end
nothing is left over and nothing has grown. The seed is printed; it decides which faults come in which
order, not how the machine schedules them. What a run finds becomes a fixed case of a suite.
"""
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from daemon_client import Daemon  # noqa: E402
from support import NUTSHELL, launchers, wait_until  # noqa: E402

CONFIG = """
[[pools]]
name = "p"
min_idle = 1
max_total = 6
"""
UNKNOWN = object()  # of a write whose answer was lost


class Agent(threading.Thread):
    """Works until it is told to stop, and notes every answer that contradicts its model."""

    def __init__(self, one, seed):
        super().__init__(daemon=True)
        self.one, self.random, self.over = one, random.Random(seed), False
        self.answers, self.wrong = 0, []

    def run(self):
        while not self.over:
            try:
                self.turn()
            except (OSError, ValueError, KeyError):
                time.sleep(0.05)  # the daemon is away, or the sandbox is

    def ask(self, method, path, body=None, **more):
        answer = self.one.call(method, path, body, **more)
        self.answers += 1
        return answer


class FileAgent(Agent):
    """Writes, reads and takes back files of one sandbox, by tools and by commands."""

    def __init__(self, one, seed):
        super().__init__(one, seed)
        self.sandbox, self.files = None, {}

    def turn(self):
        if self.sandbox is None:
            self.files = {}
            made = self.ask("POST", "/v1/sandboxes", {"ttl_ms": 600_000})
            self.sandbox = made.json()["id"] if made.status == 201 else None
            return
        name = f"f{self.random.randrange(4)}"
        step = self.random.choice((self.write, self.shell, self.shell, self.read, self.checkpoint))
        try:
            status = step(name)
        except OSError:
            status = 0
        if status == 404:
            self.sandbox = None

    def tool(self, name, **arguments):
        return self.ask("POST", f"/v1/sandboxes/{self.sandbox}/tools/{name}", arguments)

    def write(self, name):
        text = f"{self.random.random()}\n"
        # An error may have come after the file was written, when the connection to it was lost.
        self.files[name] = UNKNOWN
        answer = self.tool("write", path=name, content=text)
        if answer.status == 200 and "error" not in answer.json():
            self.files[name] = text
        return answer.status

    def shell(self, name):
        text = f"{self.random.random()}"
        self.files[name] = UNKNOWN
        answer = self.tool("bash", command=f"echo {text} > {name}")
        if answer.status == 200 and answer.json().get("exit_code") == 0:
            self.files[name] = text + "\n"
        return answer.status

    def checkpoint(self, name):
        del name
        return self.ask("POST", f"/v1/sandboxes/{self.sandbox}/checkpoints", {}).status

    def read(self, name):
        answer = self.ask("GET", f"/v1/sandboxes/{self.sandbox}/files?path=/workspace/{name}")
        wanted = self.files.get(name)
        if wanted is UNKNOWN or answer.status not in (200, 404):
            return 0
        if answer.status == 404:
            alive = self.ask("GET", f"/v1/sandboxes/{self.sandbox}").status == 200
            if alive and wanted is not None:
                self.wrong.append(f"{self.sandbox}: {name} has vanished, {wanted!r} was acknowledged")
            return 0 if alive else 404
        if wanted is None or answer.body.decode() != wanted:
            self.wrong.append(f"{self.sandbox}: {name} is {answer.body!r}, {wanted!r} was acknowledged")
            self.files[name] = UNKNOWN
        return 0


class KeyedAgent(Agent):
    """Gives each command a key and asks until it is answered: each runs exactly once."""

    def __init__(self, one, seed):
        super().__init__(one, seed)
        self.sandbox, self.keys, self.acknowledged = None, [], []

    def turn(self):
        if self.sandbox is None:
            made = self.ask("POST", "/v1/sandboxes", {"ttl_ms": 600_000})
            self.sandbox = made.json()["id"] if made.status == 201 else None
            self.keys, self.acknowledged = [], []
            return
        key = f"{self.random.random()}"
        self.keys.append(key)
        for _ in range(20):
            if self.over:
                return
            try:
                answer = self.ask("POST", f"/v1/sandboxes/{self.sandbox}/exec",
                                  {"argv": ["/bin/sh", "-c", f"echo {key} >> /tmp/ran"]},
                                  headers={"Idempotency-Key": key})
            except OSError:
                time.sleep(0.05)
                continue
            if answer.status == 404:
                self.sandbox = None
                return
            if answer.status == 200:
                if answer.json()["outcome"] == "exited":
                    self.acknowledged.append(key)
                break
        if len(self.keys) % 20 == 0:
            self.compare()

    def compare(self):
        answer = self.ask("POST", f"/v1/sandboxes/{self.sandbox}/exec",
                          {"argv": ["/bin/cat", "/tmp/ran"]})
        if answer.status != 200 or answer.json()["outcome"] != "exited":
            return
        ran = answer.json()["stdout"].split()
        for key in self.keys:
            least, count = (1 if key in self.acknowledged else 0), ran.count(key)
            if not least <= count <= 1:
                self.wrong.append(f"{self.sandbox}: the command of key {key} ran {count} times")


class BudgetAgent(Agent):
    """Uses up the budgets of sessions: no more is acknowledged than was allowed."""

    def turn(self):
        name, allowed, done = f"s{self.random.randrange(10 ** 9)}", 5, 0
        self.ask("POST", "/v1/sessions", {"name": name, "budget": {"execs": allowed}})
        for _ in range(8):
            with contextlib.suppress(OSError):
                session = self.ask("POST", "/v1/sessions", {"name": name}).json()
                answer = self.ask("POST", f"/v1/sandboxes/{session['sandbox_id']}/exec",
                                  {"argv": ["/bin/true"]})
                done += answer.status == 200 and answer.json()["outcome"] == "exited"
        if done > allowed:
            self.wrong.append(f"session {name}: {done} commands, {allowed} were allowed")
        self.ask("DELETE", f"/v1/sessions/{name}")


class PoolAgent(Agent):
    def turn(self):
        made = self.ask("POST", "/v1/pools/p/acquire", {"ttl_ms": 60_000})
        if made.status != 201:
            return
        sandbox, word = made.json()["id"], f"{self.random.random()}"
        answer = self.ask("POST", f"/v1/sandboxes/{sandbox}/exec",
                          {"argv": ["/bin/sh", "-c", "cat /tmp/left; echo $0 | tee /tmp/left", word]})
        if answer.status == 200 and answer.json()["outcome"] == "exited":
            if answer.json()["stdout"] != word + "\n":
                self.wrong.append(f"{sandbox}: {answer.json()['stdout']!r} instead of {word}")
        self.ask("POST", f"/v1/sandboxes/{sandbox}/release")


class Faults:
    def __init__(self, one, seed):
        self.one, self.random, self.counts = one, random.Random(seed), {}

    def strike(self):
        fault = self.random.choice((self.kill_daemon, self.kill_launcher, self.kill_client,
                                    self.kill_client, self.freeze_daemon, self.stop_daemon))
        self.counts[fault.__name__] = self.counts.get(fault.__name__, 0) + 1
        fault()

    def kill_daemon(self):
        self.one.stop(signal.SIGKILL)
        self.one.start()

    def stop_daemon(self):
        self.one.stop()
        self.one.start()

    def freeze_daemon(self):
        self.one.process.send_signal(signal.SIGSTOP)
        time.sleep(self.random.uniform(0.1, 1.5))
        self.one.process.send_signal(signal.SIGCONT)

    def kill_launcher(self):
        for pid in launchers(self.one.environment()["NUTSHELL_RUNTIME_DIR"]):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def kill_client(self):
        """A command line without the daemon, killed at any moment of a run or a tool call."""
        words = self.random.choice((["run", "--", "sleep", "0.05"], ["create", "--ttl", "20s"],
                                    ["list"], ["gc"]))
        client = subprocess.Popen([NUTSHELL, *words], env=self.one.environment(),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.random.uniform(0, 0.06))
        client.kill()
        client.wait()


def command(one, *words):
    return subprocess.run([NUTSHELL, *words], env=one.environment(), timeout=120,
                          capture_output=True, text=True, check=False)


def leftovers(one):
    """Describes leftovers after every sandbox was ended."""
    found = []
    for view in one.call("GET", "/v1/sandboxes?limit=1000").json()["sandboxes"]:
        one.call("DELETE", f"/v1/sandboxes/{view['id']}")
    for session in one.call("GET", "/v1/sessions?limit=1000").json()["sessions"]:
        one.call("DELETE", f"/v1/sessions/{session['name']}")
    one.call("POST", "/v1/pools/p/drain")
    if not wait_until(lambda: not command(one, "list", "-q", "--daemon", "none").stdout, 60):
        found.append("sandboxes: " + command(one, "list", "--daemon", "none").stdout)
    process = Path(f"/proc/{one.process.pid}")
    if not wait_until(lambda: len(list((process / "fd").iterdir())) < 100, 30):
        found.append(f"the daemon has {len(list((process / 'fd').iterdir()))} descriptors")
    if not wait_until(lambda: len(list((process / "task").iterdir())) < 200, 30):
        found.append(f"the daemon has {len(list((process / 'task').iterdir()))} threads")
    one.stop()
    verified = command(one, "audit", "verify")
    if verified.returncode:
        found.append("audit verify: " + verified.stdout)
    command(one, "gc", "--daemon", "none")
    swept = json.loads(command(one, "gc", "--dry-run", "--json", "--daemon", "none").stdout)
    if swept["removed"] or swept["failed"]:
        found.append(f"gc leaves {swept}")
    kept = list((one.directory / "state" / "execs").glob("*"))
    if len(kept) > 2 * 2048:
        found.append(f"{len(kept)} files in state/execs")
    return found


def main():
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2 ** 32)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="nutshell-chaos-") as directory:
        one = Daemon(directory, CONFIG).start()
        kinds = (FileAgent, FileAgent, KeyedAgent, BudgetAgent, PoolAgent)
        agents = [kind(one, seed + number) for number, kind in enumerate(kinds)]
        faults, problems = Faults(one, seed), []
        try:
            for agent in agents:
                agent.start()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(faults.random.uniform(0.2, 4))
                faults.strike()
            for agent in agents:
                agent.over = True
            for agent in agents:
                agent.join(120)
            problems = [text for agent in agents for text in agent.wrong] + leftovers(one)
        finally:
            if one.process.poll() is None:
                one.stop()
            one.end_sandboxes()
            one.log.close()
    for text in problems:
        print("FAIL chaos: " + text)
    answers = sum(agent.answers for agent in agents)
    print(f"{answers} answers, faults {faults.counts}")
    is_idle = not all(agent.answers for agent in agents)
    if is_idle:
        print("FAIL chaos: an agent got no answer at all")
    failed = len(problems) + is_idle
    print(f"{0 if failed else 1} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
