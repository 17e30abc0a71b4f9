"""Command builders: they make the argument list of a command from a call of a tool."""
from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from typing import Any

Arguments = dict[str, Any]

# The scripts find what they work on in their positional parameters.
_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && printf %s "$2" > "$1"'
_DELETE = '{ [ -e "$1" ] || [ -L "$1" ]; } || { echo "$1: not there" >&2; exit 1; }; rm -rf -- "$1"'
# Counts the text in the whole file and replaces it if it is there once. Arguments of awk would be
# read for escapes, the environment is not.
_EDIT = r"""
export OLD="$2" NEW="$3"
[ -n "$OLD" ] || { echo "old_string is empty" >&2; exit 1; }
awk 'BEGIN { RS = "^$"; ORS = ""; old = ENVIRON["OLD"] }
     { at = index($0, old)
       if (!at || index(substr($0, at + 1), old)) { print at ? "more than one match" : "no match" > "/dev/stderr"; exit 1 }
       print substr($0, 1, at - 1) ENVIRON["NEW"] substr($0, at + length(old)) }' "$1" > "$1.new" &&
cat "$1.new" > "$1"; status=$?; rm -f -- "$1.new"; exit $status
"""


class CommandBuilder(ABC):
    """Makes the argument list of a command from a call of a tool. Further tools get a method
    `build_NAME` in a subclass. As in roomkit-sandbox, a tool without a method gives a command that
    says so; the executor refuses it before that."""

    def build(self, command: str, arguments: Arguments) -> list[str]:
        """The argument list for a tool, whose name has no `sandbox_` before it."""
        method = getattr(self, f"build_{command}", None)
        if method is None:
            return ["echo", f"Unknown sandbox command: {command}"]
        made: list[str] = method(arguments)
        return made

    @abstractmethod
    def build_read(self, args: Arguments) -> list[str]: ...

    @abstractmethod
    def build_ls(self, args: Arguments) -> list[str]: ...

    @abstractmethod
    def build_grep(self, args: Arguments) -> list[str]: ...

    @abstractmethod
    def build_find(self, args: Arguments) -> list[str]: ...

    @abstractmethod
    def build_git(self, args: Arguments) -> list[str]: ...

    @abstractmethod
    def build_diff(self, args: Arguments) -> list[str]: ...

    @abstractmethod
    def build_bash(self, args: Arguments) -> list[str]: ...

    def build_write(self, args: Arguments) -> list[str]:
        return _script(_WRITE, _path(args, ""), str(args.get("content", "")))

    def build_edit(self, args: Arguments) -> list[str]:
        return _script(_EDIT, _path(args, ""), str(args.get("old_string", "")),
                       str(args.get("new_string", "")))

    def build_delete(self, args: Arguments) -> list[str]:
        return _script(_DELETE, _path(args, ""))


class RtkCommandBuilder(CommandBuilder):
    """Stands for compact output, as RTK makes it. The executor calls Nutshell's own tools for it,
    which need no RTK in the sandbox; a method that a subclass overrides is called instead."""

    def build_read(self, args: Arguments) -> list[str]:
        return ["rtk", "read", _path(args, "."), *_flags(args, offset="--offset", limit="--limit")]

    def build_ls(self, args: Arguments) -> list[str]:
        return ["rtk", "ls", *_given(args, "path")]

    def build_grep(self, args: Arguments) -> list[str]:
        return ["rtk", "grep", str(args.get("pattern", "")), *_given(args, "path"),
                *_flags(args, type="--type")]

    def build_find(self, args: Arguments) -> list[str]:
        return ["rtk", "find", *_given(args, "path"), *_flags(args, name="-name", type="-type")]

    def build_git(self, args: Arguments) -> list[str]:
        return ["rtk", "git", *shlex.split(args.get("args", "status"))]

    def build_diff(self, args: Arguments) -> list[str]:
        return ["rtk", "diff", str(args.get("file_a", "")), str(args.get("file_b", ""))]

    def build_bash(self, args: Arguments) -> list[str]:
        return ["sh", "-c", str(args.get("command", ""))]


class NativeCommandBuilder(CommandBuilder):
    """Plain programs of Unix."""

    def build_read(self, args: Arguments) -> list[str]:
        first = int(args.get("offset") or 0) + 1
        last = f"{first + int(args['limit']) - 1}" if args.get("limit") else "$"
        script = 'cat -n -- "$1" | sed -n "$2,$3p"'
        return ["sh", "-c", script, "sh", _path(args, "."), str(first), last]

    def build_ls(self, args: Arguments) -> list[str]:
        return ["ls", "-la", "--", _path(args, ".")]

    def build_grep(self, args: Arguments) -> list[str]:
        chosen = [f"--include=*.{args['type']}"] if args.get("type") else []
        return ["grep", "-rn", *chosen, "-e", str(args.get("pattern", "")), "--", _path(args, ".")]

    def build_find(self, args: Arguments) -> list[str]:
        place = _path(args, ".")
        return ["find", place if place.startswith(("/", ".")) else f"./{place}",
                *_flags(args, name="-name", type="-type")]

    def build_git(self, args: Arguments) -> list[str]:
        return ["git", *shlex.split(args.get("args", "status"))]

    def build_diff(self, args: Arguments) -> list[str]:
        return ["diff", "-u", "--", str(args.get("file_a", "")), str(args.get("file_b", ""))]

    def build_bash(self, args: Arguments) -> list[str]:
        return ["sh", "-c", str(args.get("command", ""))]


def _script(text: str, *words: str) -> list[str]:
    """A script with these words as its parameters, in one text, as roomkit-sandbox has it."""
    return ["sh", "-c", f"set -- {shlex.join(words)}; {text}"]


def _path(args: Arguments, otherwise: str) -> str:
    return str(args.get("path") or otherwise)


def _given(args: Arguments, name: str) -> list[str]:
    return [str(args[name])] if args.get(name) else []


def _flags(args: Arguments, **flags: str) -> list[str]:
    return [word for name, flag in flags.items() if name in args and args[name] is not None
            for word in (flag, str(args[name]))]


def build_rtk_command(command: str, arguments: Arguments) -> list[str]:
    """The argument list of RtkCommandBuilder."""
    return RtkCommandBuilder().build(command, arguments)


def can_build(builder: CommandBuilder, command: str) -> bool:
    """Whether it has a command for this tool."""
    return type(builder).build is not CommandBuilder.build or hasattr(builder, f"build_{command}")


def is_own(builder: CommandBuilder, command: str) -> bool:
    """Whether a user's class says how this command is built."""
    method = getattr(type(builder), f"build_{command}", None)
    ours = {getattr(kind, f"build_{command}", None) for kind in (CommandBuilder, RtkCommandBuilder)}
    return type(builder).build is not CommandBuilder.build or \
        (method is not None and method not in ours)
