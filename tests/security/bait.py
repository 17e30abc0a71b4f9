"""The host side of the probes: the files, sockets and secrets that the attacks look for."""
import contextlib
import ctypes
import os
import pwd
import secrets
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

SECONDS = 120


def random_word():
    return "nutshell-" + secrets.token_hex(6)


class Host:
    """The bait on the host; all of it is removed when the context is left."""

    def __init__(self, stack):
        self.stack = stack
        self.secret = ("nut", secrets.token_hex(12))
        self.directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nutshell-")))
        self.home_directory = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix=".nutshell-", dir=Path.home())))
        self.home_canary = self.write_canary(self.home_directory / random_word())
        self.canary = self.write_canary(self.directory / random_word())
        self.open_extra_descriptors()  # first, because they need certain numbers
        self.shared_canaries = [self.write_canary(Path(place) / random_word())
                                for place in ("/tmp", "/var/tmp", "/dev/shm", "/run")
                                if os.access(place, os.W_OK)]
        self.fifo = self.directory / "fifo"
        os.mkfifo(self.fifo)
        self.socket_file = self.directory / "socket"
        self.start_listeners()
        self.start_marked_process()
        self.make_shared_objects()
        self.environment = dict(os.environ, NUTSHELL_TEST_SECRET="".join(self.secret))

    def write_canary(self, path):
        path.write_text("canary\n")
        path.chmod(0o644)
        self.stack.callback(path.unlink, missing_ok=True)
        return str(path)

    def listen(self, family, address, kind=socket.SOCK_STREAM):
        server = self.stack.enter_context(socket.socket(family, kind))
        server.bind(address)
        if kind == socket.SOCK_STREAM:
            server.listen(16)
        threading.Thread(target=self.serve, args=(server, kind), daemon=True).start()
        return server

    @staticmethod
    def serve(server, kind):
        with contextlib.suppress(OSError):
            while True:
                if kind == socket.SOCK_STREAM:
                    server.accept()[0].close()
                    continue
                _, sender = server.recvfrom(16)
                if sender:
                    server.sendto(b"!", sender)

    def start_listeners(self):
        self.port = self.listen(socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1]
        self.udp_port = self.listen(socket.AF_INET, ("0.0.0.0", 0),
                                    socket.SOCK_DGRAM).getsockname()[1]
        self.port6 = self.port
        with contextlib.suppress(OSError):
            self.port6 = self.listen(socket.AF_INET6, ("::1", 0)).getsockname()[1]
        self.any_port = self.listen(socket.AF_INET, ("0.0.0.0", 0)).getsockname()[1]
        self.abstract = (random_word(), random_word())
        self.listen(socket.AF_UNIX, "\0" + self.abstract[0])
        self.listen(socket.AF_UNIX, "\0" + self.abstract[1], socket.SOCK_DGRAM)
        self.listen(socket.AF_UNIX, str(self.socket_file))

    def start_marked_process(self):
        self.marker = ("nutshell-", secrets.token_hex(6))
        process = subprocess.Popen(["".join(self.marker), "3600"], executable="/bin/sleep")
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)

    def make_shared_objects(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.shm_key = secrets.randbelow(1 << 30) + 1
        segment = libc.shmget(self.shm_key, 4096, 0o1666)
        self.queue = "/" + random_word()
        queue = libc.mq_open(self.queue.encode(), os.O_RDWR | os.O_CREAT, 0o666, None)
        if segment < 0 or queue < 0:
            raise OSError(ctypes.get_errno(), "shared objects on the host")
        self.stack.callback(libc.mq_unlink, self.queue.encode())
        self.stack.callback(libc.shmctl, segment, 0, None)

    def open_extra_descriptors(self):
        for number, path in ((7, self.canary), (8, self.directory)):
            opened = os.open(path, os.O_RDONLY)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)

    def addresses(self):
        """The host's own addresses; connecting a datagram socket sends nothing."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            with contextlib.suppress(OSError):
                client.connect(("192.0.2.1", 9))
                return [client.getsockname()[0]]
        return []

    def words_of_settings(self):
        words = [f"{entry.pw_name}:x:{entry.pw_uid}:" for entry in pwd.getpwall()
                 if 1000 <= entry.pw_uid < 60000]
        marks = {"/etc/resolv.conf": "nameserver", "/etc/hosts": socket.gethostname()}
        for path, mark in marks.items():
            with contextlib.suppress(OSError):
                words += [line for line in Path(path).read_text().splitlines()
                          if mark in line and not line.startswith("#")]
        return words

    def run(self, command, stdout=subprocess.PIPE):
        """Runs it in a host directory with bait, with the secret and descriptors 7 and 8."""
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=stdout,
                              stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=SECONDS, cwd=self.directory, env=self.environment,
                              pass_fds=(7, 8), check=False)

    def start(self, command):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, cwd=self.directory,
                                env=self.environment, pass_fds=(7, 8))


def read_first(*paths):
    for path in paths:
        with contextlib.suppress(OSError):
            return Path(path).read_text().strip()
    return ""


def arguments_for(host):
    """Returns the arguments of each probe that needs bait."""
    identity = [socket.gethostname(), read_first("/proc/sys/kernel/random/boot_id")]
    machine = read_first("/etc/machine-id")
    reach = [host.home_canary]
    return {
        "FS-01": reach, "FS-02": [host.canary],
        "FS-03": [str(Path.home()), str(host.directory)],
        **{name: reach for name in ("FS-04", "FS-05", "FS-06", "FS-07", "FS-09", "FS-10", "FS-11",
                                    "FS-12", "FS-23", "FS-29")},
        "FS-17": [str(host.fifo)], "FS-18": [str(host.socket_file)], "FS-20": [host.canary],
        "FS-28": ["/usr/bin/env"],
        "FS-30": [f"{Path.home()}/", str(host.directory), "/var/lib/nutshell", "/run/nutshell"],
        "FS-32": [*host.shared_canaries, f"/dev/mqueue{host.queue}"],
        "IL-01": list(host.secret), "IL-02": list(host.secret), "IL-03": list(host.marker),
        "IL-04": identity + ([machine] if machine else []),
        "IL-07": host.words_of_settings(), "IL-09": [str(host.shm_key), host.queue],
        "NW-01": [str(host.port), str(host.port6)],
        "NW-02": [str(host.any_port), *host.addresses()],
        "NW-03": [str(host.udp_port)], "NW-04": list(host.abstract),
        "NW-05": [str(host.socket_file)], "PR-15": ["2000"],
    }
