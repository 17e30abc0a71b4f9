"""Anthropic's Messages API: the typed tools `bash` and `str_replace_based_edit_tool`, and our own.

    from anthropic import Anthropic
    from nutshell_sandbox.adapters.anthropic import NutshellTools

    with NutshellTools() as tools:
        message = client.messages.create(model=…, tools=tools.definitions, messages=messages, …)
        results = tools.results(message)   # to be sent as the next user message
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nutshell_sandbox._sync.sandbox import Sandbox
from nutshell_sandbox._tool_schemas import for_anthropic
from nutshell_sandbox.adapters._common import Held, merged
from nutshell_sandbox.errors import InvalidArgumentError, NotFoundError, SandboxError

BASH = {"type": "bash_20250124", "name": "bash"}
EDITOR = {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}
STATE = "/tmp/.nutshell-bash"
# The API's bash keeps its directory and its variables from call to call.
SCRIPT = f'''[ -f {STATE} ] && . {STATE}; eval "$NUTSHELL_COMMAND"
status=$?; unset NUTSHELL_COMMAND; {{ export -p; printf 'cd %q\\n' "$PWD"; }} > {STATE}; exit $status'''
MOST_CHARACTERS = 50_000


class NutshellTools:
    """Answers the tool calls of a model from a sandbox. `typed` offers Anthropic's own bash and
    text editor; `tools` names which of ours are offered too (None: all, without bash)."""

    def __init__(self, sandbox: Sandbox | None = None, *, typed: bool = True,
                 tools: Iterable[str] | None = (), timeout: float = 120,
                 max_characters: int = MOST_CHARACTERS, **options: Any) -> None:
        self._held = Held(sandbox, options)
        self._timeout, self._most = timeout, max_characters
        own = for_anthropic(tools)
        if typed:
            own = [one for one in own if one["name"] != BASH["name"]]
            self.definitions: list[dict[str, Any]] = [
                dict(BASH), {**EDITOR, "max_characters": max_characters}, *own]
        else:
            self.definitions = own
        self._typed = typed

    @property
    def sandbox(self) -> Sandbox:
        return self._held.sandbox

    def results(self, message: Any) -> list[dict[str, Any]]:
        """A tool_result for each tool call of a message."""
        return [self.result(block) for block in message.content if block.type == "tool_use"]

    def result(self, block: Any) -> dict[str, Any]:
        """The tool_result of a tool_use block."""
        try:
            text, is_error = self._answer(block.name, dict(block.input))
        except SandboxError as error:
            text, is_error = f"Error: {error.message}", True
        except (KeyError, TypeError, ValueError) as error:
            text, is_error = f"Error: bad arguments for {block.name}: {error}", True
        return {"type": "tool_result", "tool_use_id": block.id, "content": self._cut(text),
                "is_error": is_error}

    def _answer(self, name: str, given: dict[str, Any]) -> tuple[str, bool]:
        if self._typed and name == BASH["name"]:
            return self._bash(given)
        if self._typed and name == EDITOR["name"]:
            return self._editor(given)
        done = self.sandbox.tools.call(name, given)
        return done.text, done.is_error

    def _bash(self, given: dict[str, Any]) -> tuple[str, bool]:
        if given.get("restart"):
            self.sandbox.run(["rm", "-f", STATE])
            return "The shell was restarted.", False
        done = self.sandbox.run(merged(SCRIPT), environment={"NUTSHELL_COMMAND": given["command"]},
                                timeout=self._timeout)
        if done.is_ok:
            return done.stdout, False
        return f"{done.stdout}\n[{done.ending}]".lstrip("\n"), done.outcome != "exited"

    def _editor(self, given: dict[str, Any]) -> tuple[str, bool]:
        commands: dict[str, Callable[[dict[str, Any]], tuple[str, bool]]] = {
            "view": self._view, "create": self._create, "str_replace": self._replace,
            "insert": self._insert}
        command = commands.get(given.get("command", ""))
        if command is None:
            raise InvalidArgumentError(f"unknown command '{given.get('command')}'")
        return command(given)

    def _view(self, given: dict[str, Any]) -> tuple[str, bool]:
        path = given["path"]
        try:
            is_directory = path.rstrip("/") in ("", "/workspace") or \
                self.sandbox.files.stat(path).kind == "directory"
        except NotFoundError:
            is_directory = False
        if is_directory:
            done = self.sandbox.tools.call("ls", {"path": path, "depth": 2})
            return done.text, done.is_error
        lines = self.sandbox.files.read_text(path, errors="replace").split("\n")
        if lines[-1] == "":
            lines.pop()
        first, last = given.get("view_range") or (1, -1)
        last = len(lines) if last == -1 else last
        if not 1 <= first <= max(1, len(lines)) or last < first - 1:
            raise InvalidArgumentError(f"view_range: {path} has the lines 1 to {len(lines)}")
        shown = enumerate(lines[first - 1:last], first)
        return "\n".join(f"{number:6}\t{line}" for number, line in shown), False

    def _create(self, given: dict[str, Any]) -> tuple[str, bool]:
        done = self.sandbox.tools.call("write", {"path": given["path"], "content": given["file_text"]})
        return done.text, done.is_error

    def _replace(self, given: dict[str, Any]) -> tuple[str, bool]:
        done = self.sandbox.tools.call("edit", {"path": given["path"], "old": given["old_str"],
                                                "new": given.get("new_str") or ""})
        return done.text, done.is_error

    def _insert(self, given: dict[str, Any]) -> tuple[str, bool]:
        path, at = given["path"], given["insert_line"]
        text = given.get("insert_text", given.get("new_str"))
        if not isinstance(text, str):
            raise InvalidArgumentError("insert_text is missing")
        lines = self.sandbox.files.read_text(path).splitlines(keepends=True)
        if not isinstance(at, int) or not 0 <= at <= len(lines):
            raise InvalidArgumentError(f"insert_line must be 0 to {len(lines)}")
        if at and not lines[at - 1].endswith("\n"):
            lines[at - 1] += "\n"
        if at < len(lines) and not text.endswith("\n"):
            text += "\n"
        content = "".join([*lines[:at], text, *lines[at:]])
        done = self.sandbox.tools.call("write", {"path": path, "content": content})
        return done.text, done.is_error

    def _cut(self, text: str) -> str:
        if len(text) <= self._most:
            return text
        half = self._most // 2
        left_out = len(text) - 2 * half
        return f"{text[:half]}\n[{left_out} characters left out]\n{text[-half:]}"

    def __enter__(self) -> NutshellTools:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._held.close()
