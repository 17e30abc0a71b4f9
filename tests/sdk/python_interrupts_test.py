#!/usr/bin/env python3
"""The Python SDK interrupted, by Ctrl-C in each call and at any line, and by tasks that are cancelled: nothing is left."""
import asyncio
import os
import signal
import subprocess
import sys
import time

import python_sdk
from support import Suite, call, expect, expect_equal, payloads, random_token, repetitions, wait_until

python_sdk.generate()
from nutshell_sandbox import AsyncSandbox, Pool, Sandbox  # noqa: E402

suite = Suite()
POOL = '[[pools]]\nname = "agents"\nmin_idle = 1\nmax_idle = 2\nmax_total = 4\n'


def listed(daemon):
    """Ids of the sandboxes that are there, but for those that wait in a pool."""
    return [one["id"] for one in daemon.call("GET", "/v1/sandboxes").json()["sandboxes"] if not one.get("pool")]


INTERRUPTED = """
import sys, time
from nutshell_sandbox import Pool, Sandbox, Session
call, token = sys.argv[1:]
s = Sandbox()
s.files.write('big', b'x' * 1000)
made = []
print('ready', flush=True)
try:
    if call == 'run': s.run(['sh', '-c', 'sleep 60; true', token])
    if call == 'stream': list(s.stream(['sh', '-c', 'sleep 60; true', token]))
    if call == 'wait': s.start(['sh', '-c', 'sleep 5; true', token]).wait()
    if call == 'tool': s.tools.bash('sleep 60 # ' + token, wait=60, timeout=60)
    if call == 'batch': s.client.batch([['sh', '-c', 'sleep 60; true', token]])
    if call == 'files':
        while True: s.files.read('big')
    if call == 'watch': list(s.files.watch())
    if call == 'terminal':
        t = s.terminal(['sh', '-c', 'sleep 60; true', token])
        while t.read(): pass
    if call == 'make':
        while True: made[:] = made[-7:] + [Sandbox()]
    if call == 'fork':
        while True: made[:] = made[-7:] + [s.fork()]
    if call == 'acquire':
        while True: made[:] = [Pool('agents').acquire()]
    if call == 'session':
        while True: made[:] = [Session('work')]
    if call == 'changes':
        while True: s.changes()
    if call == 'diff':
        while True: s.diff()
    if call == 'upload':
        while True: s.files.upload(sys.executable, '/tmp/there')
except KeyboardInterrupt:
    print('interrupted', flush=True)
if call == 'session': Session('work').end()
print(s.run('echo fine').stdout, end='', flush=True)
s.close()
"""


CALLS = ("run", "stream", "wait", "tool", "batch", "files", "watch", "terminal", "make", "fork", "acquire",
         "session", "changes", "diff", "upload")


@suite.case
def an_interrupt_ends_every_call():
    with python_sdk.served(POOL) as daemon:
        for name in CALLS:
            token = random_token()
            started = subprocess.Popen(
                [sys.executable, "-c", INTERRUPTED, name, token], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONPATH": str(python_sdk.SOURCE)})
            expect_equal(started.stdout.readline(), "ready\n", name)
            time.sleep(0.5)
            started.send_signal(signal.SIGINT)
            output, errors = started.communicate(timeout=60)
            expect_equal((output, errors), ("interrupted\nfine\n", ""), f"{name} after Ctrl-C")
            own = [pid for pid in payloads(token) if pid != started.pid]
            if name != "wait":  # a job outlives its caller
                expect(wait_until(lambda t=token: not payloads(t), 30), f"{name}: {own} run on")
        expect_none_left(daemon)


def expect_none_left(daemon):
    expect(wait_until(lambda: not listed(daemon), 30), f"sandboxes are left: {listed(daemon)}")


def interrupted_at(line, action):
    """Whether the action runs so many lines of the SDK; there it is interrupted, and what it made is dropped."""
    passed = 0

    def trace(frame, event, _):
        nonlocal passed
        # Nothing can be raised out of a destructor.
        if "nutshell_sandbox" not in frame.f_code.co_filename or frame.f_code.co_name in ("__del__", "end"):
            return None
        passed += event == "line"
        if passed == line:
            raise KeyboardInterrupt
        return trace
    sys.settrace(trace)
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


@suite.case
def an_interrupt_at_any_line_leaves_no_sandbox():
    with python_sdk.served(POOL) as daemon, Sandbox() as parent:
        pool = Pool("agents")
        for action in (Sandbox, parent.fork, pool.acquire):
            line, made = 1, []
            while interrupted_at(line, lambda a=action, m=made: m.append(a())):
                line += repetitions(7, 1)
            expect(line > 50 and made, f"only {line} lines were run")
            made.pop().close()
        parent.close()
        expect_none_left(daemon)
        expect(wait_until(lambda: pool.info().in_use == 0, 30), f"sandboxes of the pool are left: {pool.info()!r}")


@suite.case
def a_task_cancelled_at_any_time_leaves_no_sandbox():
    async def make(after):
        task = asyncio.ensure_future(AsyncSandbox.create())
        await asyncio.sleep(after)
        task.cancel()
        try:
            await (await task).close()
        except asyncio.CancelledError:
            pass

    async def run():
        await AsyncSandbox.list()
        for number in range(repetitions(24, 200)):
            await make(number / 8000)
    with python_sdk.served() as daemon:
        asyncio.run(run())
        expect_none_left(daemon)


INTERRUPTED_AT_ITS_END = """
import signal, time
from nutshell_sandbox import Sandbox, _last_words
connected = _last_words._connected
def interrupted(endpoint):
    _last_words._connected = connected
    signal.raise_signal(signal.SIGINT)
    return connected(endpoint)
s = Sandbox()
print(s.id, flush=True)
try:
    _last_words._connected = interrupted
    del s
    time.sleep(30)
except KeyboardInterrupt:
    print('interrupted', flush=True)
"""


@suite.case
def an_interrupt_while_an_object_is_collected_is_not_lost():
    with python_sdk.served() as daemon:
        done = python_sdk.python(INTERRUPTED_AT_ITS_END)
        made, _, rest = done.stdout.partition("\n")
        expect_equal((rest, done.stderr, done.returncode), ("interrupted\n", "", 0), "after Ctrl-C in a destructor")
        expect(made not in listed(daemon), "the sandbox is left")


if __name__ == "__main__":
    call("list")  # a runtime directory that works
    sys.exit(suite.run())
