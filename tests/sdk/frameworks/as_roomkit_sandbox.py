"""A plugin of pytest: `roomkit_sandbox` is nutshell_sandbox.roomkit, so that the package's own tests try ours."""
import sys

from nutshell_sandbox import roomkit
from nutshell_sandbox.roomkit import backends, commands, docker_backend, executor, k8s_backend, smolbsd_backend

sys.modules.update({
    "roomkit_sandbox": roomkit, "roomkit_sandbox._shared": backends, "roomkit_sandbox.commands": commands,
    "roomkit_sandbox.executor": executor, "roomkit_sandbox.docker_backend": docker_backend,
    "roomkit_sandbox.k8s_backend": k8s_backend, "roomkit_sandbox.smolbsd_backend": smolbsd_backend})
