#!/usr/bin/env python3
"""Container engines in trouble: frozen, restarted, absent, lying, busy. Each time one true outcome in
bounded time, nothing left behind, and the next call works."""
import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time

from engines import IMAGE, engine, flags, shell
from support import (Skip, Suite, call, create, expect, expect_equal, expect_outcome, expect_refusal,
                     is_listed, repetitions, sandbox, scratch, start, wait_until)

suite = Suite()


@suite.case
def frozen_engine_is_an_error_in_time():
    where = engine()
    with sandbox(*flags(where)) as made:
        pid = where.pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            for words in (["run", *flags(where), "--", "true"], ["exec", made, "--", "true"],
                          ["destroy", made])[:repetitions(2, 3, 3)]:
                ended = call(*words, seconds=80)
                expect(ended.status == 125, f"{words[0]}: {ended!r}")
        finally:
            os.kill(pid, signal.SIGCONT)
        expect_equal(call("exec", made, "--", "echo", "on").stdout, b"on\n", "after the thaw")


@suite.case
def restarted_engine_ends_its_sandboxes_and_goes_on():
    where = engine()
    made = create(*flags(where))
    process = start("exec", made, "--json", "--", "sleep", "600")
    time.sleep(1)
    where.restart()
    output, _ = process.communicate(timeout=60)
    expect(json.loads(output)["outcome"] == "lost", f"{output[:200]}")
    expect(not is_listed(made), "it is still listed")
    expect_outcome(shell(where, "exit 5"), "exited", 5)
    gone = wait_until(lambda: f"nutshell-{made}" not in where.containers(), 20)
    expect(gone, f"left: {where.containers()}")


@contextlib.contextmanager
def liar(answers):
    """A socket that answers what no engine would: the only thing here that is not real."""
    with scratch() as directory:
        path = str(directory / "engine.sock")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(8)
        ended = threading.Event()

        def serve():
            while not ended.is_set():
                with contextlib.suppress(OSError):
                    peer, _ = listener.accept()
                    threading.Thread(target=tell, args=(peer,), daemon=True).start()

        def tell(peer):
            with contextlib.suppress(OSError), peer:
                while not ended.is_set():
                    request = peer.recv(65536)
                    if not request:
                        return
                    ping = b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\n\r\nOK"
                    if b"/_ping" in request and answers is not GARBAGE:
                        peer.sendall(ping)
                        continue
                    for piece in answers():
                        peer.sendall(piece)
                    return

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"unix://{path}"
        finally:
            ended.set()
            listener.close()


def GARBAGE():
    yield os.urandom(4096)


def half_a_body():
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{\"MemoryLimit\": tr"


def endless_body():
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"10000\r\n" + b"[" * 65536 + b"\r\n"


def endless_head():
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"X-More: " + b"x" * 60000 + b"\r\n"


def wrong_types():
    body = b'{"MemoryLimit": "yes", "NCPU": {}, "SecurityOptions": 7, "OSType": ["linux"]}'
    yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@suite.case
def lying_engine_is_an_error_in_time():
    if os.geteuid() != 0:
        raise Skip("one user is enough")
    for answers in (GARBAGE, half_a_body, endless_body, endless_head, wrong_types):
        with liar(answers) as address:
            os.environ["DOCKER_HOST"] = address
            ended = call("run", "--backend", "docker", "--image", IMAGE, "--", "true", seconds=60)
            expect(ended.status == 125, f"{answers.__name__}: {ended!r}")


@suite.case
def absent_engine_disturbs_nobody():
    os.environ["DOCKER_HOST"] = os.environ["CONTAINER_HOST"] = "unix:///nowhere/engine.sock"
    expect_equal(call("list").status, 0, "list without an engine")
    expect_refusal(call("exec", "000000000000", "--", "true"), "no sandbox")
    expect_refusal(call("run", "--backend", "docker", "--image", IMAGE, "--", "true"), "engine")


@suite.case
def many_at_once():
    where = engine()
    count = repetitions(8, 12, 100)
    results = []
    gate = threading.Semaphore(8)

    def one(number):
        with gate:
            results.append(shell(where, f"exit {number % 100}")["exit_code"])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect_equal(sorted(results), sorted(number % 100 for number in range(count)), "exit codes")
    expect(not any(name.startswith("nutshell-") for name in where.containers()),
           f"left: {where.containers()}")


if __name__ == "__main__":
    sys.exit(suite.run())
