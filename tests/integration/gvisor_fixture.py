"""Runs sandboxes in gVisor, and finds what exists on the host because of them."""
import os
from pathlib import Path

from gvisor_program import find_runsc
from support import (call_json, expect, processes, runtime_directory, wait_until)

FLAGS = ("--backend", "gvisor")
IS_ROOT = os.geteuid() == 0


def cases_of(suite):
    """Returns a decorator for cases that are skipped if there is no gVisor."""
    def case(function):
        def checked():
            find_runsc()
            function()
        checked.__name__ = function.__name__
        suite.case(checked)
        return function
    return case


def shell(script, *more):
    return call_json("run", *FLAGS, *more, "--", "sh", "-c", script)


def bundles():
    place = runtime_directory() / "gvisor"
    return sorted(entry.name for entry in place.iterdir()) if place.is_dir() else []


def ours(made=""):
    """Processes of gVisor that belong to one sandbox of this suite, or to all of them."""
    word = os.fsencode(f"--bundle={runtime_directory() / 'gvisor' / made}")
    return [pid for pid, words in processes() if any(one.startswith(word) for one in words)]


def cgroups(made):
    return list(Path("/sys/fs/cgroup").glob(f"*/nutshell-gvisor/{made}")) + list(
        Path("/sys/fs/cgroup").glob(f"nutshell-gvisor/{made}"))


def leftovers():
    state = runtime_directory() / "gvisor-state"
    files = sorted(entry.name for entry in state.iterdir()) if state.is_dir() else []
    return bundles() + files + ours()


def expect_nothing_left(*ids):
    expect(wait_until(lambda: not leftovers(), 20), f"left: {leftovers()}")
    for made in ids:
        expect(not cgroups(made), f"left: {cgroups(made)}")
