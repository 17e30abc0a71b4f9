#!/usr/bin/env python3
"""The daemon when its disk is full or read-only, its state damaged, and its streams are misused."""
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest.mock
from pathlib import Path

from daemon_client import DAEMON, Daemon, daemon
from support import NUTSHELL, Skip, Suite, expect, expect_equal, launchers, wait_until

suite = Suite()


def last_message(one):
    return json.loads((one.directory / "log").read_text().splitlines()[-1])["message"]


def start_in_vain(one):
    with open(one.directory / "log", "ab") as log:
        done = subprocess.run([DAEMON, "--config", str(one.config), "--socket", one.socket],
                              stderr=log, stdin=subprocess.DEVNULL, env=one.environment(),
                              timeout=60)
    expect_equal(done.returncode, 1, "exit status")
    return last_message(one)


@suite.case
def a_damaged_state_file_is_kept_and_recovered():
    with daemon() as one:
        sandbox = one.make(labels={"kept": "yes"})
        one.execute(sandbox, "sh", "-c", "echo still here > note")
        one.stop()
        place = one.directory / "state/state.db"
        content = bytearray(place.read_bytes())
        content[4096:12288] = b"Z" * 8192
        place.write_bytes(content)
        message = start_in_vain(one)
        expect("damaged" in message and "nutshell daemon recover --state" in message, message)
        expect(place.read_bytes() == bytes(content), "the damaged file was written to")
        command = message.split("'")[1].split()
        expect_equal(command[:3], ["nutshell", "daemon", "recover"], "the command it names")
        done = subprocess.run([NUTSHELL, *command[1:]], capture_output=True, text=True,
                              env=one.environment(), timeout=60)
        expect_equal(done.returncode, 0, done.stderr)
        kept = Path(str(place) + ".damaged-1")
        expect(str(kept) in done.stdout and kept.read_bytes() == bytes(content),
               f"kept: {done.stdout}")
        again = subprocess.run([NUTSHELL, *command[1:]], capture_output=True, text=True,
                               env=one.environment(), timeout=60)
        expect("sound" in again.stdout, f"a second time: {again.stdout}")
        one.start()
        expect_equal(one.execute(sandbox, "cat", "note")["stdout"], "still here\n", "adopted")
        running = subprocess.run([NUTSHELL, *command[1:]], capture_output=True, text=True,
                                 env=one.environment(), timeout=60)
        expect("another daemon uses" in running.stderr, f"while it runs: {running.stderr}")


def small_disk(one):
    """The daemon, with its state on a small disk of its own."""
    if os.geteuid() != 0:
        raise Skip("only root mounts a small disk")
    state = one.directory / "state"
    state.mkdir(mode=0o700)
    one.log = open(one.directory / "log", "ab")
    script = 'mount -t tmpfs -o size=3m,mode=700 tmpfs "$1" && exec "$2" --config "$3" --socket "$4"'
    one.process = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script, "sh", str(state), DAEMON, str(one.config),
         one.socket], stderr=one.log, stdin=subprocess.DEVNULL, env=one.environment())
    expect(wait_until(lambda: Path(one.socket).exists(), 60), "the daemon does not start")
    return Path(f"/proc/{one.process.pid}/root{state}")


def expect_refused_and_back(one, inside, hurt, heal):
    before = one.make()
    expect_equal(one.execute(before, "echo", "a")["stdout"], "a\n", "before")
    hurt()
    refused = [one.call("POST", "/v1/sandboxes", {}) for _ in range(40)]
    answers = {answer.status for answer in refused}
    expect(answers & {403, 429, 500, 503, 507}, f"answers on such a disk: {answers}")
    for answer in refused:
        if answer.status != 201:
            expect_equal(answer.headers["Content-Type"], "application/problem+json", "type")
            expect(answer.json()["detail"], "detail")
    expect_equal(one.call("GET", "/healthz").status, 200, "it lives")
    expect_equal(one.call("GET", "/readyz").status, 503, "and is not ready")
    heal()
    expect(wait_until(lambda: one.call("GET", "/readyz").status == 200, 20), "ready again")
    expect_equal(one.execute(before, "echo", "b")["stdout"], "b\n", "after")
    after = one.make()
    listed = {each["id"] for each in one.call("GET", "/v1/sandboxes?limit=1000").json()["sandboxes"]}
    made = {answer.json()["id"] for answer in refused if answer.status == 201}
    expect_equal(listed, made | {before, after}, "sandboxes")
    verified = subprocess.run([NUTSHELL, "audit", "verify", "--directory", str(inside / "audit")],
                              capture_output=True, text=True, timeout=60)
    expect(verified.stdout.startswith("intact"), f"the record: {verified.stdout}")


@suite.case
def a_full_disk_is_said_and_lived_through():
    with tempfile.TemporaryDirectory(prefix="nutshell-daemon-") as directory:
        one = Daemon(directory)
        inside = small_disk(one)

        def fill():
            with open(inside / "filler", "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
        try:
            expect_refused_and_back(one, inside, fill, (inside / "filler").unlink)
        finally:
            one.stop()
            one.end_sandboxes()
            one.log.close()


def start_on_image(one, image):
    """The daemon, with its state on a disk of its own that can fail; whether it began."""
    state = one.directory / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    Path(one.socket).unlink(missing_ok=True)
    one.log = open(one.directory / "log", "ab")
    script = 'mount -o loop "$5" "$1" && chmod 700 "$1" && exec "$2" --config "$3" --socket "$4"'
    one.process = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script, "sh", str(state), DAEMON, str(one.config),
         one.socket, str(image)], stderr=one.log, stdin=subprocess.DEVNULL, env=one.environment())
    wait_until(lambda: Path(one.socket).exists() or one.process.poll() is not None, 60)
    return one.process.poll() is None


@suite.case
def a_disk_that_turns_read_only_is_said_and_nothing_is_lost():
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/usr/sbin"):
        raise Skip("only root mounts a disk, and mkfs.ext4 makes one")
    with tempfile.TemporaryDirectory(prefix="nutshell-daemon-") as directory:
        one, image = Daemon(directory), Path(directory) / "image"
        with open(image, "wb") as file:
            file.truncate(16 << 20)
        subprocess.run(["/usr/sbin/mkfs.ext4", "-q", "-F", str(image)], check=True, timeout=60)
        if not start_on_image(one, image):
            raise Skip(f"no disk of a file here: {(one.directory / 'log').read_text()[-200:]}")
        inside, state = ["nsenter", "-t", str(one.process.pid), "-m"], str(one.directory / "state")
        try:
            before = one.make()
            expect_equal(one.execute(before, "echo", "a")["stdout"], "a\n", "before")
            # The kernel remounts a failing disk read-only in the same way.
            subprocess.run([*inside, "mount", "-o", "remount,abort", state], timeout=60,
                           check=False)
            expect(wait_until(lambda: one.call("POST", "/v1/sandboxes", {}).status != 201, 20),
                   "a disk that is read-only is not noticed")
            answer = one.call("POST", "/v1/sandboxes", {})
            expect(answer.status in (403, 429, 500, 503, 507), f"answer: {answer.status}")
            expect_equal(answer.headers["Content-Type"], "application/problem+json", "type")
            expect(answer.json()["detail"], "detail")
            expect_equal(one.call("GET", "/healthz").status, 200, "it lives")
            expect_equal(one.call("GET", "/readyz").status, 503, "and is not ready")
            # Also out of the sight of the launcher, which lives on.
            subprocess.run([*inside, "umount", "--lazy", state], timeout=60, check=True)
            one.stop()
            repaired = subprocess.run(["/usr/sbin/e2fsck", "-p", "-f", str(image)], timeout=60,
                                      capture_output=True)
            expect(repaired.returncode <= 1, f"the disk: {repaired.stdout}")
            expect(start_on_image(one, image), "the daemon does not start on a sound disk")
            expect_equal(one.call("GET", "/readyz").status, 200, "on a sound disk")
            expect_equal(one.execute(before, "echo", "b")["stdout"], "b\n", "after")
        finally:
            one.stop()
            one.end_sandboxes()
            one.log.close()


@suite.case
def a_read_only_state_directory_is_refused():
    if os.geteuid() != 0:
        raise Skip("only root mounts a disk")
    with tempfile.TemporaryDirectory(prefix="nutshell-daemon-") as directory:
        one = Daemon(directory)
        state = one.directory / "state"
        state.mkdir(mode=0o700)
        script = ('mount -t tmpfs -o size=1m,mode=700,ro tmpfs "$1" && exec "$2" --config "$3" '
                  '--socket "$4"')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", str(state), DAEMON,
                               str(one.config), one.socket], capture_output=True, text=True,
                              env=one.environment(), timeout=60)
        expect_equal(done.returncode, 1, "exit status on a read-only state directory")
        expect("ead-only" in done.stderr and str(state) in done.stderr, done.stderr)


def upgraded(one, target, body=b"", token=None):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    client.connect(one.socket)
    client.sendall(f"POST {target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "
                   f"nutshell-wire\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    head = b""
    while b"\r\n\r\n" not in head:
        got = client.recv(1)
        expect(got, f"no answer: {head}")
        head += got
    return client, head


def frame(conversation, kind, payload):
    return struct.pack("<IIB3x", len(payload), conversation, kind) + payload


HELLO = frame(0, 1, struct.pack("<QI", 0x6c6c656873747541, 3))


def text(words):
    return struct.pack("<I", len(words)) + words


@suite.case
def broken_streams_hurt_nobody():
    with daemon() as one:
        sandbox = one.make()
        target = f"/v1/sandboxes/{sandbox}/stream"
        garbage = [b"\xff" * 4096, b"", HELLO[:-3], HELLO * 2, frame(0, 10, b"\xff" * 100),
                   HELLO + frame(7, 10, b"\xff" * 64), HELLO + frame(1, 200, b""),
                   struct.pack("<IIB3x", 0xffffffff, 1, 10), HELLO + frame(1, 10, b""),
                   os.urandom(100_000)]
        for number, content in enumerate(garbage):
            client, head = upgraded(one, target)
            expect(b" 101 " in head, f"head: {head}")
            try:
                client.sendall(content)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            except TimeoutError:
                raise AssertionError(f"garbage {number} is still listened to") from None
            except OSError:
                pass
            client.close()
        # Half closed: what it wanted to say is said, and the answer still comes.
        client, _ = upgraded(one, target)
        client.sendall(HELLO + frame(1, 32, b""))
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while got := client.recv(65536):
            answer += got
        expect(frame(1, 47, b"") in answer, f"the answer to a ping: {answer}")
        silent = [upgraded(one, target)[0] for _ in range(50)]
        expect_equal(one.execute(sandbox, "echo", "served")["stdout"], "served\n", "others")
        for client in silent:
            client.close()
        for target in ("/v1/sandboxes/../stream", f"/v1/sandboxes/{sandbox}%2f..%2fx/stream"):
            _, head = upgraded(one, target)
            expect(b" 400 " in head or b" 404 " in head, f"{target}: {head}")
        for layers in (["../../etc"], ["/etc"], ["a/b"], [""], ["x"] * 1000, ["."], ["l\u0000"]):
            answer = one.call("POST", f"/v1/sandboxes/{sandbox}/restack", {"layers": layers})
            expect(answer.status in (400, 404, 422, 429), f"{layers[:2]}: {answer.status}")
        expect_equal(one.execute(sandbox, "echo", "whole")["stdout"], "whole\n", "the sandbox")


@suite.case
def a_sandbox_of_a_stream_ends_with_it():
    with daemon() as one:
        client, head = upgraded(one, "/v1/streams", b"{}")
        expect(b" 101 " in head, f"head: {head}")
        sandbox = head.lower().split(b"nutshell-sandbox: ")[1].split(b"\r\n")[0].decode()
        expect_equal(one.call("GET", f"/v1/sandboxes/{sandbox}").status, 200, "while it is open")
        client.close()
        expect(wait_until(lambda: one.call("GET", f"/v1/sandboxes/{sandbox}").status == 404, 20),
               "it is still there")
        killed = subprocess.Popen([NUTSHELL, "run", "--daemon", one.socket, "--", "sleep", "1000"],
                                  env=one.environment())
        expect(wait_until(lambda: one.call("GET", "/v1/sandboxes").json()["sandboxes"], 20), "run")
        killed.kill()
        killed.wait()
        expect(wait_until(lambda: not one.call("GET", "/v1/sandboxes").json()["sandboxes"], 20),
               "a killed client's sandbox is still there")
        # And when the daemon is killed under it, the next one ends it.
        client, _ = upgraded(one, "/v1/streams", b"{}")
        one.process.kill()
        one.process.wait()
        one.start()
        expect_equal(one.call("GET", "/v1/sandboxes").json()["sandboxes"], [], "after a restart")
        client.close()
        for body, status in ((b'{"ttl_ms": -1}', b" 400 "), (b'{"a": 1, "a": 2}', b" 400 ")):
            _, head = upgraded(one, "/v1/streams", body)
            expect(status in head, f"{body}: {head}")


def known_to_docker(one, sandbox):
    """Writes down a sandbox of an engine, as a daemon that was killed leaves it."""
    with contextlib.closing(sqlite3.connect(one.directory / "state/state.db")) as state, state:
        columns = [row[1] for row in state.execute("PRAGMA table_info(sandboxes)")]
        row = dict(zip(columns, state.execute("SELECT * FROM sandboxes").fetchone()))
        row.update(op=secrets.token_hex(8), id=sandbox, backend="docker")
        state.execute(f"INSERT INTO sandboxes({','.join(row)}) VALUES({','.join('?' * len(row))})",
                      list(row.values()))


@suite.case
def a_mute_engine_does_not_keep_the_daemon_from_starting():
    with daemon() as one, socket.socket(socket.AF_UNIX) as engine:
        native, contained = one.make(), "d" + secrets.token_hex(6)
        one.stop()
        known_to_docker(one, contained)
        place = one.directory / "engine.sock"
        engine.bind(str(place))
        engine.listen()
        with unittest.mock.patch.dict(os.environ, {"DOCKER_HOST": f"unix://{place}"}):
            one.start()
        said = one.call("GET", "/readyz")
        expect_equal((said.status, said.json().get("unanswered_backends")), (200, ["docker"]),
                     "readiness")
        expect_equal(one.execute(native, "echo", "on")["stdout"], "on\n", "what was there")
        expect_equal(one.execute(one.make(), "echo", "new")["stdout"], "new\n", "a new one")
        listed = {each["id"] for each in one.call("GET", "/v1/sandboxes").json()["sandboxes"]}
        expect({native, contained} <= listed, f"listed: {listed}")
        for method, rest in (("GET", ""), ("DELETE", ""), ("POST", "/exec")):
            body = {"argv": ["true"]} if rest else None
            answer = one.call(method, f"/v1/sandboxes/{contained}{rest}", body)
            expect(answer.status == 503 and b"has not answered" in answer.body,
                   f"{method} {rest}: {answer.status} {answer.body}")
        place.unlink()
        engine.close()  # now there is no engine, and so no sandbox of it
        expect(wait_until(lambda: one.call("GET", f"/v1/sandboxes/{contained}").status == 404),
               "it is taken for alive")
        said = one.call("GET", "/readyz").json()
        expect_equal(said, {"status": "ready"}, "readiness in the end")


@suite.case
def a_launcher_of_the_daemons_can_be_ended():
    """The daemon keeps signals for one thread of its own; what it starts must not."""
    with daemon() as one:
        sandbox = one.make()
        ours = launchers(one.directory / "run")
        expect_equal(len(ours), 1, "launchers")
        status = Path(f"/proc/{ours[0]}/status").read_text()
        blocked = next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk"))
        expect_equal(int(blocked, 16), 0, "blocked signals")
        os.kill(ours[0], signal.SIGTERM)
        expect(wait_until(lambda: ours[0] not in launchers(one.directory / "run")),
               "it ignores SIGTERM")
        expect(wait_until(lambda: one.call("GET", f"/v1/sandboxes/{sandbox}").status == 404),
               "its sandbox is taken for alive")
        expect_equal(one.execute(one.make(), "echo", "on")["stdout"], "on\n", "the next launcher's")


@suite.case
def another_tenants_sandbox_is_not_found_on_any_route():
    with daemon() as one:
        made = one.make(token="alice")
        missing = "".join("0" if digit != "0" else "1" for digit in made)
        document = one.call("GET", "/v1/openapi.json").json()
        tried = 0
        for path, methods in document["paths"].items():
            if "{id}" not in path:
                continue
            for method in methods:
                answers = []
                for name in (made, missing):
                    target = path.replace("{id}", name).replace("{exec}", "e" * 16).replace(
                        "{tool}", "ls")
                    for wanted in ("/files", "/directory"):
                        target += "?path=/etc/passwd" if target.endswith(wanted) else ""
                    body = {"exec": {"argv": ["true"]}, "extend": {"ttl_ms": 1},
                            "restack": {"layers": ["a"]}, "rollback": {"checkpoint": "x"}}.get(
                                path.split("/")[-1], {})
                    upgrade = {"Upgrade": "nutshell-wire", "Connection": "Upgrade"} \
                        if path.endswith("/stream") else {}
                    answer = one.call(method.upper(), target, body if method in ("post", "put")
                                      else None, token="bob", headers=upgrade)
                    answers.append((answer.status, answer.body.decode().replace(name, "ID")))
                tried += 1
                expect_equal(answers[0], answers[1], f"{method} {path}")
                expect(answers[0][0] >= 400 or path.endswith("/gone"), f"{method} {path}: {answers}")
        expect(tried > 20, f"{tried} routes tried")
        expect_equal(one.execute(made, "echo", "untouched", token="alice")["stdout"],
                     "untouched\n", "alice's sandbox")


def start_client(one, *words):
    return subprocess.Popen([NUTSHELL, *words],
                            env={**one.environment(), "NUTSHELL_DAEMON": one.socket}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@suite.case
def a_daemon_killed_in_an_exec_is_told_as_such():
    """It is the daemon that is gone. The sandbox is not, and nobody says so."""
    with daemon() as one:
        made = one.make()
        clients = [start_client(one, "exec", made, "--json", "--", "sleep", "600"),
                   start_client(one, "exec", made, "--", "sleep", "600"),
                   start_client(one, "tool", "call", "bash", "-s", made,
                                '{"command": "sleep 600"}')]
        expect(wait_until(lambda: one.execute(made, "sh", "-c", "cat /proc/[0-9]*/cmdline")[
            "stdout"].count("sleep\x00600") >= 3, 20), "no command")
        one.stop(signal.SIGKILL)
        ends = [client.communicate(timeout=30) for client in clients]
        expect_equal([client.returncode for client in clients[:2]], [125, 125], "statuses")
        answer = json.loads(ends[0][0])
        expect_equal(answer["outcome"], "lost", "outcome")
        for words in (answer["detail"], ends[1][1], ends[2][0] + ends[2][1]):
            expect("the daemon went away" in words and "the sandbox has ended" not in words, words)
        one.start()
        expect_equal(one.execute(made, "echo", "on")["stdout"], "on\n", "the sandbox afterwards")


if __name__ == "__main__":
    sys.exit(suite.run())
