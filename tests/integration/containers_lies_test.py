#!/usr/bin/env python3
"""Engines that answer what no engine would: garbage, half a body, an endless one. From the first word
on, or a real engine whose answer to one request is replaced on its way. Each time an error in bounded
time, nothing left behind, and the next call works."""
import contextlib
import os
import select
import socket
import sys
import threading
import time

from engines import IMAGE, engine, flags, on_engines, shell
from support import (PATIENCE, Skip, Suite, call, create, destroy_all, expect, expect_equal,
                     expect_outcome, needs_full, repetitions, scratch, start, wait_until)

suite = Suite()
METHODS = (b"GET ", b"POST ", b"PUT ", b"DELETE ", b"HEAD ")


# Lies -------------------------------------------------------------------------------------------

def garbage():
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
    body = (b'{"MemoryLimit": "yes", "NCPU": {}, "SecurityOptions": 7, "OSType": ["linux"], "Id": [],'
            b' "State": 3, "Warnings": {"a": 1}}')
    yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


# Liars ------------------------------------------------------------------------------------------

@contextlib.contextmanager
def listening(serve):
    """Listens at an engine's address and serves each connection in a thread."""
    with scratch() as directory:
        path = str(directory / "engine.sock")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(64)
        ended = threading.Event()

        def accept():
            while not ended.is_set():
                with contextlib.suppress(OSError):
                    peer, _ = listener.accept()
                    threading.Thread(target=serve_one, args=(peer,), daemon=True).start()

        def serve_one(peer):
            with contextlib.suppress(OSError), peer:
                serve(peer, ended)

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"unix://{path}"
        finally:
            ended.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()


def liar(answers):
    """Answers every request itself; there is no engine."""
    def serve(peer, ended):
        while not ended.is_set():
            request = peer.recv(65536)
            if not request:
                return
            if b"/_ping" in request and answers is not garbage:
                peer.sendall(b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\n\r\nOK")
                continue
            for piece in answers():
                peer.sendall(piece)
            return
    return listening(serve)


def spoiler(where, spot, answers):
    """A proxy before a real engine. It answers requests whose first line has both words of `spot` itself."""
    method, word = spot

    def serve(peer, _):
        with socket.socket(socket.AF_UNIX) as real:
            real.connect(where.socket)
            threading.Thread(target=relay, args=(real, peer), daemon=True).start()
            while piece := peer.recv(65536):
                line = piece.split(b"\r\n", 1)[0]
                if piece.startswith(METHODS) and line.startswith(method) and word in line:
                    for part in answers():
                        peer.sendall(part)
                    peer.shutdown(socket.SHUT_RDWR)
                    return
                real.sendall(piece)
            real.shutdown(socket.SHUT_WR)

    return listening(serve)


class Deserter:
    """A proxy before a real engine. From the first request with this word in its first line on, it answers
    nothing until `away` is cleared."""

    def __init__(self, where, word):
        self.where, self.word = where, word
        self.away = threading.Event()
        self.has_left = False

    def serve(self, peer, _):
        with socket.socket(socket.AF_UNIX) as real:
            real.connect(self.where.socket)
            threading.Thread(target=relay, args=(real, peer), daemon=True).start()
            while piece := peer.recv(65536):
                if not self.has_left and self.word in piece.split(b"\r\n", 1)[0]:
                    self.has_left = True
                    self.away.set()
                if self.away.is_set():
                    peer.shutdown(socket.SHUT_RDWR)
                    return
                real.sendall(piece)


def relay(source, target):
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


# Cases ------------------------------------------------------------------------------------------

@suite.case
def lying_engine_is_an_error_in_time():
    if os.geteuid() != 0:
        raise Skip("one user is enough")
    for answers in (garbage, half_a_body, endless_body, endless_head, wrong_types):
        with liar(answers) as address:
            os.environ["DOCKER_HOST"] = address
            ended = call("run", "--backend", "docker", "--image", IMAGE, "--", "true", seconds=60)
            expect(ended.status == 125, f"{answers.__name__}: {ended!r}")


# The engine calls that each command needs.
SPOTS = {
    "run": [(b"POST", b"/containers/create"), (b"POST", b"/attach"), (b"POST", b"/start")],
    "create": [(b"POST", b"/containers/create"), (b"POST", b"/start"), (b"GET", b"/images/")],
    "exec": [(b"GET", b"/containers/"), (b"POST", b"/exec")],
    "cp": [(b"GET", b"/containers/")],
    "destroy": [(b"DELETE", b"/containers/"), (b"GET", b"/containers/json")],
    "list": [(b"GET", b"/containers/json")],
}
VARIABLE = {"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}


def words_for(verb, where, made, directory):
    return {"run": ["run", *flags(where), "--", "true"], "create": ["create", *flags(where)],
            "exec": ["exec", made, "--", "true"], "cp": ["cp", f"{made}:/etc/passwd", f"{directory}/out"],
            "destroy": ["destroy", made], "list": ["list"]}[verb]


def left_by_us(where):
    return [name for name in where.containers()
            if name.startswith("nutshell-") and not name.startswith("nutshell-fill-")]


def spoil(where, verb, spot, answers):
    what = f"{verb}, {answers.__name__} to {spot[0].decode()} {spot[1].decode()}"
    made = create(*flags(where)) if verb not in ("run", "create") else ""
    with spoiler(where, spot, answers) as address, scratch() as directory:
        os.environ[VARIABLE[where.backend]] = address
        try:
            ended = call(*words_for(verb, where, made, directory), seconds=80)
        finally:
            where.use()
    expect(ended.status in (0, 125), f"{what}: {ended!r}")
    expect(ended.status == 0 or b"nutshell: " in ended.stderr, f"{what}: {ended!r}")
    expect_outcome(shell(where, "exit 5"), "exited", 5)
    destroy_all()
    expect(wait_until(lambda: not left_by_us(where), 30), f"{what}: left {where.containers()}")


def spoil_everything(kind):
    where = engine(kind)
    lies = repetitions([half_a_body], [garbage, half_a_body, endless_body, endless_head, wrong_types])
    for verb in repetitions(["run", "exec", "destroy"], SPOTS):
        for spot in SPOTS[verb][:repetitions(1, None)]:
            for answers in lies:
                spoil(where, verb, spot, answers)


@suite.case
def docker_answer_that_is_spoiled_is_an_error_and_no_more():
    spoil_everything("docker")


@suite.case
def podman_answer_that_is_spoiled_is_an_error_and_no_more():
    needs_full("one engine is enough for every commit")
    spoil_everything("podman")


def desert(where, word, next_call):
    """The engine makes a container and then does not answer its removal. The next call removes it."""
    deserter = Deserter(where, word)
    with listening(deserter.serve) as address:
        os.environ[VARIABLE[where.backend]] = address
        try:
            for _ in range(4):  # on a busy machine the engine may fail before that call
                ended = call("create", *flags(where), seconds=80)
                expect(ended.status == 125 and b"nutshell: " in ended.stderr, f"{word}: {ended!r}")
                if deserter.has_left:
                    break
            left = left_by_us(where)
            expect(len(left) == 1, f"{word}: the engine has {left} after {ended!r}")
            deserter.away.clear()
            expect(left[0].encode() in call("gc", "--dry-run").stdout, f"gc would not take {left}")
            expect_equal(left_by_us(where), left, "a dry run")
            expect_equal(call(*next_call).status, 0, f"{next_call[0]} with the engine again")
            expect(wait_until(lambda: not left_by_us(where), 30), f"left: {where.containers()}")
        finally:
            where.use()


@on_engines(suite, ["docker", "podman"], ["docker", "podman"])
def container_of_an_engine_that_went_away_goes_with_the_next_call(where):
    run = ["run", *flags(where), "--", "true"]
    for next_call in repetitions([run], [run, ["gc"], ["list"]]):
        for word in repetitions([b"/start"], [b"/attach", b"/start"]):
            desert(where, word, next_call)


@suite.case
def output_after_a_slow_start_is_whole():
    """The patience with a slow reader is counted from the command's first output."""
    needs_full("takes seconds")
    where = engine()

    def serve(peer, _):
        with socket.socket(socket.AF_UNIX) as real:
            real.connect(where.socket)
            threading.Thread(target=relay, args=(real, peer), daemon=True).start()
            while piece := peer.recv(65536):
                if b"/start" in piece.split(b"\r\n", 1)[0]:
                    time.sleep(6)
                real.sendall(piece)

    with listening(serve) as address:
        os.environ["DOCKER_HOST"] = address
        try:
            process = start("run", *flags(where), "--timeout", "2s", "--", "head", "-c", "300000",
                            "/dev/zero")
            select.select([process.stdout], [], [], PATIENCE)
            output, error = process.communicate(timeout=PATIENCE)
        finally:
            where.use()
    expect_equal((process.returncode, len(output)), (0, 300000), f"status and bytes, {error!r}")


if __name__ == "__main__":
    sys.exit(suite.run())
