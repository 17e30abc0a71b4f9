#!/usr/bin/env python3
"""The daemon's doors: TLS, certificates, tokens, passed sockets, signals, and what its log says."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from daemon_client import DAEMON, TOKENS, Daemon, UnixConnection, call_over, daemon
from support import NUTSHELL, Skip, Suite, expect, expect_equal, wait_until

suite = Suite()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is missing")


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)


def make_certificates(place):
    """An authority, and certificates of it for the server, a client, and one that nobody named."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", f"{place}/ca.key", "-out", f"{place}/ca.pem", "-days", "2", "-subj",
            "/CN=authority")
    for name, extra in (("server", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
                        ("robot", "keyUsage=digitalSignature"),
                        ("nobody", "keyUsage=digitalSignature")):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                f"{place}/{name}.key", "-out", f"{place}/{name}.csr", "-subj", f"/CN={name}")
        Path(f"{place}/{name}.ext").write_text(extra + "\n")
        openssl("x509", "-req", "-in", f"{place}/{name}.csr", "-CA", f"{place}/ca.pem", "-CAkey",
                f"{place}/ca.key", "-CAcreateserial", "-out", f"{place}/{name}.pem", "-days", "2",
                "-extfile", f"{place}/{name}.ext")


def curl(*words):
    return subprocess.run(["curl", "-sS", "--max-time", "30", *words], capture_output=True,
                          text=True, timeout=60)


def status_of(*words):
    done = curl("-o", "/dev/null", "-w", "%{http_code}", *words)
    return int(done.stdout or 0), done.returncode


def tls_settings(place, port, mutual=False):
    lines = [f'[tcp]\nport = {port}\ncertificate = "{place}/server.pem"\n'
             f'key = "{place}/server.key"\n']
    if mutual:
        lines.append(f'client_authority = "{place}/ca.pem"\n[[certificates]]\nname = "robot"\n'
                     'tenant = "machines"\n')
    return "".join(lines)


@suite.case
def tls_with_tokens():
    need("curl", "openssl")
    port = free_port()
    with tempfile.TemporaryDirectory() as place:
        make_certificates(place)
        with daemon(tls_settings(place, port)) as one:
            url = f"https://127.0.0.1:{port}/v1/sandboxes"
            trust = ("--cacert", f"{place}/ca.pem")
            right = ("-H", "Authorization: Bearer " + TOKENS["alice"])
            expect_equal(status_of(*trust, *right, url)[0], 200, "with the token")
            expect_equal(status_of(*trust, url)[0], 401, "without one")
            expect_equal(status_of(*right, url)[1], 60, "curl trusts an unknown authority")
            expect_equal(status_of("--insecure", "--tls-max", "1.1", *right, url)[0], 0, "TLS 1.1")
            plain = curl("-o", "/dev/null", "-w", "%{http_code}", *right, url.replace("https", "http"))
            expect(plain.stdout in ("000", "400"), f"plain HTTP at the TLS port: {plain.stdout}")
            # The command line goes the same way.
            environment = {**os.environ, "NUTSHELL_DAEMON": f"https://127.0.0.1:{port}",
                           "NUTSHELL_DAEMON_CA": f"{place}/ca.pem",
                           "NUTSHELL_RUNTIME_DIR": str(one.directory / "cli")}
            os.mkdir(one.directory / "cli", 0o700)

            def nutshell(*words, token="alice"):
                return subprocess.run([NUTSHELL, *words], capture_output=True, timeout=60,
                                      env={**environment, "NUTSHELL_TOKEN": TOKENS.get(token, token)})
            expect_equal(nutshell("run", "--", "sh", "-c", "echo out; exit 3").returncode, 3, "run")
            made = nutshell("create").stdout.decode().strip()
            done = nutshell("exec", made, "--", "head", "-c", "3000000", "/dev/zero")
            expect_equal(len(done.stdout), 3000000, "bytes through TLS")
            expect(made.encode() in nutshell("list", "-q").stdout, "list")
            expect(made.encode() not in nutshell("list", "-q", token="bob").stdout, "bob's list")
            other = nutshell("exec", made, "--", "true", token="bob")
            expect(b"no sandbox" in other.stderr, f"bob: {other.stderr}")
            wrong = nutshell("list", token="guessed")
            expect(wrong.returncode == 125 and b"token" in wrong.stderr, f"wrong: {wrong.stderr}")
            environment["NUTSHELL_DAEMON_CA"] = ""
            untrusted = nutshell("list")
            expect(untrusted.returncode == 125 and b"ertificate" in untrusted.stderr,
                   f"untrusted: {untrusted.stderr}")
            environment["NUTSHELL_DAEMON_CA"] = f"{place}/ca.pem"
            expect_equal(nutshell("destroy", made).returncode, 0, "destroy")


def client_hello():
    """The first bytes of a TLS client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    side = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        side.do_handshake()
    return outgoing.read()


@suite.case
def clients_that_stall_in_the_handshake_hold_nobody_up():
    need("openssl")
    port = free_port()
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stalled:
        make_certificates(place)
        with daemon(tls_settings(place, port)):
            trust = ssl.create_default_context(cafile=f"{place}/ca.pem")
            hello = client_hello()
            for said in (b"", hello[:1], hello[:5], hello[:len(hello) // 2], hello) * 30:
                one = stalled.enter_context(socket.create_connection(("127.0.0.1", port), 20))
                one.sendall(said)
            slowest = 0
            for _ in range(20):
                began = time.monotonic()
                connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=trust)
                connection.request("GET", "/v1/sandboxes",
                                   headers={"Authorization": "Bearer " + TOKENS["alice"]})
                expect_equal(connection.getresponse().status, 200, "an honest client")
                connection.close()
                slowest = max(slowest, time.monotonic() - began)
            expect(slowest < 2, f"an honest client waited {slowest:.2f} s behind 150 that stall")


@suite.case
def mutual_tls():
    need("curl", "openssl")
    port = free_port()
    with tempfile.TemporaryDirectory() as place:
        make_certificates(place)
        with daemon(tls_settings(place, port, mutual=True)) as one:
            url = f"https://localhost:{port}/v1/sandboxes"
            trust = ("--cacert", f"{place}/ca.pem")

            def shown(name):
                return (*trust, "--cert", f"{place}/{name}.pem", "--key", f"{place}/{name}.key")
            made = curl(*shown("robot"), "-d", "{}", url)
            sandbox = json.loads(made.stdout)["id"]
            expect_equal(one.call("GET", f"/v1/sandboxes/{sandbox}").status, 404,
                         "the certificate's tenant is seen by another")
            expect_equal(status_of(*trust, url)[0], 0, "without a certificate")
            expect_equal(status_of(*shown("nobody"), url)[0], 401, "a certificate nobody named")
            record = json.loads(curl(*shown("robot"), url.replace("sandboxes", "audit")).stdout)
            expect(any("robot" in one["who"] for one in record["records"]), "who, in the record")


@suite.case
def a_passed_socket_is_served():
    """As systemd passes it: descriptor 3, LISTEN_FDS and LISTEN_PID."""
    with tempfile.TemporaryDirectory(prefix="nutshell-daemon-") as directory:
        one = Daemon(directory)
        place = f"{directory}/passed.sock"
        with socket.socket(socket.AF_UNIX) as listener, open(f"{directory}/log", "wb") as log:
            listener.bind(place)
            listener.listen(16)
            script = 'exec 3<&"$1"; LISTEN_PID=$$ LISTEN_FDS=1 exec "$2" --config "$3"'
            process = subprocess.Popen(
                ["bash", "-c", script, "sh", str(listener.fileno()), DAEMON, str(one.config)],
                pass_fds=[listener.fileno()], env=one.environment(), stderr=log)
            try:
                answer = call_over(UnixConnection(place), "GET", "/readyz")
                expect_equal(answer.status, 200, "readyz")
                expect(not (Path(directory) / "run/nutshelld.sock").exists(), "a socket of its own")
            finally:
                process.terminate()
                expect_equal(process.wait(30), 0, "exit status")
        expect(Path(place).exists(), "a socket that was passed is not the daemon's to remove")


@suite.case
def systemd_is_told_that_the_daemon_is_ready():
    with tempfile.TemporaryDirectory(prefix="nutshell-daemon-") as directory:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as news:
            news.bind(f"{directory}/notify")
            news.settimeout(60)
            one = Daemon(directory)
            os.environ["NOTIFY_SOCKET"] = f"{directory}/notify"
            try:
                one.start()
            finally:
                del os.environ["NOTIFY_SOCKET"]
            expect_equal(news.recv(100), b"READY=1", "first")
            expect_equal(one.stop(), 0, "exit status")
            expect_equal(news.recv(100), b"STOPPING=1", "last")
            one.log.close()


@suite.case
def systemd_accepts_the_units():
    need("systemd-analyze")
    root = Path(__file__).resolve().parents[2] / "packaging"
    with tempfile.TemporaryDirectory() as directory:
        for name in ("nutshelld.service", "nutshelld.socket"):
            text = (root / name).read_text().replace("/usr/bin/nutshelld", DAEMON)
            (Path(directory) / name).write_text(text)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                               f"{directory}/nutshelld.service", f"{directory}/nutshelld.socket"],
                              capture_output=True, text=True, timeout=60)
        said = [line for line in done.stderr.splitlines() if "nutshelld" in line]
        expect(done.returncode == 0 and not said, f"{done.returncode}: {said}")


def lines_of(one):
    return [json.loads(line) for line in (one.directory / "log").read_text().splitlines()]


@suite.case
def a_reload_takes_a_good_file_and_refuses_a_bad_one():
    with daemon() as one:
        good = one.config.read_text()
        one.config.write_text(good + "[socket]\npaht = 1\n")
        one.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("nothing changed" in line["message"] for line in lines_of(one)), 20)
        bad = [line for line in lines_of(one) if "nothing changed" in line["message"]]
        expect(bad and bad[0]["level"] == "error" and "paht" in bad[0]["message"], f"log: {bad}")
        expect_equal(one.call("GET", "/v1/sandboxes", token="alice").status, 200, "old tokens")
        one.config.write_text(good.replace("alice", "carol").replace(
            '"carol"\nsha256', '"carol"\nsha256'))
        one.process.send_signal(signal.SIGHUP)
        expect(wait_until(lambda: any("reloaded" in line["message"] for line in lines_of(one)), 20),
               "no reload")
        made = one.call("POST", "/v1/sandboxes", {}, token="alice").json()["id"]
        expect_equal(one.call("GET", f"/v1/sandboxes/{made}").status, 404, "tenant local sees it")
        record = one.call("GET", "/v1/audit", token="alice").json()["records"]
        expect_equal({one["tenant"] for one in record}, {"carol"}, "the token's new tenant")


@suite.case
def a_reload_changes_quotas_and_lists_and_names_what_needs_a_restart():
    with daemon('[quota]\nsandboxes = 1\n') as one:
        made = one.make("alice")
        expect_equal(one.call("POST", "/v1/sandboxes", {}, "alice").status, 429, "a second one")
        good = one.config.read_text()
        # A value of one tenant's, another one's backends, and a setting that is read at the start.
        one.config.write_text(good.replace("sandboxes = 1", "sandboxes = 3") +
                              '[limits]\nworkers = 99\n'
                              '[[quotas]]\ntenant = "bob"\nbackends = ["gvisor"]\n')
        one.process.send_signal(signal.SIGHUP)
        expect(wait_until(lambda: any("reloaded" == line["message"] for line in lines_of(one)), 20),
               "no reload")
        said = [line["message"] for line in lines_of(one) if "reload: " in line["message"]]
        expect_equal(said, ["reload: quota.sandboxes: 3, was 1", "reload: quota of bob: added",
                            "reload: limits.workers: 99, was 512: needs a restart"], "the log")
        one.make("alice")
        expect_equal(one.call("POST", f"/v1/sandboxes/{made}/fork", token="alice").status, 201,
                     "a third one, by a fork")
        expect_equal(one.call("POST", f"/v1/sandboxes/{made}/fork", token="alice").status, 429,
                     "a fourth one")
        answer = one.call("POST", "/v1/sandboxes", {}, "bob")
        expect_equal(answer.status, 403, f"bob's backends: {answer.body[:300]}")


def stream_of(one, target, token, method="GET", body=None, headers=None):
    """A connection whose answer has begun and does not end."""
    connection = UnixConnection(one.socket)
    connection.request(method, target, body and json.dumps(body),
                       {"Authorization": "Bearer " + TOKENS[token], **(headers or {})})
    return connection


def ends_within(connection, seconds):
    connection.sock.settimeout(seconds)
    try:
        while connection.sock.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


@suite.case
def a_revoked_token_ends_what_it_opened():
    lines = {"Accept": "application/x-ndjson"}
    web = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    with daemon() as one:
        streams, sandboxes = {}, {}
        for name in ("alice", "bob"):
            sandbox = sandboxes[name] = one.make(token=name)
            place = f"/v1/sandboxes/{sandbox}"
            started = one.call("POST", f"{place}/exec", {"argv": ["sleep", "90"], "detach": True},
                               token=name).json()["exec_id"]
            streams[name] = {
                "follower": stream_of(one, f"{place}/exec/{started}", name, headers=lines),
                "waiting exec": stream_of(one, f"{place}/exec", name, "POST",
                                          {"argv": ["sleep", "91"]}),
                "streamed exec": stream_of(one, f"{place}/exec", name, "POST",
                                           {"argv": ["sleep", "92"]}, lines),
                "terminal": stream_of(one, f"{place}/terminal?arg=sleep&arg=93", name,
                                      headers=web),
                "tool": stream_of(one, f"{place}/tools/bash", name, "POST",
                                  {"command": "sleep 94"}),
            }
            expect(wait_until(lambda: one.execute(sandbox, "sh", "-c", "cat /proc/[0-9]*/comm | "
                                                  "grep -cx sleep", token=name)["stdout"] == "5\n",
                              20), f"{name}'s five commands run")
        text = one.config.read_text()
        first, second = text.index("[[tokens]]"), text.rindex("[[tokens]]")
        one.config.write_text(text[:first] + text[second:])  # without alice's
        one.process.send_signal(signal.SIGHUP)
        for what, connection in streams["alice"].items():
            expect(ends_within(connection, 10), f"alice's {what} goes on")
        expect_equal(one.call("GET", "/v1/sandboxes", token="alice").status, 401, "alice")
        for what, connection in streams["bob"].items():
            expect(not ends_within(connection, 0.3), f"bob's {what} has ended")
            connection.close()


@suite.case
def sigterm_drains_and_the_log_is_json():
    with daemon("[log]\nrequests = true\n") as one:
        sandbox = one.make()
        connection = UnixConnection(one.socket)
        connection.request("POST", f"/v1/sandboxes/{sandbox}/exec",
                           json.dumps({"argv": ["sh", "-c", "sleep 1; echo whole"]}))
        stream = subprocess.Popen([NUTSHELL, "exec", "--daemon", one.socket, sandbox, "--", "sh",
                                   "-c", "sleep 1.5; echo whole"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=one.environment())
        expect(wait_until(lambda: one.execute(sandbox, "sh", "-c", "cat /proc/[0-9]*/comm | grep "
                                              "-cx sleep")["stdout"] == "2\n", 20), "both run")
        one.process.terminate()
        answer = json.loads(connection.getresponse().read())
        expect_equal(answer["stdout"], "whole\n", "an exec under way")
        output, error = stream.communicate(timeout=30)
        expect_equal((stream.returncode, output), (0, b"whole\n"), f"one over a stream: {error}")
        expect_equal(one.process.wait(30), 0, "exit status")
        lines = lines_of(one)
        for line in lines:
            expect({"time", "level", "message"} <= line.keys(), f"line: {line}")
        requests = [line for line in lines if line["message"] == "request"]
        expect(any(line["path"] == "/v1/sandboxes/{id}/exec" and line["status"] == 200
                   for line in requests), f"requests: {requests[:3]}")
        expect_equal(lines[-1]["message"], "drained", "last line")


@suite.case
def a_private_daemon_leaves_nothing_however_its_parent_dies():
    for number in (signal.SIGKILL, signal.SIGTERM):
        with tempfile.TemporaryDirectory(prefix="nutshell-private-") as directory:
            os.chmod(directory, 0o700)
            environment = {**os.environ, "NUTSHELL_RUNTIME_DIR": directory}
            parent = subprocess.Popen(["/bin/sh", "-c", f'"{DAEMON}" --private & wait'],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                      env=environment, start_new_session=True)
            path = parent.stdout.readline().strip()
            made = call_over(UnixConnection(path), "POST", "/v1/sandboxes", {}).json()["id"]
            running = subprocess.Popen([NUTSHELL, "exec", "--daemon", path, made, "--", "sleep",
                                        "1000"], env=environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(0.3)
            parent.send_signal(number)
            parent.wait()
            expect(wait_until(lambda: not [name for name in os.listdir(directory)
                                           if name.startswith("private-")], 40),
                   f"left: {os.listdir(directory)}")
            running.wait(30)
            expect(not [pid for pid in os.listdir("/proc") if pid.isdigit() and directory.encode()
                        in read_command(pid)], "processes are left")


def read_command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    sys.exit(suite.run())
