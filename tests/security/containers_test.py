#!/usr/bin/env python3
"""The attacks of probes_test.py inside containers of real engines, and in gVisor.

Most are refused by the same means as on native: init puts the native system-call filter on itself and
all behind it, and keeps its own limits. The engine gives the namespaces, the read-only root, the
cgroups, dropped capabilities and masked paths. KNOWN is what is open in a container and not on native,
none of it a way out: what the machine looks like, and names and ports of the sandbox's own. In gVisor
it is gVisor's kernel that is looked at, whose answers are sometimes other words for no.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/integration"))

from engines import IMAGE, engine  # noqa: E402
from gvisor_program import find_runsc  # noqa: E402
from support import Suite, expect, needs_full, repetitions  # noqa: E402

suite = Suite()
OWN_PROCESS = ["/proc/self/comm", "/proc/self/timerslack_ns", "/proc/self/clear_refs"]
KNOWN = {
    "docker": {"IL-08": ["/sys/fs/cgroup"], "KS-30": OWN_PROCESS,
               "NW-19": ["bind 0.0.0.0 port 80", "bind :: port 80"]},
    # Podman's Docker API ignores the list of masked paths.
    "podman": {"IL-04": ["/proc/sys/kernel/random/boot_id is the host's"],
               "IL-05": ["/proc/cmdline", "/proc/key-users", "/proc/config.gz", "/proc/interrupts"],
               "IL-08": ["/sys/fs/cgroup", "/sys/class", "/sys/devices", "/sys/module"],
               "KS-30": OWN_PROCESS,
               "NW-19": ["bind 0.0.0.0 port 80", "bind :: port 80"]},
}
# Devices and files belong to the sandbox's own kernel; priorities and huge pages are accepted and mean
# nothing to the host. A command may inspect init, which has the same uid: it learns what it could ask init
# for, and the host treats init's stream as hostile anyway.
OF_GVISOR = {
    "FS-15": ["/dev/fuse", "/dev/net/tun"],
    "FS-23": ["/proc/1/fd", "/proc/1/fd/*", "/proc/1/fd/* -> *"],
    "FS-27": ["security.capability xattr EOPNOTSUPP"],
    "FS-28": ["/usr/bin EOPNOTSUPP", "/usr/bin/env EOPNOTSUPP"],
    "IL-05": ["/proc/cmdline"],
    "IL-08": ["/sys/class", "/sys/devices", "/sys/fs/cgroup"],
    "IO-07": ["/dev/tty EIO"],
    "KS-24": ["FS_IOC_SETFLAGS ENOTTY"],
    "KS-30": ["/proc/self/comm"],
    "NW-19": ["bind 0.0.0.0 port 80", "bind :: port 80"],
    "NW-21": ["set MTU ENOTTY", "set flags ENOTTY"],
    "PR-17": ["nice -20", "oom_score_adj -1000"],
    "PR-24": ["mmap MAP_HUGETLB", "shmget SHM_HUGETLB"],
    "PV-01": ["CapAmb is missing"],
    "PV-09": ["/proc/1/environ", "/proc/1/auxv", "/proc/1/maps", "/proc/1/smaps"],
}
# Without a cgroup around gVisor, memory in pipes and file names is not counted.
OF_PLAIN_USER = {"PR-04": ["pipes reached * bytes"], "PR-06": ["inodes reached * files"]}
# A few attacks of each kind, for runs without --full.
SHORT = ("FS-01,FS-09,FS-17,FS-28,KS-11,KS-18,KS-22,KS-23,KS-30,NW-01,NW-05,NW-19,IL-01,IL-04,IL-05,"
         "IL-07,IL-08,PV-02,PV-05,PR-01,PR-03,PR-05,PR-16")


def attack(create, known, only, *more):
    words = [sys.executable, str(REPOSITORY / "tests/security/probes_test.py"), "--create", create,
             "--known", json.dumps(known), *more, *(["--only", only] if only else [])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1800, check=False)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    expect(done.returncode == 0 and not failed, "; ".join(failed)[:500] or done.stderr[-300:])
    least = len(only.split(",")) if only else 140
    expect(sum(line.startswith("PASS") for line in done.stdout.splitlines()) >= least,
           f"too few ran: {done.stdout[-200:]}")


def attack_in(kind, only):
    where = engine(kind)
    create = f"--backend {where.backend} --image {IMAGE}"
    if kind == "runsc":
        attack(f"{create} --runtime runsc", OF_GVISOR, only, "--own-kernel")
    else:
        attack(create, KNOWN[kind], only)


@suite.case
def attacks_fail_in_docker():
    attack_in("docker", repetitions(SHORT, ""))


@suite.case
def attacks_fail_in_podman():
    attack_in("podman", repetitions("FS-01,KS-11,KS-23,NW-01,IL-07", ""))


@suite.case
def attacks_fail_in_docker_with_gvisor():
    needs_full("the same kernel as in gVisor without an engine, and slower")
    attack_in("runsc", "")


@suite.case
def attacks_fail_in_gvisor():
    find_runsc()
    only = repetitions("FS-01,FS-23,KS-11,KS-23,NW-01,NW-19,IL-04,IL-07,PV-09", "")
    known = OF_GVISOR if os.geteuid() == 0 else {**OF_GVISOR, **OF_PLAIN_USER}
    attack("--backend gvisor", known, only, "--own-kernel")


if __name__ == "__main__":
    sys.exit(suite.run())
