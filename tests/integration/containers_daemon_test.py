#!/usr/bin/env python3
"""The layers above the backends, with containers below them: pools and sessions of a daemon whose sandboxes
are containers of a real engine, through the deaths of clients, the daemon, containers and the engine.
"""
import os
import re
import signal
import subprocess
import sys
import time

from daemon_client import daemon
from engines import IMAGE, engine
from gvisor_program import find_runsc
from support import (Suite, expect, expect_equal, needs_full, repetitions, scratch, test_program,
                     wait_until)

suite = Suite()
POOL = ('[[pools]]\nname = "p"\nbackend = "docker"\nimage = "nutshell-test"\n'
        'min_idle = 1\nmax_idle = 2\nmax_total = 3\n')
SETUP = [["sh", "-c", "echo ready; echo once >> /workspace/setup"]]


WHOLE = "PoolsTest.*:SessionsTest.*:SandboxesTest.*:TtlTest.*"


def run_live(wanted, least, backend, **more):
    """Runs the service's own suite, which native sandboxes pass, with sandboxes of this backend."""
    variables = {f"NUTSHELL_SERVICE_{name.upper()}": value for name, value in more.items()}
    done = subprocess.run(
        [test_program("service_live_test"), f"--gtest_filter={wanted}"], capture_output=True, text=True, timeout=1800,
        env={**os.environ, "NUTSHELL_SERVICE_BACKEND": backend, **variables}, check=False)
    failed = re.findall(r"^\[  FAILED  \] (\S+)", done.stdout, re.M)
    ran = re.search(r"\[  PASSED  \] (\d+) tests?", done.stdout)
    expect(done.returncode == 0 and not failed, f"failed: {sorted(set(failed))}")
    expect(ran and int(ran.group(1)) >= least, f"too few ran: {done.stdout[-200:]}")


@suite.case
def pools_and_sessions_are_as_on_native():
    short = ("PoolsTest.LeaveNothing*:PoolsTest.NeverHandOut*:SessionsTest.KeepTheirFiles*:"
             "TtlTest.IsMoved*:TtlTest.StandsStill*")
    engine()
    run_live(repetitions(short, WHOLE), repetitions(5, 40), "docker", image=IMAGE)


@suite.case
def pools_and_sessions_are_as_on_native_with_podman():
    needs_full("one engine is enough for every commit")
    engine("podman")
    run_live(WHOLE, 3, "podman", image=IMAGE)


@suite.case
def pools_and_sessions_are_as_on_native_with_runsc():
    needs_full("takes minutes")
    engine("runsc")
    run_live(WHOLE, 3, "docker", image=IMAGE, runtime="runsc")


@suite.case
def pools_and_sessions_are_as_on_native_with_gvisor():
    find_runsc()
    run_live(repetitions("PoolsTest.LeaveNothing*:SessionsTest.KeepTheirFiles*", WHOLE), 2,
             "gvisor")


def warm(one, count=1):
    status = one.call("POST", "/v1/pools/p/warm").json()
    expect_equal(status["available"], count, f"available in {status}")
    return status


def acquire(one, **wish):
    got = one.call("POST", "/v1/pools/p/acquire", wish)
    expect_equal(got.status, 201, f"acquire: {got.body[:300]}")
    return got.json()["id"]


def ours(where):
    return {name.removeprefix("nutshell-") for name in where.containers()
            if name.startswith("nutshell-")}


@suite.case
def pool_binds_late_what_a_container_can_have():
    where = engine()
    with daemon(POOL) as one, scratch() as directory:
        (directory / "given").write_text("from the host\n")
        waiting = ours(where) if warm(one) else set()
        made = acquire(one, labels={"task": "7"}, ttl_ms=60_000)
        expect(made in waiting, "what waited was not handed out")
        shown = one.call("GET", f"/v1/sandboxes/{made}").json()
        expect_equal(shown["labels"], {"task": "7"}, "labels")
        bound = acquire(one, environment={"WHO": "me"}, workspace=str(directory),
                        limits={"memory_bytes": 100 << 20, "processes": 9})
        text = one.execute(bound, "sh", "-c", "echo $WHO; cat given")["stdout"]
        expect_equal(text, "me\nfrom the host\n", "environment and workspace")
        host = where.inspect(bound)["HostConfig"]
        expect_equal((host["Memory"], host["PidsLimit"]), (100 << 20, 11), "limits")
        refused = one.call("POST", "/v1/pools/p/acquire", {"limits": {"memory_bytes": 1}})
        expect(400 <= refused.status < 500, f"1 byte of memory: {refused.status}")
        for id in (made, bound):
            expect_equal(one.call("POST", f"/v1/sandboxes/{id}/release").status, 204, "release")
        expect(wait_until(lambda: not {made, bound} & ours(where), 30), "released ones are left")


@suite.case
def pool_and_session_are_found_again_after_the_daemons_death():
    where = engine()
    with daemon(POOL) as one:
        warm(one)
        used = acquire(one)
        session = one.call("POST", "/v1/sessions", wish("work")).json()
        one.execute(session["sandbox_id"], "sh", "-c", "echo kept > /workspace/file")
        warm(one)
        before = ours(where)
        one.stop(signal.SIGKILL)
        one.start()
        again = one.call("POST", "/v1/sessions", wish("work")).json()
        expect_equal(again["sandbox_id"], session["sandbox_id"], "the session's sandbox")
        expect_equal(again["lost"], None, "what was lost")
        text = one.execute(again["sandbox_id"], "cat", "/workspace/file", "/workspace/setup")
        expect_equal(text["stdout"], "kept\nonce\n", "its files")
        expect_equal(one.execute(used, "echo", "mine")["stdout"], "mine\n", "the acquired one")
        status = warm(one)
        expect_equal((status["in_use"], status["available"]), (1, 1), f"{status}")
        expect_equal(ours(where), before, "containers")


def wish(name, **limits):
    return {"name": name, "setup": SETUP,
            "spec": {"backend": "docker", "image": IMAGE, "ttl_ms": 600_000, "limits": limits}}


def expect_new_life(one, session, how):
    """The next call finds that the sandbox is lost, makes and sets up another, and reports the loss."""
    old = session["sandbox_id"]
    again = one.call("POST", "/v1/sessions", wish(session["name"])).json()
    expect(again.get("was_created"), f"{how}: {again}")
    expect_equal(again["life"], session["life"] + 1, f"{how}: life")
    expect(old in again["lost"] and "lost" in again["lost"], f"{how}: {again['lost']}")
    expect_equal(again["setup"][0]["output"], "ready\n", f"{how}: setup")
    text = one.execute(again["sandbox_id"], "sh", "-c", "cat setup; ls")["stdout"]
    expect_equal(text, "once\nsetup\n", f"{how}: files")
    return again


@suite.case
def session_is_made_again_after_kill_memory_and_engine():
    where = engine()
    with daemon(POOL) as one:
        session = one.call("POST", "/v1/sessions", wish("work", memory_bytes=64 << 20)).json()
        expect(session.get("sandbox_id"), f"{session}")
        where.ask("POST", f"/containers/nutshell-{session['sandbox_id']}/kill")
        session = expect_new_life(one, session, "docker kill")
        where.ask("DELETE", f"/containers/nutshell-{session['sandbox_id']}?force=1")
        session = expect_new_life(one, session, "docker rm")
        warm(one)
        used = acquire(one)
        where.restart()
        session = expect_new_life(one, session, "engine restart")
        expect_equal(one.call("GET", f"/v1/sandboxes/{used}").status, 404, "an acquired one")
        warm(one)
        expect_equal(one.execute(acquire(one), "echo", "on")["stdout"], "on\n", "the pool")


@suite.case
def whole_container_out_of_memory_is_a_new_life():
    """Files in a tmpfs use up the memory limit, so that the kernel can only kill the whole sandbox."""
    where = engine()
    with daemon() as one:
        session = one.call("POST", "/v1/sessions",
                           wish("work", memory_bytes=32 << 20, disk_bytes=1 << 30)).json()
        expect(session.get("sandbox_id"), f"{session}")
        made = session["sandbox_id"]

        def run(*words):
            return one.call("POST", f"/v1/sandboxes/{made}/exec", {"argv": words}).json()

        filled = run("dd", "if=/dev/zero", "of=/workspace/big", "bs=64k")
        expect(filled["outcome"] in ("out_of_memory", "lost"), f"{filled}")
        # Only init is left to be charged for these arguments.
        wait_until(lambda: run("true", *["x" * 120_000] * 10).get("outcome") != "exited"
                   and made not in ours(where), 60)
        expect(made not in ours(where), "it lives on without memory")
        expect_new_life(one, session, "out of memory")


@suite.case
def ttl_holds_without_anything_of_ours():
    where = engine()
    with daemon(POOL) as one:
        warm(one)
        short = acquire(one, ttl_ms=10000)
        time.sleep(1)  # the daemon tells the acquired sandbox its ttl a moment later
        one.stop(signal.SIGKILL)
        expect(short in ours(where), "it ended with the daemon")
        expect(wait_until(lambda: short not in ours(where), 40), "it outlives its ttl")
        one.start()
        expect_equal(one.call("GET", f"/v1/sandboxes/{short}").status, 404, "afterwards")
        warm(one)


if __name__ == "__main__":
    sys.exit(suite.run())
