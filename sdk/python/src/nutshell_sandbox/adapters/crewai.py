"""CrewAI: the tools of a sandbox.

    from crewai import Agent
    from nutshell_sandbox.adapters.crewai import nutshell_tools

    with Sandbox() as sandbox:
        agent = Agent(role="coder", goal="…", backstory="…", tools=nutshell_tools(sandbox))
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nutshell_sandbox._sync.sandbox import Sandbox
from nutshell_sandbox._tool_schemas import schemas
from nutshell_sandbox.adapters._common import model_of

if TYPE_CHECKING:
    class _Base:
        def __init__(self, **members: Any) -> None: ...
    PrivateAttr: Any = None
else:
    from crewai.tools import BaseTool as _Base
    from pydantic import PrivateAttr


class NutshellTool(_Base):
    """One tool of a sandbox. The sandbox belongs to the caller, who closes it."""

    _call: Any = PrivateAttr()

    def __init__(self, sandbox: Sandbox, told: dict[str, Any]) -> None:
        super().__init__(name=told["name"], description=told["description"],
                         args_schema=model_of(f"Nutshell{told['name'].title()}", told["inputSchema"]))
        self._call = lambda given: sandbox.tools.call(told["name"], given)

    def _run(self, **arguments: Any) -> str:
        text: str = self._call(arguments).text
        return text


def nutshell_tools(sandbox: Sandbox, tools: Iterable[str] | None = None) -> list[NutshellTool]:
    """The tools of a sandbox, or those named."""
    return [NutshellTool(sandbox, one) for one in schemas(tools)]
