"""Sockets and threads of the synchronous twin; _io_async.py is the other."""
from __future__ import annotations

import os
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Idle:
    """Connections that wait for a request, kept apart for each process."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._waiting: deque[Any] = deque()

    def of_here(self) -> deque[Any]:
        if self._pid != os.getpid():  # a forked child shares no connection with its parent
            inherited, self._waiting, self._pid = self._waiting, deque(), os.getpid()
            for one in inherited:
                one.close()
        return self._waiting

    def close(self) -> None:
        here = self.of_here()
        while here:
            here.pop().close()


def _arm(sock: socket.socket, deadline: float | None) -> None:
    if deadline is None:
        sock.settimeout(None)
        return
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    sock.settimeout(left)


def try_connect(sock: socket.socket, address: Any, deadline: float | None) -> None:
    _arm(sock, deadline)
    sock.connect(address)


def resolve(host: str, port: int) -> list[Any]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


def send(sock: socket.socket, data: bytes, deadline: float | None) -> None:
    _arm(sock, deadline)
    sock.sendall(data)


def receive(sock: socket.socket, size: int, deadline: float | None) -> bytes:
    _arm(sock, deadline)
    return sock.recv(size)


def receive_into(sock: socket.socket, room: memoryview, deadline: float | None) -> int:
    _arm(sock, deadline)
    return sock.recv_into(room)


def pause(seconds: float) -> None:
    time.sleep(seconds)


def call_blocking(function: Callable[..., T], *arguments: Any) -> T:
    return function(*arguments)


def settle(value: object) -> None:
    """Takes what a callback returned."""
