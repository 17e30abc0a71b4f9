"""DockerSandboxBackend, where roomkit-sandbox has it."""
from nutshell_sandbox.roomkit.backends import DEFAULT_IMAGE, ContainerInfo, ExecResult, DockerSandboxBackend

__all__ = ["DEFAULT_IMAGE", "ContainerInfo", "ExecResult", "DockerSandboxBackend"]
