#!/usr/bin/env python3
"""The network of sandboxes by a policy: what is allowed works for real clients, and nothing else does.

As root the suite has a small internet of its own (world.py). A plain user has only servers on this machine's
loopback, so the cases that need names are skipped.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import relay_client
from support import (PYTHON, Failed, Skip, Suite, call, call_json, create, expect, expect_equal, expect_refusal,
                     processes, read_line, runtime_directory, sandbox, start, wait_until)
from world import DOMAIN, GOOD, OTHER, PRIVATE, EchoServer, World

suite = Suite()
world = None
trouble = ""  # why there is no world, although this is root
HOME = None  # a server on this machine's loopback

FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=30).read().decode(), end='')
    except OSError as error:
        print('failed:', error)
"""
CONNECT = """
import socket, sys
for place in sys.argv[1:]:
    host, _, port = place.rpartition(':')
    try:
        with socket.create_connection((host, int(port)), 30) as server:
            print(server.recv(100).decode(), end='')
    except OSError as error:
        print(type(error).__name__, error.errno)
"""
# Stays connected: prints a line, then what happens to the connection.
STAY = """
import socket, sys
server = socket.create_connection((sys.argv[1], int(sys.argv[2])), 30)
server.settimeout(60)
print(server.recv(100).decode(), end='', flush=True)
try:
    print('end' if not server.recv(100) else 'more', flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
"""


def needs_world():
    if trouble:
        raise Failed(trouble)
    if world is None:
        raise Skip("names and addresses of our own need root, for a network namespace")
    world.reached()


def needs(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Skip(f"{program} is not installed here")


def home():
    return f"127.0.0.1:{HOME.port}"


def allowing(*rules):
    return [word for rule in rules for word in ("--allow", rule)]


def python(code, *words, rules=(), flags=()):
    return call_json("run", *allowing(*rules), *flags, "--", *PYTHON, code, *words)


def relay_processes():
    """Those of this user and, for root, in this suite's network; suites may run at the same time."""
    def owner(pid):
        with contextlib.suppress(OSError):
            return int(Path(f"/proc/{pid}/status").read_text().split("\nUid:")[1].split()[0])
        return None

    def is_here(pid):
        with contextlib.suppress(OSError):
            return os.getuid() != 0 or os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net")
        return False
    return {pid for pid, words in processes() if os.path.basename(words[0]) == b"nutshell-egress"
            and owner(pid) == os.getuid() and is_here(pid)}


def leftovers():
    directory = runtime_directory() / "egress"
    return sorted(path.name for path in directory.iterdir()) if directory.exists() else []


def expect_nothing_left(before):
    is_clean = wait_until(lambda: relay_processes() <= before and not leftovers(), 20)
    expect(is_clean, f"left: processes {relay_processes() - before}, files {leftovers()}")


# Without names ---------------------------------------------------------------------------------

@suite.case
def an_address_rule_reaches_a_server_of_this_machine():
    before = relay_processes()
    done = python(CONNECT, home(), rules=[home()])
    expect_equal(done["stdout"], "hello\n", "what the server says")
    expect("refused_connections" not in done, f"{done}")
    expect_nothing_left(before)


@suite.case
def without_a_rule_loopback_is_the_sandboxs_own():
    clients = len(HOME.clients)
    done = python(CONNECT, home(), rules=["192.0.2.1:80"])
    expect_equal(done["stdout"], "ConnectionRefusedError 111\n", "a port on which nobody listens")
    expect_equal(len(HOME.clients), clients, "clients of the server")


@suite.case
def a_server_inside_is_reached_inside():
    code = """
import socket, threading
listener = socket.create_server(('127.0.0.1', 8080))
threading.Thread(target=lambda: listener.accept()[0].sendall(b'inside')).start()
print(socket.create_connection(('127.0.0.1', 8080), 30).recv(100).decode())
"""
    expect_equal(python(code, rules=[home()])["stdout"], "inside\n", "what the server inside says")


@suite.case
def a_refused_address_is_told():
    done = python(CONNECT, "192.0.2.7:80", "192.0.2.7:80", rules=[home()])
    expect_equal(done["stdout"], "ConnectionRefusedError 111\n" * 2, "the command's own error")
    expect_equal(done.get("refused_connections"), [f"192.0.2.7:80 is not allowed; allowed are {home()}"], "reasons")
    expect_equal(done.get("refused_connection_count"), 2, "their number")
    shown = call("run", *allowing(home()), "--", *PYTHON, CONNECT, "192.0.2.7:80")
    wanted = f"nutshell: 1 connection refused: 192.0.2.7:80 is not allowed; allowed are {home()}"
    expect(wanted in shown.stderr.decode(), f"{shown!r}")


@suite.case
def bytes_go_both_ways():
    code = """
import socket, sys, threading, hashlib, os
server = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 30)
assert server.recv(6) == b'hello\\n'
sent = os.urandom(1 << 20) * 8
def send():
    server.sendall(sent)
    server.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
got = b''.join(iter(lambda: server.recv(1 << 16), b''))
print(len(got), hashlib.sha256(got).digest() == hashlib.sha256(sent).digest())
"""
    done = python(code, str(HOME.port), rules=[home()])
    expect_equal(done["stdout"], f"{8 << 20} True\n", "the echo of 8 MiB")


@suite.case
def no_more_connections_than_the_policy_has():
    code = """
import socket, sys
kept = []
for _ in range(4):
    try:
        kept.append(socket.create_connection(('127.0.0.1', int(sys.argv[1])), 30))
        print(kept[-1].recv(10).decode().strip())
    except OSError as error:
        print(type(error).__name__)
"""
    done = python(code, str(HOME.port), rules=[home()], flags=["--network-connections", "2"])
    expect_equal(done["stdout"].split(), ["hello"] * 2 + ["ConnectionRefusedError"] * 2, "four connections")


@suite.case
def a_kept_sandbox_keeps_its_network():
    before = relay_processes()
    with sandbox(*allowing(home())) as made:
        for _ in range(2):
            done = call_json("exec", made, "--", *PYTHON, CONNECT, home())
            expect_equal(done["stdout"], "hello\n", "what the server says")
        now = relay_client.status(made)
        expect_equal((now["connections"], now["policy"]["allow"], now["way"]), (2, [home()], "notification"), "status")
        def kinds():  # the end of a connection is told a moment after the command's
            return sorted(event["kind"] for event in relay_client.events(made))
        wait_until(lambda: len(kinds()) == 4, 20)
        expect_equal(kinds(), ["closed", "closed", "opened", "opened"], "events")
    expect_nothing_left(before)


@suite.case
def a_new_policy_ends_connections_that_it_does_not_allow():
    with sandbox(*allowing(home())) as made:
        staying = start("exec", made, "--", *PYTHON, STAY, "127.0.0.1", str(HOME.port))
        expect_equal(read_line(staying), b"hello\n", "first line")
        message, now = relay_client.set_policy(made, allow=["192.0.2.1:80"])
        expect_equal((message, now["policy"]["allow"]), ("", ["192.0.2.1:80"]), "the new policy")
        expect_equal(read_line(staying), b"ConnectionResetError\n", "the open connection")
        staying.communicate(timeout=30)
        done = call_json("exec", made, "--", *PYTHON, CONNECT, home())
        expect_equal(done["stdout"], "ConnectionRefusedError 111\n", "a new connection")
        relay_client.set_policy(made, allow=[home()])
        done = call_json("exec", made, "--", *PYTHON, CONNECT, home())
        expect_equal(done["stdout"], "hello\n", "allowed again")
        message, now = relay_client.set_policy(made, allow=["*"])
        expect("unsafe-full" in message, f"a rule that is none: {message!r}")
        expect_equal(now["policy"]["allow"], [home()], "the policy stays")


@suite.case
def a_killed_relay_takes_the_network_and_nothing_else():
    before = relay_processes()
    with sandbox(*allowing(home())) as made:
        staying = start("exec", made, "--", *PYTHON, STAY, "127.0.0.1", str(HOME.port))
        expect_equal(read_line(staying), b"hello\n", "first line")
        os.kill(relay_client.process_of(made), signal.SIGKILL)
        expect(read_line(staying) in (b"end\n", b"ConnectionResetError\n"), "the open connection stays")
        staying.communicate(timeout=30)
        began = time.monotonic()
        done = call_json("exec", made, "--", *PYTHON, CONNECT, home())
        expect("Error" in done["stdout"], f"a new connection: {done['stdout']!r}")
        expect(time.monotonic() - began < 30, "a new connection takes too long to fail")
        expect(done.get("refused_connections"), f"no reason is told: {done}")
        expect_equal(call_json("exec", made, "--", "echo", "alive")["stdout"], "alive\n", "other commands")
    expect_nothing_left(before)


@suite.case
def the_relay_has_no_rights_beyond_its_user():
    """It reads hostile bytes: a fault in it must not be one of root's."""
    with sandbox(*allowing(home())) as made:
        status = Path(f"/proc/{relay_client.process_of(made)}/status").read_text()
        found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            expect_equal(int(found[name], 16), 0, name)
        expect_equal(found["NoNewPrivs"], "1", "NoNewPrivs")


@suite.case
def gc_removes_the_socket_of_a_killed_relay():
    directory = runtime_directory() / "egress"
    directory.mkdir(mode=0o700, exist_ok=True)
    place = directory / "n0123456789abcdef.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
    call("gc")
    expect(not place.exists(), "the socket is still there")


@suite.case
def nothing_is_left_of_a_run_that_is_killed():
    before = relay_processes()
    running = start("run", *allowing(home()), "--", *PYTHON, STAY, "127.0.0.1", str(HOME.port))
    expect_equal(read_line(running), b"hello\n", "first line")
    running.kill()
    running.communicate(timeout=30)
    expect_nothing_left(before)


@suite.case
def nothing_is_left_of_a_sandbox_that_reaches_its_ttl():
    before = relay_processes()
    create("--ttl", "1s", *allowing(home()))
    expect_nothing_left(before)


@suite.case
def nothing_is_left_of_a_sandbox_that_does_not_start():
    before = relay_processes()
    done = call("run", *allowing(home()), "--image", "/no/such/image", "--", "true")
    expect_refusal(done, "/no/such/image")
    expect_nothing_left(before)


@suite.case
def its_process_shows_no_policy():
    with sandbox(*allowing("a-name-to-look-for.example.test")) as made:
        pid = relay_client.process_of(made)
        expect_equal(Path(f"/proc/{pid}/cmdline").read_bytes(), b"nutshell-egress\0", "its arguments")
        if os.geteuid() == 0:
            expect_equal(Path(f"/proc/{pid}/environ").read_bytes(), b"", "its environment")
        mode = relay_client.socket_path(made).stat().st_mode
        expect_equal(mode & 0o077, 0, "access of others to its socket")


@suite.case
def bad_policies_are_refused_before_anything_runs():
    before = relay_processes()
    for rule, words in (("*", "unsafe-full"), ("localhost:80", "127.0.0.1:PORT"), ("bad name", "allow 'bad name'"),
                        ("GET https://example.test/x", "--inspect"), ("pypo", "pypi")):
        expect_refusal(call("run", "--allow", rule, "--", "true"), words)
    expect_nothing_left(before)


@suite.case
def a_mangled_question_harms_nobody():
    with sandbox(*allowing(home())) as made:
        for garbage in (b"", b"\0", b"\xff" * 64, b"\5\0\0\0\1", b"\1\0\0\0\x09"):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(relay_client.socket_path(made)))
                client.sendall(garbage)
        expect_equal(relay_client.status(made)["connections"], 0, "connections")
        done = call_json("exec", made, "--", *PYTHON, CONNECT, home())
        expect_equal(done["stdout"], "hello\n", "what the server says")


@suite.case
def a_payload_finds_no_other_door():
    code = """
import socket, sys
def attempt(name, step):
    try:
        step()
        print(name, 'WORKS')
    except OSError as error:
        print(name, 'fails')
def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        it.settimeout(1)
        it.sendto(b'x', ('127.0.0.1', int(sys.argv[1])))
        it.sendto(b'x', ('192.0.2.7', 53))
def fast_open():
    with socket.socket() as it:
        it.sendto(b'x', 0x20000000, ('192.0.2.7', 80))
def mapped():
    with socket.socket(socket.AF_INET6) as it:
        it.connect(('::ffff:192.0.2.7', 80))
def nat64():
    with socket.socket(socket.AF_INET6) as it:
        it.connect(('64:ff9b::c000:207', 80))
def again():
    with socket.socket() as it:
        it.connect(('127.0.0.1', int(sys.argv[1])))
        it.connect_ex(('0.0.0.0', 0))
        it.connect(('192.0.2.7', 80))
attempt('udp', udp)
attempt('fast open', fast_open)
attempt('mapped', mapped)
attempt('nat64', nat64)
attempt('again', again)
attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt('vsock', lambda: socket.socket(40, socket.SOCK_STREAM).connect((2, 1)))
attempt('sctp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132).connect(('192.0.2.7', 80)))
attempt('mptcp', lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(('192.0.2.7', 80)))
"""
    done = python(code, str(HOME.port), rules=[home()])
    lines = done["stdout"].splitlines()
    expect_equal([line for line in lines if not line.endswith(" fails")], [], "doors that are open")
    expect_equal(len(lines), 10, "attempts")


@suite.case
def half_open_connections_do_not_stop_others():
    code = """
import socket, sys
many = []
for _ in range(300):
    it = socket.socket()
    it.setblocking(False)
    it.connect_ex(('127.0.0.1', int(sys.argv[1])))
    many.append(it)
server = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 30)
print(server.recv(10).decode(), end='')
"""
    done = python(code, str(HOME.port), rules=[home()])
    expect_equal(done["stdout"], "hello\n", "a connection beside 300 others")


# With names ------------------------------------------------------------------------------------

@suite.case
def an_allowed_name_is_reached_and_another_is_not():
    needs_world()
    good, other = f"good.{DOMAIN}", f"other.{DOMAIN}"
    done = python(FETCH, f"http://{good}/x", f"http://{other}/", rules=[good])
    first, second = done["stdout"].splitlines()
    expect_equal(first, f"{GOOD} {good} /x", "the answer")
    expect(second.startswith("failed:"), f"the other name: {second!r}")
    expect_equal(done.get("refused_connections"), [f"{other} is not allowed; allowed are {good}"], "reasons")
    expect_equal(world.reached(), [GOOD], "servers that were reached")
    expect(other not in world.names.asked, "the refused name was asked for")


@suite.case
def curl_and_wget_need_no_settings():
    needs_world()
    needs("curl", "wget")
    flags = [*allowing(f"*.{DOMAIN}"), "--copy", f"{world.authority}:/workspace/ca.pem"]
    for command in (("curl", "-sS", "--cacert", "ca.pem", f"https://good.{DOMAIN}/c"),
                    ("wget", "-q", "-O-", "--ca-certificate=ca.pem", f"https://good.{DOMAIN}/c")):
        done = call_json("run", *flags, "--", *command)
        expect_equal(done["stdout"], f"{GOOD} good.{DOMAIN} /c\n", f"the answer to {command[0]}")
    done = call_json("run", *allowing(f"good.{DOMAIN}"), "--", "curl", "-sS", f"http://other.{DOMAIN}/")
    expect(done["exit_code"] == 6 and "Could not resolve" in done["stderr"], f"curl's own error: {done}")
    done = call_json("run", *allowing(f"good.{DOMAIN}:443"), "--", "curl", "-sS", f"http://good.{DOMAIN}/")
    expect_equal(done["exit_code"], 7, "curl's status for a port that is not allowed")


@suite.case
def git_clones_over_http():
    needs_world()
    needs("git")
    source = world.scratch / "files/repository"
    if not source.exists():
        source.parent.mkdir(exist_ok=True)
        made = source.parent / "work"
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.test")
        for words in (("init", "-q", str(made)),
                      ("-C", str(made), *identity, "commit", "-q", "--allow-empty", "-m", "first"),
                      ("clone", "-q", "--bare", str(made), str(source)), ("-C", str(source), "update-server-info")):
            subprocess.run(["git", *words], check=True, stdin=subprocess.DEVNULL)
        subprocess.run(["chmod", "-R", "a+rX", str(source)], check=True)
    url = f"http://good.{DOMAIN}/files/repository"
    script = f"git clone -q {url} copy && git -C copy log --format=%s"
    done = call_json("run", *allowing(f"good.{DOMAIN}"), "--", "sh", "-c", script)
    expect_equal(done["stdout"], "first\n", f"the log of the clone, {done['stderr'][-300:]!r}")


@suite.case
def names_are_looked_up_by_the_rules():
    needs_world()
    words = [f"{name}.{DOMAIN}" for name in ("good", "other", "private", "home", "metadata", "mapped", "missing")]
    script = 'for name; do getent hosts $name | head -n 1 | cut -d " " -f 1 | grep . || echo none; done'
    rules = allowing(*(word for word in words if not word.startswith("other")))
    done = call_json("run", *rules, "--", "sh", "-c", script, "sh", *words)
    expect_equal(done["stdout"].split(), [GOOD] + ["none"] * 6, "addresses")
    expect(any("10.9.8.7" in reason for reason in done.get("refused_connections", [])), f"{done}")


@suite.case
def case_and_a_final_dot_do_not_matter():
    needs_world()
    name = f"GOOD.{DOMAIN}."
    done = python(CONNECT, f"{name}:7000", rules=[f"good.{DOMAIN}:7000"])
    expect_equal(done["stdout"], "hello\n", "what the server says")


@suite.case
def a_port_that_a_rule_names_carries_any_protocol():
    needs_world()
    name = f"good.{DOMAIN}"
    done = python(CONNECT, f"{name}:7000", f"{name}:80", rules=[f"{name}:7000"])
    expect_equal(done["stdout"], "hello\nConnectionRefusedError 111\n", "the port, and another one")


@suite.case
def a_name_may_not_come_to_lead_inside():
    needs_world()
    name = f"rebind.{DOMAIN}"
    world.names.records[name] = [GOOD, "127.0.0.1"]
    done = python(CONNECT, f"{name}:7000", f"127.0.0.1:{HOME.port}", rules=[f"{name}:7000", name])
    expect_equal(done["stdout"], "hello\nConnectionRefusedError 111\n", "the name, and this machine")


@suite.case
def an_address_is_pinned_to_the_name_that_led_there():
    needs_world()
    needs("curl")
    good, other = f"good.{DOMAIN}", f"other.{DOMAIN}"
    world.reached()
    attempts = [
        ("-H", f"Host: {other}", f"http://{good}/"),
        ("--connect-to", f"{other}:80:{good}:80", f"http://{other}/"),
        ("-k", "--connect-to", f"{other}:443:{good}:443", f"https://{other}/"),
        ("--resolve", f"{good}:80:{OTHER}", f"http://{good}/"),
        ("-k", "--resolve", f"{good}:443:{OTHER}", f"https://{good}/"),
        ("-k", f"https://{GOOD}/"),
        ("-k", f"https://{OTHER}/"),
        (f"http://{good}@{other}/",),
        (f"http://{good}.{other}/",),
        ("-x", f"http://{good}:80", "-p", f"http://{other}/"),
        (f"http://{PRIVATE}/",),
        ("http://169.254.169.254/latest/meta-data",),
    ]
    for words in attempts:
        done = call_json("run", *allowing(good), "--", "curl", "-sSf", "--max-time", "20", *words)
        expect(done["exit_code"] != 0, f"{words}: {done['stdout'][:200]!r}")
        expect_equal(OTHER in (places := world.reached()) or PRIVATE in places, False, f"servers reached by {words}")


@suite.case
def the_hosts_resolver_carries_no_data_out():
    needs_world()
    world.names.asked.clear()
    code = """
import socket
for name in ('secret-1234.evil.test', 'secret.good.example.test', 'x' * 63 + '.evil.test',
             'evil.test\\0.good.example.test'):
    try:
        print(socket.getaddrinfo(name, 80))
    except (OSError, ValueError, UnicodeError):
        print('none')
"""
    done = python(code, rules=[f"good.{DOMAIN}"])
    expect_equal(done["stdout"].split(), ["none"] * 4, "answers")
    expect_equal([name for name in world.names.asked if name != f"good.{DOMAIN}"], [], "names that were asked for")


@suite.case
def the_whole_network_is_not_this_machine():
    needs_world()
    done = python(CONNECT, f"other.{DOMAIN}:7000", f"{PRIVATE}:7000", home(), flags=["--network", "unsafe-full"])
    expect_equal(done["stdout"], "hello\nhello\nConnectionRefusedError 111\n", "other hosts, and this machine")


@suite.case
def revoking_a_name_ends_its_connections():
    needs_world()
    name = f"good.{DOMAIN}"
    with sandbox(*allowing(f"{name}:7000")) as made:
        staying = start("exec", made, "--", *PYTHON, STAY, name, "7000")
        expect_equal(read_line(staying), b"hello\n", "first line")
        relay_client.set_policy(made, mode="none")
        expect_equal(read_line(staying), b"ConnectionResetError\n", "the open connection")
        staying.communicate(timeout=30)
        refused = [event for event in relay_client.events(made) if event["kind"] == "refused"]
        expect_equal([(event["host"], event["port"]) for event in refused], [(name, 7000)], "the event")


def main():
    global world, HOME, trouble
    if os.geteuid() == 0:
        try:
            world = World()
        except (OSError, subprocess.CalledProcessError) as error:
            trouble = f"no network of our own: {error}"
    HOME = EchoServer("127.0.0.1")
    try:
        return suite.run()
    finally:
        if world:
            world.close()


if __name__ == "__main__":
    sys.exit(main())
