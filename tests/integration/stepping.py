"""Runs a program up to the n-th system call that changes something, and kills it there."""
import ctypes
import os
import platform
import signal
import struct
from pathlib import Path

from support import Skip

TRACE_ME, SYSCALL, SET_OPTIONS, GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
GOOD_STOPS, KILLED_WITH_TRACER = 1, 0x100000
ENTRY = 1
CREATE = os.O_CREAT

# System calls that write, rename, remove or send, by their numbers on this machine.
CHANGING = {
    "write": 1, "pwrite64": 18, "writev": 20, "sendfile": 40, "sendto": 44, "sendmsg": 46,
    "ftruncate": 77, "rename": 82, "mkdir": 83, "rmdir": 84, "link": 86, "unlink": 87,
    "symlink": 88, "fchmod": 91, "fchown": 93, "fsetxattr": 190, "openat": 257, "mkdirat": 258,
    "fchownat": 260, "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266,
    "fchmodat": 268, "splice": 275, "utimensat": 280, "fallocate": 285, "renameat2": 316,
    "copy_file_range": 326, "openat2": 437, "fchmodat2": 452,
}
NAMES = {number: name for name, number in CHANGING.items()}


class Killed(Exception):
    """Where the program was when it was killed: before this call, of this number."""


def changes(pid, number, arguments):
    if number == CHANGING["openat"]:
        return bool(arguments[2] & CREATE)
    if number == CHANGING["openat2"]:
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(arguments[2])
            return bool(struct.unpack("Q", memory.read(8))[0] & CREATE)
    return number in NAMES


def run_to_step(argv, step, log):
    """The exit status, or Killed before the step-th call that changes something."""
    if platform.machine() != "x86_64":
        raise Skip("system calls are known by number for x86_64 alone")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = (ctypes.c_long,) * 4
    pid = os.fork()
    if pid == 0:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        libc.ptrace(TRACE_ME, 0, 0, 0)
        os.execv(argv[0], argv)
    _, status = os.waitpid(pid, 0)
    if not os.WIFSTOPPED(status):
        raise Skip("this host does not let a process be traced")
    libc.ptrace(SET_OPTIONS, pid, 0, GOOD_STOPS | KILLED_WITH_TRACER)
    information = ctypes.create_string_buffer(88)
    seen, delivered = 0, 0
    while True:
        libc.ptrace(SYSCALL, pid, 0, delivered)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status)
        stop = os.WSTOPSIG(status)
        delivered = 0 if stop == signal.SIGTRAP | 0x80 else stop
        if delivered:
            continue
        libc.ptrace(GET_SYSCALL_INFO, pid, len(information),
                    ctypes.addressof(information))
        if information.raw[0] != ENTRY:
            continue
        number, *arguments = struct.unpack_from("7Q", information.raw, 24)
        if not changes(pid, number, arguments):
            continue
        seen += 1
        if seen == step:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise Killed(f"before {NAMES[number]}, which is change {step}")


def log_of(path):
    return Path(path).read_text(errors="replace")[:400]
