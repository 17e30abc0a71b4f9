#!/usr/bin/env python3
"""The network of sandboxes on every backend but native: real engines and gVisor.

Where init watches connections (docker, podman) the cases of network_test.py run unchanged. Where it cannot
(gVisor) those of proxy_cases.py do. Each run has a small internet of its own (world.py), and so needs root.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from engines import engine, flags
from gvisor_program import find_runsc
from suite_image import put_into
from support import Failed, Skip, Suite, call, expect, expect_equal, expect_refusal, is_full

suite = Suite()

# The cases of every commit; scripts/test --full runs all of them.
WATCHED = """
an_address_rule_reaches_a_server_of_this_machine without_a_rule_loopback_is_the_sandboxs_own
a_server_inside_is_reached_inside a_refused_address_is_told bytes_go_both_ways
a_kept_sandbox_keeps_its_network a_new_policy_ends_connections_that_it_does_not_allow
a_killed_relay_takes_the_network_and_nothing_else nothing_is_left_of_a_run_that_is_killed
a_payload_finds_no_other_door an_allowed_name_is_reached_and_another_is_not
names_are_looked_up_by_the_rules the_hosts_resolver_carries_no_data_out
"""
FEW = """
a_kept_sandbox_keeps_its_network a_payload_finds_no_other_door an_allowed_name_is_reached_and_another_is_not
nothing_is_left_of_a_run_that_is_killed
"""
RUNS = {"docker": ("network_test.py", WATCHED), "podman": ("network_test.py", FEW),
        "gvisor": ("proxy_cases.py", "")}
# Cases that say something about native alone.
WITHOUT = {
    "nothing_is_left_of_a_sandbox_that_does_not_start": "an engine has images of its own",
    "gc_removes_the_socket_of_a_killed_relay": "it needs no sandbox",
    "nothing_is_left_of_a_sandbox_that_reaches_its_ttl": "a slow engine does not start one within its ttl",
    "bad_policies_are_refused_before_anything_runs": "it needs no sandbox",
}


def flags_of(backend):
    """Returns the backend's flags, with its engine started and an image in it."""
    if os.geteuid() != 0:
        raise Skip("engines are started as root, and the servers of the cases need a network namespace")
    if backend == "gvisor":
        find_runsc()
        return "--backend gvisor"
    where = engine(backend)
    with tempfile.TemporaryDirectory(prefix="nutshell-image-") as directory:
        image = put_into(where, directory)
    return f"--backend {where.backend} --image {image}"


def run_on(backend):
    program, names = RUNS[backend]
    cases = [] if is_full() else names.split()
    flags_here = flags_of(backend)  # first: it puts the engine into the environment
    environment = {**os.environ, "NUTSHELL_TEST_FLAGS": flags_here, "NUTSHELL_TEST_WITHOUT": json.dumps(WITHOUT)}
    done = subprocess.run([sys.executable, str(HERE / program), *cases], env=environment, text=True,
                          capture_output=True, timeout=3000, check=False)
    bad = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    if bad or done.returncode != 0:
        raise Failed("; ".join(bad) or done.stdout[-300:] + done.stderr[-300:])
    passed = sum(line.startswith("ok ") for line in done.stdout.splitlines())
    expect(passed >= max(1, len(cases)), f"too few ran: {done.stdout[-300:]}")


def add(backend):
    def case():
        run_on(backend)
    case.__name__ = f"network_on_{backend}"
    suite.case(case)


for name in RUNS:
    add(name)


@suite.case
def gvisor_in_an_engine_is_refused():
    where = engine("runsc")
    before = where.containers()
    expect_refusal(call("run", *flags(where, "--allow", "example.test"), "--", "true"), "not with gVisor")
    expect_equal(where.containers(), before, "containers")


if __name__ == "__main__":
    sys.exit(suite.run())
