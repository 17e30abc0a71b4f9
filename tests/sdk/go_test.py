#!/usr/bin/env python3
"""The Go SDK: the scenarios, its surface, its form, and what can go wrong."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import sdk_fixture
from sdk_fixture import alone, conversation, expect_all_operations, merged, served
from support import REPOSITORY, Failed, Skip, Suite, expect, expect_equal, is_full, repetitions

suite = Suite()
SOURCE = REPOSITORY / "sdk/go"
BUILT = REPOSITORY / "build/sdk/go"
INTERRUPTED = ("run", "create", "stream", "terminal", "files", "tool", "batch")
LEAST_GO = (1, 24)
state = {}


def go_environment():
    """Nothing is downloaded, and what is compiled stays below build/."""
    return {**os.environ, "GOCACHE": str(REPOSITORY / "build/go-cache"), "GOTOOLCHAIN": "local", "GOPROXY": "off",
            "GOFLAGS": "-mod=mod", "GOTELEMETRY": "off", "GOPATH": str(REPOSITORY / "build/go-path"), "CGO_ENABLED": "0"}


def go(*words, **settings):
    program = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.access(program, os.X_OK):
        raise Skip("go is missing")
    return subprocess.run([program, *words], cwd=settings.pop("cwd", SOURCE), capture_output=True, text=True,
                          env={**go_environment(), **settings.pop("environment", {})},
                          timeout=settings.pop("timeout", 300), check=False, stdin=subprocess.DEVNULL)


def expect_version():
    told = go("env", "GOVERSION").stdout.strip()
    version = tuple(int(part) for part in told.removeprefix("go").split("-")[0].split(".")[:2])
    if version < LEAST_GO:
        raise Skip(f"{told} is older than go{LEAST_GO[0]}.{LEAST_GO[1]}")


def build():
    expect_version()
    generated = subprocess.run([sys.executable, REPOSITORY / "sdk/generate.py", "go"], capture_output=True, text=True,
                               check=False)
    expect(generated.returncode == 0, f"sdk/generate.py: {generated.stderr[-300:]}")
    BUILT.mkdir(parents=True, exist_ok=True)
    program = BUILT / "cases"
    words = ["-race"] if is_full() else []
    done = go("test", *words, "-c", "-o", str(program), ".", environment={"CGO_ENABLED": "1"} if words else {})
    expect(done.returncode == 0, f"the module does not build: {done.stderr[-1500:]}")
    return program


def built():
    """Builds the module and its cases once. A build that failed fails every case."""
    if not state:
        try:
            state["built"] = build()
        except (Failed, Skip) as error:
            state["error"] = error
    if "error" in state:
        raise state["error"]
    return state["built"]


def named(name, words):
    return {"NUTSHELL_CASE": name, "NUTSHELL_WORDS": json.dumps([str(word) for word in words])}


def hold(name, *words, environment):
    """Runs a case, which says nothing."""
    program = built()
    done = subprocess.run([program, "-test.run", "^TestCase$"], cwd=SOURCE, capture_output=True, text=True,
                          env=merged({**environment, **named(name, words)}), timeout=150, check=False,
                          stdin=subprocess.DEVNULL)
    expect(done.returncode == 0, f"{name}: {done.stdout[-1500:]}{done.stderr[-800:]}")
    expect_equal(done.stderr, "", f"{name}: standard error")
    return done.stdout


def converse(name, *words, environment):
    return conversation([built(), "-test.run", "^TestCase$"], {**environment, **named(name, words)})


@suite.case
def the_module_is_formatted_and_has_no_findings():
    built()
    done = go("vet", "./...")
    expect(done.returncode == 0, f"go vet: {done.stderr[-1500:]}")
    formatter = shutil.which("gofmt") or "/usr/local/go/bin/gofmt"
    done = subprocess.run([formatter, "-l", "."], cwd=SOURCE, capture_output=True, text=True, check=True)
    expect_equal(done.stdout, "", "files that gofmt would change")


@suite.case
def every_scenario_holds():
    program = built()
    with served(sdk_fixture.POOL) as (_, environment):
        done = subprocess.run([program, "-test.v", "-test.run", "^TestScenarios$"], cwd=SOURCE, env=merged(environment),
                              capture_output=True, text=True, timeout=300, check=False)
    expect(done.returncode == 0, done.stdout[-2000:] + done.stderr[-500:])
    expect_equal(done.stdout.count("--- PASS: TestScenarios/"), len(sdk_fixture.SCENARIOS), "scenarios that held")


@suite.case
def every_operation_of_the_api_has_a_method():
    expect_all_operations()
    _, codes = sdk_fixture.described()
    hold("surface", " ".join(sorted(sdk_fixture.METHODS.values())), " ".join(sorted(codes)), environment={})


@suite.case
def no_daemon_and_no_programs_is_a_typed_error():
    with alone(with_programs=False) as environment:
        hold("no_daemon_and_no_programs", environment=environment)


@suite.case
def first_use_starts_a_daemon_that_ends_with_the_process():
    with alone() as environment:
        hold("first_use", environment=environment)
    with alone() as environment, converse("first_use", "wait", environment=environment) as one:
        one.hear("used")
        one.process.send_signal(signal.SIGKILL)
        one.end(-signal.SIGKILL)


@suite.case
def wrong_tokens_and_addresses_are_typed_errors():
    from daemon_client import TOKENS, free_port  # pylint: disable=import-outside-toplevel
    port = free_port()
    with served(port=port) as (_, environment):
        hold("wrong_token", f"http://127.0.0.1:{port}", TOKENS["alice"], environment={**environment, "NUTSHELL_DAEMON": None})


@suite.case
def a_daemon_killed_in_a_stream_is_one_error_and_the_next_call_reconnects():
    with served() as (daemon, environment), converse("daemon_killed_in_a_stream", environment=environment) as one:
        one.hear("begun")
        daemon.stop(signal.SIGKILL)
        one.hear("failed")
        daemon.start()
        one.say()
        one.end()


@suite.case
def a_private_daemon_that_was_killed_is_replaced():
    with alone() as environment:
        hold("private_daemon_killed", environment=environment)


@suite.case
def a_daemon_that_hangs_is_a_typed_error():
    with served() as (daemon, environment), converse("hung_daemon", environment=environment) as one:
        one.hear("ready")
        with sdk_fixture.hung(daemon.process):
            one.say()
            one.hear("late")
        one.say()
        one.end()


@suite.case
def servers_of_other_versions_are_told_in_clear_words():
    with sdk_fixture.of_other_versions() as ports:
        hold("other_versions", *ports, environment={})


@suite.case
def malformed_answers_are_typed_errors():
    with sdk_fixture.malformed_servers() as places:
        hold("malformed_answers", *places, environment={})


@suite.case
def ctrl_c_in_every_call_leaves_nothing_running():
    built()
    sdk_fixture.interrupt_all(INTERRUPTED, converse)


def on_a_daemon(*names):
    with served() as (_, environment):
        for name in names:
            hold(name, environment=environment)


@suite.case
def sandboxes_nobody_closed_end_with_their_object():
    on_a_daemon("collected_without_close")


@suite.case
def objects_used_after_close_are_typed_errors():
    on_a_daemon("used_after_close")


@suite.case
def callbacks_that_fail_and_cancelled_calls_kill_the_command():
    on_a_daemon("callback_that_fails", "cancelled", "cancelled_at_any_time")


@suite.case
def ctrl_c_that_cancels_a_context_leaves_no_sandbox():
    with served() as (daemon, environment), converse("interrupted_context", environment=environment) as one:
        one.hear("ready")
        one.process.send_signal(signal.SIGINT)
        one.end()
        expect_equal(daemon.call("GET", "/v1/sandboxes").json()["sandboxes"], [], "what is left")


@suite.case
def many_goroutines_share_a_sandbox():
    on_a_daemon(*["shared_by_many"] * repetitions(1, 10))


@suite.case
def descriptors_do_not_grow():
    on_a_daemon("no_growth")


@suite.case
def hostile_names_reach_nothing_else():
    on_a_daemon("hostile_names")


@suite.case
def copies_and_apply_hold_back_what_the_host_would_run():
    on_a_daemon("copies_and_changes")


@suite.case
def large_and_binary_content_passes_whole():
    on_a_daemon("large_and_binary", "watched")


# Around a snippet of docs/go.md that is no program of its own.
AROUND = """package main

import (
%s
	"nutshell"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	s, err := nutshell.Create(ctx, &nutshell.Options{Workspace: os.Args[1]})
	check(err)
	defer s.Close()
	{
%s	}
}
"""
PACKAGES = ("errors", "fmt", "io", "time")


def snippets():
    for body in re.findall(r"^```go\n(.*?)^```", (REPOSITORY / "docs/go.md").read_text(), re.DOTALL | re.MULTILINE):
        used = [name for name in PACKAGES if re.search(rf"\b{name}\.", body)]
        imports = "".join(f'\t"{name}"\n' for name in sorted((*used, "context", "os")))
        yield body if body.startswith("package ") else AROUND % (imports, body)


@suite.case
def every_snippet_of_the_page_runs():
    built()
    place = BUILT / "snippets"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "go.mod").write_text(f"module snippets\n\ngo 1.24\n\nrequire nutshell v0.0.0\n\nreplace nutshell => {SOURCE}\n")
    programs = []
    for number, text in enumerate(snippets()):
        programs.append(f"snippet{number}")
        (place / programs[-1]).mkdir()
        (place / programs[-1] / "main.go").write_text(text)
    expect(len(programs) > 5, "the page has no snippets")
    (place / "out").mkdir()
    done = go("build", "-o", str(place / "out"), "./...", cwd=place)
    expect(done.returncode == 0, f"snippets do not build: {done.stderr[-1500:]}")
    for program in programs:
        project = place / f"project-of-{program}"
        project.mkdir()
        with alone() as environment:
            done = subprocess.run([place / "out" / program, project], env=merged(environment), capture_output=True,
                                  cwd=project, text=True, timeout=90, check=False, stdin=subprocess.DEVNULL)
            expect(done.returncode == 0, f"{program}: {done.stdout[-300:]}{done.stderr[-1200:]}")


@suite.case
def schemas_for_models_need_no_daemon():
    hold("schemas", environment={})


if __name__ == "__main__":
    sys.exit(suite.run())
