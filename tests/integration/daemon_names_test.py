#!/usr/bin/env python3
"""`nutshell session` and `nutshell pool`: what the daemon keeps under a name, from the command line."""
import json
import os
import sys

from daemon_client import daemon
from support import Suite, call, expect, expect_equal, expect_refusal, scratch

suite = Suite()


def through(one):
    def ask(*words, **settings):
        return call(*words, env={**os.environ, "NUTSHELL_DAEMON": one.socket}, **settings)
    return ask


def sandbox_of(ended):
    expect_equal(ended.status, 0, f"{ended!r}")
    return ended.stdout.decode().strip()


@suite.case
def session_is_made_at_its_first_use_and_the_same_one_ever_after():
    with daemon() as one:
        ask = through(one)
        first = ask("session", "exec", "work", "--setup", "echo s >> log", "--label", "a=b",
                    "--budget", "execs=4", "-e", "X=1", "--", "sh", "-c", "cat log; echo $X > x")
        expect_equal((first.status, first.stdout), (0, b"s\n"), f"first {first!r}")
        second = ask("session", "exec", "work", "--", "sh", "-c", "cat log x; echo [$X]; exit 3")
        expect_equal((second.status, second.stdout), (3, b"s\n1\n[]\n"), f"second {second!r}")
        short = ask("session", "exec", "--timeout", "9s", "work", "cat", "-v", "x")
        expect_equal((short.status, short.stdout), (0, b"1\n"), f"without dashes: {short!r}")
        made = sandbox_of(ask("session", "start", "work"))
        expect_equal(ask("exec", made, "--", "cat", "x").stdout, b"1\n", "by its sandbox")
        expect_refusal(ask("session", "exec", "work", "--", "true"), "budget")
        shown = json.loads(ask("session", "show", "work").stdout)
        expect_equal((shown["sandbox_id"], shown["usage"]["execs"], shown["life"]), (made, 4, 1),
                     f"{shown}")
        for label, count in (("a=b", 1), ("a=c", 0)):
            listed = json.loads(ask("session", "list", "--json", "--label", label).stdout)
            expect_equal(len(listed), count, f"with {label}")
        ask("destroy", made)
        again = ask("session", "start", "work")
        expect(b"are lost" in again.stderr and sandbox_of(again) != made, f"a new life: {again!r}")
        expect_equal(ask("session", "end", "work").status, 0, "end")
        expect_refusal(ask("session", "show", "work"), "session")


@suite.case
def a_lease_carries_the_time_of_its_sandbox_along():
    with daemon() as one:
        ask = through(one)

        def times():
            session = json.loads(ask("session", "show", "work").stdout)
            sandbox = json.loads(ask("info", session["sandbox_id"], "--json").stdout)
            return session["lease_left_ms"] // 60_000, sandbox["ttl_left_ms"] // 60_000
        sandbox_of(ask("session", "start", "work", "--lease", "1h", "--ttl", "5m"))
        lease, ttl = times()
        expect(50 <= lease < 60 and ttl >= lease, f"minutes of a new session: {lease}, of its sandbox: {ttl}")
        renewed = one.call("POST", "/v1/sessions/work/renew", {"lease_ms": 7_200_000})
        expect_equal(renewed.status, 200, f"renew: {renewed.body[:200]}")
        lease, ttl = times()
        expect(100 <= lease < 120 and ttl >= lease, f"minutes after it was renewed: {lease}, of its sandbox: {ttl}")
        ask("session", "end", "work")


@suite.case
def files_are_kept_for_the_next_session_of_that_tenant():
    quota = '[[quotas]]\ntenant = "local"\nkept_bytes = 4000000\n'
    with daemon(quota) as one:
        ask = through(one)
        for words in (("echo one > f", ""), ("cat f", "one\n"), ("cat f; rm f", "one\n"), ("ls", "")):
            ended = ask("session", "exec", "kept", "--keep-workspace", "--", "sh", "-c", words[0])
            expect_equal((ended.status, ended.stdout.decode()), (0, words[1]), f"{words[0]}")
            expect_equal(ask("session", "end", "kept").status, 0, "end")
        ask("session", "exec", "kept", "--keep-workspace", "--", "sh", "-c", "echo mine > f")
        ask("session", "end", "kept")
        theirs = one.call("POST", "/v1/sessions", {"name": "kept", "keeps_workspace": True},
                          token="alice").json()
        seen = one.call("POST", f"/v1/sandboxes/{theirs['sandbox_id']}/exec", {"argv": ["ls", "-A"]},
                        token="alice").json()
        expect_equal(seen["stdout"], "", "what another tenant has under that name")
        # A file that says to be large does not fit; the session goes on, and nothing kept is lost.
        ask("session", "exec", "kept", "--keep-workspace", "--", "truncate", "-s", "300M", "f")
        expect_refusal(ask("session", "end", "kept"), "may keep")
        ended = ask("session", "exec", "kept", "--", "sh", "-c", "stat -c %s f; rm f; echo two > g")
        expect_equal(ended.stdout, b"314572800\n", f"{ended!r}")
        expect_equal(ask("session", "end", "kept").status, 0, "end once there is room")
        ended = ask("session", "exec", "kept", "--keep-workspace", "--", "ls")
        expect_equal(ended.stdout, b"g\n", f"{ended!r}")
        ask("session", "end", "kept")
        expect_equal(ask("session", "forget", "kept").status, 0, "forget")
        ended = ask("session", "exec", "kept", "--keep-workspace", "--", "ls")
        expect_equal(ended.stdout, b"", f"forgotten: {ended!r}")
        expect_equal(os.listdir(one.directory / "state" / "workspaces"), [], "left on the host")


@suite.case
def pool_gives_what_was_asked_for_and_takes_it_back():
    with daemon('[[pools]]\nname = "p"\nmin_idle = 1\nmax_idle = 2\nmax_total = 3\n') as one:
        ask = through(one)
        warm = json.loads(ask("pool", "warm", "p", "--json").stdout)
        expect(warm["available"] >= 1, f"{warm}")
        plain = sandbox_of(ask("pool", "acquire", "p", "--label", "a=b", "--ttl", "1m"))
        ordered = json.loads(ask("pool", "acquire", "p", "-e", "X=1", "--memory", "64m", "--json").stdout)
        expect_equal(ordered["limits"]["memory_bytes"], 64 << 20, "its limit")
        expect_equal(ask("exec", ordered["id"], "--", "sh", "-c", "echo $X").stdout, b"1\n", "variable")
        expect(plain in ask("list", "-q", "--label", "a=b").stdout.decode(), "its label")
        listed = json.loads(ask("pool", "list", "--json").stdout)[0]
        expect_equal((listed["name"], listed["in_use"]), ("p", 2), f"{listed}")
        expect_equal(ask("pool", "release", plain, ordered["id"]).status, 0, "release")
        expect_refusal(ask("pool", "release", plain), "sandbox")
        expect_refusal(ask("exec", plain, "--", "true"), "no sandbox")
        expect(b"ended" in ask("pool", "drain", "p").stdout, "drain")


@suite.case
def mistakes_are_told():
    with daemon() as one:
        ask = through(one)
        for words, wanted in ((("session", "start", "../x"), "letters"), (("session", "show", "gone"), "session"),
                              (("session", "start", "x", "--budget", "foo=1"), "execs=100"),
                              (("session", "start", "x", "--lease", "soon"), "--lease"),
                              (("session", "exec", "x"), "command"), (("pool", "acquire", "gone"), "pool"),
                              (("pool", "release", "../../pools"), "sandbox"),
                              (("session", "start", "x", "--setup", "echo oops; false"), "oops")):
            expect_refusal(ask(*words), wanted)
        expect_equal(json.loads(ask("session", "list", "--json").stdout), [], "nothing was made")
    with scratch() as directory:
        directory.chmod(0o700)
        alone = {**os.environ, "NUTSHELL_RUNTIME_DIR": str(directory)}
        for words in (("session", "list"), ("pool", "list")):
            expect_refusal(call(*words, env=alone), "nutshell daemon start")


if __name__ == "__main__":
    sys.exit(suite.run())
