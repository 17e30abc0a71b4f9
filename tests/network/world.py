"""A small internet for the suite: a network namespace with addresses, names and servers of its own.

Programs in a sandbox and nutshell-egress see it in place of the machine's network, because the whole suite
runs in that namespace. It needs root.
"""
import contextlib
import ctypes
import fcntl
import http.server
import os
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

GOOD, OTHER, PRIVATE = "93.184.216.34", "93.184.216.35", "10.9.8.7"
DOMAIN = "example.test"
PYPI = ("pypi.org", "files.pythonhosted.org")
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
SIOCSIFADDR, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8916, 0x8913, 0x8914, 1

libc = ctypes.CDLL(None, use_errno=True)


def checked(status, what):
    if status != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def enter():
    """Moves this process, while it has one thread, into new namespaces of the network and of mounts."""
    checked(libc.unshare(CLONE_NEWNS | CLONE_NEWNET), "unshare")
    checked(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))
        for number, address in enumerate((GOOD, OTHER, PRIVATE)):
            place = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(control, SIOCSIFADDR, struct.pack("16s16s", b"lo:%d" % number, place))


def show_file(text, place, scratch):
    source = scratch / place.replace("/", "-").strip("-")
    source.write_text(text)
    source.chmod(0o644)
    real = os.path.realpath(place)
    checked(libc.mount(os.fsencode(source), os.fsencode(real), None, MS_BIND, None), f"bind {place}")


class Names:
    """A DNS server. `records` maps a name to its address, or to a list of them, one for each question."""

    def __init__(self):
        self.records, self.asked = {}, []
        self.is_out_of_order = False  # every question fails
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def address_of(self, name):
        address = self.records.get(name)
        if isinstance(address, list):
            return address.pop(0) if len(address) > 1 else address[0]
        return address

    def serve(self):
        while True:
            query, client = self.socket.recvfrom(2048)
            with contextlib.suppress(IndexError, UnicodeDecodeError):
                self.socket.sendto(self.answer(query), client)

    def answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode().lower())
            at += 1 + query[at]
        question, name = query[12:at + 5], ".".join(labels)
        kind = int.from_bytes(query[at + 1:at + 3], "big")
        self.asked.append(name)
        if self.is_out_of_order:
            return query[:2] + struct.pack(">HHHHH", 0x8182, 1, 0, 0, 0) + question
        known = name in self.records
        address = self.address_of(name) if kind == 1 else None
        head = query[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, 1 if address else 0, 0, 0)
        if not address:
            return head + question
        return head + question + b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 1, 4) + socket.inet_aton(address)


class Pages(http.server.BaseHTTPRequestHandler):
    """Tells which server was reached, and for whom; files below `root` too. /echo answers the request itself,
    and /redirect?URL leads there. `sites` has the type and the bytes of other pages."""
    protocol_version = "HTTP/1.1"
    root = None
    sites = {}

    def do_GET(self):
        place = self.connection.getsockname()[0]
        given = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.reached.append((place, self.headers.get("Host", ""), self.path))
        self.server.requests.append((self.command, self.path, str(self.headers), given))
        body = f"{place} {self.headers.get('Host')} {self.path}\n".encode()
        file = self.root and Path(f"{self.root}{self.path.split('?')[0]}")
        is_found = True
        if self.path.startswith("/files/"):
            is_found = file.is_file()
            body = file.read_bytes() if is_found else b"no such file\n"
        if self.path.startswith("/echo"):
            body = f"{self.requestline}\n{self.headers}".encode() + given
        site = self.sites.get(f"{self.headers.get('Host')}{self.path}")
        if site:
            body = site[1]
        is_redirect = self.path.startswith("/redirect?")
        self.send_response(302 if is_redirect else 200 if is_found else 404)
        if is_redirect:
            self.send_header("Location", self.path.partition("?")[2])
        if site:
            self.send_header("Content-Type", site[0])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


class WebServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, port, context=None):
        super().__init__((address, port), Pages)
        self.reached = []
        self.requests = []  # method, path, headers and body of each
        self.context = context
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        if self.context:
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, *_):
        pass  # clients that hang up

    @property
    def port(self):
        return self.server_address[1]


class EchoServer:
    """Says "hello" to every client, and then what the client says."""

    def __init__(self, address, port=0):
        self.listener = socket.create_server((address, port), backlog=256)
        self.clients = []
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            self.clients.append(client)
            threading.Thread(target=self.echo, args=(client,), daemon=True).start()

    def echo(self, client):
        with contextlib.suppress(OSError):
            client.sendall(b"hello\n")
            while part := client.recv(65536):
                client.sendall(part)
        client.close()


def openssl(*words, cwd):
    subprocess.run(["openssl", *words], cwd=cwd, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_certificate(scratch):
    """A certificate authority of our own, and a server's certificate for every name of DOMAIN and of PyPI."""
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj",
            "/CN=test", "-days", "2", cwd=scratch)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr", "-subj",
            f"/CN={DOMAIN}", cwd=scratch)
    (scratch / "names").write_text(f"subjectAltName=DNS:{DOMAIN},DNS:*.{DOMAIN},{','.join('DNS:' + name for name in PYPI)}\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
            "server.pem", "-days", "2", "-extfile", "names", cwd=scratch)


class World:
    def __init__(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="nutshell-world-"))
        self.scratch.chmod(0o755)
        enter()
        show_file("127.0.0.1 localhost\n", "/etc/hosts", self.scratch)
        show_file("nameserver 127.0.0.1\n", "/etc/resolv.conf", self.scratch)
        self.names = Names()
        self.names.records = {f"{name}.{DOMAIN}": address for name, address in {
            "good": GOOD, "also": GOOD, "other": OTHER, "private": PRIVATE, "home": "127.0.0.1",
            "metadata": "169.254.169.254", "mapped": "0.0.0.0", "rebind": [GOOD, "127.0.0.1"]}.items()}
        self.names.records |= dict.fromkeys(PYPI, GOOD)
        make_certificate(self.scratch)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.scratch / "server.pem", self.scratch / "server.key")
        self.web = WebServer("0.0.0.0", 80)
        self.tls = WebServer("0.0.0.0", 443, context)
        self.echo = EchoServer("0.0.0.0", 7000)
        self.authority = self.scratch / "ca.pem"
        Pages.root = self.scratch

    def reached(self):
        """Addresses of the servers that somebody reached since the last call."""
        found = [place for place, _, _ in self.web.reached + self.tls.reached]
        self.web.reached.clear()
        self.tls.reached.clear()
        return found

    def requests(self):
        """Requests that servers got since the last call, over HTTP and over TLS."""
        found = self.web.requests + self.tls.requests
        self.web.requests.clear()
        self.tls.requests.clear()
        return found

    def add_untrusted(self):
        """A server whose certificate nobody trusts: untrusted.DOMAIN, port 8443."""
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "untrusted.key", "-out", "untrusted.pem",
                "-subj", "/CN=untrusted", "-addext", f"subjectAltName=DNS:untrusted.{DOMAIN}", "-days", "2",
                cwd=self.scratch)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.scratch / "untrusted.pem", self.scratch / "untrusted.key")
        self.names.records[f"untrusted.{DOMAIN}"] = GOOD
        self.untrusted = WebServer("0.0.0.0", 8443, context)

    def trust_authority(self):
        """The programs of this world trust our own authority, and no other."""
        show_file(self.authority.read_text(), "/etc/ssl/certs/ca-certificates.crt", self.scratch)

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
