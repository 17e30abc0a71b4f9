#!/usr/bin/env python3
"""The attacks of probes_test.py inside containers of real engines.

Most are refused by the same means as on native: init puts the native system-call filter on itself and
all behind it, and keeps its own limits. The engine gives the namespaces, the read-only root, the
cgroups, dropped capabilities and masked paths. KNOWN is what is open in a container and not on native,
none of it a way out: what the machine looks like, and names and ports of the sandbox's own.
"""
import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/integration"))

from engines import IMAGE, engine  # noqa: E402
from support import Suite, expect, repetitions  # noqa: E402

suite = Suite()
OWN_PROCESS = ["/proc/self/comm", "/proc/self/timerslack_ns", "/proc/self/clear_refs"]
KNOWN = {
    "docker": {"IL-08": ["/sys/fs/cgroup"], "KS-30": OWN_PROCESS,
               "NW-19": ["bind 0.0.0.0 port 80", "bind :: port 80"]},
    # It takes no list of what to mask.
    "podman": {"IL-04": ["/proc/sys/kernel/random/boot_id is the host's"],
               "IL-05": ["/proc/cmdline", "/proc/key-users", "/proc/config.gz", "/proc/interrupts"],
               "IL-08": ["/sys/fs/cgroup", "/sys/class", "/sys/devices", "/sys/module"],
               "KS-30": OWN_PROCESS,
               "NW-19": ["bind 0.0.0.0 port 80", "bind :: port 80"]},
}
# One of each kind, where all would take too long: files, processes, kernel, network, leaks, bombs.
SHORT = ("FS-01,FS-09,FS-17,FS-28,KS-11,KS-18,KS-22,KS-23,KS-30,NW-01,NW-05,NW-19,IL-01,IL-04,IL-05,"
         "IL-07,IL-08,PV-02,PV-05,PR-01,PR-03,PR-05,PR-16")


def attack(where, only):
    words = [sys.executable, str(REPOSITORY / "tests/security/probes_test.py"),
             "--create", f"--backend {where.backend} --image {IMAGE}",
             "--known", json.dumps(KNOWN[where.kind])]
    done = subprocess.run([*words, *(["--only", only] if only else [])], capture_output=True,
                          text=True, timeout=900)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    expect(done.returncode == 0 and not failed, "; ".join(failed)[:500] or done.stderr[-300:])
    least = len(only.split(",")) if only else 140
    expect(sum(line.startswith("PASS") for line in done.stdout.splitlines()) >= least,
           f"too few ran: {done.stdout[-200:]}")


@suite.case
def attacks_fail_in_docker():
    attack(engine("docker"), SHORT if repetitions(1, 0, 0) else "")


@suite.case
def attacks_fail_in_podman():
    where = engine("podman")
    attack(where, repetitions("FS-01,KS-11,KS-23,NW-01,IL-07", SHORT, ""))


if __name__ == "__main__":
    sys.exit(suite.run())
