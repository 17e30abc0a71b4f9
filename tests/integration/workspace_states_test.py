#!/usr/bin/env python3
"""Checkpoints of a workspace, and what takes it back or elsewhere: rollback, discard, fork."""
import sys

from support import Suite, call, expect, expect_equal, expect_refusal, sandbox
from workspace_fixture import CHANGES, changes_of, in_both_modes, shell, workspace

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


if __name__ == "__main__":
    sys.exit(suite.run())
