"""Backends under the names that roomkit-sandbox has, on sandboxes of Nutshell."""
from __future__ import annotations

import hashlib
import re
import warnings
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, cast

from nutshell_sandbox._async.sandbox import AsyncSandbox
from nutshell_sandbox._async.session import AsyncSession
from nutshell_sandbox._generated import SandboxSpec
from nutshell_sandbox.errors import InvalidArgumentError, NotFoundError, UnsupportedError

# The default of these classes: the programs of this machine, on the native backend.
DEFAULT_IMAGE = ""
SESSION_LABEL = "roomkit.sandbox.session_id"


@dataclass
class ExecResult:
    """The result of a command of a backend."""

    exit_code: int
    stdout: str = ""
    stderr: str = ""


@dataclass
class ContainerInfo:
    """A sandbox that a backend made. `created_at` is in the form of ISO 8601."""

    container_id: str
    session_id: str | None
    labels: dict[str, str]
    status: str = "running"
    created_at: str | None = None


class NutshellBackend:
    """Makes a sandbox for each session. `options` are those of AsyncSandbox."""

    def __init__(self, image: str = DEFAULT_IMAGE, extra_env: dict[str, str] | None = None,
                 **options: Any) -> None:
        self.options = {name: value for name, value in options.items() if value is not None}
        if image:
            self.options["image"] = image
            self.options.setdefault("backend", "docker")
        self.extra_env = dict(extra_env or {})

    async def create_container(self, session_id: str, labels: dict[str, str] | None = None,
                               env: dict[str, str] | None = None) -> str:
        """Makes the session's sandbox, or finds it, and returns its id."""
        session = await self.open(session_id, labels, env)
        return session.session.sandbox_id

    async def open(self, session_id: str, labels: dict[str, str] | None = None,
                   env: dict[str, str] | None = None, setup: list[str] | None = None,
                   working_directory: str | None = None) -> AsyncSession:
        options = dict(self.options)
        client, timeout = options.pop("client", None), options.pop("timeout", None)
        spec: dict[str, Any] = dict(options.pop("spec", {}))
        if working_directory:
            spec["working_directory"] = working_directory
        environment = {**options.pop("environment", {}), **self.extra_env, **(env or {})}
        return await AsyncSession(
            session_name(session_id), labels={**(labels or {}), SESSION_LABEL: session_id[:256]},
            setup=setup or (), client=client, timeout=timeout, environment=environment or None,
            spec=cast(SandboxSpec, spec) if spec else None, **options)

    async def connect(self, container_id: str) -> AsyncSandbox:
        return await AsyncSandbox.connect(container_id, client=self.options.get("client"))

    async def exec_command(self, container_id: str, cmd: list[str], workdir: str = "/workspace",
                           env: dict[str, str] | None = None, timeout: int = 30) -> ExecResult:
        """Runs a command; a TimeoutError says that its time is over, and it has ended by then."""
        sandbox = await self.connect(container_id)
        result = await sandbox.run(cmd, timeout=timeout, environment=env,
                                   working_directory=workdir)
        if result.outcome == "timed_out":
            raise TimeoutError
        return ExecResult(status_of(result), result.stdout, result.stderr)

    async def container_exists(self, container_id: str) -> bool:
        try:
            return (await self.connect(container_id)).info.state == "running"
        except NotFoundError:
            return False

    async def find_container(self, session_id: str) -> str | None:
        name = session_name(session_id)
        for one in await AsyncSession.list(client=self.options.get("client")):
            if one.name == name and one.sandbox_id:
                return one.sandbox_id
        return None

    async def delete_container(self, container_id: str) -> None:
        client = self.options.get("client")
        for one in await AsyncSession.list(client=client):
            if one.sandbox_id == container_id:
                await (await AsyncSession(one.name, client=client)).end()

    async def list_containers(self, labels: dict[str, str] | None = None) -> list[ContainerInfo]:
        return [
            ContainerInfo(
                one.sandbox_id, one.labels.get(SESSION_LABEL, one.name), one.labels,
                created_at=datetime.fromtimestamp(one.created_ms / 1000, timezone.utc).isoformat())
            for one in await AsyncSession.list(labels, client=self.options.get("client"))
            if SESSION_LABEL in one.labels]


class DockerSandboxBackend(NutshellBackend):
    """With an image: a container that Nutshell hardens. Without: a native sandbox."""

    def __init__(self, image: str = DEFAULT_IMAGE, memory_limit: str = "1g", cpu_count: float = 1,
                 network: str | None = None, extra_env: dict[str, str] | None = None,
                 **options: Any) -> None:
        _refuse_network(network, network not in (None, "none"))
        super().__init__(image, extra_env, memory=memory_limit, cpus=cpu_count, **options)


class KubernetesSandboxBackend(NutshellBackend):
    """Sandboxes of the daemon that NUTSHELL_DAEMON names, in place of pods."""

    def __init__(self, image: str = DEFAULT_IMAGE, namespace: str = "", service_account: str = "",
                 image_pull_secret: str = "", extra_env: dict[str, str] | None = None,
                 **options: Any) -> None:
        _warn(namespace=namespace, service_account=service_account,
              image_pull_secret=image_pull_secret)
        options.setdefault("memory", "512m")
        options.setdefault("cpus", 1)
        super().__init__(image, extra_env, **options)


class SmolBSDSandboxBackend(NutshellBackend):
    """Native sandboxes in place of small virtual machines."""

    def __init__(self, smolbsd_dir: str = "", service: str = "", image_tag: str = "",
                 memory: int = 512, cpus: int = 1, network: bool = False,
                 workspace_gb: int | None = None, state_dir: str | None = None,
                 boot_timeout: float | None = None, extra_env: dict[str, str] | None = None,
                 *, ssh_base_port: int | None = None, workdir: str = "", **options: Any) -> None:
        _refuse_network(network, network)
        _warn(smolbsd_dir=smolbsd_dir, service=service, image_tag=image_tag, state_dir=state_dir,
              boot_timeout=boot_timeout, ssh_base_port=ssh_base_port,
              workdir="" if workdir == "/workspace" else workdir)
        disk = None if workspace_gb is None else f"{workspace_gb}g"
        super().__init__(DEFAULT_IMAGE, extra_env, memory=f"{memory}m", cpus=cpus, disk=disk, **options)


def _refuse_network(network: object, is_wanted: bool) -> None:
    if is_wanted:
        raise UnsupportedError(f"Sandboxes have no network, so network={network!r} cannot be kept.")


def _warn(**settings: Any) -> None:
    given = [name for name, value in settings.items() if value]
    if given:
        warnings.warn(f"{', '.join(given)}: has no meaning for sandboxes of Nutshell",
                      stacklevel=3)


def session_name(session_id: str) -> str:
    """The session's name; one that is no name of ours gets a hash, so that two never collide."""
    if not session_id:
        raise InvalidArgumentError("A session needs an id.")
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", session_id):
        return session_id
    shown = re.sub(r"[^A-Za-z0-9._-]", "-", session_id)[:40].strip("-._")
    return f"{shown or 'session'}-{hashlib.sha256(session_id.encode()).hexdigest()[:12]}"


def status_of(result: Any) -> int:
    """The exit status as a shell has it: 124 after the time limit, 128 and the signal."""
    if result.exit_code is not None:
        return int(result.exit_code)
    if result.outcome == "timed_out":
        return 124
    return 128 + int(result.signal or 9)
