"""Builds what scripts/guest boots: a Debian kernel, a root file system and, if need be, QEMU.

Everything comes from Debian packages, is unpacked without being installed, and is kept in
build/guest.
"""

import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = PROJECT / "build" / "guest"

# The first one apt knows. The newer one has the drivers the guest boots from built in.
# GUEST_KERNEL names another package: linux-image-cloud-amd64 is the oldest kernel we support.
KERNEL_PACKAGES = [os.environ["GUEST_KERNEL"]] if os.environ.get("GUEST_KERNEL") else [
    "linux-image-6.12-cloud-amd64", "linux-image-cloud-amd64"]
ROOT_PACKAGES = (
    "attr base-files base-passwd bash busybox-static coreutils dash debianutils diffutils "
    "findutils git grep gzip hostname iproute2 kmod libc-bin libstdc++6 mawk mount ncurses-base "
    "procps psmisc python3 sed strace tar util-linux"
).split()
# For --systemd: the service manager of the machine, and one for each user who is logged in.
SYSTEMD_PACKAGES = ["systemd", "dbus", "libpam-systemd"]
# Files that maintainer scripts would have made.
LINKS = {"usr/bin/sh": "dash", "usr/bin/awk": "mawk", "usr/bin/which": "which.debianutils"}
DIRECTORIES = ["home/tester", "media", "mnt", "opt", "root", "srv", "var/tmp"]
MERGED_DIRECTORIES = ["bin", "sbin", "lib", "lib64"]
SPARE_IMAGE_BYTES = 2 << 30


class BuildError(Exception):
    """An image that could not be built, and why."""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(map(str, command[:6]))}…: {done.stderr.strip()[-2000:]}")
    return done.stdout


def fetch_closure(packages, directory, *apt_options):
    """Downloads packages and what they depend on, installing nothing."""
    (directory / "partial").mkdir(parents=True)
    run(
        "apt-get", "-y", "-d", "--no-install-recommends",
        "-o", f"Dir::Cache::archives={directory}",
        "-o", "Debug::NoLocking=true",  # fit for downloads only: no state is written
        "-o", "APT::Sandbox::User=root",
        *apt_options, "install", *packages,
    )  # fmt: skip
    return sorted(directory.glob("*.deb"))


def unpack(package, directory):
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as deb:
        run("tar", "-xp", "--no-same-owner", "--keep-directory-symlink", "-C", directory,
            stdin=deb.stdout)  # fmt: skip
    if deb.returncode != 0:
        raise BuildError(f"cannot unpack {package}")


def kernel_package():
    for package in KERNEL_PACKAGES:
        depends = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True,
                                 check=False)  # fmt: skip
        found = re.search(r"Depends: (linux-image-\S+)", depends.stdout)
        if found:
            return found[1]
    raise BuildError(f"apt knows none of {', '.join(KERNEL_PACKAGES)}; run apt-get update?")


def build_qemu(directory):
    for package in fetch_closure(["qemu-system-x86"], directory / "debs"):
        unpack(package, directory)
    shutil.rmtree(directory / "debs")


def build_image(directory, packages):
    """Makes directory/{kernel,busybox,root.ext4}."""
    root, debs = directory / "root", directory / "debs"
    for name in MERGED_DIRECTORIES:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    no_packages = directory / "status"
    no_packages.touch()
    for package in fetch_closure(packages, debs, "-o", f"Dir::State::status={no_packages}"):
        unpack(package, root)
    run("apt-get", "-o", "APT::Sandbox::User=root", "download", kernel_package(), cwd=debs)
    unpack(next(debs.glob("linux-image-*.deb")), root)

    configure_root(root)
    if "systemd" in packages:
        configure_systemd(root)
    shutil.copy(root / "bin" / "busybox", directory / "busybox")
    next((root / "boot").glob("vmlinuz-*")).rename(directory / "kernel")
    index_modules(root)
    make_file_system(root, directory / "root.ext4")
    no_packages.unlink()
    for leftover in (root, debs):
        shutil.rmtree(leftover)


def index_modules(root):
    """By the kmod of the image: the host may have none, and busybox writes no index kmod reads."""
    libraries = root / "usr/lib/x86_64-linux-gnu"
    version = next((root / "lib/modules").iterdir()).name
    run(libraries / "ld-linux-x86-64.so.2", "--library-path", libraries, "--argv0", "depmod",
        root / "bin/kmod", "-b", root, version)  # fmt: skip


def configure_root(root):
    for name, line in (("passwd", "tester:x:1001:1001::/home/tester:/bin/bash\n"),
                       ("group", "tester:x:1001:\n")):  # fmt: skip
        master = (root / "usr/share/base-passwd" / f"{name}.master").read_text()
        (root / "etc" / name).write_text(master + line)
    (root / "etc/hostname").write_text("guest\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost guest\n")
    for link, target in LINKS.items():
        if not (root / link).is_symlink():
            (root / link).symlink_to(target)
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "root").chmod(0o700)
    (root / "var/tmp").chmod(0o1777)
    for name in ("doc", "man", "locale", "info"):
        shutil.rmtree(root / "usr/share" / name, ignore_errors=True)


def configure_systemd(root):
    """Adds the bus's account, and PAM's common files, which accept everybody."""
    for name, line in (("passwd", "messagebus:x:990:990::/nonexistent:/usr/sbin/nologin\n"),
                       ("group", "messagebus:x:990:\n")):  # fmt: skip
        with open(root / "etc" / name, "a", encoding="utf-8") as accounts:
            accounts.write(line)
    (root / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    for name in ("account", "auth", "password"):
        (root / "etc/pam.d" / f"common-{name}").write_text(f"{name} required pam_permit.so\n")
    for name in ("common-session", "common-session-noninteractive"):
        (root / "etc/pam.d" / name).write_text(
            "session required pam_permit.so\nsession required pam_systemd.so\n")


def make_file_system(root, image):
    """Needs no root: a user namespace makes the files root's."""
    used = int(run("du", "-s", "--block-size=1", root).split()[0])
    as_root = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    run(*as_root, find_tool("mke2fs"), "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0",
        "-E", "root_owner=0:0", "-d", root, image,
        f"{(used + SPARE_IMAGE_BYTES) // 1024}k")  # fmt: skip


def find_tool(name):
    """Also in the directories a user's PATH often lacks."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if not found:
        raise BuildError(f"{name} is not installed")
    return found


def cached(name, recipe, build):
    """The directory of that name, built by the first who asks; recipe tells its contents apart."""
    key = hashlib.sha256(recipe.encode()).hexdigest()[:12]
    final = CACHE / f"{name}-{key}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if final.exists():
            return final
        print(f"guest: building {final.relative_to(PROJECT)}", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            directory = pathlib.Path(scratch) / "new"
            directory.mkdir()
            build(directory)
            directory.rename(final)
    return final


def image_directory(with_systemd):
    """Holds kernel, busybox and root.ext4."""
    recipe = pathlib.Path(__file__).read_text("utf-8") + KERNEL_PACKAGES[0]
    name = "systemd" if with_systemd else "image"
    packages = ROOT_PACKAGES + (SYSTEMD_PACKAGES if with_systemd else [])
    return cached(name, recipe, lambda directory: build_image(directory, packages))


def qemu():
    """The command that starts QEMU and the environment it needs."""
    installed = shutil.which("qemu-system-x86_64")
    if installed:
        return [installed], dict(os.environ)
    prefix = cached("qemu", "qemu-system-x86", build_qemu)
    libraries = prefix / "usr/lib/x86_64-linux-gnu"
    places = f"{libraries}:{prefix / 'lib/x86_64-linux-gnu'}"
    environment = {**os.environ, "LD_LIBRARY_PATH": places, "QEMU_MODULE_DIR": libraries / "qemu"}
    firmware = ["-L", prefix / "usr/share/qemu", "-L", prefix / "usr/share/seabios"]
    return [prefix / "usr/bin/qemu-system-x86_64", *firmware], environment
