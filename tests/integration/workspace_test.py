#!/usr/bin/env python3
"""The user's directory as a copy-on-write workspace: what the sandbox sees, diff, direct mounts."""
import os
import sys

from support import (PYTHON, Skip, Suite, backend_flags, call, expect, expect_equal, expect_refusal,
                     is_listed, sandbox, scratch, wait_until)
from workspace_fixture import (CHANGES, changes_of, in_both_modes, make_tree, mode_flags, shell,
                               snapshot, workspace)

suite = Suite()


@in_both_modes(suite)
def the_sandbox_sees_the_directory_and_leaves_it_untouched():
    with workspace() as (root, made):
        before = snapshot(root)
        expect_equal(shell(made, "cat README; readlink link; stat -c %u README"),
                     "hello\nREADME\n1000\n", "what the sandbox sees")
        shell(made, CHANGES)
        expect_equal(snapshot(root), before, "the host's files")
        expect_equal(shell(made, "cat deep/er/file README/file"), "new\ninside\n", "its own")


@in_both_modes(suite)
def a_one_shot_run_sees_the_directory_too():
    with scratch() as directory:
        root = make_tree(directory / "project")
        before = snapshot(root)
        ended = call("run", "--workspace", str(root), *mode_flags, "--", "sh", "-c", "cat README; echo x > README")
        expect_equal((ended.status, ended.stdout), (0, b"hello\n"), "run")
        expect_equal(snapshot(root), before, "the host's files")


@in_both_modes(suite)
def diff_lists_every_change_and_nothing_else():
    with workspace() as (root, made):
        expect_equal(changes_of(made), {}, "changes before any")
        shell(made, "touch src/main.c; cat data/blob > /tmp/b; cat /tmp/b > data/blob; chmod +w README")
        expect_equal(changes_of(made), {}, "changes to the same bytes")
        shell(made, CHANGES)
        found = {path: change["change"] for path, change in changes_of(made).items()}
        expect_equal(found, {
            "README": "modified", "README/file": "added", "binary": "added", "dangling": "added",
            "data/blob": "modified", "data/old.txt": "removed", "deep": "added",
            "deep/er": "added", "deep/er/file": "added", "link": "modified",
            "src/main.c": "modified", "src/renamed.sh": "added", "src/tool.sh": "removed"},
            "the changes")
        stat_lines = call("diff", made, "--stat").stdout.decode()
        expect("M src/main.c  +1 -1" in stat_lines, stat_lines)
        expect_equal(set(changes_of(made, "--path", "src")),
                     {"src/main.c", "src/renamed.sh", "src/tool.sh"}, "changes below src")
        expect_refusal(call("diff", made, "--path", "nothing"), "nothing changed")


@in_both_modes(suite)
def commands_can_write_and_signal_after_a_restack():
    """Landlock's rules are bound to what was mounted: they have to follow."""
    with workspace() as (_, made):
        for round_number in range(5):
            shell(made, f"echo {round_number} > file{round_number}; mkdir -p a/b; ln -sf x y")
            expect(call("checkpoint", made).status == 0, "checkpoint")
        shell(made, "echo x > /tmp/t; truncate -s 0 file0; mv file1 a/; rm -r a; echo > /dev/null")
        for place in ("/etc/x", "/x", "/usr/x", "/var/x", "/proc/x"):
            ended = call("exec", made, "--", "sh", "-c", f"echo x > {place}")
            expect(ended.status != 0, f"{place} could be written")
        shell(made, "sleep 60 >/dev/null 2>&1 & exit 0")
        expect_equal(shell(made, "pkill sleep && echo killed"), "killed\n", "a signal")


@in_both_modes(suite)
def landlock_alone_refuses_the_rest():
    """Not only the read-only mounts: the answer is that of Landlock where both would refuse."""
    with workspace() as (_, made):
        call("checkpoint", made)
        code = ("import os, errno\n"
                "try: os.mknod('/workspace/c', 0o600 | 0o020000, 0)\n"
                "except OSError as e: print(errno.errorcode[e.errno])\n"
                "try: os.mkdir('/new')\n"
                "except OSError as e: print(errno.errorcode[e.errno])\n")
        answer = call("exec", made, "--", *PYTHON, code).stdout.decode().split()
        expect_equal(len(answer), 2, "refusals")
        expect(answer[0] in ("EPERM", "EACCES") and answer[1] in ("EACCES", "EROFS"), str(answer))


@in_both_modes(suite)
def the_store_and_the_hosts_paths_do_not_show():
    with workspace() as (root, made):
        shell(made, "echo 1 > file")
        call("checkpoint", made)
        mounts = shell(made, "cat /proc/self/mountinfo /proc/self/mounts")
        for word in (str(root), root.name, str(root.parent)):
            expect(word not in mounts, f"{word} shows in the table of mounts: {mounts}")
        seen = shell(made, "ls -A /workspace/.. /tmp/.. / | sort -u")
        expect("0001" not in seen and "workspace.w" not in seen, f"the store shows: {seen}")
        ended = call("exec", made, "--", "sh", "-c", "ls /proc/1/fd /proc/1/root /proc/1/cwd")
        expect(ended.status != 0, f"init can be looked into: {ended!r}")


@suite.case
def the_disk_limit_covers_the_private_layer():
    with workspace("--disk", "8m") as (_, made):
        ended = call("exec", made, "--", "sh", "-c", "head -c 20000000 /dev/zero > big")
        expect(ended.status != 0 and b"space" in ended.stderr, f"{ended!r}")
        shell(made, "rm big; echo small > small")


def is_gvisor_without_root():
    return "gvisor" in backend_flags() and os.geteuid() != 0


@suite.case
def an_unsafe_mount_is_direct():
    with scratch() as directory:
        (directory / "data").mkdir()
        (directory / "data/in").write_text("in\n")
        if backend_flags():  # only native translates owners: elsewhere uid 1000 is the host's
            (directory / "data").chmod(0o777)
        where = str(directory / "data")
        ended = call("run", "--unsafe-mount", f"{where}:/workspace/d", "--", "sh", "-c",
                     "cat d/in && echo out > d/out")
        if b"does not support mapped owners" in ended.stderr:
            raise Skip("the file system of temporary files does not support mapped owners")
        if is_gvisor_without_root():
            expect_refusal(ended, "gVisor without root can create no files in a mount")
        else:
            expect_equal((ended.status, ended.stdout), (0, b"in\n"), f"rw: {ended!r}")
            expect_equal((directory / "data/out").read_text(), "out\n", "what it wrote")
        ended = call("run", "--unsafe-mount", f"{where}:/tmp/x/y:ro", "--", "sh", "-c",
                     "cat /tmp/x/y/in; echo no > /tmp/x/y/no")
        expect(ended.status != 0 and ended.stdout == b"in\n", f"ro: {ended!r}")
        expect_refusal(call("run", "--unsafe-mount", f"{where}:relative", "--", "true"), "SRC:DST")
        if not backend_flags():  # engines and gVisor make the place
            expect_refusal(call("run", "--unsafe-mount", f"{where}:/nowhere", "--", "true"), "/nowhere")


@suite.case
def files_in_an_unsafe_mount_outlive_the_sandbox():
    """However it ends, and whatever it takes back: the host's files are not its own."""
    if is_gvisor_without_root():
        raise Skip("gVisor without root mounts read-only alone")
    with scratch() as directory:
        root = make_tree(directory / "data")
        for path in (root, *root.rglob("*")):  # whoever is inside could remove any of it
            if not path.is_symlink():
                path.chmod(0o777)
        before, mount = snapshot(root), ("--unsafe-mount", f"{root}:/workspace/d")
        ended = call("run", *mount, "--", "true")
        if b"does not support mapped owners" in ended.stderr:
            raise Skip("the file system of temporary files does not support mapped owners")
        expect_equal(ended.status, 0, f"run {ended!r}")
        expect_equal(snapshot(root), before, "what run leaves")
        with sandbox(*mount, "--ttl", "3s") as made:
            expect(wait_until(lambda: not is_listed(made), 60), "it outlives its ttl")
        expect_equal(snapshot(root), before, "what an ended ttl leaves")
        with sandbox(*mount) as made:
            shell(made, "echo x > x")
            call("discard", made)
            call("tool", "call", "delete", "-s", made, '{"path": "x"}')
        expect_equal(snapshot(root), before, "what discard and destroy leave")


@suite.case
def refusals_say_what_to_do():
    with sandbox() as made:
        expect_refusal(call("apply", made), "--workspace", "nutshell cp")
    expect_refusal(call("create", "--workspace", "/nonexistent"), "--workspace", "not a directory")
    with scratch() as directory:
        (directory / "job.py").write_text("print(1)\n")
        ended = call("run", "--", "python3", "job.py", cwd=directory)
        expect(b"--workspace ." in ended.stderr, f"{ended!r}")


if __name__ == "__main__":
    sys.exit(suite.run())
