#!/usr/bin/env python3
"""Programs in a terminal: job control, sizes, and the settings afterwards."""
import contextlib
import fcntl
import os
import secrets
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from support import (PATIENCE, Suite, call, command_line, expect, expect_equal, expect_gone, processes,
                     random_token, sandbox, wait_until)

suite = Suite()

class Terminal:
    """A terminal with nutshell as the leader of its session."""

    def __init__(self, *words, rows=33, columns=100):
        self.master, self.slave = os.openpty()
        os.set_blocking(self.master, False)
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        environment = dict(os.environ, TERM="vt100")
        self.process = subprocess.Popen(command_line(*words), stdin=self.slave, stdout=self.slave,
                                        stderr=self.slave, preexec_fn=take_terminal,
                                        env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for fd in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(fd)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text):
        os.write(self.master, text.encode())

    def expect(self, wanted, seconds=PATIENCE):
        """Reads on until the text has come; what comes before it is done with."""
        until = time.monotonic() + seconds
        while wanted.encode() not in self.seen:
            expect(time.monotonic() < until, f"no {wanted!r}; seen: {self.seen[-300:]!r}")
            with contextlib.suppress(BlockingIOError, OSError):
                self.seen += os.read(self.master, 4096)
            time.sleep(0.01)
        self.seen = self.seen.split(wanted.encode(), 1)[1]

    def do(self, command, wanted):
        self.send(command + "\r")
        self.expect(wanted)

    def end(self, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(BlockingIOError, OSError):
                self.seen += os.read(self.master, 4096)
            time.sleep(0.01)
        expect(self.process.poll() is not None, f"nutshell does not end: {self.seen[-300:]!r}")
        return self.process.returncode


def expect_state(number, state):
    """Waits until `sleep NUMBER` has that state; bash gives it the terminal before it begins."""
    def states():
        for pid, words in processes():
            if words == [b"sleep", b"%d" % number]:
                with contextlib.suppress(OSError):
                    yield Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    expect(wait_until(lambda: state in states()), f"sleep {number} is not {state}")


@suite.case
def a_shell_in_a_terminal_has_job_control():
    with sandbox() as made:
        for way in (("run", "-it"), ("exec", "-it", made)):
            number = 10 ** 9 + secrets.randbelow(10 ** 9)  # seconds that no other process sleeps
            with Terminal(*way, "--", "bash", "--norc") as terminal:
                terminal.do("PS1='rea''dy> '", "ready> ")
                terminal.do("stty size", "33 100")
                terminal.resize(44, 120)
                terminal.do("until stty size | grep '^44 1'; do sleep 0.1; done", "44 120")
                terminal.do("echo $TERM; tty", "vt100")
                terminal.expect("/dev/pts/")
                terminal.do(f"sleep {number}", f"sleep {number}")
                expect_state(number, "S")
                terminal.send("\x1a")
                terminal.expect("Stopped")
                terminal.do("jobs", f"sleep {number}")
                terminal.do("fg", f"sleep {number}")
                expect_state(number, "S")
                terminal.send("\x03")
                terminal.expect("ready> ")
                terminal.do("echo status=$?", "status=130")
                terminal.send("exit 7\r")
                expect_equal(terminal.end(), 7, "exit status")
                expect_equal(termios.tcgetattr(terminal.slave), terminal.before, "the settings")


@suite.case
def the_prompt_says_that_it_is_a_sandbox():
    with sandbox() as made:
        for way in (("run", "-it"), ("exec", "-it", made)):
            with Terminal(*way, "--", "bash", "--norc") as terminal:
                terminal.expect("(sandbox) ")
                terminal.send("exit\r")
                expect_equal(terminal.end(), 0, "exit status")


@suite.case
def a_terminal_is_restored_however_it_ends():
    for words, status in ((("--timeout", "500ms", "--", "sleep", "60"), 124),
                          (("--", "sh", "-c", "kill -9 $$"), 137), (("--", "nosuch"), 127),
                          (("--workdir", "/none", "--", "true"), 125)):
        with Terminal("run", "-it", *words) as terminal:
            expect_equal(terminal.end(), status, f"status of {words}")
            expect_equal(termios.tcgetattr(terminal.slave), terminal.before, f"after {words}")


@suite.case
def a_terminal_survives_odd_sizes_and_hangs_up():
    token = random_token()
    with Terminal("run", "-it", "--", "bash", "--norc", "-c",
                  f"echo up; sleep 600; : {token}") as terminal:
        terminal.expect("up")
        for number in range(300):
            terminal.resize(65535 if number % 2 else 0, (number * 321) % 65536)
        expect(terminal.process.poll() is None, "it ended")
        os.close(terminal.slave)
        os.close(terminal.master)
        terminal.process.wait(20)
    expect_gone(token)


@suite.case
def end_of_input_ends_a_terminals_reader():
    with Terminal("run", "-it", "--", "cat") as terminal:
        terminal.do("echo me", "echo me\r\necho me")
        terminal.send("\x04")
        expect_equal(terminal.end(), 0, "cat after Ctrl-D")
    ended = call("run", "-it", "--", "sh", "-c", "tty; stty size", given=b"")
    expect(ended.status == 0 and b"/dev/pts" in ended.stdout, f"-t without a terminal: {ended!r}")
    ended = call("run", "--", "tty")
    expect_equal(ended.stdout, b"not a tty\n", "without -t")


if __name__ == "__main__":
    sys.exit(suite.run())
