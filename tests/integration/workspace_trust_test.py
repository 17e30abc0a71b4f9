#!/usr/bin/env python3
"""Files that a sandbox plants for git and other tools of the host stay in the sandbox."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

from support import Skip, Suite, call, expect, expect_equal, expect_refusal, sandbox, scratch
from workspace_fixture import in_both_modes, mode_flags, shell

suite = Suite()

ENVIRONMENT = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent",
               "GIT_AUTHOR_NAME": "user", "GIT_AUTHOR_EMAIL": "user@host",
               "GIT_COMMITTER_NAME": "user", "GIT_COMMITTER_EMAIL": "user@host"}
AGENT = "export HOME=/tmp; git config --global user.name agent; git config --global user.email a@b; "


def git(root, *arguments, status=0):
    done = subprocess.run(["git", "-C", str(root), *arguments], env=ENVIRONMENT, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if status is not None:
        expect(done.returncode == status, f"git {arguments}: {done.returncode} {done.stderr[:300]}")
    return done.stdout


@contextlib.contextmanager
def repository(*flags):
    if not shutil.which("git"):
        raise Skip("git is missing")
    with scratch() as directory:
        root = directory / "project"
        root.mkdir()
        git(root, "init", "-q", "-b", "main")
        (root / "a.txt").write_text("one\n")
        git(root, "add", "a.txt")
        git(root, "commit", "-q", "-m", "first")
        time.sleep(0.02)
        with sandbox("--workspace", str(root), *mode_flags, *flags) as made:
            if call("exec", made, "--", "git", "--version").status != 0:
                raise Skip("there is no git in the sandbox")
            yield root, made


def set_off_traps(root):
    """Everything that a user does in a repository without thinking of danger."""
    inner = {".git", "objects", "refs", "hooks", "info", "branches", "logs"}
    below = [path for path in root.rglob("*")
             if path.is_dir() and not inner & set(path.relative_to(root).parts)]
    for place in (root, *below):
        for words in (("status",), ("diff",), ("log", "-1"), ("restore", "."), ("stash",),
                      ("commit", "-q", "--allow-empty", "-m", "mine"), ("checkout", "-q", "-b", "other")):
            git(place, *words, status=None)
    for words in (("gc", "-q"), ("submodule", "status"), ("worktree", "list")):
        git(root, *words, status=None)


def report_of(made, *flags):
    ended = call("apply", made, "--json", *flags)
    expect(ended.status == 0, f"apply: {ended!r}")
    report = json.loads(ended.stdout)
    return {one["path"]: one for one in report["applied"]}, {one["path"]: one for one in report["held"]}


# Traps by name; each plants a program that would make the file CANARY.
PROGRAM = "printf '#!/bin/sh\\necho ran >> CANARY\\n' > %s; chmod 755 %s; "
TRAPS = {
    "fsmonitor": "git config core.fsmonitor 'echo ran >> CANARY; false'",
    "hooks": "for h in pre-commit post-commit post-checkout post-index-change reference-transaction; do "
             + PROGRAM % (".git/hooks/$h", ".git/hooks/$h") + " done",
    "filter": "echo '*.txt filter=x' > .git/info/attributes; touch a.txt; "
              "git config filter.x.clean 'echo ran >> CANARY; cat'",
    "gitfile": "mkdir -p evil sub; git init -q evil/g; git -C evil/g config core.fsmonitor "
               "'echo ran >> CANARY; false'; mv evil/g/.git evil/store; "
               "echo 'gitdir: ../evil/store' > sub/.git",
    "link": "mkdir sub; git init -q away; git -C away config core.fsmonitor 'echo ran >> CANARY; false'; "
            "mv away/.git away/store; ln -s ../away/store sub/.git",
    "bare": "git init -q --bare bare; cd bare; git config core.bare false; git config core.worktree ..; "
            "git config core.fsmonitor 'echo ran >> CANARY; false'",
    "new repository": "git init -q sub; git -C sub config core.fsmonitor 'echo ran >> CANARY; false'",
    "other case": "git init -q sub; git -C sub config core.fsmonitor 'echo ran >> CANARY; false'; "
                  "mv sub/.git sub/.GIT",
    "submodule": "git init -q lib; cd lib; git commit -q --allow-empty -m lib; cd ..; "
                 "git -c protocol.file.allow=always submodule -q add ./lib mod && "
                 "git -C mod config core.fsmonitor 'echo ran >> CANARY; false'; " +
                 PROGRAM % (".git/modules/mod/hooks/post-commit", ".git/modules/mod/hooks/post-commit"),
    "worktree": "git worktree add -q tree; git config extensions.worktreeConfig true; "
                "git -C tree config --worktree core.fsmonitor 'echo ran >> CANARY; false'",
    "include": "printf '[core]\\n\\tfsmonitor = echo ran >> CANARY; false\\n' > .git/more; "
               "git config include.path more",
    "common directory": "mkdir -p c/objects c/refs w; printf 'ref: refs/heads/x\\n' > w/HEAD; "
                        "printf '../c\\n' > w/commondir; printf '[core]\\n\\tworktree = ..\\n\\tfsmonitor = "
                        "echo ran >> CANARY; false\\n' > c/config",
}


def plant(made, trap, canary):
    shell(made, f"cd /workspace; {AGENT} {trap.replace('CANARY', str(canary))}")


@in_both_modes(suite)
def nothing_that_git_would_run_is_applied():
    for name, trap in TRAPS.items():
        if mode_flags and name not in ("fsmonitor", "hooks", "gitfile", "bare"):
            continue  # the judge is the same; what differs is how changes are found
        with repository() as (root, made):
            canary = root.parent / "canary"
            plant(made, trap, canary)
            ended = call("apply", made)
            expect(ended.status == 0 and b"--unsafe-git" in ended.stderr, f"{name}: {ended!r}")
            set_off_traps(root)
            expect(not canary.exists(), f"{name}: the host's git ran what the sandbox planted")
            git(root, "fsck", "--strict")


@suite.case
def the_traps_are_real():
    for name in ("fsmonitor", "hooks", "new repository"):
        with repository() as (root, made):
            canary = root.parent / "canary"
            plant(made, TRAPS[name], canary)
            ended = call("apply", made, "--unsafe-git")
            expect(ended.status == 0, f"{name}: {ended!r}")
            set_off_traps(root)
            expect(canary.exists(), f"{name}: --unsafe-git did not take it")


EVIL_INDEX = r"""
import hashlib, os, struct, subprocess
program = b"#!/bin/sh\necho ran >> CANARY\n"
blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], input=program, capture_output=True,
                      check=True).stdout.decode().strip()
name = b".git/hooks/post-checkout"
entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + bytes.fromhex(blob)
entry += struct.pack(">H", len(name)) + name
entry += b"\0" * (8 - len(entry) % 8)
data = b"DIRC" + struct.pack(">II", 2, 1) + entry
with open(".git/index", "wb") as file:
    file.write(data + hashlib.sha1(data).digest())
"""


@in_both_modes(suite)
def an_index_that_writes_hooks_is_held():
    with repository() as (root, made):
        canary = root.parent / "canary"
        (root / "make.py").write_text(EVIL_INDEX.replace("CANARY", str(canary)))
        if call("exec", made, "--", "/usr/bin/python3", "--version").status != 0:
            raise Skip("there is no Python in the sandbox")
        call("cp", str(root / "make.py"), f"{made}:/tmp/make.py")
        (root / "make.py").unlink()
        shell(made, "cd /workspace; /usr/bin/python3 /tmp/make.py")
        _, held = report_of(made)
        expect("outside the work tree" in held[".git/index"]["held_why"], f"held: {held}")
        set_off_traps(root)
        expect(not canary.exists() and not (root / ".git/hooks/post-checkout").exists(), "it ran")


@in_both_modes(suite)
def commits_of_the_sandbox_are_applied_whole():
    with repository() as (root, made):
        shell(made, f"cd /workspace; {AGENT} echo two >> a.txt; mkdir d; echo x > d/b.txt; git add .;"
                    " git commit -q -m second; git branch feature/x; git tag -a v1 -m tag;"
                    " git config user.name agent")
        applied, held = report_of(made)
        expect_equal(set(held), {".git/config"}, "what is held back")
        expect(".git/refs/heads/main" in applied, f"applied: {sorted(applied)}")
        expect_equal(git(root, "log", "--format=%s").split(), ["second", "first"], "the log")
        expect_equal(git(root, "status", "--porcelain"), "", "the status")
        expect_equal(git(root, "branch", "--format=%(refname:short)").split(), ["feature/x", "main"],
                     "branches")
        git(root, "fsck", "--strict")
        shell(made, f"cd /workspace; {AGENT} git branch -q -D feature/x; git branch feature;"
                    " echo three >> a.txt; git commit -q -a -m third; git gc -q --prune=now")
        report_of(made)
        expect_equal(git(root, "log", "--format=%s").split(), ["third", "second", "first"], "after gc")
        git(root, "fsck", "--strict")


@in_both_modes(suite)
def a_new_repository_works_without_its_configuration():
    with repository() as (root, made):
        shell(made, f"mkdir /workspace/new; cd /workspace/new; {AGENT} git init -q -b main;"
                    " echo x > f; git add f; git commit -q -m new")
        _, held = report_of(made)
        expect("new/.git/config" in held and "new/.git/HEAD" not in held, f"held: {sorted(held)}")
        expect_equal(git(root / "new", "log", "--format=%s").strip(), "new", "its log")
        expect_equal(git(root / "new", "status", "--porcelain"), "", "its status")
        git(root / "new", "fsck", "--strict")
        shell(made, f"cd /workspace; {AGENT} git init -q --object-format=sha256 other; cd other;"
                    " echo x > f; git add f; git commit -q -m other")
        _, held = report_of(made)
        expect("other/.git/HEAD" in held and not (root / "other/.git").exists(), f"held: {sorted(held)}")


@suite.case
def references_are_not_applied_without_objects():
    with repository() as (root, made):
        shell(made, f"cd /workspace; {AGENT} echo two >> a.txt; git commit -q -a -m second")
        before = git(root, "rev-parse", "HEAD")
        expect_refusal(call("apply", made, "--path", ".git/refs"), "objects", "nothing was written")
        expect_equal(git(root, "rev-parse", "HEAD"), before, "the commit")
        git(root, "fsck", "--strict")


@suite.case
def hooks_in_a_directory_of_the_users_choice_are_held():
    with repository() as (root, made):
        git(root, "config", "core.hooksPath", "tools/hooks")
        shell(made, "mkdir -p /workspace/tools/hooks; cd /workspace/tools; echo x > plain;"
                    " printf '#!/bin/sh\\nexit 1\\n' > hooks/pre-commit; chmod 755 hooks/pre-commit")
        applied, held = report_of(made)
        expect_equal(held["tools/hooks/pre-commit"]["take_with"], "--path tools/hooks", "how to take it")
        expect("tools/plain" in applied, f"applied: {sorted(applied)}")
        copied = call("cp", f"{made}:/workspace/.", str(root))
        expect(copied.status == 0 and b"tools/hooks" in copied.stderr, f"cp: {copied!r}")
        expect(not (root / "tools/hooks/pre-commit").exists(), "cp wrote the hook")
        expect(call("apply", made, "--path", "tools/hooks").status == 0, "by name")
        expect((root / "tools/hooks/pre-commit").exists(), "what was named")


@in_both_modes(suite)
def removing_a_repository_is_held():
    with repository() as (root, made):
        shell(made, "cd /workspace; rm -rf .git; echo x > b.txt")
        _, held = report_of(made)
        expect(".git" in held and ".git/config" in held, f"held: {sorted(held)[:5]}")
        expect((root / "b.txt").exists(), "the rest")
        git(root, "fsck", "--strict")
        expect_equal(git(root, "log", "--format=%s").strip(), "first", "the log")


TRUSTED = {".envrc": "x", ".mcp.json": "{}", ".claude/settings.json": "{}", ".vscode/tasks.json": "{}",
           ".idea/workspace.xml": "x", ".husky/pre-commit": "x", "web/.envrc": "x", ".hg/hgrc": "[hooks]",
           "web/.jj/config.toml": "x",
           "web/package.json": '{"scripts": {"postinstall": "evil"}}', "CLAUDE.md": "obey"}


def write_trusted(made):
    for path, content in TRUSTED.items():
        shell(made, f"cd /workspace; mkdir -p $(dirname {path}); echo '{content}' > {path}")
    shell(made, "cd /workspace; echo x > plain; echo '{\"name\": \"x\"}' > package.json")


@in_both_modes(suite)
def paths_that_tools_trust_are_taken_by_name_alone():
    with repository() as (root, made):
        write_trusted(made)
        applied, held = report_of(made)
        directories = (".claude", ".vscode", ".idea", ".husky", ".hg", ".jj")
        expect_equal({path for path in held if not path.endswith(directories)}, set(TRUSTED),
                     "what is held back")
        expect_equal(held[".envrc"]["take_with"], "--path .envrc", "how to take it")
        expect("direnv" in held[".envrc"]["held_why"], f"{held['.envrc']}")
        expect({"plain", "package.json", "web"} <= set(applied), f"applied: {sorted(applied)}")
        expect(not any((root / path).exists() for path in TRUSTED), "a trusted path was written")
        told = call("apply", made)
        expect(b"direnv runs it" in told.stderr and b"--path '.envrc'" in told.stderr, f"{told!r}")
        expect_refusal(call("apply", made, "--path", "web"), "nothing was written", "web/.envrc")
        for path in (".envrc", ".vscode", ".claude/settings.json", "web/package.json"):
            expect(call("apply", made, "--path", path).status == 0, f"--path {path}")
        for path in (".envrc", ".vscode/tasks.json", ".claude/settings.json", "web/package.json"):
            expect((root / path).exists(), f"{path} was named and is not there")
        expect(not (root / "web/.envrc").exists(), "a path that was not named")


@suite.case
def diff_and_apply_mark_programs_and_what_is_held():
    with scratch() as directory:
        root = directory / "project"
        root.mkdir()
        (root / "old.sh").write_text("x\n")
        with sandbox("--workspace", str(root)) as made:
            shell(made, "cd /workspace; echo y > new.sh; chmod 755 new.sh old.sh; echo e > .envrc;"
                        " mkdir -p .git/hooks; echo h > .git/hooks/pre-commit")
            changes = {one["path"]: one for one in
                       json.loads(call("diff", made, "--json").stdout)["changes"]}
            expect(changes["new.sh"]["newly_executable"] and changes["old.sh"]["newly_executable"],
                   f"{changes}")
            expect_equal((changes[".envrc"]["held_by"], changes[".git/hooks/pre-commit"]["held_by"]),
                         ("trusted", "git"), "who holds them")
            expect("held_by" not in changes["new.sh"], f"{changes['new.sh']}")
            stat = call("diff", made, "--stat").stdout.decode()
            expect("new.sh  +1 -0 (new executable)" in stat and "(became executable)" in stat, stat)
            expect(stat.index("new.sh") < stat.index("holds back") < stat.index("\nA .envrc"), stat)
            text = call("diff", made).stdout.decode()
            expect("# new.sh (new executable)" in text and "direnv runs it" in text, text)
            patch = call("diff", made, "--patch")
            expect(b".envrc" not in patch.stdout and b".git/" not in patch.stdout, f"{patch!r}")
            expect(b"not in the patch" in patch.stderr and b"direnv" in patch.stderr, f"{patch!r}")
            named = call("diff", made, "--patch", "--path", ".envrc")
            expect(b"b/.envrc" in named.stdout, f"{named!r}")
            ended = call("apply", made)
            expect(b"A new.sh (new executable)" in ended.stdout, f"{ended!r}")
            expect(b"M old.sh (became executable)" in ended.stdout, f"{ended!r}")


@suite.case
def cp_leaves_the_same_files_in_the_sandbox():
    with repository() as (root, made):
        canary = root.parent / "canary"
        plant(made, TRAPS["fsmonitor"] + "; " + TRAPS["hooks"], canary)
        write_trusted(made)
        out = root.parent / "out"
        ended = call("cp", f"{made}:/workspace", str(out))
        expect(ended.status == 0 and b"--unsafe-git" in ended.stderr, f"cp: {ended!r}")
        expect(b"by its own name" in ended.stderr, f"cp: {ended!r}")
        expect((out / "plain").exists() and (out / ".git/HEAD").exists(), "ordinary files")
        expect(not any((out / path).exists() for path in TRUSTED), "a trusted path came out")
        expect(not (out / ".git/config").exists() and not (out / ".git/hooks").exists(), "git's")
        set_off_traps(out)
        expect(not canary.exists(), "the host's git ran what the sandbox planted")
        # Named files come out; parts of git only with the flag.
        for source, target in ((".envrc", out), (".vscode", out), (".git/config", out / "text")):
            expect(call("cp", f"{made}:/workspace/{source}", str(target)).status == 0, source)
        expect((out / ".vscode/tasks.json").exists() and (out / ".envrc").exists(), "by name")
        expect_refusal(call("cp", f"{made}:/workspace/.git/config", str(out / ".git/config")),
                       "--unsafe-git")
        hooks = call("cp", f"{made}:/workspace/.git/hooks", str(out / ".git"))
        expect(not (out / ".git/hooks/pre-commit").exists(), f"hooks: {hooks!r}")
        bare = call("cp", f"{made}:/workspace/.git", str(root.parent / "bare"))
        expect(bare.status == 0 and not (root.parent / "bare/config").exists(), f"bare: {bare!r}")
        whole = call("cp", "--unsafe-git", f"{made}:/workspace/.git", str(root.parent / "whole"))
        expect(whole.status == 0 and (root.parent / "whole/config").exists(), f"{whole!r}")


@suite.case
def a_workspace_inside_a_git_directory_is_no_way_out():
    if not shutil.which("git"):
        raise Skip("git is missing")
    with scratch() as directory:
        git(directory, "init", "-q", "project")
        hooks = directory / "project/.git/hooks"
        hooks.mkdir(exist_ok=True)
        with sandbox("--workspace", str(hooks)) as made:
            shell(made, "echo x > /workspace/pre-commit; chmod 755 /workspace/pre-commit")
            expect(call("apply", made).status == 0, "apply")
            expect(not (hooks / "pre-commit").exists(), "a hook was written")
        git(directory, "init", "-q", "--bare", "bare.git")
        with sandbox("--workspace", str(directory / "bare.git")) as made:
            shell(made, "cd /workspace; mkdir -p hooks; echo x > hooks/update; echo x >> config")
            _, held = report_of(made)
            expect({"config", "hooks/update"} <= set(held), f"held: {held}")


if __name__ == "__main__":
    sys.exit(suite.run())
