#!/usr/bin/env python3
"""An init begins as a copy of the process that started it. An attacker who took an init over by an
unknown fault must find no secrets in its memory but those of its own sandbox."""
import os
import re
import sys
from pathlib import Path

from support import (Skip, Suite, call, children_of, create, destroy, expect, expect_equal, is_init,
                     launchers, random_token, sandbox, start, wait_until)

suite = Suite()


def need_root():
    if os.geteuid() != 0:
        raise Skip("only root may look into the memory of an init")


def holds(pid, secret):
    """Whether the secret is anywhere in the writable memory of the process."""
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            if "w" not in rights:
                continue
            memory.seek(int(begin, 16))
            part = b""
            while piece := memory.read(int(end, 16) - int(begin, 16) - len(part)):
                part += piece
            if secret.encode() in part:
                return True
    return False


def inits_of(launcher):
    return [pid for pid in children_of(launcher) if is_init(pid)]


@suite.case
def other_sandboxes_environments_are_not_in_init():
    need_root()
    long, short = random_token(), random_token()[-9:]
    with sandbox("--env", f"LONG={long}", "--env", f"S={short}") as made:
        others = [create() for _ in range(4)]
        launcher = launchers()[0]
        wait_until(lambda: len(inits_of(launcher)) > 5, 3)  # spares are made when there is time
        for secret in (long, short):
            expect(not holds(launcher, secret), "the launcher keeps it where its clones take it along")
            found = [pid for pid in inits_of(launcher) if holds(pid, secret)]
            expect_equal(len(found), 1, "the number of inits that know it")
        answer = call("exec", made, "--", "sh", "-c", "echo $LONG $S")
        expect_equal(answer.stdout.decode().split(), [long, short], "what the sandbox has of it")
        forked = call("fork", made).stdout.decode().split()[0]
        answer = call("exec", forked, "--", "sh", "-c", "echo $LONG $S")
        expect_equal(answer.stdout.decode().split(), [long, short], "what its fork has of it")
        destroy(forked, *others)


@suite.case
def the_callers_environment_is_not_in_init():
    need_root()
    secret = random_token()
    os.environ["NUTSHELL_TEST_SECRET"] = secret
    try:
        runner = start("run", "--", "sleep", "600")
        with sandbox():
            expect(wait_until(lambda: any(map(is_init, children_of(runner.pid)))), "no init of run")
            inits = [*filter(is_init, children_of(runner.pid)), *inits_of(launchers()[0])]
            # It is wiped before anything of the sandbox runs.
            expect(wait_until(lambda: not any(holds(pid, secret) for pid in inits), 20),
                   "an init holds what its caller had in its environment")
        expect(holds(runner.pid, secret), "the caller itself has to hold it")
    finally:
        del os.environ["NUTSHELL_TEST_SECRET"]
        runner.terminate()
        runner.wait(30)


if __name__ == "__main__":
    sys.exit(suite.run())
