"""The network of sandboxes whose kernel lets init watch no connection: commands find a proxy in the usual
variables. backends_test.py runs these cases, on the backend that NUTSHELL_TEST_FLAGS names.
"""
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import network_test
import relay_client
from network_test import CONNECT, FETCH, allowing, expect_nothing_left, python, relay_processes
from support import (PYTHON, Suite, call_json, expect, expect_equal, needs_full, read_line, sandbox, start,
                     wait_until)
from world import DOMAIN, GOOD, OTHER, PRIVATE, World

suite = Suite()
world = None
SITE, FOREIGN = f"good.{DOMAIN}", f"other.{DOMAIN}"

# Asks the proxy by its two protocols. A line for each target: "socks CODE" or "http STATUS", and what the
# server says then.
ASK = """
import os, re, socket, sys
place = re.match('socks5h://([0-9.]+):([0-9]+)', os.environ['ALL_PROXY'])
def open_proxy():
    return socket.create_connection((place[1], int(place[2])), 60)
def rest(it):
    it.settimeout(60)
    try:
        return it.recv(100)
    except OSError as error:
        return type(error).__name__.encode()
for target in sys.argv[1:]:
    host, _, port = target.rpartition(':')
    with open_proxy() as it:
        it.sendall(b'\\5\\1\\0' + b'\\5\\1\\0\\3' + bytes([len(host)]) + host.encode() + int(port).to_bytes(2, 'big'))
        it.recv(2, socket.MSG_WAITALL)
        code = it.recv(10, socket.MSG_WAITALL)[1]
        print('socks', code, rest(it).decode().strip() if code == 0 else '')
    with open_proxy() as it:
        it.sendall(f'CONNECT {target} HTTP/1.1\\r\\n\\r\\n'.encode())
        head = b''
        while b'\\r\\n\\r\\n' not in head and (part := it.recv(1)):
            head += part
        status = head.split()[1].decode()
        print('http', status, rest(it).decode().strip() if status == '200' else '')
"""
# The same as network_test.STAY, through the proxy.
STAY = """
import os, re, socket, sys
place = re.match('socks5h://([0-9.]+):([0-9]+)', os.environ['ALL_PROXY'])
server = socket.create_connection((place[1], int(place[2])), 60)
host = sys.argv[1].encode()
server.sendall(b'\\5\\1\\0' + b'\\5\\1\\0\\3' + bytes([len(host)]) + host + int(sys.argv[2]).to_bytes(2, 'big'))
server.recv(2, socket.MSG_WAITALL)
server.recv(10, socket.MSG_WAITALL)
server.settimeout(60)
print(server.recv(100).decode(), end='', flush=True)
try:
    print('end' if not server.recv(100) else 'more', flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
"""


def home():
    return f"127.0.0.1:{network_test.HOME.port}"


@suite.case
def an_allowed_name_is_reached_and_another_is_not():
    world.reached()
    done = python(FETCH, f"http://{SITE}/x", f"http://{FOREIGN}/", rules=[SITE])
    expect_equal(done["stdout"].splitlines(), [f"{GOOD} {SITE} /x", "failed: HTTP Error 403: Forbidden"], "answers")
    expect_equal(done.get("refused_connections"), [f"{FOREIGN}:80 is not allowed; allowed are {SITE}"], "reasons")
    expect_equal(world.reached(), [GOOD], "servers that were reached")


@suite.case
def https_needs_no_settings():
    code = """
import ssl, sys, urllib.request
for name in sys.argv[1:]:
    try:
        context = ssl.create_default_context(cafile='/workspace/ca.pem')
        print(urllib.request.urlopen(f'https://{name}/t', timeout=60, context=context).read().decode(), end='')
    except OSError as error:
        print('failed:', error)
"""
    done = python(code, SITE, FOREIGN, rules=[SITE], flags=["--copy", f"{world.authority}:/workspace/ca.pem"])
    first, second = done["stdout"].splitlines()
    expect_equal(first, f"{GOOD} {SITE} /t", "the allowed site")
    expect(second.startswith("failed:") and "403" in second, f"the other one: {second}")


@suite.case
def both_protocols_carry_any_protocol_to_what_is_allowed():
    rules = [f"{SITE}:7000", home()]
    targets = [f"{SITE}:7000", f"{SITE.upper()}.:7000", home(), f"{SITE}:80", f"{FOREIGN}:7000", "192.0.2.7:80"]
    done = python(ASK, *targets, rules=rules)
    expect_equal(done["stdout"].splitlines(), ["socks 0 hello", "http 200 hello"] * 3 + ["socks 2 ", "http 403 "] * 3,
                 "answers")
    expect_equal(done.get("refused_connection_count"), 6, "refused connections")


@suite.case
def the_proxy_leads_to_no_address_that_the_policy_refuses():
    world.reached()
    names = ("home", "private", "metadata", "mapped")
    targets = [*(f"{name}.{DOMAIN}:80" for name in names), f"{PRIVATE}:80", f"{OTHER}:80", "169.254.169.254:80",
               "0.0.0.0:80", home(), "localhost:80", "2130706433:80", "0x7f.1:80", f"{SITE}.{FOREIGN}:80"]
    done = python(ASK, *targets, rules=[f"*.{DOMAIN}"])
    bad = [line for line in done["stdout"].splitlines() if line.startswith(("socks 0", "http 200"))]
    expect_equal(bad, [], "targets that were reached")
    expect_equal(len(done["stdout"].splitlines()), 2 * len(targets), "answers")
    expect_equal(world.reached(), [], "servers that were reached")


@suite.case
def a_command_that_leaves_the_proxy_out_reaches_nothing():
    done = python(CONNECT, f"{GOOD}:7000", "192.0.2.7:80", home(), rules=[f"{GOOD}:7000", home()])
    lines = done["stdout"].splitlines()
    expect(len(lines) == 3 and not any("hello" in line for line in lines), f"{lines}")


@suite.case
def a_server_inside_is_reached_inside():
    code = """
import socket, threading
listener = socket.create_server(('127.0.0.1', 8080))
threading.Thread(target=lambda: listener.accept()[0].sendall(b'inside')).start()
print(socket.create_connection(('127.0.0.1', 8080), 30).recv(100).decode())
"""
    expect_equal(python(code, rules=[SITE])["stdout"], "inside\n", "what the server inside says")


@suite.case
def bytes_go_both_ways():
    code = """
import hashlib, os, re, socket, sys, threading
place = re.match('socks5h://([0-9.]+):([0-9]+)', os.environ['ALL_PROXY'])
server = socket.create_connection((place[1], int(place[2])), 60)
server.sendall(b'\\5\\1\\0' + b'\\5\\1\\0\\1' + socket.inet_aton('127.0.0.1') + int(sys.argv[1]).to_bytes(2, 'big'))
server.recv(2, socket.MSG_WAITALL)
server.recv(10, socket.MSG_WAITALL)
assert server.recv(6, socket.MSG_WAITALL) == b'hello\\n'
sent = os.urandom(1 << 20) * 4
def send():
    server.sendall(sent)
    server.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
got = b''.join(iter(lambda: server.recv(1 << 16), b''))
print(len(got), hashlib.sha256(got).digest() == hashlib.sha256(sent).digest())
"""
    done = python(code, str(network_test.HOME.port), rules=[home()])
    expect_equal(done["stdout"], f"{4 << 20} True\n", f"the echo of 4 MiB {done['stderr'][-300:]}")


@suite.case
def a_kept_sandbox_keeps_its_network_and_says_that_it_has_a_proxy():
    before = relay_processes()
    with sandbox(*allowing(home())) as made:
        for _ in range(2):
            done = call_json("exec", made, "--", *PYTHON, ASK, home())
            expect_equal(done["stdout"], "socks 0 hello\nhttp 200 hello\n", f"answers {done['stderr'][-300:]}")
        now = relay_client.status(made)
        expect_equal((now["connections"], now["policy"]["allow"], now["way"]), (4, [home()], "proxy"), "status")
    expect_nothing_left(before)


@suite.case
def a_new_policy_ends_connections_that_it_does_not_allow():
    with sandbox(*allowing(f"{SITE}:7000")) as made:
        staying = start("exec", made, "--", *PYTHON, STAY, SITE, "7000")
        expect_equal(read_line(staying), b"hello\n", "first line")
        relay_client.set_policy(made, allow=["192.0.2.1:80"])
        expect(read_line(staying) in (b"end\n", b"ConnectionResetError\n"), "the open connection stays")
        staying.communicate(timeout=30)
        done = call_json("exec", made, "--", *PYTHON, ASK, f"{SITE}:7000")
        expect_equal(done["stdout"], "socks 2 \nhttp 403 \n", "a new connection")


@suite.case
def a_killed_relay_takes_the_network_and_nothing_else():
    before = relay_processes()
    with sandbox(*allowing(home())) as made:
        killed = relay_processes() - before
        expect_equal(len(killed), 1, "programs of this sandbox")
        os.kill(killed.pop(), signal.SIGKILL)
        done = call_json("exec", made, "--", *PYTHON, ASK, home())
        lines = done["stdout"].splitlines()
        expect(len(lines) == 2 and not any("hello" in line for line in lines), f"new connections: {done}")
        expect_equal(call_json("exec", made, "--", "echo", "alive")["stdout"], "alive\n", "other commands")
    expect_nothing_left(before)


@suite.case
def nothing_is_left_of_a_run_that_is_killed():
    before = relay_processes()
    running = start("run", *allowing(f"{SITE}:7000"), "--", *PYTHON, STAY, SITE, "7000")
    expect_equal(read_line(running), b"hello\n", "first line")
    running.kill()
    running.communicate(timeout=30)
    expect_nothing_left(before)


@suite.case
def nothing_is_left_of_a_sandbox_that_reaches_its_ttl():
    needs_full("it waits for the end of a ttl that a slow start does not reach")
    before = relay_processes()
    with sandbox("--ttl", "20s", *allowing(SITE)):
        expect(wait_until(lambda: relay_processes() <= before), "the program outlives its sandbox")
    expect_nothing_left(before)


def main():
    global world
    world = network_test.world = World()
    network_test.HOME = network_test.EchoServer("127.0.0.1")
    try:
        return suite.run()
    finally:
        world.close()


if __name__ == "__main__":
    sys.exit(main())
