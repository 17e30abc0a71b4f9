"""Kills a program at the instant it has cloned a process, and sees what becomes of that process."""
import ctypes
import os
import signal
import time

from support import Skip

TRACE_ME, CONTINUE, DETACH, SET_OPTIONS, GET_MESSAGE = 0, 7, 17, 0x4200, 0x4201
KILLED_WITH_TRACER, TRACE_FORK, TRACE_VFORK, TRACE_CLONE = 0x100000, 0x2, 0x4, 0x8
CLONED = (1, 2, 3)  # events of fork, vfork and clone
SILENCE = 3  # seconds without a clone, after which the program is taken to be idle
PATIENCE = 8  # seconds that an orphan is watched for


class Traced:
    def __init__(self, argv):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = (ctypes.c_long,) * 4
        self.pid = os.fork()
        if self.pid == 0:
            nowhere = os.open("/dev/null", os.O_RDWR)
            for number in (0, 1, 2, 3):
                os.dup2(nowhere, number)
            self.libc.ptrace(TRACE_ME, 0, 0, 0)
            os.execv(argv[0], argv)
        _, status = os.waitpid(self.pid, 0)
        if not os.WIFSTOPPED(status):
            raise Skip("this host does not let a process be traced")
        self.libc.ptrace(SET_OPTIONS, self.pid, 0,
                         KILLED_WITH_TRACER | TRACE_FORK | TRACE_VFORK | TRACE_CLONE)
        self.known = {self.pid}

    def go_on(self, pid, number=0):
        self.libc.ptrace(CONTINUE, pid, 0, number)

    def let_go(self, pid):
        self.libc.ptrace(DETACH, pid, 0, 0)
        self.known.discard(pid)

    def clone_of(self, pid):
        message = ctypes.c_ulong()
        self.libc.ptrace(GET_MESSAGE, pid, 0, ctypes.addressof(message))
        return message.value

    def end(self):
        for pid in self.known:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0x40000000)  # __WALL: also what is no child of ours
            except (ProcessLookupError, ChildProcessError):
                pass

    def first_stop_of(self, pid):
        """A new process is stopped before its first instruction."""
        _, status = os.waitpid(pid, 0x40000000)
        return os.WIFSTOPPED(status)


def clones_of_killed(argv, wanted, follows):
    """Seconds that the wanted clone outlives its parent; None if there are fewer clones. With
    `follows` the first clone is the program that goes on."""
    traced = Traced(argv)
    try:
        return run_to_clone(traced, wanted, follows)
    finally:
        traced.end()


def run_to_clone(traced, wanted, follows):
    seen, program = 0, traced.pid
    traced.go_on(program)
    last = time.monotonic()
    while True:
        pid, status = os.waitpid(program, 0x40000000 | os.WNOHANG)
        if pid == 0:
            if time.monotonic() - last > SILENCE:
                return None
            time.sleep(0.001)
            continue
        last = time.monotonic()
        if not os.WIFSTOPPED(status):
            traced.known.discard(pid)
            return None
        if status >> 16 not in CLONED:
            stop = os.WSTOPSIG(status)
            traced.go_on(pid, 0 if stop in (signal.SIGSTOP, signal.SIGTRAP) else stop)
            continue
        seen += 1
        clone = traced.clone_of(pid)
        traced.known.add(clone)
        is_stopped = traced.first_stop_of(clone)
        if seen == wanted:
            break
        if follows and seen == 1:
            traced.let_go(program)
            os.waitpid(program, 0)
            program = clone
        elif is_stopped:
            traced.let_go(clone)
        traced.go_on(program)
    os.kill(program, signal.SIGKILL)
    os.waitpid(program, 0x40000000)
    traced.known.discard(program)
    return time_of_orphan(traced, clone)


def time_of_orphan(traced, clone):
    began = time.monotonic()
    traced.go_on(clone)
    while time.monotonic() - began < PATIENCE:
        pid, status = os.waitpid(clone, 0x40000000 | os.WNOHANG)
        if pid == 0:
            time.sleep(0.005)
            continue
        if not os.WIFSTOPPED(status):
            traced.known.discard(clone)
            break
        stop = os.WSTOPSIG(status)
        if status >> 16 in CLONED:
            traced.known.add(traced.clone_of(pid))
        traced.go_on(pid, 0 if stop in (signal.SIGSTOP, signal.SIGTRAP) else stop)
    return time.monotonic() - began
