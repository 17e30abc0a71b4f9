"""A root file system from Debian packages with Python and nothing to compile with, and a way to run commands in
it as a plain user who has no other files.

A chroot would not do: the kernel gives no user namespace to processes in one. So the directory becomes the root
of a mount namespace, as in a container, and the host's root is unmounted from it.
"""
import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support import REPOSITORY, Skip

WANTED = ("dash", "coreutils", "grep", "procps", "python3-venv")
PLACE = REPOSITORY / "build/minimal-root"
USER = 1000
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = (
    0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000)
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 0x1000, 0x4000, 0x40000, 2
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
libc = ctypes.CDLL(None, use_errno=True)


def run_or_skip(*words, **settings):
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=240, check=False,
                              stdin=subprocess.DEVNULL, **settings)
    except FileNotFoundError:
        raise Skip(f"there is no {words[0]} to make a root file system with") from None
    if done.returncode != 0:
        raise Skip(f"{words[0]} {words[1]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def package_names():
    unwanted = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks",
                                            "replaces", "enhances")]
    listing = run_or_skip("apt-cache", "depends", "--recurse", *unwanted, *WANTED)
    names = {line for line in listing.splitlines() if line[:1].isalnum() and ":" not in line}
    return sorted(name for name in names if not name.startswith(("perl", "libperl")))


def fetch(directory):
    """Downloads the packages; those that are there from another run are kept."""
    done = directory / ".done"
    names = " ".join(package_names())
    if not done.exists() or done.read_text() != names:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        run_or_skip("apt-get", "download", *names.split(), cwd=directory)
        done.write_text(names)
    return sorted(directory.glob("*.deb"))


def make(root):
    """Fills the directory `root`. Needs root, for its mounts later on."""
    if os.geteuid() != 0:
        raise Skip("only root can make a root file system; what runs in it is a plain user")
    for package in fetch(PLACE / "packages"):
        run_or_skip("dpkg-deb", "--extract", str(package), str(root))
    for name in ("proc", "sys", "dev", "tmp", "old", "home/user"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    os.chown(root / "home/user", USER, USER)
    for name in ("bin", "sbin", "lib", "lib64"):  # as base-files of Debian would
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    (root / "etc/passwd").write_text(f"root:x:0:0::/:/bin/sh\nuser:x:{USER}:{USER}::/home/user:/bin/sh\n")
    (root / "etc/group").write_text(f"root:x:0:\nuser:x:{USER}:\n")
    for compiler in ("cc", "gcc", "g++", "c++", "clang", "make", "dpkg"):
        (root / "usr/bin" / compiler).unlink(missing_ok=True)


def add_program(root, program, *directories):
    """Copies a program of this machine and the libraries it needs; and directories as they are."""
    place = shutil.which(program, path="/usr/local/bin:/usr/bin:/bin")
    if place is None:
        raise Skip(f"there is no {program} here")
    files = {Path(place).resolve(): Path("usr/bin") / program}
    listing = subprocess.run(["ldd", place], capture_output=True, text=True, check=False).stdout
    for name in re.findall(r"=> (/\S+)", listing):
        if not (root / "usr" / Path(name).relative_to(Path(name).parents[-1])).exists():
            files[Path(name).resolve()] = Path("usr/lib") / Path(name).parts[-2] / Path(name).name
    for source, target in files.items():
        if not (root / target).exists():
            (root / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, root / target)
    for directory in directories:
        if not Path(directory).is_dir():
            raise Skip(f"there is no {directory} here")
        shutil.copytree(directory, root / directory.lstrip("/"), symlinks=True)


def checked(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags):
    checked(libc.mount(os.fsencode(source), os.fsencode(target), kind, flags, None),
            f"mount {target}")


def enter(root):
    """Makes the directory the root of this process, which is the first of its namespaces."""
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount(root, root, None, MS_BIND | MS_REC)
    mount("proc", f"{root}/proc", b"proc", 0)
    mount("tmpfs", f"{root}/tmp", b"tmpfs", 0)
    for name in ("sys", "dev"):
        mount(f"/{name}", f"{root}/{name}", None, MS_BIND | MS_REC)
    os.chdir(root)
    checked(libc.syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b"old"), "pivot_root")
    checked(libc.umount2(b"/old", MNT_DETACH), "umount /old")
    os.chdir("/home/user")
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)


def main():
    """minimal_root.py ROOT COMMAND…: runs the command in it, and ends with all that it started."""
    root, command = sys.argv[1], sys.argv[2:]
    checked(libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET),
            "unshare")
    child = os.fork()  # the first process of the pid namespace: all others end with it
    if child == 0:
        enter(root)
        environment = {"PATH": "/home/user/venv/bin:/usr/bin:/bin", "HOME": "/home/user", "LANG": "C.UTF-8"}
        os.execvpe(command[0], command, environment)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run(root, *words, seconds=120):
    """Runs a command in it as a plain user without a network: (status, stdout, stderr)."""
    done = subprocess.run([sys.executable, str(Path(__file__).resolve()), str(root), *words],
                          capture_output=True, text=True, timeout=seconds, check=False,
                          stdin=subprocess.DEVNULL,
                          env={**os.environ, "PYTHONPATH": str(REPOSITORY / "tests/integration")})
    return done.returncode, done.stdout, done.stderr


if __name__ == "__main__":
    sys.exit(main())
