#!/usr/bin/env python3
"""The user's directory as a copy-on-write workspace: diff, apply, discard, checkpoints, forks."""
import contextlib
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from support import (PYTHON, Skip, Suite, call, expect, expect_equal, expect_refusal, repetitions,
                     sandbox, scratch, start)

suite = Suite()
mode_flags = []


def in_both_modes(case):
    """Over the directory's layers or on a copy of it: nobody can tell the difference."""
    def copied():
        mode_flags[:] = ["--workspace-mode", "copy"]
        try:
            case()
        finally:
            mode_flags.clear()
    copied.__name__ = f"{case.__name__}_when_copied"
    suite.case(case)
    suite.case(copied)
    return case


def shell(made, text, status=0):
    ended = call("exec", made, "--", "sh", "-c", text)
    expect(ended.status == status, f"{text!r}: {ended!r}")
    return ended.stdout.decode(errors="surrogateescape")


def make_tree(root):
    root.mkdir(exist_ok=True)
    (root / "src").mkdir()
    (root / "src/main.c").write_text("int main(void) {\n  return 0;\n}\n")
    (root / "src/tool.sh").write_text("#!/bin/sh\necho tool\n")
    (root / "src/tool.sh").chmod(0o755)
    (root / "data").mkdir()
    (root / "data/blob").write_bytes(bytes(range(256)) * 4)
    (root / "data/old.txt").write_text("old\n")
    (root / "README").write_text("hello\n")
    (root / "link").symlink_to("README")
    return root


def snapshot(root):
    """Bytes, modes and links of a tree, by path."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in names + files:
            path = Path(directory) / name
            status = path.lstat()
            kind = stat.S_IFMT(status.st_mode)
            content = os.readlink(path) if stat.S_ISLNK(kind) else (
                path.read_bytes() if stat.S_ISREG(kind) else None)
            mode = 0 if stat.S_ISLNK(kind) else stat.S_IMODE(status.st_mode)
            found[str(path.relative_to(root))] = (kind, mode, content)
    return found


CHANGES = """
set -e
cd /workspace
printf 'int main(void) {\\n  return 1;\\n}\\n' > src/main.c
chmod 700 src/tool.sh
rm data/old.txt
mkdir -p deep/er && echo new > deep/er/file
rm link && ln -s src/main.c link
rm README && mkdir README && echo inside > README/file
printf '\\000\\001\\377' > binary
head -c 300000 /dev/urandom > data/blob
ln -s nowhere dangling
mv src/tool.sh src/renamed.sh
"""


@contextlib.contextmanager
def workspace(*flags):
    with scratch() as directory:
        root = make_tree(directory / "project")
        time.sleep(0.02)
        with sandbox("--workspace", str(root), *mode_flags, *flags) as made:
            yield root, made


def changes_of(made, *flags):
    ended = call("diff", made, "--json", *flags)
    expect(ended.status == 0, f"diff: {ended!r}")
    return {change["path"]: change for change in json.loads(ended.stdout)["changes"]}


@in_both_modes
def the_sandbox_sees_the_directory_and_leaves_it_untouched():
    with workspace() as (root, made):
        before = snapshot(root)
        expect_equal(shell(made, "cat README; readlink link; stat -c %u README"),
                     "hello\nREADME\n1000\n", "what the sandbox sees")
        shell(made, CHANGES)
        expect_equal(snapshot(root), before, "the host's files")
        expect_equal(shell(made, "cat deep/er/file README/file"), "new\ninside\n", "its own")


@in_both_modes
def a_one_shot_run_sees_the_directory_too():
    with scratch() as directory:
        root = make_tree(directory / "project")
        before = snapshot(root)
        ended = call("run", "--workspace", str(root), *mode_flags, "--", "sh", "-c", "cat README; echo x > README")
        expect_equal((ended.status, ended.stdout), (0, b"hello\n"), "run")
        expect_equal(snapshot(root), before, "the host's files")


@in_both_modes
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


@in_both_modes
def git_applies_the_patch():
    if not shutil.which("git"):
        raise Skip("git is missing")
    with workspace() as (root, made):
        shell(made, CHANGES)
        patch = call("diff", made, "--patch")
        expect(patch.status == 0, f"diff: {patch!r}")
        copy = root.parent / "copy"
        shutil.copytree(root, copy, symlinks=True)
        applied = subprocess.run(["git", "apply", "-"], cwd=copy, input=patch.stdout,
                                 capture_output=True, check=False)
        expect(applied.returncode == 0, f"git apply: {applied.stderr.decode()[:400]}")
        expect(call("apply", made).status == 0, "apply")
        ours = {path: entry for path, entry in snapshot(root).items() if entry[0] != stat.S_IFDIR}
        gits = {path: entry for path, entry in snapshot(copy).items() if entry[0] != stat.S_IFDIR}
        expect_equal({path: (entry[0], entry[1] & 0o100, entry[2]) for path, entry in gits.items()},
                     {path: (entry[0], entry[1] & 0o100, entry[2]) for path, entry in ours.items()},
                     "what git made of the patch")


@suite.case
def apply_writes_everything_back():
    with workspace() as (root, made):
        shell(made, CHANGES)
        before = snapshot(root)
        dry = call("apply", made, "--dry-run")
        expect(dry.status == 0 and b"M src/main.c" in dry.stdout, f"dry run: {dry!r}")
        expect_equal(snapshot(root), before, "the host's files after a dry run")
        owner = root.stat().st_uid
        ended = call("apply", made)
        expect(ended.status == 0, f"apply: {ended!r}")
        after = snapshot(root)
        expect_equal(after["src/main.c"][2], b"int main(void) {\n  return 1;\n}\n", "a file")
        expect_equal(after["src/renamed.sh"][1], 0o700, "a mode")
        expect_equal(after["link"][2], "src/main.c", "a link")
        expect_equal(after["README/file"][2], b"inside\n", "a file that became a directory")
        expect("data/old.txt" not in after and "src/tool.sh" not in after, "removed files are there")
        expect(not (root / ".nutshell-apply").exists(), "the staging directory is left")
        expect_equal({path.lstat().st_uid for path in root.rglob("*")}, {owner}, "owners")
        expect_equal(changes_of(made), {}, "changes after apply")
        shell(made, "rm -r README && echo again > README && echo more >> src/main.c")
        ended = call("apply", made)
        expect(ended.status == 0, f"a second apply: {ended!r}")
        expect_equal((root / "README").read_text(), "again\n", "a directory that became a file")


@suite.case
def apply_takes_one_path():
    with workspace() as (root, made):
        shell(made, "echo a > README; echo b > src/main.c")
        expect(call("apply", made, "--path", "src").status == 0, "apply --path")
        expect_equal((root / "README").read_text(), "hello\n", "what was not named")
        expect_equal((root / "src/main.c").read_text(), "b\n", "what was named")
        expect_equal(set(changes_of(made)), {"README"}, "what is left")


@in_both_modes
def apply_refuses_what_changed_here_meanwhile():
    with workspace() as (root, made):
        shell(made, "echo theirs > README; echo theirs > src/main.c; echo x > both; rm data/old.txt")
        (root / "README").write_text("ours\n")
        (root / "both").write_text("ours\n")
        before = snapshot(root)
        ended = call("apply", made)
        expect_refusal(ended, "2 conflicts", "README", "both", "--force")
        expect_equal(snapshot(root), before, "the host's files")
        expect(call("apply", made, "--path", "src").status == 0, "what has no conflict")
        expect(call("apply", made, "--force").status == 0, "--force")
        expect_equal((root / "README").read_text(), "theirs\n", "forced")


@in_both_modes
def apply_never_leaves_the_directory():
    with workspace() as (root, made):
        outside = root.parent / "outside"
        outside.mkdir()
        (outside / "victim").write_text("safe\n")
        # The sandbox writes below a name that the host has as a link out of the directory.
        shell(made, f"mkdir out && echo owned > out/victim && rm -r data && ln -s {outside} data"
                    " && ln -s ../outside/victim README.new && mv README.new README"
                    " && mkdir .nutshell-apply && echo x > .nutshell-apply/new")
        (root / "out").symlink_to(outside)
        for flags in ((), ("--force",)):
            call("apply", made, *flags)
            expect_equal((outside / "victim").read_text(), "safe\n", f"a file outside {flags}")
            expect_equal(sorted(os.listdir(outside)), ["victim"], f"the outside {flags}")


@in_both_modes
def setuid_bits_do_not_come_out():
    with workspace() as (root, made):
        shell(made, "cp src/tool.sh s && chmod 6755 s; mkdir d && chmod 2777 d")
        expect(call("apply", made).status == 0, "apply")
        expect_equal(stat.S_IMODE((root / "s").stat().st_mode), 0o755, "mode of a file")
        expect_equal(stat.S_IMODE((root / "d").stat().st_mode), 0o777, "mode of a directory")


@in_both_modes
def names_that_are_no_text_survive():
    with workspace() as (root, made):
        shell(made, r"""printf x > "$(printf 'a\nb')"; printf y > "$(printf '\377\376')"; """
                    r"""printf z > 'with "quotes" and \'; printf t > "$(printf 'tab\there')" """)
        expect_equal(len(changes_of(made)), 4, "the number of changes")
        if shutil.which("git"):
            copy = root.parent / "copy"
            shutil.copytree(root, copy, symlinks=True)
            patch = call("diff", made, "--patch").stdout
            applied = subprocess.run(["git", "apply", "-"], cwd=copy, input=patch,
                                     capture_output=True, check=False)
            expect(applied.returncode == 0, f"git apply: {applied.stderr.decode()[:300]}")
        expect(call("apply", made).status == 0, "apply")
        expect_equal((root / "a\nb").read_text(), "x", "a name with a newline")
        if shutil.which("git"):
            expect_equal({p: e[2] for p, e in snapshot(copy).items()},
                         {p: e[2] for p, e in snapshot(root).items()}, "what git made of it")


@in_both_modes
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


@in_both_modes
def checkpoints_can_be_gone_back_to():
    with workspace() as (_, made):
        check_checkpoints(made)


@suite.case
def checkpoints_need_no_workspace():
    with sandbox() as made:
        check_checkpoints(made)
        expect(call("discard", made).status == 0, "discard")
        expect_equal(shell(made, "ls -A"), "", "what is left")


@in_both_modes
def what_runs_is_a_reason_to_refuse_unless_killed():
    with workspace() as (_, made):
        shell(made, "echo 1 > file; setsid sleep 60 >/dev/null 2>&1 & exit 0")
        for words in (("checkpoint", made), ("rollback", made, "base"), ("discard", made)):
            expect_refusal(call(*words), "running", "--kill")
        ended = call("checkpoint", made, "--kill")
        expect(ended.status == 0, f"--kill: {ended!r}")
        expect_equal(shell(made, "pgrep sleep || echo none"), "none\n", "what still runs")


@in_both_modes
def a_fork_has_the_same_files_and_its_own_life():
    with workspace() as (root, made):
        shell(made, CHANGES)
        ended = call("fork", made, "-n", "2")
        expect(ended.status == 0 and b"left behind" in ended.stderr, f"fork: {ended!r}")
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


def records(made):
    return sorted(path.name for path in Path(os.environ["NUTSHELL_RUNTIME_DIR"]).glob("applied-*")
                  if made in path.name)


@suite.case
def what_was_applied_is_forgotten_with_the_sandbox():
    with workspace() as (_, made):
        shell(made, "echo more > README")
        expect(call("apply", made).status == 0, "apply")
        expect_equal(records(made), [f"applied-{made}"], "records while it lives")
        expect(call("gc").status == 0, "gc")
        expect_equal(records(made), [f"applied-{made}"], "records after gc, while it lives")
        call("destroy", made)
        expect_equal(records(made), [], "records of a destroyed sandbox")
    with workspace("--ttl", "1s") as (_, made):
        shell(made, "echo more > README")
        expect(call("apply", made).status == 0, "apply")
        time.sleep(1.5)
        expect_equal(records(made), [f"applied-{made}"], "records of a sandbox that ended itself")
        would = call("gc", "--dry-run")
        expect(made.encode() in would.stdout + would.stderr, f"gc --dry-run: {would!r}")
        expect_equal(records(made), [f"applied-{made}"], "records after a dry run")
        expect(call("gc").status == 0, "gc")
        expect_equal(records(made), [], "records after gc")


@in_both_modes
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


@in_both_modes
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


@in_both_modes
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
def apply_that_is_killed_tears_no_file():
    with scratch() as directory:
        root = directory / "project"
        root.mkdir()
        rng = random.Random(4)
        names = [f"file{number}" for number in range(40)]
        old = {name: rng.randbytes(20000) for name in names}
        for name in names:
            (root / name).write_bytes(old[name])
        time.sleep(0.02)
        with sandbox("--workspace", str(root)) as made:
            shell(made, "for f in file*; do tr '\\000-\\377' '\\001-\\377\\000' <$f >/tmp/x;"
                        " cat /tmp/x > $f; done; rm file0; mkdir new; echo n > new/file")
            new = {name: bytes((byte + 1) % 256 for byte in old[name]) for name in names}
            new["file0"] = None
            began = time.monotonic()
            expect(call("apply", made, "--dry-run").status == 0, "dry run")
            usual = time.monotonic() - began
            for _ in range(repetitions(30, 100, 400)):
                process = start("apply", made, "--force")
                time.sleep(rng.random() * usual * 2)
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGKILL)
                process.communicate()
                for name in names:
                    path = root / name
                    content = path.read_bytes() if path.exists() else None
                    expect(content in (old[name], new[name]), f"{name} is torn")
                    if rng.random() < 0.5:  # so that the next one has work again
                        path.write_bytes(old[name])
            ended = call("apply", made, "--force")
            expect(ended.status == 0, f"the last apply: {ended!r}")
            expect_equal({name: (root / name).read_bytes() if (root / name).exists() else None
                          for name in names}, new, "the files at the end")
            expect_equal(sorted(os.listdir(root)), sorted(names[1:] + ["new"]), "the names")


@suite.case
def the_disk_limit_covers_the_private_layer():
    with workspace("--disk", "8m") as (_, made):
        ended = call("exec", made, "--", "sh", "-c", "head -c 20000000 /dev/zero > big")
        expect(ended.status != 0 and b"space" in ended.stderr, f"{ended!r}")
        shell(made, "rm big; echo small > small")


@suite.case
def info_says_how_the_directory_came_in():
    for mode, words in (("auto", b"copy-on-write"), ("overlay", b"copy-on-write"),
                        ("copy", b"copied (as asked for)")):
        with workspace("--workspace-mode", mode) as (_, made):
            shown = call("info", made)
            expect(words in shown.stdout, f"{mode}: {shown!r}")
            told = json.loads(call("info", made, "--json").stdout)["workspace_mode"]
            expect_equal(told, "copy" if mode == "copy" else "overlay", mode)
    expect_refusal(call("create", "--workspace-mode", "magic"), "auto, overlay or copy")


@suite.case
def a_copy_knows_nothing_of_what_happens_on_the_host_later():
    with workspace("--workspace-mode", "copy") as (root, made):
        (root / "README").write_text("changed here\n")
        (root / "later").write_text("later\n")
        expect_equal(shell(made, "cat README; ls later 2>/dev/null || true"), "hello\n", "the copy")
        expect_equal(changes_of(made), {}, "changes")


@suite.case
def a_copy_is_applied_and_never_goes_apart_from_the_host_in_silence():
    with workspace("--workspace-mode", "copy") as (root, made):
        shell(made, CHANGES)
        for _ in range(2):
            ended = call("apply", made)
            expect(ended.status == 0, f"apply: {ended!r}")
            after = snapshot(root)
            expect_equal(after["README/file"][2], b"inside\n", "a file that became a directory")
            expect_equal(after["src/renamed.sh"][1], 0o700, "a mode")
            expect("data/old.txt" not in after and "src/tool.sh" not in after, "removed files")
        shell(made, "echo newer > deep/er/file; echo more >> src/main.c")
        expect(call("apply", made).status == 0, "apply of what changed again")
        expect_equal((root / "deep/er/file").read_text(), "newer\n", "a file of its own")
        shell(made, "rm deep/er/file")
        for words in (("apply", made), ("fork", made)):
            expect_refusal(call(*words), "deep/er/file was applied", "new sandbox")
    with workspace("--workspace-mode", "copy") as (root, made):
        shell(made, "cp -p data/old.txt /tmp/kept; rm data/old.txt")
        expect(call("apply", made, "--path", "data").status == 0, "apply of a removal")
        expect(not (root / "data/old.txt").exists(), "the removed file is there")
        shell(made, "cp -p /tmp/kept data/old.txt")
        expect_refusal(call("apply", made), "data/old.txt was applied", "new sandbox")


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


@suite.case
def a_directory_that_does_not_fit_is_not_copied():
    with scratch() as directory:
        root = make_tree(directory / "project")
        (root / "large").write_bytes(bytes(3 << 20))
        ended = call("create", "--workspace", str(root), "--workspace-mode", "copy", "--disk", "4m")
        expect_refusal(ended, "copy the workspace", "--disk")


@suite.case
def an_unsafe_mount_is_direct():
    with scratch() as directory:
        (directory / "data").mkdir()
        (directory / "data/in").write_text("in\n")
        where = str(directory / "data")
        ended = call("run", "--unsafe-mount", f"{where}:/workspace/d", "--", "sh", "-c",
                     "cat d/in && echo out > d/out")
        expect_equal((ended.status, ended.stdout), (0, b"in\n"), f"rw: {ended!r}")
        expect_equal((directory / "data/out").read_text(), "out\n", "what it wrote")
        ended = call("run", "--unsafe-mount", f"{where}:/tmp/x/y:ro", "--", "sh", "-c",
                     "cat /tmp/x/y/in; echo no > /tmp/x/y/no")
        expect(ended.status != 0 and ended.stdout == b"in\n", f"ro: {ended!r}")
        expect_refusal(call("run", "--unsafe-mount", f"{where}:relative", "--", "true"), "SRC:DST")
        expect_refusal(call("run", "--unsafe-mount", f"{where}:/nowhere", "--", "true"), "/nowhere")


@suite.case
def refusals_say_what_to_do():
    with sandbox() as made:
        expect_refusal(call("apply", made), "--workspace", "nutshell cp")
    expect_refusal(call("create", "--workspace", "/nonexistent"), "--workspace", "no directory")
    with scratch() as directory:
        (directory / "job.py").write_text("print(1)\n")
        ended = call("run", "--", "python3", "job.py", cwd=directory)
        expect(b"--workspace ." in ended.stderr, f"{ended!r}")


sys.exit(suite.run())
