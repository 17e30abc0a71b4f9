#!/usr/bin/env python3
"""How sandboxes in gVisor end: while paused, at their ttl, or because a process is killed at any moment;
and that nothing is left."""
import json
import os
import signal
import subprocess
import sys
import time

from gvisor_fixture import (FLAGS, IS_ROOT, bundles, cases_of, expect_nothing_left, leftovers, ours,
                            shell)
from gvisor_program import find_runsc
from support import (Suite, call, create, destroy, expect, expect_equal, expect_refusal,
                     expect_running, is_listed, processes, repetitions, sandbox, scratch, start,
                     wait_until)

suite = Suite()
case = cases_of(suite)


@case
def paused_stands_still_and_goes_on():
    with sandbox(*FLAGS) as made:
        expect_equal(call("pause", made).status, 0, "pause")
        expect_refusal(call("exec", made, "--", "true"), "pause")
        expect(b"paused" in call("list").stdout, "list does not tell")
        expect_equal(call("resume", made).status, 0, "resume")
        expect_equal(call("exec", made, "--", "echo", "on").stdout, b"on\n", "after it")


@case
def ttl_ends_it_without_anybody():
    made = create(*FLAGS, "--ttl", "2s")
    expect(ours(made), "it does not run")
    expect(wait_until(lambda: not ours(made), 20), f"left: {ours(made)}")
    expect(not is_listed(made), "it is still listed")
    expect_equal(call("gc").status, 0, "gc")
    expect_nothing_left(made)


@case
def dead_caller_leaves_nothing():
    process = start("run", *FLAGS, "--", "sh", "-c", "echo begun; sleep 600")
    process.stdout.readline()
    made = bundles()
    process.send_signal(signal.SIGKILL)
    process.wait()
    expect(wait_until(lambda: not ours(), 20), f"left: {ours()}")
    call("gc")
    expect_nothing_left(*made)


@case
def killed_at_any_moment_of_the_start_leaves_nothing():
    for i in range(repetitions(6, 60)):
        process = start("create", *FLAGS)
        time.sleep(0.03 * (i % 12))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    made = bundles()
    for one in call("list", "-q").stdout.decode().split():
        destroy(one)
    # A runsc that was being started may still start other processes.
    def is_clean():
        call("gc")
        return not leftovers()
    expect(wait_until(is_clean, 30), f"left: {leftovers()}")
    expect_nothing_left(*made)


@case
def killed_under_us_is_lost_and_cleaned_up():
    made = create(*FLAGS)
    process = start("exec", made, "--json", "--", "sleep", "600")
    expect_running(made, "sleep 600")
    for pid in ours(made):
        os.kill(pid, signal.SIGKILL)
    output, _ = process.communicate(timeout=30)
    expect(json.loads(output)["outcome"] in ("lost", "out_of_memory"), f"{output[:200]}")
    expect(wait_until(lambda: not is_listed(made), 20), "it is still listed")
    expect_equal(call("exec", made, "--", "true").status, 125, "exec in what is gone")
    call("gc")
    expect_nothing_left(made)


@case
def gc_takes_only_what_is_ours():
    """Leaves alone a sandbox that another program of the same user started with runsc."""
    runsc = find_runsc()
    with scratch() as directory:
        (directory / "rootfs/usr").mkdir(parents=True)
        config = {"ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": True},
                  "process": {"args": ["/usr/bin/sleep", "60"], "cwd": "/", "env": [],
                              "user": {"uid": 0, "gid": 0}},
                  "mounts": [{"destination": "/usr", "type": "bind", "source": "/usr",
                              "options": ["rbind", "ro"]},
                             {"destination": "/lib64", "type": "bind", "source": "/lib64",
                              "options": ["rbind", "ro"]},
                             {"destination": "/lib", "type": "bind", "source": "/lib",
                              "options": ["rbind", "ro"]}],
                  "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "network")]}}
        (directory / "config.json").write_text(json.dumps(config))
        flags = [f"--root={directory}/state", "--network=none", "--ignore-cgroups"]
        flags += [] if IS_ROOT else ["--rootless"]
        nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                   "stderr": subprocess.DEVNULL}
        done = subprocess.run([runsc, *flags, "run", f"--bundle={directory}", "--detach", "foreign"],
                              timeout=60, **nothing)
        expect_equal(done.returncode, 0, "somebody else's sandbox")
        try:
            shell("true")
            expect_equal(call("gc").status, 0, "gc")
            word = os.fsencode(f"--bundle={directory}")
            expect(any(word in words for _, words in processes()), "gc ended it")
        finally:
            subprocess.run([runsc, *flags, "delete", "--force", "foreign"], timeout=60, **nothing)


if __name__ == "__main__":
    sys.exit(suite.run())
