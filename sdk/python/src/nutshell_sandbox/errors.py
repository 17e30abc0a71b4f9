"""The errors of the SDK: one class for each code of the API, and two of the SDK's own."""
from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nutshell_sandbox._results import ExecResult

__all__ = [
    "AlreadyExistsError", "BinaryError", "CancelledError", "ClosedError", "CommandFailedError",
    "ConflictError", "CorruptError", "DeadlineExceededError", "ExpiredError", "InternalError",
    "InvalidArgumentError", "IsDirectoryError", "LazyPlaceholderError", "NotFoundError",
    "NotUniqueError", "OutsideRootError", "PermissionDeniedError", "ResourceExhaustedError",
    "SandboxError", "StaleError", "TooLargeError", "UnauthenticatedError", "UnavailableError",
    "UnsupportedError",
]


class SandboxError(Exception):
    """What every failure of the SDK is. `code` is stable; `status` is the daemon's, or 0."""

    code = "internal"
    retryable = False

    def __init__(self, message: str, *, code: str = "", status: int = 0,
                 details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.details: dict[str, Any] = dict(details or {})
        if code:
            self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.code, self.status, self.details))


def _rebuild(kind: type[SandboxError], message: str, code: str, status: int,
             details: dict[str, Any]) -> SandboxError:
    return kind(message, code=code, status=status, details=details)


class InvalidArgumentError(SandboxError, ValueError):
    """The request makes no sense."""

    code = "invalid_argument"


class NotFoundError(SandboxError):
    """There is no such sandbox, file, session, pool or job."""

    code = "not_found"


class AlreadyExistsError(SandboxError):
    """It is there already."""

    code = "already_exists"


class PermissionDeniedError(SandboxError):
    """The caller may not do this."""

    code = "permission_denied"


class UnsupportedError(SandboxError):
    """The host, the backend or the daemon's version cannot do this."""

    code = "unsupported"


class ResourceExhaustedError(SandboxError):
    """A limit, quota or budget is used up."""

    code = "resource_exhausted"
    retryable = True


class DeadlineExceededError(SandboxError, builtins.TimeoutError):
    """No answer came in time."""

    code = "deadline_exceeded"
    retryable = True


class CancelledError(SandboxError):
    """The operation was cancelled."""

    code = "cancelled"


class UnavailableError(SandboxError, ConnectionError):
    """The daemon, the sandbox or an engine does not answer."""

    code = "unavailable"
    retryable = True


class CorruptError(SandboxError):
    """The other side sent what the protocol forbids."""

    code = "corrupt"


class InternalError(SandboxError):
    """A fault of the daemon."""

    code = "internal"


class UnauthenticatedError(SandboxError):
    """The token is missing or wrong."""

    code = "unauthenticated"


class ConflictError(SandboxError):
    """The object's state does not allow it now: a paused sandbox, a running command."""

    code = "conflict"


class StaleError(SandboxError):
    """The file is not the version that the caller has read."""

    code = "stale"


class ExpiredError(SandboxError):
    """It was there, and is not kept any more."""

    code = "expired"


class TooLargeError(SandboxError):
    """A file or a body is beyond its limit."""

    code = "too_large"


class NotUniqueError(SandboxError):
    """The text to replace is there more than once."""

    code = "not_unique"


class BinaryError(SandboxError):
    """The file is not text."""

    code = "binary"


class IsDirectoryError(SandboxError):
    """The path is a directory."""

    code = "is_directory"


class OutsideRootError(SandboxError):
    """The path leads out of the places that may be written."""

    code = "outside_root"


class LazyPlaceholderError(SandboxError):
    """The text has a comment in place of what was left out."""

    code = "lazy_placeholder"


class ClosedError(SandboxError):
    """The object was closed."""

    code = "closed"


class CommandFailedError(SandboxError):
    """A command with `check` did not exit with 0. `result` is its result."""

    code = "command_failed"

    def __init__(self, message: str, *, code: str = "", status: int = 0,
                 details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, code=code, status=status, details=details)
        self.result: ExecResult | None = self.details.get("result")


KINDS: dict[str, type[SandboxError]] = {
    kind.code: kind for kind in (
        InvalidArgumentError, NotFoundError, AlreadyExistsError, PermissionDeniedError,
        UnsupportedError, ResourceExhaustedError, DeadlineExceededError, CancelledError,
        UnavailableError, CorruptError, InternalError, UnauthenticatedError, ConflictError,
        StaleError, ExpiredError, TooLargeError, NotUniqueError, BinaryError, IsDirectoryError,
        OutsideRootError, LazyPlaceholderError, ClosedError, CommandFailedError)
}


def error_of(code: str, message: str, *, status: int = 0,
             details: Mapping[str, Any] | None = None) -> SandboxError:
    """The error of a code; an unknown one, of a newer daemon, is a SandboxError with that code."""
    kind = KINDS.get(code, SandboxError)
    return kind(message, code=code, status=status, details=details)
