#!/usr/bin/env python3
"""The daemon through clients that others wrote: curl, Prometheus' parser, schemathesis, the CLI."""
import hashlib
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from daemon_client import TOKENS, UnixConnection, daemon
from support import NUTSHELL, Skip, Suite, expect, expect_equal, wait_until

suite = Suite()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def curl(one, *arguments):
    if not shutil.which("curl"):
        raise Skip("curl is missing")
    return subprocess.run(["curl", "-sS", "--max-time", "60", "--unix-socket", one.socket,
                           *arguments], capture_output=True, timeout=90)


@suite.case
def curl_can_do_everything():
    with daemon() as one:
        base = "http://localhost/v1/sandboxes"
        made = json.loads(curl(one, "-d", '{"ttl_ms": 60000}', base).stdout)
        place = f"{base}/{made['id']}"
        done = json.loads(curl(one, "-d", '{"argv": ["echo", "hi"]}', place + "/exec").stdout)
        expect_equal(done["stdout"], "hi\n", "stdout")
        with tempfile.NamedTemporaryFile() as file:
            file.write(os.urandom(5 << 20))
            file.flush()
            sent = curl(one, "-T", file.name, place + "/files?path=/workspace/big", "-w",
                        "%{http_code}")
            expect_equal(sent.stdout, b"204", "upload with Expect: 100-continue")
            back = curl(one, place + "/files?path=/workspace/big").stdout
            expect(back == open(file.name, "rb").read(), "other bytes came back")
            part = curl(one, "-r", "100-199", place + "/files?path=/workspace/big").stdout
            expect(part == back[100:200], "other range")
        stream = curl(one, "-N", "-H", "Accept: application/x-ndjson", "-d",
                      '{"argv": ["sh", "-c", "echo a; echo b >&2"]}', place + "/exec").stdout
        kinds = {json.loads(line)["type"] for line in stream.splitlines()}
        expect_equal(kinds, {"start", "stdout", "stderr", "end"}, "events")
        head = curl(one, "-I", "http://localhost/healthz").stdout
        expect(head.startswith(b"HTTP/1.1 200"), f"HEAD: {head[:80]}")
        expect_equal(curl(one, "-X", "DELETE", place, "-w", "%{http_code}").stdout, b"204", "end")


@suite.case
def prometheus_reads_the_metrics():
    if not importlib.util.find_spec("prometheus_client"):
        raise Skip("the Python package prometheus_client is missing")
    from prometheus_client.parser import text_string_to_metric_families
    with daemon() as one:
        sandbox = one.make()
        one.execute(sandbox, "true")
        families = {family.name: family for family in
                    text_string_to_metric_families(one.call("GET", "/metrics").body.decode())}
        expect(families, "no metrics")
        expect(any(family.type == "histogram" for family in families.values()), "no histogram")
        for family in families.values():
            expect(family.name.startswith("nutshell_"), family.name)
            expect(family.documentation, f"{family.name} has no help")


@suite.case
def schemathesis_finds_no_breach():
    if not importlib.util.find_spec("schemathesis"):
        raise Skip("the Python package schemathesis is missing")
    port = free_port()
    with daemon(port=port) as one:
        document = one.directory / "openapi.json"
        document.write_bytes(one.call("GET", "/v1/openapi.json").body)
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run", str(document), "--url",
             f"http://127.0.0.1:{port}", "-H", f"Authorization: Bearer {TOKENS['alice']}",
             "--max-examples", "8", "--checks",
             "not_a_server_error,response_schema_conformance,content_type_conformance",
             "--phases", "examples,coverage,fuzzing", "--request-timeout", "20"],
            capture_output=True, text=True, timeout=540, cwd=one.directory)
        breach = re.search(r"=+ (FAILURES|ERRORS) =+.*", done.stdout, re.DOTALL)
        expect_equal(done.returncode, 0, (breach[0] if breach else done.stdout)[:3000])


@suite.case
def the_command_line_starts_and_stops_the_daemon():
    with tempfile.TemporaryDirectory(prefix="nutshell-cli-daemon-") as directory:
        environment = {**os.environ, "NUTSHELL_RUNTIME_DIR": directory,
                       "NUTSHELL_STATE_DIR": directory + "/state"}

        def nutshell(*arguments):
            return subprocess.run([NUTSHELL, *arguments], capture_output=True, text=True,
                                  env=environment, timeout=90)
        expect_equal(nutshell("daemon", "status").returncode, 1, "status before")
        started = nutshell("daemon", "start")
        expect_equal(started.returncode, 0, f"start: {started.stderr}")
        status = json.loads(nutshell("daemon", "status", "--json").stdout)
        expect_equal((status["running"], status["ready"]), (True, True), "status")
        expect("already" in nutshell("daemon", "start").stdout, "second start")
        expect_equal(nutshell("daemon", "stop").returncode, 0, "stop")
        expect_equal(nutshell("daemon", "status").returncode, 1, "status after")
        shown = nutshell("config", "show", "--origin").stdout
        expect("NUTSHELL_STATE_DIR" in shown and "tcp.port" in shown, shown)
        settings = json.loads(nutshell("config", "show", "--json").stdout)["settings"]
        expect_equal(set(settings["tcp.port"]), {"value", "origin"}, "a setting in JSON")
        expect("NUTSHELL_STATE_DIR" in settings["state.directory"]["origin"], f"{settings}")


@suite.case
def the_command_line_and_the_daemon_share_sandboxes():
    with daemon() as one:
        def nutshell(*arguments):
            done = subprocess.run([NUTSHELL, *arguments], capture_output=True, text=True,
                                  env=one.environment(), timeout=90)
            expect_equal(done.returncode, 0, f"{arguments}: {done.stderr}")
            return done.stdout
        ours = one.make(labels={"from": "api"})
        theirs = nutshell("create", "--label", "from=cli").strip()
        expect_equal(nutshell("exec", ours, "--", "echo", "cli"), "cli\n", "exec by the CLI")
        one.stop()
        one.start()  # a start adopts what was made without the daemon
        expect_equal(one.execute(theirs, "echo", "api")["stdout"], "api\n", "exec by the API")
        listed = {sandbox["id"] for sandbox in json.loads(nutshell("list", "--json"))}
        expect({ours, theirs} <= listed, f"listed: {listed}")
        seen = {sandbox["id"] for sandbox in one.call("GET", "/v1/sandboxes").json()["sandboxes"]}
        expect({ours, theirs} <= seen, f"seen: {seen}")
        nutshell("destroy", ours)
        answer = one.call("POST", f"/v1/sandboxes/{ours}/exec", {"argv": ["true"]})
        expect(answer.status in (404, 503) or answer.json()["outcome"] == "lost",
               f"exec after the end: {answer.body[:200]}")
        deadline = time.monotonic() + 30
        while one.call("GET", f"/v1/sandboxes/{ours}").status != 404:
            expect(time.monotonic() < deadline, "what the CLI destroyed is still there")
            time.sleep(0.1)
        nutshell("destroy", theirs)


@suite.case
def a_batch_keeps_its_order():
    with daemon() as one:
        items = [{"argv": ["sh", "-c", f"cat f; echo {i}"], "files": {"/workspace/f": f"file {i} "}}
                 for i in range(6)]
        answer = one.call("POST", "/v1/batch", {"items": items, "parallel": 3})
        expect_equal([r["stdout"] for r in answer.json()["results"]],
                     [f"file {i} {i}\n" for i in range(6)], "over the API")


@suite.case
def a_trace_tells_as_much_as_was_asked_for():
    with daemon() as one:
        sandbox = one.make()

        def traced(level, *argv, **more):
            return one.execute(sandbox, *argv, trace=level, **more).get("trace")
        expect_equal(traced("off", "true"), None, "off")
        slow = traced("summary", "sleep", "1000", timeout_ms=200)
        expect_equal((slow["files"], len(slow["blocked"])), ([], 1),
                     "summary")
        expect(slow["blocked"][0].startswith("time: "), f"why: {slow['blocked']}")
        written = traced("files", "sh", "-c", "echo x > made")
        expect_equal([(each["path"], each["kind"]) for each in written["files"]],
                     [("made", "added")], "files")
        whole = traced("full", "cat", "made")
        expect_equal(whole["stdout_sha256"], hashlib.sha256(b"x\n").hexdigest(), "full")
        expect(whole["protections"], "what was in force is not told")


REACHING = """import socket
for kind, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "198.51.100.1")):
    try:
        socket.socket(kind).connect((address, 80))
    except OSError as error:
        print(error.errno)
"""


@suite.case
def a_trace_names_what_was_refused_and_did_not_end_it():
    with daemon() as one:
        sandbox = one.make(limits={"memory_bytes": 64 << 20})

        def refused(level, *argv):
            result = one.execute(sandbox, *argv, trace=level)
            return result["stdout"], result["trace"]["blocked"], result["trace"].get("protections")
        printed, blocked, protections = refused("full", "python3", "-c", REACHING)
        expect_equal(printed, "101\n101\n", "inside")
        expect_equal(blocked, ["network: 2 attempts to reach an address outside, refused: there is "
                               "no network"], "network")
        expect_equal(refused("full", "true")[1], [], "what was refused to another")
        expect_equal(refused("summary", "python3", "-c", REACHING)[1], [], "what was not asked for")
        memory = next(each for each in protections if each["name"] == "memory")
        if "cgroup" not in memory["by"]:
            return  # nobody counts there
        printed, blocked, _ = refused("full", "sh", "-c",
                                      "python3 -c 'bytearray(10 ** 9)'; echo went on")
        expect_equal(printed, "went on\n", "a child that was killed")
        expect_equal(blocked, ["memory: 1 process was killed at the sandbox's limit"], "memory")


@suite.case
def a_batch_that_nobody_waits_for_ends():
    with daemon() as one:
        items = [{"argv": words} for words in (["sleep", "1000"], ["echo", "early"],
                                               ["sleep", "1000"], ["sleep", "1000"])]
        connection = UnixConnection(one.socket)
        connection.request("POST", "/v1/batch", json.dumps({"items": items, "parallel": 2}),
                           {"Accept": "application/x-ndjson"})
        first = json.loads(connection.getresponse().readline())
        expect_equal((first["index"], first["stdout"]), (1, "early\n"), "the first to end")
        connection.close()
        expect(wait_until(lambda: not one.call("GET", "/v1/sandboxes").json()["sandboxes"]),
               "what it began goes on")


@suite.case
def a_batch_of_a_killed_daemon_is_ended_by_the_next():
    with daemon() as one:
        def ids():
            return subprocess.run([NUTSHELL, "list", "-q"], env=one.environment(), timeout=60, check=True,
                                  capture_output=True, text=True).stdout.split()

        connection = UnixConnection(one.socket)
        connection.request("POST", "/v1/batch", json.dumps(
            {"items": [{"argv": ["sleep", "1000"], "timeout_ms": 30_000}] * 3, "parallel": 3,
             "spec": {"ttl_ms": 3_600_000}}))
        expect(wait_until(lambda: len(ids()) == 3), "they do not begin")
        lives = [made["ttl_ms"] for made in one.call("GET", "/v1/sandboxes").json()["sandboxes"]]
        expect(max(lives) <= 120_000, f"what they live without any daemon, in ms: {lives}")
        one.process.kill()
        one.process.wait(60)
        connection.close()
        one.start()
        expect(wait_until(lambda: not ids(), 20), f"what outlives the daemon: {ids()}")


@suite.case
def a_sandbox_for_one_command_takes_back_or_says_why():
    """One of a batch may have no layers to go back to: then it says so, and changes nothing."""
    with daemon() as one:
        connection = UnixConnection(one.socket)
        connection.request("POST", "/v1/batch", json.dumps(
            {"items": [{"argv": ["sleep", "1000"]}] * 3, "parallel": 3}))

        def places():
            found = one.call("GET", "/v1/sandboxes").json()["sandboxes"]
            return [f"/v1/sandboxes/{each['id']}" for each in found]
        expect(wait_until(lambda: len(places()) == 3), "they do not begin")
        for place in places():
            # Once its command runs; a sandbox is listed a moment before.
            expect(wait_until(lambda where=place: b"is running" in one.call(
                "POST", where + "/checkpoints", {}).body), "a checkpoint under a running command")
            one.call("POST", place + "/tools/bash", {"command": "echo x > made"})
            undone = one.call("POST", place + "/tools/undo", {}).json()
            left = one.call("POST", place + "/exec", {"argv": ["ls"]}).json()["stdout"]
            expect_equal(left, "made\n" if undone["is_error"] else "", f"after {undone['text']}")
            expect(not undone["is_error"] or len(undone["text"]) > 20, f"why: {undone['text']}")
        connection.close()
        expect(wait_until(lambda: not places()), "they outlive their batch")


if __name__ == "__main__":
    sys.exit(suite.run())
