#!/usr/bin/env python3
"""`nutshell network`: what a sandbox may reach is shown, changed, explained and learned."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import relay_client
from support import (PYTHON, Failed, Skip, Suite, call, call_json, destroy, expect, expect_equal, expect_refusal,
                     processes, read_line, runtime_directory, sandbox, start, wait_until)
from world import DOMAIN, EchoServer, World

suite = Suite()
world = None
trouble = ""  # why there is no world, although this is root
HOME = None  # a server on this machine's loopback

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
# Looks names up that no program would, with a resolver of its own. Each label is an argument, in hex.
LOOK_UP = """
import socket, sys
servers = [line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver')]
for number, name in enumerate(sys.argv[1:]):
    labels = b''.join(bytes([len(label)]) + label for label in (bytes.fromhex(part) for part in name.split('.')))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(20)
        client.sendto(number.to_bytes(2, 'big') + b'\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + labels + b'\\0\\0\\1\\0\\1', (servers[0], 53))
        try:
            client.recv(512)
        except OSError:
            print('no answer')
"""


def home():
    return f"127.0.0.1:{HOME.port}"


def allowing(*rules):
    return [word for rule in rules for word in ("--allow", rule)]


def network(*words):
    """The text of a command that has to succeed."""
    done = call("network", *words)
    expect_equal(done.status, 0, f"network {words}: {done!r}")
    return done.stdout.decode()


def shown(made):
    return json.loads(network("show", made, "--json"))


def events(made):
    return json.loads(network("explain", made, "--json"))["events"]


def connect(made, *places):
    return call_json("exec", made, "--", *PYTHON, CONNECT, *places)["stdout"]


def needs_world():
    if trouble:
        raise Failed(trouble)
    if world is None:
        raise Skip("names and addresses of our own need root, for a network namespace")


@suite.case
def show_tells_the_policy_and_its_use():
    with sandbox(*allowing(home()), "--network-connections", "7") as made:
        expect_equal(connect(made, home()), "hello\n", "what the server says")
        told = shown(made)
        expect_equal((told["policy"]["mode"], told["policy"]["allow"], told["policy"]["most_connections"]),
                     ("allowed", [home()], 7), "the policy")
        expect_equal((told["connections"], told["refused"], told["way"]), (1, 0, "notification"), "its use")
        wait_until(lambda: shown(made)["open_connections"] == 0, 30)
        text = network("show", made)
        expect(f"allowed      {home()}\n" in text, text)
        expect("connections  0 open of at most 7, 1 in all\n" in text, text)


@suite.case
def a_sandbox_without_a_network_gets_none():
    with sandbox() as made:
        told = shown(made)
        expect_equal((told["policy"]["mode"], told["way"]), ("none", "none"), "its network")
        expect("allowed      nothing\n" in network("show", made), "the text")
        expect("Nothing was tried." in network("explain", made), "what was tried")
        expect_refusal(call("network", "set", made, "--allow", home()), "started without a network", "--allow")


@suite.case
def set_changes_it_while_it_runs():
    with sandbox(*allowing(home())) as made:
        staying = start("exec", made, "--", *PYTHON, STAY, "127.0.0.1", str(HOME.port))
        expect_equal(read_line(staying), b"hello\n", "first line")
        text = network("set", made, "--allow", "192.0.2.1:80", "--allow", "192.0.2.2:80")
        expect("allowed      192.0.2.1:80, 192.0.2.2:80\n" in text, text)
        expect_equal(read_line(staying), b"ConnectionResetError\n", "the open connection")
        staying.communicate(timeout=30)
        expect_equal(connect(made, home()), "ConnectionRefusedError 111\n", "a new connection")
        told = json.loads(network("set", made, "--allow", home(), "--json"))
        expect_equal(told["policy"]["allow"], [home()], "the rules")
        expect_equal(connect(made, home()), "hello\n", "allowed again")
        network("set", made, "--network", "none")
        expect_equal(shown(made)["policy"]["mode"], "none", "the mode")
        expect_equal(connect(made, home()), "ConnectionRefusedError 111\n", "without any rule")


@suite.case
def set_keeps_what_no_flag_names():
    with sandbox(*allowing(home()), "--network-connections", "7", "--network-bytes", "1m") as made:
        network("set", made, "--allow", "192.0.2.1:80")
        policy = shown(made)["policy"]
        expect_equal((policy["allow"], policy["most_connections"], policy["most_bytes"]), (["192.0.2.1:80"], 7, 1 << 20),
                     "after another rule")
        network("set", made, "--network-connections", "9")
        policy = shown(made)["policy"]
        expect_equal((policy["allow"], policy["most_connections"]), (["192.0.2.1:80"], 9), "after another bound")


@suite.case
def bad_changes_leave_the_policy_as_it_is():
    with sandbox(*allowing(home())) as made:
        for words, wanted in (((), "--allow HOST"), (("--allow", "*"), "unsafe-full"), (("--allow", "pypo"), "pypi"),
                              (("--network", "some"), "unsafe-full"), (("--network-connections", "0"), "out of range"),
                              (("--allow", home(), "--allow", "bad name"), "bad name")):
            expect_refusal(call("network", "set", made, *words), wanted)
        expect_equal(shown(made)["policy"]["allow"], [home()], "the rules")
        expect_equal(connect(made, home()), "hello\n", "what the server says")


@suite.case
def explain_names_the_narrowest_policy():
    with sandbox(*allowing(home())) as made:
        connect(made, home(), "192.0.2.7:80", "192.0.2.7:80", "192.0.2.8:25")
        text = network("explain", made)
        expect(f"  {home()}  1 opened\n" in text, text)
        expect(f"  192.0.2.7:80  2 refused: 192.0.2.7:80 is not allowed; allowed are {home()}\n" in text, text)
        expect("\n  --allow 192.0.2.7:80 --allow 192.0.2.8:25\n" in text, text)
        told = json.loads(network("explain", made, "--json"))
        expect_equal(told["allow"], ["192.0.2.7:80", "192.0.2.8:25"], "rules that are missing")
        expect_equal(told["status"]["refused"], 3, "refused connections")


@suite.case
def explain_is_safe_to_read_and_to_follow():
    names = ["*.com", "pypi", "$(reboot).test", "\x1b[2J.test", "a'b.test", "0.0.0.0/0", "x" * 63 + ".test", "a b.test",
             "ok.test"]
    hex_names = [".".join(label.encode().hex() for label in name.split(".")) for name in names]
    with sandbox(*allowing(home())) as made:
        done = call_json("exec", made, "--", *PYTHON, LOOK_UP, *hex_names)
        expect_equal((done["stdout"], done["stderr"]), ("", ""), "the look-ups")
        text = network("explain", made)
        lines = text.splitlines()
        expect(all(letter.isprintable() for line in lines for letter in line), f"{text!r}")
        rules = [rule for event in events(made) for rule in [event.get("rule", "")] if rule]
        expect("ok.test" in rules, f"{rules}")
        for bad in ("*", "pypi", "/", " ", "$", "'", "\x1b"):
            expect(not any(bad in rule for rule in rules if bad != "pypi" or rule == "pypi"), f"{bad!r} in {rules}")
        flags = next(line for line in lines if line.startswith("  --allow "))
        expect_equal(flags, f"  --allow ok.test --allow {'x' * 63}.test", "flags to copy")


@suite.case
def events_are_bounded_and_counted():
    code = """
import socket
for port in range(1, 1101):
    with socket.socket() as it:
        it.connect_ex(('192.0.2.7', port))
"""
    with sandbox(*allowing(home())) as made:
        call_json("exec", made, "--", *PYTHON, code)
        told = events(made)
        expect_equal((len(told), told[0]["number"], told[-1]["port"]), (1024, 77, 1100), "events that are kept")
        expect_equal(shown(made)["refused"], 1100, "refused connections")


@suite.case
def unknown_sandboxes_are_refused():
    for verb in ("show", "explain"):
        expect_refusal(call("network", verb, "nffffffffffff"), "nffffffffffff")
    expect_refusal(call("network", "set", "nffffffffffff", "--allow", home()), "nffffffffffff")
    done = call("network")
    expect(done.status != 0 and b"subcommand" in done.stderr.lower(), f"{done!r}")


@suite.case
def a_killed_relay_is_told():
    with sandbox(*allowing(home())) as made:
        killed = relay_of(made)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: killed not in dict(processes()), 30)
        for words in (("show", made), ("explain", made), ("set", made, "--allow", home())):
            expect_refusal(call("network", *words), "nutshell-egress", "no network any more")


def relay_of(made):
    """The pid of the nutshell-egress that listens for questions about this sandbox."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(relay_client.socket_path(made)))
        return struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


@suite.case
def a_fork_gets_the_policy_of_now():
    with sandbox(*allowing(home(), "192.0.2.9:80")) as made:
        network("set", made, "--allow", home())
        other = call("fork", made).stdout.decode().strip()
        try:
            expect_equal(shown(other)["policy"]["allow"], [home()], "its rules")
        finally:
            destroy(other)
        network("set", made, "--network", "none")
        other = call("fork", made).stdout.decode().strip()
        try:
            expect_equal(shown(other)["policy"]["mode"], "none", "its mode")
        finally:
            destroy(other)


# learn -----------------------------------------------------------------------------------------

@suite.case
def learn_prints_what_a_command_reached():
    done = call("network", "learn", *allowing(home()), "--", *PYTHON, CONNECT, home(), "192.0.2.7:80")
    text = done.stdout.decode()
    expect_equal(done.status, 0, f"status: {done!r}")
    expect(text.startswith("hello\nConnectionRefusedError 111\n"), f"the command's own output: {text}")
    expect(f"allows what was reached, and nothing else:\n  --allow {home()}\n" in text, text)
    expect("would have allowed what was refused, and nothing else:\n  --allow 192.0.2.7:80\n" in text, text)
    again = call_json("run", "--allow", home(), "--", *PYTHON, CONNECT, home())
    expect_equal(again["stdout"], "hello\n", "a run with the flag that was learned")


@suite.case
def learn_prints_json_alone():
    done = call("network", "learn", "--json", *allowing(home()), "--", "sh", "-c",
                f"echo said; echo more >&2; {' '.join(PYTHON[:3])} -c \"$1\" {home()}; exit 7", "sh", CONNECT)
    told = json.loads(done.stdout)
    expect_equal((done.status, told["result"]["exit_code"], told["allow"], told["refused"]), (7, 7, [home()], []), "answer")
    expect_equal(sorted(done.stderr.decode().split()), ["hello", "more", "said"], "the command's output")


@suite.case
def learn_needs_a_command():
    expect_refusal(call("network", "learn"), "which command")
    expect_equal(call("network", "learn", "true").stdout, b"\nThe command tried nothing on the network.\n", "no attempts")
    expect_equal(call("network", "learn", "--", "sh", "-c", "exit 3").status, 3, "the command's status")


@suite.case
def learn_runs_with_everything_that_this_machine_reaches():
    needs_world()
    first, second = f"good.{DOMAIN}:7000", f"other.{DOMAIN}:7000"
    done = call("network", "learn", "--json", "--", *PYTHON, CONNECT, first, second, home())
    told = json.loads(done.stdout)
    expect_equal(told["allow"], [first, second], "rules")
    expect_equal(done.stderr, b"hello\nhello\nConnectionRefusedError 111\n", "the command's output")
    run = call_json("run", *allowing(*told["allow"]), "--", *PYTHON, CONNECT, first, second)
    expect_equal(run["stdout"], "hello\nhello\n", "a run with these rules")


@suite.case
def learn_leaves_nothing():
    listed = call("list", "-q").stdout
    running = start("network", "learn", *allowing(home()), "--", *PYTHON, STAY, "127.0.0.1", str(HOME.port))
    expect_equal(read_line(running), b"hello\n", "first line")
    made, = call("list", "-q").stdout.decode().split()
    relay = relay_of(made)
    running.kill()
    running.communicate(timeout=30)
    expect(wait_until(lambda: relay not in dict(processes()), 60), "its relay is left")
    expect(wait_until(lambda: call("list", "-q").stdout == listed, 60), "a sandbox is left")
    expect(wait_until(lambda: not list((runtime_directory() / "egress").iterdir()), 60), "a socket is left")


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
