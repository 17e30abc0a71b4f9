#!/usr/bin/env python3
"""gRPC for those it is not meant for: other tenants, wrong tokens, broken messages, slow clients."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from daemon_client import DAEMON
from daemon_clients_test import free_port
from grpc_client import SERVICE, Client, Sender, count_named, grpc_daemon, refusal, wait_until
from support import Skip, Suite, expect, expect_equal, needs_full

suite = Suite()


@suite.case
def another_tenants_sandbox_is_not_there():
    port = free_port()
    with grpc_daemon(port=port) as (_, local):
        with contextlib.closing(Client(f"127.0.0.1:{port}", "alice")) as alice, \
                contextlib.closing(Client(f"127.0.0.1:{port}", "bob")) as bob:
            sandbox, ours = alice.make(), local.make()
            missing = "0" * len(sandbox)

            def told(client, name):
                status, code, text = refusal(lambda: client.shell(name, "true"))
                return status, code, text.replace(name, "ID")
            nothing = told(bob, missing)
            expect_equal(nothing[:2], ("NOT_FOUND", "not_found"), "what never was")
            expect_equal(told(bob, sandbox), nothing, "alice's sandbox for bob")
            expect_equal(told(alice, ours), nothing, "the local user's sandbox for alice")
            expect_equal(list(bob.call("ListSandboxes").sandboxes), [], "bob's sandboxes")
            refused = refusal(lambda: alice.make(workspace="/etc"))
            expect_equal(refused[:2], ("PERMISSION_DENIED", "permission_denied"), "host files")
            alice.call("DestroySandbox", id=sandbox)


@suite.case
def wrong_tokens_are_refused_and_then_barred():
    port = free_port()
    with grpc_daemon(port=port) as (_, local):
        with contextlib.closing(Client(f"127.0.0.1:{port}")) as nobody:
            refused = refusal(lambda: nobody.call("ListSandboxes"))
            expect_equal(refused[:2], ("UNAUTHENTICATED", "unauthenticated"), "no token")
        with contextlib.closing(Client(f"127.0.0.1:{port}", "wrong")) as wrong:
            codes = [refusal(lambda: wrong.call("ListSandboxes"))[0] for _ in range(11)]
            expect_equal(codes, ["UNAUTHENTICATED"] * 10 + ["RESOURCE_EXHAUSTED"], "wrong tokens")
        with contextlib.closing(Client(f"127.0.0.1:{port}", "alice")) as alice:
            expect_equal(list(alice.call("ListSandboxes").sandboxes), [], "a right token after them")
        expect_equal(list(local.call("ListSandboxes").sandboxes), [], "others are not barred")


@suite.case
def a_stranger_costs_no_memory():
    port = free_port()
    with grpc_daemon(port=port) as (one, local):
        with contextlib.closing(Client(f"127.0.0.1:{port}")) as nobody:
            nobody.methods()  # which anybody may know
            peak = peak_bytes(one.process.pid)
            message = local.message("ExecRequest", stdin=bytes(16 << 20))
            calls = [nobody.channel.unary_unary(f"/{SERVICE}/Exec").future(
                message.SerializeToString(), timeout=30) for _ in range(30)]
            codes = {refusal(call.result)[0] for call in calls}
            expect_equal(codes, {"UNAUTHENTICATED"}, "strangers")
            grown = peak_bytes(one.process.pid) - peak
            expect(grown < 100 << 20, f"strangers cost {grown >> 20} MiB")


def peak_bytes(process):
    with open(f"/proc/{process}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


@suite.case
def hostile_messages_are_refused():
    with grpc_daemon() as (one, client):
        sandbox = client.make()
        refused = refusal(lambda: client.call("Exec", id=sandbox, argv=["true"],
                                              stdin=bytes(20 << 20)))
        expect_equal(refused[0], "RESOURCE_EXHAUSTED", "an oversized message")
        no_utf8 = b"\x0a\x02\xff\xfe"  # field 1, a string
        for raw in (no_utf8, b"\xff" * 10, b"\x0a\x7f"):
            refused = refusal(lambda one=raw: client.call("GetSandbox", raw=one))
            expect_equal(refused[:2], ("INVALID_ARGUMENT", "invalid_argument"), f"{raw!r}")
        before = peak_bytes(one.process.pid)
        many = b"\x12\x00" * (8 << 20)  # field 2 of an Exec, argv: eight million empty texts
        refused = refusal(lambda: client.call("Exec", raw=many))
        expect_equal(refused[0], "INVALID_ARGUMENT", "a message of very many fields")
        grown = peak_bytes(one.process.pid) - before
        expect(grown < 128 << 20, f"a message of 16 MiB cost {grown >> 20} MiB")
        for fields in ({"ttl_ms": -1}, {"limits": {"cpus": float("nan")}},
                       {"limits": {"processes": 1 << 60}}, {"workspace_mode": "none"}):
            refused = refusal(lambda one=fields: client.call("CreateSandbox", **one))
            expect_equal(refused[:2], ("INVALID_ARGUMENT", "invalid_argument"), f"{fields}")
        for name in ("", "../..", "a\0b", "x" * 100_000, "%2e%2e"):
            refused = refusal(lambda one=name: client.call("GetSandbox", id=one))
            expect(refused[0] in ("INVALID_ARGUMENT", "NOT_FOUND"), f"{name[:20]!r}: {refused}")
        sender = Sender(client.message("ExecInput", data=b"no start"))
        refused = refusal(lambda: client.call("InteractExec", sender))
        sender.end()
        expect_equal(refused[0], "INVALID_ARGUMENT", "a stream without a start")
        empty = Sender()
        empty.end()
        refused = refusal(lambda: client.call("InteractExec", empty))
        expect_equal(refused[0], "INVALID_ARGUMENT", "a stream without a message")
        expect_equal(client.shell(sandbox, "echo well").stdout, b"well\n", "afterwards")


@suite.case
def slow_clients_hold_nobody_up():
    with grpc_daemon() as (one, client):
        sandbox, threads = client.make(), f"/proc/{one.process.pid}/task"
        readers = []
        for _ in range(4):  # that ask for all there is, and read nothing
            reader = client.call("StreamExec", id=sandbox, argv=["yes"], on_disconnect="cancel",
                                 output_limit_bytes=1 << 30)
            next(reader)
            readers.append(reader)
        mute = [client.call("InteractExec", Sender()) for _ in range(100)]  # that say nothing
        garbage = []
        for index in range(50):
            raw = socket.socket(socket.AF_UNIX)
            raw.connect(f"{one.directory}/grpc.sock")
            if index % 2:
                with contextlib.suppress(OSError):
                    raw.sendall(b"GET / HTTP/1.1\r\n\r\n" + os.urandom(4096))
            garbage.append(raw)
        expect(len(os.listdir(threads)) < 120, f"{len(os.listdir(threads))} threads")
        began = time.monotonic()
        expect_equal(client.shell(sandbox, "echo quick").stdout, b"quick\n", "in between")
        expect(time.monotonic() - began < 20, "others wait for slow clients")
        for reader in (*readers, *mute):
            reader.cancel()
        for raw in garbage:
            raw.close()
        wait_until(lambda: count_named(client, sandbox, "yes") == 0,
                   "what slow clients started runs on")


def is_closed(connection):
    """Whether the other side hung up, within a moment."""
    connection.settimeout(0.2)
    try:
        while connection.recv(4096):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


@suite.case
def there_are_only_so_many_connections():
    port = free_port()
    limits = "[limits]\nconnections = 12\nconnections_of_address = 8\n"
    with grpc_daemon(limits, port) as (daemon, client):
        sandbox = client.make()
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(30)]
        open_ones = [one for one in held if not is_closed(one)]
        expect_equal(len(open_ones), 8, "connections of an address that showed no token")
        expect_equal(client.shell(sandbox, "echo served").stdout, b"served\n", "who was there")
        with contextlib.closing(Client(f"unix:{daemon.directory}/grpc.sock")) as local:
            expect(is_served(local), "the owner's socket has places of its own")
        for one in held:
            one.close()
        with contextlib.closing(Client(f"127.0.0.1:{port}", "alice")) as other:
            wait_until(lambda: is_served(other), "there is no room although all have left", 20)


def is_served(client):
    import grpc
    try:
        client.call("ListSandboxes", timeout=5)
        return True
    except grpc.RpcError:
        return False


@suite.case
def calls_of_one_tenant_leave_room_for_others():
    port = free_port()
    with grpc_daemon("[limits]\nworkers = 16\n", port) as (_, local), \
            contextlib.closing(Client(f"127.0.0.1:{port}", "alice")) as alice, \
            contextlib.closing(Client(f"127.0.0.1:{port}", "bob")) as bob:
        sandbox = alice.make()
        started = alice.call("StartExec", id=sandbox, argv=["sleep", "100"]).exec_id
        followers = [alice.call("FollowExec", id=sandbox, exec=started) for _ in range(40)]
        for follower in followers[:4]:
            next(follower)
        for name, client in (("bob", bob), ("the owner", local)):
            began = time.monotonic()
            for _ in range(10):
                client.call("ListSandboxes", timeout=10)
            expect(time.monotonic() - began < 20, f"{name} waits")
        for follower in followers:
            follower.cancel()
        began = time.monotonic()
        alice.call("ListSandboxes", timeout=10)
        expect(time.monotonic() - began < 10, "workers stay with calls that were cancelled")
        alice.call("DestroySandbox", id=sandbox)


@suite.case
def messages_that_wait_are_bounded_together():
    port = free_port()
    limits = "[limits]\nworkers = 4\nbody_bytes = 67108864\nbody_bytes_of_tenant = 25165824\n"
    with grpc_daemon(limits, port) as (daemon, _), \
            contextlib.closing(Client(f"127.0.0.1:{port}", "alice")) as alice, \
            contextlib.closing(Client(f"127.0.0.1:{port}", "bob")) as bob:
        sandbox = alice.make()
        stream = alice.call("StreamExec", id=sandbox, argv=["sleep", "100"], timeout_ms=3000)
        next(stream)  # it has alice's only worker until then, and all messages come meanwhile
        message = alice.message("ExecRequest", id=sandbox, argv=["true"], stdin=bytes(8 << 20))
        raw = message.SerializeToString()
        calls = [alice.channel.unary_unary(f"/{SERVICE}/Exec").future(
            raw, metadata=alice.metadata, timeout=60) for _ in range(12)]
        bob.call("ListSandboxes", timeout=20)
        codes = [call.code().name for call in calls]  # waits for each
        expect({"RESOURCE_EXHAUSTED", "OK"} == set(codes), f"codes: {codes}")
        alice.call("DestroySandbox", id=sandbox)


@suite.case
def a_revoked_token_ends_its_calls():
    port = free_port()
    with grpc_daemon(port=port) as (daemon, _), \
            contextlib.closing(Client(f"127.0.0.1:{port}", "alice")) as alice, \
            contextlib.closing(Client(f"127.0.0.1:{port}", "bob")) as bob:
        streams = []
        for client in (alice, bob):
            stream = client.call("StreamExec", id=client.make(), argv=["sleep", "90"])
            next(stream)
            streams.append(stream)
        text = daemon.config.read_text()
        first, second = text.index("[[tokens]]"), text.rindex("[[tokens]]")
        daemon.config.write_text(text[:first] + text[second:])  # without alice's
        daemon.process.send_signal(signal.SIGHUP)
        expect_equal(refusal(lambda: list(streams[0]))[0], "CANCELLED", "alice's stream")
        expect_equal(refusal(lambda: alice.call("ListSandboxes"))[0], "UNAUTHENTICATED", "alice")
        bob.call("ListSandboxes")
        expect(streams[1].is_active(), "bob's stream has ended")
        streams[1].cancel()


@suite.case
def idle_calls_are_ended():
    needs_full("takes three quarters of a minute")
    with grpc_daemon() as (_, client):
        sandbox, began = client.make(), time.monotonic()
        mute = client.call("InteractExec", Sender())
        reader = client.call("StreamExec", id=sandbox, argv=["yes"], on_disconnect="cancel",
                             output_limit_bytes=1 << 40)
        next(reader)
        status = refusal(lambda: mute)[0]
        expect_equal(status, "CANCELLED", "a call that never begins")
        expect(9 < time.monotonic() - began < 25, f"after {time.monotonic() - began:.0f} s")
        expect_equal(count_named(client, sandbox, "yes"), 1, "what a slow reader started")
        wait_until(lambda: count_named(client, sandbox, "yes") == 0,
                   "what a reader that takes nothing started runs on", 90)
        expect(time.monotonic() - began > 25, f"after {time.monotonic() - began:.0f} s already")


def certificates(directory):
    """An authority, a server's and a client's certificate of it."""
    if not shutil.which("openssl"):
        raise Skip("openssl is missing")

    def run(*words):
        subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True,
                       timeout=60)
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
        "-subj", "/CN=authority", "-days", "2")
    for name in ("localhost", "carol"):
        run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out",
            f"{name}.csr", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")
        run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", f"{name}.pem", "-days", "2", "-copy_extensions", "copy")


@suite.case
def a_certificate_is_as_good_as_a_token():
    port = free_port()
    with tempfile.TemporaryDirectory() as place:
        certificates(place)

        def read(name):
            with open(f"{place}/{name}", "rb") as file:
                return file.read()
        tcp = (f'[tcp]\ncertificate = "{place}/localhost.pem"\nkey = "{place}/localhost.key"\n'
               f'client_authority = "{place}/ca.pem"\n'
               '[[certificates]]\nname = "carol"\ntenant = "carol"\n')
        with grpc_daemon(port=port, section=tcp) as _:
            import grpc
            mutual = grpc.ssl_channel_credentials(read("ca.pem"), read("carol.key"),
                                                  read("carol.pem"))
            with contextlib.closing(Client(f"localhost:{port}", credentials=mutual)) as carol:
                sandbox = carol.make()
                who = carol.call("ListAuditRecords", sandbox=sandbox, limit=1).records[0].who
                expect_equal(who, "certificate carol", "who")
                carol.call("DestroySandbox", id=sandbox)
            bare = grpc.ssl_channel_credentials(read("ca.pem"))
            for credentials in (bare, None):
                with contextlib.closing(Client(f"localhost:{port}", "alice", credentials)) as one:
                    refused = refusal(lambda one=one: one.channel.unary_unary(
                        f"/{SERVICE}/ListSandboxes")(b"", timeout=20))
                    expect_equal(refused[0], "UNAVAILABLE", "without a certificate")


@suite.case
def an_open_door_is_refused():
    token = f'[[tokens]]\nname = "a"\ntenant = "a"\nsha256 = "{"0" * 64}"\n'
    for text, says in (("[grpc]\nport = 1\n", "anyone could come in"),
                       (f'[grpc]\nport = 1\n[tcp]\naddress = "0.0.0.0"\n{token}', "in the clear"),
                       ("[grpc]\nsockets = 1\n", "did you mean 'grpc.socket'")):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([DAEMON, "--config", file.name, "--show-config"],
                                  capture_output=True, text=True, timeout=30)
            expect(done.returncode == 1 and says in done.stderr, f"{text!r}: {done.stderr}")


if __name__ == "__main__":
    sys.exit(suite.run())
