#!/usr/bin/env python3
"""Changes of a sandbox, written back to the user's directory or as a patch."""
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

from stepping import Killed, log_of, run_to_step
from support import (NUTSHELL, Skip, Suite, call, expect, expect_equal, expect_refusal, is_listed,
                     repetitions, sandbox, scratch, start, wait_until)
from workspace_fixture import CHANGES, changes_of, in_both_modes, mode_flags, shell, snapshot, workspace

suite = Suite()


@in_both_modes(suite)
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


@in_both_modes(suite)
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


IGNORED = """
set -e
mkdir -p build/deep dist web/node_modules/x web/src vendor/.git logs
for file in build/deep/out.o dist/kept.js dist/other.js web/node_modules/x/i.js web/src/a.js web/src/a.map \\
            web/keep.map vendor/lib.o logs/today.log local.txt made.o .env 'odd [name].o'; do
  echo new > "$file"
done
printf 'ref: refs/heads/main\\n' > vendor/.git/HEAD
printf 'local.txt\\n' >> .gitignore
"""


@in_both_modes(suite)
def apply_leaves_out_what_git_ignores():
    if not shutil.which("git"):
        raise Skip("git is missing")

    def git(*words):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], cwd=root,
                              capture_output=True, check=True).stdout.decode()
    with scratch() as directory:
        top = directory / "top"
        root = top / "services/api"
        (root / "web").mkdir(parents=True)
        (root / "dist").mkdir()
        (root / "dist/kept.js").write_text("old\n")
        (top / ".gitignore").write_text("*.log\n")
        (root / ".gitignore").write_text("/build\n*.o\n.env\ndist/\nnode_modules/\n!important.o\n")
        (root / "web/.gitignore").write_text("*.map\n!keep.map\n")
        for place in (top, root):  # a part of a repository, then a repository
            subprocess.run(["git", "init", "-q", str(place)], check=True)
            git("add", "-f", ".")
            git("commit", "-qm", "first")
            time.sleep(0.02)
            with sandbox("--workspace", str(root), *mode_flags) as made:
                shell(made, IGNORED)
                before = snapshot(root)
                ended = call("apply", made, "--json")
                expect_equal(ended.status, 0, f"apply: {ended!r}")
                report = json.loads(ended.stdout)
                ignored = {"build/", "dist/", "web/node_modules/", "web/src/a.map", "made.o", ".env",
                           "local.txt", "odd [name].o"}
                # The rules above a repository do not reach into it.
                ignored |= {"logs/today.log"} if place == top else set()
                expect_equal(set(report["ignored"]), ignored, "left out")
                expect_equal(report["ignored"]["build/"], 3, "changes that one directory stands for")
                written = {path for path in snapshot(root) if path not in before}
                expect_equal({path for path in written if git("ls-files", "-ci", "--exclude-standard", path)}, set(),
                             "written although git ignores it")
                expect({"web/keep.map", "web/src/a.js", "vendor/lib.o"} <= written, f"written: {written}")
                expect_equal((root / "dist/kept.js").read_text(), "new\n", "a tracked file that matches a rule")
                expect_equal(call("apply", made, "--path", ".env").status, 0, "what is named is taken")
                expect(".env" in snapshot(root) and "made.o" not in snapshot(root), "named alone")
                ended = call("apply", made)
                expect(b"--include-ignored" in ended.stderr and b"made.o" in ended.stderr, f"{ended!r}")
                expect_equal(call("apply", made, "--include-ignored").status, 0, "all")
                expect("build/deep/out.o" in snapshot(root), "what was asked for")
            for name in ("build", "web/node_modules", "web/src", "vendor", "logs"):
                shutil.rmtree(root / name)
            for name in ("local.txt", "made.o", ".env", "dist/other.js", "web/keep.map", "odd [name].o"):
                (root / name).unlink()
            git("checkout", "-q", "--", ".")


@in_both_modes(suite)
def apply_takes_one_path():
    with workspace() as (root, made):
        shell(made, "echo a > README; echo b > src/main.c")
        expect(call("apply", made, "--path", "src").status == 0, "apply --path")
        expect_equal((root / "README").read_text(), "hello\n", "what was not named")
        expect_equal((root / "src/main.c").read_text(), "b\n", "what was named")
        expect_equal(set(changes_of(made)), {"README"}, "what is left")


@in_both_modes(suite)
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


@in_both_modes(suite)
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


@in_both_modes(suite)
def setuid_bits_do_not_come_out():
    with workspace() as (root, made):
        shell(made, "cp src/tool.sh s && chmod 6755 s; mkdir d && chmod 2777 d")
        expect(call("apply", made).status == 0, "apply")
        expect_equal(stat.S_IMODE((root / "s").stat().st_mode), 0o755, "mode of a file")
        expect_equal(stat.S_IMODE((root / "d").stat().st_mode), 0o777, "mode of a directory")


@in_both_modes(suite)
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


def records(made):
    return sorted(path.name for path in Path(os.environ["NUTSHELL_RUNTIME_DIR"]).glob("applied-*")
                  if made in path.name)


@suite.case
def the_record_of_applied_files_goes_with_the_sandbox():
    with workspace() as (_, made):
        shell(made, "echo more > README")
        expect(call("apply", made).status == 0, "apply")
        expect_equal(records(made), [f"applied-{made}"], "records while it lives")
        expect(call("gc").status == 0, "gc")
        expect_equal(records(made), [f"applied-{made}"], "records after gc, while it lives")
        call("destroy", made)
        expect_equal(records(made), [], "records of a destroyed sandbox")
    with workspace("--ttl", "5s") as (_, made):  # an emulated machine is slow
        shell(made, "echo more > README")
        expect(call("apply", made).status == 0, "apply")
        expect(wait_until(lambda: not is_listed(made), 30), "it is still there")
        if os.environ.get("NUTSHELL_THROUGH_DAEMON"):  # which forgets it at once
            expect(wait_until(lambda: not records(made), 30), "a record of what a daemon ended")
            return
        expect_equal(records(made), [f"applied-{made}"], "records of a sandbox that ended itself")
        would = call("gc", "--dry-run")
        expect(made.encode() in would.stdout + would.stderr, f"gc --dry-run: {would!r}")
        expect_equal(records(made), [f"applied-{made}"], "records after a dry run")
        expect(call("gc").status == 0, "gc")
        expect_equal(records(made), [], "records after gc")


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
            if json.loads(call("info", made, "--json").stdout)["workspace_kind"] == "copy":
                raise Skip("what was applied to a copy is no change any more: nothing to do again")
            shell(made, "for f in file*; do tr '\\000-\\377' '\\001-\\377\\000' <$f >/tmp/x;"
                        " cat /tmp/x > $f; done; rm file0; mkdir new; echo n > new/file")
            new = {name: bytes((byte + 1) % 256 for byte in old[name]) for name in names}
            new["file0"] = None
            began = time.monotonic()
            expect(call("apply", made, "--dry-run").status == 0, "dry run")
            usual = time.monotonic() - began
            for _ in range(repetitions(30, 400)):
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


def kill_apply(made, step, log):
    """Whether it was killed before that step; else it has ended well."""
    try:
        status = run_to_step([NUTSHELL, "apply", made], step, log)
    except Killed:
        return True
    expect_equal(status, 0, f"the status of an undisturbed apply ({log_of(log)})")
    return False


def torn(now, before, after):
    """Entries that are neither as they were nor as they are to be."""
    wrong = [path for path in now.keys() | before.keys() | after.keys()
             if now.get(path) not in (before.get(path), after.get(path))]
    # A directory that stands where a file was, or the other way, is there for a moment with less.
    return sorted(path for path in wrong if not path.startswith(".nutshell-apply"))


@in_both_modes(suite)
def apply_that_is_killed_at_any_step_tears_no_file():
    stride = repetitions(9, 1)  # every step with scripts/test --full
    step = 1 + int.from_bytes(os.urandom(1), "big") % stride
    print(f"  from step {step}, each {stride}.", flush=True)
    is_killed = True
    while is_killed:
        with workspace() as (root, made):
            shell(made, CHANGES)
            before, log = snapshot(root), root.parent / "log"
            is_killed = kill_apply(made, step, log)
            now = snapshot(root)
            ended = call("apply", made)
            expect(ended.status == 0, f"apply after one killed at step {step}: {ended!r}")
            after = snapshot(root)
            expect_equal(torn(now, before, after), [], f"what is torn at step {step}")
            expect_equal(after["src/main.c"][2], b"int main(void) {\n  return 1;\n}\n", "a file")
            expect_equal(after["README/file"][2], b"inside\n", "a file that became a directory")
            expect("data/old.txt" not in after and "src/tool.sh" not in after, "what was removed")
            expect(not (root / ".nutshell-apply").exists(), "the staging directory is left")
            expect_equal(changes_of(made), {}, "changes at the end")
        step += stride


if __name__ == "__main__":
    sys.exit(suite.run())
