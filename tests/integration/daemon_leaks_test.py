#!/usr/bin/env python3
"""A daemon that makes and ends sandboxes all day holds no more threads, descriptors and memory in the
evening: on every backend, and for each way in which a sandbox ends."""
import os
import sys
import time

from daemon_client import daemon
from engines import IMAGE, engine
from gvisor_program import find_runsc
from support import Skip, Suite, expect, expect_equal, is_full, memory_of, repetitions, wait_until

suite = Suite()
BACKENDS = ["native", "docker", "podman", "gvisor"]


def settings_of(backend):
    """The fields that make a sandbox of this backend."""
    if backend in ("docker", "podman"):
        engine(backend)
        return {"backend": backend, "image": IMAGE}
    if backend == "gvisor":
        find_runsc()
    return {"backend": backend}


def pool_of(spec):
    lines = "".join(f'{name} = "{value}"\n' for name, value in spec.items())
    return f'[[pools]]\nname = "p"\n{lines}min_idle = 1\nmax_idle = 2\nmax_total = 4\n'


def held_by(pid):
    return {"threads": len(os.listdir(f"/proc/{pid}/task")),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "memory": memory_of(pid)}


def settled(one):
    """Resources of an idle daemon: the least of several measurements."""
    expect(wait_until(lambda: one.call("GET", "/v1/sandboxes").json()["sandboxes"] == [], 60),
           "sandboxes are left")
    looks = []
    for _ in range(5):
        looks.append(held_by(one.process.pid))
        time.sleep(0.2)
    return {name: min(look[name] for look in looks) for name in looks[0]}


def make_and_destroy(one, spec):
    made = one.make(**spec)
    expect_equal(one.execute(made, "echo", "x")["stdout"], "x\n", "exec")
    read = one.call("POST", f"/v1/sandboxes/{made}/tools/bash", {"command": "echo y"})
    expect(read.status == 200 and "y" in read.json()["text"], f"bash: {read.body[:200]}")
    expect_equal(one.call("DELETE", f"/v1/sandboxes/{made}").status, 204, "destroy")


def acquire_and_release(one, _):
    got = one.call("POST", "/v1/pools/p/acquire", {"wait_ms": 60_000})
    expect_equal(got.status, 201, f"acquire: {got.body[:200]}")
    made = got.json()["id"]
    expect_equal(one.execute(made, "echo", "x")["stdout"], "x\n", "exec")
    expect_equal(one.call("POST", f"/v1/sandboxes/{made}/release").status, 204, "release")


def let_the_ttl_end(one, spec):
    made = one.make(**spec, ttl_ms=1500)
    expect_equal(one.execute(made, "echo", "x")["stdout"], "x\n", "exec")


def expect_flat(one, spec, cycle, count):
    """Two halves of the same work: the second leaves no more behind than the first."""
    for _ in range(2):
        cycle(one, spec)  # what is made once
    before = settled(one)
    for _ in range(count):
        cycle(one, spec)
    after = settled(one)
    words = f"{cycle.__name__}, {count} times: {before} became {after}"
    # A few more may be in circulation; a leak would show one or two for each cycle.
    room = 4 if count < 20 else 12
    expect(after["threads"] <= before["threads"] + room, words)
    expect(after["descriptors"] <= before["descriptors"] + room, words)
    expect(after["memory"] <= before["memory"] + (8 << 20), words)


def check(backend):
    spec = settings_of(backend)
    # A container takes a good part of a second, and podman or gVisor more than one.
    costly = {"native": 1, "docker": 2, "podman": 4, "gvisor": 4}[backend]
    if costly > 2 and not is_full():
        raise Skip("one kind of container is enough for every commit: scripts/test --full runs it")
    with daemon(pool_of(spec)) as one:
        one.call("POST", "/v1/pools/p/warm")
        for cycle in (make_and_destroy, acquire_and_release, let_the_ttl_end):
            expect_flat(one, spec, cycle, repetitions(16 // costly, 200))


for name in BACKENDS:
    def case(backend=name):
        check(backend)
    case.__name__ = f"cycles_cost_the_daemon_nothing_with_{name}"
    suite.case(case)


if __name__ == "__main__":
    sys.exit(suite.run())
