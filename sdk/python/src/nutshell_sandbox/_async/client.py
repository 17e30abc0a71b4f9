"""A daemon, and its operations on more than one sandbox."""
from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

from nutshell_sandbox import _endpoint
from nutshell_sandbox import _io_async as io
from nutshell_sandbox._async.http import AsyncBody, AsyncHttp, AsyncKeptAnswer
from nutshell_sandbox._generated import (
    API,
    OPERATIONS,
    AuditPage,
    AuditRecord,
    Daemon,
    PoolInfo,
    Pools,
    Protection,
    Protections,
    SandboxInfo,
    SandboxPage,
    SandboxSpec,
    SessionInfo,
    SessionPage,
    Status,
    Swept,
)
from nutshell_sandbox._options import spec_of
from nutshell_sandbox._record import Record
from nutshell_sandbox._results import ExecResult
from nutshell_sandbox.errors import (
    CorruptError,
    NotFoundError,
    SandboxError,
    UnavailableError,
    UnsupportedError,
    error_of,
)

ANSWER_SECONDS = 120.0
R = TypeVar("R", bound=Record)


class AsyncClient:
    """The daemon that sandboxes come from.

    Without arguments it is the one that NUTSHELL_DAEMON names, else the user's own if it runs,
    else a private one that ends with this process. `daemon` is a socket's path, a URL, or
    `private`. Nothing is sent before the first call.
    """

    def __init__(self, daemon: str | None = None, token: str | None = None, *, ca: str = "",
                 cert: str = "", key: str = "", timeout: float = ANSWER_SECONDS) -> None:
        self._wanted = (daemon, token, ca, cert, key)
        self._http: AsyncHttp | None = None
        self.timeout = timeout

    @property
    def address(self) -> str:
        """The daemon's address; empty before the first call."""
        return self._http.endpoint.address if self._http is not None else ""

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections; the client can be used again."""
        if self._http is not None:
            await self._http.close()

    # Requests

    async def http(self) -> AsyncHttp:
        """The way to the daemon, which is looked for at the first call."""
        known = self._http
        if known is None:
            endpoint = await io.call_blocking(_endpoint.discover, *self._wanted)
            known = AsyncHttp(endpoint)
            await self._check_version(known)
            self._http = known
        return known

    async def _check_version(self, http: AsyncHttp) -> None:
        try:
            _, data = await http.request("GET", "/v1/daemon", timeout=self.timeout)
            api = str(json.loads(data).get("api", ""))
        except (NotFoundError, ValueError, AttributeError):
            api = ""
        if api != API:
            raise UnsupportedError(
                f"The daemon at {http.endpoint.address} speaks the API "
                f"{repr(api) if api else 'of an older version'}, this SDK speaks '{API}'. "
                "Install the same version of both.")

    async def send(self, operation: str, captured: Sequence[str] = (), *, body: Any = None,
                   query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
                   headers: Mapping[str, str] | None = None, data: bytes | None = None,
                   timeout: float | None = -1, kept: AsyncKeptAnswer | None = None) -> bytes:
        """Calls an operation of the API and returns the bytes of its answer."""
        method, target, data, headers = self._parts(operation, captured, body, query, headers, data)
        limit = self.timeout if timeout == -1 else timeout
        http = await self.http()
        try:
            return (await http.request(method, target, data, headers, limit, kept))[1]
        except UnavailableError as error:
            again = await self._restarted(http, error)
        return (await again.request(method, target, data, headers, limit, kept))[1]

    async def send_for(self, kind: type[R], operation: str, captured: Sequence[str] = (),
                       **more: Any) -> R:
        """Calls an operation and reads its answer."""
        return kind(read_object(await self.send(operation, captured, **more)))

    async def open(self, operation: str, captured: Sequence[str] = (), *, body: Any = None,
                   query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
                   headers: Mapping[str, str] | None = None) -> AsyncBody:
        """Calls an operation whose answer comes in pieces."""
        method, target, data, headers = self._parts(operation, captured, body, query, headers, None)
        http = await self.http()
        try:
            return await http.open_good(method, target, data, headers)
        except UnavailableError as error:
            again = await self._restarted(http, error)
        return await again.open_good(method, target, data, headers)

    async def _restarted(self, http: AsyncHttp, error: UnavailableError) -> AsyncHttp:
        """Another private daemon, where nothing could be sent to the first; else the error."""
        if error.details.get("sent") is not False or not http.endpoint.is_private:
            raise error
        if self._http is http:
            self._http = None
        return await self.http()

    @staticmethod
    def _parts(operation: str, captured: Sequence[str], body: Any, query: Any,
               headers: Mapping[str, str] | None, data: bytes | None) \
            -> tuple[str, str, bytes | None, Mapping[str, str] | None]:
        method, path = OPERATIONS[operation]
        for value in captured:
            begin, end = path.index("{"), path.index("}")
            path = path[:begin] + quote(value, safe="~") + path[end + 1:]
        if query:
            shown = [(name, _word(value)) for name, value in _pairs(query) if value is not None]
            path += "?" + urlencode(shown, quote_via=quote) if shown else ""
        if body is not None:
            try:
                data = json.dumps(body, separators=(",", ":")).encode()
            except (TypeError, ValueError) as error:
                raise error_of("invalid_argument", f"{operation}: {error}") from None
        return method, path, data, headers

    # Operations

    async def health(self) -> Status:
        """Whether the daemon answers."""
        return await self.send_for(Status, "health")

    async def ready(self) -> Status:
        """Whether it can take work."""
        return await self.send_for(Status, "readiness")

    async def daemon(self) -> Daemon:
        """The daemon that answers: its pid and the version of its API."""
        return await self.send_for(Daemon, "daemon")

    async def metrics(self) -> str:
        """Figures, as Prometheus reads them."""
        return (await self.send("metrics")).decode(errors="replace")

    async def tools(self) -> list[dict[str, Any]]:
        """The tools that a model can call, with their schemas."""
        listed: list[dict[str, Any]] = read_object(await self.send("listTools")).get("tools", [])
        return listed

    async def check(self, **options: Any) -> list[Protection]:
        """The protections that a sandbox with these options of Sandbox would have."""
        body = spec_of(options)
        return (await self.send_for(Protections, "checkSpec", body=body)).protections

    async def sandboxes(self, labels: Mapping[str, str] | None = None, *,
                        protections: bool = False) -> list[SandboxInfo]:
        """The caller's sandboxes."""
        found: list[SandboxInfo] = []
        query = [*_labels(labels), ("protections", protections or None)]
        async for page in self._pages(SandboxPage, "listSandboxes", query):
            found += page.sandboxes
        return found

    async def sessions(self, labels: Mapping[str, str] | None = None) -> list[SessionInfo]:
        """The caller's sessions."""
        found: list[SessionInfo] = []
        async for page in self._pages(SessionPage, "listSessions", _labels(labels)):
            found += page.sessions
        return found

    async def pools(self) -> list[PoolInfo]:
        """The pools, and how full they are."""
        return (await self.send_for(Pools, "listPools")).pools

    async def audit(self, *, sandbox: str | None = None, session: str | None = None,
                    action: str | None = None, since_us: int | None = None,
                    until_us: int | None = None, limit: int = 1000) -> list[AuditRecord]:
        """The caller's part of the record, oldest first, at most `limit` entries."""
        found: list[AuditRecord] = []
        query = [("sandbox", sandbox), ("session", session), ("action", action),
                 ("since_us", since_us), ("until_us", until_us), ("limit", min(limit, 100))]
        async for page in self._pages(AuditPage, "listAuditRecords", query):
            found += page.records
            if len(found) >= limit:
                break
        return found[:limit]

    async def sweep(self, *, dry_run: bool = False) -> Swept:
        """Removes what dead sandboxes left."""
        return await self.send_for(Swept, "sweep", body={"dry_run": dry_run})

    async def batch(self, commands: Sequence[Sequence[str] | str | Mapping[str, Any]], *,
                    spec: SandboxSpec | None = None, parallel: int | None = None,
                    on_result: Callable[[int, ExecResult | SandboxError], object] | None = None,
                    ) -> list[ExecResult | SandboxError]:
        """Runs each command in a sandbox of its own; results are in the order of the commands.

        A command is an argument list, a text for the shell, or an object with `argv`,
        `environment`, `working_directory`, `timeout_ms` and `files`. `on_result` is called with
        the index and the result of each as it ends. A command that could not run has its error
        in place of a result.
        """
        items = [one if isinstance(one, Mapping) else {"argv": argv_of(one)} for one in commands]
        body: dict[str, Any] = {"items": items}
        if spec:
            body["spec"] = spec
        if parallel is not None:
            body["parallel"] = parallel
        results: list[ExecResult | SandboxError] = [
            UnavailableError("The daemon gave no result.") for _ in items]
        answer = await self.open("batch", body=body, headers={"Accept": "application/x-ndjson"})
        try:
            async for line in answer.lines():
                told = read_object(line)
                index, one = told.get("index"), _batch_result(told)
                if not isinstance(index, int) or not 0 <= index < len(results):
                    raise CorruptError("The daemon sent a result of no command.")
                results[index] = one
                if on_result is not None:
                    await io.settle(on_result(index, one))
        finally:
            await answer.close()
        return results

    async def _pages(self, kind: type[R], operation: str,
                     query: Sequence[tuple[str, Any]]) -> AsyncIterator[R]:
        cursor: str | None = None
        while True:
            page = await self.send_for(kind, operation, query=[*query, ("cursor", cursor)])
            yield page
            cursor = getattr(page, "next_cursor", None)
            if not cursor:
                return


def read_object(data: bytes) -> dict[str, Any]:
    """Reads the JSON object of an answer."""
    try:
        told: Any = json.loads(data)
    except ValueError as error:
        raise CorruptError(f"The daemon sent an answer that is no JSON: {error}.") from None
    if not isinstance(told, dict):
        raise CorruptError("The daemon sent an answer that is no JSON object.")
    return cast("dict[str, Any]", told)


def argv_of(command: str | Sequence[str]) -> list[str]:
    """A text is for the shell; a list is run as it is."""
    if isinstance(command, str):
        return ["/bin/sh", "-c", command]
    return [os.fspath(word) for word in command]


def _batch_result(told: Mapping[str, Any]) -> ExecResult | SandboxError:
    error = told.get("error")
    if error:
        return error_of(str(error.get("code", "")), str(error.get("detail", "")))
    return ExecResult(told)


def _labels(labels: Mapping[str, str] | None) -> list[tuple[str, Any]]:
    return [("label", f"{name}={value}") for name, value in (labels or {}).items()]


def _pairs(query: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> Iterable[tuple[str, Any]]:
    return query.items() if isinstance(query, Mapping) else query


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_clients: dict[tuple[str, ...], AsyncClient] = {}
_SETTINGS = ("NUTSHELL_DAEMON", "NUTSHELL_TOKEN", "NUTSHELL_TOKEN_FILE", "NUTSHELL_DAEMON_CA",
             "NUTSHELL_DAEMON_CERT", "NUTSHELL_DAEMON_KEY", "NUTSHELL_RUNTIME_DIR")


def default_client() -> AsyncClient:
    """The client of everything that names none; another one after the environment changed."""
    key = tuple(os.environ.get(name, "") for name in _SETTINGS)
    known = _clients.get(key)
    if known is None:
        known = _clients.setdefault(key, AsyncClient())  # atomic: two threads get the same
    return known
