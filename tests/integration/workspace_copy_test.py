#!/usr/bin/env python3
"""Where no layers can be stacked: the directory is copied."""
import contextlib
import json
import os
import platform
import subprocess
import sys

from support import (Skip, Suite, backend_flags, call, expect, expect_equal, expect_refusal, sandbox,
                     scratch)
from workspace_fixture import CHANGES, changes_of, make_tree, shell, snapshot, workspace

suite = Suite()


@suite.case
def a_copy_knows_nothing_of_what_happens_on_the_host_later():
    with workspace("--workspace-mode", "copy") as (root, made):
        (root / "README").write_text("changed here\n")
        (root / "later").write_text("later\n")
        expect_equal(shell(made, "cat README; ls later 2>/dev/null || true"), "hello\n", "the copy")
        expect_equal(changes_of(made), {}, "changes")


@suite.case
def the_copy_used_for_comparison_follows_apply():
    with workspace("--workspace-mode", "copy") as (root, made):
        shell(made, CHANGES)
        for _ in range(2):
            ended = call("apply", made)
            expect(ended.status == 0, f"apply: {ended!r}")
            expect_equal(changes_of(made), {}, "changes after apply")
            after = snapshot(root)
            expect_equal(after["README/file"][2], b"inside\n", "a file that became a directory")
            expect_equal(after["src/renamed.sh"][1], 0o700, "a mode")
            expect("data/old.txt" not in after and "src/tool.sh" not in after, "removed files")
        shell(made, "echo newer > deep/er/file; echo more >> src/main.c")
        expect_equal(set(changes_of(made)), {"deep/er/file", "src/main.c"}, "what changed since")
        expect(b"-new\n+newer" in call("diff", made).stdout, "a diff against what was applied")
        expect(call("apply", made).status == 0, "apply of what changed again")
        expect_equal((root / "deep/er/file").read_text(), "newer\n", "a file of its own")
        shell(made, "rm deep/er/file; echo lost > lost; chmod 555 deep")
        expect(call("apply", made, "--path", "deep").status == 0, "apply of a removal")
        expect(not (root / "deep/er/file").exists(), "the removed file is there")
        forked = call("fork", made).stdout.decode().strip()
        expect_equal(shell(forked, "cat lost; ls deep/er"), "lost\n", "a fork")
        call("destroy", forked)
        expect(call("discard", made).status == 0, "discard")
        expect_equal(shell(made, "cat lost 2>/dev/null; cat README/file; ls deep/er"), "inside\n",
                     "what was applied, and no more")


@suite.case
def a_copy_that_goes_back_to_its_start_is_applied_too():
    with workspace("--workspace-mode", "copy") as (root, made):
        shell(made, "cp -p data/old.txt /tmp/kept; rm data/old.txt")
        expect(call("apply", made, "--path", "data").status == 0, "apply of a removal")
        expect(not (root / "data/old.txt").exists(), "the removed file is there")
        shell(made, "cp -p /tmp/kept data/old.txt")
        expect_equal(changes_of(made)["data/old.txt"]["change"], "added", "it is a change again")
        expect(call("apply", made).status == 0, "apply of what came back")
        expect_equal((root / "data/old.txt").read_text(), "old\n", "the file")


@suite.case
def a_copy_has_only_what_the_sandbox_may_read():
    if os.geteuid() != 0:
        raise Skip("files of another user need root")
    with scratch() as directory:
        root = make_tree(directory / "project")
        (root / "secret").write_text("secret\n")
        (root / "secret").chmod(0o600)
        (root / "shown").write_text("shown\n")
        (root / "shown").chmod(0o044)
        for name in ("secret", "shown"):
            os.chown(root / name, 4711, 4711)
        os.mkfifo(root / "pipe")
        (root / "fixed").mkdir()
        (root / "fixed/file").write_text("fixed\n")
        (root / "fixed").chmod(0o555)
        with sandbox("--workspace", str(root), "--workspace-mode", "copy") as made:
            expect_equal(shell(made, "ls; cat shown"),
                         "README\ndata\nfixed\nlink\nshown\nsrc\nshown\n", "what it has")
            expect_equal(changes_of(made), {}, "changes")
            shell(made, "chmod 755 fixed; echo x > fixed/file; chmod 0 src")
            expect(call("discard", made).status == 0, "discard")
            expect_equal(changes_of(made), {}, "changes after discard")
            expect_equal(shell(made, "cat fixed/file; stat -c %a fixed"), "fixed\n555\n", "it")


@contextlib.contextmanager
def untranslatable(place):
    """A file system that does not support mapped owners, mounted there."""
    if os.geteuid() != 0:
        raise Skip("a plain user's directory needs no translation of owners")
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "ramfs", "none", str(place)], capture_output=True,
                             check=False)
    if mounted.returncode != 0:
        raise Skip("no ramfs can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@suite.case
def a_file_system_without_translation_is_copied():
    with scratch() as directory, untranslatable(directory / "project") as root:
        make_tree(root)
        for path in (root, *root.rglob("*")):
            os.chown(path, 4711, 4712, follow_symlinks=False)
        with sandbox("--workspace", str(root)) as made:
            told = json.loads(call("info", made, "--json").stdout)["workspace_kind"]
            expect_equal(told, "copy", "the mode")
            expect(b"does not support mapped owners" in call("info", made).stdout, "the reason")
            expect_equal(shell(made, "stat -c '%u %a' . README src/tool.sh; cat README"),
                         "1000 755\n1000 644\n1000 755\nhello\n", "owners, modes and bytes")
            expect_equal(changes_of(made), {}, "changes")
            shell(made, CHANGES)
            expect(call("apply", made).status == 0, "apply")
            expect_equal((root / "README/file").read_text(), "inside\n", "what was applied")
            expect_equal({path.lstat().st_uid for path in root.rglob("*")}, {4711}, "owners here")
            expect_equal(changes_of(made), {}, "changes after apply")
        expect_refusal(call("create", "--workspace", str(root), "--workspace-mode", "overlay"),
                       "does not support mapped owners")
        expect_refusal(call("create", "--unsafe-mount", f"{root}:/workspace/direct"),
                       "translate the owner")


@suite.case
def a_copy_holds_only_files_that_the_owner_may_read():
    for owner in (4711, 0):
        with scratch() as directory, untranslatable(directory / "project") as root:
            for name, mode, user, group in (("own", 0o600, owner, owner),
                                            ("shown", 0o644, 4713, 4713),
                                            ("secret", 0o600, 4713, 4713),
                                            ("adm", 0o640, 4713, 4),
                                            ("rooted", 0o640, 4713, 0),
                                            ("denied", 0o000, owner, owner)):
                (root / name).write_text(f"{name}\n")
                os.chown(root / name, user, group)
                (root / name).chmod(mode)
            (root / "shut").mkdir()
            (root / "shut/inside").write_text("inside\n")
            os.chown(root / "shut", 4713, 4713)
            (root / "shut").chmod(0o700)
            os.chown(root, owner, owner if owner else 4714)
            with sandbox("--workspace", str(root)) as made:
                expect_equal(shell(made, "ls; cat own shown"), "own\nshown\nown\nshown\n",
                             f"what a directory of {owner} gives")


@suite.case
def a_directory_that_does_not_fit_is_not_copied():
    with scratch() as directory:
        root = make_tree(directory / "project")
        (root / "large").write_bytes(bytes(3 << 20))
        ended = call("create", "--workspace", str(root), "--workspace-mode", "copy", "--disk", "4m")
        expect_refusal(ended, "copy the workspace", "--disk")


def stacks_layers():
    """Whether files in memory keep the marks of layers: from Linux 6.6 on. Their owners are
    translated from 6.3 on, so before that there may be either reason. Other backends take copies."""
    return not backend_flags() and tuple(map(int, platform.release().split(".")[:2])) >= (6, 6)


@suite.case
def info_says_how_the_directory_came_in():
    layered = ("overlay", b"copy-on-write") if stacks_layers() else ("copy", b"copied (")
    for asked, mode, words in (("auto", *layered), ("copy", "copy", b"copied (")):
        with workspace("--workspace-mode", asked) as (_, made):
            shown = call("info", made)
            is_asked_for = b"as asked for" in shown.stdout
            expect(words in shown.stdout, f"{asked}: {shown!r}")
            expect(backend_flags() or is_asked_for == (asked == "copy"), f"{asked}: {shown!r}")
            told = json.loads(call("info", made, "--json").stdout)["workspace_kind"]
            expect_equal(told, mode, asked)
    with scratch() as directory:
        ended = call("create", "--workspace", str(make_tree(directory / "project")),
                     "--workspace-mode", "overlay")
        if stacks_layers():
            expect(ended.status == 0, f"overlay: {ended!r}")
            call("destroy", ended.stdout.decode().strip())
        else:
            expect(ended.status == 125 and (b"Linux 6.6" in ended.stderr
                                            or b"does not support mapped owners" in ended.stderr
                                            or b"it takes a copy" in ended.stderr),
                   f"overlay: {ended!r}")
    expect_refusal(call("create", "--workspace-mode", "magic"), "auto, overlay or copy")


if __name__ == "__main__":
    sys.exit(suite.run())
