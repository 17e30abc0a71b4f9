"""The end of a sandbox that nobody closed: at garbage collection, or at the end of the program."""
from __future__ import annotations

import contextlib
import os
import socket
from typing import Any

PATIENCE = 10.0
SOON = 0.05  # seconds, in which a destructor returns


def end(endpoint: Any, pid: int, id: str) -> None:
    """Asks the daemon to end a sandbox, over a connection of its own and without any lock, since
    the garbage collector calls this at any time. Nobody can be told of a failure here."""
    if pid != os.getpid():
        return  # a forked child does not own its parent's sandboxes
    try:
        _ask(endpoint, id)
    except KeyboardInterrupt:
        # Nothing can be raised out of a destructor. The program gets its interrupt after it.
        with contextlib.suppress(Exception):
            _ask(endpoint, id)
        _interrupt_soon()
    except Exception:  # pylint: disable=broad-exception-caught
        pass


def _ask(endpoint: Any, id: str) -> None:
    with _connected(endpoint) as sock:
        token = f"Authorization: Bearer {endpoint.token}\r\n" if endpoint.token else ""
        host = "localhost" if endpoint.socket_path else endpoint.address.partition("://")[2]
        sock.sendall(f"DELETE /v1/sandboxes/{id} HTTP/1.1\r\nHost: {host}\r\n{token}"
                     "Connection: close\r\n\r\n".encode("latin-1"))
        sock.recv(4096)


def _interrupt_soon() -> None:
    import signal
    import threading
    timer = threading.Timer(SOON, signal.pthread_kill,
                            (threading.main_thread().ident, signal.SIGINT))
    timer.daemon = True
    with contextlib.suppress(RuntimeError):  # at the end of the program there are no new threads
        timer.start()


def _connected(endpoint: Any) -> socket.socket:
    if endpoint.socket_path:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(endpoint.socket_path)  # without a timeout it waits for a place in the queue
        except BaseException:
            sock.close()
            raise
        sock.settimeout(PATIENCE)
        return sock
    sock = socket.create_connection((endpoint.host, endpoint.port), PATIENCE)
    if not endpoint.tls:
        return sock
    wrapped: socket.socket = endpoint.tls_context().wrap_socket(
        sock, server_hostname=endpoint.host)
    return wrapped
