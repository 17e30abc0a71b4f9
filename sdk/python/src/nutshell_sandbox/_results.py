"""Results of commands and tools."""
from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Literal

from nutshell_sandbox._generated import ExecResultInfo, ToolResultInfo
from nutshell_sandbox.errors import CommandFailedError, SandboxError, error_of


class ExecResult(ExecResultInfo):
    """How a command ended, with its output.

    `stdout` and `stderr` are text; bytes that are not UTF-8 are replaced, and `stdout_raw` and
    `stderr_raw` have all bytes as they were.
    """

    _nested = {}

    @property
    def stdout_raw(self) -> bytes:
        return _raw(self.stdout, self.stdout_base64)

    @property
    def stderr_raw(self) -> bytes:
        return _raw(self.stderr, self.stderr_base64)

    @property
    def is_ok(self) -> bool:
        """Whether the command exited with 0."""
        return self.outcome == "exited" and self.exit_code == 0

    @property
    def text(self) -> str:
        """What a model should read: the output, and how the command ended unless with 0."""
        parts = [part for part in (self.stdout, self.stderr) if part]
        text = "\n".join(part.rstrip("\n") for part in parts)
        if self.is_ok:
            return text
        return f"{text}\n[{self.ending}]" if text else f"[{self.ending}]"

    @property
    def ending(self) -> str:
        """How the command ended, in words."""
        if self.outcome == "exited":
            return f"exit {self.exit_code}"
        if self.outcome == "signalled":
            return f"signal {self.signal}"
        words = {"timed_out": "timed out", "out_of_memory": "out of memory",
                 "output_limit": "too much output"}.get(self.outcome, self.outcome)
        return f"{words}: {self.detail}" if self.detail else words

    def check(self) -> ExecResult:
        """Raises CommandFailedError unless the command exited with 0."""
        if self.is_ok:
            return self
        last = (self.stderr or self.stdout).strip()[-300:]
        raise CommandFailedError(f"The command failed ({self.ending})" + (f": {last}" if last else ""),
                                 details={"result": self})

    def __str__(self) -> str:
        return self.text


def _raw(text: str, encoded: str) -> bytes:
    return base64.b64decode(encoded) if encoded else text.encode()


class Chunk:
    """A piece of the output of a running command."""

    __slots__ = ("stream", "data", "offset")

    def __init__(self, stream: Literal["stdout", "stderr"], data: bytes, offset: int) -> None:
        self.stream: Literal["stdout", "stderr"] = stream
        self.data = data
        self.offset = offset

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")

    def __repr__(self) -> str:
        return f"Chunk({self.stream}, {self.data!r})"


class ToolError:
    """Why a tool refused: `code`, what failed, why, and what to do."""

    __slots__ = ("code", "what", "why", "next")

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.code = str(told.get("code", ""))
        self.what = str(told.get("what", ""))
        self.why = str(told.get("why", ""))
        self.next = str(told.get("next", ""))

    def __repr__(self) -> str:
        return f"ToolError({self.code}: {self.what})"


class ToolResult(ToolResultInfo):
    """The result of a tool: `text` is what a model reads."""

    @property
    def failure(self) -> ToolError | None:
        """Why the tool refused; None if it did what it was asked for."""
        return ToolError(self.error) if self.error else None

    @property
    def exec_result(self) -> ExecResult | None:
        """Of `bash` and `git`: how the command ended."""
        return ExecResult(self.result) if self.result else None

    def check(self) -> ToolResult:
        """Raises the tool's error, if it refused."""
        if not self.is_error:
            return self
        raise self.as_error()

    def as_error(self) -> SandboxError:
        told = self.failure
        return error_of(told.code if told else "internal", self.text,
                        details=dict(self.error or {}))

    def __str__(self) -> str:
        return self.text
