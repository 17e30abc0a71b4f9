#!/usr/bin/env python3
"""Where the launcher is met: nobody else gets in, and nothing there is trusted."""
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from support import (PYTHON, Skip, Suite, call, expect, expect_equal, expect_refusal, launchers,
                     runtime_directory, sandbox, wait_until)

suite = Suite()

@contextlib.contextmanager
def other_directory():
    with tempfile.TemporaryDirectory(prefix="nutshell-runtime-") as name:
        path = Path(name) / "own"
        yield path, dict(os.environ, NUTSHELL_RUNTIME_DIR=str(path))
        wait_until(lambda: not launchers(path), 30)


def socket_name():
    with sandbox():
        [name] = [path.name for path in runtime_directory().iterdir() if path.is_socket()]
    return name


def expect_life(environment, what):
    made = call("create", env=environment)
    expect(made.status == 0, f"create with {what}: {made!r}")
    expect_equal(call("destroy", made.stdout.decode().strip(), env=environment).status, 0, what)


@suite.case
def the_runtime_directory_is_private():
    with other_directory() as (path, environment):
        made = call("create", env=environment).stdout.decode().strip()
        expect_equal(oct(path.stat().st_mode & 0o777), "0o700", "its mode")
        for item in path.iterdir():
            expect(item.lstat().st_mode & 0o077 == 0 or item.is_socket(), f"mode of {item.name}")
        call("destroy", made, env=environment)
        wait_until(lambda: not launchers(path), 30)
        for mode in (0o755, 0o770, 0o707):
            path.chmod(mode)
            for words in (("create",), ("list",), ("exec", made, "--", "true")):
                ended = call(*words, env=environment)
                expect_refusal(ended, str(path), "0700", "NUTSHELL_RUNTIME_DIR")
        path.chmod(0o700)
        expect_life(environment, "the right mode again")
        if os.getuid() == 0:
            os.chown(path, 65534, 65534)
            expect_refusal(call("create", env=environment), str(path), "NUTSHELL_RUNTIME_DIR")
            os.chown(path, 0, 0)


@suite.case
def a_link_is_no_runtime_directory():
    with other_directory() as (path, environment):
        target = path.parent / "target"
        target.mkdir(mode=0o700)
        path.symlink_to(target)
        expect_refusal(call("create", env=environment), str(path))
        expect_equal(list(target.iterdir()), [], "made through the link")
        path.unlink()
        path.write_text("a file")
        expect_refusal(call("create", env=environment), str(path))
        path.unlink()
        environment["NUTSHELL_RUNTIME_DIR"] = "/proc/none/here"
        expect_refusal(call("create", env=environment), "/proc/none/here")


@suite.case
def a_stale_socket_is_replaced():
    name = socket_name()
    with other_directory() as (path, environment):
        path.mkdir(mode=0o700)
        stale = path / name
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
            dead.bind(str(stale))
        expect_equal(call("list", env=environment).status, 0, "list with a stale socket")
        expect_life(environment, "a stale socket")
        canary = path.parent / "canary"
        canary.write_text("canary")
        wait_until(lambda: not launchers(path), 30)
        stale.symlink_to(canary)
        expect_life(environment, "a link in the socket's place")
        expect_equal(canary.read_text(), "canary", "what the link led to")
        wait_until(lambda: not launchers(path), 30)
        stale.write_text("no socket")
        expect_life(environment, "a file in the socket's place")


@suite.case
def the_lock_is_not_taken_through_a_link():
    with other_directory() as (path, environment):
        expect_life(environment, "a fresh directory")
        wait_until(lambda: not launchers(path), 30)
        canary = path.parent / "canary"
        locks = [item for item in path.iterdir() if item.is_file() and not item.is_symlink()]
        expect(len(locks) >= 2, f"locks: {locks}")
        for lock in locks:
            lock.unlink()
            lock.symlink_to(canary)
            expect_refusal(call("create", env=environment), lock.name)
            expect(not canary.exists(), "a file was made through the link")
            lock.unlink()


# Connects as nobody, and says how far it came.
STRANGER = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.settimeout(5)
try:
    client.connect(sys.argv[1])
    print('answered' if client.recv(10) else 'dropped')
except PermissionError: print('refused')
except ConnectionResetError: print('dropped')
"""


@suite.case
def other_users_cannot_enter():
    if os.getuid() != 0:
        raise Skip("only root can try as somebody else")
    with sandbox() as made:
        [name] = [path for path in runtime_directory().iterdir() if path.is_socket()]

        def try_as_stranger():
            tried = subprocess.run([*PYTHON, STRANGER, str(name)], capture_output=True, check=False)
            return tried.stdout.decode().strip() or tried.stderr.decode()[-200:]
        expect_equal(try_as_stranger(), "refused", "a stranger")
        runtime_directory().chmod(0o711)
        name.chmod(0o777)
        try:
            expect_equal(try_as_stranger(), "dropped", "a stranger behind an open door")
        finally:
            runtime_directory().chmod(0o700)
        expect_equal(call("exec", made, "--", "true").status, 0, "its owner's exec")


if __name__ == "__main__":
    sys.exit(suite.run())
