"""What the adapters share."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from nutshell_sandbox import _tool_schemas
from nutshell_sandbox._results import ExecResult
from nutshell_sandbox._sync.sandbox import Sandbox

# Commands of models name the program `python`, which many systems call python3 only.
_BIN = "/tmp/.nutshell-bin"
_LINK = (f"command -v python >/dev/null || ! command -v python3 >/dev/null || "
         f"{{ mkdir -p {_BIN} && ln -sf \"$(command -v python3)\" {_BIN}/python; }}")
# A command's output on one stream, in the order in which it was written.
_MERGED = (f'exec 2>&1; PATH="$PATH:{_BIN}"; export PATH; '
           'if command -v bash >/dev/null; then exec bash -c "$1"; else exec sh -c "$1"; fi')


def merged(command: str) -> list[str]:
    """The argument list for a shell command whose stderr goes to stdout."""
    return ["/bin/sh", "-c", _MERGED, "sh", command]


def exit_code_of(result: ExecResult) -> int:
    """As a shell has it: 124 after the time limit, 128 and the signal."""
    if result.exit_code is not None:
        return result.exit_code
    return 124 if result.outcome == "timed_out" else 128 + (result.signal or 9)


class Held:
    """A sandbox that was given, which its owner closes, or one of the adapter's own."""

    def __init__(self, sandbox: Sandbox | None, options: dict[str, Any]) -> None:
        self._sandbox, self._options = sandbox, options
        self._is_own = sandbox is None

    @property
    def sandbox(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = Sandbox(**self._options)
            self._sandbox.run(_LINK)
        return self._sandbox

    def close(self) -> None:
        if self._is_own and self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None


def model_of(name: str, schema: dict[str, Any]) -> Any:
    """A pydantic model of a JSON Schema of our tools, for frameworks that want one."""
    from pydantic import Field, create_model
    required = schema.get("required", ())
    fields: dict[str, Any] = {}
    for key, told in schema["properties"].items():
        kind = _python_type(told)
        about = told.get("description", "")
        fields[key] = (kind, Field(description=about)) if key in required else \
            (kind | None, Field(default=None, description=about))
    return create_model(name, **fields)


def _python_type(told: dict[str, Any]) -> Any:
    if "enum" in told:
        return Literal[tuple(told["enum"])]
    if told["type"] == "array":
        return list[str] if told["items"]["type"] == "string" else list[dict[str, Any]]
    return {"string": str, "integer": int, "boolean": bool}[told["type"]]


def callers(sandbox: Sandbox, names: Iterable[str] | None) \
        -> list[tuple[dict[str, Any], Callable[[dict[str, Any]], str]]]:
    """Each tool's schema, and a function from its arguments to what a model reads."""
    def caller(name: str) -> Callable[[dict[str, Any]], str]:
        return lambda arguments: sandbox.tools.call(name, arguments).text
    return [(one, caller(one["name"])) for one in _tool_schemas.schemas(names)]
