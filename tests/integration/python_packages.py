"""Python packages of others, installed below build/ when first needed, at the versions tried."""
import fcntl
import importlib
import subprocess
import sys

from support import REPOSITORY, Skip

PLACE = REPOSITORY / "build/python-packages"
# Together, since they share a package.
CLIENTS = ("grpcio==1.85.1", "grpcio-reflection==1.85.1", "grpcio-health-checking==1.85.1",
           "opentelemetry-proto==1.45.2")


def is_installed(folder, marker):
    done = folder / ".installed"
    return done.exists() and done.read_text() == marker


def fetch(folder, packages):
    failed = PLACE / ".failed"  # one long wait for what cannot be reached is enough
    if failed.exists():
        raise Skip(f"{packages[0]} cannot be installed: {failed.read_text()}")
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--upgrade",
                           "--disable-pip-version-check", "--retries", "1", "--timeout", "20",
                           "--target", str(folder), *packages],
                          capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        failed.write_text((done.stderr.strip().splitlines() or ["no message"])[-1][:200])
        raise Skip(f"{packages[0]} cannot be installed: {failed.read_text()}")


def install(name="clients", packages=CLIENTS):
    """Makes the packages importable; a suite that needs them skips where they cannot be had."""
    folder = PLACE / name
    marker = " ".join((*packages, sys.version))
    try:
        if not is_installed(folder, marker):
            PLACE.mkdir(parents=True, exist_ok=True)
            with open(PLACE / f"{name}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not is_installed(folder, marker):
                    fetch(folder, packages)
                    (folder / ".installed").write_text(marker)
    except (OSError, subprocess.SubprocessError) as error:
        raise Skip(f"{packages[0]} cannot be installed: {error}") from None
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
