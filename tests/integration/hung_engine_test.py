#!/usr/bin/env python3
"""A container engine that accepts connections and never answers affects only its own sandboxes. Those of
every other backend are used and ended at once, by the command line and by the daemon."""
import contextlib
import json
import os
import socket
import sys
import threading

from daemon_client import daemon
from gvisor_program import find_runsc
from support import (Skip, Suite, call, create, expect, expect_equal, expect_refusal, scratch)

suite = Suite()
# The client waits 10 s for an engine. A command that asked one would take longer than this.
AT_ONCE = 8
ENGINES = ("docker", "podman")


@contextlib.contextmanager
def hung_engines():
    """Makes both engines a socket that accepts connections and never answers."""
    with scratch() as place, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "engine.sock"))
        listener.listen(64)
        accepted = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    accepted.append(listener.accept()[0])

        threading.Thread(target=accept, daemon=True).start()
        before = {name: os.environ.get(name) for name in ("DOCKER_HOST", "CONTAINER_HOST")}
        address = f"unix://{place}/engine.sock"
        os.environ.update(DOCKER_HOST=address, CONTAINER_HOST=address)
        try:
            yield accepted
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
            listener.shutdown(socket.SHUT_RDWR)
            for one in accepted:
                one.close()


def at_once(*words, **settings):
    ended = call(*words, **settings)
    expect(ended.status == 0 and ended.seconds < AT_ONCE, f"{words} in {ended.seconds:.1f} s: {ended!r}")
    return ended.stdout


def use_by_command_line(made, accepted):
    expect_equal(at_once("exec", made, "--", "echo", "on"), b"on\n", "exec")
    expect_equal(at_once("exec", made[:8], "--", "echo", "on"), b"on\n", "exec by a beginning")
    expect(b"tool" in at_once("tool", "call", "bash", "-s", made, '{"command": "echo tool > f; cat f"}'),
           "tool")
    at_once("cp", "-", f"{made}:/workspace/in", given=b"copied")
    expect_equal(at_once("cp", f"{made}:/workspace/in", "-"), b"copied", "cp")
    expect(b"copied" in at_once("diff", made), "diff")
    at_once("pause", made)
    at_once("resume", made)
    at_once("info", made)
    at_once("stats", made)
    fork = at_once("fork", made).decode().strip()
    expect_equal(at_once("exec", fork, "--", "cat", "in"), b"copied", "the fork")
    at_once("destroy", fork)
    expect_equal(len(accepted), 0, "an engine was asked")


def run_on(*flags):
    with hung_engines() as accepted:
        made = create(*flags)
        use_by_command_line(made, accepted)
        at_once("destroy", made)
        expect_refusal(call("destroy", made), "no sandbox")
        expect_equal(len(accepted), 0, "an engine was asked")


@suite.case
def native_sandboxes_are_used_at_once():
    run_on("--backend", "native")


@suite.case
def gvisor_sandboxes_are_used_at_once():
    find_runsc()
    run_on("--backend", "gvisor")


@suite.case
def list_shows_the_others_and_names_the_silent_engines():
    """Waits for the engines once, with a sandbox of each backend that needs none."""
    if os.environ.get("NUTSHELL_DAEMON", "none") != "none":
        return  # a daemon lists its sandboxes from its own state
    with hung_engines():
        made = [create("--backend", "native")]
        with contextlib.suppress(Skip):
            find_runsc()
            made.append(create("--backend", "gvisor"))
        ended = call("list", "--json", seconds=60)
        expect_equal(ended.status, 0, f"list: {ended!r}")
        expect_equal(sorted(one["id"] for one in json.loads(ended.stdout)), sorted(made), "list")
        for name in ENGINES:
            expect(f"{name} did not answer".encode() in ended.stderr, f"no warning: {ended!r}")
        # It asks both engines at the same time, and waits 10 s for them.
        expect(ended.seconds < 18, f"list waited {ended.seconds:.1f} s")
        for one in made:
            at_once("destroy", one)


@suite.case
def a_daemon_serves_the_other_backends_at_once():
    with hung_engines(), daemon() as one:
        made = one.make()
        expect_equal(one.execute(made, "echo", "on")["stdout"], "on\n", "exec")
        for method, path, body in (
                ("POST", "tools/bash", {"command": "echo tool"}),
                ("GET", "changes", None), ("GET", "stats", None), ("POST", "pause", None),
                ("POST", "resume", None)):
            answer = one.call(method, f"/v1/sandboxes/{made}/{path}", body)
            expect(answer.status in (200, 204), f"{path}: {answer.status} {answer.body[:300]}")
        listed = one.call("GET", "/v1/sandboxes").json()["sandboxes"]
        expect_equal([each["id"] for each in listed], [made], "list")
        through = {**os.environ, "NUTSHELL_DAEMON": one.socket}
        expect_equal(at_once("exec", made, "--", "echo", "on", env=through), b"on\n",
                     "exec by the command line")
        expect(made.encode() in at_once("list", env=through), "list by the command line")
        at_once("destroy", made, env=through)


if __name__ == "__main__":
    sys.exit(suite.run())
