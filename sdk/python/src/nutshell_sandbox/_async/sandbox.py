"""A sandbox: its life, its commands, its files and its tools."""
from __future__ import annotations

import os
import re
import time
import weakref
from collections.abc import Generator  # async only
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, List, Literal, TypeVar

from nutshell_sandbox import _io_async as io
from nutshell_sandbox import _last_words, _programs
from nutshell_sandbox._async.client import AsyncClient, argv_of, default_client, read_object
from nutshell_sandbox._async.commands import AsyncExecStream, AsyncJob, Callback
from nutshell_sandbox._async.files import AsyncFiles
from nutshell_sandbox._async.http import AsyncKeptAnswer
from nutshell_sandbox._async.tools import AsyncTools
from nutshell_sandbox._generated import (
    Change,
    Changes,
    Environment,
    ExecState,
    Gone,
    History,
    HistoryEntry,
    Limits,
    Mount,
    NetworkEvent,
    NetworkEvents,
    NetworkPolicy,
    NetworkStatus,
    SandboxInfo,
    SandboxSpec,
    SandboxStats,
    UnsafeMount,
)
from nutshell_sandbox._options import milliseconds, spec_of
from nutshell_sandbox._results import ExecResult, ToolResult
from nutshell_sandbox.errors import (
    ClosedError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    SandboxError,
)

if TYPE_CHECKING:
    from nutshell_sandbox._async.terminal import AsyncTerminal

S = TypeVar("S", bound="AsyncSandbox")
WAIT_SECONDS = 10.0
GRACE_SECONDS = 60.0  # beyond a command's own time limit, for the answer to come
YEAR = 365 * 86400.0  # longer than any command may take


class AsyncSandbox:
    """A sandbox that ends with `close()`, with its `with` block, or when nothing refers to it.

    Sizes are bytes or texts like "512m", times are seconds. `timeout` is that of each command
    that names none. `network` is what it may reach, such as {"allow": ["pypi.org:443"]}; nothing
    without it. While the tenant's quota or the machine is used up by others, it waits for
    room, `wait` seconds at most. `spec` has further members of the API's SandboxSpec.
    """

    def __init__(
        self,
        *,
        backend: str | None = None,
        image: str | None = None,
        workspace: str | os.PathLike[str] | None = None,
        memory: int | str | None = None,
        timeout: float | None = None,
        cpus: float | None = None,
        processes: int | None = None,
        disk: int | str | None = None,
        open_files: int | None = None,
        cpu_time: float | None = None,
        environment: Mapping[str, str] | None = None,
        working_directory: str | None = None,
        labels: Mapping[str, str] | None = None,
        ttl: float | None = None,
        idle_timeout: float | None = None,
        runtime: str | None = None,
        workspace_mode: Literal["auto", "overlay", "copy"] | None = None,
        mounts: Sequence[Mount] | None = None,
        toolchains: Literal["auto", "none"] | None = None,
        unsafe_mounts: Sequence[UnsafeMount] | None = None,
        network: NetworkPolicy | None = None,
        keep_caches: Literal["yes", "no"] | None = None,
        require: Sequence[str] | None = None,
        unsafe_without: Sequence[str] | None = None,
        limits: Limits | None = None,
        spec: SandboxSpec | None = None,
        pool: str | None = None,
        wait: float = WAIT_SECONDS,
        client: AsyncClient | None = None,
    ) -> None:
        options = {name: value for name, value in locals().items()
                   if name not in ("self", "timeout", "pool", "wait", "client")}
        self._begin(client, timeout, spec_of(options), pool or "")
        self._wait = wait
        # sync: self._start()

    def _begin(self, client: AsyncClient | None, timeout: float | None,
               spec: SandboxSpec | None = None, pool: str = "") -> None:
        self.client = client if client is not None else default_client()
        self.timeout = timeout
        self._spec: SandboxSpec = spec or {}
        self._pool = pool
        self._wait = 0.0
        self._info: SandboxInfo | None = None
        self._id = ""
        self._is_closed = False
        self._ending: weakref.finalize[Any, Any] | None = None

    # Life

    @classmethod
    async def create(cls: type[S], **options: Any) -> S:
        """Makes a sandbox, with the options of the constructor."""
        made = cls(**options)
        await made._start()
        return made

    @classmethod
    async def connect(cls, id: str, *, timeout: float | None = None,
                      client: AsyncClient | None = None) -> AsyncSandbox:
        """A sandbox that is there already; `close()` does not end it."""
        one = cls.__new__(cls)
        one._begin(client, timeout)
        one._id = id
        await one.refresh()
        return one

    @staticmethod
    async def list(labels: Mapping[str, str] | None = None, *,
                   client: AsyncClient | None = None) -> List[SandboxInfo]:
        """The sandboxes that the caller may see, those with all of `labels`."""
        return await (client or default_client()).sandboxes(labels)

    def __await__(self: S) -> Generator[Any, None, S]:  # async only
        return self.__aenter__().__await__()  # async only

    async def __aenter__(self: S) -> S:
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _start(self) -> None:
        if self._id:
            return
        if self._is_closed:
            raise ClosedError("This sandbox was closed.")
        if self._pool:
            body: dict[str, Any] = {name: value for name, value in self._spec.items() if value}
            await self._take("acquire", (self._pool,), body=body)
        else:
            await self._make(time.monotonic() + self._wait)

    async def _make(self, until: float) -> None:
        """Waits for room while others hold what this sandbox needs."""
        pause = 0.02
        while True:
            try:
                await self._take("createSandbox", body=self._spec)
                return
            except ResourceExhaustedError as error:
                held = re.search(r"\((\d+) of \d+ in use\)", error.message)
                if held is None or held[1] == "0" or time.monotonic() + pause > until:
                    raise
            await io.pause(pause)
            pause = min(pause * 1.5, 0.25)

    async def _take(self, operation: str, captured: tuple[str, ...] = (), **more: Any) -> None:
        """Calls what makes a sandbox, and owns that. If an interrupt comes between, it ends."""
        kept = AsyncKeptAnswer()
        try:
            told = await self.client.send(operation, captured, timeout=None, kept=kept, **more)
            self._own(SandboxInfo(read_object(told)))
        except (SandboxError, GeneratorExit):
            kept.drop()
            raise
        except BaseException:
            made = await kept.find(rb'"id":"([^"]+)"')
            http = self.client._http  # pyright: ignore[reportPrivateUsage]
            if made and http is not None:
                await io.call_blocking(_last_words.end, http.endpoint, os.getpid(), made)
            raise

    def _own(self, info: SandboxInfo) -> None:
        self._info, self._id = info, info.id
        http = self.client._http  # pyright: ignore[reportPrivateUsage]
        assert http is not None
        self._ending = weakref.finalize(self, _last_words.end, http.endpoint, os.getpid(), info.id)

    @property
    def id(self) -> str:
        if self._is_closed:
            raise ClosedError(f"Sandbox {self._id} was closed.")
        if not self._id:
            raise InvalidArgumentError("The sandbox was not started: use 'async with AsyncSandbox()', "
                                       "or await it.")
        return self._id

    # Made anew, so that no cycle keeps a sandbox that nothing refers to.
    @property
    def files(self) -> AsyncFiles:
        """Its files."""
        return AsyncFiles(self)

    @property
    def tools(self) -> AsyncTools:
        """Its tools as methods."""
        return AsyncTools(self)

    @property
    def info(self) -> SandboxInfo:
        """The last report of the daemon about it; `refresh()` asks again."""
        if self._info is None:
            raise InvalidArgumentError("The sandbox was not started.")
        return self._info

    async def refresh(self) -> SandboxInfo:
        self._info = await self.client.send_for(SandboxInfo, "getSandbox", (self.id,))
        return self._info

    async def close(self) -> None:
        """Ends the sandbox, or gives it back to its pool. One that was connected to goes on."""
        if self._is_closed:
            return
        ending = self._ending
        if ending is not None and ending.alive and ending.peek()[2][1] == os.getpid():  # type: ignore[index]
            operation = "release" if self._pool else "destroySandbox"
            try:
                await self.client.send(operation, (self._id,))
            except NotFoundError:
                pass
        if ending is not None:
            ending.detach()
        self._is_closed = True

    def detach(self) -> str:
        """Lets the sandbox go on without this object, and returns its id."""
        if self._ending is not None:
            self._ending.detach()
            self._ending = None
        return self.id

    async def pause(self) -> SandboxInfo:
        """Stops its processes and its clock."""
        return await self._change("pauseSandbox")

    async def resume(self) -> SandboxInfo:
        """Lets them go on."""
        return await self._change("resumeSandbox")

    async def extend(self, ttl: float) -> SandboxInfo:
        """Lets it live for this many seconds from now on."""
        return await self._change("extendSandbox", {"ttl_ms": milliseconds("ttl", ttl)})

    async def _change(self, operation: str, body: Any = None) -> SandboxInfo:
        self._info = await self.client.send_for(SandboxInfo, operation, (self.id,), body=body)
        return self._info

    # Commands

    async def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = None,
        stdin: str | bytes | None = None,
        on_stdout: Callback | None = None,
        on_stderr: Callback | None = None,
        check: bool = False,
        environment: Mapping[str, str] | None = None,
        working_directory: str | None = None,
        output_limit: int | str | None = None,
        cpu_time: float | None = None,
        trace: Literal["summary", "files", "full"] | None = None,
        idempotency_key: str | None = None,
    ) -> ExecResult:
        """Runs a command to its end: a text in `sh`, a list as it is.

        With `on_stdout` and `on_stderr` the output is also passed on as it comes. An exception of
        theirs, an interrupt and a cancelled task end the command with all its processes.
        """
        body = self._exec_body(command, timeout, environment, working_directory)
        if output_limit is not None or cpu_time is not None or trace is not None:
            _add_bounds(body, output_limit, cpu_time, trace)
        is_streamed = on_stdout is not None or on_stderr is not None
        if stdin is not None:
            await self._add_input(body, stdin, as_file=is_streamed)
        if is_streamed:
            body["on_disconnect"] = "cancel"
            result = await AsyncExecStream(self, "exec", (self.id,), body=body).run(
                on_stdout, on_stderr)
        else:
            limit = body.get("timeout_ms")
            headers = {"Idempotency-Key": idempotency_key} if idempotency_key else None
            told = await self.client.send(
                "exec", (self.id,), body=body, headers=headers,
                timeout=None if limit is None else min(limit / 1000 + GRACE_SECONDS, YEAR))
            result = ExecResult(read_object(told))
        return result.check() if check else result

    def stream(self, command: str | Sequence[str], *, timeout: float | None = None,
               stdin: str | bytes | None = None,
               environment: Mapping[str, str] | None = None,
               working_directory: str | None = None) -> AsyncExecStream:
        """Runs a command and iterates over its output. Use it in a `with` block: leaving that
        ends the command."""
        body = self._exec_body(command, timeout, environment, working_directory)
        body["on_disconnect"] = "cancel"
        return AsyncExecStream(self, "exec", (self.id,), body=body, stdin=stdin)

    async def start(self, command: str | Sequence[str], *, timeout: float | None = None,
                    stdin: str | bytes | None = None,
                    environment: Mapping[str, str] | None = None,
                    working_directory: str | None = None) -> AsyncJob:
        """Starts a command that runs on without its caller."""
        body = self._exec_body(command, timeout, environment, working_directory)
        if stdin is not None:
            await self._add_input(body, stdin, as_file=True)
        body["detach"] = True
        state = await self.client.send_for(ExecState, "exec", (self.id,), body=body)
        return AsyncJob(self, state.exec_id)

    def job(self, exec_id: str) -> AsyncJob:
        """A job that was started before, by its id."""
        return AsyncJob(self, exec_id)

    async def terminal(self, command: str | Sequence[str] = ("/bin/sh",), *, rows: int = 24,
                       columns: int = 80, timeout: float | None = None) -> AsyncTerminal:
        """Opens a command at a terminal of its own."""
        from nutshell_sandbox._async.terminal import AsyncTerminal
        query: list[tuple[str, Any]] = [("arg", word) for word in argv_of(command)]
        query += [("rows", rows), ("columns", columns)]
        if timeout is not None:
            query.append(("timeout_ms", milliseconds("timeout", timeout)))
        return await AsyncTerminal.open(self.client, self.id, query)

    def _exec_body(self, command: str | Sequence[str], timeout: float | None,
                   environment: Mapping[str, str] | None,
                   working_directory: str | None) -> dict[str, Any]:
        body: dict[str, Any] = {"argv": argv_of(command)}
        limit = timeout if timeout is not None else self.timeout
        if limit is not None:
            body["timeout_ms"] = milliseconds("timeout", limit)
        if environment:
            body["environment"] = dict(environment)
        if working_directory:
            body["working_directory"] = working_directory
        return body

    async def _add_input(self, body: dict[str, Any], stdin: str | bytes, *, as_file: bool) -> None:
        """Gives a command its input: in the request, or where that has no place, from a file."""
        if not as_file:
            try:
                body["stdin"] = stdin if isinstance(stdin, str) else stdin.decode()
                return
            except UnicodeDecodeError:
                pass
        place = f"/tmp/.stdin-{os.urandom(8).hex()}"
        await self.files.write(place, stdin, mode=0o600)
        script = 'exec 3<"$0" && rm -f -- "$0" && exec "$@" <&3 3<&-'
        body["argv"] = ["/bin/sh", "-c", script, place, *body["argv"]]

    # Files

    async def changes(self) -> List[Change]:
        """The differences of /workspace from how it began."""
        return (await self.client.send_for(Changes, "listChanges", (self.id,))).changes

    async def diff(self, *paths: str, stat: bool = False, patch: bool = False) -> str:
        """Its changes as a unified diff, as one line for each file (`stat`), or for `git
        apply` (`patch`)."""
        flags = ["--stat"] if stat else ["--patch"] if patch else []
        http = await self.client.http()
        return await io.call_blocking(_programs.diff, http.endpoint, self.id, flags, paths)

    async def apply(self, *paths: str, exclude: Sequence[str] = (), dry_run: bool = False,
                    force: bool = False, unsafe_git: bool = False) -> _programs.Applied:
        """Writes its changes to the directory that `workspace` named, by the rules of `nutshell
        apply`: files that a tool of this host would run or trust are held back."""
        flags = [flag for flag, wanted in (("--dry-run", dry_run), ("--force", force),
                                           ("--unsafe-git", unsafe_git)) if wanted]
        http = await self.client.http()
        return await io.call_blocking(_programs.apply, http.endpoint, self.id, flags, paths, exclude)

    async def undo(self, id: str | None = None) -> ToolResult:
        """Takes back the last change that a tool made, or that with this id."""
        return (await self.tools.call("undo", {"id": id})).check()

    async def checkpoint(self, name: str | None = None, *, kill: bool = False) -> str:
        """Keeps the files as they are, and returns the checkpoint's name. `kill` ends what runs."""
        body: dict[str, Any] = {"kill": kill} if kill else {}
        if name is not None:
            body["checkpoint"] = name
        told = read_object(await self.client.send("createCheckpoint", (self.id,), body=body))
        return str(told.get("checkpoint", ""))

    async def rollback(self, name: str, *, kill: bool = False) -> None:
        """Goes back to a checkpoint. `kill` ends what runs."""
        body: dict[str, Any] = {"checkpoint": name}
        if kill:
            body["kill"] = kill
        await self.client.send("rollback", (self.id,), body=body)

    async def fork(self) -> AsyncSandbox:
        """Another sandbox with the same files."""
        one = AsyncSandbox.__new__(AsyncSandbox)
        one._begin(self.client, self.timeout)
        await one._take("forkSandbox", (self.id,))
        return one

    # Network

    async def network_status(self) -> NetworkStatus:
        """What it may reach now, and what it used of that."""
        return await self.client.send_for(NetworkStatus, "getNetwork", (self.id,))

    async def set_network(self, policy: NetworkPolicy) -> NetworkStatus:
        """Replaces what it may reach. Connections that are not allowed then end. A sandbox that
        was made without a network gets none."""
        return await self.client.send_for(NetworkStatus, "setNetwork", (self.id,), body=policy)

    async def network_events(self, after: int = 0) -> List[NetworkEvent]:
        """Connections and look-ups that were tried, oldest first: those with a greater number."""
        return (await self.client.send_for(NetworkEvents, "listNetworkEvents", (self.id,),
                                           query={"after": after or None})).events

    # Evidence

    async def stats(self) -> SandboxStats:
        """Its present and past use of memory, CPU and processes."""
        return await self.client.send_for(SandboxStats, "getStats", (self.id,))

    async def history(self) -> List[HistoryEntry]:
        """The commands and other operations in it."""
        return (await self.client.send_for(History, "getHistory", (self.id,))).entries

    async def environment(self) -> dict[str, str]:
        """The variables that it was started with; may hold secrets."""
        told = await self.client.send_for(Environment, "getEnvironment", (self.id,))
        pairs = [one.partition("=") for one in told.environment]
        return {name: value for name, _, value in pairs}

    async def why_gone(self) -> str:
        """Why it no longer answers; empty if it does."""
        try:
            return (await self.client.send_for(Gone, "whyGone", (self._id,))).text
        except SandboxError as error:
            return error.message

    def __repr__(self) -> str:
        state = " closed" if self._is_closed else ""
        return f"<{type(self).__name__} {self._id or 'not started'}{state}>"


def _add_bounds(body: dict[str, Any], output_limit: int | str | None, cpu_time: float | None,
                trace: str | None) -> None:
    from nutshell_sandbox._options import size_of
    if output_limit is not None:
        body["output_limit_bytes"] = size_of("output_limit", output_limit)
    if cpu_time is not None:
        body["cpu_time_ms"] = milliseconds("cpu_time", cpu_time)
    if trace is not None:
        body["trace"] = trace
