"""Asks nutshell-egress over its socket, as the programs do (src/wire/egress_messages.h)."""
import socket
import struct

from support import runtime_directory

STATUS, EVENTS, SET_POLICY, STOP = 1, 2, 3, 4
MODES = ["none", "allowed", "unsafe-full"]
TLS = ["pass", "inspect"]
KINDS = ["opened", "refused", "failed", "closed"]


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def policy_bytes(mode="allowed", allow=(), connections=1024, most_bytes=1 << 36, rate=1 << 34, tls="pass",
                 caches=(), secrets=()):
    def texts(values):
        return struct.pack("<I", len(values)) + b"".join(map(text, values))

    kept = [text(one["name"]) + text("") + texts(one["hosts"]) + bytes([one.get("query", 0), one.get("body", 0)])
            for one in secrets]  # without their values
    return (bytes([MODES.index(mode)]) + texts(allow) + bytes([TLS.index(tls)])
            + struct.pack("<I", len(kept)) + b"".join(kept) + texts(caches) + struct.pack("<IQQ", connections, most_bytes, rate))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        value, = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        size = self.number("I")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def texts(self):
        return [self.text() for _ in range(self.number("I"))]

    def policy(self):
        policy = {"mode": MODES[self.number("B")], "allow": self.texts(), "tls": self.number("B")}
        policy["secrets"] = [{"name": self.text(), "value": self.text(), "hosts": self.texts(),
                              "query": self.number("B"), "body": self.number("B")} for _ in range(self.number("I"))]
        return policy | {"caches": self.texts(), "connections": self.number("I"), "bytes": self.number("Q"),
                         "rate": self.number("Q")}

    def status(self):
        return {"policy": self.policy(), "way": self.text(), "open": self.number("Q"),
                "connections": self.number("Q"), "refused": self.number("Q"), "bytes": self.number("Q")}

    def event(self):
        return {"number": self.number("Q"), "time": self.number("q"), "kind": KINDS[self.number("B")],
                "host": self.text(), "address": self.text(), "port": self.number("H"), "method": self.text(),
                "path": self.text(), "reason": self.text(), "rule": self.text(), "sent": self.number("Q"),
                "received": self.number("Q"), "count": self.number("Q")}


def socket_path(made):
    return runtime_directory() / "egress" / f"{made}.sock"


def process_of(made):
    """The pid of the program, which listens at the socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(socket_path(made)))
        return struct.unpack("iII", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


def receive_exactly(client, size):
    data = b""
    while len(data) < size:
        part = client.recv(size - len(data))
        if not part:
            raise ConnectionError("nutshell-egress has closed the connection")
        data += part
    return data


def ask_raw(made, question):
    """The bytes of the answer."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(socket_path(made)))
        client.sendall(struct.pack("<I", len(question)) + question)
        size, = struct.unpack("<I", receive_exactly(client, 4))
        return receive_exactly(client, size)


def ask_bytes(made, question):
    """The message of the answer, its status and its events."""
    answer = Reader(ask_raw(made, question))
    answer.number("B")
    message = answer.text()
    return message, answer.status(), [answer.event() for _ in range(answer.number("I"))]


def question(kind, after=0, policy=None):
    return bytes([kind]) + struct.pack("<Q", after) + (policy or policy_bytes("none"))


def ask(made, kind, after=0, policy=None):
    return ask_bytes(made, question(kind, after, policy))


def status(made):
    return ask(made, STATUS)[1]


def events(made, after=0):
    return ask(made, EVENTS, after)[2]


def set_policy(made, **policy):
    message, now, _ = ask(made, SET_POLICY, policy=policy_bytes(**policy))
    return message, now
