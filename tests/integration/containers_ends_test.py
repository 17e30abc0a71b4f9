#!/usr/bin/env python3
"""Containers that somebody else ends, stops or starves while a command runs in them: one true outcome
in bounded time, nothing left behind, and the next call works."""
import json
import os
import sys

from engines import engine, flags, on_engines, shell
from support import (Suite, call, call_json, create, expect, expect_equal, expect_outcome,
                     expect_refusal, expect_running, is_listed, sandbox, start,
                     wait_until)

suite = Suite()


def expect_gone(where, made):
    expect(wait_until(lambda: not is_listed(made), 30), "it is still listed")
    expect_equal(call("exec", made, "--", "true").status, 125, "exec in what is gone")
    expect(wait_until(lambda: f"nutshell-{made}" not in where.containers(), 30), "it is left")
    expect_outcome(shell(where, "exit 5"), "exited", 5)


def end_while_running(where, end):
    """How a command learns that its sandbox was ended."""
    made = create(*flags(where))
    process = start("exec", made, "--json", "--", "sleep", "600")
    expect_running(made, "sleep 600")
    end(f"/containers/nutshell-{made}")
    # Docker keeps streams of a gVisor sandbox open that was killed: it is its silence that tells.
    output, _ = process.communicate(timeout=120)
    expect(json.loads(output)["outcome"] in ("lost", "out_of_memory"), f"{output[:200]}")
    expect_gone(where, made)


@on_engines(suite, ["docker"], ["docker", "podman", "runsc"])
def killed_under_us(where):
    end_while_running(where, lambda path: where.ask("POST", f"{path}/kill"))


@on_engines(suite, ["docker", "podman"], ["docker", "podman", "runsc"])
def removed_under_us(where):
    end_while_running(where, lambda path: where.ask("DELETE", f"{path}?force=1"))


@on_engines(suite, ["docker"], ["docker", "podman", "runsc"])
def stopped_under_us(where):
    end_while_running(where, lambda path: where.ask("POST", f"{path}/stop?t=1"))


@on_engines(suite, ["docker"], ["docker", "podman", "runsc"])
def paused_under_us(where):
    with sandbox(*flags(where)) as made:
        expect_equal(where.ask("POST", f"/containers/nutshell-{made}/pause")[0], 204, "pause")
        expect_refusal(call("exec", made, "--", "true"), "nutshell resume")
        expect(b"paused" in call("list").stdout, "list does not tell")
        where.ask("POST", f"/containers/nutshell-{made}/unpause")
        expect_equal(call("exec", made, "--", "echo", "on").stdout, b"on\n", "resumed")


@on_engines(suite, ["docker"], ["docker", "podman"])
def out_of_memory_as_a_whole(where):
    """Files fill the memory, and then init alone is left to pay for a command's words."""
    made = create(*flags(where, "--memory", "32m", "--disk", "1g"))
    answer = call_json("exec", made, "--", "dd", "if=/dev/zero", "of=/workspace/big", "bs=64k")
    expect_equal(answer["outcome"], "out_of_memory", f"dd: {answer.get('detail')}")
    expect("0 MiB" not in answer["detail"], f"files are memory: {answer['detail']}")
    words = ["x" * 120_000] * 10

    def starve():
        return call("exec", made, "--", "true", *words).status != 0 and not is_listed(made)
    expect(wait_until(starve, 60), "it lives on without memory")
    expect_gone(where, made)


@suite.case
def absent_engines_are_told_apart_from_absent_sandboxes():
    where = engine()
    made = create(*flags(where))
    os.environ["DOCKER_HOST"] = "unix:///nowhere/engine.sock"
    expect_refusal(call("exec", made, "--", "true"), "no sandbox")
    where.use()
    expect_equal(call("exec", made, "--", "echo", "on").stdout, b"on\n", "with its engine again")
    expect_equal(call("destroy", made).status, 0, "destroy")


if __name__ == "__main__":
    sys.exit(suite.run())
