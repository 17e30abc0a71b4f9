"""Running pieces of code: CodeSandbox and a pool of them.

    from nutshell_sandbox.code import CodeSandbox, SandboxConfig

    with CodeSandbox(SandboxConfig(timeout_seconds=5)) as sandbox:
        print(sandbox.execute("print(6 * 7)").stdout)
"""
from __future__ import annotations

import ast
import threading
from collections.abc import Sequence
from typing import Any

from nutshell_sandbox._results import ExecResult
from nutshell_sandbox._sync.sandbox import Sandbox
from nutshell_sandbox.errors import InvalidArgumentError

LANGUAGES = {"python": ("main.py", "python3"), "javascript": ("main.js", "node"),
             "bash": ("main.sh", "bash"), "sh": ("main.sh", "sh")}


class SandboxConfig:
    """What a CodeSandbox may do. `allowed_imports` names the modules that Python code may import;
    None allows all. It keeps models on track; what code can reach is bounded by the sandbox."""

    def __init__(self, language: str = "python", timeout_seconds: float = 30,
                 max_memory_mb: int = 256,
                 allowed_imports: Sequence[str] | None = ("json", "math", "re"),
                 **options: Any) -> None:
        if language not in LANGUAGES:
            raise InvalidArgumentError(f"Unknown language '{language}'; known are "
                                       f"{', '.join(LANGUAGES)}.")
        self.language, self.timeout_seconds = language, timeout_seconds
        self.max_memory_mb, self.options = max_memory_mb, options
        self.allowed_imports = None if allowed_imports is None else list(allowed_imports)


class ExecutionResult:
    """How the code ended."""

    def __init__(self, stdout: str = "", stderr: str = "", exit_code: int = 0,
                 timed_out: bool = False) -> None:
        self.stdout, self.stderr = stdout, stderr
        self.exit_code, self.timed_out = exit_code, timed_out

    def __repr__(self) -> str:
        return (f"ExecutionResult(stdout={self.stdout!r}, stderr={self.stderr!r}, "
                f"exit_code={self.exit_code}, timed_out={self.timed_out})")


class CodeSandbox:
    """Runs code in a sandbox of its own. Files stay from one call to the next."""

    def __init__(self, config: SandboxConfig | None = None) -> None:
        self.config = config or SandboxConfig()
        self._sandbox = Sandbox(memory=f"{self.config.max_memory_mb}m", **self.config.options)

    @property
    def sandbox(self) -> Sandbox:
        return self._sandbox

    def execute(self, code: str) -> ExecutionResult:
        """Writes the code to a file and runs it."""
        refused = self._refusal(code)
        if refused:
            return ExecutionResult(stderr=refused, exit_code=1)
        name, program = LANGUAGES[self.config.language]
        self._sandbox.files.write(name, code)
        done = self._sandbox.run([program, name], timeout=self.config.timeout_seconds)
        return _result_of(done)

    def cleanup(self) -> None:
        """Removes all files, and ends what was left running."""
        fresh = Sandbox(memory=f"{self.config.max_memory_mb}m", **self.config.options)
        self._sandbox.close()
        self._sandbox = fresh

    def close(self) -> None:
        self._sandbox.close()

    def __enter__(self) -> CodeSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refusal(self, code: str) -> str:
        allowed = self.config.allowed_imports
        if self.config.language != "python" or allowed is None:
            return ""
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ""  # Python says better what is wrong
        for node in ast.walk(tree):
            for module in _imported(node):
                if module.partition(".")[0] not in allowed:
                    return (f"ImportError: '{module}' is not among the allowed imports: "
                            f"{', '.join(allowed)}\n")
        return ""


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "."]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) \
            and node.func.id == "__import__":
        return ["__import__"]
    return []


def _result_of(done: ExecResult) -> ExecutionResult:
    if done.outcome == "timed_out":
        return ExecutionResult(done.stdout, done.stderr + "Execution timed out", 1, True)
    if done.exit_code is None:
        return ExecutionResult(done.stdout, f"{done.stderr}[{done.ending}]", 128 + (done.signal or 9))
    return ExecutionResult(done.stdout, done.stderr, done.exit_code)


class SandboxPool:
    """Sandboxes that are made ahead. One that is released is never used again: a fresh one takes
    its place."""

    def __init__(self, pool_size: int = 3) -> None:
        self.pool_size = pool_size
        self._config: SandboxConfig | None = None
        self._available: list[CodeSandbox] = []
        self._in_use: list[CodeSandbox] = []
        self._changing = threading.Lock()

    def initialize(self, config: SandboxConfig | None = None) -> None:
        """Makes the sandboxes."""
        self._config = config or SandboxConfig()
        made = [CodeSandbox(self._config) for _ in range(self.pool_size)]
        with self._changing:
            self._available += made

    def acquire(self) -> CodeSandbox | None:
        """A sandbox, or None if all are in use."""
        with self._changing:
            if not self._available:
                return None
            one = self._available.pop()
            self._in_use.append(one)
            return one

    def release(self, sandbox: CodeSandbox) -> None:
        """Gives a sandbox back."""
        with self._changing:
            if sandbox not in self._in_use:
                raise InvalidArgumentError("This sandbox was not acquired from this pool.")
            self._in_use.remove(sandbox)
        sandbox.close()
        fresh = CodeSandbox(self._config)
        with self._changing:
            self._available.append(fresh)

    def status(self) -> dict[str, int]:
        with self._changing:
            free, used = len(self._available), len(self._in_use)
        return {"total": free + used, "available": free, "in_use": used}

    def close(self) -> None:
        with self._changing:
            all_of_them = self._available + self._in_use
            self._available, self._in_use = [], []
        for one in all_of_them:
            one.close()

    def __enter__(self) -> SandboxPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
