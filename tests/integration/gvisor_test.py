#!/usr/bin/env python3
"""Sandboxes in gVisor without a container engine, as root and as a plain user: the contract, and what
is seen from inside and on the host.

scripts/engine gets gVisor's program where the machine has none; without it all is skipped.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from engines import IMAGE, engine
from gvisor_fixture import (FLAGS, IS_ROOT, cases_of, cgroups, expect_nothing_left, ours, shell)
from image_fixture import BASE, import_image, store
from support import (Skip, Suite, call, call_json, create, destroy, expect, expect_equal,
                     expect_outcome, expect_refusal, is_full, needs_full, processes, sandbox,
                     scratch, test_program, wait_until)

suite = Suite()
case = cases_of(suite)


# The contract -----------------------------------------------------------------------------------

def conform(wanted, least, **variables):
    """Runs the C++ suite that native sandboxes pass."""
    done = subprocess.run([test_program("conformance_test"), f"--gtest_filter={wanted}"],
                          capture_output=True, text=True, timeout=900, env={**os.environ, **variables})
    failed = re.findall(r"^\[  FAILED  \] (\S+)", done.stdout, re.M)
    ran = re.search(r"\[  PASSED  \] (\d+) tests?", done.stdout)
    expect(done.returncode == 0 and not failed, f"failed: {sorted(set(failed))}")
    expect(ran and int(ran.group(1)) >= least, f"too few ran: {done.stdout[-200:]}")


@case
def conformance():
    """Runs the cases in which kernels differ; scripts/test --full runs all."""
    if not is_full():
        return conform("*Limit*/gvisor:*Files*/gvisor:*Trees*/gvisor:*Paused*/gvisor", 10)
    return conform("*/gvisor*", 40)


@case
def conformance_of_an_engine_with_runsc():
    needs_full("takes minutes")
    engine("runsc")
    variables = {"NUTSHELL_CONFORMANCE_IMAGE": IMAGE, "NUTSHELL_CONFORMANCE_RUNTIME": "runsc"}
    conform("*/docker*", 40, **variables)  # also through a daemon


@case
def runtime_is_chosen_by_its_name():
    where = engine("runsc")
    flags = ("--backend", where.backend, "--image", IMAGE)
    ours, others = (call_json("run", *flags, *more, "--", "cat", "/proc/version")["stdout"]
                    for more in (("--runtime", "runsc"), ()))
    expect("Linux version 4.4.0" in ours, f"it is not gVisor: {ours}")
    expect(os.uname().release in others, f"the engine's own is not runc: {others}")
    expect_refusal(call("run", *flags, "--runtime", "none-such", "--", "true"), "none-such", "runsc")
    expect_refusal(call("run", "--runtime", "runsc", "--", "true"), "runtime")


@case
def run_gives_output_and_status_and_leaves_nothing():
    answer = shell("echo out; echo err >&2; exit 3")
    expect_outcome(answer, "exited", 3)
    expect_equal((answer["stdout"], answer["stderr"]), ("out\n", "err\n"), "output")
    expect_nothing_left()


@case
def terminal_is_one():
    """gVisor has no TIOCGPTPEER; init opens the other end of a terminal by its number."""
    ended = call("run", *FLAGS, "-t", "--", "sh", "-c", "tty; stty size")
    expect(ended.status == 0 and b"/dev/pts/" in ended.stdout, f"{ended!r}")


@case
def files_and_tools_work():
    with sandbox(*FLAGS) as made, scratch() as directory:
        (directory / "in").write_bytes(bytes(range(256)) * 400)
        expect_equal(call("cp", str(directory / "in"), f"{made}:/workspace/in").status, 0, "cp in")
        expect_equal(call("cp", f"{made}:/workspace/in", str(directory / "out")).status, 0, "cp out")
        expect((directory / "out").read_bytes() == (directory / "in").read_bytes(), "bytes differ")
        for tool, given, wanted in (
                ("write", {"path": "a.txt", "content": "one\ntwo\n"}, ""),
                ("read", {"path": "a.txt"}, "two"),
                ("edit", {"path": "a.txt", "old_string": "two", "new_string": "three"}, ""),
                ("grep", {"pattern": "thr.e"}, "three"),
                ("ls", {}, "a.txt"), ("find", {"name": "*.txt"}, "a.txt"),
                ("bash", {"command": "cat a.txt | wc -l"}, "2")):
            ended = call("tool", "call", tool, "-s", made, json.dumps(given))
            expect(ended.status == 0 and wanted in ended.stdout.decode(), f"{tool}: {ended!r}")


@case
def file_tools_stay_inside_without_openat2():
    """gVisor has no openat2: init walks paths itself, and links do not lead outside."""
    with sandbox(*FLAGS) as made:
        call("exec", made, "--", "sh", "-c", "ln -s /etc/passwd out; ln -s loop loop;"
             "ln -s /proc/self/fd fds; ln -s /usr usr; mkdir d; ln -s ../d/f d/up")
        for path in ("out", "loop", "fds/0", "usr/made", "/etc/made", "../etc/made"):
            ended = call("tool", "call", "write", "-s", made,
                         json.dumps({"path": path, "content": "x"}))
            expect(ended.status != 0, f"{path} was written: {ended!r}")
        ended = call("tool", "call", "write", "-s", made, json.dumps({"path": "d/up", "content": "x"}))
        expect_equal(ended.status, 0, f"a link that stays inside {ended!r}")


@case
def workspace_is_copied_compared_and_applied():
    with scratch() as directory:
        (directory / "kept").write_text("old\n")
        (directory / "gone").write_text("x\n")
        made = create(*FLAGS, "--workspace", str(directory))
        try:
            ended = call("exec", made, "--", "sh", "-c", "echo new > kept; rm gone; echo y > made")
            expect_equal(ended.status, 0, f"exec {ended!r}")
            expect_equal((directory / "kept").read_text(), "old\n", "the host's file")
            shown = call("diff", made).stdout.decode()
            expect(all(name in shown for name in ("kept", "gone", "made")), f"diff: {shown}")
            expect_equal(call("apply", made).status, 0, "apply")
            expect_equal((directory / "kept").read_text(), "new\n", "the applied file")
            expect(not (directory / "gone").exists() and (directory / "made").exists(), "applied")
        finally:
            destroy(made)


@case
def image_is_used_and_never_written_to():
    with scratch() as directory:
        root = directory / "root"
        for name in ("bin", "data", "lib"):
            (root / name).mkdir(parents=True)
        busybox = shutil.which("busybox")
        if not busybox:
            raise Skip("no busybox to make an image of")
        shutil.copy(busybox, root / "bin/busybox")
        for name in ("sh", "cat", "grep", "touch"):
            (root / "bin" / name).symlink_to("busybox")
        (root / "data/file").write_text("from the image\n")
        (root / "link").symlink_to("data/file")
        before = sorted(str(path) for path in root.rglob("*"))
        archive = directory / "root.tar"
        subprocess.run(["tar", "-C", root, "-cf", archive, "."], check=True)
        for image in (root, archive):
            answer = call_json("run", *FLAGS, "--image", str(image), "--", "sh", "-c",
                               "cat /link; touch /data/x 2>&1; grep ' /data ' /proc/mounts")
            expect("from the image" in answer["stdout"] and " ro," in answer["stdout"],
                   f"{answer['stdout']} {answer['stderr']}")
        expect_equal(sorted(str(path) for path in root.rglob("*")), before, "what the image holds")


@case
def image_in_use_is_not_removed():
    with store() as place:
        (place / "tiny.tar").write_bytes(BASE)
        import_image(place / "tiny.tar", "--name", "tiny")
        with sandbox(*FLAGS, "--image", "tiny") as made:
            expect_refusal(call("image", "remove", "tiny"), "in use")
            expect_equal(call("gc").status, 0, "gc")
            expect_equal(call("exec", made, "--", "cat", "/etc/who").stdout, b"base\n", "kept")
        with sandbox(*FLAGS, "--image", "tiny") as made:
            for pid in ours(made):  # a killed process does not use the image any more
                os.kill(pid, signal.SIGKILL)
            expect(wait_until(lambda: call("image", "remove", "tiny").status == 0, 20),
                   "it is never removed")


@case
def stats_are_gvisors_own():
    with sandbox(*FLAGS) as made:
        call("exec", made, "--", "sh", "-c",
             "sleep 600 & head -c 20000000 /dev/zero > file; i=0;"
             "while [ $i -lt 100000 ]; do i=$((i+1)); done")
        for state in ("running", "paused"):
            ended = call("stats", made, "--json")
            expect_equal(ended.status, 0, f"stats {ended!r}")
            found = json.loads(ended.stdout)
            expect(found["memory_bytes"] >= 20_000_000, f"{state}: {found}")
            expect(found["processes"] >= 2, f"{state}: {found}")
            expect(found["cpu_time_ms"] is None or found["cpu_time_ms"] > 10, f"{state}: {found}")
            if state == "running":
                expect_equal(call("pause", made).status, 0, "pause")
    expect_refusal(call("stats", made), "no sandbox")


# Protections ------------------------------------------------------------------------------------

@case
def kernel_inside_is_not_the_hosts():
    script = ("cat /proc/version; id -u; grep -E '^(CapEff|CapBnd|Seccomp):' /proc/self/status;"
              "grep -c : /proc/net/dev; touch /x 2>&1; grep ' / ' /proc/mounts; ulimit -n; ls /dev/kvm /dev/sda /dev/vda 2>&1")
    text = shell(script)["stdout"]
    for wanted in ("Linux version 4.4.0", "\n1000\n", "CapEff:\t0000000000000000", "Seccomp:\t2",
                   "denied", " ro,", "\n1024\n"):
        expect(wanted in text, f"{wanted!r} is not in {text}")
    expect(os.uname().release not in text, "the host's kernel shows")


@case
def host_side_has_no_rights():
    with sandbox(*FLAGS) as made:
        inner = [pid for pid, words in processes()
                 if words[0] == b"runsc-sandbox" and pid in ours(made)]
        expect_equal(len(inner), 1, "processes that run it")
        status = Path(f"/proc/{inner[0]}/status").read_text()
        for wanted in ("NoNewPrivs:\t1", "Seccomp:\t2"):
            expect(wanted in status, f"{wanted} is not in {status}")
        if IS_ROOT:
            expect("CapEff:\t0000000000000000" in status, "it has capabilities")
            expect(re.search(r"^Uid:\t65534", status, re.M), "it is not nobody")


@case
def info_names_what_holds():
    ended = call("info", *FLAGS, "--json")
    rows = {row["name"]: row for row in json.loads(ended.stdout)["protections"]}
    expect_equal(rows["kernel"]["strength"], "hard", "kernel")
    expect_equal(rows["memory"]["strength"], "hard" if IS_ROOT else "watched", "memory")
    expect_equal(rows["processes"]["strength"], "hard", "processes")
    expect_refusal(call("run", *FLAGS, "--require", "landlock", "--", "true"), "no such protection")
    expect_equal(call("run", *FLAGS, "--require", "kernel", "--", "true").status, 0, "--require")


@case
def limits_are_set_around_it():
    if not IS_ROOT:
        raise Skip("a plain user has no cgroups here")
    with sandbox(*FLAGS, "--memory", "64m", "--cpus", "0.5", "--processes", "20") as made:
        expect(cgroups(made), "no cgroup")
        for name, wanted in (("memory.limit_in_bytes", (64 + 128) << 20),
                             ("cpu.cfs_quota_us", 50_000)):
            found = list(Path("/sys/fs/cgroup").glob(f"*/nutshell-gvisor/{made}/{name}"))
            if found:  # cgroup v1
                expect_equal(int(found[0].read_text()), wanted, name)


@case
def memory_limit_is_named_and_the_sandbox_lives_on():
    with sandbox(*FLAGS, "--memory", "48m") as made:
        answer = call_json("exec", made, "--", "python3", "-c",
                           "x = []\nwhile True: x.append(bytearray(1 << 20))")
        expect_equal(answer["outcome"], "out_of_memory", f"{answer.get('detail')}")
        answer = call_json("exec", made, "--", "sh", "-c", "cat /dev/zero > /tmp/x; echo $?")
        expect(answer["outcome"] in ("exited", "out_of_memory"), f"{answer['outcome']}")
        call("exec", made, "--", "rm", "-f", "/tmp/x")
        expect_equal(call("exec", made, "--", "echo", "alive").stdout, b"alive\n", "the next")


@case
def process_limit_holds():
    answer = shell("i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; echo all", "--processes", "20")
    expect("all" not in answer["stdout"], f"60 processes with a limit of 20: {answer}")


@case
def command_ends_neither_init_nor_its_connection():
    with sandbox(*FLAGS) as made:
        call("exec", made, "--", "true")  # the first connection came with the start; not this one
        answer = call_json("exec", made, "--", "sh", "-c",
                           "echo begun; kill -9 1 2>/dev/null; kill -9 -1; sleep 1")
        expect(answer["outcome"] in ("signalled", "exited"), f"{answer['outcome']}")
        expect_equal(answer["stdout"], "begun\n", "output")
        expect_equal(call("exec", made, "--", "echo", "alive").stdout, b"alive\n", "the next")


@case
def secrets_are_on_no_command_line():
    with sandbox(*FLAGS, "--env", "TOKEN=hunter2-nutshell") as made:
        expect(not any(b"hunter2" in word for _, words in processes() for word in words),
               "a process list shows the environment")
        text = call("exec", made, "--", "sh", "-c", "echo $TOKEN").stdout
        expect_equal(text, b"hunter2-nutshell\n", "the variable")


@case
def missing_program_is_an_error_that_helps():
    ended = call("run", *FLAGS, "--", "true",
                 env={**os.environ, "NUTSHELL_RUNSC": "/nowhere/runsc"})
    expect_refusal(ended, "/nowhere/runsc")
    ended = call("run", *FLAGS, "--", "true",
                 env={**os.environ, "NUTSHELL_RUNSC": "", "PATH": "/nowhere"})
    expect_refusal(ended, "runsc", "install")


def expect_files_count_once(*words):
    """A file counts once against the memory limit, and later commands run."""
    with sandbox(*words, "--memory", "512m", "--disk", "512m") as made:
        filled = call_json("exec", made, "--", "dd", "if=/dev/zero", "of=big", "bs=1M", "count=380")
        expect_outcome(filled, "exited", 0)
        expect_equal(call("exec", made, "--", "sh", "-c", "wc -c < big").stdout.strip(),
                     str(380 << 20).encode(), "the file")
        over = call_json("exec", made, "--", "sh", "-c", "tail /dev/zero")
        expect_equal(over["outcome"], "out_of_memory", f"{over.get('detail')}")
        expect_equal(call("exec", made, "--", "echo", "on").stdout, b"on\n", "the next command")


@case
def files_count_once():
    expect_files_count_once(*FLAGS)


@case
def files_count_once_in_an_engine():
    needs_full("the same kernel as without an engine")
    where = engine("runsc")
    expect_files_count_once("--backend", where.backend, "--image", IMAGE, "--runtime", "runsc")


if __name__ == "__main__":
    sys.exit(suite.run())
