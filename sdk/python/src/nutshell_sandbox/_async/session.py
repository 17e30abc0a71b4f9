"""Sessions: sandboxes with a name, found again by it."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, List

from nutshell_sandbox._async.client import AsyncClient, argv_of, default_client
from nutshell_sandbox._async.sandbox import AsyncSandbox
from nutshell_sandbox._generated import Budget, SandboxSpec, SessionInfo
from nutshell_sandbox._options import milliseconds, spec_of
from nutshell_sandbox._results import ExecResult
from nutshell_sandbox.errors import NotFoundError


class AsyncSession(AsyncSandbox):
    """A sandbox with a name, made at its first use and the same for every later one.

    `close()` leaves it as it is, for the next program that names it; `end()` ends it. A sandbox
    that was lost is replaced at the next command, after the setup ran in the new one.
    """

    def __init__(
        self,
        name: str,
        *,
        setup: Sequence[str | Sequence[str]] = (),
        budget: Budget | None = None,
        lease: float | None = None,
        pause_after: float | None = None,
        labels: Mapping[str, str] | None = None,
        keeps_workspace: bool | None = None,
        timeout: float | None = None,
        backend: str | None = None,
        image: str | None = None,
        workspace: str | os.PathLike[str] | None = None,
        memory: int | str | None = None,
        cpus: float | None = None,
        processes: int | None = None,
        disk: int | str | None = None,
        environment: Mapping[str, str] | None = None,
        ttl: float | None = None,
        spec: SandboxSpec | None = None,
        client: AsyncClient | None = None,
    ) -> None:
        self._begin(client, timeout, spec_of({
            "backend": backend, "image": image, "workspace": workspace, "memory": memory,
            "cpus": cpus, "processes": processes, "disk": disk, "environment": environment,
            "ttl": ttl, "spec": spec}))
        self.name = name
        members: dict[str, Any] = {
            "setup": [argv_of(one) for one in setup] or None, "budget": budget,
            "labels": dict(labels) if labels else None, "keeps_workspace": keeps_workspace,
            "lease_ms": None if lease is None else milliseconds("lease", lease),
            "pause_after_ms": None if pause_after is None
            else milliseconds("pause_after", pause_after)}
        self._request = {key: value for key, value in members.items() if value is not None}
        self._session: SessionInfo | None = None
        # sync: self._start()

    @staticmethod
    async def list(labels: Mapping[str, str] | None = None, *,  # type: ignore[override]
                   client: AsyncClient | None = None) -> List[SessionInfo]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The caller's sessions, those with all of `labels`."""
        return await (client or default_client()).sessions(labels)

    async def _start(self) -> None:
        if not self._id:
            await self.ensure()

    async def ensure(self) -> SessionInfo:
        """Finds the session or makes it, and its sandbox."""
        body = {"name": self.name, **self._request}
        if self._spec:
            body["spec"] = self._spec
        self._session = await self.client.send_for(SessionInfo, "ensureSession", body=body,
                                                   timeout=None)
        self._id = self._session.sandbox_id
        return self._session

    @property
    def session(self) -> SessionInfo:
        """What the daemon told about the session last."""
        assert self._session is not None, "the session was not started"
        return self._session

    async def refresh_session(self) -> SessionInfo:
        """Asks again; also the sandbox may be another one."""
        self._session = await self.client.send_for(SessionInfo, "getSession", (self.name,))
        self._id = self._session.sandbox_id or self._id
        return self._session

    async def run(self, command: str | Sequence[str], **options: Any) -> ExecResult:
        """Runs a command as in a sandbox; in a new one if that of the session was lost."""
        was = self.id
        try:
            return await super().run(command, **options)
        except NotFoundError:
            await self.ensure()
            if self._id == was:
                raise
        return await super().run(command, **options)

    async def renew(self, lease: float) -> SessionInfo:
        """Begins its lease again."""
        self._session = await self.client.send_for(
            SessionInfo, "renewSession", (self.name,),
            body={"lease_ms": milliseconds("lease", lease)})
        return self._session

    async def end(self) -> None:
        """Ends the session and its sandbox."""
        await self.client.send("endSession", (self.name,))
        self._is_closed = True

    async def forget(self) -> None:
        """Removes the files that sessions of this name left behind."""
        await self.client.send("forgetWorkspace", (self.name,))
