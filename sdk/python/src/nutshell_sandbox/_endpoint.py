"""The address of the daemon: named, the user's own, or a private one that ends with this process."""
from __future__ import annotations

import os
import select
import socket
import stat
import threading
import time
from typing import Any

from nutshell_sandbox.errors import InvalidArgumentError, UnavailableError

START_SECONDS = 60.0
_starting = threading.Lock()
_private: dict[int, tuple[int, str]] = {}  # this process: the pid and the socket of its daemon


def _renew_lock() -> None:
    global _starting
    _starting = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class Endpoint:
    """An address of a daemon, with what is needed to be let in."""

    def __init__(self, *, socket_path: str = "", host: str = "", port: int = 0, tls: bool = False,
                 token: str = "", ca: str = "", cert: str = "", key: str = "",
                 is_private: bool = False) -> None:
        self.socket_path, self.host, self.port, self.tls = socket_path, host, port, tls
        self.token, self.ca, self.cert, self.key = token, ca, cert, key
        self.is_private = is_private

    @property
    def address(self) -> str:
        """As `--daemon` of the command line takes it."""
        if self.socket_path:
            return self.socket_path
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def environment(self) -> dict[str, str]:
        """Variables that make the program `nutshell` use this daemon."""
        found = {"NUTSHELL_DAEMON": self.address}
        for name, value in (("NUTSHELL_TOKEN", self.token), ("NUTSHELL_DAEMON_CA", self.ca),
                            ("NUTSHELL_DAEMON_CERT", self.cert), ("NUTSHELL_DAEMON_KEY", self.key)):
            if value:
                found[name] = value
        return found

    def tls_context(self) -> Any:
        import ssl  # costs milliseconds, and the daemon's own socket needs none
        context = ssl.create_default_context(cafile=self.ca or None)
        if self.cert:
            context.load_cert_chain(self.cert, self.key or None)
        return context


def read_token() -> str:
    token = os.environ.get("NUTSHELL_TOKEN", "")
    file = os.environ.get("NUTSHELL_TOKEN_FILE", "")
    if not token and file:
        try:
            with open(file, encoding="utf-8") as opened:
                token = opened.read(4096)
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(f"NUTSHELL_TOKEN_FILE: {error}") from None
    return token


def parse(address: str, token: str, ca: str, cert: str, key: str) -> Endpoint:
    """Reads a socket's path, http://HOST:PORT or https://HOST[:PORT]."""
    token = token.rstrip("\r\n")
    if any(letter <= " " or letter > "~" for letter in token):
        raise InvalidArgumentError("The token has letters that no token has.")
    scheme, separator, rest = address.partition("://")
    if scheme == "unix" and separator:
        address, separator = rest, ""
    if not separator:
        if not address.startswith("/"):
            raise InvalidArgumentError(f"The daemon's address '{address}' is neither the absolute "
                                       "path of a socket nor an http:// or https:// URL.")
        return Endpoint(socket_path=address, token=token)
    from urllib.parse import urlsplit
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise InvalidArgumentError(f"The daemon's address '{address}': {error}.") from None
    if parts.scheme not in ("http", "https") or not host or parts.path not in ("", "/"):
        raise InvalidArgumentError(f"The daemon's address '{address}' is not like "
                                   "https://HOST:PORT.")
    is_here = host in ("localhost", "127.0.0.1", "::1")
    if parts.scheme == "http" and not is_here:
        raise InvalidArgumentError(f"'{address}' would send the token in clear text. "
                                   "http:// is only for this machine; use https://.")
    return Endpoint(host=host, port=port or (443 if parts.scheme == "https" else 80),
                    tls=parts.scheme == "https", token=token, ca=ca, cert=cert, key=key)


def user_directory() -> str:
    named = os.environ.get("NUTSHELL_RUNTIME_DIR", "")
    if named.startswith("/"):
        return named
    if os.geteuid() == 0:
        return "/run/nutshell"
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    try:
        if session.startswith("/") and os.stat(session).st_uid == os.geteuid():
            return os.path.join(session, "nutshell")
    except OSError:
        pass
    return f"/tmp/nutshell-{os.geteuid()}"


def own_socket() -> str:
    """The socket of this user's daemon, or "" if none answers there."""
    directory = user_directory()
    place = os.path.join(directory, "nutshelld.sock")
    try:
        told = os.lstat(directory)
        # Nobody else may have put a socket there.
        if told.st_uid != os.geteuid() or not stat.S_ISDIR(told.st_mode) or told.st_mode & 0o022:
            return ""
        return place if _listens(place) else ""
    except OSError:
        return ""


def _listens(place: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            probe.connect(place)
    except BlockingIOError:
        pass  # its queue is full, so it is there
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    return True


def find_program(name: str) -> str:
    """A program of Nutshell: in $NUTSHELL_BIN, in this package, or on PATH."""
    named = os.environ.get("NUTSHELL_BIN", "")
    folder = named if os.path.isdir(named) else os.path.dirname(named)
    places = [os.path.join(folder, name)] if named else []
    places.append(os.path.join(os.path.dirname(__file__), "bin", name))
    for place in places:
        if os.access(place, os.X_OK):
            return place
    import shutil
    if found := shutil.which(name):
        return found
    raise UnavailableError(
        f"No daemon runs, and the program '{name}' was found neither in $NUTSHELL_BIN, nor in the "
        "package, nor on PATH. Install Nutshell, or name a daemon with NUTSHELL_DAEMON.")


def start_private() -> str:
    """Starts the private daemon of this process once, and returns its socket."""
    with _starting:
        known = _private.get(os.getpid())
        if known is not None and _is_running(*known):
            return known[1]
        if known is not None:
            _end_orphans(known[1])
        program = find_program("nutshelld")
        try:
            pid, place = _start(program)
        except UnavailableError:
            # Once more: a start can fail for a moment, while a user's last processes are ending.
            pid, place = _start(program)
        _private[os.getpid()] = (pid, place)
        return place


def _start(program: str) -> tuple[int, str]:
    """The pid and the socket of a new private daemon."""
    import tempfile
    with tempfile.TemporaryFile() as log:
        pid, output = _spawn(program, log.fileno())
        try:
            place = _first_line(output)
        finally:
            os.close(output)
        if place:
            return pid, place
        _end(pid)
        log.seek(0)
        told = log.read()[-500:].decode(errors="replace").strip()
    raise UnavailableError(f"{program} --private did not start: {told or 'no message'}")


def _end_orphans(place: str) -> None:
    """Ends the sandboxes of a private daemon that was killed, and so could not end them."""
    import shutil
    import subprocess
    directory = os.path.dirname(place)
    environment = {**_its_environment(), "NUTSHELL_RUNTIME_DIR": directory,
                   "NUTSHELL_DAEMON": "none"}
    deadline = time.monotonic() + START_SECONDS

    def ask(*words: str) -> bytes:
        left = max(1.0, deadline - time.monotonic())
        return subprocess.run([find_program("nutshell"), *words], env=environment, check=True,
                              capture_output=True, timeout=left).stdout

    # A launcher that is ending does not answer for a moment, and a process may not start then.
    for wait in (0.1, 1.0, 0.0):
        try:
            if listed := ask("list", "-q").decode().split():
                ask("destroy", *listed)
            shutil.rmtree(directory, ignore_errors=True)
            return
        except UnavailableError:
            break  # the program is gone
        except (OSError, subprocess.SubprocessError):
            time.sleep(wait)
    # The sandboxes of that daemon end at their ttl, and `nutshell gc` removes what is left.
    try:
        os.unlink(place)
    except OSError:
        pass


def _spawn(program: str, log: int) -> tuple[int, int]:
    output, its_output = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        # Of a session of its own, so that Ctrl-C reaches this process alone.
        pid = os.posix_spawn(program, [program, "--private"], _its_environment(), setsid=True,
                             file_actions=[(os.POSIX_SPAWN_DUP2, nothing, 0),
                                           (os.POSIX_SPAWN_DUP2, its_output, 1),
                                           (os.POSIX_SPAWN_DUP2, log, 2)])
    except OSError as error:
        os.close(output)
        raise UnavailableError(f"{program} cannot be started: {error.strerror}") from None
    finally:
        os.close(its_output)
        os.close(nothing)
    return pid, output


def _its_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items()
            if name not in ("NUTSHELL_TOKEN", "NUTSHELL_TOKEN_FILE", "NUTSHELL_DAEMON")}


def _first_line(output: int) -> str:
    line, deadline = b"", time.monotonic() + START_SECONDS
    poller = select.poll()
    poller.register(output, select.POLLIN)
    while b"\n" not in line and len(line) < 4096:
        left = deadline - time.monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            return ""
        piece = os.read(output, 4096)
        if not piece:
            return ""
        line += piece
    return line.partition(b"\n")[0].decode(errors="replace")


def _is_running(pid: int, place: str) -> bool:
    try:
        if os.waitpid(pid, os.WNOHANG)[0] != 0:
            return False
    except ChildProcessError:
        return False
    try:
        if _listens(place):
            return True
    except OSError:
        return True  # it is busy
    _end(pid)  # a killed daemon refuses connections for a moment before it is gone
    return False


def _end(pid: int) -> None:
    try:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def discover(daemon: str | None, token: str | None, ca: str = "", cert: str = "",
             key: str = "") -> Endpoint:
    """The daemon to use. `private`, and `none` in the environment, mean one of this process."""
    named = daemon if daemon is not None else os.environ.get("NUTSHELL_DAEMON", "")
    if named and named not in ("none", "private"):
        return parse(named, token if token is not None else read_token(),
                     ca or os.environ.get("NUTSHELL_DAEMON_CA", ""),
                     cert or os.environ.get("NUTSHELL_DAEMON_CERT", ""),
                     key or os.environ.get("NUTSHELL_DAEMON_KEY", ""))
    if not named and (place := own_socket()):
        return Endpoint(socket_path=place)
    return Endpoint(socket_path=start_private(), is_private=True)
