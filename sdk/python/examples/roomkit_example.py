"""A RoomKit agent with a sandbox."""
from roomkit import Agent

from nutshell_sandbox.roomkit import NutshellSandboxExecutor


def make_agent(provider):
    """An agent for a room; closing its channel ends the sandbox."""
    return Agent("coder", provider=provider, system_prompt="Use the sandbox to find out.",
                 sandbox=NutshellSandboxExecutor(timeout=60))
