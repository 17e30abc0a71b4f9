#!/usr/bin/env python3
"""Checkpoints of a workspace, and what takes it back or elsewhere: rollback, discard, fork, what
outlives a sandbox."""
import contextlib
import json
import os
import signal
import sys

from support import (Skip, Suite, backend_flags, call, expect, expect_equal, expect_refusal, is_listed,
                     launchers, parent_of, processes, sandbox, scratch, wait_until)
from workspace_fixture import CHANGES, changes_of, in_both_modes, shell, snapshot, workspace

suite = Suite()


@in_both_modes(suite)
def discard_takes_all_of_it_back():
    with workspace() as (root, made):
        before = shell(made, "find . | sort; cat README")
        shell(made, CHANGES)
        expect(call("discard", made).status == 0, "discard")
        expect_equal(changes_of(made), {}, "changes")
        expect_equal(shell(made, "find . | sort; cat README"), before, "the files")
        shell(made, "echo again > README && mkdir x && rm -r x data")
        expect_equal(changes_of(made)["README"]["change"], "modified", "a change after discard")


def check_checkpoints(made):
    shell(made, "echo 1 > file && mkdir -p d/e && echo deep > d/e/f")
    first = call("checkpoint", made)
    expect(first.status == 0, f"checkpoint: {first!r}")
    first = first.stdout.decode().strip()
    shell(made, "echo 2 > file; rm -r d; echo other > other")
    second = call("checkpoint", made).stdout.decode().strip()
    shell(made, "rm file other; mkdir d && echo fresh > d/g")
    for name, wanted in ((first, "1\ndeep\n"), (second, "2\nother\n"), (first, "1\ndeep\n")):
        ended = call("rollback", made, name)
        expect(ended.status == 0, f"rollback {name}: {ended!r}")
        command = "cat file; cat d/e/f other 2>/dev/null; test ! -e d/g"
        expect_equal(shell(made, command), wanted, f"files at {name}")
    expect_refusal(call("rollback", made, "c99"), "no checkpoint", first)


@in_both_modes(suite)
def checkpoints_can_be_gone_back_to():
    with workspace() as (_, made):
        check_checkpoints(made)


@suite.case
def checkpoints_need_no_workspace():
    with sandbox() as made:
        check_checkpoints(made)
        expect(call("discard", made).status == 0, "discard")
        expect_equal(shell(made, "ls -A"), "", "what is left")


@in_both_modes(suite)
def running_processes_must_be_killed_first():
    with workspace() as (_, made):
        shell(made, "echo 1 > file; setsid sleep 60 >/dev/null 2>&1 & exit 0")
        for words in (("checkpoint", made), ("rollback", made, "base"), ("discard", made)):
            expect_refusal(call(*words), "running", "--kill")
        ended = call("checkpoint", made, "--kill")
        expect(ended.status == 0, f"--kill: {ended!r}")
        expect_equal(shell(made, "pgrep sleep || echo none"), "none\n", "what still runs")


@in_both_modes(suite)
def a_fork_has_the_same_files_and_its_own_life():
    with workspace() as (root, made):
        shell(made, CHANGES)
        ended = call("fork", made, "-n", "2")
        expect(ended.status == 0 and b"were copied; processes and /tmp were not" in ended.stderr, f"fork: {ended!r}")
        forks = ended.stdout.decode().split()
        expect_equal(len(forks), 2, "the number of forks")
        for forked in forks:
            expect_equal({path: (c["change"], (c["after"] or {}).get("mode"))
                          for path, c in changes_of(forked).items()},
                         {path: (c["change"], (c["after"] or {}).get("mode"))
                          for path, c in changes_of(made).items()}, "changes of a fork")
            expect_equal(shell(forked, "cat src/main.c deep/er/file"),
                         shell(made, "cat src/main.c deep/er/file"), "files of a fork")
        shell(forks[0], "echo own > README/file")
        expect_equal(shell(made, "cat README/file"), "inside\n", "the first one's file")
        call("destroy", *forks)


@suite.case
def a_fork_has_the_same_environment_and_no_list_shows_it():
    with workspace("--env", "TOKEN=for this one", "--env", "EMPTY=") as (_, made):
        ended = call("fork", made)
        expect(ended.status == 0, f"fork: {ended!r}")
        forked = ended.stdout.decode().strip()
        expect_equal(shell(forked, 'echo "$TOKEN/${EMPTY-unset}"'), "for this one/\n", "its variables")
        for shown in (call("list", "--json"), call("info", forked), call("info", forked, "--json")):
            expect(shown.status == 0 and b"for this one" not in shown.stdout, f"shown: {shown!r}")
        call("destroy", forked)


# Changes that outlive a sandbox ------------------------------------------------------------------------

@contextlib.contextmanager
def environment(name, value):
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


def children_of(launcher, *names):
    """The launcher's children whose command line begins with one of the names."""
    return [pid for pid, words in processes()
            if parent_of(pid) == launcher and words[0] in names]


def ended_ones():
    return {one["id"]: one for one in json.loads(call("list", "--ended", "--json").stdout)}


def end_by(way, made):
    if way == "destroy":
        return call("destroy", made)
    [launcher] = launchers()
    if way == "init":
        for pid in children_of(launcher, b"init"):
            os.kill(pid, signal.SIGKILL)
    if way == "launcher":
        os.kill(launcher, signal.SIGKILL)
    expect(wait_until(lambda: not is_listed(made), 20), f"{way}: it still lives")
    return None


def check_end(way):
    with workspace() as (root, made):
        before = snapshot(root)
        call("tool", "call", "bash", "-s", made, '{"command": "echo first > one; echo more >> README"}')
        shell(made, CHANGES)
        wanted = changes_of(made)
        end_by(way, made)
        expect(wait_until(lambda: ended_ones()[made]["state"] != "saving", 20), "it is still saved")
        listed = ended_ones()
        expect_equal((listed[made]["state"], listed[made]["changes"]), ("saved", len(wanted)), way)
        expect_equal(changes_of(made), wanted, f"its changes after {way}")
        expect_equal(snapshot(root), before, "the host's files")
        out = root.parent / "out"
        expect(call("cp", f"{made}:/workspace/deep", str(out)).status == 0, "cp")
        expect_equal((out / "er/file").read_text(), "new\n", "a copied file")
        next_one = call("create", "--from", made).stdout.decode().strip()
        expect_equal(changes_of(next_one), wanted, "changes of the next sandbox")
        call("destroy", "--discard", next_one)
        (root / "src/main.c").write_text("changed here\n")
        expect_refusal(call("apply", made), "src/main.c", "changed here since")
        (root / "src/main.c").unlink()
        expect(call("apply", made, "--force").status == 0, "apply")
        expect_equal(changes_of(made), {}, "what is left to apply")


@in_both_modes(suite)
def changes_outlive_a_destroyed_sandbox():
    check_end("destroy")


@in_both_modes(suite)
def changes_outlive_a_killed_init():
    if backend_flags() or os.environ.get("NUTSHELL_THROUGH_DAEMON"):
        raise Skip("the case ends every sandbox of a launcher")
    check_end("init")


@suite.case
def changes_outlive_a_killed_launcher():
    if backend_flags() or os.environ.get("NUTSHELL_THROUGH_DAEMON"):
        raise Skip("the case ends every sandbox of a launcher")
    check_end("launcher")


@suite.case
def changes_outlive_the_ttl():
    with workspace("--ttl", "3s") as (_, made):
        shell(made, "echo kept > file")
        expect(wait_until(lambda: not is_listed(made), 20), "its ttl is over")
        expect_equal(set(changes_of(made)), {"file"}, "its changes")


@suite.case
def discarded_and_unchanged_workspaces_leave_nothing():
    with workspace() as (_, made):
        call("destroy", made)
        expect_refusal(call("diff", made), made)
    with workspace() as (_, made):
        shell(made, "echo lost > file")
        expect(call("destroy", made, "--discard").status == 0, "destroy")
        expect_refusal(call("diff", made), made)
    expect_equal(call("list", "--ended", "-q").stdout.decode().split().count(made), 0, "the list")


@suite.case
def a_saver_that_is_killed_is_replaced_or_its_loss_is_told():
    if backend_flags() or os.environ.get("NUTSHELL_THROUGH_DAEMON"):
        raise Skip("only the native backend has this process")
    with workspace() as (_, made):
        shell(made, "echo kept > file")
        [launcher] = launchers()
        for pid in children_of(launcher, b"nutshell-saver"):
            os.kill(pid, signal.SIGKILL)
        call("destroy", made)
        expect_equal(set(changes_of(made)), {"file"}, "its changes")
    with workspace() as (_, made):
        shell(made, "echo lost > file")
        [launcher] = launchers()
        for pid in children_of(launcher, b"nutshell-saver"):
            os.kill(pid, signal.SIGKILL)
        os.kill(launcher, signal.SIGKILL)
        expect(wait_until(lambda: not is_listed(made), 20), "it still lives")
        expect_refusal(call("diff", made), made, "has ended", "was killed too")


@suite.case
def saved_changes_are_bounded_and_expire():
    with environment("NUTSHELL_SAVED_BYTES", "100k"), workspace() as (_, made):
        shell(made, "head -c 200k /dev/urandom > file")
        ended = call("destroy", made)
        expect(b"could not be saved" in ended.stderr, f"destroy: {ended!r}")
        expect_refusal(call("diff", made), "NUTSHELL_SAVED_BYTES")
    with workspace() as (_, made):
        shell(made, "echo x > file")
        call("destroy", made)
        expect(call("gc").status == 0, "gc")
        expect_equal(set(changes_of(made)), {"file"}, "its changes after gc")
        with environment("NUTSHELL_SAVED_DAYS", "0"):
            expect(made.encode() in call("gc").stdout, "gc says what it removes")
        expect_refusal(call("diff", made), made)


@suite.case
def a_small_sandbox_cannot_push_out_the_saved_changes_of_others():
    """Sparse files and hard links make many bytes of a small disk."""
    with environment("NUTSHELL_SAVED_BYTES", "48m"), workspace() as (_, honest):
        shell(honest, "echo x > file")
        call("destroy", honest)
        for attack in ("truncate -s 3m $(seq 14)", "head -c 1m /dev/zero > 0; for i in $(seq 40); do ln 0 $i; done"):
            for _ in range(2):
                with workspace("--disk", "4m") as (_, made):
                    shell(made, attack)
                    ended = call("destroy", made)
                    expect(b"could not be saved" in ended.stderr, f"{attack}: {ended!r}")
                    expect_refusal(call("diff", made), "disk limit")
        expect_equal(set(changes_of(honest)), {"file"}, "the changes of the other")


HOSTILE = r"""
mkfifo fifo; ln -s /etc/passwd link; ln -s . loop; ln -s ../../.. up; ln -s loop/loop/README again
echo x > "$(printf 'new\nline')"; echo x > "$(printf '\033[31mred')"; echo x > "$(printf '\377\376')"
echo x > -rf; echo x > ...; echo x > "$(printf 'n%.0s' $(seq 255))"; echo x > .wh.README; echo x > .wh..wh..opq
echo x > closed; chmod 000 closed; truncate -s 3m sparse
ln closed hard; rm README; rm -r src; echo x > src; mkdir data.new
"""


@in_both_modes(suite)
def saved_changes_are_those_of_the_living_sandbox_whatever_it_left():
    """A reader of the layers must neither wait, nor follow a link out of them, nor lose a name."""
    with workspace() as (root, made):
        shell(made, HOSTILE)
        before = snapshot(root)
        wanted = changes_of(made)
        call("destroy", made)
        found = changes_of(made)
        del wanted["fifo"]  # it has no content that could be saved
        for name in wanted.keys() | found.keys():
            expect_equal(found.get(name), wanted.get(name), f"the change of {name!r}")
        expect_equal(snapshot(root), before, "the host's files")
    with workspace() as (_, made):
        shell(made, "for i in $(seq 300); do mkdir $(printf 'd%.0s' $(seq 40)); cd d*; done; echo x > end")
        living = call("diff", made, "--json")
        call("destroy", made)
        expect_equal(call("diff", made, "--json").status, living.status, f"deep directories: {living!r}")


@suite.case
def saved_changes_need_no_mounts_of_their_sandbox():
    if os.environ.get("NUTSHELL_THROUGH_DAEMON") or backend_flags():
        raise Skip("only native sandboxes have mounts of this kind")
    with scratch() as directory:
        (directory / "tools").mkdir()
        with workspace("--mount", f"{directory}/tools:/opt/tools") as (_, made):
            shell(made, "echo x > file")
            call("destroy", made)
            (directory / "tools").rmdir()
            expect_equal(set(changes_of(made)), {"file"}, "its changes")


@suite.case
def diff_names_a_file_that_is_too_large_to_show():
    with workspace() as (_, made):
        shell(made, "truncate -s 70m large; echo x > small")
        shown = call("diff", made)
        expect_equal(shown.status, 0, "diff")
        expect(b"# large: too large to show" in shown.stdout and b"+x" in shown.stdout, shown.stdout[:300])
        patch = call("diff", made, "--patch")
        expect(patch.status == 0 and b"large" in patch.stderr and b"+x" in patch.stdout, f"{patch!r}")


@suite.case
def apply_leaves_out_what_is_excluded():
    with workspace() as (root, made):
        shell(made, "mkdir build; echo x > build/out; echo more >> README; echo y > new")
        (root / "README").write_text("changed here\n")
        expect_refusal(call("apply", made), "--exclude")
        expect_equal(call("apply", made, "--exclude", "README", "--exclude", "build").status, 0, "apply")
        expect_equal((root / "new").read_text(), "y\n", "new")
        expect_equal(((root / "build").exists(), (root / "README").read_text()),
                     (False, "changed here\n"), "what was left out")
        expect_refusal(call("apply", made, "--exclude", ".git/objects"), "as a whole")


@suite.case
def apply_takes_only_what_is_named():
    with workspace() as (root, made):
        shell(made, "mkdir build; echo x > build/out; echo x > build/more; echo more >> README; echo y > new")
        dry = call("apply", made, "--only", "build", "--dry-run")
        expect(dry.status == 0 and b"build/out" in dry.stdout and b"README" not in dry.stdout, f"dry run: {dry!r}")
        expect_equal(call("apply", made, "--only", "build", "--exclude", "build/more").status, 0, "both")
        expect_equal(sorted(path.name for path in (root / "build").iterdir()), ["out"], "all but one file")
        expect_equal(call("apply", made, "--only", "build/more", "--only", "new").status, 0, "apply")
        expect_equal(((root / "build/out").read_text(), (root / "new").read_text()), ("x\n", "y\n"), "what was named")
        expect("more" not in (root / "README").read_text(), "another file was written")
        expect((root / "build/more").exists(), "another file that was named")
        expect_refusal(call("apply", made, "--only", "none"), "none")


@suite.case
def names_and_this_directory_choose_a_sandbox():
    with workspace("--name", "a-name") as (root, made):
        expect_equal(call("exec", "a-name", "--", "sh", "-c", "echo x > file").status, 0, "by its name")
        for words in (("info",), ("stats",), ("pause",), ("resume",), ("tool", "call", "ls", "{}", "-s"), ("extend", "--ttl", "1h")):
            expect_equal(call(*words, "a-name").status, 0, f"{words} by its name")
            expect_equal(call(*(word for word in words if word != "-s"), cwd=root).status, 0, f"{words} by its directory")
        call("tool", "call", "write", "-s", "a-name", '{"path": "undone", "content": "x"}')
        expect(b"undone" in call("undo", cwd=root).stdout, "undo by its directory")
        expect_refusal(call("create", "--name", "a-name"), "a-name")
        expect_refusal(call("create", "--name", "n123abc"), "id of a sandbox")
        for directory in (root, root / "src"):
            shown = call("diff", "--stat", cwd=directory)
            expect_equal(shown.stdout, b"A file  +1 -0\n", f"diff in {directory}")
        expect_refusal(call("diff", cwd=root.parent), "no sandbox has this directory")
        call("destroy", made)
        expect(b"file" in call("diff", "--stat", cwd=root).stdout, "after its end")


if __name__ == "__main__":
    sys.exit(suite.run())
