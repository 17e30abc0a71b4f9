#!/usr/bin/env python3
"""Bytes in and out of a command, and how its caller ends it."""
import base64
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from support import (FAMILY, PATIENCE, PYTHON, Suite, call, call_json, destroy, end_of, expect,
                     expect_equal, expect_gone, memory_of, payloads, random_token, read_line,
                     repetitions, sandbox, start, wait_until)

suite = Suite()

# Output -----------------------------------------------------------------------------------------

@suite.case
def a_slow_reader_holds_the_writer_back():
    size = repetitions(256, 10240) << 20
    process = start("run", "--output-limit", "20g", "--timeout", "10m", "--", "head", "-c",
                    str(size), "/dev/zero", bufsize=0)
    taken = highest = 0
    for _ in range(20):
        taken += len(os.read(process.stdout.fileno(), 1 << 16))
        time.sleep(0.05)
    expect(memory_of(process.pid) < 48 << 20, f"{memory_of(process.pid) >> 20} MiB while it waits")
    while chunk := os.read(process.stdout.fileno(), 1 << 20):
        if (taken >> 24) != (taken + len(chunk)) >> 24:
            highest = max(highest, memory_of(process.pid, "VmHWM"))
        taken += len(chunk)
    expect(0 < highest < 48 << 20, f"the CLI used {highest >> 20} MiB")
    expect_equal((taken, end_of(process)), (size, 0), "bytes and status")


@suite.case
def a_reader_that_never_reads_delays_no_deadline():
    token = random_token()
    process = start("run", "--timeout", "1s", "--", "sh", "-c", f"yes; : {token}")
    try:
        expect(wait_until(lambda: payloads(token)), "it did not start")
        expect_gone(token)
        expect_equal(end_of(process), 124, "status of the CLI whose reader sleeps")
    finally:
        process.kill()


@suite.case
def a_stuck_reader_leaves_the_cli_interruptible():
    process = start("run", "--timeout", "10m", "--", "yes")
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    expect(ready, "it did not start")
    time.sleep(0.3)  # until nobody's reading holds it up
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
    end_of(process)


@suite.case
def a_closed_reader_ends_the_writer():
    token = random_token()
    process = start("run", "--timeout", "60s", "--", "sh", "-c", f"exec yes {token}")
    expect(process.stdout.readline().strip() == token.encode(), "no first line")
    process.stdout.close()
    expect_equal(end_of(process), 128 + signal.SIGPIPE, "status")
    expect_gone(token)


@suite.case
def all_output_comes_before_the_status():
    rounds = repetitions(200, 10000)
    wrong = []
    with sandbox() as made, ThreadPoolExecutor(3) as pool:
        def write(number):
            size = (number * 7919) % 300_000
            text = f"head -c {size} /dev/zero; head -c {size % 5000} /dev/zero >&2; exit 7"
            way = ("exec", made) if number % 10 else ("run",)
            ended = call(*way, "--", "sh", "-c", text)
            if (ended.status, len(ended.stdout), len(ended.stderr)) != (7, size, size % 5000):
                wrong.append((size, repr(ended)[:200], len(ended.stdout), len(ended.stderr)))
        list(pool.map(write, range(rounds)))
    expect(not wrong, f"{len(wrong)} of {rounds}: {wrong[:3]}")


@suite.case
def bytes_are_exact():
    sent = bytes(range(256)) * 400 + b"\xff\xfe\0" * 1000 + b"no newline"
    ended = call("run", "-i", "--", "cat", given=sent)
    expect(ended.stdout == sent, "stdout differs from what was given")
    ended = call("run", "-i", "--", "sh", "-c", "cat >&2", given=sent)
    expect(ended.stderr == sent, "stderr differs from what was given")
    answer = call_json("run", "--", "printf", r"a\377\000b")
    expect_equal(base64.b64decode(answer["stdout_base64"]), b"a\xff\0b", "stdout_base64")
    answer = call_json("run", "--", "printf", r"\303\244\n\000\033[31m")
    expect_equal(answer["stdout"], "ä\n\0\x1b[31m", "stdout")
    expect("stdout_base64" not in answer, "text has no use for base64")


# Input ------------------------------------------------------------------------------------------

@suite.case
def input_that_nobody_reads_blocks_nothing():
    much = b"x" * (10 << 20)
    with sandbox() as made:
        for way in (("run",), ("exec", made)):
            expect_equal(call(*way, "-i", "--", "true", given=much).status, 0, "true")
            expect_equal(call(*way, "-i", "--", "sleep", "0.5", given=much).status, 0, "sleep")
            ended = call(*way, "-i", "--", "head", "-c", "5", given=much)
            expect_equal((ended.status, ended.stdout), (0, b"xxxxx"), "head")
            ended = call(*way, "-i", "--", "wc", "-c", given=much)
            expect_equal(int(ended.stdout), len(much), "wc")


@suite.case
def input_that_stays_open_blocks_nothing():
    for flags in (("-i",), ()):
        process = start("run", *flags, "--", "true", stdin=subprocess.PIPE)
        expect_equal(end_of(process), 0, f"status with {flags}")
    process = start("run", "--", "cat", stdin=subprocess.PIPE)
    expect_equal(end_of(process), 0, "cat without -i sees the end at once")
    process = start("run", "-i", "--", "cat", stdin=subprocess.PIPE, bufsize=0)
    for word in (b"one\n", b"two\n"):
        process.stdin.write(word)
        expect_equal(read_line(process), word, "the echo while input stays open")
    process.stdin.close()
    expect_equal(end_of(process), 0, "cat at the end of its input")


# Cancelling -------------------------------------------------------------------------------------

STUBBORN = """
import os, signal, sys, time
def tell(number, frame): os.write(1, b'got %d\\n' % number)
for number in (1, 2, 3, 15): signal.signal(number, tell)
os.write(1, b'ready\\n')
while True: time.sleep(600)
"""


@suite.case
def an_interrupt_reaches_the_command():
    process = start("run", "--", "sh", "-c", "echo on; exec sleep 600")
    expect_equal(read_line(process), b"on\n", "first line")
    process.send_signal(signal.SIGINT)
    expect_equal(end_of(process), 130, "status of sleep after SIGINT")
    text = "trap 'echo bye; exit 3' TERM; echo on; sleep 600 & wait"
    process = start("run", "--", "sh", "-c", text)
    expect_equal(read_line(process), b"on\n", "first line")
    process.send_signal(signal.SIGTERM)
    expect_equal(end_of(process), 3, "status of a command that handles SIGTERM")


@suite.case
def a_second_interrupt_cancels():
    with sandbox() as made:
        for way in (("run",), ("exec", made)):
            for number in (signal.SIGINT, signal.SIGTERM):
                token = random_token()
                process = start(*way, "--", *PYTHON, STUBBORN, token)
                expect_equal(read_line(process), b"ready\n", "first line")
                process.send_signal(number)
                expect_equal(read_line(process), b"got %d\n" % number, "what the command saw")
                process.send_signal(number)
                expect_equal(end_of(process), 130, f"status after two of {number.name}")
                expect(b"cancelled" in process.stderr.read(), "no word of it on stderr")
                expect_gone(token)
        expect_equal(call("exec", made, "--", "true").status, 0, "the sandbox lives on")


@suite.case
def an_interrupt_with_json_still_gives_one_answer():
    token = random_token()
    with sandbox() as made:
        # A file tells that it handles signals: its output comes only at the end.
        process = start("exec", "--json", made, "--", *PYTHON,
                        STUBBORN.replace("while True", "open('ready', 'w').close()\nwhile True"), token)
        expect(wait_until(lambda: call("exec", made, "--", "test", "-e", "ready").status == 0), "it did not start")
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        status = end_of(process)
        expect_gone(token)
    output = process.stdout.read()
    expect(status == 130 and output, f"status {status} and {len(output)} bytes of JSON")
    expect_equal(json.loads(output)["outcome"], "cancelled", "outcome")


@suite.case
def the_death_of_the_cli_is_the_commands():
    with sandbox() as made:
        for way in (("run",), ("exec", made)):
            token = random_token()
            process = start(*way, "--", *PYTHON, FAMILY, token)
            expect(wait_until(lambda: len(payloads(token)) >= 2, 20), "it did not start")
            process.kill()
            process.wait()
            expect_gone(token)
        expect_equal(call("exec", made, "--", "true").status, 0, "the sandbox lives on")


@suite.case
def execs_of_one_sandbox_end_each_for_itself():
    with sandbox() as made:
        slow = start("exec", "--json", "--timeout", "3s", made, "--", "sleep", "600")
        flood = start("exec", "--output-limit", "20g", made, "--", "yes")
        quick = [call_json("exec", made, "--", "echo", str(i)) for i in range(10)]
        expect_equal([a["stdout"] for a in quick], [f"{i}\n" for i in range(10)], "answers")
        late = max(answer["seconds"] for answer in quick)
        expect(late < 15, f"a stalled flood beside it delays an exec by {late:.1f} s")
        with contextlib.suppress(ProcessLookupError):
            flood.kill()
        flood.communicate()
        expect_equal(end_of(slow), 124, "the slow one's status")
        destroy(made)


if __name__ == "__main__":
    sys.exit(suite.run())
