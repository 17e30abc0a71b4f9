#!/usr/bin/env python3
"""Engines of several versions: the client uses the newest API that both sides know, and refuses an engine
that is too old."""
import contextlib
import http.server
import os
import re
import socketserver
import sys
import threading

from engines import IMAGE, UnixConnection, engine, flags, shell
from support import (Skip, Suite, call, expect, expect_equal, expect_outcome, expect_refusal,
                     needs_full, sandbox, scratch)

suite = Suite()
NEWEST = (1, 51)


class Watcher(socketserver.ThreadingUnixStreamServer):
    """Passes every byte on to the engine, and records the requested paths."""
    daemon_threads = True

    def __init__(self, path, target):
        super().__init__(path, None)
        self.target, self.paths = target, []

    def finish_request(self, request, client_address):
        engine_side = UnixConnection(self.target)
        engine_side.connect()
        engine_side.sock.settimeout(None)
        back = threading.Thread(target=self.carry, args=(engine_side.sock, request, False))
        back.start()
        self.carry(request, engine_side.sock, True)
        back.join()

    def carry(self, source, target, is_watched):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                if is_watched:
                    self.paths += re.findall(rb"^(?:GET|POST|PUT|DELETE) (\S+) HTTP/1", piece, re.M)
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(1)


def spoken_to(where):
    """Returns the API versions in the paths of one run."""
    with scratch() as directory:
        path = str(directory / "watched.sock")
        watcher = Watcher(path, where.socket)
        threading.Thread(target=watcher.serve_forever, daemon=True).start()
        try:
            os.environ["DOCKER_HOST"] = f"unix://{path}"
            expect_outcome(shell(where, "exit 4"), "exited", 4)
        finally:
            watcher.shutdown()
            watcher.server_close()
            where.use()
    paths = [path for path in watcher.paths if path != b"/_ping"]
    expect(len(paths) > 4, f"too few were seen: {watcher.paths}")
    return {tuple(map(int, re.match(rb"/v(\d+)\.(\d+)/", path).groups())) for path in paths}


def newest_of(where):
    connection = UnixConnection(where.socket)
    connection.request("GET", "/_ping")
    answer = connection.getresponse()
    answer.read()
    return tuple(map(int, answer.headers["Api-Version"].split(".")))


@suite.case
def newest_common_version_is_spoken():
    where = engine()
    expect_equal(spoken_to(where), {min(newest_of(where), NEWEST)}, "versions")


@suite.case
def newer_engine_is_used_as_it_is():
    needs_full("downloads a newer engine")
    where = engine("docker-new")
    version = newest_of(where)
    expect(version > (1, 41), f"it is not newer: {version}")
    expect_equal(spoken_to(where), {min(version, NEWEST)}, "versions")
    with sandbox(*flags(where, "--memory", "64m")) as made:
        expect_equal(call("exec", made, "--", "echo", "new").stdout, b"new\n", "exec")
        expect_equal(call("pause", made).status, 0, "pause")
        expect_equal(call("resume", made).status, 0, "resume")
        expect_equal(call("stats", made).status, 0, "stats")
        host = where.inspect(made)["HostConfig"]
        expect_equal((host["Memory"], host["ReadonlyRootfs"], host["NetworkMode"]),
                     (64 << 20, True, "none"), "HostConfig")
    expect(not any(name.startswith("nutshell-") for name in where.containers()),
           f"left: {where.containers()}")


@suite.case
def engine_that_is_too_old_is_told_so():
    if os.geteuid() != 0:
        raise Skip("one user is enough")

    class Old(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Api-Version", "1.24")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

        def address_string(self):
            return "client"

    with scratch() as directory:
        path = str(directory / "old.sock")
        server = socketserver.ThreadingUnixStreamServer(path, Old)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        os.environ["DOCKER_HOST"] = f"unix://{path}"
        try:
            ended = call("run", "--backend", "docker", "--image", IMAGE, "--", "true")
        finally:
            server.shutdown()
            server.server_close()
        expect_refusal(ended, "1.24", "at least 1.41")


if __name__ == "__main__":
    sys.exit(suite.run())
