"""Uses each resource that the kernel counts by user, as the user's own programs do.

Each function uses one resource once and raises OSError if the kernel has none left for this user.
try_use() runs one in a program of its own, which has a single thread and the usual limits.
"""
import array
import ctypes
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
USUAL_OPEN_FILES = 1024
SHM_LOCK, IPC_RMID = 11, 0


def checked(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def watch_a_directory():
    instance = checked(LIBC.inotify_init1(os.O_CLOEXEC), "inotify_init1")
    try:
        with tempfile.TemporaryDirectory() as directory:
            checked(LIBC.inotify_add_watch(instance, directory.encode(), 0x100), "inotify_add_watch")
    finally:
        os.close(instance)


def open_a_queue():
    name = f"/nutshell-own-{os.getpid()}".encode()
    queue = checked(LIBC.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, None), "mq_open")
    os.close(queue)
    LIBC.mq_unlink(name)


def queue_a_signal():
    number = signal.SIGRTMIN + 1
    signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        checked(LIBC.sigqueue(os.getpid(), number, ctypes.c_void_p(0)), "sigqueue")
        signal.sigtimedwait([number], 1)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])


def lock_a_segment():
    segment = checked(LIBC.shmget(0, 4096, 0o1600), "shmget")
    try:
        checked(LIBC.shmctl(segment, SHM_LOCK, None), "SHM_LOCK")
    finally:
        LIBC.shmctl(segment, IPC_RMID, None)


def pass_descriptors():
    """As a program with the usual limit of open files does."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_OPEN_FILES, limit[1]), limit[1]))
    try:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for _ in range(4):
                ours.sendmsg([b"!"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [2] * 8))])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def use_a_pipe():
    reader, writer = os.pipe()
    try:
        os.write(writer, b"x" * 4096)
        os.read(reader, 4096)
    finally:
        os.close(reader)
        os.close(writer)


def wait_for_events():
    with select.epoll() as poll:
        reader, writer = os.pipe()
        try:
            poll.register(reader)
        finally:
            os.close(reader)
            os.close(writer)


def add_a_key():
    if os.uname().machine != "x86_64":
        return
    add_key, keyctl, unlink, process_ring = 248, 250, 9, -2
    key = LIBC.syscall(add_key, b"user", b"nutshell-own", b"x", 1, process_ring)
    if key < 0 and ctypes.get_errno() in (1, 38):  # this host refuses it to all users
        return
    checked(key, "add_key")
    LIBC.syscall(keyctl, unlink, key, process_ring)


def make_a_user_namespace():
    if os.geteuid() != 0 and Path("/proc/sys/user/max_user_namespaces").read_text().strip() == "0":
        return
    subprocess.run(["unshare", "--user", "true"], check=True, capture_output=True)


USES = {
    "inotify": watch_a_directory,
    "message queues": open_a_queue,
    "pending signals": queue_a_signal,
    "locked segments": lock_a_segment,
    "descriptors in flight": pass_descriptors,
    "pipes": use_a_pipe,
    "epoll": wait_for_events,
    "keys": add_a_key,
    "user namespaces": make_a_user_namespace,
}


def try_use(name):
    """Returns an empty text, or why it failed."""
    ended = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True,
                           timeout=60, check=False)
    if ended.returncode == 0:
        return ""
    lines = ended.stderr.strip().splitlines()
    return lines[-1] if lines else f"ended with {ended.returncode}"


if __name__ == "__main__":
    USES[sys.argv[1]]()
