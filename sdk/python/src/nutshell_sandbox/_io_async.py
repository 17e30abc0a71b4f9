"""Sockets and the event loop of the asynchronous twin; _io_sync.py is the other."""
from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import socket
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Idle:
    """Connections that wait for a request, kept apart for each process and each event loop."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._loops: weakref.WeakKeyDictionary[Any, deque[Any]] = weakref.WeakKeyDictionary()

    def of_here(self) -> deque[Any]:
        if self._pid != os.getpid():  # a forked child shares no connection with its parent
            inherited, self._loops = self._loops, weakref.WeakKeyDictionary()
            self._pid = os.getpid()
            for waiting in inherited.values():
                for one in waiting:
                    one.close()
        loop = asyncio.get_running_loop()
        here = self._loops.get(loop)
        if here is None:
            here = self._loops.setdefault(loop, deque())
        return here

    def close(self) -> None:
        here = self.of_here()
        while here:
            here.pop().close()


def _cut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


async def try_connect(sock: socket.socket, address: Any, deadline: float | None) -> None:
    sock.setblocking(False)
    if sock.family == socket.AF_UNIX:
        sock.connect(address)  # never waits; refused if the queue is full
        return
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    try:
        await asyncio.wait_for(asyncio.get_running_loop().sock_connect(sock, address), left)
    except asyncio.TimeoutError:
        raise TimeoutError from None


async def resolve(host: str, port: int) -> list[Any]:
    return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


async def send(sock: socket.socket, data: bytes, deadline: float | None) -> None:
    loop = asyncio.get_running_loop()
    if deadline is None:
        await loop.sock_sendall(sock, data)
        return
    timer = loop.call_later(max(0.0, deadline - time.monotonic()), _cut, sock)
    try:
        await loop.sock_sendall(sock, data)
    except OSError:
        if time.monotonic() >= deadline:
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()


async def receive(sock: socket.socket, size: int, deadline: float | None) -> bytes:
    return await _within(sock, asyncio.get_running_loop().sock_recv(sock, size), deadline)


async def receive_into(sock: socket.socket, room: memoryview, deadline: float | None) -> int:
    return await _within(sock, asyncio.get_running_loop().sock_recv_into(sock, room), deadline)


async def _within(sock: socket.socket, receiving: Awaitable[T], deadline: float | None) -> T:
    if deadline is None:
        return await receiving
    timer = asyncio.get_running_loop().call_later(max(0.0, deadline - time.monotonic()), _cut, sock)
    try:
        received = await receiving
    finally:
        timer.cancel()
    if not received and time.monotonic() >= deadline:
        raise TimeoutError
    return received


async def pause(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def call_blocking(function: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


async def settle(value: object) -> None:
    """Takes what a callback returned; waits for it if the callback is a coroutine function."""
    if inspect.isawaitable(value):
        await value
