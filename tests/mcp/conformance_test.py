#!/usr/bin/env python3
"""The official conformance suite against the fixture program: every scored scenario of both
protocol revisions, with no list of expected failures."""
import os
import re
import subprocess
import sys
from pathlib import Path

from clients import CONFORMANCE, npm
from support import REPOSITORY, Suite, expect, expect_equal, read_line

suite = Suite()
TEST_BIN = Path(os.environ.get("NUTSHELL_TEST_BIN", REPOSITORY / "build/release/tests"))
LINE = re.compile(r"^([✓✗]) ([a-z0-9-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
# Not scored by the suite, and held here all the same.
HELD = {"http-header-validation", "http-custom-header-server-validation", "json-schema-2020-12",
        "server-session-lifecycle", "tasks-lifecycle", "tasks-capability-negotiation",
        "tasks-wire-fields", "tasks-request-state-removal", "tasks-request-headers"}


def run(revision):
    folder, environment = npm("conformance", CONFORMANCE)
    fixture = TEST_BIN / "mcp-fixture"
    server = subprocess.Popen([fixture, "--http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        url = read_line(server).decode().strip()
        program = folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        ended = subprocess.run(["node", program, "server", "--url", url, "--requirements", revision],
                               env=environment, capture_output=True, text=True, timeout=300)
        expect(server.poll() is None, f"the server has ended: {server.returncode}")
    finally:
        server.stdin.close()
        server.wait(30)
    return ended


def expect_all(revision, count):
    ended = run(revision)
    summary = ended.stdout.split("=== SUMMARY ===")[-1]
    lines = {name: (mark, int(failed)) for mark, name, _, failed in LINE.findall(summary)}
    extension = {name for name in lines if name.startswith("tasks-")}
    unscored = extension | HELD | {"server-sse-polling"}
    scored = {name: line for name, line in lines.items() if name not in unscored}
    failing = [name for name, (mark, failed) in scored.items() if mark != "✓" or failed]
    expect_equal(failing, [], f"failing scenarios of {revision}")
    expect_equal(len(scored), count, f"number of scored scenarios of {revision}")
    for name in HELD & lines.keys():
        expect_equal(lines[name], ("✓", 0), name)
    expect_equal(ended.returncode, 0, "the suite's verdict")


@suite.case
def stateless_revision_passes_every_scored_scenario():
    expect_all("2026-07-28", 37)


@suite.case
def last_revision_with_a_handshake_passes_every_scored_scenario():
    expect_all("2025-11-25", 30)


if __name__ == "__main__":
    sys.exit(suite.run())
