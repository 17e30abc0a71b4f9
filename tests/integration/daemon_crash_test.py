#!/usr/bin/env python3
"""Clients that are killed in the middle of a request, and, with scripts/test --full, anybody at any time.

The service's and the launcher's deaths at every step are in tests/service/crash_test.cc. Here the
daemon stops at a step, the client of that request is killed, and the daemon goes on.
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

from daemon_client import Daemon, daemon
from support import NUTSHELL, Skip, Suite, expect, expect_equal, launchers, repetitions, seed_of_run, wait_until

suite = Suite()
POOL = '[[pools]]\nname = "p"\nmin_idle = {}\nmax_idle = 2\nmax_total = 4\n'


class FaultyDaemon(Daemon):
    """Stops itself at a step, once."""

    def __init__(self, directory, fault):
        # Nothing else is made than what is asked for, but where something has to wait.
        waiting = 1 if fault.startswith(("acquire", "release")) else 0
        super().__init__(directory, POOL.format(waiting))
        self.fault = fault

    def environment(self):
        return {**super().environment(), "NUTSHELL_TEST_FAULT": self.fault}


@contextlib.contextmanager
def faulty(fault):
    with tempfile.TemporaryDirectory(prefix="nutshell-daemon-") as directory:
        one = FaultyDaemon(directory, fault).start()
        try:
            yield one
        finally:
            if one.process.poll() is None:
                one.process.send_signal(signal.SIGCONT)
                one.stop()
            one.end_sandboxes()
            one.log.close()


def is_stopped(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"
    return False


def curl(one, method, path, body=None, key=None):
    """A real client in a process of its own."""
    words = ["curl", "-sS", "--unix-socket", one.socket, "-X", method, "http://localhost" + path]
    if body is not None:
        words += ["-H", "Content-Type: application/json", "--data-binary", json.dumps(body)]
    if key:
        words += ["-H", f"Idempotency-Key: {key}"]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def living(one):
    """Running sandboxes, as the backends and not the daemon report them."""
    words = subprocess.run([NUTSHELL, "list", "-q"], env=one.environment(), timeout=60,
                           capture_output=True, text=True, check=True).stdout.split()
    return set(words)


def known(one):
    mine = {view["id"] for view in one.call("GET", "/v1/sandboxes").json()["sandboxes"]}
    waiting = one.call("GET", "/v1/pools/p").json()["total"]
    used = one.call("GET", "/v1/pools/p").json()["in_use"]
    return mine, waiting - used


def expect_in_order(one):
    """Every sandbox that runs is somebody's, or waits in the pool."""
    def is_in_order():
        mine, waiting = known(one)
        alive = living(one)
        return mine <= alive and len(alive) == len(mine) + waiting
    expect(wait_until(is_in_order, 20), f"{known(one)} are known, {living(one)} run")


STEPS = [
    # fault, what is there before, the request during which the client dies
    ("create.recorded", None, ("POST", "/v1/sandboxes", {})),
    ("create.started", None, ("POST", "/v1/sandboxes", {})),
    ("create.told", None, ("POST", "/v1/sandboxes", {})),
    ("exec.recorded", "sandbox", ("POST", "/v1/sandboxes/{id}/exec", {"argv": ["/bin/echo", "x"]})),
    ("exec.output", "sandbox", ("POST", "/v1/sandboxes/{id}/exec", {"argv": ["/bin/echo", "x"]})),
    ("exec.noted", "sandbox", ("POST", "/v1/sandboxes/{id}/exec", {"argv": ["/bin/echo", "x"]})),
    ("copy.part", "sandbox", ("PUT", "/v1/sandboxes/{id}/files?path=/workspace/f", "c" * 50000)),
    ("acquire.chosen", None, ("POST", "/v1/pools/p/acquire", {})),
    ("acquire.told", None, ("POST", "/v1/pools/p/acquire", {})),
    ("release.recorded", "acquired", ("POST", "/v1/sandboxes/{id}/release", None)),
    ("destroy.recorded", "sandbox", ("DELETE", "/v1/sandboxes/{id}", None)),
    ("destroy.stopped", "sandbox", ("DELETE", "/v1/sandboxes/{id}", None)),
]


def die_in_the_middle(fault, before, request):
    method, path, body = request
    with faulty(fault + ":stop") as one:
        expect_equal(one.call("POST", "/v1/pools/p/warm").status, 200, "warm")
        sandbox = None
        if before == "sandbox":
            sandbox = one.make()
        if before == "acquired":
            sandbox = one.call("POST", "/v1/pools/p/acquire", {}).json()["id"]
        makes = path in ("/v1/sandboxes", "/v1/pools/p/acquire")
        client = curl(one, method, path.format(id=sandbox), body, "the key" if makes else None)
        expect(wait_until(lambda: is_stopped(one.process.pid), 20), f"{fault}: it did not stop")
        client.kill()
        client.wait()
        one.process.send_signal(signal.SIGCONT)
        expect_in_order(one)
        if makes:  # whoever asks again gets what was made for it, and not another one
            again = one.call(method, path, body, headers={"Idempotency-Key": "the key"})
            expect_equal(again.status, 201, f"{fault}: again")
            expect_equal(known(one)[0], {again.json()["id"]}, f"{fault}: sandboxes")
        elif method == "POST" and path.endswith("/exec"):
            expect_equal(one.execute(sandbox, "/bin/echo", "y")["stdout"], "y\n", fault)
        elif method == "PUT":
            size = one.execute(sandbox, "/bin/sh", "-c", "wc -c < f || echo none")["stdout"]
            expect(size in ("none\n", "50002\n"), f"{fault}: half a file of {size}")
        else:
            expect(wait_until(lambda: sandbox not in living(one), 20), f"{fault}: it runs on")
        one.stop(signal.SIGKILL)
        one.fault = ""
        one.start()
        expect_in_order(one)


@suite.case
def a_client_that_dies_at_any_step_leaves_nothing():
    if subprocess.run(["curl", "--version"], capture_output=True, check=False).returncode:
        raise Skip("curl is missing")
    for step in STEPS:
        die_in_the_middle(*step)


SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long jump(void) {
  long seconds = 0;
  FILE* file = fopen(getenv("CLOCK_JUMP"), "re");
  if (!file) return 0;
  if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
  fclose(file);
  return seconds;
}
int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += jump();
  return status;
}
"""


class JumpyDaemon(Daemon):
    """A daemon whose wall clock is set by a file."""

    def jump(self, seconds):
        (self.directory / "jump").write_text(f"{seconds}\n")

    def environment(self):
        return {**super().environment(), "LD_PRELOAD": str(self.directory / "shim.so"),
                "CLOCK_JUMP": str(self.directory / "jump")}


@suite.case
def a_wall_clock_that_jumps_ends_nothing():
    day = 24 * 3600
    with tempfile.TemporaryDirectory(prefix="nutshell-daemon-") as directory:
        one = JumpyDaemon(directory, POOL.format(1))
        (one.directory / "shim.c").write_text(SHIM)
        built = subprocess.run(["cc", "-shared", "-fPIC", "-o", "shim.so", "shim.c", "-ldl"],
                               cwd=directory, capture_output=True, check=False)
        if built.returncode:
            raise Skip("no C compiler")
        one.jump(0)
        one.start()
        try:
            headers = {"Idempotency-Key": "k"}
            made = one.call("POST", "/v1/sandboxes", {"ttl_ms": 600000}, headers=headers).json()
            session = one.call("POST", "/v1/sessions", {"name": "s", "lease_ms": 600000})
            expect(session.status in (200, 201), f"session: {session.body}")
            for jump in (2 * day, -2 * day, 400 * day, 0):
                one.jump(jump)
                time.sleep(0.7)  # some ticks
                view = one.call("GET", f"/v1/sandboxes/{made['id']}")
                expect_equal(view.status, 200, f"the sandbox after a jump by {jump} s")
                left = view.json()["ttl_left_ms"]
                expect(500000 < left <= 600000, f"{left} ms are left after a jump by {jump} s")
                expect_equal(one.call("GET", "/v1/sessions/s").status, 200, "the session")
                expect_equal(one.execute(made["id"], "/bin/echo", "x")["stdout"], "x\n", "exec")
            one.jump(3 * day)
            one.stop()
            one.start()  # and over a restart
            again = one.call("POST", "/v1/sandboxes", {"ttl_ms": 600000}, headers=headers).json()
            expect_equal(again["id"], made["id"], "the key's sandbox")
            left = one.call("GET", f"/v1/sandboxes/{made['id']}").json()["ttl_left_ms"]
            expect(400000 < left <= 600000, f"{left} ms are left after a restart")
            one.stop()
            verified = subprocess.run([NUTSHELL, "audit", "verify"], env={
                key: value for key, value in one.environment().items() if key != "LD_PRELOAD"},
                                      capture_output=True, text=True, check=False)
            expect_equal(verified.returncode, 0, f"audit verify: {verified.stdout}")
        finally:
            if one.process.poll() is None:
                one.stop()
            one.end_sandboxes()
            one.log.close()


class Agent(threading.Thread):
    """Works until it is told to stop; only what was acknowledged counts."""

    def __init__(self, one, seed):
        super().__init__(daemon=True)
        self.one, self.random, self.over = one, random.Random(seed), False
        self.ran, self.wrong = [], []

    def run(self):
        while not self.over:
            with contextlib.suppress(OSError, ValueError, KeyError):
                self.turn()
            time.sleep(0.01)

    def turn(self):
        pooled = self.random.random() < 0.5
        path = "/v1/pools/p/acquire" if pooled else "/v1/sandboxes"
        made = self.one.call("POST", path, {"ttl_ms": 60000})
        if made.status != 201:
            return
        sandbox, word = made.json()["id"], str(self.random.random())
        answer = self.one.call("POST", f"/v1/sandboxes/{sandbox}/exec",
                               {"argv": ["/bin/echo", word]})
        if answer.status == 200 and answer.json()["outcome"] == "exited":
            self.ran.append(answer.json()["audit_id"])
            if answer.json()["stdout"] != word + "\n":
                self.wrong.append(answer.body)
        path = f"/v1/sandboxes/{sandbox}"
        self.one.call("POST" if pooled else "DELETE", path + ("/release" if pooled else ""))


def recorded(one):
    """The outcome of every record, by its number."""
    outcomes, last = {}, 0
    while page := one.call("GET", f"/v1/audit?cursor={last}&limit=1000").json()["records"]:
        outcomes.update((record["id"], record["outcome"]) for record in page)
        last = page[-1]["id"]
    return outcomes


@suite.case
def any_process_may_die_at_any_time():
    rounds, chosen = repetitions(2, 150), random.Random(seed_of_run())
    with daemon(POOL.format(1)) as one:
        agents = [Agent(one, number) for number in range(4)]
        for agent in agents:
            agent.start()
        for turn in range(rounds):
            time.sleep(chosen.uniform(0.1, 1.0))
            who = ("daemon", "launcher", "client")[turn % 3]
            if who == "client":
                client = curl(one, "POST", "/v1/sandboxes", {"ttl_ms": 60000})
                time.sleep(chosen.uniform(0, 0.02))
                client.kill()
                client.wait()
            if who == "launcher":
                for pid in launchers(one.environment()["NUTSHELL_RUNTIME_DIR"]):
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
            if who == "daemon":
                one.stop(signal.SIGKILL)
                one.start()
        for agent in agents:
            agent.over = True
        for agent in agents:
            agent.join(90)
        expect_equal([text for agent in agents for text in agent.wrong], [], "wrong answers")
        expect_in_order(one)
        told = [number for agent in agents for number in agent.ran]
        expect(told, "nothing was done")
        outcomes = recorded(one)
        for number in told:
            expect_equal(outcomes.get(number), "exited 0", f"record {number}")
        for view in one.call("GET", "/v1/sandboxes?limit=1000").json()["sandboxes"]:
            one.call("DELETE", f"/v1/sandboxes/{view['id']}")
        one.call("POST", "/v1/pools/p/drain")
        expect(wait_until(lambda: not living(one), 30), f"{living(one)} run on")


@suite.case
def a_copy_through_a_daemon_that_dies_says_what_is_known():
    with daemon() as one:
        made = one.make()
        environment = {**one.environment(), "NUTSHELL_DAEMON": one.socket}
        copying = subprocess.Popen([NUTSHELL, "cp", "-", f"{made}:/workspace/file"], env=environment,
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        copying.stdin.write(b"x" * (1 << 20))
        copying.stdin.flush()
        expect(wait_until(lambda: any(
            each["action"] == "write file"
            for each in one.call("GET", f"/v1/audit?sandbox={made}").json()["records"]), 20),
            "the copy does not begin")
        one.process.kill()
        one.process.wait(60)
        with contextlib.suppress(BrokenPipeError):
            copying.stdin.write(b"x" * (1 << 20))
        _, told = copying.communicate(timeout=60)
        expect(copying.returncode != 0 and b"the daemon went away" in told, f"it says {told!r}")
        expect(b"the sandbox has ended" not in told, f"it says {told!r}")


if __name__ == "__main__":
    sys.exit(suite.run())
