"""The classes of RoomKit's sandboxes: change `roomkit_sandbox` to `nutshell_sandbox.roomkit`.

    from roomkit import Agent
    from nutshell_sandbox.roomkit import NutshellSandboxExecutor

    agent = Agent("coder", provider=provider, sandbox=NutshellSandboxExecutor())
"""
from nutshell_sandbox.roomkit.backends import (
    DEFAULT_IMAGE,
    ContainerInfo,
    DockerSandboxBackend,
    ExecResult,
    KubernetesSandboxBackend,
    NutshellBackend,
    SmolBSDSandboxBackend,
)
from nutshell_sandbox.roomkit.commands import (
    CommandBuilder,
    NativeCommandBuilder,
    RtkCommandBuilder,
    build_rtk_command,
)
from nutshell_sandbox.roomkit.executor import ContainerSandboxExecutor, NutshellSandboxExecutor

__all__ = [
    "DEFAULT_IMAGE", "CommandBuilder", "ContainerInfo", "ContainerSandboxExecutor",
    "DockerSandboxBackend", "ExecResult", "KubernetesSandboxBackend", "NativeCommandBuilder",
    "NutshellBackend", "NutshellSandboxExecutor", "RtkCommandBuilder", "SmolBSDSandboxBackend",
    "build_rtk_command",
]
