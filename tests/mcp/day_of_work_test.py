#!/usr/bin/env python3
"""A day of work on real projects, through clients that are not ours: nothing is lost, and in the evening the host has
exactly what was meant. Each language uses the tools that its user has on this machine."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import day_projects
from clients import CLIENT_V1, CLIENT_V2, npm, python_sdk
from daemon_client import daemon
from support import NUTSHELL, Failed, Skip, Suite, expect, expect_equal, launchers, scratch, wait_until

suite = Suite()
HERE = Path(__file__).resolve().parent
PATIENCE = 300
AUTHOR = ("Ada Lovelace", "ada@example.org")


def with_python(environment):
    return [str(python_sdk()), str(HERE / "day_steps.py")], environment


def with_typescript(environment):
    folder, found = npm("sdk", CLIENT_V1, CLIENT_V2)
    script = folder / "day_steps.mjs"  # where its imports are found
    script.write_bytes((HERE / "day_steps.mjs").read_bytes())
    # The client's own Node, and the project's as its user has it.
    return [shutil.which("node", path=found["PATH"]), str(script)], environment


class Day:
    """One project, its user's home, and the servers that a client starts in it."""

    def __init__(self, project, directory, environment):
        self.project = project
        self.root = directory / "work" / project.name
        self.environment = environment
        self.root.mkdir(parents=True)
        for path, text in {**project.files, ".gitignore": project.ignored}.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.host("git", "init", "-q", "-b", "main")
        self.host("git", "add", ".")
        self.host("git", "commit", "-qm", "as found")
        for command in project.prepare:
            self.host(*command)
        if project.prepare:
            self.host("git", "add", ".")
            self.host("git", "commit", "-qm", "prepared", "--allow-empty")
        time.sleep(0.02)

    def host(self, *words, status=0):
        ended = subprocess.run(words, cwd=self.root, env=self.environment, capture_output=True, text=True,
                               timeout=PATIENCE, stdin=subprocess.DEVNULL)
        expect_equal(ended.returncode, status, f"{words} on the host: {ended.stdout[-300:]}{ended.stderr[-300:]}")
        return ended.stdout

    def nutshell(self, *words, status=0):
        return self.host(NUTSHELL, *words, status=status)

    def work(self, client, *steps):
        """Starts a client and its server, calls the tools, and ends both. Returns the texts."""
        words, environment = client(self.environment)
        server = [NUTSHELL, "mcp", "--memory", "3g", *self.project.flags]
        ended = subprocess.run([*words, *server], cwd=self.root, env=environment, capture_output=True, text=True,
                               timeout=PATIENCE, input=json.dumps([[tool, given] for tool, given, _ in steps]))
        if ended.returncode != 0:
            raise Failed(f"{words[0]}: {ended.stderr[-500:]}")
        answers = json.loads(ended.stdout)
        for (tool, given, wanted), (is_error, text) in zip(steps, answers, strict=True):
            shown = f"{tool} {str(given)[:80]}: {text[-600:]!r}"
            expect(not is_error, shown)
            for word in [wanted] if isinstance(wanted, str) else wanted:
                expect(word in text, f"{word!r} is not in the answer of {shown}")
        return [text for _, text in answers]

    def files(self):
        """The files of the project besides git's own files, by path."""
        return {str(path.relative_to(self.root)): path.read_bytes() for path in sorted(self.root.rglob("*"))
                if path.is_file() and not path.is_symlink() and ".git" not in path.relative_to(self.root).parts}

    def sandbox(self):
        [made] = [one for one in json.loads(self.nutshell("list", "--json"))
                  if one["workspace"] == str(self.root)]
        return made["id"]


def expect_evening(day, before):
    """The fix and the new file are there, committed by the user's name; nothing else has changed."""
    project = day.project
    path, text = project.extra
    fixed = project.files[project.source].replace(*project.fix)
    wanted = {**before, project.source: fixed.encode(), path: text.encode()}
    found = day.files()
    expect_equal(sorted(set(found) ^ set(wanted)), [], "files that should not be there, or are missing")
    expect_equal([name for name in wanted if wanted[name] != found[name]], [], "files with another content")
    expect_equal(day.host("git", "status", "--porcelain"), f"?? {path}\n", "what is not committed")
    log = day.host("git", "log", "-1", "--format=%an <%ae> %s")
    expect_equal(log, f"{AUTHOR[0]} <{AUTHOR[1]}> fix the fault\n", "the agent's commit")
    day.host("git", "fsck", "--strict")


def live_through(day, between=lambda: None):
    project = day.project
    before = day.files()
    test = {"command": project.test, "timeout": 240, "wait": 240}
    edit = {"path": project.source}

    day.work(with_python,
             ("ls", {}, project.source.split("/")[0]),
             ("bash", test, project.failing),
             ("read", edit, project.fix[0].strip()),
             ("edit", {**edit, "old": project.wrong[0], "new": project.wrong[1]}, project.source),
             ("undo", {}, project.source),
             ("bash", test, project.failing),
             ("read", edit, project.fix[0].strip()))
    expect_equal(day.files(), before, "the host's files at noon")
    first = day.sandbox()

    between()  # a restart, or the sandbox's end
    answers = day.work(
        with_typescript,
        ("edit", {"path": str(day.root / project.source), "old": project.fix[0], "new": project.fix[1]}, project.source),
        ("bash", test, project.passing),
        ("bash", {"command": "git add -A && git commit -qm 'fix the fault' && git status --porcelain && git log -1"},
         [AUTHOR[0], "fix the fault"]))
    is_same = day.sandbox() == first
    expect(is_same or "this is a new one" in answers[0], f"a new sandbox is not told: {answers[0][:200]!r}")

    path, text = project.extra
    day.work(with_python,
             ("write", {"path": path, "content": text}, path),
             ("bash", test, project.passing),
             ("diff", {"a": project.source}, project.fix[1].strip()))
    shown = day.nutshell("diff", "--stat", "--path", path, "--path", project.source)
    expect(f"A {path}" in shown and f"M {project.source}" in shown, f"diff: {shown}")
    applied = json.loads(day.nutshell("apply", "--json"))
    expect_equal(applied["conflicts"], [], "conflicts")
    for left in project.leaves:
        expect(left in applied["ignored"], f"{left} was not left out: {applied['ignored']}")
    expect_evening(day, before)
    day.nutshell("destroy", day.sandbox())


@contextlib.contextmanager
def day_in(project):
    missing = project.missing()
    if missing:
        raise Skip(f"{project.name}: {', '.join(missing)} is missing on this machine")
    with scratch() as directory:
        environment = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=str(directory / "gitconfig"))
        for role in ("AUTHOR", "COMMITTER"):
            for part in ("NAME", "EMAIL"):
                environment.pop(f"GIT_{role}_{part}", None)
        (directory / "gitconfig").write_text(f"[user]\n\tname = {AUTHOR[0]}\n\temail = {AUTHOR[1]}\n")
        with_python(environment)
        with_typescript(environment)  # skips before anything is made
        yield Day(project, directory, environment)


def end_launcher():
    for pid in launchers():
        os.kill(pid, signal.SIGKILL)
    expect(wait_until(lambda: not launchers(), 20), "the launcher lives on")


@suite.case
def go():
    with day_in(day_projects.GO) as day:
        live_through(day)


@suite.case
def node():
    with day_in(day_projects.NODE) as day:
        live_through(day, end_launcher)


@suite.case
def python():
    with day_in(day_projects.PYTHON) as day:
        live_through(day, lambda: day.nutshell("destroy", day.sandbox()))


@suite.case
def rust():
    with day_in(day_projects.RUST) as day:
        live_through(day)


@suite.case
def java():
    """Through a daemon, which is restarted at noon."""
    with day_in(day_projects.JAVA) as day, daemon() as one:
        day.environment.update(one.environment(), NUTSHELL_DAEMON=one.socket)

        def restart():
            expect_equal(one.stop(), 0, "the daemon's status")
            one.start()
        live_through(day, restart)


@suite.case
def cpp():
    """Through a daemon, which is killed at noon."""
    with day_in(day_projects.CPP) as day, daemon() as one:
        day.environment.update(one.environment(), NUTSHELL_DAEMON=one.socket)

        def restart():
            one.stop(signal.SIGKILL)
            one.start()
        live_through(day, restart)


if __name__ == "__main__":
    sys.exit(suite.run())
