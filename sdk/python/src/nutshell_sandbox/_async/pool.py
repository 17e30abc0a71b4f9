"""Pools of sandboxes that are made ahead."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, List

from nutshell_sandbox._async.client import AsyncClient, default_client
from nutshell_sandbox._async.sandbox import AsyncSandbox
from nutshell_sandbox._generated import Drained, Limits, PoolInfo
from nutshell_sandbox._options import milliseconds


class AsyncPool:
    """A pool of the daemon, by its name."""

    def __init__(self, name: str, *, client: AsyncClient | None = None) -> None:
        self.name = name
        self.client = client or default_client()

    @staticmethod
    async def list(*, client: AsyncClient | None = None) -> List[PoolInfo]:
        """The pools, and how full they are."""
        return await (client or default_client()).pools()

    async def acquire(self, *, labels: Mapping[str, str] | None = None, ttl: float | None = None,
                      idle_timeout: float | None = None,
                      environment: Mapping[str, str] | None = None, workspace: str | None = None,
                      limits: Limits | None = None, wait: float | None = None,
                      timeout: float | None = None,
                      idempotency_key: str | None = None) -> AsyncSandbox:
        """Takes a sandbox. Its `close()` gives it back: it ends, and a fresh one takes its place."""
        members: dict[str, Any] = {
            "labels": labels, "environment": environment, "workspace": workspace, "limits": limits}
        for name, seconds in (("ttl", ttl), ("idle_timeout", idle_timeout), ("wait", wait)):
            members[name + "_ms"] = None if seconds is None else milliseconds(name, seconds)
        body = {key: value for key, value in members.items() if value is not None}
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else None
        one = AsyncSandbox.__new__(AsyncSandbox)
        one._begin(self.client, timeout, pool=self.name)  # pyright: ignore[reportPrivateUsage]
        await one._take("acquire", (self.name,), body=body,  # pyright: ignore[reportPrivateUsage]
                        headers=headers)
        return one

    async def info(self) -> PoolInfo:
        """How full it is."""
        return await self.client.send_for(PoolInfo, "getPool", (self.name,))

    async def warm(self) -> PoolInfo:
        """Waits until `min_idle` sandboxes are ready."""
        return await self.client.send_for(PoolInfo, "warmPool", (self.name,), timeout=None)

    async def drain(self) -> int:
        """Ends the sandboxes that wait in it, and returns their number."""
        return (await self.client.send_for(Drained, "drainPool", (self.name,), timeout=None)).ended
