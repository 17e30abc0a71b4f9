#!/usr/bin/env python3
"""Bounds on what one tenant can make the daemon hold: every resource has a bound, and a request beyond it is
refused. docs/daemon.md has the table of resources, with the cases of this suite."""
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from daemon_client import daemon
from support import NUTSHELL, Skip, Suite, expect, expect_equal, repetitions

suite = Suite()

MIB = 1 << 20


def memory_of(one):
    """Resident bytes of the daemon."""
    status = Path(f"/proc/{one.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


def settled_memory_of(one, seconds=5):
    """The least resident bytes within some seconds, for memory that is given back late."""
    least = memory_of(one)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.2)
        least = min(least, memory_of(one))
    return least


def peak_memory_of(one):
    status = Path(f"/proc/{one.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


def bytes_below(directory):
    total = 0
    for where, directories, files in os.walk(directory):
        for name in directories + files:
            try:
                total += os.lstat(os.path.join(where, name)).st_blocks * 512
            except FileNotFoundError:
                pass  # removed meanwhile
    return total


def state_of(one):
    return one.directory / "state"


def until(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def ended(one, sandbox, exec_id, token="alice"):
    def look():
        state = one.call("GET", f"/v1/sandboxes/{sandbox}/exec/{exec_id}", token=token).json()
        return state if state["state"] == "ended" else None
    return until(look, f"the end of exec {exec_id}")


def detach(one, sandbox, script, token="alice", **more):
    body = {"argv": ["/bin/sh", "-c", script], "detach": True, **more}
    answer = one.call("POST", f"/v1/sandboxes/{sandbox}/exec", body, token)
    expect_equal(answer.status, 202, f"detached exec: {answer.body[:300]}")
    return answer.json()["exec_id"]


@suite.case
def output_for_an_answer_is_bounded_by_the_operator():
    with daemon('[limits]\ncollected_output_bytes = "8m"\n') as one:
        sandbox = one.make("alice")
        before = memory_of(one)
        for printed in ("yes", "cat /dev/zero", "cat /dev/urandom"):
            result = one.execute(sandbox, "/bin/sh", "-c", printed, token="alice",
                                 output_limit_bytes=10**15, timeout_ms=60_000)
            expect_equal(result["outcome"], "output_limit", f"{printed}: {result['outcome']}")
            expect("no room" in result["detail"], result["detail"])
            expect(result["stdout_truncated"], "it says that output is missing")
            size = len(result["stdout"].encode("utf-8", "surrogateescape"))
            expect(size >= 7 * MIB, f"{printed}: only {size} bytes were kept")
        grown = peak_memory_of(one) - before
        expect(grown < 100 * MIB, f"the daemon grew by {grown // MIB} MiB for answers of 8 MiB")


@suite.case
def output_in_memory_is_bounded_for_a_tenant_and_leaves_others_theirs():
    quota = '[[quotas]]\ntenant = "alice"\noutput_memory_bytes = "12m"\n'
    with daemon(quota) as one:
        sandbox, other = one.make("alice"), one.make("bob")
        result = one.execute(sandbox, "head", "-c", str(20 * MIB), "/dev/zero", token="alice")
        expect_equal(result["outcome"], "output_limit", "beyond the tenant's memory")
        result = one.execute(other, "head", "-c", str(20 * MIB), "/dev/zero", token="bob")
        expect_equal((result["outcome"], len(result["stdout"])), ("exited", 20 * MIB), "bob's")
        # An answered request gives its memory back.
        result = one.execute(sandbox, "head", "-c", str(2 * MIB), "/dev/zero", token="alice")
        expect_equal((result["outcome"], len(result["stdout"])), ("exited", 2 * MIB), "afterwards")


@suite.case
def large_output_is_the_same_in_pieces():
    """More than one MiB is sent in pieces, which nobody may notice."""
    with daemon() as one:
        sandbox = one.make("alice")
        script = (r'''i=0; while [ $i -lt 40000 ]; do printf 'line %d \001 \303\251 "\n' $i; '''
                  "i=$((i+1)); done")
        result = one.execute(sandbox, "/bin/sh", "-c", f"({script}; {script}); echo done >&2",
                             token="alice", timeout_ms=60_000)
        lines = "".join(f'line {i} \x01 é "\n' for i in range(40000))
        expect_equal(len(result["stdout"]), 2 * len(lines), "length")
        expect(result["stdout"] == lines * 2, "the text differs")
        expect_equal(result["stderr"], "done\n", "stderr")
        expect("stdout_base64" not in result, "it is UTF-8")
        result = one.execute(sandbox, "/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' '\\377'",
                             token="alice")
        import base64
        expect(base64.b64decode(result["stdout_base64"]) == b"\xff" * 3_000_000, "base64")


@suite.case
def results_of_a_batch_are_bounded():
    quota = '[[quotas]]\ntenant = "alice"\noutput_memory_bytes = "24m"\n'
    with daemon(quota) as one:
        before = memory_of(one)
        items = [{"argv": ["head", "-c", str(6 * MIB), "/dev/zero"]} for _ in range(8)]
        body = {"items": items, "output_bytes": 10**15, "parallel": 4}
        answer = one.call("POST", "/v1/batch", body, "alice")
        expect_equal(answer.status, 200, f"batch: {answer.body[:300]}")
        results = answer.json()["results"]
        kept = sum(len(result["stdout"]) for result in results)
        expect(0 < kept <= 9 * MIB, f"{kept} bytes are kept of what 8 MiB are allowed for")
        expect(any(result["stdout_truncated"] for result in results), "some say that they are cut")
        grown = peak_memory_of(one) - before
        # The 24 MiB are held as bytes, as base64 and as JSON, and each thread has an arena of its own.
        expect(grown < 160 * MIB, f"the daemon grew by {grown // MIB} MiB")
        # As a stream, each is let go once it was sent.
        items = [{"argv": ["head", "-c", str(2 * MIB), "/dev/zero"]} for _ in range(8)]
        answer = one.call("POST", "/v1/batch", {"items": items, "output_bytes": 10**15,
                                                "parallel": 2}, "alice",
                          {"Accept": "application/x-ndjson"})
        results = [json.loads(line) for line in answer.body.splitlines()]
        expect_equal([len(result["stdout"]) for result in results], [2 * MIB] * 8, "streamed")


@suite.case
def spools_are_bounded_and_go_with_their_sandbox():
    config = ('[limits]\nspool_bytes = "4m"\n'
              '[[quotas]]\ntenant = "alice"\nspool_bytes = "10m"\ndetached_execs = 5\n')
    with daemon(config) as one:
        spool = state_of(one) / "execs"
        sandbox = one.make("alice", limits={"disk_bytes": MIB})
        exec_id = detach(one, sandbox, "cat /dev/zero", output_limit_bytes=10**15)
        state = ended(one, sandbox, exec_id)
        expect_equal(state["result"]["outcome"], "output_limit", "of one exec")
        expect(bytes_below(spool) < 5 * MIB, f"{bytes_below(spool)} bytes lie in the spool")
        # Those that ended make room for new ones; what runs is never removed.
        for _ in range(6):
            last = detach(one, sandbox, f"head -c {3 * MIB} /dev/zero")
            expect_equal(ended(one, sandbox, last)["result"]["outcome"], "exited", "a later one")
        expect(bytes_below(spool) <= 11 * MIB, f"{bytes_below(spool)} bytes lie in the spool")
        answer = one.call("GET", f"/v1/sandboxes/{sandbox}/exec/{exec_id}", token="alice")
        expect_equal(answer.status, 404, "the oldest made room")
        running = [detach(one, sandbox, "sleep 60") for _ in range(5)]
        answer = one.call("POST", f"/v1/sandboxes/{sandbox}/exec",
                          {"argv": ["true"], "detach": True}, "alice")
        expect_equal(answer.status, 429, "more than may run")
        expect_equal(len(list(spool.iterdir())), 10, "files of five that run")
        expect_equal(one.call("DELETE", f"/v1/sandboxes/{sandbox}", token="alice").status, 204,
                     "destroy")
        until(lambda: not list(spool.iterdir()), "an empty spool")
        state = ended(one, sandbox, running[0])
        expect_equal(state["result"]["outcome"], "lost", "the end is still told")


@suite.case
def a_start_sweeps_spools_that_nothing_tells_of():
    with daemon() as one:
        sandbox = one.make("alice")
        kept = detach(one, sandbox, "echo kept")
        ended(one, sandbox, kept)
        one.stop()
        spool = state_of(one) / "execs"
        (spool / "0123456789abcdef.out").write_bytes(b"x" * MIB)
        (spool / "rubbish").write_bytes(b"x")
        one.start()
        expect_equal(sorted(path.name for path in spool.iterdir()),
                     [kept + ".err", kept + ".out"], "what is left")


@suite.case
def sessions_and_their_labels_are_bounded():
    quota = '[[quotas]]\ntenant = "alice"\nsessions = 3\nstate_bytes = "1m"\n'
    with daemon(quota) as one:
        def ask(name, **more):
            return one.call("POST", "/v1/sessions", {"name": name, **more}, "alice").status
        before = bytes_below(state_of(one))
        for labels in ({"a": "x" * 900_000}, {f"l{i}": "x" for i in range(65)},
                       {"n" * 64: "x"}, {"nutshell.tenant": "bob"}):
            expect_equal(ask("s", labels=labels), 400, f"{len(labels)} labels")
        expect_equal(ask("s", setup=[["/bin/echo", "x" * 100_000]] * 4), 400, "a long setup")
        expect_equal(ask("s", spec={"environment": {"A": "x" * 900_000}}), 429, "environment")
        for i in range(3):
            expect_equal(ask(f"s{i}"), 200, f"session {i}")
        expect_equal(ask("s3"), 429, "a session too many")
        expect_equal(one.call("DELETE", "/v1/sessions/s2", token="alice").status, 204, "end")
        expect_equal(ask("big", spec={"environment": {"A": "x" * 20_000, "B": "x" * 20_000}}),
                     200, "there is room again")
        expect_equal(one.call("DELETE", "/v1/sessions/big", token="alice").status, 204, "end")
        large = {f"V{i}": "x" * 100_000 for i in range(10)}
        expect_equal(ask("huge", spec={"environment": large}), 429, "more than state_bytes")
        grown = bytes_below(state_of(one)) - before
        expect(grown < 12 * MIB, f"the state directory grew by {grown} bytes")
        one.stop()
        one.start()
        expect_equal(ask("s0"), 200, "found again")
        expect_equal(ask("s4"), 200, "the third")
        expect_equal(ask("s5"), 429, "counted after a restart too")


@suite.case
def secrets_of_sessions_are_not_in_the_state_file():
    with daemon() as one:
        secret = "hunter2-" + "q" * 20
        answer = one.call("POST", "/v1/sessions", {
            "name": "s", "spec": {"environment": {"API_KEY": secret}},
            "setup": [["/bin/sh", "-c", "echo setup-$API_KEY"]]}, "alice")
        expect_equal(answer.status, 200, f"{answer.body[:300]}")
        sandbox = answer.json()["sandbox_id"]
        one.stop()
        for path in state_of(one).rglob("*"):
            if path.is_file():
                expect(secret.encode() not in path.read_bytes(), f"{path} holds it in clear")
        expect_equal((state_of(one) / "state.key").stat().st_mode & 0o777, 0o600, "the key's mode")
        one.start()
        expect_equal(one.call("DELETE", f"/v1/sandboxes/{sandbox}", token="alice").status, 204, "")
        answer = one.call("POST", "/v1/sessions", {"name": "s"}, "alice").json()
        expect_equal(answer["life"], 2, "another life, with what was kept")
        result = one.execute(answer["sandbox_id"], "/bin/sh", "-c", "echo $API_KEY", token="alice")
        expect_equal(result["stdout"], secret + "\n", "the environment")


@suite.case
def directories_of_kept_workspaces_are_counted():
    quota = '[[quotas]]\ntenant = "alice"\nkept_bytes = "8m"\n'
    with daemon(quota) as one:
        def session(name, script):
            answer = one.call("POST", "/v1/sessions", {"name": name, "keeps_workspace": True},
                              "alice").json()
            one.execute(answer["sandbox_id"], "/bin/sh", "-c", script, token="alice")
            return one.call("DELETE", f"/v1/sessions/{name}", token="alice")
        many = "cd /workspace && i=0; while [ $i -lt 2500 ]; do mkdir d$i; i=$((i+1)); done"
        answer = session("many", many)
        expect_equal(answer.status, 429, f"2500 directories in 8 MiB: {answer.body[:300]}")
        answer = session("few", "mkdir -p /workspace/a/b/c; echo x > /workspace/a/f")
        expect_equal(answer.status, 204, f"a few: {answer.body[:300]}")
        expect(bytes_below(state_of(one) / "workspaces") < 9 * MIB, "on disk")


@suite.case
def quotas_bound_every_kind_of_limit():
    quota = ('[[quotas]]\ntenant = "alice"\nprocesses = 200\ndisk_bytes = "1g"\n'
             'memory_bytes = "2g"\ncpus = 3\n')
    with daemon(quota) as one:
        def ask(token="alice", **limits):
            return one.call("POST", "/v1/sandboxes", {"limits": limits}, token)
        for limits, word in (({"memory_bytes": 900 << 30}, "memory"), ({"processes": 1_000_000}, "processes"),
                             ({"disk_bytes": 1 << 49}, "disk"), ({"cpus": 1000}, "cpus")):
            for token in ("alice", "bob", None):
                answer = ask(token, **limits)
                expect(answer.status in (400, 429), f"{limits}: {answer.status}")
                detail = answer.json()["detail"]
                expect(word in detail or "processes" in detail, detail)
        first = ask(processes=150).json()["id"]
        answer = ask(processes=64)
        expect_equal(answer.status, 429, "beyond the processes of a tenant")
        expect("processes (150 of 200 in use)" in answer.json()["detail"], answer.json()["detail"])
        answer = ask(cpus=2.5)
        expect("cpus (1 of 3 in use)" in answer.json()["detail"], answer.json()["detail"])
        expect_equal(ask("bob", processes=64).status, 201, "bob has his own")
        expect_equal(ask(processes=50, disk_bytes=900 << 20).status, 429, "disk")
        one.call("DELETE", f"/v1/sandboxes/{first}", token="alice")
        expect_equal(ask(processes=64).status, 201, "given back")


@suite.case
def limits_beyond_the_machine_are_refused_without_a_daemon_too():
    for flags, word in ((["--memory", "900t"], "this machine"), (["--processes", "900000"], "number")):
        done = subprocess.run([NUTSHELL, "run", *flags, "--", "true"], capture_output=True,
                              text=True, timeout=60, check=False)
        if "cannot be kept here" in done.stderr:
            raise Skip("this user has no limits here: " + done.stderr[:200])
        expect(done.returncode != 0 and word in done.stderr, f"{flags}: {done.stderr[:300]}")


@suite.case
def tenants_choose_only_what_the_operator_allows():
    config = ('[allow]\nbackends = ["native"]\nimages = ["base:*"]\n'
              '[[quotas]]\ntenant = "bob"\nbackends = ["gvisor"]\n')
    with daemon(config) as one:
        def ask(token, **spec):
            bodies = (("/v1/sandboxes", spec), ("/v1/sessions", {"name": "s", "spec": spec}),
                      ("/v1/batch", {"items": [{"argv": ["true"]}], "spec": spec}))
            return [one.call("POST", path, body, token) for path, body in bodies]
        for spec in ({"backend": "docker", "image": "base"}, {"image": "other"},
                     {"image": "evil.example.com/library/base:1"}):
            for answer in ask("alice", **spec)[:2]:
                expect_equal(answer.status, 403, f"{spec}: {answer.body[:300]}")
            result = ask("alice", **spec)[2].json()["results"][0]
            expect_equal(result["error"]["code"], "permission_denied", f"batch {spec}")
        expect_equal(ask("bob")[0].status, 403, "bob may not have the default backend")
        answer = one.call("POST", "/v1/sandboxes", {}, "alice")
        expect_equal(answer.status, 201, f"the default: {answer.body[:300]}")
        expect_equal(one.call("POST", "/v1/sandboxes", {"image": "other"}).status, 404,
                     "the owner's own wish is only not there")


@suite.case
def an_image_tells_nothing_of_the_hosts_files():
    with daemon() as one:
        os.makedirs(one.directory / "there", exist_ok=True)
        def answers(name):
            found = []
            for path, body in (("/v1/sandboxes", {"image": name}),
                               ("/v1/sessions", {"name": "s", "spec": {"image": name}})):
                answer = one.call("POST", path, body, "alice")
                found.append((answer.status, answer.body.decode().replace(name, "NAME")))
            return found
        for there, missing in (("etc/shadow", "etc/shadowx"), ("tests", "testsx"),
                               ("proc/1/root", "proc/1/rootx")):
            expect_equal(answers(there), answers(missing), f"{there} against {missing}")
        expect_equal(answers("../etc")[0][0], 403, "what is a path is refused by its form")


# ---- Everything that a request can hold ----------------------------------------------------------

# Values that a request may fill: they go into a sandbox, or to a command, or are not looked at, and
# nothing keeps them.
PASSED_ON = {("exec", "stdin"), ("batch", "items.files"), ("createCheckpoint", "checkpoint")}
BRIM = repetitions(2, 15) * MIB


class Brim:
    """Requests whose one value is filled to the brim, made from the OpenAPI document."""

    def __init__(self, document):
        self.schemas = document["components"]["schemas"]

    def plain(self, schema, name=""):
        """A small value that is of this shape."""
        schema = self.resolve(schema)
        known = {"argv": ["/bin/true"], "name": "brim", "path": "/workspace/x", "access": "read-only"}
        if name in known:
            return known[name]
        kind = schema.get("type")
        if kind == "object":
            return {key: self.plain(schema["properties"][key], key)
                    for key in schema.get("required", [])}
        if kind == "array":
            return [self.plain(schema.get("items", {}))]
        if kind in ("integer", "number"):
            return max(1, schema.get("minimum", 1))
        return schema.get("enum", ["x"])[0] if kind == "string" else False

    def resolve(self, schema):
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def full(self, schema):
        """Ways to fill a value; each a (word, value)."""
        kind = schema.get("type")
        if kind == "string":
            yield "a long text", "x" * BRIM
        if kind == "object" and "additionalProperties" in schema:
            yield "a long value", {"a": "x" * BRIM}
            yield "a long key", {"x" * BRIM: "a"}
            yield "many keys", {f"k{i}": "x" for i in range(BRIM // 16)}
        if kind == "array":
            items = self.resolve(schema.get("items", {}))
            if items.get("type") == "string":
                yield "a long item", ["x" * BRIM]
                yield "many items", ["x"] * (BRIM // 4)
            if items.get("type") == "array":
                yield "a long inner item", [["x" * BRIM]]
                yield "many inner items", [["x"] * (BRIM // 4)]
                yield "many lists", [["x"]] * (BRIM // 6)
            if items.get("type") == "object":
                one = self.plain(items)
                yield "many objects", [one] * (BRIM // max(2, len(json.dumps(one)) + 2))
        if kind == "integer":
            yield "a huge number", 2**63 - 1
            yield "beyond all numbers", 2**80
            yield "below zero", -2**62
        if kind == "number":
            yield "a huge number", 1e308

    def bodies(self, schema, path=()):
        """(path of names, word, body) for every value of a shape, each filled alone."""
        schema = self.resolve(schema)
        for key, inner in schema.get("properties", {}).items():
            inner = self.resolve(inner)
            for word, value in self.full(inner):
                yield path + (key,), word, {**self.plain(schema), key: value}
            if inner.get("properties"):
                for where, word, value in self.bodies(inner, path + (key,)):
                    yield where, word, {**self.plain(schema), key: value}
            items = self.resolve(inner.get("items", {}))
            if items.get("properties"):
                for where, word, value in self.bodies(items, path + (key,)):
                    yield where, word, {**self.plain(schema), key: [value]}


def fill_every_value(one, document, sandbox):
    """Sends every request with each of its values filled; how many were tried and accepted."""
    brim = Brim(document)
    tried = accepted = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" not in content:
                continue
            target = path.replace("{id}", sandbox).replace("{tool}", "read")
            target = re.sub(r"\{.*?\}", "brim", target)
            name = operation["operationId"]
            for where, word, body in brim.bodies(content["application/json"]["schema"]):
                what = f"{name}: {word} in {'.'.join(where)}"
                try:
                    answer = one.call(method.upper(), target, body, "alice")
                except OSError as error:
                    raise AssertionError(f"{what}: {error}") from error
                tried += 1
                expect(answer.status < 500, f"{what}: {answer.status} {answer.body[:300]}")
                is_long = word not in ("a huge number", "beyond all numbers", "below zero")
                if answer.status < 300:
                    accepted += 1
                    expect(not is_long or (name, ".".join(where)) in PASSED_ON,
                           f"{what} was accepted: {answer.body[:200]}")
                expect(len(answer.body) < 64 << 10,
                       f"{what}: an answer of {len(answer.body)} bytes")
    return tried, accepted


@suite.case
def every_value_of_every_request_is_bounded():
    quota = ('[[quotas]]\ntenant = "alice"\nsandboxes = 8\nsessions = 4\nstate_bytes = "4m"\n'
             'spool_bytes = "8m"\noutput_memory_bytes = "32m"\nkept_bytes = "8m"\n')
    with daemon(quota) as one:
        document = one.call("GET", "/v1/openapi.json").json()
        sandbox = one.make("alice", ttl_ms=600_000)
        before_memory, before_state = memory_of(one), bytes_below(state_of(one))
        tried, accepted = fill_every_value(one, document, sandbox)
        expect(tried > 100, f"only {tried} requests were tried")
        first = settled_memory_of(one)
        fill_every_value(one, document, sandbox)
        second = settled_memory_of(one)
        print(f"    grown by {(first - before_memory) // MIB} MiB, then by"
              f" {(second - first) // MIB} MiB", file=sys.stderr)
        # The daemon gives freed memory back to the kernel within about a second.
        expect(first - before_memory < 180 * MIB,
               f"the daemon grew by {(first - before_memory) // MIB} MiB")
        expect(second - first < 40 * MIB,
               f"the same requests again took {(second - first) // MIB} MiB more: a leak")
        grown = bytes_below(state_of(one)) - before_state
        expect(grown < 40 * MIB, f"the state directory grew by {grown // MIB} MiB")
        print(f"    {tried} requests, {accepted} accepted", file=sys.stderr)


@suite.case
def the_list_of_changes_is_charged_to_the_tenant():
    quota = '[[quotas]]\ntenant = "alice"\noutput_memory_bytes = "4m"\n'
    with daemon(quota) as one:
        for token, status in (("alice", 429), ("bob", 200)):
            made = one.make(token)
            one.execute(made, "sh", "-c", "seq 2000 | xargs touch", token=token)
            answer = one.call("GET", f"/v1/sandboxes/{made}/changes", token=token)
            expect_equal(answer.status, status, f"{token}: {answer.body[:300]}")
            one.execute(made, "sh", "-c", "find . -type f -name '*0' -o -type f | head -1900 |"
                        " xargs rm", token=token)
            answer = one.call("GET", f"/v1/sandboxes/{made}/changes", token=token)
            expect_equal((answer.status, len(answer.json().get("changes", ()))), (200, 100),
                         "what fits, after what did not")


@suite.case
def tool_calls_are_charged_to_the_tenant():
    quota = '[[quotas]]\ntenant = "alice"\noutput_memory_bytes = "12m"\n'
    with daemon(quota) as one:
        def call(token, tool, arguments):
            return one.call("POST", f"/v1/sandboxes/{made[token]}/tools/{tool}", arguments, token=token)

        made = {token: one.make(token) for token in ("alice", "bob")}
        script = ("seq -f '%020.0f' 200000; seq -f '%020.0f' 200000 > a; seq -f '%020.0f' 7 200000 > b; "
                  "exit 3")
        kept = {}
        for token in made:
            answer = call(token, "bash", {"command": script})
            expect_equal(answer.status, 200, f"{token}: {answer.body[:300]}")
            told = answer.json()
            expect("exit 3" in told["text"], f"{token}: the command ran to its end: {told['text'][:300]}")
            expect_equal("are gone" in told["text"], token == "alice", f"{token}: {told['text'][-300:]}")
            kept[token] = told["output_id"]
        # Comparing needs far more than 12 MiB; reading back what was stored needs less.
        for tool, arguments in (("diff", {"a": "a", "b": "b"}), ("recall", {"grep": "000199999$"})):
            for token in made:
                answer = call(token, tool, {"id": kept[token], **arguments} if tool == "recall" else arguments)
                is_refused = token == "alice" and tool == "diff"
                said = answer.body.decode()
                expect_equal("resource_exhausted" in said, is_refused, f"{token} {tool}: {said[:400]}")
                expect_equal("output in memory" in said, is_refused, f"{token} {tool}: {said[:400]}")
        # Each call takes 1 MiB, and every call gave back what it took.
        for _ in range(30):
            expect_equal(call("alice", "ls", {}).status, 200, "a small call afterwards")
        before = memory_of(one)
        call("alice", "bash", {"command": "yes '' | head -c 16000000"})
        grown = peak_memory_of(one) - before
        expect(grown < 250 * MIB, f"the daemon grew by {grown // MIB} MiB")


@suite.case
def queries_and_heads_are_bounded():
    with daemon() as one:
        for path in ("/v1/sandboxes?label=", "/v1/sandboxes?cursor=", "/v1/audit?cursor=",
                     "/v1/sessions/", "/v1/sandboxes/", "/v1/pools/"):
            answer = one.call("GET", path + "x" * 100_000, token="alice")
            expect(answer.status in (400, 404, 405, 414, 431), f"{path}: {answer.status}")
        answer = one.call("POST", "/v1/sandboxes", {}, "alice", {"Idempotency-Key": "k" * 300})
        expect_equal(answer.status, 400, "a long key")


@suite.case
def idempotency_keys_are_bounded():
    quota = '[[quotas]]\ntenant = "alice"\nidempotency_keys = 16\n'
    with daemon(quota) as one:
        sandbox = one.make("alice")
        for i in range(40):
            answer = one.call("POST", f"/v1/sandboxes/{sandbox}/exec",
                              {"argv": ["true"], "detach": True}, "alice",
                              {"Idempotency-Key": f"key-{i}"})
            expect_equal(answer.status, 202, f"{answer.body[:200]}")
        one.stop()
        import sqlite3
        with contextlib.closing(sqlite3.connect(state_of(one) / "state.db")) as database:
            count = database.execute("SELECT count(*) FROM keys WHERE tenant='alice'").fetchone()[0]
        expect(16 <= count <= 18, f"{count} keys are kept where 16 may be")
        one.start()


if __name__ == "__main__":
    sys.exit(suite.run())
