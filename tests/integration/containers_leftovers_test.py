#!/usr/bin/env python3
"""A container whose maker is killed, whose sandbox ends by itself, or whose engine stops leaves nothing,
or the next call removes it."""
import contextlib
import os
import signal
import socket
import sys
import threading
import time

from daemon_client import daemon
from engines import IMAGE, engine, flags, on_engines
from gvisor_fixture import FLAGS as GVISOR, expect_nothing_left
from gvisor_program import find_runsc
from support import (PATIENCE, Suite, call, create, expect, expect_equal, runtime_directory, sandbox,
                     scratch, start, wait_until)

suite = Suite()
POOL = ('[[pools]]\nname = "p"\nbackend = "docker"\nimage = "nutshell-test"\n'
        'min_idle = 1\nmax_idle = 2\nmax_total = 3\n')


def ours(where):
    return [name for name in where.containers() if name.startswith("nutshell-")]


def kept_files():
    return sorted(entry.name for entry in runtime_directory().iterdir()
                  if entry.name.startswith(("container-", "nutshell-")))


class Gate:
    """A proxy before a real engine. It holds back the request that starts a container, or the engine's
    answer to it."""

    def __init__(self, where, holds):
        self.where, self.holds = where, holds
        self.is_held, self.is_open = threading.Event(), threading.Event()

    @contextlib.contextmanager
    def listening(self):
        with scratch() as directory:
            path = str(directory / "engine.sock")
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen(64)
                threading.Thread(target=self.accept, args=(listener,), daemon=True).start()
                try:
                    yield f"unix://{path}"
                finally:
                    self.is_open.set()
                    listener.shutdown(socket.SHUT_RDWR)

    def accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with contextlib.suppress(OSError), peer, socket.socket(socket.AF_UNIX) as real:
            real.connect(self.where.socket)
            holds = threading.Event()
            threading.Thread(target=self.answers, args=(real, peer, holds), daemon=True).start()
            while piece := peer.recv(65536):
                line = piece.split(b"\r\n", 1)[0]
                if line.startswith(b"POST ") and b"/start" in line and not self.is_open.is_set():
                    holds.set()
                    if self.holds == "request":
                        self.is_held.set()
                        self.is_open.wait(PATIENCE)
                        return
                real.sendall(piece)
            real.shutdown(socket.SHUT_RDWR)

    def answers(self, real, peer, holds):
        with contextlib.suppress(OSError):
            while piece := real.recv(65536):
                if holds.is_set():
                    self.is_held.set()
                    self.is_open.wait(PATIENCE)
                peer.sendall(piece)
            peer.shutdown(socket.SHUT_RDWR)


def kill_at(gate, where, words):
    """Kills a command while the gate holds back its start, when its container exists already."""
    process = start(*words)
    expect(gate.is_held.wait(PATIENCE), "nothing was started")
    expect(ours(where), "there is no container")
    process.send_signal(signal.SIGKILL)
    process.wait()
    gate.is_open.set()


@contextlib.contextmanager
def gated(where, holds):
    gate = Gate(where, holds)
    with gate.listening() as address:
        variable = "CONTAINER_HOST" if where.backend == "podman" else "DOCKER_HOST"
        before = os.environ[variable]
        os.environ[variable] = address
        try:
            yield gate
        finally:
            os.environ[variable] = before


@on_engines(suite, ["docker", "podman"], ["docker", "podman"])
def killed_before_the_start_goes_with_the_next_call(where):
    for verb, following in (("run", "gc"), ("create", "list")):
        with gated(where, "request") as gate:
            kill_at(gate, where, [verb, *flags(where), *(["--", "true"] if verb == "run" else [])])
            expect_equal(call(following).status, 0, following)
            expect(not ours(where), f"{verb}, then {following}: {ours(where)} is left")


@on_engines(suite, ["docker", "podman"], ["docker", "podman", "runsc"])
def killed_before_it_told_the_id_ends_by_itself(where):
    with gated(where, "answer") as gate:
        kill_at(gate, where, ["create", *flags(where, "--ttl", "1h")])
        expect(wait_until(lambda: not ours(where), 20), f"{ours(where)} lives on, known to nobody")


@suite.case
def gvisor_killed_before_it_told_the_id_ends_by_itself():
    """Kills a command at moments spread over its start; the next start finds nothing of it alive."""
    find_runsc()
    began = time.monotonic()
    made = create(*GVISOR, "--ttl", "1h")
    whole = time.monotonic() - began
    call("destroy", made)
    for part in (0.3, 0.6, 0.8, 0.9, 1.0):
        process = start("create", *GVISOR, "--ttl", "1h")
        time.sleep(whole * part)
        process.send_signal(signal.SIGKILL)
        told = process.communicate()[0].decode().strip()
        if told:
            call("destroy", told)
    expect(wait_until(lambda: call("gc").status == 0 and call("list", "--json").stdout.strip()
                      in (b"[]", b""), 20), f"alive: {call('list').stdout}")
    expect_nothing_left()


@on_engines(suite, ["docker"], ["docker", "podman"])
def environment_goes_with_its_sandbox(where):
    made = create(*flags(where, "--env", "TOKEN=hunter2"))
    expect(f"container-{made}.environment" in kept_files(), f"{kept_files()}")
    where.ask("DELETE", f"/containers/nutshell-{made}?force=1")
    call("list")
    expect_equal([name for name in kept_files() if made in name], [], "what is kept of it")
    with sandbox(*flags(where, "--env", "TOKEN=hunter2")) as lives:
        call("list")
        expect(f"container-{lives}.environment" in kept_files(), "one that lives lost it")


@on_engines(suite, ["docker", "podman"], ["docker", "podman"])
def shared_memory_is_within_the_disk_limit(where):
    script = "df -k /dev/shm | tail -n 1 | tr -s ' ' | cut -d' ' -f2; head -c 9m /dev/zero > /dev/shm/x"
    ended = call("run", *flags(where, "--disk", "8m"), "--", "sh", "-c", script)
    expect_equal(ended.stdout, b"512\n", f"KiB of /dev/shm {ended!r}")
    expect(ended.status != 0, "9 MB fit into a disk of 8")


@on_engines(suite, ["docker"], ["docker", "podman"])
def stopping_engine_does_not_wait_for_init(where):
    """Init ignores SIGTERM. Without StopSignal the engine would wait 10 seconds for each container."""
    made = create(*flags(where))
    began = time.monotonic()
    where.ask("POST", f"/containers/nutshell-{made}/stop")
    took = time.monotonic() - began
    expect(took < 8, f"the engine waited for {took:.1f} s")
    expect(wait_until(lambda: not ours(where), 20), f"left: {ours(where)}")


@suite.case
def drained_pool_leaves_nothing_when_its_daemon_stops():
    where = engine()
    with daemon(POOL) as one:
        # The pool is drained while its first sandbox is being made.
        expect_equal(one.call("POST", "/v1/pools/p/drain").status, 200, "drain")
        one.stop()
        expect_equal(ours(where), [], "what a drained pool leaves")
        one.start()
        one.call("POST", "/v1/pools/p/warm")
        expect(ours(where), f"nothing of {IMAGE} waits")
        one.call("POST", "/v1/pools/p/drain")
        one.stop()
        expect_equal(ours(where), [], "what another drained pool leaves")
        one.start()


if __name__ == "__main__":
    sys.exit(suite.run())
