#!/usr/bin/env python3
"""Workspaces in volumes of the engine. A volume outlives its sandboxes and the sweep, belongs to one user
of one machine, and no tenant can name it."""
import json
import os
import sys

from daemon_client import daemon
from engines import IMAGE, engine, flags
from support import (Suite, call, destroy, expect, expect_equal, expect_refusal, sandbox, scratch)

suite = Suite()
NAME = "volume-test"
VOLUME = ("--workspace", f"volume:{NAME}", "--unsafe-without", "disk")


def volumes(where):
    return [one for one in where.ask("GET", "/volumes")[1]["Volumes"] or []
            if "nutshell.workspace" in (one["Labels"] or {})]


def forget(where):
    for one in volumes(where):
        where.ask("DELETE", f"/volumes/{one['Name']}?force=1")


def on_every_engine(function):
    for kind in ("docker", "podman"):
        def case(kind=kind):
            where = engine(kind)
            try:
                function(where)
            finally:
                forget(where)
        case.__name__ = f"{function.__name__}_on_{kind}"
        suite.case(case)
    return function


@on_every_engine
def files_outlive_their_sandboxes(where):
    with sandbox(*flags(where, *VOLUME)) as made, scratch() as directory:
        ended = call("exec", made, "--", "sh", "-c", "echo kept > a; mkdir d; ln -s ../a d/l; id -u")
        expect_equal((ended.status, ended.stdout), (0, b"1000\n"), f"exec {ended!r}")
        (directory / "in").write_bytes(os.urandom(100_000))
        expect_equal(call("cp", str(directory / "in"), f"{made}:/workspace/d/in").status, 0, "in")
        said = json.loads(call("info", made, "--json").stdout)
        expect_equal((said["workspace"], said["workspace_kind"]), (f"volume:{NAME}", "volume"),
                     "info")
        disk = next(one for one in said["protections"] if one["name"] == "disk")
        expect_equal(disk["strength"], "missing", "disk")
        destroy(made)
        expect_equal(call("gc").status, 0, "gc")
        with sandbox(*flags(where, *VOLUME)) as again:
            text = call("exec", again, "--", "sh", "-c", "cat d/l; ls d").stdout
            expect_equal(text, b"kept\nin\nl\n", "what is there again")
            expect_equal(call("cp", f"{again}:/workspace/d/in", str(directory / "out")).status, 0,
                         "out")
            expect((directory / "out").read_bytes() == (directory / "in").read_bytes(), "bytes")
    labels = [one["Labels"]["nutshell.workspace"] for one in volumes(where)]
    expect_equal(labels, [NAME], "volumes")


@suite.case
def fork_and_checkpoint_work_and_apply_says_why_not():
    where = engine()
    try:
        with sandbox(*flags(where, *VOLUME)) as made:
            call("exec", made, "--", "sh", "-c", "echo one > a")
            state = call("checkpoint", made).stdout.decode().strip()
            call("exec", made, "--", "sh", "-c", "echo two > a; echo b > b")
            other = call("fork", made).stdout.decode().strip()
            call("exec", other, "--", "sh", "-c", "echo three >> a")
            text = call("exec", other, "--", "sh", "-c", "cat a b").stdout
            expect_equal(text, b"two\nthree\nb\n", "the fork")
            destroy(other)
            expect_equal(call("rollback", made, state).status, 0, "rollback")
            text = call("exec", made, "--", "sh", "-c", "cat a; ls").stdout
            expect_equal(text, b"one\na\n", "after the rollback")
            expect_refusal(call("apply", made), "volume")
    finally:
        forget(where)


@suite.case
def unlimited_disk_and_strange_names_are_refused():
    where = engine()
    expect_refusal(call("run", *flags(where, "--workspace", f"volume:{NAME}"), "--", "true"), "disk")
    for name in ("", "..", "../x", "a/b", "A", "a:ro", "a%2f..", "a?force=1", "-a"):
        expect_refusal(call("run", *flags(where, "--workspace", f"volume:{name}",
                                          "--unsafe-without", "disk"), "--", "true"), "volume")
    expect_refusal(call("run", "--workspace", f"volume:{NAME}", "--", "true"), "no volumes")
    expect_equal(volumes(where), [], "volumes")


@suite.case
def volume_of_somebody_else_is_not_used():
    """Refuses a volume that has our name but not our label; gives another user another volume."""
    where = engine()
    try:
        with sandbox(*flags(where, *VOLUME)) as made:
            call("exec", made, "--", "sh", "-c", "echo mine > a")
            name = volumes(where)[0]["Name"]
        with scratch() as directory:
            directory.chmod(0o700)
            other = {**os.environ, "NUTSHELL_RUNTIME_DIR": str(directory)}
            ended = call("run", *flags(where, *VOLUME), "--", "ls", env=other)
            expect_equal((ended.status, ended.stdout), (0, b""), f"another user {ended!r}")
        expect_equal(len(volumes(where)), 2, "volumes")
        where.ask("DELETE", f"/volumes/{name}?force=1")
        where.ask("POST", "/volumes/create", {"Name": name})
        expect_refusal(call("run", *flags(where, *VOLUME), "--", "true"), "not a workspace")
        where.ask("DELETE", f"/volumes/{name}?force=1")
    finally:
        forget(where)


@suite.case
def tenant_of_a_daemon_cannot_name_a_volume():
    """The daemon's owner may name a volume. A tenant may not, whatever protections he waives."""
    where = engine()
    spec = {"backend": "docker", "image": IMAGE, "workspace": f"volume:{NAME}",
            "unsafe_without": ["disk"]}
    try:
        with daemon() as one:
            made = one.make(**spec)
            one.execute(made, "sh", "-c", "echo kept > a")
            one.call("DELETE", f"/v1/sandboxes/{made}")
            answer = one.execute(one.make(**spec), "cat", "a")
            expect_equal(answer["stdout"], "kept\n", "the owner's file")
            for less in (spec, {**spec, "unsafe_without": []}):
                answer = one.call("POST", "/v1/sandboxes", less, token="alice")
                expect_equal(answer.status, 403, f"{answer.body}")
                answer = one.call("POST", "/v1/sessions", {"name": "mine", "spec": less}, token="alice")
                expect_equal(answer.status, 403, f"a session: {answer.body}")
    finally:
        forget(where)


if __name__ == "__main__":
    sys.exit(suite.run())
