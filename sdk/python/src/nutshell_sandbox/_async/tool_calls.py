"""What the generated methods of tools call, and the schemas for models."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nutshell_sandbox import _tool_schemas
from nutshell_sandbox._async.client import read_object
from nutshell_sandbox._results import ToolResult

if TYPE_CHECKING:
    from nutshell_sandbox._async.sandbox import AsyncSandbox


class AsyncToolCalls:
    """Calls tools by name."""

    def __init__(self, sandbox: AsyncSandbox) -> None:
        self._sandbox = sandbox

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Calls a tool with arguments as a model gives them; None stands for one left out.

        A tool that refuses says so in its result; `check()` raises it.
        """
        given = {key: value for key, value in (arguments or {}).items() if value is not None}
        if isinstance(given.get("args"), tuple):
            given["args"] = list(given["args"])
        told = await self._sandbox.client.send("callTool", (self._sandbox.id, name), body=given,
                                               timeout=None)
        return ToolResult(read_object(told))

    def schemas(self, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Name, description and JSON Schema of the tools, or of those named."""
        return _tool_schemas.schemas(names)

    def for_openai(self, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """The tools as OpenAI's chat completions take them."""
        return _tool_schemas.for_openai(names)

    def for_anthropic(self, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """The tools as Anthropic's messages take them."""
        return _tool_schemas.for_anthropic(names)

    def for_gemini(self, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """The tools as Gemini takes them: one object with function declarations."""
        return _tool_schemas.for_gemini(names)
