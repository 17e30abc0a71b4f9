#!/usr/bin/env python3
"""The TypeScript SDK: the scenarios in both of its forms, its surface, and what can go wrong."""
import json
import signal
import sys

import node_packages
import sdk_fixture
from sdk_fixture import alone, conversation, expect_all_operations, served
from support import Failed, Skip, Suite, expect, expect_equal, repetitions, wait_until

suite = Suite()
CASES = node_packages.BUILT / "test/cases.mjs"
INTERRUPTED = ("run", "create", "stream", "terminal", "files", "tool", "batch")
state = {}


def built():
    """Builds the package once. A build that failed fails every case."""
    if not state:
        try:
            state["built"] = node_packages.build()
        except (Failed, Skip) as error:
            state["error"] = error
    if "error" in state:
        raise state["error"]
    return state["built"]


def hold(name, *words, environment, flags=(), **settings):
    """Runs a case, which says nothing."""
    built()
    done = node_packages.run_node(*flags, CASES, name, *words, environment=environment, **settings)
    expect(done.returncode == 0, f"{name}: {done.stderr[-1500:]}{done.stdout[-300:]}")
    expect_equal(done.stderr, "", f"{name}: standard error")
    return done.stdout


def converse(name, *words, environment):
    built()
    return conversation(["node", CASES, name, *words], environment)


@suite.case
def scenarios_hold_for_both_forms_of_the_package():
    place = built()
    for form in ("esm", "cjs"):
        with served(sdk_fixture.POOL) as (_, environment):
            done = node_packages.run_node(place / "test/scenarios.mjs", place / f"dist/{form}/index.js",
                                          *sdk_fixture.SCENARIOS, environment=environment)
            expect(done.returncode == 0, f"{form}: {done.stdout[-1500:]}{done.stderr[-500:]}")
            expect_equal(done.stdout.count("ok "), len(sdk_fixture.SCENARIOS), f"{form}: scenarios that held")


@suite.case
def every_operation_of_the_api_has_a_method():
    expect_all_operations()
    operations, codes = sdk_fixture.described()
    told = hold("surface", json.dumps(sorted(sdk_fixture.METHODS.values())), json.dumps(codes), environment={})
    expect_equal(sorted(json.loads(told)), sorted(operations), "generated operations")


@suite.case
def no_daemon_and_no_programs_is_a_typed_error():
    with alone(with_programs=False) as environment:
        hold("no_daemon_and_no_programs", environment=environment)


@suite.case
def first_use_starts_a_daemon_that_ends_with_the_process():
    with alone() as environment:
        expect("private-" in hold("first_use", environment=environment), "another daemon was used")
    with alone() as environment, converse("first_use", "wait", environment=environment) as one:
        one.hear()
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
        expect_equal(one.end(), "", "standard error")


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


@suite.case
def sandboxes_nobody_closed_end_with_their_object_and_with_the_program():
    with served() as (daemon, environment):
        hold("collected_without_close", environment=environment, flags=("--expose-gc",))
        for how, status in (("return", 0), ("exit", 0), ("throw", 1)):
            with converse("ends_without_close", how, environment=environment) as one:
                told = one.end(status)
                expect(how == "throw" or told == "", f"{how}: it printed {told}")
            expect_no_sandboxes(daemon, how)


def expect_no_sandboxes(daemon, what):
    expect(wait_until(lambda: not daemon.call("GET", "/v1/sandboxes").json()["sandboxes"], 30), f"{what}: a sandbox is left")


@suite.case
def ctrl_c_ends_sandboxes_of_a_daemon_that_goes_on():
    with served() as (daemon, environment):
        for how, status in (("", -signal.SIGINT), ("handled", 3)):
            with converse("ended_by_interrupt", how, environment=environment) as one:
                one.hear("ready")
                one.process.send_signal(signal.SIGINT)
                one.end(status)
            expect_no_sandboxes(daemon, how)


def on_a_daemon(*names):
    with served() as (_, environment):
        for name in names:
            hold(name, environment=environment)


@suite.case
def objects_used_after_close_are_typed_errors():
    on_a_daemon("used_after_close")


@suite.case
def callbacks_that_throw_and_cancelled_calls_kill_the_command():
    on_a_daemon("callback_that_throws", "cancelled", "cancelled_at_any_time")


@suite.case
def many_callers_share_a_sandbox():
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


@suite.case
def schemas_for_models_need_no_daemon():
    on_a_daemon("schemas")


if __name__ == "__main__":
    sys.exit(suite.run())
