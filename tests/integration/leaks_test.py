#!/usr/bin/env python3
"""After `gc` the host has nothing left of a process that was killed at any moment."""
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import (NUTSHELL, Failed, Skip, Suite, call, children_of, create, destroy, destroy_all,
                     expect, expect_equal, expect_gone, expect_refusal, is_init, is_listed,
                     launchers, memory_of, parent_of, payloads, processes, random_token, repetitions,
                     runtime_directory, sandbox, seed_of_run, start, wait_until)

suite = Suite()

TOKEN = random_token()  # in the arguments of every payload of this suite
FOREVER = ("sh", "-c", "sleep 600 & sleep 600; : $0", TOKEN)
GROUP_NAME = re.compile(r"\d+\.(\d+)\.(\d+)\.\d+")


# State of the host ------------------------------------------------------------------------------

def start_time_of(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    return None


def abandoned_groups():
    """Groups below any .../nutshell whose maker is dead; others belong to sandboxes that run."""
    found = set()
    for place, names, _ in os.walk("/sys/fs/cgroup"):
        if Path(place).name != "nutshell":
            continue
        for name in names:
            owner = GROUP_NAME.fullmatch(name)
            if owner and start_time_of(owner[1]) != owner[2]:
                found.add(f"{place}/{name}")
    return found


def is_others(pid):
    """Whether a launcher of another directory, or another test run, is among the process's ancestors."""
    directory = os.fsencode(runtime_directory())
    while pid > 1:
        words = b""
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        if pid == os.getpid() or not words:
            return False
        name = os.path.basename(words[0])
        if name == b"nutshell-launcher" and directory not in words:
            return True
        if not name.startswith(b"nutshell"):
            return name.startswith(b"python")
        pid = parent_of(pid) or 0
    return False


def own_processes():
    """Programs of ours and what they started; none of it is seen before the first case."""
    directory, found = str(Path(NUTSHELL).parent), set(payloads(TOKEN))
    for pid, _ in processes():
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/exe").startswith(directory + "/") and not is_others(pid):
                found.add(pid)
        with contextlib.suppress(OSError, IndexError):
            status = Path(f"/proc/{pid}/status").read_text()
            user = int(status.split("\nUid:")[1].split()[0])
            if os.getuid() and user == os.getuid() and is_init(pid):
                found.add(pid)
    return found


def named_files():
    """Files that bear our name where such files could be left."""
    found = set()
    for place in ("/tmp", "/var/tmp", "/run", "/dev/shm", "/var/lib", "/var/cache"):
        with contextlib.suppress(OSError):
            found.update(f"{place}/{name}" for name in os.listdir(place) if "nutshell" in name)
    return found


def mounts():
    return {line.split(" ", 1)[1] for line in Path("/proc/self/mountinfo").read_text().splitlines()}


def look():
    return {"groups": abandoned_groups(), "processes": own_processes(), "files": named_files(),
            "mounts": mounts()}


def expect_nothing_left(before):
    destroy_all()
    wait_until(lambda: not launchers(), 30)
    wait_until(lambda: own_processes() <= before["processes"], 30)
    swept = call("gc")
    expect_equal(swept.status, 0, f"gc's status ({swept.stdout[-200:]!r})")
    now = look()
    for kind, things in now.items():
        left = {str(thing) for thing in things - before[kind]
                if kind != "files" or not is_others_file(thing)}
        expect(not left, f"{len(left)} {kind} left: {sorted(left)[:4]}")
    files = {path.name for path in runtime_directory().iterdir()}
    templates = {name for name in files if name.startswith("root-")}  # one stays for the next
    expect(len(templates) <= 1, f"left in the runtime directory: {files}")
    files -= templates
    expect(files <= {"lock", "launcher.lock", "launcher.alive", "cgroups"},
           f"left in the runtime directory: {files}")


def is_others_file(name):
    """Whether a suite that runs at the same time made the file: the product uses other names."""
    kinds = r"/nutshell-(engine[-.0-9a-z]*$|(home|test)\.|[a-z]?[0-9a-f]{12}$|test-[A-Za-z0-9]{6}$|([a-z-]+-)?[a-z0-9_]{8}$)"
    return re.search(kinds, name) is not None


# Killing at random instants ---------------------------------------------------------------------

class Killer:
    """Starts something, kills a part of it a random moment later, and waits for the rest."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.kept = create("--ttl", "600s")
        self.lock = threading.Lock()
        self.hung = []

    def delay(self):
        time.sleep(self.numbers.uniform(0, 0.06))

    def sandbox(self):
        """One to exec in; after the launcher's death there is none, and a new one is made."""
        with self.lock:
            if self.kept.encode() not in call("list", "-q").stdout:
                with contextlib.suppress(Failed):  # killed in the middle of it
                    self.kept = create("--ttl", "600s")
            return self.kept

    def finish(self, process, what):
        try:
            process.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.hung.append(what)

    def kill_client(self, *words):
        process = start(*words)
        self.delay()
        process.kill()
        self.finish(process, f"killed {words[0]}")

    def run(self):
        self.kill_client("run", "--", *FOREVER)

    def create(self):
        self.kill_client("create", "--ttl", "60s")

    def exec(self):
        self.kill_client("exec", self.sandbox(), "--", *FOREVER)

    def launcher(self):
        words = self.numbers.choice([("create", "--ttl", "60s"),
                                     ("exec", self.sandbox(), "--", "true")])
        process = start(*words)
        self.delay()
        for pid in launchers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.finish(process, f"{words[0]} with a killed launcher")

    def init(self):
        process = start("run", "--", *FOREVER)
        self.delay()
        until = time.monotonic() + 10  # not once: the first child found may not be init
        while time.monotonic() < until and process.poll() is None:
            for pid in children_of(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.finish(process, "run with a killed init")
        if process.returncode not in (125, 137):
            self.hung.append(f"run with a killed init: status {process.returncode}")


@suite.case
def kills_at_any_instant_leave_nothing():
    seed = seed_of_run()
    before = look()
    killer = Killer(random.Random(seed))
    ways = [killer.run, killer.create, killer.exec, killer.init, killer.run, killer.create,
            killer.exec, killer.init, killer.launcher]
    rounds = repetitions(504, 5004)
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(ways[number % len(ways)]) for number in range(rounds)]:
            done.result()
    expect(not killer.hung, f"seed {seed}: {len(killer.hung)} of {rounds}: {killer.hung[:4]}")
    expect_nothing_left(before)


@suite.case
def a_dead_launcher_takes_its_sandboxes_along():
    before = look()
    for number in (signal.SIGKILL, signal.SIGTERM):
        made = create()
        process = start("exec", "--json", made, "--", *FOREVER)
        expect(wait_until(lambda: payloads(TOKEN), 20), "no payload")
        for pid in launchers():
            os.kill(pid, number)
        output, error = process.communicate(timeout=30)
        expect_equal(process.returncode, 125, f"status of the exec ({error[-200:]!r})")
        expect_equal(json.loads(output)["outcome"], "lost", "outcome")
        expect_gone(TOKEN)
        expect_equal(call("list", "-q").stdout, b"", "list")
        expect_refusal(call("exec", made, "--", "true"), made)
    expect_nothing_left(before)


def init_of_payload():
    """The child of the launcher that is an ancestor of the payload: spare sandboxes have none."""
    expect(wait_until(lambda: payloads(TOKEN), 20), "no payload")
    inits = {pid for launcher in launchers() for pid in children_of(launcher)}
    found = [pid for pid in inits if set(children_of(pid)) & set(payloads(TOKEN))]
    expect_equal(len(found), 1, f"inits with a payload: {found}")
    return found[0]


@suite.case
def a_dead_init_is_a_sandbox_that_ended():
    before = look()
    with sandbox() as other:
        made = create()
        process = start("exec", "--json", made, "--", *FOREVER)
        os.kill(init_of_payload(), signal.SIGKILL)
        output, _ = process.communicate(timeout=30)
        expect_equal((process.returncode, json.loads(output)["outcome"]), (125, "lost"), "its exec")
        expect_gone(TOKEN)
        expect(wait_until(lambda: not is_listed(made), 20), "still listed")
        expect_refusal(call("exec", made, "--", "true"), made)
        expect_equal(call("exec", other, "--", "true").status, 0, "the other sandbox")
    expect_nothing_left(before)


def silence(made):
    """Stops the init of a sandbox, so that it answers nobody."""
    process = start("exec", "--json", made, "--", *FOREVER)
    os.kill(init_of_payload(), signal.SIGSTOP)
    process.kill()
    process.communicate()


@suite.case
def a_silent_init_is_given_up():
    with sandbox() as other:
        made = create("--ttl", "6s")
        silence(made)
        ended = call("exec", "--json", "--timeout", "1s", made, "--", "true", seconds=40)
        expect(ended.status == 125, f"an exec nobody answers: {ended!r}")
        expect_equal(call("exec", other, "--", "true").status, 0, "the other sandbox")
        expect(wait_until(lambda: not is_listed(made), 40),
               "listed long after its ttl")
        made = create()
        silence(made)
        ended = destroy(made)
        expect(ended.status == 0 and ended.seconds < 10, f"destroy of a silent one: {ended!r}")


# Life cycles ------------------------------------------------------------------------------------

def descriptors_of(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return 0  # a launcher in a user namespace of its own does not show them to its user


@suite.case
def cycles_cost_the_launcher_nothing():
    before = look()
    with sandbox():
        [launcher] = launchers()
        sizes = []
        for number in range(repetitions(300, 10000)):
            made = create()
            expect_equal(call("exec", made, "--", "echo", "x").stdout, b"x\n", "exec")
            expect_equal(destroy(made).status, 0, "destroy")
            if number % 50 == 49:
                time.sleep(0.3)  # the kernel takes the last ones apart in the background
                sizes.append((memory_of(launcher), descriptors_of(launcher), len(mounts())))
        expect_equal(launchers(), [launcher], "the launcher")
        growth = sizes[-1][0] - sizes[0][0]
        expect(growth < 2 << 20, f"memory grows by {growth} bytes: {sizes}")
        # A few more sets of pieces may come to be in circulation; a leak would show hundreds.
        expect(sizes[-1][1] <= sizes[0][1] + 30, f"descriptors grow: {sizes}")
        expect_equal(sizes[-1][2], sizes[0][2], "mounts")
    expect_nothing_left(before)


@suite.case
def fifty_at_once():
    before = look()
    small = ("--memory", "32m", "--disk", "1m", "--ttl", "120s")
    with ThreadPoolExecutor(50) as pool:
        ids = list(pool.map(lambda _: create(*small), range(50)))
        expect_equal(len(set(ids)), 50, "different ids")
        expect_equal(set(call("list", "-q").stdout.decode().split()), set(ids), "list")
        expect_equal(len(launchers()), 1, "launchers")
        answers = list(pool.map(lambda made: call("exec", made, "--", "echo", made).stdout, ids))
        expect_equal(answers, [f"{made}\n".encode() for made in ids], "answers")
        statuses = {ended.status for ended in pool.map(destroy, ids)}
        expect_equal(statuses, {0}, "statuses of destroy")
    expect_equal(call("list", "-q").stdout, b"", "list")
    expect_nothing_left(before)


@suite.case
def a_burst_leaves_the_launcher_no_descriptors():
    """Pieces of many sandboxes are kept for the next ones, but not for longer than a moment."""
    with sandbox():
        [launcher] = launchers()
        if not descriptors_of(launcher):
            raise Skip("the launcher does not show its descriptors to its user")
        time.sleep(0.5)  # it makes pieces ahead
        before = descriptors_of(launcher)
        with ThreadPoolExecutor(30) as pool:
            list(pool.map(destroy, list(pool.map(lambda _: create(), range(30)))))
        expect(wait_until(lambda: descriptors_of(launcher) <= before + 30, 20),
               f"descriptors: {before} before, {descriptors_of(launcher)} long after")


@suite.case
def many_sandboxes_leave_room_for_one_more():
    """Resources that the launcher holds for others do not count against a new sandbox's limits."""
    small = ("--memory", "16m", "--disk", "64k", "--open-files", "64", "--ttl", "300s")
    count = repetitions(120, 1000)
    ids = [create(*small) for _ in range(count)]
    expect_equal(len(call("list", "-q").stdout.split()), count, "sandboxes in the list")
    for made in (ids[0], ids[-1]):
        expect_equal(call("exec", made, "--", "sh", "-c", "ulimit -n").stdout, b"64\n", "its limit")
    ended = destroy(*ids)
    expect(ended.status == 0, f"destroy of all: {ended!r}")


@suite.case
def destroy_ends_what_runs():
    with sandbox() as made:
        plain = [start("exec", "--json", made, "--", *FOREVER) for _ in range(5)]
        flood = start("exec", made, "--output-limit", "20g", "--", "sh", "-c", f"yes; : {TOKEN}",
                      stdout=subprocess.DEVNULL)
        expect(wait_until(lambda: len(payloads(TOKEN)) >= 6, 20), "no payload")
        began = time.monotonic()
        statuses = [ended.status for ended in ThreadPoolExecutor(3).map(destroy, [made] * 3)]
        expect(0 in statuses and set(statuses) <= {0, 125}, f"destroy, three at once: {statuses}")
        expect(time.monotonic() - began < 20, "destroy takes long")
        for process in plain:
            output, _ = process.communicate(timeout=20)
            answer = json.loads(output)
            expect_equal((process.returncode, answer["outcome"]), (125, "lost"), "an exec's end")
        flood.communicate(timeout=20)
        expect_equal(flood.returncode, 125, "the flood's status")
    expect_gone(TOKEN)


@suite.case
def starters_of_the_launcher_meet_each_other():
    before = look()
    for _ in range(repetitions(10, 200)):
        expect(wait_until(lambda: not launchers(), 30), "the launcher does not leave")
        with ThreadPoolExecutor(4) as pool:
            ids = list(pool.map(lambda _: create(), range(4)))
        expect_equal(len(launchers()), 1, "launchers")
        expect_equal(set(call("list", "-q").stdout.decode().split()), set(ids), "list")
        expect_equal(destroy(*ids).status, 0, "destroy")
    expect_nothing_left(before)


@suite.case
def commands_never_reach_a_launcher_that_is_ending():
    chosen = random.Random(seed_of_run())
    for number in range(repetitions(60, 1000)):
        made = create()
        expect_equal(call("exec", made, "--", "true").status, 0, f"exec in round {number}")
        expect_equal(destroy(made).status, 0, f"destroy in round {number}")
        time.sleep(chosen.uniform(0, 0.15))


@suite.case
def paused_sandboxes_can_be_ended():
    before = look()
    for end in ("destroy", "launcher", "ttl after resume"):
        made = create("--ttl", "6s" if end == "ttl after resume" else "300s")
        process = start("exec", made, "--", *FOREVER)
        expect(wait_until(lambda: payloads(TOKEN), 20), "no payload")
        expect_equal(call("pause", made).status, 0, "pause")
        expect_equal(call("info", made).status, 0, "info of a paused one")
        if end == "destroy":
            expect_equal(destroy(made).status, 0, "destroy")
        elif end == "launcher":
            for pid in launchers():
                os.kill(pid, signal.SIGKILL)
        else:
            time.sleep(6.5)
            expect(is_listed(made), "a pause does not stop the ttl")
            expect_equal(call("resume", made).status, 0, "resume")
        expect_gone(TOKEN, 15)
        process.communicate(timeout=20)
        expect_equal(process.returncode, 125, f"status of its exec, ended by {end}")
    expect_nothing_left(before)


if __name__ == "__main__":
    sys.exit(suite.run())
