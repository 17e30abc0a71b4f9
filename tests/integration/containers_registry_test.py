#!/usr/bin/env python3
"""Images pulled from a real registry: what is missing comes, a terminal shows how far it is, an
account is taken from Docker's configuration or from the program it names, and each refusal says what
is wrong without telling a password."""
import base64
import contextlib
import io
import json
import os
import stat
import subprocess
import sys
import tarfile

from daemon_client import daemon
from engines import ENGINE, IMAGE, UnixConnection, engine
from support import (NUTSHELL, PATIENCE, Skip, Suite, call, expect, expect_equal, expect_refusal,
                     scratch)

suite = Suite()
LAYER_BYTES = 6 << 20
_registry = []


class Registry:
    """Two registries with one store: one is open, the other needs an account."""

    def __init__(self):
        self.engine = engine()
        done = subprocess.run([ENGINE, "registry"], capture_output=True, text=True, timeout=300)
        if done.returncode == 77:
            raise Skip(done.stderr.strip().splitlines()[-1])
        self.open, self.closed, self.account = done.stdout.split()
        self.push(f"{self.open}/tools")

    def push(self, name):
        """Pushes the test image with one more layer that no engine has."""
        where = self.engine
        where.ask("POST", "/containers/create?name=layer-maker", {"Image": IMAGE, "Cmd": ["true"]})
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            entry = tarfile.TarInfo("noise")
            entry.size = LAYER_BYTES
            tar.addfile(entry, io.BytesIO(os.urandom(LAYER_BYTES)))
        try:
            send(where, "PUT", "/containers/layer-maker/archive?path=/etc", archive.getvalue(),
                 {"Content-Type": "application/x-tar"})
            status, made = where.ask("POST", f"/commit?container=layer-maker&repo={name}")
            expect_equal(status, 201, f"commit {made}")
        finally:
            where.ask("DELETE", "/containers/layer-maker?force=1")
        answer = send(where, "POST", f"/images/{name}/push?tag=latest", b"",
                      {"X-Registry-Auth": base64.urlsafe_b64encode(b"{}").decode()})
        expect(b'"error"' not in answer, f"push: {answer[-300:]!r}")
        self.forget(name)

    def forget(self, name):
        """Removes the engine's copy; the registry keeps its own."""
        self.engine.ask("DELETE", f"/images/{name}?force=1")

    def has(self, name):
        return self.engine.ask("GET", f"/images/{name}/json")[0] == 200


def send(where, method, path, body, headers):
    connection = UnixConnection(where.socket)
    connection.request(method, "/v1.41" + path, body, headers)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def registry():
    if not _registry:
        _registry.append(Registry())
    _registry[0].engine.use()
    return _registry[0]


def run(image, *command, **settings):
    return call("run", "--backend", "docker", "--image", image, "--", *command, **settings)


@contextlib.contextmanager
def configuration(content, programs=None):
    """Sets DOCKER_CONFIG to a directory with this config.json, and puts these programs on the PATH."""
    with scratch() as directory:
        (directory / "config.json").write_text(json.dumps(content))
        for name, text in (programs or {}).items():
            program = directory / name
            program.write_text("#!/bin/sh\n" + text)
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        yield {**os.environ, "DOCKER_CONFIG": str(directory),
               "PATH": f"{directory}:{os.environ['PATH']}"}


@contextlib.contextmanager
def variable(name, value):
    """Sets a variable of this process, and so of the daemon that it starts."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def auths(server, account):
    return {"auths": {server: {"auth": base64.b64encode(account.encode()).decode()}}}


@suite.case
def missing_image_is_pulled_and_kept():
    here = registry()
    image = f"{here.open}/tools"
    expect(not here.has(image), "the image is there before")
    ended = run(image, "wc", "-c", "/etc/noise")
    expect_equal((ended.status, ended.stdout), (0, f"{LAYER_BYTES} /etc/noise\n".encode()),
                 f"run {ended!r}")
    expect(b"pulling" not in ended.stderr, f"progress where nobody looks: {ended!r}")
    expect(here.has(image), "the image is not there after")
    here.forget(image)


@suite.case
def terminal_shows_layers_and_bytes():
    here = registry()
    image = f"{here.open}/tools"
    master, slave = os.openpty()
    process = subprocess.Popen([NUTSHELL, "run", "--backend", "docker", "--image", image, "--",
                                "echo", "done"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=slave, start_new_session=True)
    os.close(slave)
    seen = b""
    with contextlib.suppress(OSError):  # EIO: the terminal's other end is closed
        while piece := os.read(master, 4096):
            seen += piece
    os.close(master)
    output, _ = process.communicate(timeout=PATIENCE)
    expect_equal((process.returncode, output), (0, b"done\n"), f"run, with {seen!r}")
    lines = [line for line in seen.decode().split("\r") if "pulling" in line]
    expect(lines and f"pulling {image}: 2 of 2 layers, 6.3 of 6.3 MB" in lines[-1],
           f"the last of {lines}")
    expect(seen.endswith(b"\r\x1b[K"), f"the line is not cleared: {seen[-40:]!r}")
    here.forget(image)


@suite.case
def account_is_taken_from_the_configuration():
    here = registry()
    image = f"{here.closed}/tools"
    user, password = here.account.split(":")
    answer = json.dumps({"ServerURL": here.closed, "Username": user, "Secret": password})
    helper = {"docker-credential-box": f"[ \"$1\" = get ] && [ \"$(cat)\" = {here.closed} ] || exit 1\n"
                                       f"echo '{answer}'\n"}
    for content, programs in ((auths(here.closed, here.account), None),
                              ({"credHelpers": {here.closed: "box"}}, helper),
                              ({"credsStore": "box", "auths": {here.closed: {}}}, helper),
                              ({"credsStore": "box"}, helper)):
        with configuration(content, programs) as environment:
            ended = run(image, "echo", "in", env=environment)
        expect_equal((ended.status, ended.stdout), (0, b"in\n"), f"with {list(content)}: {ended!r}")
        here.forget(image)


def beside_registry(here, *words, env):
    """Runs nutshell in the network namespace of the engine, where the registries are."""
    return subprocess.run(["nsenter", "-t", str(here.engine.pid()), "-n", NUTSHELL, *words], env=env,
                          capture_output=True, timeout=PATIENCE, check=False)


@suite.case
def image_is_pulled_without_an_engine():
    here = registry()
    with scratch() as store:
        for server, content in ((here.open, {}), (here.closed, auths(here.closed, here.account))):
            with configuration(content) as environment:
                environment["NUTSHELL_IMAGE_DIR"] = str(store / "images")
                environment["DOCKER_HOST"] = "unix:///nowhere"
                image = f"{server}/tools"
                pulled = beside_registry(here, "image", "pull", image, env=environment)
                expect(pulled.returncode == 0 and image.encode() in pulled.stdout, f"pull: {pulled!r}")
                ended = call("run", "--image", image, "--", "wc", "-c", "/etc/noise", env=environment)
                expect_equal(ended.stdout, f"{LAYER_BYTES} /etc/noise\n".encode(), f"run: {ended!r}")
                again = beside_registry(here, "image", "import", image, "--name", "short", env=environment)
                expect(again.returncode == 0 and b"0 of " in again.stdout, f"import: {again!r}")
        with configuration({}) as environment:
            environment["NUTSHELL_IMAGE_DIR"] = str(store / "images")
            refused = beside_registry(here, "image", "pull", f"{here.closed}/tools", env=environment)
            expect(b"docker login" in refused.stderr and refused.returncode == 125, f"{refused!r}")
            missing = beside_registry(here, "image", "pull", f"{here.open}/no-such", env=environment)
            expect(b"has no" in missing.stderr, f"{missing!r}")


@suite.case
def refusals_say_what_is_wrong_and_tell_no_password():
    here = registry()
    image = f"{here.closed}/tools"
    secret = "wrong-secret-word"
    wrong = json.dumps({"Username": "nutshell", "Secret": secret})
    for content, programs, wanted in (
            ({}, None, "docker login"),
            (auths(here.closed, f"nutshell:{secret}"), None, "docker login"),
            ({"credsStore": "box"}, {"docker-credential-box": f"echo '{wrong}'\n"}, "docker login"),
            ({"credsStore": "box"}, {"docker-credential-box":
                                     "echo credentials not found in native keychain; exit 1\n"},
             "docker login"),
            ({"credsStore": "box"}, {"docker-credential-box": "echo the box is shut; exit 1\n"},
             "the box is shut"),
            ({"credsStore": "box"}, {"docker-credential-box": "echo '[]'\n"}, "no account"),
            ({"credsStore": "box"}, {"docker-credential-box": "cat /dev/zero\n"}, "is too long"),
            ({"credsStore": "lost"}, None, "docker-credential-lost"),
            ({"credsStore": "../../bin/sh"}, None, "not a valid name of a credential helper")):
        with configuration(content, programs) as environment:
            ended = run(image, "true", env=environment)
        expect_refusal(ended, wanted)
        expect(secret.encode() not in ended.stderr, f"the password is told: {ended!r}")
        expect(not here.has(image), f"it was pulled with {content}")


@suite.case
def image_that_no_registry_has_is_an_error():
    here = registry()
    for name in ("no-such", "tools:no-such-tag", "tools@sha256:" + "0" * 64):
        expect_refusal(run(f"{here.open}/{name}", "true"), f"pull {here.open}/{name}")


@suite.case
def tenant_names_images_and_no_files():
    """A tenant may use every form of an image name; anything that could be a path is refused."""
    here = registry()
    tools = f"{here.open}/tools"
    with daemon() as one:  # without a list, a tenant cannot make the engine ask its own network
        for image in (tools, "127.0.0.1:1/x", "169.254.169.254/x", "localhost:1/x"):
            answer = one.call("POST", "/v1/sandboxes", {"backend": "docker", "image": image}, token="alice")
            expect(answer.status == 403 and b"of the internet" in answer.body, f"{image}: {answer.body[:200]}")
        expect(not here.has(tools), "it was pulled")
    with daemon(f'[allow]\nregistries = ["docker.io", "{here.open}"]\n') as one:
        one.make(token="alice", backend="docker", image=f"{IMAGE}:latest")
        made = one.make(token="alice", backend="docker", image=f"{tools}:latest")
        expect_equal(one.execute(made, "echo", "in", token="alice")["stdout"], "in\n", "by its tag")
        digests = here.engine.ask("GET", f"/images/{tools}/json")[1]["RepoDigests"]
        one.make(token="alice", backend="docker", image=tools)
        one.make(token="alice", backend="docker", image=digests[0])
        (one.directory / "root").mkdir()
        own = os.path.relpath(one.directory / "root")
        beside = next(name for name in os.listdir() if os.path.isdir(name))
        inside = next(f"{beside}/{name}" for name in os.listdir(beside))
        for image in ("/", str(one.directory), own, ".", "./x", "../x", "a/../../etc", "a/./b", "a//b",
                      "a/.b", f"{beside}/"):
            for backend in ("docker", "native", "gvisor"):
                spec = {"backend": backend, "image": image}
                for path, body in (("/v1/sandboxes", spec),
                                   ("/v1/sessions", {"name": "mine", "spec": spec})):
                    answer = one.call("POST", path, body, token="alice")
                    expect(answer.status == 403, f"{path} {spec}: {answer.status} {answer.body[:200]}")
        # Existing and missing files get the same answer.
        for backend in ("native", "gvisor"):
            answers = [one.call("POST", "/v1/sandboxes", {"backend": backend, "image": image},
                                token="alice").status for image in (beside, inside, "no/such:image")]
            expect_equal(len(set(answers)), 1, f"{backend}: {answers}")
        answer = one.call("POST", "/v1/sandboxes", {"image": "no/such:image"}, token="alice")
        expect_equal(answer.status, 404, f"native, by a name that nothing has: {answer.body[:200]}")
    here.forget(tools)


@suite.case
def tenant_pulls_nothing_with_the_account_of_the_daemons_user():
    here = registry()
    closed = f"{here.closed}/tools"
    with configuration(auths(here.closed, here.account)) as environment:
        listed = f'[allow]\nregistries = ["{here.closed}"]\n'
        with variable("DOCKER_CONFIG", environment["DOCKER_CONFIG"]), daemon(listed) as one:
            answer = one.call("POST", "/v1/sandboxes", {"backend": "docker", "image": closed},
                              token="alice")
            expect(answer.status in (403, 404) and b"operator can pull it" in answer.body,
                   f"a tenant: {answer.status} {answer.body[:300]}")
            expect(not here.has(closed), "it was pulled for a tenant")
            one.make(backend="docker", image=closed)  # the owner
            here.forget(closed)


if __name__ == "__main__":
    sys.exit(suite.run())
