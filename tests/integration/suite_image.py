"""An image with what the suites' commands use on native, where a sandbox sees this machine's /usr:
the programs of these packages and the libraries they need, put together from the machine's own files,
because there may be no registry."""
import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

from engines import UnixConnection
from support import Skip

NAME = "nutshell-suite-2"
PACKAGES = ("dash", "bash", "coreutils", "findutils", "grep", "sed", "mawk", "procps", "util-linux",
            "git", "diffutils", "tar", "gzip", "python3-minimal", "python3.*-minimal",
            "libpython3.*-minimal", "libpython3.*-stdlib", "curl", "wget", "libc-bin")
LEFT_OUT = re.compile(r"/usr/share/(doc|man|locale|info|lintian|bash-completion|gitweb)/"
                      r"|/usr/sbin/|/var/|/etc/|/__pycache__/|/config-3")
LINKS = {name: f"usr/{name}" for name in ("bin", "sbin", "lib", "lib64")}
ACCOUNTS = {"etc/passwd": "root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/tmp/home:/bin/sh\n",
            "etc/group": "root:x:0:\nagent:x:1000:\n"}


def lines_of(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    except FileNotFoundError:
        raise Skip(f"no {words[0]} to make an image with") from None
    return done.stdout.splitlines()


def files_of_packages():
    """By their names without the links that lead to /usr."""
    found = {}
    names = lines_of("dpkg-query", "-W", "-f", "${Package}\n", *PACKAGES)
    for line in lines_of("dpkg-query", "-L", *names):
        path = Path(line)
        if line.count("/") > 1 and not LEFT_OUT.search(line) and os.path.lexists(line) and (
                path.is_symlink() or path.is_file()):
            found[str(path.parent.resolve() / path.name)] = None
    if "/usr/bin/python3" not in found:
        found["/usr/bin/python3"] = None
    return [name for name in found if os.path.lexists(name)]


def libraries_of(files):
    programs = [name for name in files if not os.path.islink(name) and is_program(name)]
    wanted = {}
    for line in lines_of("ldd", *programs):
        for name in re.findall(r"(/[^\s:]+)", line):
            if line.startswith(("\t", " ")) and os.path.exists(name):
                wanted[str(Path(name).parent.resolve() / Path(name).name)] = None
    targets = {str(Path(name).resolve()): None for name in wanted}
    return list({**wanted, **targets})


def is_program(name):
    with open(name, "rb") as file:
        return file.read(4) == b"\x7fELF"


def write_archive(path):
    files = files_of_packages()
    with tarfile.open(path, "w") as archive:
        for name, target in LINKS.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for name, text in ACCOUNTS.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
        for name in dict.fromkeys([*files, *libraries_of(files)]):
            archive.add(name, recursive=False, filter=of_root)


def of_root(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def put_into(engine, directory):
    """Returns the image's name in the engine; makes it once for each engine."""
    if engine.ask("GET", f"/images/{NAME}/json")[0] == 200:
        return NAME
    archive = Path(directory) / "suite.tar"
    if not archive.exists():
        write_archive(archive)
    connection = UnixConnection(engine.socket)
    with archive.open("rb") as file:
        connection.request("POST", f"/v1.41/images/create?fromSrc=-&repo={NAME}&tag=latest", file,
                           {"Content-Type": "application/x-tar",
                            "Content-Length": str(archive.stat().st_size)})
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    if answer.status != 200 or '"error"' in text:
        raise RuntimeError(f"the image of the suites: {text[-300:]}")
    return NAME
