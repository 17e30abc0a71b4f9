#!/usr/bin/env python3
"""Sandboxes in containers of real engines: the contract, the protections as seen from inside and by
the engine's inspect, and what is left when somebody else ends them.

scripts/engine starts the engines; one that cannot be had is skipped, with the reason. They go on
running for the next suite: scripts/engine stop ends them.
"""
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from engines import IMAGE, UnixConnection, engine, flags, shell
from support import (Failed, Suite, call, call_json, create, destroy, expect, expect_equal, expect_outcome,
                     expect_refusal, is_full, sandbox, scratch, start, test_program, wait_until)

suite = Suite()
ENGINES = ("docker", "podman")


def on_every_engine(function):
    for kind in ENGINES:
        def case(kind=kind):
            function(engine(kind))
        case.__name__ = f"{function.__name__}_on_{kind}"
        suite.case(case)
    return function


# The contract -----------------------------------------------------------------------------------

@on_every_engine
def conformance(where):
    """Runs the C++ suite that native sandboxes pass; on podman, without --full, only the cases in which
    engines differ."""
    wanted, least = f"*/{where.backend}*", 40  # also through a daemon
    if where.kind == "docker" and not is_full():
        wanted, least = "*/docker:*IsListed*/docker_through_daemon", 20
    if where.kind == "podman" and not is_full():
        wanted, least = "*Limit*/podman:*IsListed*/podman:*Paused*/podman", 8
    done = subprocess.run(
        [test_program("conformance_test"), f"--gtest_filter={wanted}"], capture_output=True, text=True, timeout=900,
        env={**os.environ, "NUTSHELL_CONFORMANCE_IMAGE": IMAGE})
    failed = re.findall(r"^\[  FAILED  \] (\S+)", done.stdout, re.M)
    ran = re.search(r"\[  PASSED  \] (\d+) tests?", done.stdout)
    expect(done.returncode == 0 and not failed, f"failed: {sorted(set(failed))}")
    expect(ran and int(ran.group(1)) >= least, f"too few ran: {done.stdout[-200:]}")


@on_every_engine
def run_gives_output_and_status(where):
    answer = shell(where, "echo out; echo err >&2; exit 3")
    expect_outcome(answer, "exited", 3)
    expect_equal((answer["stdout"], answer["stderr"]), ("out\n", "err\n"), "output")
    # Podman lists a container for a moment after it reported it as missing.
    expect(wait_until(lambda: not any(name.startswith("nutshell-") for name in where.containers()),
                      5), f"left: {where.containers()}")


@suite.case
def files_and_tools_work():
    where = engine()
    with sandbox(*flags(where)) as made, scratch() as directory:
        (directory / "in").write_bytes(bytes(range(256)) * 400)
        expect_equal(call("cp", str(directory / "in"), f"{made}:/workspace/in").status, 0, "cp in")
        expect_equal(call("cp", f"{made}:/workspace/in", str(directory / "out")).status, 0, "cp out")
        expect((directory / "out").read_bytes() == (directory / "in").read_bytes(), "bytes differ")
        for tool, given, wanted in (
                ("write", {"path": "a.txt", "content": "one\ntwo\n"}, ""),
                ("read", {"path": "a.txt"}, "two"),
                ("edit", {"path": "a.txt", "old_string": "two", "new_string": "three"}, ""),
                ("grep", {"pattern": "thr.e"}, "three"),
                ("ls", {}, "a.txt"), ("find", {"name": "*.txt"}, "a.txt"),
                ("bash", {"command": "cat a.txt | wc -l"}, "2"),
                ("git", {"args": "init"}, "epository")):
            ended = call("tool", "call", tool, "-s", made, json.dumps(given))
            expect(ended.status == 0 and wanted in ended.stdout.decode(), f"{tool}: {ended!r}")


@suite.case
def workspace_is_copied_compared_applied_and_taken_back():
    where = engine()
    with scratch() as directory:
        (directory / "kept").write_text("old\n")
        (directory / "gone").write_text("x\n")
        os.chmod(directory / "kept", 0o644)
        made = create(*flags(where, "--workspace", str(directory)))
        try:
            ended = call("exec", made, "--", "sh", "-c", "echo new > kept; rm gone; echo y > made")
            expect_equal(ended.status, 0, f"exec {ended!r}")
            expect_equal((directory / "kept").read_text(), "old\n", "the host's file")
            shown = call("diff", made).stdout.decode()
            expect(all(name in shown for name in ("kept", "gone", "made")), f"diff: {shown}")
            state = call("checkpoint", made).stdout.decode().strip()
            call("exec", made, "--", "sh", "-c", "echo worse > kept; mkdir d; echo z > d/z")
            ended = call("rollback", made, state)
            expect_equal(ended.status, 0, f"rollback {ended!r}")
            text = call("exec", made, "--", "sh", "-c", "cat kept; ls").stdout
            expect_equal(text, b"new\nkept\nmade\n", "what the checkpoint had")
            ended = call("apply", made)
            expect_equal(ended.status, 0, f"apply {ended!r}")
            expect_equal((directory / "kept").read_text(), "new\n", "the applied file")
            expect(not (directory / "gone").exists() and (directory / "made").exists(), "applied")
        finally:
            destroy(made)


# Protections, from inside and from inspect ------------------------------------------------------

@on_every_engine
def protections_hold_inside(where):
    script = ("grep -E '^(CapBnd|CapEff|NoNewPrivs|Seccomp):' /proc/self/status; id -u;"
              "cat /proc/net/dev | grep -c :; touch /x 2>&1; ulimit -n; ulimit -c;"
              "grep ' / ' /proc/mounts | cut -d' ' -f4 | cut -d, -f1;"
              "head -c 1 /proc/kcore 2>/dev/null | wc -c; ls /proc/acpi | wc -l;"
              "ls /var/run/docker.sock /run/podman 2>/dev/null")
    lines = shell(where, script)["stdout"].splitlines()
    for wanted in ("CapBnd:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1",
                   "Seccomp:\t2", "1000", "1024", "ro"):
        expect(wanted in lines, f"{wanted!r} is not in {lines}")
    expect(any("Read-only" in line for line in lines), f"the root can be written: {lines}")
    expect_equal(lines[-2:], ["0", "0"], "what masked paths show")


def take_counts(made):
    """Takes all inotify instances and more that this sandbox can get; returns its process and how many."""
    expect(call("cp", test_program("nutshell-probe"), f"{made}:/workspace/probe").status == 0, "cp")
    holder = start("exec", made, "--", "/workspace/probe", "hold")
    for line in iter(holder.stdout.readline, b""):
        if b"inotify instances" in line:
            taken = int(line.split()[1])
        if b"HOLDING" in line:
            return holder, taken
    raise Failed("the probe ended")


@on_every_engine
def counts_by_user_are_shared_only_where_info_says_so(where):
    with sandbox(*flags(where)) as first, sandbox(*flags(where)) as second:
        said = json.loads(call("info", first, "--json").stdout)
        [strength] = [one["strength"] for one in said["protections"] if one["name"] == "user_counts"]
        most = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
        holders = []
        try:
            for made in (first, second):
                holders.append(take_counts(made))
        finally:
            for holder, _ in holders:
                holder.kill()
                holder.wait()
        taken = [number for _, number in holders]
        expect_equal(sum(taken) <= most, strength == "missing", f"{strength}: {taken} of {most}")
    expect_refusal(call("run", *flags(where, "--require", "user_counts=hard"), "--", "true"), "user_counts")


@suite.case
def protections_are_what_inspect_says():
    where = engine()
    with sandbox(*flags(where, "--memory", "64m", "--cpus", "0.5", "--processes", "20")) as made:
        seen = where.inspect(made)
        host = seen["HostConfig"]
        wanted = {"NetworkMode": "none", "ReadonlyRootfs": True, "Privileged": False,
                  "AutoRemove": True, "Memory": 64 << 20, "MemorySwap": 64 << 20,
                  "NanoCpus": 500_000_000, "PidsLimit": 22, "CapDrop": ["ALL"], "CapAdd": None,
                  "Devices": None, "IpcMode": "private", "PidMode": "", "UTSMode": "",
                  "UsernsMode": "", "Binds": None}
        found = {name: host.get(name) or (None if value is None else host.get(name))
                 for name, value in wanted.items()}
        expect_equal(found, wanted, "HostConfig")
        expect("no-new-privileges" in host["SecurityOpt"][0], f"{host['SecurityOpt']}")
        expect("/proc/kcore" in host["MaskedPaths"], f"{host['MaskedPaths']}")
        expect_equal(seen["Config"]["User"], "1000:1000", "user")
        mounts = [(one["Type"], one["Destination"], one["RW"]) for one in seen["Mounts"]]
        expect_equal(mounts, [("volume", "/.nutshell/bin", False)], "mounts")


@on_every_engine
def stats_are_what_the_container_counts(where):
    """Compares stats with the container's own cgroup files."""
    with sandbox(*flags(where, "--memory", "64m", "--processes", "20")) as made:
        script = ("sleep 600 & sleep 600 & head -c 8000000 /dev/zero > f; cd /sys/fs/cgroup;"
                  "cat memory/memory.usage_in_bytes pids/pids.current 2>/dev/null ||"
                  "cat memory.current pids.current")
        memory, processes = map(int, call("exec", made, "--", "sh", "-c", script).stdout.split())
        stats = json.loads(call("stats", made, "--json").stdout)
        expect(abs(stats["memory_bytes"] - memory) < 4 << 20, f"{stats} and inside {memory}")
        expect(8_000_000 <= stats["memory_bytes"] <= 64 << 20, f"{stats}")
        expect(3 <= stats["processes"] <= processes, f"{stats} and inside {processes}")
        expect(stats["cpu_time_ms"] > 0 and stats["limits"]["memory_bytes"] == 64 << 20, f"{stats}")
        everyone = json.loads(call("stats", "--json").stdout)
        expect_equal([one["id"] for one in everyone], [made], "all")
        table = call("stats").stdout.decode().splitlines()
        expect(table[0].split()[:3] == ["ID", "BACKEND", "MEMORY"] and made in table[1], f"{table}")


@on_every_engine
def info_is_what_inspect_and_the_inside_say(where):
    """`info`, the engine's inspect and the kernel inside must agree."""
    with sandbox(*flags(where, "--memory", "64m", "--cpus", "0.5", "--processes", "20", "--disk",
                        "40m")) as made:
        said = json.loads(call("info", made, "--json").stdout)
        strength = {one["name"]: one["strength"] for one in said["protections"]}
        host = where.inspect(made)["HostConfig"]
        expect_equal(said["limits"]["memory_bytes"], host["Memory"], "memory")
        expect_equal(said["limits"]["cpus"] * 1e9, host["NanoCpus"], "cpus")
        expect_equal(said["limits"]["processes"] + 2, host["PidsLimit"], "pids, with ours")
        script = ("cat /proc/net/dev | grep -c :; grep -E '^(CapBnd|NoNewPrivs|Seccomp):' "
                  "/proc/self/status | cut -f2 | tr '\\n' ' '; echo;"
                  "df -k /workspace /tmp /dev/shm | tail -n 3 | tr -s ' ' | cut -d' ' -f2 | tr '\\n' ' ';"
                  "echo; cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes pids/pids.max "
                  "cpu/cpu.cfs_quota_us cpu/cpu.cfs_period_us 2>/dev/null ||"
                  "cat memory.max pids.max cpu.max; : > /etc/x")
        inside = call("exec", made, "--", "sh", "-c", script)
        lines = inside.stdout.decode().splitlines()
        expect_equal(lines[0], "1", "network interfaces")
        expect_equal(lines[1].split(), ["0000000000000000", "1", "2"], "capabilities, flags")
        sizes = [int(size) << 10 for size in lines[2].split()]
        expect_equal(sum(sizes), said["limits"]["disk_bytes"], f"disk: {sizes}")
        numbers = [int(word) for word in " ".join(lines[3:]).split()]
        expect_equal(numbers, [64 << 20, 22, numbers[3] // 2, numbers[3]], "limits inside")
        expect(b"Read-only" in inside.stderr, f"{inside!r}")
        for name in ("network", "filesystem", "capabilities", "no_new_privileges", "seccomp",
                     "memory", "cpus", "processes", "disk"):
            expect_equal(strength[name], "hard", name)


@suite.case
def secrets_are_not_shown_by_inspect():
    where = engine()
    with sandbox(*flags(where, "--env", "TOKEN=hunter2-nutshell")) as made:
        expect("hunter2" not in json.dumps(where.inspect(made)), "inspect shows the environment")
        text = call("exec", made, "--", "sh", "-c", "echo $TOKEN").stdout
        expect_equal(text, b"hunter2-nutshell\n", "the variable")


@on_every_engine
def memory_limit_is_named(where):
    answer = call_json("run", *flags(where, "--memory", "32m"), "--", "tail", "/dev/zero")
    expect(answer["outcome"] == "out_of_memory", f"{answer['outcome']} {answer.get('detail')}")


@suite.case
def command_cannot_end_its_own_connection():
    where = engine()
    with sandbox(*flags(where)) as made:
        call("exec", made, "--", "true")  # the first connection came with the start; not this one
        answer = call_json("exec", made, "--", "sh", "-c", "echo begun; kill -9 -1; sleep 1")
        expect(answer["outcome"] in ("signalled", "exited"), f"{answer['outcome']}")
        expect_equal(answer["stdout"], "begun\n", "output")
        expect_equal(call("exec", made, "--", "echo", "alive").stdout, b"alive\n", "the next")


@suite.case
def engine_socket_cannot_be_mounted():
    where = engine()
    for source in (where.socket, str(Path(where.socket).parent), "/"):
        ended = call("run", *flags(where, "--unsafe-mount", f"{source}:/mnt"), "--", "true")
        expect(ended.status == 125, f"{source} was mounted: {ended!r}")


@suite.case
def hostile_image_settings_are_overridden():
    where = engine()
    status, made = where.ask("POST", "/containers/create?name=hostile-maker",
                             {"Image": IMAGE, "Cmd": ["true"]})
    expect_equal(status, 201, f"create {made}")
    try:
        config = {"Entrypoint": ["/bin/false"], "Cmd": ["x"], "User": "0:0",
                  "WorkingDir": "/proc/self/fd/3", "Volumes": {"/data": {}},
                  "Env": ["LD_PRELOAD=/x.so", "HOME=/root", "MINE=image"],
                  "Healthcheck": {"Test": ["CMD", "/bin/false"], "Interval": 1000000000},
                  "Labels": {"nutshell.id": "d000000000000", "nutshell.scope": "x"}}
        status, made = where.ask("POST", "/commit?container=hostile-maker&repo=hostile", config)
        expect_equal(status, 201, f"commit {made}")
        answer = call_json("run", "--backend", "docker", "--image", "hostile", "--", "sh", "-c",
                           "id -u; pwd; echo $HOME $MINE; touch /data/x 2>/dev/null || echo no")
        expect_equal(answer["stdout"], "1000\n/workspace\n/tmp/home image\nno\n", "inside")
        volumes = where.ask("GET", "/volumes")[1]["Volumes"] or []
        expect(all(one["Name"].startswith("nutshell-init-") for one in volumes),
               f"anonymous volumes are left: {[one['Name'] for one in volumes]}")
    finally:
        where.ask("DELETE", "/containers/hostile-maker?force=1")
        where.ask("DELETE", "/images/hostile?force=1")


@suite.case
def scratch_like_image_works():
    """Uses an empty image, in which nutshell-init is the only program."""
    where = engine()
    empty = subprocess.run(["tar", "-cf", "-", "--files-from", "/dev/null"], capture_output=True,
                           check=True).stdout
    connection = UnixConnection(where.socket)
    connection.request("POST", "/v1.41/images/create?fromSrc=-&repo=empty", empty,
                       {"Content-Type": "application/x-tar"})
    connection.getresponse().read()
    try:
        with sandbox("--backend", "docker", "--image", "empty") as made, scratch() as directory:
            (directory / "f").write_text("x")
            expect_equal(call("cp", str(directory / "f"), f"{made}:/workspace/f").status, 0, "cp")
            ended = call("tool", "call", "ls", "-s", made, "{}")
            expect(b"f" in ended.stdout, f"{ended!r}")
            expect_equal(call("exec", made, "--", "true").status, 127, "no command is there")
    finally:
        where.ask("DELETE", "/images/empty?force=1")


# Ends -------------------------------------------------------------------------------------------

@on_every_engine
def dead_caller_leaves_nothing(where):
    process = start("run", *flags(where), "--", "sh", "-c", "echo begun; sleep 600")
    process.stdout.readline()
    expect(any(name.startswith("nutshell-") for name in where.containers()), "no container")
    process.send_signal(signal.SIGKILL)
    process.wait()
    gone = wait_until(lambda: not any(name.startswith("nutshell-") for name in where.containers()),
                      20)
    expect(gone, f"left: {where.containers()}")


@on_every_engine
def ttl_ends_it_without_anybody(where):
    made = create(*flags(where, "--ttl", "2s"))
    gone = wait_until(lambda: f"nutshell-{made}" not in where.containers(), 20)
    expect(gone, f"left: {where.containers()}")


@suite.case
def missing_image_is_an_error_in_time():
    where = engine()
    ended = call("run", "--backend", "docker", "--image", "localhost:1/no/such:image", "--", "true")
    expect_refusal(ended, "pull localhost:1/no/such:image")
    expect_refusal(call("run", "--backend", "docker", "--image", "--privileged", "--", "true"))
    expect_refusal(call("run", "--backend", "docker", "--", "true"), "image")


@suite.case
def emptied_volume_is_filled_again():
    where = engine()
    shell(where, "true")
    for volume in where.ask("GET", "/volumes")[1]["Volumes"]:
        where.ask("DELETE", f"/volumes/{volume['Name']}")
        where.ask("POST", "/volumes/create", {"Name": volume["Name"]})
    expect_outcome(shell(where, "exit 4"), "exited", 4)


@suite.case
def gc_takes_only_what_is_ours():
    where = engine()
    where.ask("POST", "/containers/create?name=somebody-elses",
              {"Image": IMAGE, "Cmd": ["sleep", "60"],
               "Labels": {"nutshell.id": "daaaaaaaaaaaa", "nutshell.expires": "1",
                          "nutshell.spec": "{}"}})
    try:
        expect_equal(call("gc").status, 0, "gc")
        expect("somebody-elses" in where.containers(), "gc took a container that is not ours")
    finally:
        where.ask("DELETE", "/containers/somebody-elses?force=1")


if __name__ == "__main__":
    sys.exit(suite.run())
