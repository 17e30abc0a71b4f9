#!/usr/bin/env python3
"""The Python SDK beyond the scenarios: workspaces, directories, watching, code, decorators, typing."""
import asyncio
import contextlib
import http.server
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import python_sdk
import python_venvs
from support import REPOSITORY, Suite, expect, expect_equal, wait_until

python_sdk.generate()
from nutshell_sandbox import (  # noqa: E402
    AsyncSandbox,
    Client,
    Sandbox,
    SandboxError,
    Session,
    run_parallel,
    sandboxed,
)
from nutshell_sandbox.code import CodeSandbox, SandboxConfig, SandboxPool  # noqa: E402

suite = Suite()


def code_of(action):
    try:
        action()
    except SandboxError as error:
        return error.code
    return None


# The workspace -----------------------------------------------------------------------------------

@suite.case
def changes_are_shown_and_applied_by_the_rules_for_held_files():
    with python_sdk.served(), tempfile.TemporaryDirectory() as place:
        Path(place, "a.txt").write_text("one\n")
        subprocess.run(["git", "init", "-q", place], check=True)
        with Sandbox(workspace=place) as sandbox:
            sandbox.run("echo two >> a.txt; echo new > b.txt; echo 'echo owned' > .envrc; "
                        "printf '[core]\\n\\tfsmonitor = owned\\n' > .git/config", check=True)
            shown = sandbox.diff()
            expect("+two" in shown and "b.txt" in shown, shown)
            expect(re.search(r"M\s+a\.txt", sandbox.diff("a.txt", stat=True)), "stat")
            held = {one.path: one.held_by for one in sandbox.changes() if one.held_by}
            expect_equal(held, {".envrc": "trusted", ".git/config": "git"}, "held in changes")
            dry = sandbox.apply(dry_run=True)
            expect(dry.dry_run and Path(place, "a.txt").read_text() == "one\n", repr(dry))
            done = sandbox.apply()
            expect_equal(sorted(one["path"] for one in done.held), [".envrc", ".git/config"], "held")
            expect_equal(Path(place, "a.txt").read_text(), "one\ntwo\n", "a.txt")
            expect(not Path(place, ".envrc").exists(), "a held file was written")
            expect("owned" not in Path(place, ".git/config").read_text(), "git's config was written")
            sandbox.apply(".envrc")
            expect_equal(Path(place, ".envrc").read_text(), "echo owned\n", "taken by its name")
            sandbox.run("echo three >> a.txt")
            time.sleep(0.02)
            Path(place, "a.txt").write_text("mine\n")
            expect_equal(code_of(sandbox.apply), "conflict", "a file that changed here")
            expect_equal(Path(place, "a.txt").read_text(), "mine\n", "after the conflict")


@suite.case
def directories_are_copied_in_and_out_by_the_rules():
    with python_sdk.served(), tempfile.TemporaryDirectory() as place, Sandbox() as sandbox:
        Path(place, "in/sub").mkdir(parents=True)
        Path(place, "in/sub/a").write_text("a")
        os.symlink("sub/a", f"{place}/in/link")
        sandbox.files.upload(f"{place}/in", "/workspace/in")
        expect_equal(sandbox.run("cat in/sub/a; readlink in/link").stdout, "asub/a\n", "uploaded")
        sandbox.run("echo b > in/b; echo x > in/.envrc; ln -s /etc/passwd in/out")
        told = sandbox.files.download("/workspace/in", f"{place}/out")
        expect_equal(Path(place, "out/b").read_text(), "b\n", "downloaded")
        expect(not Path(place, "out/.envrc").exists() and ".envrc" in told, f"held: {told!r}")
        expect_equal(code_of(lambda: sandbox.files.download("/workspace/none", f"{place}/none")) is None,
                     False, "of a missing directory")


@suite.case
def a_watch_tells_of_each_change():
    seen = []

    async def run():
        async with AsyncSandbox() as sandbox:
            await sandbox.files.write("old", "1")
            async def watch():
                async for event in sandbox.files.watch(interval=0.05):
                    seen.append((event.kind, event.path))
            task = asyncio.ensure_future(watch())

            async def until(is_seen, act=None):
                for _ in range(1000):
                    if is_seen():
                        return
                    if act:
                        await act()
                    await asyncio.sleep(0.05)
            # Until something was seen, it may not have begun.
            await until(lambda: seen, lambda: sandbox.run("echo x >> begun"))
            await sandbox.files.write("new/a", "1")
            await sandbox.files.write("old", "22")
            await until(lambda: len({path for _, path in seen} - {"begun"}) >= 3)
            await sandbox.files.remove("old")
            await until(lambda: ("removed", "old") in seen)
            task.cancel()
    with python_sdk.served():
        asyncio.run(run())
    expect_equal(sorted({one for one in seen if one[1] != "begun"}), [("added", "new"), ("added", "new/a"), ("modified", "old"),
                                     ("removed", "old")], "events")


@suite.case
def output_comes_while_the_command_runs():
    arrived = []
    with python_sdk.served(), Sandbox() as sandbox:
        began = threading.Event()
        def note(text):
            arrived.append(text)
            began.set()
        worker = threading.Thread(target=lambda: sandbox.run(
            "echo first; until [ -e go ]; do sleep 0.02; done; echo second", on_stdout=note))
        worker.start()
        expect(began.wait(30), "no output came")
        expect_equal(arrived, ["first\n"], "before the end")
        sandbox.files.write("go", "")
        worker.join(30)
        expect_equal("".join(arrived), "first\nsecond\n", "all of it")


@suite.case
def large_and_strange_output_arrives_whole():
    with python_sdk.served(), Sandbox() as sandbox:
        many = sandbox.run("head -c 3000000 /dev/zero | tr '\\0' x; printf '\\303'")
        expect_equal(len(many.stdout_raw), 3_000_001, "bytes")
        odd = b"\x00\xff\xc3\xa9\xc3"
        sandbox.files.write("odd", odd)
        for options in ({}, {"on_stdout": lambda _: None}):
            expect_equal(sandbox.run(["cat", "odd"], **options).stdout_raw, odd, "bytes")
        data = os.urandom(5_000_000)
        sandbox.files.write("big", data)
        expect(sandbox.files.read("big") == data, "a large file changed on the way")
        expect_equal(sandbox.files.read("big", offset=4_999_990), data[-10:], "its end")
        expect_equal(sandbox.files.read("big", offset=5_000_000, length=1), b"", "beyond its end")
        sandbox.files.write("empty", b"")
        expect_equal(sandbox.files.read("empty", length=10), b"", "of an empty file")
        expect_equal(code_of(lambda: sandbox.files.read("big", offset=-1)), "invalid_argument", "offset")


@suite.case
def schemas_for_models_have_the_form_that_each_api_takes():
    with python_sdk.served(), Sandbox() as sandbox:
        names = [one["function"]["name"] for one in sandbox.tools.for_openai()]
        expect_equal(len(names), 13, "tools")
        expect_equal(sandbox.tools.for_anthropic(["read"])[0]["input_schema"]["required"], ["path"], "schema")
        gemini = json.dumps(sandbox.tools.for_gemini())
        expect("function_declarations" in gemini and "additionalProperties" not in gemini, gemini[:200])
        told = {one["name"]: one["inputSchema"] for one in sandbox.client.tools()}
        mine = {one["name"]: one["inputSchema"] for one in sandbox.tools.schemas()}
        expect(told == mine, "the SDK's schemas are not those of the daemon: run scripts/schema")


# Code and decorators -----------------------------------------------------------------------------

@suite.case
def code_sandboxes_run_code_within_their_bounds():
    with python_sdk.served():
        with CodeSandbox(SandboxConfig(timeout_seconds=2, max_memory_mb=128)) as sandbox:
            done = sandbox.execute("import json\nprint(json.dumps({'a': 1}))")
            expect_equal((done.stdout, done.exit_code, done.timed_out), ('{"a": 1}\n', 0, False), "result")
            done = sandbox.execute("while True: pass")
            expect(done.timed_out and done.exit_code == 1 and "timed out" in done.stderr, repr(done))
            for code in ("import os", "from socket import socket", "__import__('os')",
                         "def f():\n    import subprocess.x"):
                done = sandbox.execute(code)
                expect(done.exit_code == 1 and "allowed imports" in done.stderr, f"{code}: {done!r}")
            done = sandbox.execute("def broken(:")
            expect("SyntaxError" in done.stderr and done.exit_code == 1, repr(done))
            done = sandbox.execute("x = bytearray(300_000_000)\nprint(len(x))")
            expect(done.exit_code != 0, f"more memory than allowed: {done!r}")
            sandbox.execute("open('kept', 'w').write('1')")
            sandbox.cleanup()
            expect_equal([one.path for one in sandbox.sandbox.files.list()], [], "files after cleanup")
        with CodeSandbox(SandboxConfig("bash", allowed_imports=None)) as shell:
            expect_equal(shell.execute("echo $((6*7))").stdout, "42\n", "bash")
        expect_equal(code_of(lambda: SandboxConfig("cobol")), "invalid_argument", "language")


@suite.case
def a_pool_hands_out_each_sandbox_once():
    with python_sdk.served(), SandboxPool(pool_size=2) as pool:
        expect_equal(pool.acquire(), None, "before initialize")
        pool.initialize(SandboxConfig())
        first, second = pool.acquire(), pool.acquire()
        expect(first is not None and second is not None and pool.acquire() is None, "three of two")
        expect_equal(pool.status(), {"total": 2, "available": 0, "in_use": 2}, "status")
        first.execute("open('secret', 'w').write('1')")
        made = first.sandbox.id
        pool.release(first)
        expect_equal(code_of(lambda: pool.release(first)), "invalid_argument", "released twice")
        again = pool.acquire()
        expect(again.sandbox.id != made and not again.sandbox.files.exists("secret"), "used again")


@suite.case
def decorated_functions_get_a_sandbox_of_their_own():
    @sandboxed(memory="128m", sandbox_param="box")
    def answer(code, box):
        """Runs code."""
        return box.id, box.run(["python3", "-c", code]).stdout

    @sandboxed
    async def later(word, sandbox):
        return (await sandbox.run(["echo", word])).stdout

    with python_sdk.served() as daemon:
        one, text = answer("print(6 * 7)")
        expect_equal(text, "42\n", "result")
        expect_equal((str(inspect.signature(answer)), answer.__doc__), ("(code)", "Runs code."), "looks")
        expect_equal(asyncio.run(later("hi")), "hi\n", "asynchronous")
        expect(inspect.iscoroutinefunction(later), "no coroutine function")
        expect(wait_until(lambda: not daemon.call("GET", "/v1/sandboxes").json()["sandboxes"]),
               f"{one} is left")
    try:
        sandboxed(lambda x: x)
        raise AssertionError("a function without the parameter was taken")
    except TypeError:
        pass


@suite.case
def commands_in_parallel_come_back_in_their_order():
    told = []
    with python_sdk.served():
        done = run_parallel([f"sleep 0.{9 - n}; echo {n}" for n in range(6)] + [["false"]],
                            max_concurrency=6, memory="64m", on_result=lambda n, _: told.append(n))
    expect_equal([one.stdout for one in done], [f"{n}\n" for n in range(6)] + [""], "results")
    expect(done[6].exit_code == 1 and sorted(told) == list(range(7)) and told[-1] == 0, f"{told}")


@suite.case
def a_sandbox_waits_for_room_that_others_hold():
    with python_sdk.served('[quota]\nsandboxes = 1\n[[quotas]]\ntenant = "local"\nsandboxes = 1\n'):
        first = Sandbox()
        began = time.monotonic()
        expect_equal(code_of(lambda: Sandbox(wait=0.4)), "resource_exhausted", "without room")
        expect(0.2 < time.monotonic() - began < 10, "it did not wait as long as it was told")
        expect_equal(code_of(lambda: Sandbox(wait=0)), "resource_exhausted", "without waiting")
        threading.Timer(0.3, first.close).start()
        with Sandbox(wait=30) as second:
            expect_equal(second.run("echo room").stdout, "room\n", "once there was room")


@suite.case
def a_session_that_lost_its_sandbox_goes_on_in_a_new_one():
    with python_sdk.served(), Session("work", setup=["echo made >> state"], labels={"of": "more"}) as work:
        first = work.sandbox_id
        work.run("echo lost > own")
        work.client.send("destroySandbox", (first,))
        expect_equal(work.run("cat state; ls own 2>&1").stdout.split("\n")[0], "made", "setup of the new one")
        expect(work.sandbox_id != first and work.refresh_session().life == 2, "the same sandbox")
        expect_equal(code_of(lambda: work.run("exit 3", check=True)), "command_failed", "check")
        work.close()
        expect_equal([one.name for one in Session.list({"of": "more"})], ["work"], "after close")
        again = Session("work")
        again.end()
        expect_equal(Session.list({"of": "more"}), [], "after end")
        expect_equal(code_of(lambda: again.run("true")), "closed", "a session that ended")


@suite.case
def results_of_a_batch_are_in_place_even_where_one_cannot_run():
    with python_sdk.served():
        client = Client()
        done = client.batch([["true"], {"argv": ["cat", "in"], "files": {"/workspace/in": "given"}}, ["/none"]])
        expect_equal((done[0].is_ok, done[1].stdout, done[2].exit_code), (True, "given", 127), "results")
        expect_equal(code_of(lambda: client.batch([["true"]], spec={"nonsense": 1})), "invalid_argument", "spec")
        refused = client.batch([["true"]], spec={"backend": "no-such"})
        expect(isinstance(refused[0], SandboxError), f"{refused}")


@contextlib.contextmanager
def web_server():
    """The port of a server at 127.0.0.1 that answers every request with `reached`."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"reached")

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@suite.case
def a_sandbox_reaches_what_its_network_names_and_nothing_else():
    with web_server() as port, python_sdk.served():
        fetch = ["python3", "-c", "import urllib.request as u; print(u.urlopen("
                 f"'http://127.0.0.1:{port}/', timeout=20).read().decode(), end='')"]
        with Sandbox(network={"allow": [f"127.0.0.1:{port}"]}) as sandbox:
            done = sandbox.run(fetch)
            expect_equal((done.stdout, done.exit_code), ("reached", 0), f"by its policy: {done.stderr[-200:]}")
        for policy in (None, {"allow": ["127.0.0.1:9"]}):
            with Sandbox(network=policy) as sandbox:
                expect_equal(sandbox.run(fetch).exit_code, 1, f"with the policy {policy}")


@suite.case
def stats_and_records_tell_of_the_use():
    with python_sdk.served(), Sandbox() as sandbox:
        done = sandbox.run("echo hi > a", trace="files")
        told = sandbox.stats()
        if os.getuid() == 0:  # a plain user's sandboxes have no cgroup to count in
            expect(told.memory_bytes and told.memory_bytes > 0, repr(told))
        expect("a" in json.dumps(done.trace), f"trace: {done.trace}")
        expect(done.audit_id in [one.id for one in sandbox.client.audit(sandbox=sandbox.id)], "audit")
        expect_equal(sandbox.why_gone() != "", True, "why gone")


# The package -------------------------------------------------------------------------------------

@suite.case
def the_types_are_complete_for_mypy_and_pyright():
    interpreter = python_venvs.venv("typing")
    folder = REPOSITORY / "sdk/python"
    for words in (["mypy", "--cache-dir", f"{tempfile.gettempdir()}/mypy-{os.getuid()}"], ["pyright"]):
        done = subprocess.run([interpreter, "-m", *words], cwd=folder, capture_output=True, text=True,
                              check=False, env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"})
        if words[0] == "pyright" and "nodeenv" in done.stderr and done.returncode not in (0, 1):
            raise python_venvs.Skip("pyright finds no Node")
        expect_equal(done.returncode, 0, f"{words[0]}: {done.stdout[-400:]}{done.stderr[-200:]}")


@suite.case
def the_import_loads_neither_asyncio_nor_tls():
    done = python_sdk.python(
        "import json, sys, threading, socket\nbefore = set(sys.modules)\nfrom nutshell_sandbox import Sandbox\n"
        "print([m for m in ('asyncio', 'ssl', 'http.client', 'email', 'dataclasses') "
        "if m in sys.modules and m not in before])")
    expect_equal(done.stdout, "[]\n", f"loaded: {done.stderr}")


@suite.case
def every_supported_python_runs_the_sdk():
    code = ("import asyncio\nfrom nutshell_sandbox import AsyncSandbox, Sandbox\n"
            "with Sandbox() as s: print(s.run('echo hi').stdout, end='')\n"
            "async def main():\n    async with AsyncSandbox() as s:\n"
            "        async with s.stream('echo a') as stream:\n            print([c.text async for c in stream])\n"
            "asyncio.run(main())")
    tried = []
    with python_sdk.served():
        for minor in range(10, 15):
            try:
                place = python_venvs.exact_interpreter((3, minor))
            except python_venvs.Skip:
                continue
            done = subprocess.run([place, "-W", "error", "-c", code], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": str(python_sdk.SOURCE)}, check=False)
            expect_equal((done.stdout, done.stderr), ("hi\n['a\\n']\n", ""), f"Python 3.{minor}")
            tried.append(minor)
    expect(tried, "no Python was found")


if __name__ == "__main__":
    sys.exit(suite.run())
