"""The catalogue of tools in the forms that the APIs of models take."""
from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

from nutshell_sandbox._generated import ROOMKIT_TOOLS, TOOLS
from nutshell_sandbox.errors import InvalidArgumentError


@functools.cache
def _catalogue() -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(TOOLS)}


def roomkit_catalogue() -> list[dict[str, Any]]:
    """The catalogue in RoomKit's dialect."""
    listed: list[dict[str, Any]] = json.loads(ROOMKIT_TOOLS)
    return listed


def is_read_only(name: str) -> bool:
    """Whether a tool changes nothing."""
    return bool(_catalogue()[name]["reads_only"])


def names_of_tools() -> list[str]:
    return list(_catalogue())


def schemas(names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Name, description and inputSchema of each tool, as copies that the caller may change."""
    known = _catalogue()
    wanted = list(known) if names is None else list(names)
    if unknown := [name for name in wanted if name not in known]:
        raise InvalidArgumentError(f"There is no tool '{unknown[0]}'; there are {', '.join(known)}.")
    return [json.loads(json.dumps({key: known[name][key]
                                   for key in ("name", "description", "inputSchema")}))
            for name in wanted]


def for_openai(names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": one["name"],
                                              "description": one["description"],
                                              "parameters": one["inputSchema"]}}
            for one in schemas(names)]


def for_anthropic(names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    return [{"name": one["name"], "description": one["description"],
             "input_schema": one["inputSchema"]} for one in schemas(names)]


def for_gemini(names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    return [{"function_declarations": [
        {"name": one["name"], "description": one["description"],
         "parameters": _without_additional(one["inputSchema"])} for one in schemas(names)]}]


def _without_additional(schema: Any) -> Any:
    """Gemini's schemas do not know `additionalProperties`."""
    if isinstance(schema, dict):
        return {key: _without_additional(value)  # pyright: ignore[reportUnknownVariableType]
                for key, value in schema.items()  # pyright: ignore[reportUnknownVariableType]
                if key != "additionalProperties"}
    if isinstance(schema, list):
        return [_without_additional(one) for one in schema]  # pyright: ignore[reportUnknownVariableType]
    return schema
