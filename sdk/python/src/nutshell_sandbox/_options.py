"""The options of a sandbox, and how they become its spec."""
from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from nutshell_sandbox._generated import SandboxSpec
from nutshell_sandbox.errors import InvalidArgumentError

UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size_of(name: str, value: int | str) -> int:
    """Bytes, from a number or a text like 512m or 1.5g."""
    if isinstance(value, int):
        return value
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([bkmgt]?)(?:i?b)?", value.strip().lower())
    if found is None:
        raise InvalidArgumentError(f"{name}: '{value}' is not a size like 512m or 1g.")
    return int(float(found[1]) * UNITS[found[2]])


def milliseconds(name: str, seconds: float) -> int:
    try:
        return max(1, round(seconds * 1000)) if seconds > 0 else round(seconds * 1000)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgumentError(f"{name}: {seconds!r} is not a number of seconds.") from None


def spec_of(options: Mapping[str, Any]) -> SandboxSpec:
    """The spec of a sandbox with these options of its constructor; None stands for one left out."""
    given = {name: value for name, value in options.items() if value is not None}
    spec: dict[str, Any] = dict(given.pop("spec", {}))
    limits: dict[str, Any] = dict(spec.get("limits", {}))
    limits.update(given.pop("limits", {}))
    for name, member in (("memory", "memory_bytes"), ("disk", "disk_bytes")):
        if name in given:
            limits[member] = size_of(name, given.pop(name))
    for name in ("cpus", "processes", "open_files"):
        if name in given:
            limits[name] = given.pop(name)
    if "cpu_time" in given:
        limits["cpu_time_ms"] = milliseconds("cpu_time", given.pop("cpu_time"))
    for name in ("ttl", "idle_timeout"):
        if name in given:
            spec[name + "_ms"] = milliseconds(name, given.pop(name))
    if "workspace" in given:
        place = os.fspath(cast("str | os.PathLike[str]", given.pop("workspace")))
        spec["workspace"] = place if place.startswith("volume:") else os.path.abspath(place)
    for name in ("require", "unsafe_without"):
        if name in given:
            spec[name] = _texts(given.pop(name))
    if limits:
        spec["limits"] = limits
    spec.update(given)
    return cast(SandboxSpec, spec)


def _texts(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
