#!/usr/bin/env python3
"""On a host that refuses namespaces, as a container with Docker's default profile does: every command says what is
missing, and nothing runs with less protection than it promises."""
import ctypes
import json
import os
import platform
import struct
import subprocess
import sys
from pathlib import Path

from support import NUTSHELL, Skip, Suite, call, expect, expect_equal, scratch

suite = Suite()

# System calls of x86-64 that Docker's default profile gives only to containers with CAP_SYS_ADMIN.
REFUSED = {"pivot_root": 155, "mount": 165, "umount2": 166, "unshare": 272, "setns": 308, "open_tree": 428,
           "move_mount": 429, "fsopen": 430, "fsmount": 432, "mount_setattr": 442}
CLONE, CLONE3 = 56, 435
NEW_NAMESPACES = 0x7E020000
EPERM, ENOSYS, ERRNO, ALLOW = 1, 38, 0x00050000, 0x7FFF0000
LOAD, EQUAL, ANY, RETURN = 0x20, 0x15, 0x45, 0x06


def program():
    """The filter: each check is followed by its answer."""
    steps = [(LOAD, 0, 0, 0)]
    for number in REFUSED.values():
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ERRNO | EPERM)]
    steps += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, ERRNO | ENOSYS)]
    steps += [(EQUAL, 0, 3, CLONE), (LOAD, 0, 0, 16), (ANY, 0, 1, NEW_NAMESPACES), (RETURN, 0, 0, ERRNO | EPERM)]
    steps += [(RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps), len(steps)


def refuse_namespaces():
    """In the child, before it becomes the program."""
    code, count = program()
    held = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("HxxxxxxQ", count, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.create_string_buffer(described), 0, 0) != 0:
        os._exit(99)


def under_the_profile(*words):
    """As root, without the rights that Docker takes from a container."""
    drop = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"] if os.geteuid() == 0 else []
    return subprocess.run([*drop, NUTSHELL, *words], preexec_fn=refuse_namespaces, capture_output=True, timeout=60,
                          stdin=subprocess.DEVNULL)


# A plain user of a user namespace in which nobody may make another one.
BECOME_PLAIN = """
import ctypes, os, sys
if ctypes.CDLL(None).unshare(0x10000000) != 0: sys.exit("unshare")
print("unshared", flush=True)
sys.stdin.readline()
open("/proc/sys/user/max_user_namespaces", "w").write("0")
os.setgroups([]), os.setresgid(1000, 1000, 1000), os.setresuid(1000, 1000, 1000)
os.execv(sys.argv[1], sys.argv[1:])
"""


def without_user_namespaces(*words):
    process = subprocess.Popen([sys.executable, "-c", BECOME_PLAIN, NUTSHELL, *words], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect_equal(process.stdout.readline(), b"unshared\n", "a user namespace")
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{process.pid}/{name}").write_text("0 0 65536")
    out, error = process.communicate(b"mapped\n", timeout=60)
    return subprocess.CompletedProcess(words, process.returncode, out, error)


def check_refusals(ask):
    ended = ask("run", "--", "sh", "-c", "echo it ran")
    text = ended.stderr.decode()
    expect(ended.returncode == 125 and b"it ran" not in ended.stdout, f"run: {ended!r}")
    expect(text.startswith("nutshell: ") and "nutshell doctor" in text, f"run says what to do: {text!r}")
    ended = ask("create")
    expect(ended.returncode == 125 and not ended.stdout, f"create: {ended!r}")
    ended = ask("doctor")
    expect(ended.returncode == 1 and b"namespace" in ended.stdout, f"doctor: {ended!r}")
    told = json.loads(ask("doctor", "--json").stdout)
    missing = {one["name"] for one in told["protections"] if one["strength"] == "missing"}
    expect(not told["works"] and {"sandbox", "filesystem", "network", "process_isolation"} <= missing, f"{missing}")
    for one in told["protections"]:
        expect(one["strength"] != "missing" or one["fix"], f"{one} says what to do")


@suite.case
def under_dockers_default_profile_all_that_is_missing_is_named():
    if platform.machine() != "x86_64":
        raise Skip("the numbers of the filter are those of x86-64")
    check_refusals(under_the_profile)


@suite.case
def without_user_namespaces_all_that_is_missing_is_named():
    if os.geteuid() != 0:
        raise Skip("only root can map a user of its own")
    with scratch() as directory:
        directory.chmod(0o777)
        before = dict(os.environ)
        try:
            os.environ.update(NUTSHELL_RUNTIME_DIR=str(directory / "run"), NUTSHELL_STATE_DIR=str(directory / "state"))
            check_refusals(without_user_namespaces)
        finally:
            os.environ.clear()
            os.environ.update(before)


@suite.case
def the_same_commands_work_outside():
    expect_equal(call("doctor").status, 0, "doctor")
    expect_equal(call("run", "--", "echo", "it ran").stdout, b"it ran\n", "run")


if __name__ == "__main__":
    sys.exit(suite.run())
