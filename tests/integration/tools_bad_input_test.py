#!/usr/bin/env python3
"""Bad input to tools: each gives a clear error, loses nothing and never hangs."""
import hashlib
import json
import os
import re
import resource
import sys
import time

from support import (PYTHON, Suite, backend_flags, call, children_of, expect, expect_equal, launchers,
                     memory_of, repetitions, sandbox, scratch, start)
from tool_calls import Sandbox, fresh

suite = Suite()
CODES = set("invalid_argument not_found not_unique is_directory stale outside_root permission_denied "
            "deadline_exceeded expired too_large binary conflict lazy_placeholder resource_exhausted "
            "unavailable".split())
# A special file of each kind, and what leads to one.
SPECIAL = ["pipe", "socket", "loop", "round", "to-pipe", "to-null", "/dev/null", "/dev/zero",
           "/dev/full", "/dev/tty", "/proc/self/mem", "/proc/kmsg"]
MAKE_SPECIAL = """
mkfifo pipe; ln -s loop loop; ln -s round2 round; ln -s round round2; ln -s pipe to-pipe
ln -s /dev/null to-null
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
"""


def calls_with(path):
    """Every tool that takes a path, with this one; and whether it may do something."""
    return [("read", {"path": path}, False),
            ("write", {"path": path, "content": "x"}, False),
            ("edit", {"path": path, "old": "a", "new": "b"}, False),
            ("diff", {"a": path}, False),
            ("diff", {"a": "plain", "b": path}, False),
            ("ls", {"path": path}, False),
            ("find", {"path": path, "glob": "*"}, False),
            ("grep", {"path": path, "pattern": "x"}, False),
            ("bash", {"command": "true", "cwd": path}, False),
            ("git", {"args": ["status"], "cwd": path}, False),
            ("delete", {"path": path}, True)]


def expect_clear_answer(ended, what, may_be_done):
    expect(ended.seconds < 20, f"{what} took {ended.seconds:.0f} s")
    if may_be_done and ended.status == 0:
        return
    lines = ended.stdout.decode(errors="replace").splitlines()
    code = lines[0].split(":")[0] if lines else ""
    expect(ended.status == 65 and code in CODES, f"{what}: {ended!r}")
    expect(len(lines) <= 30, f"{what}: {len(lines)} lines of error")


@fresh(suite)
def special_files_are_refused_by_every_tool(box):
    box.shell(MAKE_SPECIAL + "echo plain > plain")
    kinds = box.shell("stat -c %F pipe socket loop round to-pipe").stdout
    for path in SPECIAL:
        for tool, arguments, may_be_done in calls_with(path):
            if tool == "delete":
                continue
            expect_clear_answer(box.run(tool, **arguments), f"{tool} {arguments}", may_be_done)
    expect_equal(box.shell("stat -c %F pipe socket loop round to-pipe").stdout, kinds, "the files")
    for path in SPECIAL:
        expect_clear_answer(box.run("delete", path=path), f"delete {path}", True)
    expect_equal(box.shell("cat plain; stat -c %F /dev/null").stdout,
                 b"plain\ncharacter special file\n", "what was not named")


@fresh(suite)
def trees_with_special_files_are_walked(box):
    box.shell(MAKE_SPECIAL + "mkdir -p a/b; ln -s .. a/b/up; ln -s / root; echo needle > a/file")
    expect(box.text("grep", pattern="needle").startswith("1 match in 1 file"), "grep")
    expect("a/ file" in box.text("find", glob="*"), "find")
    told = box.text("ls", depth=8)
    expect("pipe (not a regular file)" in told and "root -> /" in told, told)


@fresh(suite)
def paths_that_climb_or_are_no_text_are_refused(box):
    box.shell("echo plain > plain; echo kept > \"$(printf 'a\\nb')\"; "
              "printf kept > \"$(printf 'c\\377')\"; mkdir \"$(printf 'd\\ne')\"")
    before = box.shell("find . -type f -exec md5sum {} + | sort").stdout
    for path in ("../../../../etc/passwd", "a/../../../etc/shadow", "..", "/", "", "a\nb", "d\ne/f",
                 "x\u0000y", "\u001b[31m", "n" * 300, "p/" * 2500, "/proc/1/root/etc/passwd",
                 "/proc/self/fd/0", "plain/", "plain/x"):
        for tool, arguments, _ in calls_with(path):
            if path in ("..", "/") and tool in ("find", "grep"):
                continue  # the whole root file system: bounded, but long
            may_be_done = tool in ("ls", "find", "grep", "bash", "git", "read", "diff")
            expect_clear_or_command(box.run(tool, **arguments), f"{tool} {path[:40]!r}", may_be_done)
    for tool in ("read", "write", "edit", "delete", "ls", "grep", "find"):
        ended = box.run(tool, given=b'{"path": "c\xff", "content": "x", "pattern": "x"}')
        expect(ended.status == 65 and ended.stdout.startswith(b"invalid_argument: "),
               f"{tool} with bytes that are no UTF-8: {ended!r}")
    expect_equal(box.shell("find . -type f -exec md5sum {} + | sort").stdout, before, "the files")


def expect_clear_or_command(ended, what, may_be_done):
    """As expect_clear_answer; git has a status of its own when it finds no repository."""
    if what.startswith("git") and ended.status == 128:
        return
    expect_clear_answer(ended, what, may_be_done)


@fresh(suite)
def a_file_that_shrinks_while_read_is_no_trouble(box):
    box.shell("seq 1 200000 > whole; cp whole f")
    writer = start("exec", box.id, "--", "sh", "-c",
                   "while :; do cat whole > f; truncate -s 1000 f; : > f; done")
    try:
        for _ in range(repetitions(10, 300)):
            for tool, arguments in (("read", {"path": "f", "max_tokens": 20000}),
                                    ("grep", {"pattern": "^1", "path": "f", "mode": "count"}),
                                    ("diff", {"a": "f", "b": "whole"})):
                ended = box.run(tool, **arguments)
                expect_clear_answer(ended, tool, True)
            told = box.run("read", "--json", path="f")
            fields = json.loads(told.stdout).get("fields")
            if fields:
                expect(fields["line_count"] <= fields["total_lines"], str(fields))
    finally:
        writer.kill()
        writer.communicate()
    expect_equal(box.shell("echo alive").stdout, b"alive\n", "the sandbox afterwards")


@fresh(suite)
def wrong_types_are_named(box):
    for tool, arguments, word in (("read", {"path": 7}, "path"), ("read", {"path": "a", "offset": "1"}, "offset"),
                                  ("read", {}, "path"), ("edit", {"path": "a", "edits": {}}, "edits"),
                                  ("edit", {"path": "a", "edits": [1]}, "edits"), ("ls", {"depth": 99}, "depth"),
                                  ("grep", {"pattern": ["x"]}, "pattern"), ("find", {"type": "socket"}, "type"),
                                  ("git", {"args": [1]}, "args"), ("bash", {"command": None}, "command"),
                                  ("bash", {"command": "true", "timeout": 1e12}, "timeout"),
                                  ("job", {"id": 1}, "id"), ("recall", {"id": []}, "id"),
                                  ("undo", {"id": False}, "id"), ("delete", {"path": "a", "recursive": "yes"}, "recursive"),
                                  ("write", {"path": "a", "content": 1}, "content"), ("diff", {"b": "a"}, "a")):
        told = box.error("invalid_argument", tool, **arguments)
        expect(f"`{word}`" in told or word in told, told)


@fresh(suite, "--disk", "1g", "--memory", "1g")
def files_that_are_too_large_are_named(box):
    box.shell("truncate -s 70M big")
    for tool, arguments in (("read", {}), ("edit", {"old": "a", "new": "b"})):
        expect("64 MiB" in box.error("too_large", tool, path="big", **arguments), tool)


@fresh(suite, "--processes", "8")
def a_search_without_a_free_process_is_unavailable(box):
    holder = start("exec", box.id, "--", *PYTHON, """
import os, time
while True:  # again and again: a search that just ran may have held the last place
    try:
        if os.fork() == 0: break
    except OSError: time.sleep(0.01)
time.sleep(60)
""")
    try:
        code = b""
        for _ in range(50):  # an expression: plain text in few files is searched without a process
            code = box.run("grep", pattern="x+y").stdout.split(b":")[0]
            if code == b"unavailable":
                break
            time.sleep(0.1)
        expect_equal(code, b"unavailable", "the code where no process can be had")
        box.text("write", path="a", content="still works\n")
    finally:
        holder.kill()
        holder.communicate()


@fresh(suite)
def a_pattern_that_explodes_elsewhere_does_not_here(box):
    box.shell("head -c 100000 /dev/zero | tr '\\0' a > f")
    for pattern in ("(a+)+b", "(a|a)*b", "(.*)(.*)(.*)(.*)x", "(a{1,100}){1,9}b"):
        ended = box.run("grep", pattern=pattern)
        expect(ended.status in (0, 65) and ended.seconds < 20, f"{pattern}: {ended!r}")


def peak_of_init(box):
    """Told by the kernel outside; where init is no child of ours, by the one it runs on."""
    if not backend_flags():
        return max((memory_of(pid, "VmHWM") for launcher in launchers()
                    for pid in children_of(launcher)), default=0)
    status = box.shell("cat /proc/1/status").stdout.decode()
    found = dict(re.findall(r"(VmHWM|VmRSS):\s+(\d+) kB", status))
    return int(found.get("VmHWM", found.get("VmRSS", 0))) << 10


def within(most):
    """For a program that gets no more memory than this; runsc, which it may start, needs more."""
    if "gvisor" in backend_flags():
        return {}
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most))}


def expect_small_init(box):
    peak = peak_of_init(box)
    expect(0 < peak < 64 << 20, f"init took {peak} bytes")


@fresh(suite, "--disk", "1g", "--memory", "1g")
def a_large_write_streams(box):
    size = repetitions(66, 200) << 20
    content = ("0123456789abcdef" * 4096 + "\n") * (size // 65537 + 1)
    given = json.dumps({"path": "big", "content": content}).encode()
    told = call("tool", "call", "write", "-s", box.id, given=given, **within(8 * len(given)))
    expect(told.status == 0, f"write: {told!r}")
    wanted = hashlib.md5(content.encode()).hexdigest()
    expect(wanted.encode() in box.shell("md5sum big").stdout, "other bytes")
    expect_small_init(box)


@fresh(suite, "--disk", "1g", "--memory", "1g")
def a_large_file_goes_in_and_out_byte_for_byte(box):
    size = repetitions(66, 200) << 20
    with scratch() as directory:
        wanted = hashlib.md5()
        with open(directory / "in", "wb") as file:
            for _ in range(size >> 20):
                part = os.urandom(1 << 20)
                file.write(part)
                wanted.update(part)
        for words in ((directory / "in", f"{box.id}:/workspace/big"),
                      (f"{box.id}:/workspace/big", directory / "out")):
            copied = call("cp", *map(str, words), **within(32 << 20))
            expect(copied.status == 0, f"cp: {copied!r}")
        expect(wanted.hexdigest().encode() in box.shell("md5sum big").stdout, "other bytes inside")
        with open(directory / "out", "rb") as file:
            came = hashlib.md5()
            while part := file.read(1 << 20):
                came.update(part)
        expect_equal(came.hexdigest(), wanted.hexdigest(), "what came back")
    expect_small_init(box)


def fill(box, directory, count):
    made = call("exec", "--timeout", "10m", box.id, "--", "sh", "-c",
                f"mkdir -p {directory}/d && cd {directory}/d && seq -f f%.0f 1 {count} |"
                " xargs -n 5000 touch && echo made", seconds=600)
    expect_equal(made.stdout, b"made\n", f"a directory of {count} entries")


@fresh(suite, "--disk", "5g", "--memory", "6g")
def a_directory_of_very_many_entries_is_paged(box):
    count = repetitions(20_000, 1_000_000)
    fill(box, "many", count)
    for arguments in ({"path": "many/d"}, {"path": "many/d", "offset": count - 5}):
        told = box.text("ls", **arguments)
        expect(f"(0 dirs, {count} files)" in told and len(told) < 40_000, told[:200])
    told = box.text("find", path="many", glob="*77")
    expect(told.startswith(f"{count // 100} files"), told[:100])
    told = box.text("grep", path="many", pattern="nothing")
    expect("no matches" in told.splitlines()[0], told[:200])
    ended = box.run("delete", path="many", recursive=True)
    expect(ended.status == 0 and ended.seconds < 60, f"delete: {ended!r}")
    expect_equal(box.shell("ls -d many 2>&1 | grep -c 'No such'").stdout, b"1\n", "it is gone")


@suite.case
def very_many_changes_are_listed_within_bounds():
    count = repetitions(5_000, 200_000)
    with scratch() as directory:
        with sandbox("--workspace", str(directory), "--disk", "5g", "--memory", "6g") as made:
            fill(Sandbox(made), "many", count)
            listed = call("diff", made, "--stat", seconds=300)
            expect_equal((listed.status, len(listed.stdout.splitlines())), (0, count + 2), "diff")
            would = call("apply", made, "--dry-run", seconds=300)
            expect_equal((would.status, would.stdout.count(b"many/d/f")), (0, count), "apply")
            expect_equal(list(directory.iterdir()), [], "what a dry run wrote")


if __name__ == "__main__":
    sys.exit(suite.run())
