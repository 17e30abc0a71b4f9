#!/usr/bin/env python3
"""The network of sandboxes over the daemon's API: its owner alone sees and changes it."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from daemon_client import daemon
from support import PYTHON, Suite, expect, expect_equal
from world import EchoServer

suite = Suite()
HOME = None
REFUSED = {"allow": ["192.0.2.7:80"]}
CONNECT = """
import socket, sys
for place in sys.argv[1:]:
    host, _, port = place.rpartition(':')
    try:
        print(socket.create_connection((host, int(port)), 30).recv(100).decode(), end='')
    except OSError as error:
        print(type(error).__name__)
"""


def home():
    return f"127.0.0.1:{HOME.port}"


def of(one, made, token=None, what=""):
    return one.call("GET", f"/v1/sandboxes/{made}/network{what}", token=token)


def put(one, made, policy, token=None):
    return one.call("PUT", f"/v1/sandboxes/{made}/network", policy, token)


def connect(one, made, *places):
    return one.execute(made, *PYTHON, CONNECT, *places)["stdout"]


def problem(answer, status, code, *words):
    told = answer.json()
    expect_equal((answer.status, told["code"]), (status, code), f"{told}")
    for word in words:
        expect(word in told["detail"], f"{word!r} is missing in {told['detail']!r}")
    return told["detail"]


def records(one, made, action, token=None):
    told = one.call("GET", f"/v1/audit?sandbox={made}&limit=1000", token=token).json()["records"]
    return [record for record in told if record["action"] == action]


@suite.case
def the_owner_sees_and_changes_it():
    with daemon() as one:
        made = one.make(network={"allow": [home()]})
        expect_equal(connect(one, made, home(), "192.0.2.9:25"), "hello\nConnectionRefusedError\n", "connections")
        told = of(one, made).json()
        expect_equal((told["policy"]["mode"], told["policy"]["allow"], told["connections"], told["refused"]),
                     ("allowed", [home()], 1, 1), "status")
        events = of(one, made, what="/events").json()["events"]
        kinds = [event["kind"] for event in events if event["kind"] != "closed"]
        expect_equal(kinds, ["opened", "refused"], "events")
        refused = next(event for event in events if event["kind"] == "refused")
        expect_equal((refused["host"], refused["port"], refused["rule"]), ("192.0.2.9", 25, "192.0.2.9:25"), "refusal")
        last = max(event["number"] for event in events)
        expect_equal(of(one, made, what=f"/events?after={last + 5}").json(), {"events": []}, "later events")
        answer = put(one, made, REFUSED)
        expect_equal((answer.status, answer.json()["policy"]["allow"]), (200, ["192.0.2.7:80"]), "the new policy")
        expect_equal(connect(one, made, home()), "ConnectionRefusedError\n", "a connection then")


@suite.case
def changes_are_recorded():
    with daemon() as one:
        made = one.make(network={"allow": [home()]})
        put(one, made, REFUSED)
        put(one, made, {"allow": ["no such host"]})
        ends = [(record["outcome"], record) for record in records(one, made, "set network")]
        good = [record for outcome, record in ends if outcome == "ok"]
        bad = [record for outcome, record in ends if outcome.startswith("failed")]
        expect_equal((len(good), len(bad)), (1, 1), f"records: {[outcome for outcome, _ in ends]}")
        text = str(records(one, made, "set network"))
        expect("192.0.2.7:80" in text and "no such host" in text, f"policies in the record: {text}")


@suite.case
def other_tenants_learn_nothing():
    with daemon() as one:
        made = one.make(network={"allow": [home()]})
        nothing = "n" + "0" * (len(made) - 1)
        for ask in (lambda what: of(one, what, "alice"), lambda what: of(one, what, "alice", "/events"),
                    lambda what: put(one, what, REFUSED, "alice")):
            others = problem(ask(made), 404, "not_found")
            expect_equal(others.replace(made, nothing), problem(ask(nothing), 404, "not_found"), "the answer")
        expect_equal(of(one, made).json()["policy"]["allow"], [home()], "the policy")
        expect_equal(records(one, made, "set network", "alice"), [], "records of the other tenant")


@suite.case
def tenants_that_are_not_on_the_own_socket_set_none():
    with daemon() as one:
        refused = one.call("POST", "/v1/sandboxes", {"network": REFUSED}, "alice")
        problem(refused, 403, "permission_denied", "own socket")
        made = one.make("alice")
        told = of(one, made, "alice").json()
        expect_equal((told["policy"]["mode"], told["way"]), ("none", "none"), "its network")
        expect_equal(of(one, made, "alice", "/events").json(), {"events": []}, "events")
        problem(put(one, made, REFUSED, "alice"), 403, "permission_denied", "own socket")
        problem(put(one, made, {"mode": "unsafe-full"}, "alice"), 403, "permission_denied")
        problem(put(one, made, REFUSED, "bob"), 404, "not_found")
        problem(of(one, made, "bob"), 404, "not_found")
        problem(put(one, made, REFUSED, "a wrong token"), 401, "unauthenticated")
        outcomes = {record["outcome"] for record in records(one, made, "set network", "alice")} - {"begun"}
        expect_equal(outcomes, {"failed: permission_denied"}, "the record")


@suite.case
def requests_are_checked():
    with daemon() as one:
        made = one.make(network={"allow": [home()]})
        for body, word in (({"allowed": []}, "allow"), ({"allow": "x"}, "allow"), ({"mode": "some"}, "mode"),
                           ({"allow": ["*"]}, "unsafe-full"), ({"allow": ["pypo"]}, "pypi"),
                           ({"allow": ["a b"]}, "a b"), ({"most_connections": 0}, "most_connections"),
                           ({"most_connections": 1 << 40}, "most_connections"), ({"allow": ["a.test"] * 300}, "allow"),
                           ({"allow": ["a.test\nb"]}, "allow")):
            problem(put(one, made, body), 400, "invalid_argument", word)
        problem(of(one, made, what="/events?after=x"), 400, "invalid_argument", "after")
        problem(of(one, made, what="/events?before=1"), 400, "invalid_argument", "before")
        expect_equal(one.call("POST", f"/v1/sandboxes/{made}/network", {}).status, 405, "POST")
        expect_equal(of(one, made).json()["policy"]["allow"], [home()], "the policy stays")
        without = one.make()
        problem(put(one, without, REFUSED), 409, "conflict", "without a network")


@suite.case
def hostile_words_stay_inside_their_json():
    code = """
import socket
for label in (b'*', b'x\\x1b[2J', b'"},{"a":"', b'\\xff\\xfe', b'a\\nb'):
    name = bytes([len(label)]) + label + b'\\x04test\\0'
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(20)
        server = [line.split()[1] for line in open('/etc/resolv.conf') if line.startswith('nameserver')][0]
        client.sendto(b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + name + b'\\0\\1\\0\\1', (server, 53))
        client.recv(512)
"""
    with daemon() as one:
        made = one.make(network={"allow": [home()]})
        told = one.execute(made, *PYTHON, code)
        expect_equal((told["exit_code"], told["stderr"]), (0, ""), "the look-ups")
        for event in of(one, made, what="/events").json()["events"]:
            expect_equal((event["kind"], event.get("rule", "")), ("refused", ""), f"{event}")
            expect(event["host"].isprintable() and event["reason"].isprintable(), f"{event}")


@suite.case
def it_outlives_a_restart_of_the_daemon():
    with daemon() as one:
        made = one.make(network={"allow": [home()]})
        put(one, made, REFUSED)
        one.stop()
        one.start()
        expect_equal(of(one, made).json()["policy"]["allow"], ["192.0.2.7:80"], "the policy")
        expect_equal(put(one, made, {"allow": [home()]}).status, 200, "a change")
        expect_equal(connect(one, made, home()), "hello\n", "a connection")


@suite.case
def grpc_has_the_same_operations():
    from grpc_client import grpc_daemon, refusal  # pylint: disable=import-outside-toplevel
    with grpc_daemon() as (_, client):
        made = client.make(network={"allow": [home()]})
        client.call("Exec", id=made, argv=[*PYTHON, CONNECT, "192.0.2.9:25"])
        told = client.call("GetNetwork", id=made)
        expect_equal((list(told.policy.allow), told.refused), ([home()], 1), "status")
        events = client.call("ListNetworkEvents", id=made).events
        expect_equal([(event.kind, event.host, event.port) for event in events], [("refused", "192.0.2.9", 25)], "events")
        expect_equal(list(client.call("ListNetworkEvents", id=made, after=1).events), [], "later events")
        told = client.call("SetNetwork", id=made, allow=["192.0.2.7:80"])
        expect_equal(list(told.policy.allow), ["192.0.2.7:80"], "the new policy")
        expect_equal(refusal(lambda: client.call("SetNetwork", id=made, allow=["*"]))[1], "invalid_argument", "a bad rule")
        expect_equal(refusal(lambda: client.call("GetNetwork", id="nffffffffffff"))[1], "not_found", "an unknown id")


def main():
    global HOME
    HOME = EchoServer("127.0.0.1")
    return suite.run()


if __name__ == "__main__":
    sys.exit(main())
