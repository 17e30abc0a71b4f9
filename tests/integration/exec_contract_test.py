#!/usr/bin/env python3
"""Every exec ends once, in one way, and takes its processes along: whatever the command does."""
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from support import (DAEMON, FAMILY, PYTHON, Suite, call, call_json, create, end_of, expect,
                     expect_equal, expect_gone, expect_outcome, is_listed, payloads, random_token,
                     sandbox, start, wait_until)

suite = Suite()

# By the signal's own default: an interpreter may have other plans for some.
DIE = """
import os, signal, sys
number = int(sys.argv[1])
if number != 9: signal.signal(number, signal.SIG_DFL)
os.kill(os.getpid(), number)
"""
BOMB = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""
SPIN = ("import sys, time\nbegan = time.process_time()\n"
        "while time.process_time() - began < float(sys.argv[1]): pass")
HOG = "import sys, time\nheld = bytearray(b'x') * (int(sys.argv[1]) << 20)\ntime.sleep(0.05)"
# Shared pages: no limit of a single process answers before the sandbox's does. Where init watches
# memory, they have to be a file's.
SHARED_HOG = """
import mmap, sys, tempfile, time
size = int(sys.argv[1]) << 20
file = tempfile.TemporaryFile()
file.truncate(size)
held = mmap.mmap(file.fileno(), size)
for at in range(0, len(held), 1 << 20): held[at:at + (1 << 20)] = bytes(1 << 20)
time.sleep(1)
"""

# Between vfork and exec a child has the memory of its parent.
LARGE_PARENT = """
import subprocess
held = bytearray(b'x') * (40 << 20)
for _ in range(300): subprocess.run(["true"], check=True)
"""


def run_script(text, *words, flags=()):
    return call_json("run", *flags, "--", "sh", "-c", text, "sh", *words)


# How a command ends -----------------------------------------------------------------------------

@suite.case
def exit_codes_are_passed_on():
    with sandbox() as made, ThreadPoolExecutor(2) as pool:
        def of(code):
            return call("exec", made, "--", "sh", "-c", f"exit {code}").status
        found = list(pool.map(of, range(256)))
    wrong = [(code, status) for code, status in enumerate(found) if code != status]
    expect(not wrong, f"(code, status) that differ: {wrong[:10]}")


@suite.case
def signals_are_told_from_exit_codes():
    for number in (1, 2, 3, 6, 9, 11, 13, 15, 34, 64):
        answer = call_json("run", "--", "env", *PYTHON, DIE, str(number))
        expect_outcome(answer, "signalled", 128 + number)
        expect_equal((answer["signal"], answer["exit_code"]), (number, None), "signal, exit_code")
        answer = run_script(f"exit {128 + number}")
        expect_outcome(answer, "exited", 128 + number)
        expect_equal((answer["signal"], answer["exit_code"]), (None, 128 + number), "the pair")


@suite.case
def status_137_has_four_meanings():
    expect_outcome(run_script("exit 137"), "exited", 137)
    expect_outcome(run_script("kill -9 $$"), "signalled", 137)
    hog = call_json("run", "--memory", "64m", "--", *PYTHON, SHARED_HOG, "200")
    expect_outcome(hog, "out_of_memory", 137)
    expect_outcome(run_script("sleep 60", flags=("--timeout", "300ms")), "timed_out", 124)


@suite.case
def memory_counts_once_while_a_program_starts_another():
    large = call_json("run", "--memory", "64m", "--", *PYTHON, LARGE_PARENT)
    expect_outcome(large, "exited", 0)


@suite.case
def an_earlier_memory_death_is_not_the_next_commands():
    with sandbox("--memory", "64m") as made:
        hog = ["sh", "-c", '"$@"; exit 0', "sh", *PYTHON, SHARED_HOG, "200"]
        call_json("exec", made, "--", *hog)
        expect_outcome(call_json("exec", made, "--", "sh", "-c", "exit 137"), "exited", 137)
        expect_outcome(call_json("exec", made, "--", "sh", "-c", "kill -9 $$"), "signalled", 137)


@suite.case
def commands_that_cannot_start_exit_with_126_or_127():
    for words, status in ((["nosuchprogram"], 127), (["/workspace/none"], 127),
                          (["/etc/passwd"], 126), (["/usr"], 126)):
        answer = call_json("run", "--", *words)
        expect_outcome(answer, "exited", status)
        expect(words[0] in answer.get("detail", ""), f"detail does not name it: {answer}")
        ended = call("run", "--", *words)
        expect(ended.status == status and words[0].encode() in ended.stderr, repr(ended))
    text = "printf 'echo from a script' > s; chmod 755 s; exec ./s"
    expect_equal(run_script(text)["exit_code"], 0, "a script without #!, by way of a shell")
    with sandbox() as made:
        write = "printf 'echo it runs' > s; chmod 755 s; printf '#!/none\\n' > t; chmod 755 t"
        call("exec", made, "--", "sh", "-c", write)
        expect_equal(call("exec", made, "--", "./s").stdout, b"it runs\n", "a script without #!")
        expect_equal(call("exec", made, "--", "./t").status, 127, "an interpreter that is missing")


@suite.case
def totals_are_real():
    answer = call_json("run", "--", *PYTHON, SPIN, "0.3")
    expect(280 <= answer["cpu_time_ms"] <= 900, f"cpu_time_ms of a 0.3 s spin: {answer['cpu_time_ms']}")
    expect(answer["duration_ms"] >= 280, f"duration_ms: {answer['duration_ms']}")
    children = ["sh", "-c", '"$@" & "$@" & wait', "sh", *PYTHON, SPIN, "0.2"]
    answer = call_json("run", "--", *children)
    expect(380 <= answer["cpu_time_ms"] <= 1200, f"cpu_time_ms of two spins of 0.2 s: {answer['cpu_time_ms']}")
    answer = call_json("run", "--", "sleep", "0.3")
    expect(290 <= answer["duration_ms"] <= 5000, f"duration_ms of sleep: {answer['duration_ms']}")
    expect(answer["cpu_time_ms"] <= 100, f"cpu_time_ms of sleep: {answer['cpu_time_ms']}")
    expect(0 < answer["peak_memory_bytes"] < 16 << 20, f"peak of sleep: {answer}")
    answer = call_json("run", "--", *PYTHON, HOG, "40")
    peak = answer["peak_memory_bytes"] >> 20
    expect(40 <= peak <= 80, f"peak of 40 MiB and an interpreter: {peak} MiB")


# Trees ------------------------------------------------------------------------------------------

@suite.case
def a_run_takes_its_daemons_along():
    token = random_token()
    answer = call_json("run", "--", *PYTHON, DAEMON, token)
    expect_outcome(answer, "exited", 0)
    expect(answer["seconds"] < 10, f"it waited {answer['seconds']:.1f} s for a holder of its pipe")
    expect_gone(token)


@suite.case
def a_server_outlives_its_exec_but_not_its_sandbox():
    token = random_token()
    with sandbox() as made:
        answer = call_json("exec", made, "--", *PYTHON, DAEMON, token)
        expect_outcome(answer, "exited", 0)
        expect(answer["seconds"] < 10, f"exec took {answer['seconds']:.1f} s")
        time.sleep(0.5)
        # While the server forks, a walk through /proc may meet neither the parent nor the child.
        expect(wait_until(lambda: payloads(token), 5), "the server ended with its exec")
        first = call("exec", made, "--", "cat", "beat").stdout
        expect(wait_until(lambda: call("exec", made, "--", "cat", "beat").stdout != first, 20),
               "the server does not run on")
    expect_gone(token)


@suite.case
def a_server_ends_at_its_execs_timeout():
    token = random_token()
    with sandbox() as made:
        answer = call_json("exec", "--timeout", "5s", made, "--", *PYTHON, DAEMON, token)
        expect_outcome(answer, "exited", 0)
        # While the server forks, a walk through /proc may meet neither the parent nor the child.
        expect(wait_until(lambda: payloads(token), 1), "the server ended with its exec")
        expect_gone(token)
        expect_equal(call("exec", made, "--", "true").status, 0, "exec after it")


@suite.case
def a_timeout_kills_the_whole_tree():
    token, other = random_token(), random_token()
    with sandbox() as made:
        call("exec", made, "--", "sh", "-c", f"sh -c 'sleep 600; : {other}' >/dev/null 2>&1 &")
        answer = call_json("exec", "--timeout", "1s", made, "--", *PYTHON, FAMILY, token)
        expect_outcome(answer, "timed_out", 124)
        expect(950 <= answer["duration_ms"] <= 15000, f"after {answer['duration_ms']} ms")
        first = call("exec", made, "--", "cat", "beat").stdout
        time.sleep(0.2)
        expect_equal(call("exec", made, "--", "cat", "beat").stdout, first, "the heartbeat")
        expect(not payloads(token), f"left: {payloads(token)}")
        expect(payloads(other), "the timeout reached another exec's process")


@suite.case
def a_process_that_stops_itself_meets_its_timeout():
    token = random_token()
    for text in ("kill -STOP $$", "sleep 600 & kill -STOP $! $$",
                 "trap '' TERM INT HUP; sleep 600"):
        answer = run_script(f"{text}; : {token}", flags=("--timeout", "700ms"))
        expect_outcome(answer, "timed_out", 124)
        expect(answer["seconds"] < 15, f"{text}: {answer['seconds']:.1f} s")
        expect_gone(token)


@suite.case
def a_fork_bomb_hurts_only_itself():
    token = random_token()
    with sandbox() as neighbour:
        process = start("run", "--processes", "32", "--timeout", "8s", "--", *PYTHON, BOMB, token)
        expect(wait_until(lambda: len(payloads(token)) > 24, 20), "the bomb does not go off")
        count = max(len(payloads(token)) for _ in range(5))
        expect(count <= 32, f"{count} processes with --processes 32")
        answer = call_json("exec", neighbour, "--", "echo", "fine")
        expect_equal(answer["stdout"], "fine\n", "the neighbour's answer")
        expect(subprocess.run(["true"], check=False).returncode == 0, "the host cannot fork")
        expect_equal(end_of(process), 124, "the bomb's status")
    expect_gone(token)


@suite.case
def a_fork_bomb_in_a_kept_sandbox_dies_at_its_timeout():
    token = random_token()
    with sandbox("--processes", "48") as made:
        answer = call_json("exec", "--timeout", "2s", made, "--", *PYTHON, BOMB, token)
        expect_outcome(answer, "timed_out", 124)
        expect(answer["seconds"] < 30, f"it took {answer['seconds']:.1f} s")
        expect_gone(token)
        expect_equal(call("exec", made, "--", "echo", "well").stdout, b"well\n", "exec after it")


# Limits -----------------------------------------------------------------------------------------

@suite.case
def cpu_time_ends_a_spinner():
    answer = call_json("run", "--cpu-time", "1s", "--timeout", "80s", "--", *PYTHON, SPIN, "600")
    expect_outcome(answer, "timed_out", 124)
    # The kernel's own limit counts in ticks, and is off by some of them.
    expect(700 <= answer["cpu_time_ms"] <= 3000, f"after {answer['cpu_time_ms']} ms of CPU time")


@suite.case
def cpu_time_ends_a_tree_of_short_lives():
    token = random_token()
    text = f"while :; do head -c 30m /dev/zero >/dev/null; done; : {token}"
    answer = call_json("run", "--cpu-time", "1s", "--timeout", "80s", "--", "sh", "-c", text)
    expect_outcome(answer, "timed_out", 124)
    expect(answer["cpu_time_ms"] <= 4000, f"after {answer['cpu_time_ms']} ms of CPU time")
    expect_gone(token)


@suite.case
def cpu_time_ends_a_process_that_ignores_the_signal():
    code = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    answer = call_json("run", "--cpu-time", "1s", "--timeout", "80s", "--", *PYTHON, code)
    expect_outcome(answer, "timed_out", 124)


@suite.case
def the_ttl_ends_a_sandbox():
    token = random_token()
    made = create("--ttl", "1500ms")
    process = start("exec", "--json", made, "--", "sh", "-c", f"sleep 600; : {token}")
    output, _ = process.communicate(timeout=60)
    answer = json.loads(output)
    expect_equal((answer["outcome"], process.returncode), ("lost", 125), "outcome and status")
    # A daemon ends it from outside: init has no time left to say why.
    word = "ended" if os.environ.get("NUTSHELL_THROUGH_DAEMON") else "ttl"
    expect(word in answer.get("detail", ""), f"detail: {answer.get('detail')}")
    expect_gone(token)
    expect(wait_until(lambda: not is_listed(made), 20), "still listed")
    answer = run_script("sleep 600", flags=("--ttl", "500ms"))
    expect_outcome(answer, "lost", 125)


@suite.case
def the_idle_timeout_ends_a_sandbox():
    made = create("--idle-timeout", "4s")
    for _ in range(5):
        time.sleep(1)
        expect_equal(call("exec", made, "--", "true").status, 0, "exec in a used sandbox")
    expect_equal(call("exec", made, "--", "sleep", "5").status, 0, "a long exec is no idleness")
    expect(wait_until(lambda: not is_listed(made), 30), "still listed")


@suite.case
def output_stops_at_its_limit():
    for words in (["head", "-c", "10G", "/dev/zero"], ["sh", "-c", "yes >&2"]):
        token = random_token()
        ended = call("run", "--output-limit", "1m", "--", "sh", "-c", '"$@"', token, *words)
        expect_equal(ended.status, 153, "status")
        expect(b"--output-limit" in ended.stderr[-200:], repr(ended.stderr[-200:]))
        delivered = len(ended.stdout) + ended.stderr.rfind(b"nutshell:")
        expect(1 << 20 <= delivered + 1 <= (1 << 20) + 1, f"{delivered} bytes were delivered")
        expect_gone(token)
    answer = call_json("run", "--output-limit", "1000", "--", "yes")
    expect_outcome(answer, "output_limit", 153)
    expect_equal((len(answer["stdout"]), answer["stdout_truncated"], answer["stderr_truncated"]),
                 (1000, True, False), "length, truncated")
    exact = call_json("run", "--output-limit", "1000", "--", "head", "-c", "1000", "/dev/zero")
    expect_outcome(exact, "exited", 0)


if __name__ == "__main__":
    sys.exit(suite.run())
