#!/usr/bin/env python3
"""Container engines in trouble: frozen, restarted, absent, out of disk, busy. Each command has one true
outcome in bounded time, leaves nothing behind, and the next call works."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

from daemon_client import daemon
from engines import ENGINE, IMAGE, Engine, engine, flags, on_engines, shell
from gvisor_program import find_runsc
from support import (Failed, Suite, call, create, destroy_all, expect, expect_equal, expect_outcome,
                     expect_refusal, expect_running, is_full, is_listed, needs_full, read_line,
                     repetitions, runtime_directory, sandbox, scratch, start, wait_until)

suite = Suite()
VERBS = ["create", "run", "exec", "cp", "destroy"]


@contextlib.contextmanager
def frozen(where):
    pid = where.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@suite.case
def frozen_engine_is_an_error_in_time():
    where = engine()
    with sandbox(*flags(where)) as made:
        expect_equal(call("exec", made, "--", "true").status, 0, "exec before")
        with frozen(where):
            if is_full():
                ended = call("run", *flags(where), "--", "true", seconds=80)
                expect(ended.status == 125, f"run: {ended!r}")
            ended = call("exec", made, "--", "echo", "on")
            expect(ended.stdout == b"on\n" and ended.seconds < 5,
                   f"root's exec asks the container alone: {ended!r}")
        expect_equal(call("exec", made, "--", "echo", "on").stdout, b"on\n", "after the thaw")


@on_engines(suite, ["docker"], ["docker", "podman"])
def destroy_is_written_down_while_the_engine_is_frozen(where):
    made = create(*flags(where))
    process = start("exec", made, "--json", "--", "sleep", "600")
    expect_running(made, "sleep 600")
    with frozen(where):
        ended = call("destroy", made, seconds=80)
        expect(ended.status == 0 and ended.seconds < 25, f"destroy: {ended!r}")
        output, _ = process.communicate(timeout=20)  # it has really ended
        expect_equal(json.loads(output)["outcome"], "lost", "its command")
        owed = runtime_directory() / f"nutshell-{made}.owed"
        expect(owed.exists(), f"not written down: {os.listdir(runtime_directory())}")
    expect_equal(call("list").status, 0, "list after the thaw")
    expect(wait_until(lambda: f"nutshell-{made}" not in where.containers(), 30), "it is left")
    expect(wait_until(lambda: call("list").status == 0 and not owed.exists(), 30), "still owed")


@on_engines(suite, ["docker"], ["docker", "podman"])
def result_comes_before_the_end_of_a_frozen_engine(where):
    """The stream of `run` goes through the engine. If the engine does not answer either, the result is
    reported about two seconds after the timeout, and the container is left to the next call."""
    process = start("run", *flags(where, "--timeout", "1s", "--json"), "--", "sleep", "600")
    expect(wait_until(lambda: [one for one in where.containers() if is_started(where, one)], 30),
           "no container")
    began = time.monotonic()
    with frozen(where):
        line = read_line(process, 40)
        told = time.monotonic() - began
        process.communicate(timeout=40)
        over = time.monotonic() - began
    expect(json.loads(line)["outcome"] in ("lost", "timed_out"), f"outcome: {line[:200]}")
    expect(told < 1 + 9, f"reported {told:.1f} s after the freeze, with a timeout of 1 s")
    expect(over < told + 6, f"reported after {told:.1f} s, ended after {over:.1f} s")
    expect(process.returncode in (124, 125), f"status {process.returncode}")
    expect_clean(where, "a frozen engine")


def is_started(where, name):
    shown = where.ask("GET", f"/containers/{name}/json")[1] or {}
    return name.startswith("nutshell-") and shown.get("State", {}).get("Running")


@suite.case
def tools_and_execs_go_on_while_the_engine_is_frozen():
    """Tries every interface of the daemon with calls that need only the sandbox's own init."""
    where = engine()
    with daemon() as one:
        made = one.make(backend="docker", image=IMAGE)
        one.call("PUT", f"/v1/sandboxes/{made}/files?path=/workspace/file", "text\n")

        def tool(name, arguments):
            answer = one.call("POST", f"/v1/sandboxes/{made}/tools/{name}", arguments)
            expect_equal(answer.status, 200, f"{name}: {answer.body[:200]}")
            return answer.json()

        tool("ls", {})
        with frozen(where):
            began = time.monotonic()
            for _ in range(3):
                expect("text" in tool("read", {"path": "file"})["text"], "read")
                expect("said" in tool("bash", {"command": "echo said"})["text"], "bash")
                tool("write", {"path": "new", "content": "x"})
                expect_equal(one.execute(made, "echo", "on")["stdout"], "on\n", "exec")
            job = tool("bash", {"command": "sleep 1; echo late", "wait": 0})["job_id"]
            expect("late" in tool("job", {"id": job, "wait": 5})["text"], "a job")
            took = time.monotonic() - began
        expect(took < 20, f"13 calls took {took:.1f} s")


@suite.case
def restarted_engine_ends_its_sandboxes_and_goes_on():
    where = engine()
    made = create(*flags(where))
    process = start("exec", made, "--json", "--", "sleep", "600")
    expect_running(made, "sleep 600")
    where.restart()
    output, _ = process.communicate(timeout=60)
    expect(json.loads(output)["outcome"] == "lost", f"{output[:200]}")
    expect(not is_listed(made), "it is still listed")
    expect_outcome(shell(where, "exit 5"), "exited", 5)
    gone = wait_until(lambda: f"nutshell-{made}" not in where.containers(), 20)
    expect(gone, f"left: {where.containers()}")


def words_for(verb, where, made, directory):
    return {"create": ["create", *flags(where)],
            "run": ["run", *flags(where), "--", "sleep", "3"],
            "exec": ["exec", made, "--", "sleep", "3"],
            "cp": ["cp", f"{directory}/big", f"{made}:/workspace/big"],
            "destroy": ["destroy", made]}[verb]


def expect_clean(where, what):
    """Every sandbox can be ended, nothing is left, and the engine works again."""
    expect_outcome(shell(where, "exit 5"), "exited", 5)
    destroy_all()
    expect(wait_until(lambda: not left_by_us(where), 30), f"{what}: left {where.containers()}")


def left_by_us(where):
    """A container that filled a volume when its engine ended stays until it is old; then gc removes it."""
    return [name for name in where.containers()
            if name.startswith("nutshell-") and not name.startswith("nutshell-fill-")]


def disturb(where, verb, delay, trouble, mend=lambda: None):
    """Disturbs the engine while a command runs. The command must succeed or fail; it must not hang."""
    with scratch() as directory:
        (directory / "big").write_bytes(os.urandom(1 << 20) * 64)
        made = create(*flags(where)) if verb not in ("create", "run") else ""
        process = start(*words_for(verb, where, made, directory))
        time.sleep(delay)
        trouble()
        try:
            _, error = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failed(f"{verb} after {delay} s: it does not end") from None
        finally:
            mend()
        status, words = process.returncode, error.decode(errors="replace")
        expect(status == 0 or status == 125 and words.startswith("nutshell: "),
               f"{verb} after {delay} s: status {status}, {words[-200:]}")
        expect_clean(where, f"{verb} after {delay} s")


@on_engines(suite, ["docker"], ["docker", "runsc", "podman"])
def engine_restarted_in_the_middle(where):
    moments = repetitions([0.15], [0.05, 0.4])
    for verb in repetitions(["create", "cp"], VERBS):
        for delay in moments:
            disturb(where, verb, delay, where.restart)


@on_engines(suite, ["docker"], ["docker", "runsc", "podman"])
def engine_stopped_in_the_middle(where):
    """The engine is stopped until the command has ended with an error."""
    for verb in repetitions(["exec"], VERBS):
        for delay in repetitions([0.1], [0.3]):
            disturb(where, verb, delay, where.stop, where.restart)


@on_engines(suite, ["docker"], ["docker", "runsc", "podman"])
def engine_frozen_in_the_middle(where):
    """The engine is frozen for 1.5 s; then the command goes on."""
    def freeze():
        os.kill(where.pid(), signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(where.pid(), signal.SIGCONT)

    for verb in repetitions(["create", "destroy"], VERBS):
        for delay in repetitions([0.1], [0.05, 0.4]):
            disturb(where, verb, delay, freeze)


@suite.case
def frozen_engine_holds_up_nobody_else():
    """A daemon with sandboxes of an engine that does not answer, and with native ones."""
    where = engine()
    with daemon() as one:
        contained = one.make(backend="docker", image=IMAGE)
        native = one.make(idle_timeout_ms=3000)
        stays = one.make()
        os.kill(where.pid(), signal.SIGSTOP)
        try:
            expect_equal(one.execute(stays, "echo", "on")["stdout"], "on\n", "a native one")
            began = time.monotonic()
            # The daemon has a connection to it, so it does not ask the engine.
            gone = wait_until(lambda: one.call("GET", f"/v1/sandboxes/{native}").status == 404, 20)
            took = time.monotonic() - began
            expect(gone and took < 18, f"an idle timeout of 3 s took {took:.1f} s")
        finally:
            os.kill(where.pid(), signal.SIGCONT)
        expect_equal(one.execute(contained, "echo", "on")["stdout"], "on\n", "after the thaw")


@on_engines(suite, [], ["docker", "podman"])
def engine_frozen_while_a_daemon_starts(where):
    """The daemon starts, reports it, works without the engine, and finds its sandboxes after the thaw."""
    with daemon() as one:
        native, contained = one.make(), one.make(backend=where.backend, image=IMAGE)
        one.execute(contained, "sh", "-c", "echo kept > /workspace/file")
        one.stop()
        os.kill(where.pid(), signal.SIGSTOP)
        try:
            one.start()
            said = one.call("GET", "/readyz")
            expect_equal((said.status, said.json().get("unanswered_backends")),
                         (200, [where.backend]), "readiness while it is frozen")
            for sandbox in (native, one.make()):
                expect_equal(one.execute(sandbox, "echo", "on")["stdout"], "on\n", "a native one")
            answer = one.call("POST", f"/v1/sandboxes/{contained}/exec", {"argv": ["true"]})
            expect(answer.status == 503 and b"has not answered" in answer.body,
                   f"exec while it is frozen: {answer.status} {answer.body}")
        finally:
            os.kill(where.pid(), signal.SIGCONT)
        expect(wait_until(lambda: one.call("GET", "/readyz").json() == {"status": "ready"}),
               f"readiness after the thaw: {one.call('GET', '/readyz').body}")
        expect_equal(one.execute(contained, "cat", "/workspace/file")["stdout"], "kept\n", "its file")
        made = one.make(backend=where.backend, image=IMAGE)
        expect_equal(one.execute(made, "echo", "new")["stdout"], "new\n", "a new one")


@suite.case
def full_disk_is_an_error_and_no_more():
    """Puts the engine's data on a small file system."""
    engine()  # skips the case if there is no engine
    with scratch() as directory:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=192m", "none", directory], check=True)
        before = os.environ.get("NUTSHELL_ENGINE_DIR")
        os.environ["NUTSHELL_ENGINE_DIR"] = str(directory)
        where = None
        try:
            where = Engine("docker")
            where.use()
            expect_outcome(shell(where, "exit 5"), "exited", 5)
            with contextlib.suppress(OSError), open(directory / "filler", "wb") as filler:
                while True:
                    filler.write(bytes(1 << 16))
                    filler.flush()
            ended = call("run", *flags(where), "--", "true")
            expect(ended.status == 125 and b"no space" in ended.stderr.lower(), f"{ended!r}")
            (directory / "filler").unlink()
            expect_clean(where, "a full disk")
        finally:
            if where:
                subprocess.run([ENGINE, "stop", "docker"], check=False, timeout=60,
                               capture_output=True)
            os.environ.pop("NUTSHELL_ENGINE_DIR")
            if before:
                os.environ["NUTSHELL_ENGINE_DIR"] = before
            subprocess.run(["umount", "-l", directory], check=False)


@suite.case
def an_old_container_that_filled_a_volume_is_removed():
    needs_full("it has to be a minute old")
    where = engine()
    for name in ("nutshell-fill-forgotten", "somebody-elses-fill"):
        where.ask("POST", f"/containers/create?name={name}",
                  {"Image": IMAGE, "Cmd": ["true"], "Labels": {"nutshell.fill": "x"}})
    try:
        expect_equal(call("gc").status, 0, "gc")
        expect("nutshell-fill-forgotten" in where.containers(), "it took one that is at work")
        time.sleep(62)
        expect(b"nutshell-fill-forgotten" in call("gc", "--dry-run").stdout, "gc would not take it")
        ended = call("run", *flags(where, "--workspace", "volume:forgotten", "--unsafe-without",
                                   "disk"), "--", "true")
        expect_equal(ended.status, 0, f"a volume is filled: {ended!r}")
        expect("nutshell-fill-forgotten" not in where.containers(), "it is still there")
        expect("somebody-elses-fill" in where.containers(), "it took what is not ours")
    finally:
        for name in ("nutshell-fill-forgotten", "somebody-elses-fill"):
            where.ask("DELETE", f"/containers/{name}?force=1")
        for one in where.ask("GET", "/volumes")[1]["Volumes"] or []:
            if (one["Labels"] or {}).get("nutshell.workspace") == "forgotten":
                where.ask("DELETE", f"/volumes/{one['Name']}?force=1")


@suite.case
def absent_engine_disturbs_nobody():
    os.environ["DOCKER_HOST"] = os.environ["CONTAINER_HOST"] = "unix:///nowhere/engine.sock"
    expect_equal(call("list").status, 0, "list without an engine")
    expect_refusal(call("exec", "n00000000000f", "--", "true"), "no sandbox")
    for backend, advice in (("docker", "systemctl start docker"), ("podman", "systemctl start podman")):
        expect_refusal(call("run", "--backend", backend, "--image", IMAGE, "--", "true"), advice)


def all_at_once(count, one):
    """Calls one(number) for each number, as many at a time as a busy host can bear."""
    gate = threading.Semaphore(8)
    results = []

    def guarded(number):
        with gate:
            results.append(one(number))

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@on_engines(suite, ["docker"], ["docker", "runsc", "podman"])
def many_at_once(where):
    count = repetitions(8, 100)
    results = all_at_once(count, lambda number: shell(where, f"exit {number % 100}")["exit_code"])
    expect_equal(sorted(results), sorted(number % 100 for number in range(count)), "exit codes")
    expect(wait_until(lambda: not left_by_us(where), 30), f"left: {where.containers()}")


def keep_many(count, *words):
    """Makes that many sandboxes; all must work before the first is ended."""
    def one(number):
        made = create(*words, "--memory", "64m")
        return made, call("exec", made, "--", "echo", str(number)).stdout == b"%d\n" % number

    made = all_at_once(count, one)
    expect_equal(sum(is_right for _, is_right in made), count, "right answers")
    listed = call("list", "-q").stdout.decode().split()
    expect(set(listed) >= {id for id, _ in made}, f"listed: {len(listed)} of {count}")


@on_engines(suite, ["docker"], ["docker", "runsc", "podman"])
def many_alive_at_once(where):
    most = 30 if where.kind == "runsc" else 100  # each has a kernel of its own, which needs processor time
    keep_many(repetitions(6, most), *flags(where))
    expect_clean(where, "many")


@suite.case
def many_alive_at_once_with_gvisor():
    needs_full("takes a minute")
    find_runsc()
    keep_many(repetitions(6, 30), "--backend", "gvisor")
    destroy_all()
    place = runtime_directory() / "gvisor"
    expect(wait_until(lambda: not place.is_dir() or not list(place.iterdir()), 30), "bundles are left")


if __name__ == "__main__":
    sys.exit(suite.run())
