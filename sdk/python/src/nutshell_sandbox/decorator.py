"""A sandbox for each call of a function, and many commands at once."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nutshell_sandbox._results import ExecResult
from nutshell_sandbox._sync.client import Client, default_client
from nutshell_sandbox._sync.sandbox import Sandbox
from nutshell_sandbox.errors import SandboxError


def sandboxed(function: Callable[..., Any] | None = None, *, sandbox_param: str = "sandbox", **options: Any) -> Any:
    """Makes a sandbox for each call of a function and passes it as the parameter `sandbox`.

    The sandbox ends with the call. A coroutine function gets an AsyncSandbox. Callers do not see
    the parameter. `options` are those of Sandbox.

        @sandboxed(memory="256m")
        def run_code(code, sandbox):
            return sandbox.run(["python3", "-c", code]).stdout
    """
    if function is None:
        return functools.partial(sandboxed, sandbox_param=sandbox_param, **options)
    signature = inspect.signature(function)
    if sandbox_param not in signature.parameters:
        raise TypeError(f"{function.__name__}() has no parameter '{sandbox_param}' for its sandbox.")
    if inspect.iscoroutinefunction(function):
        made = _asynchronous(function, sandbox_param, options)
    else:
        made = _synchronous(function, sandbox_param, options)
    functools.update_wrapper(made, function)
    shown = [one for name, one in signature.parameters.items() if name != sandbox_param]
    made.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return made


def _synchronous(function: Callable[..., Any], name: str, options: Mapping[str, Any]) \
        -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        with Sandbox(**options) as sandbox:
            return function(*arguments, **named, **{name: sandbox})
    return call


def _asynchronous(function: Callable[..., Any], name: str, options: Mapping[str, Any]) \
        -> Callable[..., Any]:
    from nutshell_sandbox._async.sandbox import AsyncSandbox

    async def call(*arguments: Any, **named: Any) -> Any:
        async with AsyncSandbox(**options) as sandbox:
            return await function(*arguments, **named, **{name: sandbox})
    return call


def run_parallel(commands: Sequence[str | Sequence[str] | Mapping[str, Any]], *,
                 max_concurrency: int = 5, client: Client | None = None,
                 on_result: Callable[[int, ExecResult | SandboxError], object] | None = None,
                 **options: Any) -> list[ExecResult | SandboxError]:
    """Runs each command in a sandbox of its own, `max_concurrency` at once, with the options of
    Sandbox. Results are in the order of the commands; one that could not run has its error."""
    from nutshell_sandbox._options import spec_of
    return (client or default_client()).batch(commands, spec=spec_of(options),
                                              parallel=max_concurrency, on_result=on_result)
