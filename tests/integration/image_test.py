#!/usr/bin/env python3
"""Root file systems given by path, hostile ones among them."""
import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support import NUTSHELL, Suite, call, expect, expect_equal, expect_refusal, sandbox, scratch

suite = Suite()

def libraries_of(program):
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listing)


def make_image(root):
    """Makes a small root file system: a shell, a few programs, and its own user database."""
    for name in ("bin", "etc", "usr/local/bin", "proc", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("sh", "cat", "id", "ls", "touch", "flock", "sleep"):
        program = shutil.which(name, path="/usr/bin:/bin")
        shutil.copy(program, root / "bin" / name)
        for library in libraries_of(program):
            target = root / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                shutil.copy(os.path.realpath(library), target)
    (root / "etc/passwd").write_text("root:x:0:0::/:/bin/sh\npatience:x:1000:1000::/:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\npatience:x:1000:\n")
    (root / "etc/os-release").write_text("ID=tiny\n")
    (root / "usr/local/bin/onlyhere").write_text("#!/bin/sh\necho from the image\n")
    (root / "usr/local/bin/onlyhere").chmod(0o755)
    subprocess.run(["chmod", "-R", "a+rX", str(root)], check=True)


@suite.case
def an_image_is_the_root():
    with scratch() as directory:
        root = directory / "root"
        make_image(root)
        with sandbox("--image", str(root)) as made:
            for way in (("run", "--image", str(root)), ("exec", made)):
                check_image_contents(way)
        before = sorted(str(path) for path in root.rglob("*"))
        call("run", "--image", str(root), "--", "touch", "/etc/new", "/new", "/workspace/new")
        expect_equal(sorted(str(path) for path in root.rglob("*")), before, "the image's files")


def check_image_contents(way):
    ended = call(*way, "--", "cat", "/etc/os-release")
    expect_equal((ended.status, ended.stdout), (0, b"ID=tiny\n"), f"{way[0]}: os-release")
    expect_equal(call(*way, "--", "id", "-un").stdout, b"patience\n", f"{way[0]}: user database")
    expect_equal(call(*way, "--", "onlyhere").stdout, b"from the image\n", f"{way[0]}: PATH")
    expect_equal(call(*way, "--", "python3").status, 127, f"{way[0]}: what is not in the image")
    ended = call(*way, "--", "touch", "/etc/x")
    expect(ended.status == 1 and b"Read-only" in ended.stderr, f"{way[0]}: {ended!r}")
    text = "echo x > /workspace/x; cat /workspace/x; echo > /dev/null"
    ended = call(*way, "--", "sh", "-c", text)
    expect_equal((ended.status, ended.stdout), (0, b"x\n"), f"{way[0]}: the scratch places")


@suite.case
def a_lock_on_an_images_file_stays_in_the_sandbox():
    with scratch() as directory:
        root = directory / "root"
        make_image(root)
        locked = "/etc/os-release"
        with sandbox("--image", str(root)) as first, sandbox("--image", str(root)) as second:
            holder = subprocess.Popen(
                [NUTSHELL, "exec", first, "--", "flock", locked, "-c", "echo held; sleep 60"],
                stdout=subprocess.PIPE)
            try:
                expect_equal(holder.stdout.readline(), b"held\n", "the first sandbox's lock")
                ask = ("--", "flock", "-n", locked, "-c", ":")
                expect_equal(call("exec", first, *ask).status, 1, "the same sandbox")
                expect_equal(call("exec", second, *ask).status, 0, "another sandbox")
                with open(root / locked.lstrip("/"), "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            finally:
                holder.kill()
                holder.wait()


@suite.case
def an_image_may_be_an_archive():
    with scratch() as directory:
        make_image(directory / "root")
        archive = directory / "image.tar"
        subprocess.run(["tar", "-C", str(directory / "root"), "-cf", str(archive), "."], check=True)
        environment = dict(os.environ, XDG_CACHE_HOME=str(directory / "cache"))
        for _ in range(2):
            ended = call("run", "--image", str(archive), "--", "cat", "/etc/os-release",
                         env=environment)
            expect_equal((ended.status, ended.stdout), (0, b"ID=tiny\n"), "os-release")
        broken = directory / "broken.tar"
        broken.write_bytes(archive.read_bytes()[:20000] + os.urandom(5000))
        ended = call("run", "--image", str(broken), "--", "true", env=environment)
        text = ended.stderr.decode()  # what the unpacker met, then what to do about it
        expect_equal(ended.status, 125, "status with a broken archive")
        expect("broken.tar" in text and "give a tar archive" in text, f"message: {text[-300:]}")
        left = [path.name for path in (directory / "cache/nutshell/images").glob("*partial*")]
        expect_equal(left, [], "left of the broken one")
        subprocess.run(["chmod", "-R", "u+rwX", str(directory / "cache")], check=True)


@suite.case
def hostile_images_are_refused():
    for name in ("proc", "dev", "etc", "sys", "tmp", "workspace"):
        for target in ("/", "../..", "/usr", "bin", "nowhere"):
            with scratch() as directory:
                root = directory / "root"
                make_image(root)
                shutil.rmtree(root / name, ignore_errors=True)
                (root / name).symlink_to(target)
                for way in (("run",), ("create",)):
                    words = ["--", "true"] if way == ("run",) else []
                    ended = call(*way, "--image", str(root), *words)
                    expect_refusal(ended, f"/{name} is not a directory", "in the image")
    with scratch() as directory:
        (directory / "empty").mkdir()
        ended = call("run", "--image", str(directory / "empty"), "--", "sh")
        expect_equal(ended.status, 127, "an empty image has no shell")


# Replaces a mount point by a link, and puts the directory back, again and again.
RACE = """
import os, sys
os.chdir(sys.argv[1])
os.symlink('/', 'link')
while True:
    for old, new in (('proc', 'kept'), ('link', 'proc'), ('proc', 'link'), ('kept', 'proc')):
        os.rename(old, new)
"""


@suite.case
def an_image_that_changes_while_it_starts():
    """FS-25: a process of the image's owner swaps a mount point while sandboxes start."""
    with scratch() as directory:
        root = directory / "root"
        make_image(root)
        (root / "workspace").mkdir()
        racer = subprocess.Popen([sys.executable, "-c", RACE, str(root)])
        try:
            for _ in range(25):
                ended = call("run", "--image", str(root), "--", "ls", "/proc/self/ns")
                is_clean = ended.status == 0 and b"mnt" in ended.stdout
                expect(is_clean or ended.status in (125, 127), repr(ended))
        finally:
            racer.kill()
            racer.wait()
    expect(Path("/proc/self/ns/mnt").exists(), "the host's /proc is gone")


if __name__ == "__main__":
    sys.exit(suite.run())
