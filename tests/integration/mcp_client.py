"""One `nutshell mcp` on pipes, and what it says."""
import contextlib
import json
import os
import queue
import subprocess
import threading

from support import NUTSHELL, expect, scratch


class Client:
    """One server and what it says."""

    def __init__(self, *flags, cwd, handshake="2025-11-25", roots=None, env=None):
        self.roots = roots  # directories that the client declares, or None
        self.process = subprocess.Popen([NUTSHELL, "mcp", *flags], cwd=cwd, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True, env={**os.environ, **(env or {})})
        self.messages, self.last = queue.Queue(), 0
        self.notifications = []
        threading.Thread(target=self._read, daemon=True).start()
        self.errors = b""
        threading.Thread(target=self._drain, daemon=True).start()
        if handshake:
            self.agreed = self.ask("initialize", {"protocolVersion": handshake, "capabilities": {} if roots is None
                                                  else {"roots": {}},
                                                  "clientInfo": {"name": "test", "version": "0"}})
            self.tell("notifications/initialized")

    def _read(self):
        for line in self.process.stdout:
            self.messages.put(line)
        self.messages.put(None)

    def _drain(self):
        for line in self.process.stderr:
            self.errors += line

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def tell(self, method, params=None):
        self.raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode()
                 + b"\n")

    def send(self, method, params=None):
        self.last += 1
        self.raw(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method,
                             "params": params or {}}).encode() + b"\n")
        return self.last

    def next(self, seconds=60):
        try:
            line = self.messages.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError("no message came") from None
        expect(line is not None, f"the server has ended: {self.errors[-300:]!r}")
        return json.loads(line)

    def answer(self, identifier, seconds=60):
        while True:
            message = self.next(seconds)
            if message.get("id") == identifier and "method" not in message:
                return message
            if message.get("method") == "roots/list":
                roots = [{"uri": f"file://{directory}", "name": "root"} for directory in self.roots]
                self.raw(json.dumps({"jsonrpc": "2.0", "id": message["id"],
                                     "result": {"roots": roots}}).encode() + b"\n")
            self.notifications.append(message)

    def ask(self, method, params=None, seconds=60):
        message = self.answer(self.send(method, params), seconds)
        expect("result" in message, f"{method}: {message}")
        return message["result"]

    def error(self, method, params=None):
        message = self.answer(self.send(method, params))
        expect("error" in message, f"{method} {str(params)[:100]}: {str(message)[:200]}")
        return message["error"]["code"]

    def tool(self, name, /, **arguments):
        return self.ask("tools/call", {"name": f"sandbox_{name}", "arguments": arguments})

    def text(self, name, /, **arguments):
        result = self.tool(name, **arguments)
        expect(not result["isError"], f"{name}: {result}")
        return result["content"][0]["text"]

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None


@contextlib.contextmanager
def project():
    with scratch() as directory:
        (directory / "hello.txt").write_text("hello\n")
        (directory / "src").mkdir()
        (directory / "src/main.c").write_text("int main(void) { return 0; }\n")
        yield directory


@contextlib.contextmanager
def client(*flags, cwd=None, **settings):
    with contextlib.ExitStack() as stack:
        directory = cwd or stack.enter_context(project())
        made = Client(*flags, cwd=directory, **settings)
        try:
            yield made
        finally:
            made.close()


def sandbox_of(server):
    about = server.ask("resources/read", {"uri": "nutshell://sandbox"})
    return json.loads(about["contents"][0]["text"])["id"]
