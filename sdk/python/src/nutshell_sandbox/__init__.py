"""Sandboxes for AI agents.

    from nutshell_sandbox import Sandbox

    with Sandbox() as s:
        print(s.run("uname -a").stdout)

Every class has an asynchronous twin of the same methods: Sandbox and AsyncSandbox, Session and
AsyncSession, Pool and AsyncPool, Client and AsyncClient.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nutshell_sandbox._generated import (
    Budget,
    Change,
    DirectoryEntry,
    Limits,
    PoolInfo,
    Protection,
    SandboxInfo,
    SandboxSpec,
    SandboxStats,
    SessionInfo,
)
from nutshell_sandbox._results import Chunk, ExecResult, ToolResult
from nutshell_sandbox.errors import (
    AlreadyExistsError,
    BinaryError,
    CancelledError,
    ClosedError,
    CommandFailedError,
    ConflictError,
    CorruptError,
    DeadlineExceededError,
    ExpiredError,
    InternalError,
    InvalidArgumentError,
    IsDirectoryError,
    LazyPlaceholderError,
    NotFoundError,
    NotUniqueError,
    OutsideRootError,
    PermissionDeniedError,
    ResourceExhaustedError,
    SandboxError,
    StaleError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from nutshell_sandbox._async.client import AsyncClient
    from nutshell_sandbox._async.commands import AsyncExecStream, AsyncJob
    from nutshell_sandbox._async.pool import AsyncPool
    from nutshell_sandbox._async.sandbox import AsyncSandbox
    from nutshell_sandbox._async.session import AsyncSession
    from nutshell_sandbox._async.terminal import AsyncTerminal
    from nutshell_sandbox._sync.client import Client
    from nutshell_sandbox._sync.commands import ExecStream, Job
    from nutshell_sandbox._sync.pool import Pool
    from nutshell_sandbox._sync.sandbox import Sandbox
    from nutshell_sandbox._sync.session import Session
    from nutshell_sandbox._sync.terminal import Terminal
    from nutshell_sandbox.decorator import run_parallel, sandboxed

__version__ = "0.1.0"
__all__ = [
    "AlreadyExistsError", "AsyncClient", "AsyncExecStream", "AsyncJob", "AsyncPool",
    "AsyncSandbox", "AsyncSession", "AsyncTerminal", "BinaryError", "Budget", "CancelledError",
    "Change", "Chunk", "Client", "ClosedError", "CommandFailedError", "ConflictError",
    "CorruptError", "DeadlineExceededError", "DirectoryEntry", "ExecResult", "ExecStream",
    "ExpiredError", "InternalError", "InvalidArgumentError", "IsDirectoryError", "Job",
    "LazyPlaceholderError", "Limits", "NotFoundError", "NotUniqueError", "OutsideRootError",
    "PermissionDeniedError", "Pool", "PoolInfo", "Protection", "ResourceExhaustedError",
    "Sandbox", "SandboxError", "SandboxInfo", "SandboxSpec", "SandboxStats", "Session",
    "SessionInfo", "StaleError", "Terminal", "TooLargeError", "ToolResult",
    "UnauthenticatedError", "UnavailableError", "UnsupportedError", "run_parallel", "sandboxed",
]

# Loaded when first used: asyncio alone takes longer to import than everything else here.
_LATER = {
    "Client": "_sync.client", "ExecStream": "_sync.commands", "Job": "_sync.commands",
    "Pool": "_sync.pool", "Sandbox": "_sync.sandbox", "Session": "_sync.session",
    "Terminal": "_sync.terminal", "AsyncClient": "_async.client",
    "AsyncExecStream": "_async.commands", "AsyncJob": "_async.commands",
    "AsyncPool": "_async.pool", "AsyncSandbox": "_async.sandbox",
    "AsyncSession": "_async.session", "AsyncTerminal": "_async.terminal",
    "run_parallel": "decorator", "sandboxed": "decorator",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'nutshell_sandbox' has no attribute '{name}'")
    import importlib
    value = getattr(importlib.import_module("nutshell_sandbox." + _LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
