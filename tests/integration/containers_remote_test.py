#!/usr/bin/env python3
"""An engine that is reached over TCP with TLS, like one on another machine. The client does not see the
engine's files, and a wrong certificate on either side ends the connection."""
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from engines import IMAGE, engine
from support import NUTSHELL, PATIENCE, Ended, Suite, expect, expect_equal, expect_refusal, scratch

suite = Suite()
ADDRESS = "tcp://127.0.0.1:2376"

# Hides the engine's files from the client.
HIDE = 'mount -t tmpfs none "$0" && exec "$@"'


@contextlib.contextmanager
def remote():
    """A directory for settings with the engine's certificates, and a way to run nutshell in the network
    namespace of that engine."""
    where = engine()
    files = Path(where.socket).parent
    with scratch() as directory:
        shutil.copytree(files / "tls", directory / "tls")
        (directory / "docker").mkdir()

        def call(*words, given=None, **variables):
            environment = {**{name: value for name, value in os.environ.items()
                              if not name.startswith("DOCKER_")},
                           "DOCKER_CONFIG": str(directory / "docker"), **variables}
            done = subprocess.run(
                ["nsenter", "-t", str(where.pid()), "-n", "unshare", "-m", "sh", "-c", HIDE,
                 str(files), NUTSHELL, *words], input=given, capture_output=True,
                timeout=PATIENCE, env=environment)
            return Ended(done.returncode, done.stdout, done.stderr, 0)
        yield where, directory, call


def verified(directory, **more):
    return {"DOCKER_HOST": ADDRESS, "DOCKER_TLS_VERIFY": "1",
            "DOCKER_CERT_PATH": str(directory / "tls"), **more}


def write_context(directory, name, host, *files_of_tls):
    digest = hashlib.sha256(name.encode()).hexdigest()
    contexts = directory / "docker/contexts"
    (contexts / "meta" / digest).mkdir(parents=True)
    (contexts / "meta" / digest / "meta.json").write_text(json.dumps(
        {"Name": name, "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": bool(files_of_tls)}}}))
    files = contexts / "tls" / digest / "docker"
    files.mkdir(parents=True)
    for file in files_of_tls or ("ca.pem", "cert.pem", "key.pem"):
        shutil.copy(directory / "tls" / file, files / file)


def run(call, *command, **variables):
    return call("run", "--backend", "docker", "--image", IMAGE, "--", *command, **variables)


@suite.case
def volume_is_filled_and_used_from_afar():
    with remote() as (where, directory, call):
        for volume in where.ask("GET", "/volumes")[1]["Volumes"] or []:
            where.ask("DELETE", f"/volumes/{volume['Name']}?force=1")
        ended = run(call, "sh", "-c", "echo far; exit 3", **verified(directory))
        expect_equal((ended.status, ended.stdout), (3, b"far\n"), f"run {ended!r}")
        volumes = [one["Name"] for one in where.ask("GET", "/volumes")[1]["Volumes"]]
        expect(len(volumes) == 1 and volumes[0].startswith("nutshell-init-"), f"{volumes}")


@suite.case
def sandbox_is_kept_and_files_go_both_ways():
    with remote() as (_, directory, call):
        here = verified(directory)
        made = call("create", "--backend", "docker", "--image", IMAGE, **here)
        expect_equal(made.status, 0, f"create {made!r}")
        name = made.stdout.decode().strip()
        try:
            (directory / "in").write_bytes(os.urandom(300_000))
            ended = call("cp", str(directory / "in"), f"{name}:/workspace/in", **here)
            expect_equal(ended.status, 0, f"cp in {ended!r}")
            ended = call("exec", name, "--", "sh", "-c", "cat in in > out", **here)
            expect_equal(ended.status, 0, f"exec {ended!r}")
            ended = call("cp", f"{name}:/workspace/out", str(directory / "out"), **here)
            expect_equal(ended.status, 0, f"cp out {ended!r}")
            expect((directory / "out").read_bytes() == (directory / "in").read_bytes() * 2, "bytes")
        finally:
            call("destroy", name, **here)
        ended = call("run", "--backend", "docker", "--image", IMAGE, "--workspace",
                     str(directory), "--", "sha256sum", "in", **here)
        expect_equal(ended.stdout.split()[:1],
                     [hashlib.sha256((directory / "in").read_bytes()).hexdigest().encode()],
                     f"a workspace is copied to another machine {ended!r}")
        ended = call("run", "--backend", "docker", "--image", IMAGE, "--unsafe-mount",
                     f"{directory}:/mnt", "--", "true", **here)
        expect_refusal(ended, "another machine")


@suite.case
def context_names_the_engine_and_its_certificates():
    with remote() as (_, directory, call):
        write_context(directory, "far", ADDRESS)
        ended = run(call, "echo", "by name", DOCKER_CONTEXT="far")
        expect_equal((ended.status, ended.stdout), (0, b"by name\n"), f"DOCKER_CONTEXT {ended!r}")
        (directory / "docker/config.json").write_text('{"currentContext": "far"}')
        ended = run(call, "echo", "by choice")
        expect_equal((ended.status, ended.stdout), (0, b"by choice\n"), f"currentContext {ended!r}")
        expect_refusal(run(call, "true", DOCKER_CONTEXT="no-such"), "docker context 'no-such'")
        # A context with SkipTLSVerify has no ca.pem and is refused.
        write_context(directory, "trusting", ADDRESS, "cert.pem", "key.pem")
        expect_refusal(run(call, "true", DOCKER_CONTEXT="trusting"), "ca.pem", "No such file")


@suite.case
def wrong_certificates_are_refused():
    with remote() as (where, directory, call):
        other = directory / "other"
        other.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=other", "-keyout",
                        other / "key.pem", "-out", other / "cert.pem"], check=True,
                       capture_output=True, timeout=60)
        shutil.copy(other / "cert.pem", other / "ca.pem")
        before = where.containers()
        # Another authority did not sign the engine's certificate.
        ended = run(call, "true", **verified(directory, DOCKER_CERT_PATH=str(other)))
        expect_refusal(ended, "certificate")
        # The engine refuses a client certificate of another authority.
        shutil.copy(directory / "tls/ca.pem", other / "ca.pem")
        ended = run(call, "true", **verified(directory, DOCKER_CERT_PATH=str(other)))
        expect(ended.status == 125, f"a stranger was let in: {ended!r}")
        # The certificate names another host.
        ended = run(call, "true", **verified(directory, DOCKER_HOST="tcp://127.0.0.2:2376"))
        expect(ended.status == 125, f"another name: {ended!r}")
        # Without TLS, and without certificates.
        ended = run(call, "true", DOCKER_HOST=ADDRESS)
        expect_refusal(ended, "DOCKER_TLS_VERIFY")
        ended = run(call, "true", **verified(directory, DOCKER_CERT_PATH=str(directory)))
        expect_refusal(ended, "ca.pem", "No such file")
        # A missing key, and a key that does not fit the certificate.
        (other / "key.pem").unlink()
        ended = run(call, "true", **verified(directory, DOCKER_CERT_PATH=str(other)))
        expect_refusal(ended, "key.pem", "No such file")
        shutil.copy(directory / "tls/key.pem", other / "key.pem")
        ended = run(call, "true", **verified(directory, DOCKER_CERT_PATH=str(other)))
        expect_refusal(ended, "key.pem")
        expect_equal(where.containers(), before, "containers")


if __name__ == "__main__":
    sys.exit(suite.run())
