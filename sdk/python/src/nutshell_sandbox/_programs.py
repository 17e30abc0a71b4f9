"""What the program `nutshell` does for the SDK: diff, apply and copies of directories.

They write to this machine what a sandbox made. The program holds the rules for that.
"""
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from nutshell_sandbox._endpoint import Endpoint, find_program
from nutshell_sandbox._record import Record
from nutshell_sandbox.errors import ConflictError, SandboxError, error_of


class Applied(Record):
    """What `apply` wrote, and what it did not."""

    dry_run: bool = False
    applied: list[Any]
    held: list[dict[str, Any]]      # held back: path, change, held_by, held_why, take_with
    skipped: list[Any]
    conflicts: list[Any]
    _lists = ("applied", "held", "skipped", "conflicts")


def _call(endpoint: Endpoint, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([find_program("nutshell"), *words], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False,
                          env={**os.environ, **endpoint.environment()})


def _refusal(done: subprocess.CompletedProcess[bytes]) -> SandboxError:
    text = done.stderr.decode(errors="replace").strip()
    message = text.removeprefix("nutshell: ") or f"nutshell ended with status {done.returncode}"
    code = "not_found" if "no sandbox" in message.lower() else "invalid_argument"
    return error_of(code, message)


def diff(endpoint: Endpoint, id: str, flags: Sequence[str], paths: Sequence[str]) -> str:
    chosen = [word for path in paths for word in ("--path", path)]
    done = _call(endpoint, "diff", *flags, *chosen, id)
    if done.returncode not in (0, 1):
        raise _refusal(done)
    return done.stdout.decode(errors="replace")


def apply(endpoint: Endpoint, id: str, flags: Sequence[str], paths: Sequence[str],
          exclude: Sequence[str]) -> Applied:
    chosen = [word for path in paths for word in ("--path", path)]
    chosen += [word for path in exclude for word in ("--exclude", path)]
    done = _call(endpoint, "apply", "--json", *flags, *chosen, id)
    try:
        told = json.loads(done.stdout)
    except ValueError:
        raise _refusal(done) from None
    if done.returncode != 0:
        message = done.stderr.decode(errors="replace").strip().removeprefix("nutshell: ")
        raise ConflictError(message or "Files here changed since the sandbox was made.", details=told)
    return Applied(told)


def copy(endpoint: Endpoint, source: str, target: str, flags: Sequence[str] = ()) -> str:
    """Copies as `nutshell cp`; returns what it said, such as files that it held back."""
    done = _call(endpoint, "cp", *flags, source, target)
    if done.returncode != 0:
        raise _refusal(done)
    return done.stderr.decode(errors="replace")
