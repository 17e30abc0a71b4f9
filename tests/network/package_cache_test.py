#!/usr/bin/env python3
"""Downloads of package registries that the host keeps: made once, given again without a network, and out of the
reach of sandboxes. It needs names and addresses of its own (world.py), and so root.
"""
import base64
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

import relay_client
from support import PYTHON, Failed, Skip, Suite, call, call_json, expect, expect_equal, expect_refusal, sandbox
from world import DOMAIN, Pages, World

suite = Suite()
world = None
trouble = ""
WHEELS = Path("/usr/share/python-wheels")
FLAGS = ["--inspect", "--allow", "pypi", "--cache", "pypi"]
FILES = "files.pythonhosted.org"
INDEX = "https://pypi.org/simple/nutshellprobe/"

FETCH = """
import sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            print(answer.status, len(answer.read()), answer.headers.get('X-Nutshell-Cache', 'new'))
    except urllib.error.HTTPError as error:
        print(error.code)
    except OSError as error:
        print(type(error).__name__)
"""


def needs_world():
    if trouble:
        raise Failed(trouble)
    if world is None:
        raise Skip("names and addresses of our own need root, for a network namespace")
    world.names.is_out_of_order = False
    world.requests()


def wheel(text):
    """The smallest package that pip installs, with a module that holds this text."""
    name = "nutshellprobe-1.0"
    files = {"nutshellprobe.py": f"TEXT = {text!r}\n",
             f"{name}.dist-info/METADATA": "Metadata-Version: 2.1\nName: nutshellprobe\nVersion: 1.0\n",
             f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    def line(path, data):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data.encode()).digest()).rstrip(b"=").decode()
        return f"{path},sha256={digest},{len(data)}\n"
    record = "".join(line(path, data) for path, data in files.items()) + f"{name}.dist-info/RECORD,,\n"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, data in (*files.items(), (f"{name}.dist-info/RECORD", record)):
            archive.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), data)
    return made.getvalue()


def publish(text):
    """Gives the registry a package; returns the URL of its file."""
    data = wheel(text)
    path = f"/packages/{hashlib.sha256(text.encode()).hexdigest()[:8]}/nutshellprobe-1.0-py3-none-any.whl"
    link = f"https://{FILES}{path}"
    page = f"<a href='{link}#sha256={hashlib.sha256(data).hexdigest()}'>nutshellprobe-1.0-py3-none-any.whl</a>\n"
    Pages.sites[f"{FILES}{path}"] = ("application/octet-stream", data)
    Pages.sites["pypi.org/simple/nutshellprobe/"] = ("text/html", page.encode())
    return link


def fetch(*urls, flags=FLAGS):
    done = call_json("run", *flags, "--", *PYTHON, FETCH, *urls)
    expect(done["stdout"].count("\n") == len(urls), f"{done}")
    return done["stdout"].splitlines()


def paths():
    return [path for _, path, _, _ in world.requests()]


@suite.case
def a_release_is_downloaded_once():
    needs_world()
    link = publish("once")
    first, = fetch(link)
    second, = fetch(link)
    size = len(wheel("once"))
    expect_equal([first, second], [f"200 {size} new", f"200 {size} hit"], "two sandboxes")
    expect_equal(len(paths()), 1, "requests that reached the registry")


@suite.case
def what_was_downloaded_is_there_without_a_network():
    needs_world()
    link = publish("offline")
    fetch(INDEX, link)
    paths()
    world.names.is_out_of_order = True
    answers = fetch(INDEX, link, f"https://{FILES}/packages/never/seen.whl")
    expect([answer.split()[-1] for answer in answers[:2]] == ["hit", "hit"], f"kept downloads: {answers}")
    expect_equal(answers[2], "502", "a download that was never made")
    expect_equal(paths(), [], "requests that reached the registry")


@suite.case
def a_list_is_asked_about_again():
    needs_world()
    publish("before")
    fetch(INDEX)
    publish("and after it")
    paths()
    answer, = fetch(INDEX)
    expect(answer.endswith("new"), f"the list that changed: {answer}")
    expect_equal(paths(), ["/simple/nutshellprobe/"], "requests that reached the registry")


@suite.case
def pip_installs_a_second_time_offline():
    needs_world()
    wheels = sorted(WHEELS.glob("pip-*.whl"))
    if not wheels:
        raise Skip(f"there is no pip in {WHEELS} here (package python3-pip-whl)")
    publish("installed")
    script = f"/usr/bin/python3 {wheels[-1]}/pip install -q --disable-pip-version-check --no-cache-dir --target out " \
             "nutshellprobe && PYTHONPATH=out /usr/bin/python3 -c 'import nutshellprobe; print(nutshellprobe.TEXT)'"
    words = ["run", "--timeout", "3m", *FLAGS, "--", "sh", "-c", script]
    for what in ("first", "offline"):
        done = call_json(*words, seconds=300)
        expect_equal(done["stdout"], "installed\n", f"{what}: {done['stderr'][-800:]!r}")
        world.names.is_out_of_order = True


@suite.case
def a_kept_download_obeys_the_rules():
    needs_world()
    link = publish("rules")
    fetch(link)
    expect_equal(fetch(link, flags=["--inspect", "--allow", INDEX + "*", "--cache", "pypi"]), ["URLError"],
                 "a server that no rule allows")
    refused = fetch(link, flags=["--inspect", "--allow", f"GET https://{FILES}/other/*", "--cache", "pypi"])
    expect_equal(refused, ["403"], "a path that no rule allows")


@suite.case
def other_servers_and_credentials_are_not_kept():
    needs_world()
    for _ in range(2):
        fetch(f"https://good.{DOMAIN}/packages/a.whl", flags=["--inspect", "--allow", f"good.{DOMAIN}", *FLAGS])
    code = """
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], headers={'Authorization': 'Bearer mine'})
print(urllib.request.urlopen(request, timeout=60).headers.get('X-Nutshell-Cache', 'new'))
"""
    link = publish("private")
    for _ in range(2):
        expect_equal(call_json("run", *FLAGS, "--", *PYTHON, code, link)["stdout"], "new\n", "a private request")
    expect_equal(len(paths()), 4, "requests that reached servers")


@suite.case
def headers_of_one_sandbox_do_not_reach_the_registry():
    needs_world()
    code = """
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], headers={'X-Forwarded-Host': 'evil.test', 'X-Poison': '1'})
print(urllib.request.urlopen(request, timeout=60).status)
"""
    call_json("run", *FLAGS, "--", *PYTHON, code, publish("poison"))
    _, _, headers, _ = world.requests()[-1]
    expect("evil.test" not in headers and "X-Poison" not in headers, f"{headers!r}")


@suite.case
def no_sandbox_sees_the_directory():
    needs_world()
    fetch(publish("hidden"))
    directory = Path(os.environ["NUTSHELL_STATE_DIR"]) / "downloads"
    kept = [path for path in directory.rglob("*") if path.is_file() and path.parent.name == "contents"]
    expect(kept, "nothing is kept")
    expect_equal({path.stat().st_mode & 0o077 for path in (directory, *kept)}, {0}, "access of others")
    done = call_json("run", *FLAGS, "--", "ls", str(directory))
    expect(done["exit_code"] != 0, f"{done}")


@suite.case
def the_stand_in_address_leads_nowhere():
    needs_world()
    world.names.is_out_of_order = True
    code = """
import socket
print(socket.gethostbyname('pypi.org'))
for port in (22, 80, 443):
    try:
        with socket.create_connection(('198.18.0.1', port), 30) as it:
            it.sendall(b'GET / HTTP/1.1\\r\\nHost: other.example.test\\r\\n\\r\\n')
            print(it.recv(12) or 'end')
    except OSError as error:
        print(type(error).__name__)
"""
    done = call_json("run", *FLAGS, "--", *PYTHON, code)
    lines = done["stdout"].split("\n")
    expect_equal(lines[:2], ["198.18.0.1", "ConnectionRefusedError"], f"the address, and port 22: {done}")
    expect(all("200" not in line for line in lines), f"{lines}")
    expect_equal(paths(), [], "requests that reached servers")


@suite.case
def a_new_policy_may_have_a_cache():
    needs_world()
    link = publish("later")
    with sandbox("--inspect", "--allow", "pypi") as made:
        def ask():
            return call_json("exec", made, "--", *PYTHON, FETCH, link)["stdout"].split()[-1:]
        expect_equal(ask(), ["new"], "without a cache")
        message, _ = relay_client.set_policy(made, allow=["pypi"], tls="inspect", caches=["pypi"])
        expect_equal(message, "", "the new policy")
        expect_equal([ask(), ask()], [["new"], ["hit"]], "with a cache")
        message, _ = relay_client.set_policy(made, allow=["pypi"], tls="inspect", caches=["nonsense"])
        expect("There is no cache for 'nonsense'" in message, f"{message!r}")


@suite.case
def bad_caches_are_refused():
    expect_refusal(call("run", "--allow", "pypi", "--cache", "pypi", "--", "true"), "--inspect")
    expect_refusal(call("run", "--inspect", "--allow", "pypi", "--cache", "pypi,nonsense", "--", "true"),
                   "There is no cache for 'nonsense'")


def main():
    global world, trouble
    if os.geteuid() == 0:
        try:
            world = World()
            world.trust_authority()
        except (OSError, subprocess.CalledProcessError) as error:
            trouble = f"no network of our own: {error}"
    try:
        return suite.run()
    finally:
        if world:
            world.close()


if __name__ == "__main__":
    sys.exit(main())
