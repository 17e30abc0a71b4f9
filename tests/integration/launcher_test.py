#!/usr/bin/env python3
"""The launcher waits for no sandbox, there is only one, and what it clones dies with it."""
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

from clones import clones_of_killed
from support import (NUTSHELL, Skip, Suite, call, children_of, create, destroy, expect,
                     expect_equal, expect_refusal, is_listed, launchers, payloads, random_token,
                     repetitions, runtime_directory, sandbox, scratch, start, wait_until)

suite = Suite()

TOKEN = random_token()
SLEEPER = ("sh", "-c", "sleep 600; : $0", TOKEN)
CONNECT, LIST = 2, 4
SOON = 3  # seconds; a launcher that waits for a sandbox needs five and more


# Talking to the launcher --------------------------------------------------------------------------

def launcher_socket():
    found = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    found.connect(str(runtime_directory() / "launcher.sock"))
    return found


def request(operation, made, zeros):
    name = made.encode()
    return struct.pack("<BI", operation, len(name)) + name + b"\0" * zeros


def only_launcher():
    """The launcher that keeps sandboxes. One that has left may still be cleaning up."""
    expect(wait_until(lambda: len(launchers()) == 1, 20), f"launchers: {launchers()}")
    return launchers()[0]


def empty_fields():
    """How many bytes the rest of a request has; one of another length is hung up on."""
    for zeros in range(60, 400):
        with launcher_socket() as asking:
            asking.send(request(LIST, "", zeros))
            if asking.recv(1 << 17):
                return zeros
    raise Skip("the launcher speaks another language")


def silence(made):
    """Stops the init of a sandbox, so that it reads nothing."""
    process = start("exec", made, "--", *SLEEPER)
    expect(wait_until(lambda: payloads(TOKEN), 20), "no payload")
    inits = {pid for launcher in launchers() for pid in children_of(launcher)}
    [init] = [pid for pid in inits if set(children_of(pid)) & set(payloads(TOKEN))]
    os.kill(init, signal.SIGSTOP)
    process.kill()
    process.communicate()


def fill(made):
    """Asks for connections until the launcher has none to give; the request that waits."""
    zeros, asking = empty_fields(), launcher_socket()
    asking.settimeout(1)
    for _ in range(2000):
        asking.send(request(CONNECT, made, zeros))
        try:
            _, descriptors, _, _ = socket.recv_fds(asking, 1 << 17, 4)
        except TimeoutError:
            return asking
        for descriptor in descriptors:
            os.close(descriptor)
    asking.close()
    raise Skip("init's socket never filled up")


def expect_others_served(other):
    made = ""
    for words in (("create", "--ttl", "60s"), ("exec", other, "--", "true"), ("list", "-q"),
                  ("pause", other), ("resume", other), ("stats", other)):
        ended = call(*words)
        expect_equal(ended.status, 0, f"status of {words[0]} ({ended.stderr[-200:]!r})")
        expect(ended.seconds < SOON, f"{words[0]} took {ended.seconds:.1f} s")
        made = ended.stdout.decode().strip() if words[0] == "create" else made
    ended = destroy(made)
    expect(ended.status == 0 and ended.seconds < SOON, f"destroy: {ended!r}")


# No wait for a sandbox ----------------------------------------------------------------------------

@suite.case
def a_sandbox_that_reads_nothing_delays_no_other():
    with sandbox() as other, sandbox() as made:
        before = [only_launcher()]
        silence(made)
        with fill(made) as waiting:
            expect_others_served(other)
            waiting.settimeout(15)
            answer = waiting.recv(1 << 17)
            expect(b"does not answer" in answer, f"the one that waited: {answer!r}")
        refused = start("exec", made, "--", "true")
        expect_others_served(other)
        _, error = refused.communicate(timeout=20)
        expect(refused.returncode == 125 and b"does not answer" in error, f"its exec: {error!r}")
        expect_equal(launchers(), before, "the launcher")
        ended = destroy(made)
        expect(ended.status == 0 and ended.seconds < 10, f"destroy of the silent one: {ended!r}")
        expect(not is_listed(made), "the silent one is still listed")


@suite.case
def a_pause_that_takes_long_delays_no_other():
    with sandbox() as other, sandbox() as made:
        silence(made)
        pausing = start("pause", made)
        expect_others_served(other)
        pausing.communicate(timeout=20)  # a freezer needs no init; without one this is refused


def spinners(count):
    """A script that spins in so many processes. They wait at a FIFO until all of them are there:
    spinning ones would leave their parent no time to start the others."""
    return (f"mkfifo gate; for i in $(seq {count}); do (read _ < gate; while :; do :; done) & done;"
            f" echo ready; while :; do : > gate; done; : {TOKEN}")


@suite.case
def a_starved_sandbox_delays_no_other_and_ends_quickly():
    if os.geteuid() != 0:
        raise Skip("without a cgroup nobody is held to a hundredth of a CPU")
    count, streams = repetitions(20, 800), repetitions(4, 440)
    with sandbox() as other:
        before = [only_launcher()]
        made = create("--cpus", "0.01", "--processes", "2000", "--ttl", "900s")
        spinner = start("exec", made, "--timeout", "900s", "--", "bash", "-c", spinners(count))
        expect_equal(spinner.stdout.readline(), b"ready\n", "what the spinners' parent says")
        following = [start("exec", made, "--", "sleep", "600") for _ in range(streams)]
        for _ in range(repetitions(1, 20)):
            expect_others_served(other)
        expect_equal(launchers(), before, "the launcher")
        ended = destroy(made)
        expect(ended.status == 0 and ended.seconds < 10, f"destroy: {ended!r}")
        for process in (spinner, *following):
            process.communicate(timeout=30)


# Roots that are used again -------------------------------------------------------------------------

@suite.case
def a_root_serves_one_sandbox_at_a_time_and_keeps_none_of_its_locks():
    lock = ("flock", "-n", "/usr/bin/env", "-c")
    count = 7  # more than are kept
    for _ in range(2):
        with contextlib.ExitStack() as alive:
            for _ in range(count):
                made = alive.enter_context(sandbox())
                holder = start("exec", made, "--", *lock, "echo held; sleep 600")
                expect_equal(holder.stdout.readline(), b"held\n", "a lock that nobody else has")
                alive.callback(holder.communicate)
                alive.callback(holder.kill)


# There is only one --------------------------------------------------------------------------------

@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@suite.case
def a_launcher_that_does_not_answer_is_not_replaced():
    with sandbox() as made:
        launcher = only_launcher()
        waiting = []
        with stopped(launcher), contextlib.ExitStack() as opened:
            with contextlib.suppress(BlockingIOError):
                while len(waiting) < 1000:  # until its queue is full
                    waiting.append(opened.enter_context(
                        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)))
                    waiting[-1].setblocking(False)
                    waiting[-1].connect(str(runtime_directory() / "launcher.sock"))
            asking = [start(*words) for words in
                      (("create",), ("list",), ("exec", made, "--", "true"), ("destroy", made))]
            for process in asking:
                _, error = process.communicate(timeout=40)
                expect(process.returncode != 0 and b"does not answer" in error,
                       f"{process.args[1:3]}: {process.returncode} {error!r}")
            call("gc", seconds=60)
            expect_equal(launchers(), [launcher], "launchers")
        expect_equal(call("exec", made, "--", "echo", "x").stdout, b"x\n", "exec afterwards")
        expect_equal(launchers(), [launcher], "launchers")


@suite.case
def a_launcher_whose_socket_was_removed_is_not_replaced():
    create()
    launcher = only_launcher()
    (runtime_directory() / "launcher.sock").unlink()
    expect_refusal(call("create"), "does not answer")
    expect_refusal(call("list"), "does not answer")
    expect_equal(launchers(), [launcher], "launchers")
    os.kill(launcher, signal.SIGKILL)
    expect(wait_until(lambda: not launchers(), 30), "it is still there")
    with sandbox() as made:
        expect_equal(call("exec", made, "--", "true").status, 0, "exec with the next launcher")


@suite.case
def a_second_launcher_ends_at_once():
    with sandbox() as made:
        launcher = only_launcher()
        program = Path(NUTSHELL).parent / "nutshell-launcher"
        second = subprocess.run(["sh", "-c", 'exec "$0" "$1" 3>&1 >/dev/null', program,
                                 runtime_directory()], stdout=subprocess.PIPE, timeout=20)
        expect(b"another launcher is alive" in second.stdout, f"what it says: {second.stdout!r}")
        expect_equal(launchers(), [launcher], "launchers")
        expect_equal(call("exec", made, "--", "true").status, 0, "exec")


# Clones die with their parent ---------------------------------------------------------------------

def expect_clones_gone(argv, which, skipped=0):
    """Kills the program right after each of its clones, before the clone has run at all."""
    number = skipped
    while True:
        number += 1
        ended = clones_of_killed(argv, number, follows=skipped > 0)
        if ended is None:
            break
        expect(ended < 1, f"{which}: clone {number} lived for {ended:.1f} s after its parent")
        if number >= skipped + 8:  # later on the launcher is idle
            break
    expect(number > skipped + 1, f"{which} cloned nothing")


@suite.case
def processes_cloned_by_a_killed_run_die_at_once():
    expect_clones_gone([NUTSHELL, "run", "--", "true"], "run")


@suite.case
def processes_cloned_by_a_killed_launcher_die_at_once():
    program = str(Path(NUTSHELL).parent / "nutshell-launcher")
    # The first clone is the launcher itself, which outlives the process that started it.
    expect_clones_gone([program, str(runtime_directory())], "the launcher", skipped=1)
    wait_until(lambda: not launchers(), 30)
    call("gc")


UNPACKING = """
import subprocess, sys
unpacker = subprocess.Popen([sys.argv[1], "--report", sys.argv[2]], stdout=subprocess.PIPE)
print(unpacker.pid, flush=True)
unpacker.wait()
"""


def has_ended(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@suite.case
def an_unpacker_dies_with_its_parent():
    program = Path(NUTSHELL).parent / "nutshell-unpack"
    with scratch() as directory:
        archive, never_ends = os.pipe()
        starter = subprocess.Popen([sys.executable, "-c", UNPACKING, program, directory],
                                   stdin=archive, stdout=subprocess.PIPE)
        pid = int(starter.stdout.readline())
        starter.kill()
        starter.communicate()
        expect(wait_until(lambda: has_ended(pid), 30), "it goes on, for nobody")
        os.close(archive)
        os.close(never_ends)


if __name__ == "__main__":
    sys.exit(suite.run())
