#!/usr/bin/env python3
"""Podman of a plain user: the same contract. Limits that such an engine cannot enforce are refused or
reported, and never shown as enforced."""
import json
import os
import re
import subprocess
import sys

from engines import IMAGE, engine, flags
from support import (Suite, call, call_json, expect, expect_equal, expect_outcome, expect_refusal,
                     is_full, sandbox, test_program, wait_until)

suite = Suite()


def rootless():
    """Returns the engine, and the flags that waive what it cannot enforce here."""
    where = engine("rootless")
    said = json.loads(call("info", *flags(where, "--unsafe-without", "processes"), "--json").stdout)
    strength = {one["name"]: one["strength"] for one in said["protections"]}
    return where, strength, ("--unsafe-without", "processes") if strength["processes"] == "missing" else ()


@suite.case
def conformance():
    where, strength, waived = rootless()
    if waived:
        os.environ["NUTSHELL_CONFORMANCE_WITHOUT"] = "processes"
    wanted = "*/podman" if is_full() else \
        "*IsListed*/podman:*KeepsFiles*/podman:*TakesAndGives*/podman:*TwoDoNot*/podman:*Paused*/podman"
    if waived:
        wanted += ":-*ProcessLimit*"  # without a cgroup the process limit is waived
    done = subprocess.run(
        [test_program("conformance_test"), f"--gtest_filter={wanted}"], capture_output=True, text=True, timeout=500,
        env={**os.environ, "NUTSHELL_CONFORMANCE_IMAGE": IMAGE})
    failed = re.findall(r"^\[  FAILED  \] (\S+)", done.stdout, re.M)
    ran = re.search(r"\[  PASSED  \] (\d+) tests?", done.stdout)
    expect(done.returncode == 0 and not failed, f"failed: {sorted(set(failed))} {done.stdout[-800:]}")
    expect(ran and int(ran.group(1)) >= 5, f"too few ran: {done.stdout[-200:]}")


@suite.case
def paused_stands_still_whoever_stops_it():
    """The engine's freezer pauses the sandbox; if it has no cgroup, init does."""
    where, _, waived = rootless()
    with sandbox(*flags(where, *waived)) as made:
        call("exec", made, "--", "sh", "-c", "while :; do echo x >> count; sleep 0.01; done &")
        expect(wait_until(lambda: lines_of(made) > 3, 20), "it does not count")
        ended = call("pause", made)
        expect_equal(ended.status, 0, f"pause {ended!r}")
        expect_refusal(call("exec", made, "--", "true"), "pause")
        expect(b"paused" in call("list").stdout, "list does not tell")
        expect_equal(call("resume", made).status, 0, "resume")
        seen = lines_of(made)
        expect(wait_until(lambda: lines_of(made) > seen, 20), "it does not go on")
        expect(b"paused" not in call("list").stdout, "list tells what was")


def lines_of(made):
    return int(call("exec", made, "--", "sh", "-c", "wc -l < count").stdout or 0)


@suite.case
def limit_that_is_not_kept_is_refused_or_named():
    where, strength, waived = rootless()
    for name in ("memory", "cpus", "processes"):
        ended = call("info", *flags(where, *waived, "--require", f"{name}=hard"))
        if strength[name] == "hard":
            expect_equal(ended.status, 0, f"--require {name}=hard {ended!r}")
        else:
            expect_refusal(ended, f"--require {name}")
    if strength["processes"] != "missing":
        return
    expect_refusal(call("run", *flags(where), "--", "true"), "processes: cannot be kept here")
    expect_equal((strength["memory"], strength["cpus"]), ("watched", "watched"), "watched by init")


@suite.case
def watched_limits_hold_all_the_same():
    where, _, waived = rootless()
    answer = call_json("run", *flags(where, *waived, "--memory", "48m"), "--", "sh", "-c",
                       "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}")
    expect(answer["outcome"] == "out_of_memory", f"{answer['outcome']} {answer.get('detail')}")


@suite.case
def root_inside_is_nobody_outside():
    where, strength, waived = rootless()
    expect_equal(strength["user"], "hard", "user")
    with sandbox(*flags(where, *waived)) as made:
        lines = call("exec", made, "--", "cat", "/proc/self/uid_map").stdout.split()
        expect(int(lines[2]) == 1 or int(lines[1]) != 0, f"the host's ids: {lines}")
        said = json.loads(call("info", made, "--json").stdout)
        user = next(one for one in said["protections"] if one["name"] == "user")
        expect("user namespace" in user["by"], f"{user}")


@suite.case
def stats_are_there_or_not_counted():
    """Counts that the engine does not make are null, not zero."""
    where, strength, waived = rootless()
    with sandbox(*flags(where, *waived)) as made:
        ended = call("stats", made, "--json")
        expect_equal(ended.status, 0, f"stats {ended!r}")
        stats = json.loads(ended.stdout)
        for name in ("memory_bytes", "processes", "cpu_time_ms"):
            expect(stats[name] is None or stats[name] > 0, f"{name} of {stats}")


@suite.case
def run_leaves_no_container():
    where, _, waived = rootless()
    expect_outcome(call_json("run", *flags(where, *waived), "--", "sh", "-c", "exit 3"), "exited", 3)
    expect(wait_until(lambda: not any(name.startswith("nutshell-") for name in where.containers()), 20),
           f"left: {where.containers()}")


if __name__ == "__main__":
    sys.exit(suite.run())
