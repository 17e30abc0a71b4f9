#!/usr/bin/env python3
"""The command line and a daemon: which one it finds, and what is counted and written down."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from daemon_client import TOKENS, Daemon, daemon, free_port
from support import NUTSHELL, Failed, Suite, expect, expect_equal, scratch, wait_until

suite = Suite()


class Own:
    """A user with a daemon at its default place."""

    def __init__(self, directory):
        self.environment = {**os.environ, "NUTSHELL_RUNTIME_DIR": directory,
                            "NUTSHELL_STATE_DIR": directory + "/state"}

    def nutshell(self, *words, status=0, **more):
        done = subprocess.run([NUTSHELL, *words], capture_output=True, text=True, timeout=90,
                              env={**self.environment, **more})
        if status is not None:
            expect_equal(done.returncode, status, f"{words}: {done.stderr}")
        return done

    def ids(self, *words, **more):
        return set(self.nutshell("list", "-q", *words, **more).stdout.split())


@contextlib.contextmanager
def own_daemon():
    with tempfile.TemporaryDirectory(prefix="nutshell-own-") as directory:
        one = Own(directory)
        one.nutshell("daemon", "start")
        try:
            yield one
        finally:
            one.nutshell("daemon", "stop")
            left = one.ids()
            if left:
                one.nutshell("destroy", *left, status=None)


@suite.case
def the_users_daemon_is_found_and_can_be_bypassed():
    with own_daemon() as one:
        made = one.nutshell("create", "--ttl", "100s", "--label", "by=daemon").stdout.strip()
        beside = one.nutshell("create", "--daemon", "none", "--ttl", "100s").stdout.strip()
        left = {each["id"]: each["ttl_left_ms"] for each in
                json.loads(one.nutshell("list", "--json").stdout)}
        expect(90_000 < left[made] <= 100_000, f"the ttl that was asked for: {left}")
        expect(wait_until(lambda: {made, beside} <= one.ids(), 20), "what was made without it")
        expect_equal(one.nutshell("exec", beside, "--", "echo", "x").stdout, "x\n", "exec")
        expect({made, beside} <= one.ids(NUTSHELL_DAEMON="none"), "a list that passes it by")
        history = one.nutshell("history", beside).stdout
        expect("echo x" in history and "exited 0" in history, f"history: {history}")
        one.nutshell("daemon", "stop")
        expect({made, beside} <= one.ids(), "sandboxes go on without it")
        expect_equal(one.nutshell("exec", made, "--", "echo", "y").stdout, "y\n", "without it")
        one.nutshell("destroy", beside)
        one.nutshell("daemon", "start")
        expect_equal(one.ids(), {made}, "adopted")


@suite.case
def a_daemon_that_was_named_is_never_replaced_by_another_place():
    with tempfile.TemporaryDirectory(prefix="nutshell-own-") as directory:
        one = Own(directory)
        missing = f"{directory}/nobody.sock"
        for words in (["run", "--", "true"], ["create"], ["list"], ["gc"]):
            done = one.nutshell(words[0], "--daemon", missing, *words[1:], status=None)
            if words != ["gc"]:
                expect_equal(done.returncode, 125, f"{words}: {done.stderr}")
            expect("no daemon answers" in done.stderr + done.stdout, f"{words}: {done}")
        done = one.nutshell("run", "--", "true", status=125, NUTSHELL_DAEMON=missing)
        expect("no daemon answers" in done.stderr, done.stderr)
        for wrong in ("http://example.com:80", "ftp://x:1", "https://x", "x", "https://u@x:1",
                      "https://x:1/path", "http://127.0.0.1.evil.example@x:80", "unix:"):
            done = one.nutshell("list", "--daemon", wrong, status=125)
            expect(wrong.split(":")[0] in done.stderr, f"{wrong}: {done.stderr}")
        for elsewhere in ("127.evil.example:80", "127.0.0.1.evil.example:80", "localhost.evil.example:80",
                          "[::1].evil.example:80", "[::2]:80", "128.0.0.1:80"):
            done = one.nutshell("list", "--daemon", f"http://{elsewhere}", status=125)
            expect("in the clear" in done.stderr, f"{elsewhere}: {done.stderr}")
        config = Path(directory) / "nutshell.toml"
        config.write_text(f'daemon = "{missing}"\n')
        done = one.nutshell("run", "--config", str(config), "--", "true", status=125)
        expect("no daemon answers" in done.stderr, f"config: {done.stderr}")
        expect_equal(one.nutshell("run", "--config", str(config), "--daemon", "none", "--", "echo",
                                  "z").stdout, "z\n", "the flag wins over the file")
        Path(missing).write_text("")
        done = one.nutshell("list", "--daemon", missing, status=125)


@suite.case
def every_command_works_through_a_named_daemon():
    with daemon() as one, tempfile.TemporaryDirectory(prefix="nutshell-work-") as work:
        client = Own(str(one.directory / "client"))
        os.mkdir(one.directory / "client", 0o700)
        client.environment["NUTSHELL_DAEMON"] = one.socket

        def nutshell(*words, **more):
            return client.nutshell(*words, **more).stdout
        (Path(work) / "file").write_text("one\n")
        expect_equal(nutshell("run", "--", "echo", "run"), "run\n", "run")
        made = nutshell("create", "--workspace", work, "--env", "A=b").strip()
        expect_equal(nutshell("exec", made, "--", "sh", "-c", "echo $A; echo two >> file"), "b\n",
                     "exec")
        expect(made in nutshell("list") and made[:6] in nutshell("info", made), "list, info")
        (Path(work) / "../in.txt").resolve()
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("copied\n")
            file.flush()
            nutshell("cp", file.name, f"{made}:/workspace/in.txt")
        nutshell("cp", f"{made}:/workspace/in.txt", f"{one.directory}/out.txt")
        expect_equal((one.directory / "out.txt").read_text(), "copied\n", "cp")
        nutshell("pause", made)
        expect("paused" in nutshell("list"), "pause")
        nutshell("resume", made)
        nutshell("extend", made, "--ttl", "2h")
        left = {each["id"]: each["ttl_left_ms"] for each in json.loads(nutshell("list", "--json"))}
        expect(left[made] > 3_600_000, f"the ttl after extend: {left}")
        expect("+two" in nutshell("diff", made), "diff")
        checkpoint = nutshell("checkpoint", made).split()[0]
        nutshell("exec", made, "--", "rm", "file")
        nutshell("rollback", made, checkpoint)
        expect_equal(nutshell("exec", made, "--", "cat", "file"), "one\ntwo\n", "rollback")
        forked = nutshell("fork", made).split()[0]
        expect_equal(nutshell("exec", forked, "--", "sh", "-c", "cat file; echo $A"),
                     "one\ntwo\nb\n", "fork")
        said = nutshell("tool", "call", "bash", "-s", made, '{"command": "echo tool > t; cat t"}')
        expect("tool" in said, f"tool: {said}")
        expect("tool" in nutshell("tool", "call", "read", "-s", made, '{"path": "t"}'), "read")
        nutshell("apply", made, "--path", "file")
        expect_equal((Path(work) / "file").read_text(), "one\ntwo\n", "apply")
        nutshell("discard", made)
        nutshell("gain")
        nutshell("gc")
        expect("exec" in nutshell("history", made), "history")
        expect_equal(nutshell("destroy", made, forked).strip(), "", "destroy")
        expect_equal(client.ids(), set(), "nothing is left")
        expect(not (one.directory / "client/launcher.sock").exists(), "a launcher of its own")
        record = one.call("GET", "/v1/audit?limit=1000").json()["records"]
        acts = {each["action"] for each in record}
        expect({"create", "exec", "destroy", "pause", "resume", "write file"} <= acts,
               f"in the record: {acts}")
        lost = [each for each in record if each["outcome"] == "begun" and
                not any(other["of"] == each["id"] for other in record)]
        expect(not lost, f"acts without an end: {lost[:3]}")


@suite.case
def daemons_side_by_side_leave_each_other_alone():
    """With sockets and states of their own in one runtime directory; the second one's port is taken."""
    pool = '[[pools]]\nname = "kept"\nmin_idle = 2\n'
    port = free_port()
    with daemon(pool, port=port) as one, scratch() as directory:
        def ids(server):
            return {found["id"] for found in server.call("GET", "/v1/sandboxes").json()["sandboxes"]}

        def idle():
            return one.call("GET", "/v1/pools/kept").json()["available"]
        made = one.make(ttl_ms=600_000)
        expect(wait_until(lambda: idle() == 2, 20), "the pool is full")
        other = Daemon(directory, pool.replace("kept", "own"))
        # The same runtime directory.
        environment = {**one.environment(), "NUTSHELL_STATE_DIR": str(directory / "state")}
        other.environment = lambda: environment
        try:
            other.start()
            expect_equal(ids(other), set(), "what the second one has")
            own = other.make(ttl_ms=600_000)
            other.stop()
            other.start()
            expect_equal(ids(other), {own}, "what the second one has after a restart")
            expect_equal((ids(one) & {made, own}, idle()), ({made}, 2), "the first one's")
        finally:
            other.stop()
            other.log.close()
        blocked = Daemon(directory, pool, port=port)
        blocked.environment = lambda: {**environment, "NUTSHELL_STATE_DIR": str(directory / "third")}
        try:
            blocked.start()
            raise Failed("it starts without its port")
        except Failed as failure:
            expect("daemon ended" in str(failure) and str(port) in str(failure), f"why: {failure}")
        expect_equal((ids(one) & {made}, idle()), ({made}, 2), "the first one's, after a start in vain")
        one.execute(made, "true")


@suite.case
def a_budget_holds_on_streams_too():
    with daemon() as one:
        made = one.call("POST", "/v1/sessions", {"name": "s", "budget": {"execs": 3}})
        sandbox = made.json()["sandbox_id"]

        def execute(*words):
            return subprocess.run([NUTSHELL, "exec", "--daemon", one.socket, sandbox, "--", *words],
                                  capture_output=True, text=True, env=one.environment(), timeout=60)
        for _ in range(3):
            expect_equal(execute("true").returncode, 0, "within the budget")
        done = execute("true")
        expect(done.returncode == 125 and "budget" in done.stderr, f"beyond it: {done.stderr}")
        over_http = one.call("POST", f"/v1/sandboxes/{sandbox}/exec", {"argv": ["true"]})
        expect_equal(over_http.status, 429, "the same over HTTP")
        usage = one.call("GET", "/v1/sessions/s").json()["usage"]
        expect_equal(usage["execs"], 3, "counted")


@suite.case
def secrets_stay_out_of_the_record():
    with daemon() as one:
        sandbox = one.make(environment={"API_TOKEN": "hunter2hunter2"})
        subprocess.run([NUTSHELL, "exec", "--daemon", one.socket, sandbox, "--", "echo",
                        "hunter2hunter2"], env=one.environment(), check=True, timeout=60,
                       capture_output=True)
        record = one.call("GET", f"/v1/audit?sandbox={sandbox}").body
        expect(b"echo" in record and b"hunter2hunter2" not in record, "a secret in the record")


@suite.case
def tokens_come_from_a_file_too():
    with daemon() as one, tempfile.NamedTemporaryFile("w") as file:
        file.write(TOKENS["alice"] + "\n")
        file.flush()
        environment = {**one.environment(), "NUTSHELL_TOKEN_FILE": file.name}
        sandbox = one.make(token="alice")
        done = subprocess.run([NUTSHELL, "list", "-q", "--daemon", one.socket], env=environment,
                              capture_output=True, text=True, timeout=60)
        expect_equal(done.stdout.split(), [sandbox], f"alice's: {done.stderr}")


@suite.case
def a_wrong_token_names_the_variable():
    port = free_port()
    with daemon(port=port) as one:
        for token, words in (("guessed", "no valid token"), ("", "no token")):
            environment = {**one.environment(), "NUTSHELL_TOKEN": token}
            done = subprocess.run([NUTSHELL, "list", "--daemon", f"http://127.0.0.1:{port}"], env=environment,
                                  capture_output=True, text=True, timeout=60)
            expect(done.returncode == 125 and words in done.stderr and "NUTSHELL_TOKEN" in done.stderr,
                   f"token {token!r}: {done.stderr}")


@suite.case
def a_batch_goes_through_the_daemon():
    with daemon() as one:
        done = subprocess.run([NUTSHELL, "batch", "--daemon", one.socket, "-j", "3", "-"],
                              input="echo 1\necho 2\nexit 3\n", text=True, capture_output=True,
                              env=one.environment(), timeout=90)
        results = [json.loads(line) for line in done.stdout.splitlines()]
        expect_equal([each.get("stdout") for each in results], ["1\n", "2\n", ""], "outputs")
        expect_equal(one.call("GET", "/v1/sandboxes").json()["sandboxes"], [], "left")


if __name__ == "__main__":
    sys.exit(suite.run())
