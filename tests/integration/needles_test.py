#!/usr/bin/env python3
"""Lines that matter in large outputs of `bash`: each is found in the answer or by the first `recall`, on every backend,
by command line, HTTP and MCP, while other processes take the cores.

docs/tools.md states the bound: 16 MiB of a stream are kept whole, and of a larger one the first and the last 8 MiB. So a
line in the middle is kept up to the bound, and lines near the beginning and the end always. The answer has the true
number of lines, and of bytes if some are gone.
"""
import contextlib
import re
import sys
import tempfile

from daemon_client import daemon
from engines import engine
from gvisor_program import find_runsc
from mcp_client import client
from suite_image import put_into
from support import PATIENCE, Suite, expect, expect_equal, repetitions, sandbox
from tool_calls import Sandbox

suite = Suite()
WHOLE = 16  # MiB of a stream of which every byte is kept
END = 4 << 20  # bytes before the first needle and behind the last one, if the output is larger than that
LOAD = "for i in 1 2; do (while :; do :; done) & done"
BACKENDS = ("native", "docker", "gvisor", *repetitions((), ("runsc", "podman")))
SIZES = (1, 2, 4, 6, 8, 12, 15, 16, 17, 24, 32, 48, 64)  # MiB
USUAL = {"native": (1, 16, 24, 64), "docker": (6, 16, 24), "gvisor": (6, 17)}  # without --full
NEEDLE = "ERROR: needle"


# Three ways to call a tool. Each yields ask(tool, **arguments), which returns the text of the answer. --------------------

@contextlib.contextmanager
def by_cli(backend, image):
    with sandbox(*flags_of(backend, image)) as identifier:
        box = Sandbox(identifier)
        yield box.text


@contextlib.contextmanager
def by_http(backend, image):
    spec = {} if backend == "native" else {"backend": backend_of(backend)}
    spec.update({"image": image} if image else {})
    spec.update({"runtime": "runsc"} if backend == "runsc" else {})
    with daemon() as one:
        tools = f"/v1/sandboxes/{one.make(**spec)}/tools"

        def ask(tool, **arguments):
            answer = one.call("POST", f"{tools}/{tool}", arguments)
            expect_equal(answer.status, 200, f"status of {tool}: {answer.body[:200]}")
            return answer.json()["text"]
        yield ask


@contextlib.contextmanager
def by_mcp(backend, image):
    with client(*flags_of(backend, image)) as server:

        def ask(tool, **arguments):
            result = server.ask("tools/call", {"name": f"sandbox_{tool}", "arguments": arguments}, PATIENCE)
            expect(not result["isError"], f"{tool}: {result}")
            return result["content"][0]["text"]
        yield ask


WAYS = {"cli": by_cli, "http": by_http, "mcp": by_mcp}


def backend_of(backend):
    return "docker" if backend == "runsc" else backend


def flags_of(backend, image):
    flags = [] if backend == "native" else ["--backend", backend_of(backend)]
    return flags + (["--image", image] if image else []) + (["--runtime", "runsc"] if backend == "runsc" else [])


def image_of(backend):
    """The image in a running engine, or None for backends without one."""
    if backend == "native":
        return None
    if backend == "gvisor":
        return find_runsc() and None
    with tempfile.TemporaryDirectory(prefix="nutshell-image-") as directory:
        return put_into(engine(backend), directory)


# The outputs ------------------------------------------------------------------------------------

def lines_of_numbers(size):
    """The ends of lines in the first SIZE bytes of what `seq` prints."""
    lines, digits = 0, 1
    while size > 9 * 10 ** (digits - 1) * (digits + 1):
        lines += 9 * 10 ** (digits - 1)
        size -= 9 * 10 ** (digits - 1) * (digits + 1)
        digits += 1
    return lines + size // (digits + 1)


class Output:
    """A command whose output has MEBIBYTES, with needles that must be kept."""

    def __init__(self, mebibytes):
        half = mebibytes << 19
        parts = [half] * 2 if half <= END else [END, half - END, half - END, END]
        names = ["middle"] if len(parts) == 2 else ["first", "middle", "last"]
        needles = [f"\n{NEEDLE} {name}\n" for name in names]
        sizes = [size - len(needle) for size, needle in zip(parts, [*needles, "\n"])]
        numbers = [f"seq 1 100000000 | head -c {size}" for size in sizes]
        told = [f"printf '{needle}'".replace("\n", "\\n") for needle in [*needles, "\n"]]
        self.command = "; ".join(part for pair in zip(numbers, told) for part in pair)
        self.bytes = mebibytes << 20
        self.lines = sum(map(lines_of_numbers, sizes)) + 2 * len(needles) + 1
        self.is_whole = mebibytes <= WHOLE
        self.kept = [name for name in names if self.is_whole or name != "middle"]


def expect_needles(ask, mebibytes):
    output = Output(mebibytes)
    told = ask("bash", command=output.command, wait=120)
    missing = [name for name in output.kept if f"{NEEDLE} {name}" not in told]
    identifier = re.search(r"\bo[0-9a-f]{4,}\b", told)
    expect(identifier, f"{mebibytes} MiB: the answer names no output: {told[:200]}")
    if missing:
        found = ask("recall", id=identifier.group(0), grep=NEEDLE)
        expect(all(f"{NEEDLE} {name}" in found for name in missing), f"{mebibytes} MiB: {missing} not found: {found[:200]}")
    if output.is_whole:
        counted = ask("recall", id=identifier.group(0), limit=1).splitlines()[0]
        expect(counted.endswith(f"/{output.lines}"), f"{mebibytes} MiB: {counted}, wanted {output.lines} lines")
    else:
        total = f"in all it printed {output.bytes} bytes, {output.lines} lines"
        expect(total in told, f"{mebibytes} MiB: no {total!r} in {told[-300:]}")


def add(backend, way):
    def case():
        with WAYS[way](backend, image_of(backend)) as ask:
            ask("bash", command=LOAD, wait=1, timeout=300)
            for mebibytes in repetitions(USUAL.get(backend), SIZES):
                expect_needles(ask, mebibytes)
    case.__name__ = f"needles_are_found_on_{backend}_by_{way}"
    suite.case(case)


for one_backend in BACKENDS:
    for one_way in WAYS:
        add(one_backend, one_way)


if __name__ == "__main__":
    sys.exit(suite.run())
