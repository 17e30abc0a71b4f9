#!/usr/bin/env python3
"""Runs every attack of nutshell-probe inside sandboxes and expects each to be refused.

The sandboxes are native; --create makes them with another backend. --known names the attacks that are
open there, or are refused with other errors than Linux's; all others must be refused. --own-kernel is
for sandboxes whose processes the host does not see.

The host side is made first (bait.py): files, sockets, descriptors and secrets that the attacks
look for. If a refusal would prove nothing without the bait, the same probe first runs on the host and
must succeed there (the rows called "control").

  NUTSHELL_BIN       directory of the program under test      (build/bin)
  NUTSHELL_TEST_BIN  directory of the attacking program       (build/release/tests)
"""
import argparse
import contextlib
import fcntl
import json
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from bait import SECONDS, Host, arguments_for, random_word
from own_use import USES, try_use

REPOSITORY = Path(__file__).resolve().parents[2]
PROBE_INSIDE = "/workspace/probe"
MEMORY, PROCESSES, DISK, FILES, INODES = "64m", "32", "16m", "65536", "65536"
OUT_OF_MEMORY = 137

# These bombs are also stopped if their whole sandbox ends.
MAY_END_THE_SANDBOX = {"PR-03", "PR-04", "PR-05", "PR-06"}
NEIGHBOURS = ["XT-01", "XT-02", "XT-03", "XT-04", "XT-13"]
BOMBS = [
    ("PR-01", [PROCESSES]),
    ("PR-02", [PROCESSES]),
    ("PR-03", [MEMORY]),
    ("PR-04", [MEMORY, "memfd"]),
    ("PR-04", [MEMORY, "segments"]),
    ("PR-04", [MEMORY, "pipes"]),
    ("PR-04", [MEMORY, "sockets"]),
    ("PR-04", [MEMORY, "tmpfs"]),
    ("PR-04", [MEMORY, "shared"]),
    ("PR-04", [MEMORY, "zero"]),
    ("PR-04", [MEMORY, "undumpable"]),
    *(("PR-04", [MEMORY, kind]) for kind in ("page-tables", "semaphores", "messages", "access-lists",
                                             "locks", "connections", "netlink")),
    ("PR-05", [DISK]),
    ("PR-06", [INODES]),
    ("PR-07", [FILES]),
    ("PR-16", ["kill-everything"]),
]
# Their bait is on the host, so on the host they must find it.
CONTROLS = ["FS-01", "FS-02", "FS-04", "FS-05", "FS-06", "FS-09", "FS-17", "FS-18", "FS-19",
            "FS-20", "FS-29", "FS-32", "IL-01", "IL-03", "IL-04", "IL-07",
            "IL-09", "IO-05", "NW-01", "NW-03", "NW-04", "NW-05", "NW-18", "XT-14"]
# Files that programs of the host may lock and watch.
LOCKED = ["/usr", "/usr/bin", "/usr/bin/env", "/usr/lib/os-release", "/etc/ssl/certs"]
OPENED = "/usr/bin/env"
COUNTERS = "cat /proc/net/dev /proc/net/snmp /proc/net/netstat /proc/net/snmp6"


@dataclass
class Row:
    result: str  # PASS, FAIL or SKIP
    name: str
    detail: str


@dataclass
class Report:
    rows: list = field(default_factory=list)

    def add(self, result, name, detail):
        self.rows.append(Row(result, name, detail))
        print(f"{result} {name}: {detail[:160]}", flush=True)

    def count(self, result):
        return sum(row.result == result for row in self.rows)

    def finish(self):
        passed, failed, skipped = (self.count(word) for word in ("PASS", "FAIL", "SKIP"))
        print(f"{passed} passed, {failed} failed, {skipped} skipped")
        return 0 if passed and not failed else 1


class Sandbox:
    def __init__(self, host, nutshell, probe, flags=()):
        self.host, self.nutshell = host, nutshell
        created = host.run([nutshell, "create", *flags])
        self.id = created.stdout.strip()
        if created.returncode or not self.id:
            raise RuntimeError(f"create failed: {created.stderr.strip()}")
        host.stack.callback(self.destroy)
        copied = host.run([nutshell, "cp", probe, f"{self.id}:{PROBE_INSIDE}"])
        if copied.returncode:
            raise RuntimeError(f"cp failed: {copied.stderr.strip()}")

    def command(self, *words):
        return [self.nutshell, "exec", self.id, "--", PROBE_INSIDE, *words]

    def destroy(self):
        if self.id:
            self.host.run([self.nutshell, "destroy", self.id])
        self.id = ""


def outcome_of(ended, name):
    lines = [line for line in ended.stdout.splitlines() if line.strip()]
    last = lines[-1] if lines else ended.stderr.strip()[-200:]
    word = last.split(" ", 1)[0] if f" {name} " in f"{last} " else ""
    return word, last or f"no output, exit status {ended.returncode}"


def run_with_file(host, command):
    """IO-05: standard output is a log file of the host."""
    with tempfile.TemporaryFile("w+") as log:
        ended = host.run(command, stdout=log)
        log.seek(0)
        ended.stdout = log.read()
    return ended


def knock(port, is_over):
    while not is_over.is_set():
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 0.2).close()
        time.sleep(0.05)


def run_with_visitor(host, make_command):
    """NW-18: a program of the host connects while the payload listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    is_over = threading.Event()
    visitor = threading.Thread(target=knock, args=(port, is_over))
    visitor.start()
    try:
        ended = host.run(make_command("NW-18", str(port)))
    finally:
        is_over.set()
        visitor.join()
    return ended


def run_with_opener(host, command):
    """XT-14: a program of the host opens a file while the payload watches it."""
    opener = host.start(["sh", "-c", f"i=0; while [ $i -lt 60 ]; do : < {OPENED}; sleep 0.05; "
                                     "i=$((i + 1)); done"])
    ended = host.run(command)
    opener.kill()
    opener.wait()
    return ended


def can_lock(path, until):
    """Retries: another run of this suite holds the lock for a moment, a sandbox would keep it."""
    file = os.open(path, os.O_RDONLY)
    try:
        while time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(0.05)
        return False
    finally:
        os.close(file)


def host_users_of(name):
    users = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines()
                          if ":\t" in line)
            if fields.get("Name") == name:
                users.update(int(number) for number in fields["Uid"].split())
    return users


class Suite:
    def __init__(self, host, options, nutshell, probe):
        self.host, self.options, self.nutshell, self.probe = host, options, nutshell, probe
        self.report = Report()
        self.arguments = arguments_for(host)
        if options.own_kernel:  # a process costs milliseconds there
            self.arguments["PR-15"] = ["300"]
        listed = host.run([probe, "list"]).stdout.splitlines()
        self.probes = {row[0]: row for row in (line.split("\t") for line in listed)}

    def sandbox(self, limits=()):
        return Sandbox(self.host, self.nutshell, self.probe, [*self.options.create, *limits])

    def is_wanted(self, name):
        return not self.options.only or name in self.options.only

    def execute(self, name, make_command):
        arguments = self.arguments.get(name, [])
        if name == "NW-18":
            return run_with_visitor(self.host, make_command)
        if name == "XT-14":
            return run_with_opener(self.host, make_command(name, OPENED))
        if name == "IO-05":
            return run_with_file(self.host, make_command(name))
        return self.host.run(make_command(name, *arguments))

    def lacks_arguments(self, name):
        needs = [word for word in self.probes[name][2].split() if word[0] not in "[-"]
        return name not in ("NW-18", "XT-14") and len(self.arguments.get(name, [])) < len(needs)

    def expect_open_on_host(self, name):
        label = f"{name} control"
        if self.lacks_arguments(name):
            return self.report.add("SKIP", label, "the host has no such bait")
        ended = self.execute(name, lambda *words: [self.probe, *words])
        word, line = outcome_of(ended, name)
        is_found = word == "OPEN" and ended.returncode == 1
        return self.report.add("PASS" if is_found else "FAIL", label, line)

    def expect_refused(self, name, make_command):
        if self.lacks_arguments(name):
            return self.report.add("SKIP", name, f"needs {self.probes[name][2]}")
        try:
            ended = self.execute(name, make_command)
        except subprocess.TimeoutExpired:
            return self.report.add("FAIL", name, f"hangs for {SECONDS} s")
        return self.judge(name, ended)

    def judge(self, name, ended, label=None):
        word, line = outcome_of(ended, name)
        is_refused = word == "REFUSED" and ended.returncode == 0
        if word in ("OPEN", "UNEXPECTED") and name in self.options.known:
            found = line.split(f"{word} {name} ", 1)[1].split(", ")
            is_refused = all(any(fnmatchcase(one, known) for known in self.options.known[name])
                             for one in found)
        if name in MAY_END_THE_SANDBOX and ended.returncode == OUT_OF_MEMORY:
            is_refused, line = True, "ended with the status for out of memory"
        # gVisor's kernel does not answer once its process has no memory left; the host then kills it.
        if (self.options.own_kernel and name in MAY_END_THE_SANDBOX
                and line.startswith("nutshell: lost (")):
            is_refused = True
        self.report.add("PASS" if is_refused else "FAIL", label or name, line)

    def run_controls(self):
        for name in CONTROLS:
            if self.is_wanted(name):
                self.expect_open_on_host(name)

    def run_single(self):
        apart = {name for name, _ in BOMBS} | set(NEIGHBOURS)
        names = [name for name in self.probes if name not in apart and self.is_wanted(name)]
        if not names:
            return
        sandbox = self.sandbox()
        for name in names:
            self.expect_refused(name, sandbox.command)
        sandbox.destroy()

    def run_bombs(self):
        bombs = [bomb for bomb in BOMBS if self.is_wanted(bomb[0])]
        if not bombs:
            return
        bystander = self.sandbox()
        limits = ("--memory", MEMORY, "--processes", PROCESSES, "--disk", DISK)
        for name, arguments in bombs:
            self.run_bomb(name, arguments, limits)
            self.expect_answer(bystander, f"{name} neighbour")
        bystander.destroy()

    def run_bomb(self, name, arguments, limits):
        sandbox = self.sandbox(limits)
        label = " ".join([name, *arguments[1:]])
        try:
            self.judge(name, self.host.run(sandbox.command(name, *arguments)), label)
        except subprocess.TimeoutExpired:
            self.report.add("FAIL", label, f"hangs for {SECONDS} s")
        if name not in MAY_END_THE_SANDBOX:
            self.expect_answer(sandbox, f"{label} afterwards")
        sandbox.destroy()

    def expect_answer(self, sandbox, label):
        """Checks that the sandbox still runs a program."""
        ended = self.host.run(sandbox.command("PV-02"))
        word, line = outcome_of(ended, "PV-02")
        self.report.add("PASS" if word == "REFUSED" else "FAIL", label, line)

    def run_neighbours(self):
        if not any(self.is_wanted(name) for name in NEIGHBOURS):
            return
        token, port = random_word(), "5999"
        bait = {"XT-01": [token], "XT-02": [token], "XT-03": [token], "XT-04": [token, port],
                "XT-13": []}
        first = self.sandbox()
        second = self.sandbox()
        planter = self.host.start(first.command("plant", token, port, "60"))
        self.host.stack.callback(planter.wait)
        self.host.stack.callback(planter.kill)
        planted = planter.stdout.readline().strip()
        self.report.add("PASS" if planted.startswith("PLANTED") else "FAIL", "XT plant", planted)
        self.expect_no_root_outside(token)
        if not self.options.create:
            self.expect_no_locks_outside()
        for name in ("XT-01", "XT-03", "XT-04", "XT-13"):
            found, line = outcome_of(self.host.run(first.command(name, *bait[name])), name)
            self.report.add("PASS" if found == "OPEN" else "FAIL", f"{name} control", line)
            self.judge(name, self.host.run(second.command(name, *bait[name])))
        first.destroy()
        later = self.sandbox()
        self.judge("XT-02", self.host.run(later.command("XT-02", *bait["XT-02"])))
        if not self.options.create:
            self.expect_new_counters()

    def expect_no_locks_outside(self):
        """XT-13 seen from the host: a program of the host can lock what a sandbox has locked."""
        taken = []
        for path in LOCKED:
            if not os.path.exists(path):
                continue
            if not can_lock(path, time.monotonic() + 20):
                taken.append(path)
        self.report.add("FAIL" if taken else "PASS", "XT-13 from the host",
                        f"a sandbox's locks hold here: {taken}" if taken else "all are free")

    def expect_new_counters(self):
        """Sandboxes that start after one with traffic do not see its counters."""
        busy = self.sandbox()
        self.run_shell(busy, "for i in 1 2 3 4; do echo x > /dev/udp/127.0.0.1/9; done; exit 0")
        busy.destroy()
        for _ in range(10):  # more than the launcher makes ahead
            sandbox = self.sandbox()
            lines = self.run_shell(sandbox, COUNTERS).splitlines()
            loopback = next((line for line in lines if line.strip().startswith("lo:")), "lo: 1")
            octets = [line for line in lines if line.startswith("IpExt: ")]
            is_new = (not any(int(word) for word in loopback.split()[1:])
                      and len(octets) == 2 and set(octets[1].split()[1:]) == {"0"})
            sandbox.destroy()
            if not is_new:
                return self.report.add("FAIL", "packet counters", f"{loopback}; {octets}")
        return self.report.add("PASS", "packet counters", "all zero")

    def run_shell(self, sandbox, text):
        return self.host.run([self.nutshell, "exec", sandbox.id, "--", "bash", "-c", text]).stdout

    def run_user_counts(self):
        """UC: a sandbox takes all it can get of what the kernel counts by user; some is left."""
        if self.options.only and "UC" not in self.options.only or self.options.create:
            return
        sandbox = self.sandbox()
        holder = self.host.start(sandbox.command("hold"))
        self.host.stack.callback(holder.wait)
        self.host.stack.callback(holder.kill)
        held = []
        for line in holder.stdout:
            if line.strip() == "HOLDING":
                break
            held.append(line.strip())
        for name in USES:
            why = try_use(name)
            self.report.add("FAIL" if why else "PASS", f"UC {name}",
                            f"{why}, while a sandbox has {held}" if why else "; ".join(held))
        sandbox.destroy()

    def run_background(self):
        """PR-03 in processes that a command left behind."""
        if not self.is_wanted("PR-03"):
            return
        sandbox = self.sandbox(("--memory", MEMORY, "--processes", PROCESSES))
        hogs = f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do {PROBE_INSIDE} hog 16m & done"
        self.host.run([self.nutshell, "exec", sandbox.id, "--", "sh", "-c",
                       f"({hogs}) >/dev/null 2>&1"])
        names = "cat /proc/[0-9]*/comm 2>/dev/null | grep -c probe"
        until = time.monotonic() + 60
        alive = 12
        while time.monotonic() < until and alive * 16 > 64:
            counted = self.host.run([self.nutshell, "exec", sandbox.id, "--", "sh", "-c", names])
            alive = int(counted.stdout.strip() or 12)
        self.report.add("FAIL" if alive * 16 > 64 else "PASS", "PR-03 in the background",
                        f"{alive} of 12 hogs of 16 MiB are left")
        sandbox.destroy()

    def expect_no_root_outside(self, token):
        """PV-05 seen from the host: the payload's process has a uid, and it is not root's."""
        users = host_users_of(token[:15])
        is_plain = not users if self.options.own_kernel else bool(users) and 0 not in users
        detail = f"uid {sorted(users)}" if users else "the host does not see the process"
        self.report.add("PASS" if is_plain else "FAIL", "PV-05 from the host", detail)

    def run(self):
        steps = [self.run_controls, self.run_single, self.run_bombs, self.run_background,
                 self.run_user_counts, self.run_neighbours]
        for step in steps:
            try:
                step()
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                self.report.add("FAIL", step.__name__, str(error))
        return self.report.finish()


def become(name):
    """Runs this program again as another user, without the environment of the old session."""
    entry = pwd.getpwnam(name)
    os.initgroups(entry.pw_name, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    environment.update(HOME=entry.pw_dir, USER=name, LOGNAME=name)
    words = [word for word in sys.argv[1:] if word not in ("--as-user", name)
             and not word.startswith("--as-user=")]
    os.chdir("/")
    # The new user may not be able to read the old user's interpreter.
    python = sys.executable if os.access(sys.executable, os.X_OK) else "/usr/bin/python3"
    os.execve(python, [python, os.path.abspath(__file__), *words], environment)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--as-user", metavar="NAME", help="run everything as this user")
    parser.add_argument("--only", metavar="ID,ID", type=lambda text: text.split(","),
                        help="run these probes alone")
    parser.add_argument("--known", metavar="JSON", type=json.loads, default={},
                        help='{"IL-08": ["/sys/fs/cgroup"]}')
    parser.add_argument("--own-kernel", action="store_true", help="gVisor, a virtual machine")
    parser.add_argument("--create", metavar="FLAGS", type=str.split, default=[],
                        help="of every sandbox: '--backend docker --image X'")
    return parser.parse_args()


def main():
    options = parse_options()
    programs = {"nutshell": os.environ.get("NUTSHELL_BIN", str(REPOSITORY / "build/bin")),
                "nutshell-probe": os.environ.get("NUTSHELL_TEST_BIN",
                                                 str(REPOSITORY / "build/release/tests"))}
    if options.as_user:
        become(options.as_user)
    paths = [os.path.join(os.path.abspath(where), name) for name, where in programs.items()]
    for program in paths:
        if not os.access(program, os.X_OK):
            print(f"FAIL probes: {program} is missing\n0 passed, 1 failed, 0 skipped")
            return 1
    with contextlib.ExitStack() as stack:
        # A launcher of its own, which has no other sandboxes.
        os.environ["NUTSHELL_RUNTIME_DIR"] = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="nutshell-runtime-", ignore_cleanup_errors=True))
        host = Host(stack)
        return Suite(host, options, *paths).run()


if __name__ == "__main__":
    sys.exit(main())
