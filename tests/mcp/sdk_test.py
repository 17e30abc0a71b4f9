#!/usr/bin/env python3
"""Clients that are not ours, each through one session with every tool, over stdio and over the daemon's HTTP."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from clients import CLIENT_V1, CLIENT_V2, INSPECTOR, PLACE, npm, once, python_sdk
from daemon_client import TOKENS, daemon, free_port
from support import (NUTSHELL, Failed, Skip, Suite, expect, expect_equal, expect_gone, random_token,
                     scratch)

suite = Suite()
HERE = Path(__file__).resolve().parent
PATIENCE = 120


@contextlib.contextmanager
def http_host():
    """The address of a daemon's /mcp."""
    port = free_port()
    with daemon(port=port):
        yield f"http://127.0.0.1:{port}/mcp"


def run(words, **settings):
    """The last line that a session printed; its failure is ours. What it cancelled must be gone."""
    token = random_token()
    environment = {**settings.pop("env", os.environ), "TOKEN": token, "BEARER": TOKENS["alice"]}
    with scratch() as directory:
        ended = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                               timeout=PATIENCE, env=environment, cwd=settings.get("cwd", directory),
                               stdin=subprocess.DEVNULL)
    if ended.returncode != 0:
        raise Failed(f"{ended.stdout[-200:]} {ended.stderr[-500:]}")
    expect_gone(token, 20)
    return ended.stdout.strip().splitlines()[-1]


def server_words():
    """Some clients hand on nothing of their environment; what they leave is to be found and ended."""
    return ["env", f"NUTSHELL_RUNTIME_DIR={os.environ['NUTSHELL_RUNTIME_DIR']}", NUTSHELL, "mcp"]


def over_both(words, **settings):
    """The revisions spoken over stdio and over the daemon's HTTP."""
    stdio = run([*words, "stdio", *server_words(), "--session", random_token()], **settings)
    with http_host() as url:
        return stdio, run([*words, "http", url], **settings)


def node_words(kind):
    folder, environment = npm("sdk", CLIENT_V1, CLIENT_V2)
    session = folder / "sdk_session.mjs"  # where its imports are found
    session.write_bytes((HERE / "sdk_session.mjs").read_bytes())
    return ["node", session, kind], environment


@suite.case
def python_sdk_with_a_handshake():
    words = [python_sdk(), HERE / "sdk_session.py", "legacy"]
    expect_equal(over_both(words), ("2025-11-25", "2025-11-25"), "revisions")


@suite.case
def python_sdk_without_a_handshake():
    words = [python_sdk(), HERE / "sdk_session.py", "auto"]
    expect_equal(over_both(words), ("2026-07-28", "2026-07-28"), "revisions")


@suite.case
def first_typescript_sdk():
    words, environment = node_words("v1")
    expect_equal(over_both(words, env=environment), ("handshake", "handshake"), "revisions")


@suite.case
def current_typescript_sdk():
    words, environment = node_words("v2")
    expect_equal(over_both(words, env=environment), ("2026-07-28", "2026-07-28"), "revisions")


@suite.case
def current_typescript_sdk_with_a_handshake():
    words, environment = node_words("v2-legacy")
    expect_equal(over_both(words, env=environment), ("2025-11-25", "2025-11-25"), "revisions")


@suite.case
def go_sdk():
    compiler = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.access(compiler, os.X_OK):
        raise Skip("go is missing")
    source = (HERE / "go/session.go").read_text() + (HERE / "go/go.mod").read_text()
    os.makedirs(PLACE / "go", exist_ok=True)
    folder = once("go", source, ["cp", HERE / "go/session.go", HERE / "go/go.mod", "."],
                  [compiler, "mod", "tidy"], [compiler, "build", "-o", "session", "."])
    revisions = over_both([folder / "session"])
    expect(all(revision in ("2025-11-25", "2026-07-28") for revision in revisions), f"{revisions}")


@suite.case
def inspector_lists_and_calls():
    folder, environment = npm("inspector", INSPECTOR)
    cli = ["node", folder / "node_modules/.bin/mcp-inspector", "--cli"]

    def inspect(target, *words):
        with scratch() as directory:
            ended = subprocess.run([str(word) for word in [*cli, *target, *words, "--format", "json"]],
                                   capture_output=True, text=True, timeout=PATIENCE, cwd=directory,
                                   env={**environment, "HOME": str(directory)}, stdin=subprocess.DEVNULL)
        expect_equal(ended.returncode, 0, f"status of {words}: {ended.stderr[-300:]}")
        return json.loads(ended.stdout)

    def examine(target):
        tools = inspect(target, "--method", "tools/list")
        expect("sandbox_read" in json.dumps(tools), f"{str(tools)[:200]}")
        result = inspect(target, "--method", "tools/call", "--tool-name", "sandbox_bash",
                         "--tool-arg", "command=echo from-the-inspector")
        expect("from-the-inspector" in json.dumps(result), f"{str(result)[:200]}")

    examine(server_words())
    with http_host() as url:
        examine([url, "--header", f"Authorization: Bearer {TOKENS['alice']}"])


if __name__ == "__main__":
    sys.exit(suite.run())
