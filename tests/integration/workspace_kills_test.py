#!/usr/bin/env python3
"""The process that changes the layers of a workspace is killed at each step. Data written afterwards
stays, whatever is called next, and what the killed call did can be taken back.

Each case keeps a model of the files beside the sandbox and compares the two after every call.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from daemon_client import Daemon
from support import (NUTSHELL, Ended, Skip, Suite, call, create, destroy, destroy_all, expect,
                     expect_equal, launchers, scratch, start, wait_until)

suite = Suite()

# The steps of a `bash` call, and whether its command has run when the caller is killed there.
BASH_STEPS = {"change.begun": False, "change.stacked": False, "change.started": False,
              "change.over": True, "change.ended": True}
LAYER_STEPS = ("layers.asked", "layers.stacked", "layers.used")
# The steps of the process that mounts, and whether it has mounted by then.
RESTACK_STEPS = {"restack.taken": False, "restack.made": False, "restack.ruled": False,
                 "restack.mounted": True}


def faulty(fault):
    return {**os.environ, "NUTSHELL_TEST_FAULT": fault}


class Files:
    """A sandbox, and what has to be in its /workspace."""

    def __init__(self, made, base=()):
        self.id, self.model, self.base, self.count = made, dict(base), dict(base), 0

    def shell(self, text):
        ended = call("exec", self.id, "--", "sh", "-c", text)
        expect(ended.status == 0, f"{text!r}: {ended!r}")
        return ended.stdout.decode()

    def tool(self, tool, environment=None, **arguments):
        return call("tool", "call", tool, "-s", self.id, "--json", json.dumps(arguments),
                    env=environment)

    def bash(self, text):
        ended = self.tool("bash", command=text)
        expect(ended.status == 0, f"bash {text!r}: {ended!r}")
        return json.loads(ended.stdout)

    def compare(self, when):
        shown = self.shell("for f in *; do [ -e $f ] && echo $f=$(cat $f); done; :")
        found = dict(line.split("=", 1) for line in shown.split())
        expect_equal(found, self.model, f"the files {when}")
        ended = call("diff", self.id, "--json")
        expect(ended.status == 0, f"diff: {ended!r}")
        changed = {change["path"] for change in json.loads(ended.stdout)["changes"]}
        wanted = {name for name in {*self.model, *self.base}
                  if self.model.get(name) != self.base.get(name)}
        expect_equal(changed, wanted, f"the changes {when}")

    def put(self, how, when):
        """One more file, and the first one written over."""
        self.count += 1
        name, text = f"f{self.count}", str(self.count)
        script = f"echo {text} > {name}; echo {text} > first"
        if how == "exec":
            self.shell(script)
        elif how == "bash":
            self.bash(script)
        else:
            for path in (name, "first"):
                ended = self.tool("write", path=path, content=text + "\n")
                expect(ended.status == 0, f"write: {ended!r}")
        self.model.update({name: text, "first": text})
        self.compare(f"{when}, then {how}")

    def undo(self, before, when):
        ended = self.tool("undo")
        expect(ended.status == 0, f"undo {when}: {ended!r}")
        self.model = dict(before)
        self.compare(f"{when}, then undo")

    def go_on(self, when):
        """Every way to write, in an order that changes the layers between any two."""
        for how in ("exec", "bash", "write", "bash", "exec"):
            self.put(how, when)
        kept, before = self.checkpoint(when), dict(self.model)
        self.put("exec", when)
        undone = dict(self.model)
        self.put("bash", when)
        self.undo(undone, when)
        expect_equal(call("rollback", self.id, kept).status, 0, f"rollback {when}")
        self.model = before
        self.compare(f"{when}, then rollback")
        self.put("bash", when)

    def checkpoint(self, when):
        ended = call("checkpoint", self.id)
        expect(ended.status == 0, f"checkpoint {when}: {ended!r}")
        return ended.stdout.decode().strip()


@contextlib.contextmanager
def plain_sandbox():
    made = create()
    try:
        yield Files(made)
    finally:
        destroy(made)


@contextlib.contextmanager
def over_directory(*flags):
    with scratch() as directory:
        (directory / "first").write_text("base\n")
        (directory / "old").write_text("old\n")
        made = create("--workspace", str(directory), *flags)
        try:
            yield Files(made, {"first": "base", "old": "old"})
        finally:
            destroy(made)


def each_kind(case):
    """Without a directory, over one, and on a copy of one."""
    def run():
        for kind in (plain_sandbox, over_directory,
                     lambda: over_directory("--workspace-mode", "copy")):
            with kind() as files:
                case(files)
    run.__name__ = case.__name__
    suite.case(run)
    return run


def expect_killed(ended, when):
    expect_equal(ended.status, -signal.SIGKILL, f"the status of a call killed at {when}")


@each_kind
def a_bash_call_killed_at_any_step_loses_nothing(files):
    files.put("exec", "at first")
    for step, has_run in BASH_STEPS.items():
        files.put("exec", step)  # so that the call needs a layer of its own
        before = dict(files.model)
        ended = files.tool("bash", faulty(step), command="echo killed > killed; rm -f first")
        if ended.status == 0 and not has_run:  # a copied workspace has no layers, nor these steps
            has_run = True
        else:
            expect_killed(ended, step)
        if has_run:
            files.model["killed"] = "killed"
            files.model.pop("first")
        files.compare(f"killed at {step}")
        if has_run:  # nobody was told its id; the next call finds it all the same
            files.undo(before, f"killed at {step}")
        files.put("write", step)
        if step == "change.stacked":
            files.go_on(step)


@each_kind
def a_command_ends_with_a_killed_caller_a_job_runs_on_and_neither_loses_anything(files):
    files.put("exec", "at first")
    command = ("touch /tmp/began; while [ ! -e /tmp/go ]; do sleep 0.01; done; echo late > late;"
               " touch /tmp/over")
    caller = start("tool", "call", "bash", "-s", files.id,
                   json.dumps({"command": command, "wait": 60, "timeout": 90}))
    files.shell("while [ ! -e /tmp/began ]; do sleep 0.01; done")
    caller.kill()
    caller.communicate()
    for how in ("exec", "bash", "write"):
        files.put(how, "after the caller was killed")
    files.shell("touch /tmp/go; sleep 0.5; test ! -e /tmp/over && rm /tmp/go /tmp/began")
    files.compare("after the killed caller")
    call("tool", "call", "bash", "-s", files.id, json.dumps({"command": command, "wait": 0, "timeout": 90}))
    files.shell("while [ ! -e /tmp/began ]; do sleep 0.01; done")
    for how in ("exec", "bash", "write"):
        files.put(how, "while the command runs")
    files.shell("touch /tmp/go; while [ ! -e /tmp/over ]; do sleep 0.01; done")
    files.model["late"] = "late"
    files.compare("after the command")
    files.go_on("after the command")


@each_kind
def a_checkpoint_or_rollback_killed_at_any_step_is_whole_or_not_at_all(files):
    files.put("exec", "at first")
    kept, state = files.checkpoint("at first"), dict(files.model)
    for step in LAYER_STEPS:
        files.put("exec", step)
        call("checkpoint", files.id, env=faulty(step))
        files.compare(f"checkpoint killed at {step}")
        files.put("exec", f"checkpoint killed at {step}")
        files.put("bash", f"checkpoint killed at {step}")
        files.put("exec", step)
        call("rollback", files.id, kept, env=faulty(step))
        if "first" not in files.model or files.shell("cat first").strip() == state["first"]:
            files.model = dict(state)
        expect(step == "layers.asked" or files.model == state, f"rollback killed at {step}: not done")
        files.compare(f"rollback killed at {step}")
        files.put("write", f"rollback killed at {step}")
        files.put("bash", f"rollback killed at {step}")
    files.go_on("after all")


@each_kind
def a_fork_killed_at_any_step_leaves_its_source_and_nothing_else(files):
    if os.environ.get("NUTSHELL_DAEMON", "none") != "none":
        raise Skip("the daemon forks: tests/service/crash_test.cc kills it")
    files.put("exec", "at first")
    files.put("bash", "at first")
    for step in ("fork.made", "fork.copied"):
        expect_killed(call("fork", files.id, env=faulty(step)), step)
        files.put("exec", f"fork killed at {step}")
        files.put("bash", f"fork killed at {step}")
        expect(wait_until(lambda: call("list", "-q").stdout.decode().split() == [files.id], 20),
               f"fork killed at {step}: {call('list')!r}")


@contextlib.contextmanager
def launcher_that_dies(step):
    """A launcher whose child is killed at this step each time that it mounts."""
    with tempfile.TemporaryDirectory(prefix="nutshell-runtime-") as directory:
        program = Path(NUTSHELL).parent / "nutshell-launcher"
        words = ["sh", "-c", 'exec "$0" "$1" 3>&1 >/dev/null', str(program), directory]
        told = subprocess.run(words, env={"NUTSHELL_TEST_FAULT": step}, stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=60, check=True).stdout
        expect_equal(told, b"", "what the launcher says")
        usual = os.environ["NUTSHELL_RUNTIME_DIR"]
        os.environ["NUTSHELL_RUNTIME_DIR"] = directory
        try:
            yield
        finally:
            destroy_all()
            os.environ["NUTSHELL_RUNTIME_DIR"] = usual
            expect(wait_until(lambda: not launchers(Path(directory)), 20), "the launcher stays")


@suite.case
def a_mount_killed_at_any_step_is_found_or_never_happens():
    if os.environ.get("NUTSHELL_DAEMON", "none") != "none":
        raise Skip("the daemon has a launcher of its own")
    for step, is_mounted in RESTACK_STEPS.items():
        for kind in (plain_sandbox, over_directory):  # a launcher leaves with its last sandbox
            with launcher_that_dies(step), kind() as files:
                files.put("exec", step)
                told = files.bash("echo 1 > x")
                expect_equal(bool(told.get("undo_id")), is_mounted, f"undo at {step}")
                files.model["x"] = "1"
                files.compare(step)
                for how in ("bash", "write", "exec", "bash"):
                    files.put(how, step)
                expect_equal(call("checkpoint", files.id).status, 0 if is_mounted else 125,
                             f"the status of a checkpoint at {step}")
                files.put("exec", step)


class FaultyDaemon(Daemon):
    fault = ""

    def environment(self):
        return {**super().environment(), "NUTSHELL_TEST_FAULT": self.fault}


class FilesBehindDaemon(Files):
    def __init__(self, one):
        self.one = one
        super().__init__(one.make())

    def tool(self, tool, environment=None, **arguments):
        answer = self.one.call("POST", f"/v1/sandboxes/{self.id}/tools/{tool}", arguments)
        return Ended(0 if answer.status == 200 else answer.status, answer.body, b"", 0)


@suite.case
def a_daemon_killed_at_any_step_of_a_call_loses_nothing():
    with tempfile.TemporaryDirectory(prefix="nutshell-daemon-") as directory:
        one = FaultyDaemon(directory).start()
        usual = dict(os.environ)
        os.environ.update(NUTSHELL_DAEMON=one.socket,
                          NUTSHELL_RUNTIME_DIR=str(Path(directory) / "run"))
        try:
            files = FilesBehindDaemon(one)
            files.put("exec", "at first")
            for step, has_run in BASH_STEPS.items():
                files.put("bash", step)
                before = dict(files.model)
                one.stop()
                one.fault = step
                one.start()
                with contextlib.suppress(OSError, EOFError):
                    files.tool("bash", command="echo killed > killed; rm -f first")
                expect(wait_until(lambda: one.process.poll() is not None, 20), f"{step}: it lives")
                one.fault = ""
                one.start()
                if has_run:
                    files.model["killed"] = "killed"
                    files.model.pop("first")
                files.compare(f"daemon killed at {step}")
                if has_run:
                    files.undo(before, f"daemon killed at {step}")
                files.put("exec", f"daemon killed at {step}")
                files.put("write", f"daemon killed at {step}")
            files.go_on("after all")
        finally:
            os.environ.clear()
            os.environ.update(usual)
            if one.process.poll() is None:
                one.stop()
            one.end_sandboxes()
            one.log.close()


if __name__ == "__main__":
    sys.exit(suite.run())
