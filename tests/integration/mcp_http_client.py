"""A client of the daemon's /mcp that is not ours: Python's http.client, in both generations of the
protocol."""
import contextlib
import http.client
import json
from urllib.parse import urlparse

from daemon_client import TOKENS, daemon, free_port
from support import expect_equal

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}
BOTH = "application/json, text/event-stream"
ALICE, BOB = TOKENS["alice"], TOKENS["bob"]
MANY = "[mcp]\nmulti = true\n"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def messages(self):
        if "event-stream" not in self.headers.get("content-type", ""):
            return [json.loads(self.body)] if self.body else []
        return [json.loads(line[5:]) for line in self.body.decode().splitlines()
                if line.startswith("data:")]

    @property
    def message(self):
        return self.messages[-1]

    @property
    def code(self):
        return self.message.get("error", {}).get("code")


class Host:
    def __init__(self, url, token):
        self.place, self.token = urlparse(url), token

    def send(self, body, *, method="POST", token=None, path=None, **headers):
        connection = http.client.HTTPConnection(self.place.hostname, self.place.port, timeout=60)
        token = self.token if token is None else token
        named = {"Content-Type": "application/json", "Accept": BOTH}
        if token:
            named["Authorization"] = f"Bearer {token}"
        named.update({name.replace("_", "-"): value for name, value in headers.items()})
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path or self.place.path, data,
                           {name: value for name, value in named.items() if value is not None})
        response = connection.getresponse()
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()},
                        response.read())
        connection.close()
        return answer

    def stateless(self, method, params=None, **headers):
        params = {**(params or {}), "_meta": {**META, **(params or {}).get("_meta", {})}}
        named = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": method}
        if "name" in params or "uri" in params:
            named["Mcp_Name"] = params.get("name", params.get("uri"))
        return self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
                         **{**named, **headers})

    def tool(self, name, /, token=None, headers=None, **arguments):
        answer = self.stateless("tools/call", {"name": f"sandbox_{name}", "arguments": arguments},
                                **({"token": token} if token else {}), **(headers or {}))
        expect_equal(answer.status, 200, f"status of {name}: {answer.body[:200]}")
        return answer.message["result"]

    def initialize(self, **headers):
        answer = self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                            "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}, **headers)
        expect_equal(answer.status, 200, "initialize")
        return answer.headers["mcp-session-id"]

    def in_session(self, session, method, params=None, **headers):
        return self.send({"jsonrpc": "2.0", "id": 2, "method": method, "params": params or {}},
                         Mcp_Session_Id=session, **headers)


@contextlib.contextmanager
def host(config=MANY, origins=()):
    """A daemon on a loopback port, with a token for Alice and one for Bob; she is the client."""
    port = free_port()
    with daemon(config, port, tcp=f"origins = {json.dumps(list(origins))}\n") as one:
        server = Host(f"http://127.0.0.1:{port}/mcp", ALICE)
        server.daemon = one
        yield server


def text_of(result):
    return result["content"][0]["text"]
