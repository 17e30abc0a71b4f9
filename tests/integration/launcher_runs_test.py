#!/usr/bin/env python3
"""One-shot runs that a launcher starts: the same sandbox, the same end, and no launcher for ever."""
import contextlib
import os
import resource
import signal
import sys
import time
from pathlib import Path
from random import Random

from support import (Suite, call, call_json, children_of, create, destroy, expect,
                     expect_equal, expect_gone, launchers, payloads, random_token,
                     repetitions, sandbox, start, wait_until)

suite = Suite()

TOKEN = random_token()
FOREVER = ("sh", "-c", "sleep 600 & sleep 600; : $0", TOKEN)


def only_launcher():
    expect(wait_until(lambda: len(launchers()) == 1, 20), f"launchers: {launchers()}")
    return launchers()[0]


def ancestors_of(pid):
    found = []
    while pid > 1:
        with contextlib.suppress(OSError):
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            found.append(pid)
            continue
        break
    return found


def running(**settings):
    """A run whose payload is there, and the pids of the payload."""
    process = start("run", "--", *FOREVER, **settings)
    expect(wait_until(lambda: len(payloads(TOKEN)) >= 1, 20), "the command does not run")
    return process, payloads(TOKEN)


def is_of_launcher(pids):
    launcher = only_launcher()
    return all(launcher in ancestors_of(pid) for pid in pids)


@contextlib.contextmanager
def no_run_left(process):
    try:
        yield
    finally:
        process.kill()
        process.communicate()
        expect_gone(TOKEN)


# Which process starts it --------------------------------------------------------------------------

@suite.case
def a_run_without_a_launcher_starts_none():
    expect(wait_until(lambda: not launchers(), 30), "one is left")
    expect_equal(call("run", "--", "true").status, 0, "status")
    expect_equal(launchers(), [], "launchers")


@suite.case
def a_launcher_that_is_alive_starts_it():
    with sandbox():
        process, pids = running()
        with no_run_left(process):
            expect(is_of_launcher(pids), f"ancestors: {[ancestors_of(pid) for pid in pids]}")


@suite.case
def its_result_is_the_same():
    script = "cat; id -u; ls -A /workspace /tmp; pwd; echo \"$HOME $A\"; echo no >&2; exit 7"
    words = ("-i", "-e", "A=b", "--", "sh", "-c", script)
    apart = call("run", *words, given=b"in\n")
    with sandbox():
        together = call("run", *words, given=b"in\n")
    for one in (apart, together):
        expect_equal(one.status, 7, f"status of {one!r}")
    expect_equal(together.stdout, apart.stdout, "standard output")
    expect_equal(together.stderr, apart.stderr, "standard error")


@suite.case
def its_protections_are_the_same():
    names = ("NoNewPrivs", "Seccomp", "Seccomp_filters", "CapEff", "CapBnd", "Uid", "Gid", "Groups")
    # The number of processes is left out: a spare for any sandbox counts a second thread of init.
    script = (f"grep -E '^({'|'.join(names)}):' /proc/self/status; ulimit -a | grep -v ^process;"
              "cat /proc/net/dev; cut -d' ' -f5 /proc/self/mountinfo | sort; touch /etc/x /usr/x;"
              "ls /proc > /tmp/seen; grep -c '^[0-9]' /tmp/seen")
    apart = call("run", "--", "sh", "-c", script)
    with sandbox():
        for _ in range(3):
            together = call("run", "--", "sh", "-c", script)
            expect_equal(together.stdout, apart.stdout, "what it sees of its protections")
            expect_equal(together.stderr, apart.stderr, "what is refused")


@suite.case
def each_has_its_own_namespaces_and_sees_nothing_of_the_one_before():
    links = "for n in net pid ipc uts mnt user cgroup; do readlink /proc/self/ns/$n; done"
    with sandbox() as made:
        kept = call("exec", made, "--", "sh", "-c", links).stdout
        own = {os.readlink(f"/proc/self/ns/{name}").encode()
               for name in ("net", "pid", "ipc", "uts", "mnt", "user", "cgroup")}
        for _ in range(6):
            script = f"{links}; ls -A /workspace /tmp/home /tmp /dev/shm; echo x > /tmp/secret"
            seen = call("run", "--", "sh", "-c", script).stdout
            expect(not own & set(seen.split()), "a namespace of the host")
            expect(not set(kept.split()) & set(seen.split()), "a namespace of another sandbox")
            expect(b"secret" not in seen, f"a file of the run before: {seen!r}")


@suite.case
def limits_of_the_caller_hold():
    """Then the launcher, which has others, does not start it."""
    cpu = min(os.sched_getaffinity(0))
    with sandbox():
        for prepare, script, wanted in (
                (lambda: os.nice(5), "cut -d' ' -f19 /proc/self/stat", os.nice(0) + 5),
                (lambda: os.sched_setaffinity(0, {cpu}),
                 "grep Cpus_allowed_list /proc/self/status | cut -f2", cpu),
                (lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)), "ulimit -Hc", 0)):
            ended = call("run", "--", "sh", "-c", script, preexec_fn=prepare)
            expect_equal(ended.stdout.decode().strip(), str(wanted), f"{script} ({ended!r})")
        process, pids = running(preexec_fn=lambda: os.nice(3))
        with no_run_left(process):
            expect(not is_of_launcher(pids), "the launcher starts it in spite of another priority")


@suite.case
def it_is_not_listed_and_not_reached():
    with sandbox() as made:
        process, _ = running()
        with no_run_left(process):
            listed = call("list", "-q").stdout.decode().split()
            expect_equal(listed, [made], "the sandboxes that are listed")


# End of a run ------------------------------------------------------------------------------------------

@suite.case
def it_dies_with_its_caller():
    with sandbox() as made:
        for _ in range(repetitions(5, 50)):
            process, pids = running()
            expect(is_of_launcher(pids), "the launcher does not start it")
            process.kill()
            process.communicate()
            expect_gone(TOKEN)
        expect_equal(call("exec", made, "--", "echo", "x").stdout, b"x\n", "the other sandbox")


@suite.case
def a_caller_killed_at_any_moment_of_the_start_leaves_nothing():
    random = Random(int(os.environ.get("NUTSHELL_SEED", "1")))
    with sandbox() as made:
        launcher = only_launcher()
        call("run", "--", "true")
        for _ in range(repetitions(60, 500)):
            process = start("run", "--", *FOREVER)
            time.sleep(random.random() * 0.006)
            process.kill()
            process.communicate()
        expect_gone(TOKEN)
        # The kept sandbox and at most two spares, none of which runs a command.
        expect(wait_until(lambda: len(children_of(launcher)) <= 3, 20),
               f"children of the launcher: {children_of(launcher)}")
        expect_equal(call("list", "-q").stdout.decode().split(), [made], "sandboxes")
        expect_equal(call("run", "--", "echo", "x").stdout, b"x\n", "the next run")


@suite.case
def it_dies_with_its_caller_while_the_launcher_is_stopped():
    with sandbox():
        process, pids = running()
        expect(is_of_launcher(pids), "the launcher does not start it")
        launcher = only_launcher()
        os.kill(launcher, signal.SIGSTOP)
        try:
            process.kill()
            process.communicate()
            expect(wait_until(lambda: not payloads(TOKEN), 20), "it goes on without its caller")
        finally:
            os.kill(launcher, signal.SIGCONT)


@suite.case
def it_dies_with_the_launcher():
    create("--ttl", "60s")
    process, pids = running()
    expect(is_of_launcher(pids), "the launcher does not start it")
    os.kill(only_launcher(), signal.SIGKILL)
    process.communicate(timeout=20)
    expect(process.returncode != 0, "its caller reports success")
    expect_gone(TOKEN)
    expect_equal(call("run", "--", "echo", "x").stdout, b"x\n", "the next run")


@suite.case
def what_it_leaves_running_ends_with_it():
    with sandbox():
        for _ in range(3):
            ended = call("run", "--", "sh", "-c", "setsid sleep 600 & echo $!; : $0", TOKEN)
            expect_equal(ended.status, 0, f"status of {ended!r}")
            expect_equal(payloads(TOKEN), [], "processes when it has returned")


@suite.case
def its_timeout_and_its_memory_limit_hold():
    with sandbox():
        slow = call_json("run", "--timeout", "1s", "--", "sleep", "600")
        expect_equal(slow["outcome"], "timed_out", "outcome")
        large = call_json("run", "--memory", "64m", "--", "sh", "-c", "head -c 300m /dev/zero | tail")
        expect(large["status"] != 0, f"beyond the memory limit: {large}")


# A launcher that is no help -----------------------------------------------------------------------

@suite.case
def a_launcher_that_does_not_answer_is_done_without():
    with sandbox():
        launcher = only_launcher()
        os.kill(launcher, signal.SIGSTOP)
        try:
            ended = call("run", "--", "echo", "x", seconds=30)
            expect_equal(ended.stdout, b"x\n", f"output of {ended!r}")
        finally:
            os.kill(launcher, signal.SIGCONT)
        expect_equal(call("run", "--", "echo", "y").stdout, b"y\n", "afterwards")


# How long the launcher stays ----------------------------------------------------------------------

def lingering(value):
    return {**os.environ, "NUTSHELL_LAUNCHER_LINGER": value}


@suite.case
def it_stays_as_long_as_it_was_told():
    made = call("create", env=lingering("4s")).stdout.decode().strip()
    only_launcher()
    ending = time.monotonic()
    destroy(made)
    expect(wait_until(lambda: not launchers(), 30), "it stays for ever")
    expect(time.monotonic() - ending >= 4, "it left too early")


@suite.case
def a_run_makes_it_stay_longer_and_zero_turns_it_off():
    made = call("create", env=lingering("60s")).stdout.decode().strip()
    only_launcher()
    destroy(made)
    expect_equal(call("run", "--", "true", env=lingering("0")).status, 0, "run")
    expect(wait_until(lambda: not launchers(), 20), "it stays although it is told not to")


@suite.case
def a_wrong_time_is_named():
    ended = call("create", env=lingering("soon"))
    expect(ended.status == 125 and b"NUTSHELL_LAUNCHER_LINGER" in ended.stderr, f"{ended!r}")


if __name__ == "__main__":
    sys.exit(suite.run())
