"""LlamaIndex: the tools of a sandbox.

    from llama_index.core.agent.workflow import FunctionAgent
    from nutshell_sandbox.adapters.llama_index import nutshell_tools

    with Sandbox() as sandbox:
        agent = FunctionAgent(llm=llm, tools=nutshell_tools(sandbox))
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nutshell_sandbox._sync.sandbox import Sandbox
from nutshell_sandbox._tool_schemas import schemas
from nutshell_sandbox.adapters._common import model_of

if TYPE_CHECKING:
    FunctionTool: Any = None
    ToolMetadata: Any = None
else:
    from llama_index.core.tools import FunctionTool, ToolMetadata


def nutshell_tools(sandbox: Sandbox, tools: Iterable[str] | None = None) -> list[Any]:
    """The tools of a sandbox, or those named, as FunctionTools."""
    return [_tool(sandbox, one) for one in schemas(tools)]


def _tool(sandbox: Sandbox, told: dict[str, Any]) -> Any:
    def call(**arguments: Any) -> str:
        return sandbox.tools.call(told["name"], arguments).text
    metadata = ToolMetadata(name=told["name"], description=told["description"],
                            fn_schema=model_of(f"Nutshell{told['name'].title()}", told["inputSchema"]))
    return FunctionTool(fn=call, metadata=metadata)
