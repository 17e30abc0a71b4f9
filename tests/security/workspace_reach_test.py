#!/usr/bin/env python3
"""Nothing of the host answers a command through its workspace, on any backend: no socket, FIFO or
device in the directory, at any depth, and no file that comes into it after the start where the
workspace is a copy."""
import contextlib
import os
import socket
import stat
import sys
import threading
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/integration"))

from engines import engine, flags  # noqa: E402
from gvisor_program import find_runsc  # noqa: E402
from support import PYTHON, Suite, call, destroy, expect, expect_equal, needs_full, scratch  # noqa: E402

suite = Suite()
SPECIAL = ("stream.sock", "deep/er/stream.sock", "datagram.sock", "fifo", "deep/er/fifo", "device")
# Says a line for everything that answers, or that holds what the host put into it.
PROBE = """
import os, socket
def attempt(what, do):
    try:
        got = do()
    except OSError as error:
        return
    if got: print("REACHED", what, got)
def connect(path):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(5)
        peer.connect(path)
        return peer.recv(100)
def tell(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as peer:
        return peer.sendto(b"from inside", path)
def drain(path):
    return os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 100)
for place in ("", "deep/er/"):
    attempt("stream", lambda: connect(place + "stream.sock"))
    attempt("fifo", lambda: drain(place + "fifo"))
    os.mkdir(place + "moved")
    for name in ("stream.sock", "fifo"):
        attempt("renamed", lambda: os.rename(place + name, place + "moved/" + name))
        attempt("chmod", lambda: os.chmod(place + "moved/" + name, 0o777))
    attempt("stream of the upper layer", lambda: connect(place + "moved/stream.sock"))
    attempt("fifo of the upper layer", lambda: drain(place + "moved/fifo"))
attempt("datagram", lambda: tell("datagram.sock"))
attempt("device", lambda: os.read(os.open("device", os.O_RDONLY), 10))
print("tried")
"""


class Host:
    """A directory with everything that could answer, and whoever would."""

    def __init__(self, directory):
        self.directory, self.reached = directory, []
        (directory / "deep/er").mkdir(parents=True)
        (directory / "deep/er/file").write_text("plain\n")
        for name in ("stream.sock", "deep/er/stream.sock"):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(directory / name))
            listener.listen()
            threading.Thread(target=self.answer, args=(listener,), daemon=True).start()
        self.datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagrams.bind(str(directory / "datagram.sock"))
        self.fifos = []
        for name in ("fifo", "deep/er/fifo"):
            os.mkfifo(directory / name)
            self.fifos.append(os.open(directory / name, os.O_RDWR | os.O_NONBLOCK))
            os.write(self.fifos[-1], b"from the host")
        if os.geteuid() == 0:
            os.mknod(directory / "device", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
        for path in directory.rglob("*"):
            os.chmod(path, 0o777)
        os.chmod(directory, 0o777)

    def answer(self, listener):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                self.reached.append("a stream socket was connected to")
                peer.sendall(b"the host answers")
                peer.close()

    def expect_untouched(self):
        expect(not self.reached, f"{self.reached}")
        self.datagrams.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            raise AssertionError(f"a datagram came: {self.datagrams.recv(100)}")
        for number in self.fifos:
            expect_equal(os.read(number, 100), b"from the host", "what is in the FIFO")
            os.close(number)

    def present(self):
        return [name for name in SPECIAL if (self.directory / name).exists()]


@contextlib.contextmanager
def started(host, *words):
    ended = call("create", *words, "--workspace", str(host.directory))
    expect_equal(ended.status, 0, f"create {ended!r}")
    made = ended.stdout.decode().strip()
    try:
        yield made, ended.stderr.decode()
    finally:
        destroy(made)


def expect_named(host, said):
    for name in host.present():
        expect(name in said, f"{name} is not named at the start: {said!r}")
    expect(str(host.directory) in said, f"the directory is not named: {said!r}")


def expect_no_way(words):
    """For a backend that copies. An image may lack a program that connects, so the test walks through all of
    the sandbox: a socket that cannot be found cannot be connected to."""
    with scratch() as directory:
        host = Host(directory)
        with started(host, *words) as (made, said):
            expect_named(host, said)
            (directory / "later-on-the-host").write_text("x")
            script = ("cat deep/er/file; find / \\( -path /proc -o -path /dev -o -path /sys -o -path /usr \\) -prune"
                      " -o \\( -type s -o -type p -o -type b -o -type c -o -name later-on-the-host \\)"
                      " -print 2>/dev/null; cat /proc/self/mounts")
            ended = call("exec", made, "--", "sh", "-c", script)
            lines = ended.stdout.decode().splitlines()
            expect_equal(lines[:1], ["plain"], f"the copy {ended!r}")
            mounts = [line for line in lines if " / " in line or line.count(" ") >= 5]
            found = [line for line in lines[1:] if line not in mounts]
            expect(not found, f"reachable from inside: {found}")
            expect(not any(str(directory) in line or "/.nutshell/base" in line for line in mounts),
                   f"the host's directory is mounted: {mounts}")
        host.expect_untouched()


@suite.case
def native_layers_lead_to_nobody():
    """The overlay has inodes of its own: a socket or FIFO of the layer below is nobody's there."""
    with scratch() as directory:
        host = Host(directory)
        with started(host) as (made, said):
            expect_named(host, said)
            ended = call("exec", made, "--", *PYTHON, PROBE)
            expect_equal(ended.stdout, b"tried\n", f"what answers {ended!r}")
        host.expect_untouched()


@suite.case
def native_copy_leads_to_nobody():
    with scratch() as directory:
        host = Host(directory)
        with started(host, "--workspace-mode", "copy") as (made, said):
            expect_named(host, said)
            ended = call("exec", made, "--", *PYTHON, PROBE)
            expect_equal(ended.stdout, b"tried\n", f"what answers {ended!r}")
        host.expect_untouched()


@suite.case
def docker_leads_to_nobody():
    expect_no_way(flags(engine("docker")))


@suite.case
def podman_leads_to_nobody():
    expect_no_way(flags(engine("podman")))


@suite.case
def docker_with_gvisor_leads_to_nobody():
    needs_full("the way of the directory is that of Docker, the kernel that of gVisor")
    expect_no_way(flags(engine("runsc")))


@suite.case
def gvisor_leads_to_nobody():
    find_runsc()
    expect_no_way(["--backend", "gvisor"])


if __name__ == "__main__":
    sys.exit(suite.run())
