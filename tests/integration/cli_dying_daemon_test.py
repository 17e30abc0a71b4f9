#!/usr/bin/env python3
"""The daemon dies under each command of the command line. The command then says what is known: the
connection broke, and the sandbox may still run. It never says that the sandbox has ended."""
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from daemon_client import daemon
from support import NUTSHELL, Suite, expect, expect_equal

suite = Suite()
MOST_STEPS = 60


class Relay:
    """Carries connections to the daemon until the daemon has sent `steps` pieces. Then it cuts all
    of them. With `is_killed` it refuses new ones too, as the socket of a daemon that was killed."""

    def __init__(self, target, path, steps, is_killed, cut=lambda: None):
        self.target, self.steps, self.is_killed, self.cut = target, steps, is_killed, cut
        self.sent, self.is_cut, self.lock, self.ends = 0, False, threading.Lock(), []
        self.listener = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.listener.bind(path)
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self.target)
                except OSError:
                    client.close()
                    continue
                self.ends += [client, server]
                for words in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self.carry, args=words, daemon=True).start()

    def carry(self, source, target, is_answer):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                if is_answer and self.is_last():
                    return
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def is_last(self):
        with self.lock:
            self.sent += 1
            if self.is_cut or self.sent <= self.steps:
                return False
            self.is_cut = True
            self.cut()
            if self.is_killed:
                self.close_listener()
            for end in self.ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            return True

    def close_listener(self):
        # close() alone leaves the thread in accept(), which takes one more connection.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def close(self):
        self.close_listener()
        for end in self.ends:
            end.close()


class Place:
    """A daemon, a sandbox with a changed workspace, and a relay for the command to try."""

    def __init__(self, one, directory):
        self.one, self.directory = one, directory
        self.socket = f"{directory}/relay.sock"
        self.number = 0

    def directly(self, *words):
        done = subprocess.run([NUTSHELL, *words], capture_output=True, text=True, timeout=60,
                              env={**self.one.environment(), "NUTSHELL_DAEMON": self.one.socket})
        expect_equal(done.returncode, 0, f"{words}: {done.stderr}")
        return done.stdout.strip()

    def make(self):
        self.number += 1
        workspace = f"{self.directory}/w{self.number}"
        os.mkdir(workspace)
        with open(f"{workspace}/old", "w", encoding="utf-8") as file:
            file.write("old\n")
        made = self.directly("create", "--workspace", workspace)
        self.directly("exec", made, "--", "sh", "-c", "echo new > old; echo more > added")
        return made

    def through(self, words, steps, is_killed, cut=lambda: None):
        relay = Relay(self.one.socket, self.socket, steps, is_killed, cut)
        try:
            done = subprocess.run([NUTSHELL, *words], capture_output=True, text=True, timeout=60,
                                  stdin=subprocess.DEVNULL,
                                  env={**self.one.environment(), "NUTSHELL_DAEMON": self.socket})
            return done, relay.is_cut
        finally:
            relay.close()


@contextlib.contextmanager
def place():
    with tempfile.TemporaryDirectory() as directory, daemon() as one:
        os.chmod(directory, 0o755)
        yield Place(one, directory)


COMMANDS = {
    "exec": ["exec", "@", "--", "echo", "hello"],
    "diff": ["diff", "@"],
    "diff_stat": ["diff", "@", "--stat"],
    "apply": ["apply", "@"],
    "apply_dry_run": ["apply", "@", "--dry-run"],
    "cp_in": ["cp", "/etc/passwd", "@:/workspace/passwd"],
    "cp_out": ["cp", "@:/workspace/added", "-"],
    "checkpoint": ["checkpoint", "@"],
    "rollback": ["rollback", "@", "base"],
    "discard": ["discard", "@"],
    "fork": ["fork", "@"],
    "info": ["info", "@"],
    "stats": ["stats", "@"],
    "pause": ["pause", "@"],
    "tool_read": ["tool", "call", "read", "-s", "@", '{"path": "old"}'],
    "tool_bash": ["tool", "call", "bash", "-s", "@", '{"command": "echo hello"}'],
    "history": ["history", "@"],
    "destroy": ["destroy", "@"],
    "list": ["list"],
    "create": ["create"],
    "run": ["run", "--", "echo", "hello"],
    "session": ["session", "exec", "s1", "--", "echo", "hello"],
    "pool": ["pool", "list"],
}
# Commands whose sandbox ends with their connection: of these it is true that it has ended.
ENDS_WITH_CONNECTION = {"run"}


def check_words(name, done, what):
    words = done.stdout + done.stderr
    expect(done.returncode != 0, f"{what}: it was cut off, and exits with 0: {words}")
    # The daemon may have ended such a sandbox before the command asks for it; then it still knows nothing of a daemon.
    is_told = "daemon" in words or (name in ENDS_WITH_CONNECTION and "connection to the sandbox was closed" in words)
    expect(is_told, f"{what}: it does not name the daemon: {words!r}")
    if name not in ENDS_WITH_CONNECTION:
        expect("sandbox has ended" not in words, f"{what}: {words!r}")


def try_everywhere(spot, name, words, is_killed):
    """Cuts the command at its first piece, its second, … until it gets through whole."""
    for steps in range(MOST_STEPS):
        made = spot.make() if "@" in " ".join(words) else ""
        done, is_cut = spot.through([word.replace("@", made) for word in words], steps, is_killed)
        what = f"{name} cut after {steps} pieces ({'killed' if is_killed else 'restarted'})"
        if not is_cut:
            expect_equal(done.returncode, 0, f"{what}: {done.stderr}")
            expect(steps > 0, f"{name} does not ask the daemon")
            return steps
        # A command may have all it wants before the last piece, which closes the connection.
        if done.returncode != 0:
            check_words(name, done, what)
    expect(False, f"{name} is not done after {MOST_STEPS} pieces")
    return 0


def add(name, words):
    def case():
        with place() as spot:
            for is_killed in (True, False):
                pieces = try_everywhere(spot, name, words, is_killed)
            # And once the daemon itself is killed, in the middle.
            made = spot.make() if "@" in " ".join(words) else ""
            words_here = [word.replace("@", made) for word in words]
            done, is_cut = spot.through(words_here, (pieces - 1) // 2, True,
                                        lambda: spot.one.stop(signal.SIGKILL))
            expect(is_cut, f"{name} ran to its end")
            if done.returncode != 0:
                check_words(name, done, f"{name}, the daemon killed")
            spot.one.start()
            if made and name not in ("destroy", "pause"):
                expect_equal(spot.one.execute(made, "echo", "on")["stdout"], "on\n",
                             "the sandbox afterwards")
    case.__name__ = f"{name}_through_a_daemon_that_dies"
    suite.case(case)


for command, its_words in COMMANDS.items():
    add(command, its_words)


if __name__ == "__main__":
    sys.exit(suite.run())
