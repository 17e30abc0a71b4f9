"""Objects of the API's answers."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class Record:
    """A JSON object with its members as attributes. Members that a newer daemon adds are kept."""

    _nested: ClassVar[dict[str, type[Record]]] = {}
    _lists: ClassVar[tuple[str, ...]] = ()
    _maps: ClassVar[tuple[str, ...]] = ()

    def __init__(self, raw: Mapping[str, Any]) -> None:
        members = self.__dict__
        members.update(raw)
        for name in self._lists:
            members.setdefault(name, [])
        for name in self._maps:
            members.setdefault(name, {})
        for name, of in self._nested.items():
            value: Any = members.get(name)
            if isinstance(value, list):
                members[name] = [of(one) for one in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            else:
                members[name] = of(value if value is not None else {})

    def to_dict(self) -> dict[str, Any]:
        """The members as plain values."""
        return {name: _plain(value) for name, value in self.__dict__.items() if name[0] != "_"}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items()
                          if name[0] != "_")
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return value
