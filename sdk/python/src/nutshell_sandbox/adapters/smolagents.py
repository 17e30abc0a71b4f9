"""smolagents: a Python executor whose variables stay from step to step.

    from smolagents import CodeAgent
    from nutshell_sandbox.adapters.smolagents import NutshellPythonExecutor

    agent = CodeAgent(tools=[], model=model, executor=NutshellPythonExecutor())
"""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nutshell_sandbox._sync.commands import Job
from nutshell_sandbox._sync.sandbox import Sandbox
from nutshell_sandbox.adapters._common import Held

if TYPE_CHECKING:
    class _Base:
        FINAL_ANSWER_EXCEPTION = ""
        allow_pickle = False
        def __init__(self, additional_imports: list[str], logger: Any) -> None: ...
    AgentExecutionError: Any = None
    CodeOutput: Any = None
    LogLevel: Any = None
    SafeSerializer: Any = None
    Logger: Any = None
else:
    from smolagents.local_python_executor import CodeOutput
    from smolagents.monitoring import AgentLogger as Logger
    from smolagents.monitoring import LogLevel
    from smolagents.remote_executors import RemotePythonExecutor as _Base
    from smolagents.serialization import SafeSerializer
    from smolagents.utils import AgentExecutionError

PLACE = "/tmp/.nutshell-python"
# Keeps one namespace, and runs each program that is sent to it.
SERVER = r'''
import ast, contextlib, io, json, os, socket, traceback
space = {"__name__": "__main__"}
listener = socket.socket(socket.AF_UNIX)
listener.bind("@PLACE@")
listener.listen(1)
def run(code):
    tree, value = ast.parse(code, "<step>"), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<step>", "exec"), space)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<step>", "eval"), space)
    return value
while True:
    connection, _ = listener.accept()
    with connection, connection.makefile("rw") as stream:
        told, output = {}, io.StringIO()
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                value = run(json.loads(stream.readline()))
            try:
                json.dumps(value)
                told["value"] = value
            except (TypeError, ValueError):
                told["value"] = repr(value)
        except BaseException as error:
            told["error"], told["why"] = type(error).__name__, str(error)
            told["trace"] = traceback.format_exc()
        told["logs"] = output.getvalue()
        with contextlib.suppress(OSError):
            stream.write(json.dumps(told) + "\n")
            stream.flush()
'''.replace("@PLACE@", PLACE)
CLIENT = '''
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect("@PLACE@")
connection.sendall(sys.stdin.buffer.read())
while piece := connection.recv(65536):
    sys.stdout.buffer.write(piece)
'''.replace("@PLACE@", PLACE)


class NutshellPythonExecutor(_Base):
    """Runs the code of a CodeAgent in one Python process of a sandbox. A step that takes longer
    than `timeout` seconds ends that process, and its variables are lost."""

    def __init__(self, sandbox: Sandbox | None = None, *, timeout: float = 120, logger: Any = None,
                 **options: Any) -> None:
        super().__init__([], logger or Logger(level=LogLevel.ERROR))
        self._held, self._timeout = Held(sandbox, options), timeout
        self._server: Job | None = None

    @property
    def sandbox(self) -> Sandbox:
        return self._held.sandbox

    def run_code_raise_errors(self, code: str) -> Any:
        if code.lstrip().startswith("!"):
            done = self.sandbox.run(code.lstrip()[1:], timeout=self._timeout)
            if not done.is_ok:
                raise AgentExecutionError(done.text, self.logger)  # type: ignore[attr-defined]
            return CodeOutput(output=None, logs=done.text, is_final_answer=False)
        told = self._ask(code)
        if told.get("error") == self.FINAL_ANSWER_EXCEPTION:
            answer = SafeSerializer.loads(told["why"], allow_pickle=self.allow_pickle)
            return CodeOutput(output=answer, logs=told["logs"], is_final_answer=True)
        if "error" in told:
            raise AgentExecutionError(f"{told['logs']}{told['trace']}",
                                      self.logger)  # type: ignore[attr-defined]
        return CodeOutput(output=told["value"], logs=told["logs"], is_final_answer=False)

    def _ask(self, code: str) -> dict[str, Any]:
        if self._server is None:
            self._start()
        done = self.sandbox.run(["python3", "-c", CLIENT], stdin=json.dumps(code) + "\n",
                                timeout=self._timeout)
        if done.is_ok and done.stdout.endswith("\n"):
            told: dict[str, Any] = json.loads(done.stdout)
            return told
        self._stop()
        why = f"The step took longer than {self._timeout} s" if done.outcome == "timed_out" \
            else f"The Python process ended ({done.text[-300:]})"
        raise AgentExecutionError(f"{why}; its variables are lost.",
                                  self.logger)  # type: ignore[attr-defined]

    def _start(self) -> None:
        self.sandbox.run(["rm", "-f", PLACE])
        self._server = self.sandbox.start(["python3", "-c", SERVER], timeout=86400)
        ready = f'for i in $(seq 200); do [ -S {PLACE} ] && exit 0; sleep 0.05; done; exit 1'
        self.sandbox.run(ready, timeout=30, check=True)

    def _stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.kill()

    def cleanup(self) -> None:
        """Ends the sandbox, unless it was given."""
        self._server = None
        self._held.close()
