"""LangChain and LangGraph: the tools of a sandbox.

    from langchain.agents import create_agent
    from nutshell_sandbox.adapters.langchain import NutshellTools

    with NutshellTools() as tools:
        agent = create_agent(model, tools=tools.tools)
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nutshell_sandbox._sync.sandbox import Sandbox
from nutshell_sandbox._tool_schemas import schemas
from nutshell_sandbox.adapters._common import Held

if TYPE_CHECKING:
    StructuredTool: Any = None
else:
    from langchain_core.tools import StructuredTool


class NutshellTools:
    """Holds a sandbox and its `tools`. What a model reads is the content of a message; the whole
    ToolResult is its artifact."""

    def __init__(self, sandbox: Sandbox | None = None, tools: Iterable[str] | None = None,
                 **options: Any) -> None:
        self._held = Held(sandbox, options)
        self.tools = [self._tool(one) for one in schemas(tools)]

    @property
    def sandbox(self) -> Sandbox:
        return self._held.sandbox

    def _tool(self, told: dict[str, Any]) -> Any:
        def call(**arguments: Any) -> tuple[str, Any]:
            done = self.sandbox.tools.call(told["name"], arguments)
            return done.text, done
        return StructuredTool.from_function(
            func=call, name=told["name"], description=told["description"],
            args_schema=told["inputSchema"], response_format="content_and_artifact",
            infer_schema=False)

    def __enter__(self) -> NutshellTools:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._held.close()
