#!/usr/bin/env python3
"""The daemon's HTTP API, by clients that are not ours."""
import base64
import collections
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from daemon_client import DAEMON, TOKENS, UnixConnection, daemon
from support import Skip, Suite, expect, expect_equal, wait_until

suite = Suite()


@suite.case
def a_sandbox_lives_through_the_api():
    with daemon() as one:
        sandbox = one.make(labels={"project": "demo"}, environment={"NAME": "value"})
        result = one.execute(sandbox, "sh", "-c", "echo $NAME; echo bad >&2; exit 3")
        expect_equal((result["outcome"], result["exit_code"], result["stdout"], result["stderr"]),
                     ("exited", 3, "value\n", "bad\n"), "result")
        expect(result["audit_id"] > 0, "no audit id")
        first = one.execute(sandbox, "cat", "/proc/1/cmdline")["stdout"]
        expect_equal(first.strip("\0"), "init", "what is seen of the host's command line")
        expect_equal(one.execute(sandbox, "cat", stdin="ab\ncd")["stdout"], "ab\ncd", "stdin")
        raw = one.execute(sandbox, "printf", "\\377\\000x")
        expect_equal(base64.b64decode(raw["stdout_base64"]), b"\xff\0x", "bytes")
        seen = one.call("GET", f"/v1/sandboxes/{sandbox}").json()
        expect_equal((seen["state"], seen["labels"]["project"]), ("running", "demo"), "status")
        expect_equal(one.call("POST", f"/v1/sandboxes/{sandbox}/pause").json()["state"], "paused",
                     "state")
        one.call("POST", f"/v1/sandboxes/{sandbox}/resume")
        gone = one.call("GET", f"/v1/sandboxes/{sandbox}/gone").json()
        expect("alive" in gone["text"], f"what is said of the end of a living sandbox: {gone}")
        expect_equal(one.call("DELETE", f"/v1/sandboxes/{sandbox}").status, 204, "destroy")
        expect_equal(one.call("GET", f"/v1/sandboxes/{sandbox}").status, 404, "gone")


@suite.case
def output_streams_and_can_be_resumed():
    with daemon() as one:
        sandbox = one.make()
        script = "for i in 1 2 3 4 5; do echo line $i; sleep 0.1; done"
        for accept in ("application/x-ndjson", "text/event-stream"):
            answer = one.call("POST", f"/v1/sandboxes/{sandbox}/exec",
                              {"argv": ["sh", "-c", script]}, headers={"Accept": accept})
            lines = answer.body.decode().splitlines()
            if accept == "text/event-stream":
                lines = [line[6:] for line in lines if line.startswith("data: ")]
            events = [json.loads(line) for line in lines]
            expect_equal(events[0]["type"], "start", "first event")
            expect_equal("".join(e["data"] for e in events if e["type"] == "stdout"),
                         "".join(f"line {i}\n" for i in range(1, 6)), "output")
            expect_equal((events[-1]["type"], events[-1]["exit_code"]), ("end", 0), "last event")
            offset = 0
            for event in events:
                if event["type"] == "stdout":
                    expect_equal(event["offset"], offset, "offset")
                    offset += len(event["data"])
            again = one.call("GET", f"/v1/sandboxes/{sandbox}/exec/{events[0]['exec_id']}"
                             "?stdout_offset=14", headers={"Accept": "application/x-ndjson"})
            rest = [json.loads(line) for line in again.body.splitlines()]
            expect_equal("".join(e["data"] for e in rest if e["type"] == "stdout"),
                         "line 3\nline 4\nline 5\n", "output from the offset on")


@suite.case
def output_cannot_forge_an_event():
    with daemon() as one:
        sandbox = one.make()
        answer = one.call(
            "POST", f"/v1/sandboxes/{sandbox}/exec",
            {"argv": ["printf", "x\\n\\nevent: end\\ndata: {\\\"forged\\\":1}\\n\\nid: 7\\n"]},
            headers={"Accept": "text/event-stream"})
        kinds = [line for line in answer.body.decode().splitlines() if line.startswith("event:")]
        expect_equal(kinds, ["event: start", "event: stdout", "event: end"], "events")


@suite.case
def files_go_in_and_out():
    with daemon() as one:
        sandbox = one.make()
        place = f"/v1/sandboxes/{sandbox}/files?path=/workspace/data"
        content = os.urandom(3 << 20)
        expect_equal(one.call("PUT", place + "&mode=0600", content).status, 204, "write")
        expect(one.call("GET", place).body == content, "other bytes came back")
        deep = f"/v1/sandboxes/{sandbox}/files?path=/workspace/new/deep/file"
        expect_equal(one.call("PUT", deep, b"x").status, 204, "a file whose directories are missing")
        expect_equal(one.call("GET", deep).body, b"x", "that file")
        expect_equal(one.call("DELETE", deep.replace("/deep/file", "") + "&recursive=true").status, 204, "remove them")
        part = one.call("GET", place, headers={"Range": "bytes=10-19"})
        expect_equal((part.status, part.body), (206, content[10:20]), "range")
        expect_equal(one.call("GET", place, headers={"Range": "bytes=-5"}).body, content[-5:],
                     "last bytes")
        expect_equal(one.call("GET", place, headers={"Range": "bytes=9999999-"}).status, 416,
                     "range behind the end")
        listed = one.call("GET", f"/v1/sandboxes/{sandbox}/directory?path=/workspace").json()
        expect_equal([(e["path"], e["mode"], e["size"]) for e in listed["entries"]],
                     [("data", "0600", len(content))], "directory")
        expect_equal(one.call("DELETE", place).status, 204, "remove")
        expect_equal(one.call("GET", place).status, 404, "removed")


@suite.case
def files_that_a_host_would_run_are_marked():
    with daemon() as one:
        sandbox = one.make()
        for path in (".envrc", ".git/config", "plain", "bare/HEAD", "bare/config", "bare/commondir"):
            parent = path.rpartition("/")[0]
            one.call("PUT", f"/v1/sandboxes/{sandbox}/directory?path=/workspace/{parent}")
            done = one.call("PUT", f"/v1/sandboxes/{sandbox}/files?path=/workspace/{path}&mode=0755", b"x")
            expect_equal(done.status, 204, f"write {path}")
        wanted = {".envrc": "trusted", ".git/config": "git", "plain": None, "bare/config": "git"}
        listed = one.call("GET", f"/v1/sandboxes/{sandbox}/directory?path=/workspace&recursive=true").json()
        found = {entry["path"]: entry for entry in listed["entries"]}
        expect_equal({path: found[path].get("held_by") for path in wanted}, wanted, "the listing")
        expect("direnv runs it" in found[".envrc"]["held_why"], f"{found['.envrc']}")
        changes = one.call("GET", f"/v1/sandboxes/{sandbox}/changes").json()["changes"]
        found = {change["path"]: change for change in changes}
        expect_equal({path: found[path].get("held_by") for path in wanted}, wanted, "the changes")
        expect(found["plain"]["newly_executable"], f"{found['plain']}")
        below = one.call("GET", f"/v1/sandboxes/{sandbox}/directory?path=/workspace/.git").json()
        expect_equal([entry.get("held_by") for entry in below["entries"]], ["git"], "below .git")


@suite.case
def tools_answer():
    with daemon() as one:
        names = [tool["name"] for tool in one.call("GET", "/v1/tools").json()["tools"]]
        expect("bash" in names and "read" in names, f"tools: {names}")
        sandbox = one.make()
        done = one.call("POST", f"/v1/sandboxes/{sandbox}/tools/bash", {"command": "echo hi"})
        expect("hi" in done.json()["text"], f"text: {done.body[:200]}")
        wrong = one.call("POST", f"/v1/sandboxes/{sandbox}/tools/read", {"path": "/none"})
        expect(wrong.json()["is_error"], "no error")
        expect_equal(one.call("POST", f"/v1/sandboxes/{sandbox}/tools/none", {}).status // 100, 4,
                     "unknown tool")


@suite.case
def a_key_creates_once():
    with daemon() as one:
        headers = {"Idempotency-Key": "key-1"}
        first = one.call("POST", "/v1/sandboxes", {"ttl_ms": 60000}, headers=headers)
        second = one.call("POST", "/v1/sandboxes", {"ttl_ms": 60000}, headers=headers)
        expect_equal(first.json()["id"], second.json()["id"], "sandbox of the same key")
        other = one.call("POST", "/v1/sandboxes", {"ttl_ms": 70000}, headers=headers)
        expect_equal(other.status // 100, 4, "same key, other body")


@suite.case
def lists_come_in_pages():
    with daemon() as one:
        made = {one.make(labels={"n": str(i % 2)}) for i in range(5)}
        found, cursor = set(), ""
        while True:
            page = one.call("GET", f"/v1/sandboxes?limit=2&cursor={cursor}").json()
            expect(len(page["sandboxes"]) <= 2, "too many on a page")
            found |= {sandbox["id"] for sandbox in page["sandboxes"]}
            cursor = page["next_cursor"]
            if not cursor:
                break
        expect_equal(found, made, "all pages")
        expect_equal(len(one.call("GET", "/v1/sandboxes?label=n=1").json()["sandboxes"]), 2,
                     "labelled")


@suite.case
def a_session_is_made_once():
    with daemon() as one:
        wish = {"name": "work", "setup": [["sh", "-c", "echo x >> /workspace/count"]]}
        first = one.call("POST", "/v1/sessions", wish).json()
        second = one.call("POST", "/v1/sessions", wish).json()
        expect_equal(first["sandbox_id"], second["sandbox_id"], "sandbox")
        expect_equal((first["was_created"], second["was_created"]), (True, False), "was_created")
        expect_equal(one.execute(first["sandbox_id"], "cat", "/workspace/count")["stdout"], "x\n",
                     "setup")
        expect_equal(one.call("DELETE", "/v1/sessions/work").status, 204, "end")


@suite.case
def a_pool_gives_and_takes():
    pool = '[[pools]]\nname = "p"\nmin_idle = 2\nmax_idle = 3\nmax_total = 4\n'
    with daemon(pool) as one:
        one.call("POST", "/v1/pools/p/warm")
        got = one.call("POST", "/v1/pools/p/acquire", {"labels": {"a": "b"}})
        expect_equal(got.status, 201, f"acquire: {got.body[:200]}")
        status = one.call("GET", "/v1/pools/p").json()
        expect_equal(status["in_use"], 1, "in use")
        expect_equal(one.execute(got.json()["id"], "true")["exit_code"], 0, "exec")
        expect_equal(one.call("POST", f"/v1/sandboxes/{got.json()['id']}/release").status, 204,
                     "release")


@suite.case
def a_pool_is_kept_by_one_daemon_only():
    pools = "".join(f'[[pools]]\nname = "{name}"\nmin_idle = 1\nmemory = "300m"\n{more}'
                    for name, more in (("all", ""), ("hers", 'tenants = ["alice"]\n')))
    with daemon(pools) as one:
        for what in ("drain", "warm"):
            answer = one.call("POST", f"/v1/pools/all/{what}", token="alice")
            expect_equal((answer.status, answer.json()["code"]), (403, "permission_denied"), what)
            expect_equal(one.call("POST", f"/v1/pools/hers/{what}", token="alice").status, 200, what)
            expect_equal(one.call("POST", f"/v1/pools/hers/{what}", token="bob").status, 404, what)
            expect_equal(one.call("POST", f"/v1/pools/all/{what}").status, 200, what)
        # Omitted limits keep the pool's values, and all values bound late are recorded.
        secret = "correct-horse-battery"
        got = one.call("POST", "/v1/pools/all/acquire",
                       {"limits": {"processes": 12}, "environment": {"API_TOKEN": secret, "A": "b"}})
        limits = got.json()["limits"]
        expect_equal((limits["processes"], limits["memory_bytes"]), (12, 300 << 20), "limits")
        wrong = one.call("POST", "/v1/pools/all/acquire", {"network": "everything"})
        expect_equal(wrong.status, 422, "network")
        records = one.call("GET", "/v1/audit?action=acquire").json()["records"]
        told = [each["arguments"] for each in records if each["outcome"] == "begun"]
        expect_equal((told[0]["processes"], told[0]["environment"]),
                     (12, ["A=b", "API_TOKEN=[redacted]"]), "the record")
        expect_equal((told[1]["network"], records[-1]["outcome"]),
                     ("everything", "failed: unsupported"), "a decision")
        denied = one.call("GET", "/v1/audit?action=deny", token="alice").json()["records"]
        expect_equal(len(denied), 2, "denials in the record")


@suite.case
def a_budget_is_exact_and_its_refusals_are_written_down():
    with daemon() as one:
        made = one.call("POST", "/v1/sessions", {"name": "s", "budget": {"output_bytes": 1000}})
        sandbox = made.json()["sandbox_id"]
        first = one.execute(sandbox, "sh", "-c", "head -c 600 /dev/zero | tr '\\0' x")
        second = one.execute(sandbox, "sh", "-c", "head -c 60000 /dev/zero | tr '\\0' x")
        expect_equal((len(first["stdout"]), len(second["stdout"]), second["outcome"]),
                     (600, 400, "output_limit"), "output")
        usage = one.call("GET", "/v1/sessions/s").json()["usage"]
        expect_equal((usage["output_bytes"], usage["execs"]), (1000, 2), "usage")
        refused = [one.call("POST", f"/v1/sandboxes/{sandbox}/{what}", body).status
                   for what, body in (("exec", {"argv": ["true"]}),
                                      ("exec", {"argv": ["true"], "detach": True}),
                                      ("tools/bash", {"command": "true"}))]
        expect_equal(refused, [429, 429, 429], "beyond the budget")
        records = one.call("GET", "/v1/audit?session=s").json()["records"]
        outcomes = [each["action"] for each in records
                    if each["outcome"] == "refused: resource_exhausted"]
        expect_equal(outcomes, ["exec", "exec", "tool bash"], "refusals in the record")


@suite.case
def a_record_has_the_hash_of_every_stream():
    with daemon() as one:
        made = one.make()
        one.execute(made, "sh", "-c", "cat; echo out; echo err >&2", stdin="in")
        ended = one.call("GET", "/v1/audit?action=exec").json()["records"][-1]
        wanted = {f"{name}_sha256": hashlib.sha256(text).hexdigest()
                  for name, text in (("input", b"in"), ("output", b"inout\n"), ("error", b"err\n"))}
        expect_equal({name: ended.get(name) for name in wanted}, wanted, "the record of an exec")


SPIN = "while :; do :; done"


def usage_of(one, name):
    return one.call("GET", f"/v1/sessions/{name}").json()["usage"]


@suite.case
def a_budget_ends_a_tools_command_and_counts_it():
    with daemon() as one:
        for name, budget in (("cpu", {"cpu_time_ms": 1000}), ("wall", {"wall_time_ms": 1000})):
            made = one.call("POST", "/v1/sessions", {"name": name, "budget": budget})
            place = f"/v1/sandboxes/{made.json()['sandbox_id']}/tools/bash"
            background = one.call("POST", place, {"command": SPIN, "wait": 0}).json()
            expect("background" in background["text"], f"wait 0: {background}")
            began = time.monotonic()
            answer = one.call("POST", place, {"command": SPIN, "timeout": 60, "wait": 1})
            expect_equal(answer.json()["fields"]["outcome"], "timed_out", f"outcome by {name}")
            expect(time.monotonic() - began < 40, f"{name}: it ran for {time.monotonic() - began}")
            used = usage_of(one, name)[f"{name}_time_ms"]
            # Where init looks at the clocks of processes, it may end one a few ticks early.
            expect(700 <= used < 12000, f"{name}: {used} ms are counted")
            statuses = [one.call("POST", place, {"command": SPIN, "timeout": 60, "wait": 1}).status
                        for _ in range(4)]
            expect_equal(statuses[-1], 429, "beyond it")


@suite.case
def a_budget_counts_what_an_exec_leaves_running_and_ends_it():
    for clock in ("cpu_time_ms", "wall_time_ms"):
        with daemon() as one:
            made = one.call("POST", "/v1/sessions", {"name": "s", "budget": {clock: 700}})
            sandbox = made.json()["sandbox_id"]
            if one.call("GET", f"/v1/sandboxes/{sandbox}/stats").json()["cpu_time_ms"] is None:
                raise Skip("nothing counts CPU time here")
            one.execute(sandbox, "sh", "-c", f"setsid sh -c '{SPIN}' >/dev/null 2>&1 &")
            expect(wait_until(lambda: usage_of(one, "s")[clock] >= 700, 30), f"no {clock} is counted")

            def is_over():
                before = usage_of(one, "s")["cpu_time_ms"]
                time.sleep(0.3)
                return usage_of(one, "s")["cpu_time_ms"] - before < 50
            expect(wait_until(is_over, 30), f"{clock}: it runs on")
            expect_equal(one.call("POST", f"/v1/sandboxes/{sandbox}/exec", {"argv": ["true"]}).status,
                         429, f"{clock}: beyond the budget")


@suite.case
def impossible_exec_requests_are_refused():
    with daemon() as one:
        sandbox = one.make()
        for body, word in (({"argv": []}, "argv"), ({"argv": [""]}, "argv"),
                           ({"argv": ["env"], "environment": {"A=B": "c"}}, "A=B"),
                           ({"argv": ["env"], "environment": {"": "c"}}, "name of a variable")):
            answer = one.call("POST", f"/v1/sandboxes/{sandbox}/exec", body)
            expect_equal(answer.status, 400, str(body))
            expect(word in answer.json()["detail"], f"{body}: {answer.body}")
        begun = one.call("POST", f"/v1/sandboxes/{sandbox}/exec",
                         {"argv": ["echo", "five"], "detach": True}).json()
        place = f"/v1/sandboxes/{sandbox}/exec/{begun['exec_id']}"
        stream = {"Accept": "application/x-ndjson"}
        whole = one.call("GET", place + "?stdout_offset=5", headers=stream)  # waits for the end
        expect(b'"end"' in whole.body and b'"stdout"' not in whole.body, f"at the end: {whole.body}")
        for offset in ("stdout_offset=6", "stderr_offset=1", f"stdout_offset={2 ** 64 - 1}"):
            beyond = one.call("GET", f"{place}?{offset}", headers=stream)
            expect_equal(beyond.status, 400, f"{offset}: {beyond.body[:200]}")
        failing = one.call("POST", "/v1/sessions", {"name": "f", "setup": [
            ["sh", "-c", "echo what it printed; exit 3"]]})
        expect_equal(failing.status, 400, "a setup that fails is no fault of the daemon")
        expect("what it printed" in failing.json()["detail"], f"setup: {failing.body}")
        record = one.call("GET", "/v1/audit?session=f").body
        expect(b"exited 3" in record and b"what it printed\\n" not in record, "output in the record")
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(one.socket)
            raw.sendall(b"nonsense\r\n\r\n")
            raw.settimeout(20)
            expect(b'"code":"invalid_argument"' in raw.recv(4096), "no HTTP, and no code")


@suite.case
def tenants_do_not_see_each_other():
    with daemon() as one:
        sandbox = one.make(token="alice")
        missing = "0" * len(sandbox)
        routes = [("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"),
                  ("GET", "/stats"), ("GET", "/changes"), ("GET", "/history"),
                  ("GET", "/files?path=/etc/passwd"),
                  ("DELETE", "/files?path=/workspace/x"), ("GET", "/directory?path=/"),
                  ("POST", "/fork"), ("POST", "/release"), ("GET", "/environment")]
        for method, what in routes:
            theirs = one.call(method, f"/v1/sandboxes/{sandbox}{what}", token="bob")
            nobody = one.call(method, f"/v1/sandboxes/{missing}{what}", token="bob")
            expect_equal((theirs.status, theirs.body.replace(sandbox.encode(), b"ID")),
                         (nobody.status, nobody.body.replace(missing.encode(), b"ID")),
                         f"{method} {what}")
            expect_equal(theirs.status, 404, f"{method} {what}")
        for what, body in (("exec", {"argv": ["true"]}), ("tools/bash", {"command": "true"}),
                           ("extend", {"ttl_ms": 1000})):
            expect_equal(one.call("POST", f"/v1/sandboxes/{sandbox}/{what}", body, "bob").status,
                         404, what)
        expect_equal(one.call("GET", "/v1/sandboxes", token="bob").json()["sandboxes"], [], "list")
        records = one.call("GET", "/v1/audit", token="bob").body
        expect(sandbox.encode() not in records, "the record of another tenant")
        expect_equal(one.execute(sandbox, "true", token="alice")["exit_code"], 0, "its own")
        one.call("DELETE", f"/v1/sandboxes/{sandbox}", token="alice")


@suite.case
def a_tenant_cannot_name_files_of_the_host():
    with daemon() as one:
        beside = [name for name in os.listdir() if not name.startswith(".")][0]  # of the daemon too
        for spec in ({"workspace": "/etc"}, {"image": "/"}, {"image": "./" + beside},
                     {"unsafe_mounts": [{"source": "/", "target": "/host"}]}):
            answer = one.call("POST", "/v1/sandboxes", spec, "alice")
            expect_equal(answer.status, 403, f"{spec}: {answer.body[:200]}")


@suite.case
def a_living_sandbox_is_not_called_ended():
    with daemon() as one:
        def why_gone(sandbox, token):
            answer = one.call("GET", f"/v1/sandboxes/{sandbox}/gone", token=token)
            expect_equal(answer.status, 200, f"{answer.body[:200]}")
            return answer.json()

        made = one.make("alice")
        said = why_gone(made, "alice")
        expect("is alive" in said["text"] and "has ended" not in said["text"], f"it is alive: {said}")
        never = why_gone("n0123456789ab", "bob")
        expect_equal(why_gone(made, "bob"), never, "what another tenant learns")
        one.call("DELETE", f"/v1/sandboxes/{made}", token="alice")
        expect("alive" not in why_gone(made, "alice")["text"], "after its end")
        expect_equal(why_gone(made, "bob"), never, "what another tenant learns after its end")


@suite.case
def hanging_up_ends_the_command():
    with daemon() as one:
        sandbox = one.make()
        connection = UnixConnection(one.socket)
        body = json.dumps({"argv": ["sh", "-c", "while :; do date > /workspace/beat; sleep 0.05; "
                                    "done"], "timeout_ms": 60000})
        connection.request("POST", f"/v1/sandboxes/{sandbox}/exec", body)

        def beat():
            return one.execute(sandbox, "stat", "-c", "%Y.%y", "/workspace/beat")["stdout"]

        def is_still():
            first = beat()
            time.sleep(1)
            return beat() == first
        expect(wait_until(beat), "the command does not run")
        connection.close()
        expect(wait_until(is_still, 30), "the command goes on")


def ask_and_hang_up(one, path, body, headers=None):
    """Sends a request as alice and closes the connection before the daemon reads the request."""
    connection = UnixConnection(one.socket)
    headers = {"Authorization": "Bearer " + TOKENS["alice"], **(headers or {})}
    one.process.send_signal(signal.SIGSTOP)
    try:
        connection.request("POST", path, json.dumps(body), headers)
        connection.close()
    finally:
        one.process.send_signal(signal.SIGCONT)


def ids_of(one):
    return {made["id"] for made in one.call("GET", "/v1/sandboxes", token="alice").json()["sandboxes"]}


def actions_of(one):
    """How often alice did what, by the record."""
    records = one.call("GET", "/v1/audit?limit=1000", token="alice").json()["records"]
    return collections.Counter(record["action"] for record in records
                               if record["outcome"] == "ok")


@suite.case
def a_sandbox_whose_maker_hung_up_is_destroyed():
    pool = '[[pools]]\nname = "p"\nmin_idle = 1\nmax_total = 8\n'
    with daemon(pool) as one:
        kept = one.make("alice")
        asked = {"/v1/sandboxes": "create", "/v1/pools/p/acquire": "acquire",
                 f"/v1/sandboxes/{kept}/fork": "fork"}
        for path, action in asked.items():
            before = actions_of(one)[action]
            for _ in range(4):
                ask_and_hang_up(one, path, {})
            expect(wait_until(lambda: actions_of(one)[action] == before + 4), f"{action} is done")
            expect(wait_until(lambda: ids_of(one) == {kept}), f"{action}: {ids_of(one)} are left")
        # With a key it stays for the next request with that key.
        key = {"Idempotency-Key": "again"}
        ask_and_hang_up(one, "/v1/sandboxes", {}, key)
        expect(wait_until(lambda: len(ids_of(one)) == 2), "the sandbox of the key")
        made = one.call("POST", "/v1/sandboxes", {}, "alice", key)
        expect_equal(made.status, 201, f"{made.body[:300]}")
        expect_equal(ids_of(one), {kept, made.json()["id"]}, "the same sandbox")


@suite.case
def a_restart_loses_nothing():
    with daemon() as one:
        sandbox = one.make()
        one.execute(sandbox, "sh", "-c", "echo kept > /workspace/file")
        for number in (signal.SIGTERM, signal.SIGKILL):
            one.stop(number)
            one.start()
            expect_equal(one.execute(sandbox, "cat", "/workspace/file")["stdout"], "kept\n",
                         f"after signal {number}")


@suite.case
def sigterm_lets_requests_end():
    with daemon() as one:
        sandbox = one.make()
        with ThreadPoolExecutor() as threads:
            running = threads.submit(one.execute, sandbox, "sh", "-c", "touch begun; sleep 2; echo done")
            expect(wait_until(lambda: one.execute(sandbox, "test", "-e", "begun")["exit_code"] == 0), "it does not begin")
            expect_equal(one.stop(), 0, "exit status")
            expect_equal(running.result()["stdout"], "done\n", "output")


@suite.case
def a_second_daemon_refuses():
    with daemon() as one:
        second = subprocess.run([DAEMON, "--socket", one.socket + "2"], env=one.environment(),
                                capture_output=True, timeout=30)
        expect_equal(second.returncode, 1, "exit status")
        expect(one.call("GET", "/healthz").status == 200, "the first is gone")


@suite.case
def reload_changes_tokens():
    with daemon() as one:
        expect_equal(one.call("GET", "/v1/sandboxes", token="alice").status, 200, "before")
        text = one.config.read_text()
        one.config.write_text(text.split("[[tokens]]")[0])
        one.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 60
        def still_opens():
            try:
                return one.call("GET", "/v1/sandboxes", token="alice").status == 200
            except http.client.RemoteDisconnected:
                return True  # cut off in the moment of the reload: ask again
        while still_opens():
            expect(time.monotonic() < deadline, "the token still opens")
            time.sleep(0.2)
        one.config.write_text("no_such_key = 1\n")
        one.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        expect_equal(one.call("GET", "/healthz").status, 200, "after a wrong file")


@suite.case
def a_terminal_over_a_websocket():
    with daemon() as one:
        sandbox = one.make()
        tail = socket.socket(socket.AF_UNIX)
        tail.settimeout(30)
        tail.connect(one.socket)
        tail.sendall((f"GET /v1/sandboxes/{sandbox}/terminal?rows=33&columns=101 HTTP/1.1\r\n"
                      "Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                      "Sec-WebSocket-Version: 13\r\n"
                      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode())
        stream = tail.makefile("rb")
        expect(b"101" in stream.readline(), "no upgrade")
        while stream.readline() != b"\r\n":
            pass

        def send(opcode, payload):
            mask = bytes(4)
            tail.sendall(bytes([0x80 | opcode, 0x80 | len(payload)]) + mask + payload)

        def receive():
            head = stream.read(2)
            length = head[1]
            if length == 126:
                length = int.from_bytes(stream.read(2), "big")
            return head[0] & 15, stream.read(length)
        send(1, b'{"rows": 40, "columns": 120}')
        send(2, b"stty size; exit 7\n")
        shown, last = b"", None
        while last is None:
            opcode, payload = receive()
            if opcode == 2:
                shown += payload
            elif opcode == 1:
                last = json.loads(payload)
            else:
                break
        expect(b"40 120" in shown, f"shown: {shown[-200:]}")
        expect_equal(last["exit_code"], 7, "exit code")


if __name__ == "__main__":
    sys.exit(suite.run())
