#!/usr/bin/env python3
"""Roche: its command, its gRPC service, and its own package from PyPI, unchanged, against both."""
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import python_sdk
import roche_packages
import suite_image
from daemon_client import daemon, free_port
from support import (NUTSHELL, PATIENCE, REPOSITORY, Skip, Suite, call, expect, expect_equal, runtime_directory,
                     scratch, wait_until)

suite = Suite()
IMAGE = "python:3.12-slim"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
FORKS = """
import os, time
for made in range(200):
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        time.sleep(5)
        os._exit(0)
print(made)
"""
PAGE = REPOSITORY / "docs/migrate/roche.md"


@contextlib.contextmanager
def place_with_image():
    """A directory with the command `roche`, a store with the image, and the environment to use both."""
    with scratch() as place:
        suite_image.write_archive(place / "python.tar")
        environment = {**os.environ, "NUTSHELL_IMAGE_DIR": str(place / "images"), "HOME": str(place / "home"),
                       "PATH": f"{place}/bin:/usr/local/bin:/usr/bin:/bin", "NUTSHELL_ROCHE_DOCKER": "native"}
        (place / "home").mkdir()
        (place / "bin").mkdir()
        for name in ("roche", "nutshell"):
            (place / "bin" / name).symlink_to(NUTSHELL)
        made = subprocess.run([NUTSHELL, "image", "import", str(place / "python.tar"), "--name", IMAGE],
                              env=environment, capture_output=True, text=True, timeout=120, check=False)
        expect_equal(made.returncode, 0, f"image import: {made.stderr}; its status")
        try:
            yield place, environment
        finally:
            subprocess.run(["chmod", "-R", "u+rwX", str(place)], check=False)


def roche(environment, *words):
    return subprocess.run(["roche", *words], env=environment, capture_output=True, text=True, timeout=PATIENCE,
                          check=False, stdin=subprocess.DEVNULL)


def made(environment, *words):
    done = roche(environment, "create", "--image", IMAGE, *words)
    expect_equal(done.returncode, 0, f"create: {done.stderr}; its status")
    return done.stdout.split()


# The command -------------------------------------------------------------------------------------

@suite.case
def the_command_has_roches_verbs():
    with place_with_image() as (place, environment):
        one, two = made(environment, "--count", "2", "--env", "A=b", "--memory", "128m", "--cpus", "0.5")
        done = roche(environment, "exec", "--sandbox", one, "--", "sh", "-c", 'echo "$A"; echo no >&2; exit 42')
        expect_equal((done.returncode, done.stdout, done.stderr), (42, "b\n", "no\n"), "exec")
        done = roche(environment, "exec", "--sandbox", one, "echo", "without", "--", "dashes")
        expect_equal(done.stdout, "without -- dashes\n", f"exec without dashes: {done.stderr}; its output")
        listed = {item["id"]: item for item in json.loads(roche(environment, "list", "--json").stdout)}
        expect_equal(set(listed), {one, two}, "the ids of list --json")
        item = listed[one]
        expect_equal((item["status"], item["provider"], item["image"], item["backend"]),
                     ("running", "docker", IMAGE, "native"), "an item of list --json")
        expect(abs(item["expires_at"] - time.time() - 300) < 60, f"expires_at {item['expires_at']}")
        expect(re.match(r"ID +STATUS +PROVIDER +EXPIRES +IMAGE\n", roche(environment, "list").stdout),
               "the head of list")
        roche(environment, "pause", one)
        done = roche(environment, "exec", "--sandbox", one, "--", "true")
        expect(done.returncode == 1 and "paused" in done.stderr, f"exec on a paused one: {done}")
        roche(environment, "unpause", one)
        (place / "file").write_text("content")
        expect_equal(roche(environment, "cp", str(place / "file"), f"{one}:/tmp/x").returncode, 0, "cp in")
        expect_equal(roche(environment, "cp", f"{one}:/tmp/x", str(place / "back")).returncode, 0, "cp out")
        expect_equal((place / "back").read_text(), "content", "the copy")
        expect_equal(roche(environment, "gc").stdout, "No expired sandboxes found.\n", "gc")
        expect_equal(set(roche(environment, "gc", "--all", "--dry-run").stdout.split()), {one, two}, "gc --dry-run")
        expect_equal(roche(environment, "destroy", one).returncode, 0, "destroy")
        other = call("create").stdout.decode().strip()  # not Roche's: `--all` leaves it
        expect_equal(roche(environment, "gc", "--all").stdout, f"destroyed: {two}\n", "gc --all")
        expect_equal(roche(environment, "list").stdout, "No active sandboxes.\n", "list of none")
        expect_equal(call("destroy", other).status, 0, "the sandbox that is not Roche's")


@suite.case
def what_has_no_meaning_is_refused():
    with place_with_image() as (_, environment):
        for words, reason in ((("--network",), "unsupported: network"),
                              (("--network", "--network-allow", "example.com"), "unsupported: network"),
                              (("--fs-path", "/data"), "unsupported: fs_paths: /data"),
                              (("--fs-path", "/tmp/../etc"), "unsupported: fs_paths"),
                              (("--kernel", "/k"), "unsupported: kernel"),
                              (("--provider", "wasm"), "unsupported: provider wasm"),
                              (("--provider", "firecracker"), "unsupported: provider firecracker"),
                              (("--timeout", "0"), "unsupported: a sandbox always ends"),
                              (("--image", "node:20-slim"), "unavailable: the backend native has no image"),
                              (("--memory", "much"), "much"), (("--cpus", "-1"), "cpus"),
                              (("--mount", "/etc"), "HOST:TARGET"), (("--env", "A"), "NAME=VALUE")):
            done = roche(environment, "create", *words)
            expect(done.returncode == 1 and done.stderr.startswith("Error: ") and reason in done.stderr
                   and not done.stdout, f"{words}: {done}")
        expect_equal(roche(environment, "list").stdout, "No active sandboxes.\n", "what is left")
        done = roche(environment, "exec", "--sandbox", "n000000000000", "--", "true")
        expect(done.returncode == 1 and "not found" in done.stderr, f"exec of none: {done}")
        done = roche(environment, "create", "--image", IMAGE, "--writable")
        expect(done.returncode == 0 and "/workspace and /tmp" in done.stderr, f"--writable: {done}")
        roche(environment, "destroy", "--all")


@suite.case
def an_image_name_is_this_machines_system_only_if_asked_for():
    with place_with_image() as (_, environment):
        own = {**environment, "NUTSHELL_ROCHE_IMAGES": "node:20-slim=host"}
        [mapped] = roche(own, "create", "--image", "node:20-slim").stdout.split()
        [plain] = roche(environment, "create", "--image", "host").stdout.split()
        [image] = made(environment)
        seen = {one: roche(environment, "exec", "--sandbox", one, "--", "sh", "-c",
                           "ls /usr/share | wc -l").stdout for one in (mapped, plain, image)}
        expect(seen[mapped] == seen[plain] != seen[image], f"the systems: {seen}")
        roche(environment, "destroy", "--all")


@suite.case
def the_defaults_are_stricter_than_roches():
    with place_with_image() as (_, environment):
        [one] = made(environment)

        def inside(text):
            return roche(environment, "exec", "--sandbox", one, "--", "sh", "-c", text).stdout

        expect_equal(inside("sed -n 's/^ *\\([^:]*\\):.*/\\1/p' /proc/net/dev").split(), ["lo"], "its network")
        expect(not inside("touch /usr/x /x /etc/x 2>/dev/null; ls -d /usr/x /x /etc/x 2>/dev/null"),
               "its system is writable")
        status = inside("cat /proc/self/status")
        for line in ("NoNewPrivs:\t1", "CapBnd:\t0000000000000000", "CapEff:\t0000000000000000", "Seccomp:\t2"):
            expect(line in status, f"no {line} in /proc/self/status")
        expect_equal(inside("id -u").strip(), "1000", "its user")
        [forked] = roche(environment, "exec", "--sandbox", one, "--", "python3", "-c", FORKS).stdout.split()
        expect(20 < int(forked) < 64, f"{forked} processes could be made")
        info = json.loads(call("list", "--json").stdout)
        spec = [item for item in info if item["id"] == one][0]
        expect_equal((spec["limits"]["memory_bytes"], spec["limits"]["cpus"], spec["ttl_ms"]),
                     (512 << 20, 1, 300_000), "memory, cores and time")
        roche(environment, "destroy", "--all")


# The package -------------------------------------------------------------------------------------

def client(environment, part, seconds=120):
    python = roche_packages.interpreter()
    done = subprocess.run([python, str(Path(__file__).with_name("roche_clients.py")), part], env=environment,
                          capture_output=True, text=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL)
    expect_equal(done.stdout, f"ok {part}\n", f"{part}: {done.stderr[-900:]}; its output")


@suite.case
def the_package_works_over_the_command():
    roche_packages.interpreter()
    with place_with_image() as (_, environment):
        client(environment, "sync")
        client(environment, "over_command")


@suite.case
def the_package_works_over_grpc():
    roche_packages.interpreter()
    with place_with_image() as (place, environment), roche_daemon(environment, place) as one:
        client(environment, "over_grpc")
        expect_equal(one.call("GET", "/v1/sandboxes").json()["sandboxes"], [], "what is left")


@suite.case
def roches_own_black_box_tests_pass():
    python = roche_packages.interpreter()
    tests = roche_packages.shipped_tests(python)
    with place_with_image() as (place, environment):
        # They run only where `docker info` succeeds, and then use nothing but `roche`.
        (place / "bin/docker").write_text('#!/bin/sh\n[ "$1" = info ]\n')
        (place / "bin/docker").chmod(0o755)
        done = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs",
                               str(tests / "integration")], env=environment, cwd=tests.parent,
                              capture_output=True, text=True, timeout=200, check=False)
        expect(done.returncode == 0 and "6 passed" in done.stdout, done.stdout[-900:])


# The daemon --------------------------------------------------------------------------------------

@contextlib.contextmanager
def roche_daemon(environment, place, more=""):
    port = free_port()
    with changed(environment), daemon(
            f'[roche]\nport = {port}\ndocker = "native"\n'
            f'discovery = "{place}/home/.roche/daemon.json"\n{more}') as one:
        one.roche_port = port
        yield one


@contextlib.contextmanager
def changed(environment):
    before = dict(os.environ)
    os.environ.update({name: environment[name] for name in ("NUTSHELL_IMAGE_DIR", "HOME")})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def first_bytes(port, user=None):
    """The number of bytes that a client of that user gets from the port."""
    program = ("import socket, sys\n"
               f"s = socket.create_connection(('127.0.0.1', {port}), 10)\n"
               f"try:\n s.sendall({PREFACE!r}); print(len(s.recv(9)))\n"
               "except ConnectionError: print(0)\n")
    settings = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    done = subprocess.run(["/usr/bin/python3", "-I", "-c", program], capture_output=True, text=True, timeout=30,
                          check=False, cwd="/", **settings)
    expect_equal(done.returncode, 0, f"the client: {done.stderr}; its status")
    return int(done.stdout)


@suite.case
def the_port_is_for_the_daemons_user_alone():
    with place_with_image() as (place, environment), roche_daemon(environment, place) as one:
        expect(first_bytes(one.roche_port) > 0, "its own user gets no answer")
        listening = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
                     if line.split()[3] == "0A" and line.split()[1].endswith(f":{one.roche_port:04X}")}
        expect_equal(listening, {f"0100007F:{one.roche_port:04X}"}, "where it listens")
        if os.geteuid() != 0:
            raise Skip("only root can be a client of another user; its own user was admitted")
        expect_equal(first_bytes(one.roche_port, user=65534), 0, "bytes for another user")
        expect(wait_until(lambda: b"uid 65534" in call("audit", "show", "--json", "--directory",
                                                       str(one.directory / "state/audit")).stdout),
               "the refusal is not recorded")


@suite.case
def there_is_no_port_unless_it_is_asked_for():
    with place_with_image() as (place, environment), changed(environment), daemon() as one:
        mine = {os.readlink(entry) for entry in Path(f"/proc/{one.process.pid}/fd").iterdir()}
        inodes = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]}
        expect(not any(f"socket:[{inode}]" in mine for inode in inodes), "it has a TCP socket")
        expect(not (place / "home/.roche").exists(), "it left a file for Roche's clients")


@suite.case
def clients_find_the_daemon_by_its_file():
    with place_with_image() as (place, environment):
        file = place / "home/.roche/daemon.json"
        with roche_daemon(environment, place) as one:
            expect_equal(json.loads(file.read_text()), {"pid": one.process.pid, "port": one.roche_port}, "the file")
            expect_equal(file.stat().st_mode & 0o777, 0o600, "its mode")
        expect(not file.exists(), "the file is there after the daemon")
        own = {**environment, "NUTSHELL_RUNTIME_DIR": str(place / "run"), "NUTSHELL_STATE_DIR": str(place / "state")}
        (place / "run").mkdir(mode=0o700)
        port = free_port()
        done = roche(own, "daemon", "start", "--port", str(port))
        try:
            expect(re.fullmatch(rf"Daemon started \(pid=\d+, port={port}\)\n", done.stdout), f"daemon start: {done}")
            expect(re.match(r"Daemon running \(pid=", roche(own, "daemon", "status").stdout), "daemon status")
            expect_equal(roche(own, "daemon", "start").returncode, 1, "the status of a second start")
            expect_equal(roche(own, "pool", "status").stdout, "No pools configured.\n", "pool status")
            expect_equal(roche(own, "pool", "drain").stdout, "Drained 0 idle sandboxes.\n", "pool drain")
        finally:
            done = roche(own, "daemon", "stop")
        expect(re.match(r"Daemon stopped \(pid=", done.stdout), f"daemon stop: {done}")
        expect_equal(roche(own, "daemon", "status").stdout, "Daemon not running\n", "daemon status")


@suite.case
def the_service_is_among_those_that_reflection_names():
    from grpc_client import grpc_daemon
    with grpc_daemon() as (_, rpc):
        expect("roche.v1.SandboxService" in set(rpc.database.get_services()), "it is not there")


# The page ----------------------------------------------------------------------------------------

@suite.case
def the_lines_of_the_page_run():
    python = roche_packages.interpreter()
    python_sdk.generate()
    blocks = re.findall(r"^```(python|sh)\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    expect(len(blocks) >= 6, f"{len(blocks)} blocks")
    printed = {}
    with place_with_image() as (place, environment):
        environment["NUTSHELL_RUNTIME_DIR"] = str(runtime_directory())
        environment["PYTHONPATH"] = str(python_sdk.SOURCE)
        for number, (language, text) in enumerate(blocks):
            words = [python, "-c", text] if language == "python" else ["bash", "-euc", text]
            done = subprocess.run(words, env=environment, cwd=place, capture_output=True, text=True, timeout=120,
                                  check=False, stdin=subprocess.DEVNULL)
            expect_equal(done.returncode, 0, f"block {number}: {done.stderr[-500:]}; its status")
            printed[text.splitlines()[0]] = done.stdout
    [wanted] = re.findall(r"^Both print:\n\n```text\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    for side in ("# before", "# after"):
        expect_equal(printed[side], wanted, f"what the block {side} prints")


if __name__ == "__main__":
    sys.exit(suite.run())
