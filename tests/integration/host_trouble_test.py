#!/usr/bin/env python3
"""A host that is in trouble: all its cores busy, its disks full, processes that do not wake up."""
import contextlib
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from support import (PYTHON, Skip, Suite, call, call_json, create, destroy, expect, expect_equal,
                     expect_refusal, is_listed, read_line, repetitions, runtime_directory, sandbox,
                     scratch, start, wait_until)

suite = Suite()

SPIN = "for i in 1 2 3 4; do while :; do :; done & done; echo spinning; wait"


# ---- CPU (PR-18)

@suite.case
def spinning_on_all_cores_gets_its_share_only():
    seconds = repetitions(3, 60)
    answer = call_json("run", "--cpus", "0.5", "--timeout", f"{seconds}s", "--", "bash", "-c", SPIN)
    expect_equal(answer["outcome"], "timed_out", "outcome")
    share = answer["cpu_time_ms"] / answer["duration_ms"]
    expect(0.05 < share < 0.75, f"{share:.2f} cores of the 0.5 it may have")


@suite.case
def commands_are_answered_while_a_sandbox_spins():
    with sandbox() as quiet:
        spinner = start("run", "--cpus", "1", "--timeout", "60s", "--", "bash", "-c", SPIN)
        try:
            expect_equal(read_line(spinner), b"spinning\n", "its first line")
            for words in (("run", "--", "true"), ("exec", quiet, "--", "true"), ("list",)):
                ended = call(*words)
                expect_equal(ended.status, 0, f"status of {words[0]}")
                expect(ended.seconds < 15, f"{words[0]} took {ended.seconds:.1f} s")
        finally:
            spinner.terminate()
            spinner.wait(30)


# ---- Processes that sleep deeply (PR-13)

# The parent of a vfork is in state D until its child lets go; this child never does.
DEEP_SLEEP = """
import ctypes, os
os.mkfifo('/workspace/fifo')
if os.fork() == 0:
    os.open('/workspace/fifo', os.O_RDONLY)
libc = ctypes.CDLL(None)
if os.fork() == 0:
    libc.vfork()
    libc.pause()
    os._exit(0)
import time
while True:
    states = [open(f'/proc/{p}/stat').read().rsplit(')', 1)[1].split()[0]
              for p in os.listdir('/proc') if p.isdigit()]
    if 'D' in states: break
    time.sleep(0.01)
print('asleep', flush=True)
time.sleep(600)
"""


@suite.case
def destroy_ends_processes_that_sleep_deeply():
    made = create()
    sleeper = start("exec", made, "--", *PYTHON, DEEP_SLEEP)
    expect_equal(read_line(sleeper), b"asleep\n", "its first line")
    began = time.monotonic()
    ended = destroy(made)
    expect_equal(ended.status, 0, f"status of destroy ({ended!r})")
    expect(time.monotonic() - began < 15, "destroy took long")
    sleeper.wait(30)
    expect(not is_listed(made), "it is still listed")


@suite.case
def timeout_ends_processes_that_sleep_deeply():
    answer = call_json("run", "--timeout", "3s", "--", *PYTHON, DEEP_SLEEP)
    expect_equal(answer["outcome"], "timed_out", "outcome")
    expect_equal(answer["stdout"], "asleep\n", "what it wrote before")
    expect(answer["seconds"] < 30, f"it took {answer['seconds']:.1f} s")


# ---- Full disks (LC-10)

@contextlib.contextmanager
def small_disk(options):
    """A tmpfs that fills up quickly; only root can make one."""
    if os.geteuid() != 0:
        raise Skip("only root can mount a small disk")
    with scratch() as directory:
        disk = directory / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(disk)],
                       check=True)
        try:
            yield disk
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk):
    """Until there is neither a byte nor an inode left; returns what fills it."""
    fillers = []
    for content in (b"x" * 4096, b""):
        with contextlib.suppress(OSError):
            while True:
                fillers.append(disk / f"filler{len(fillers)}")
                with open(fillers[-1], "wb", buffering=0) as filler:
                    while content:
                        filler.write(content)
    return [filler for filler in fillers if filler.exists()]


@contextlib.contextmanager
def environment(name, value):
    before = os.environ.get(name)
    os.environ[name] = str(value)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@suite.case
def full_runtime_directory_refuses_create_and_recovers():
    with small_disk("size=256k,nr_inodes=12") as disk, \
            environment("NUTSHELL_RUNTIME_DIR", disk / "run"):
        (disk / "run").mkdir(mode=0o700)
        fillers = fill(disk)
        expect(fillers, "the disk was not empty")
        expect_refusal(call("create"), "no space left")
        expect_equal(os.listdir(runtime_directory()), [], "left in the runtime directory")
        expect_equal(call("run", "--", "true").status, 0, "run, which needs no launcher")
        for filler in fillers:
            filler.unlink()
        made = create()
        expect_equal(call("exec", made, "--", "true").status, 0, "exec")
        destroy(made)
        wait_until(lambda: not os.listdir(runtime_directory()) or "launcher.sock" not in
                   os.listdir(runtime_directory()), 20)


@suite.case
def full_image_store_leaves_no_half_image():
    with small_disk("size=16m,nr_inodes=100") as disk, scratch() as directory, \
            environment("XDG_CACHE_HOME", disk / "cache"):
        (disk / "cache").mkdir()
        archive = make_archive(directory)
        large, *others = fill(disk)
        expect_refusal(call("run", "--image", str(archive), "--", "/bin/true"), "no space left")
        # Now there is room to begin with it.
        os.truncate(large, large.stat().st_size - (600 << 10))
        for filler in others:
            filler.unlink()
        ended = call("run", "--image", str(archive), "--", "/bin/true")
        expect_equal(ended.status, 125, f"status in the middle of it ({ended!r})")
        expect(b"No space left" in ended.stderr, f"no word of the disk: {ended!r}")
        left = [path for path in (disk / "cache").rglob("*") if path.is_file()]
        expect_equal(left, [], "left in the image store")
        large.unlink()
        ended = call("run", "--image", str(archive), "--", "/bin/nutshell-init")
        expect_equal(ended.status, 12, f"status of the image's own program ({ended!r})")


def make_archive(directory):
    """An image with one static program: our own init, which says how it wants to be called."""
    program = Path(os.environ.get("NUTSHELL_BIN", "build/bin"))
    program = (program if program.is_dir() else program.parent) / "nutshell-init"
    archive = directory / "image.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("bin", "etc", "proc", "dev", "tmp", "workspace"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        tar.add(program, "bin/nutshell-init")
    return archive


@suite.case
def copy_to_a_full_disk_says_so_and_the_next_one_works():
    with small_disk("size=1m,nr_inodes=100") as disk, sandbox() as made:
        call("exec", made, "--", "sh", "-c", "head -c 200000 /dev/zero >/workspace/zeros")
        fillers = fill(disk)
        expect_refusal(call("cp", f"{made}:/workspace/zeros", str(disk / "zeros")), "no room")
        for filler in fillers:
            filler.unlink()
        ended = call("cp", f"{made}:/workspace/zeros", str(disk / "zeros"))
        expect_equal(ended.status, 0, f"status of cp ({ended!r})")
        expect_equal((disk / "zeros").stat().st_size, 200000, "its size")


@suite.case
def copy_into_a_full_sandbox_says_so_and_the_next_one_works():
    with scratch() as directory, sandbox("--disk", "4m") as made:
        (directory / "large").write_bytes(b"x" * (8 << 20))
        (directory / "small").write_bytes(b"y" * 1000)
        ended = call("cp", str(directory / "large"), f"{made}:/workspace/large")
        expect_refusal(ended, "no space left")
        call("exec", made, "--", "rm", "-f", "/workspace/large")
        expect_equal(call("cp", str(directory / "small"), f"{made}:/workspace/small").status, 0,
                     "status of the next cp")
        answer = call_json("exec", made, "--", "wc", "-c", "/workspace/small")
        expect_equal(answer["stdout"].split()[0], "1000", "its size inside")


if __name__ == "__main__":
    sys.exit(suite.run())
