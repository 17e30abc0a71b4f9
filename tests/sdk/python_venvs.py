"""Virtual environments with the packages of others, made when first needed, at the versions tried.

They lie in $NUTSHELL_TEST_PACKAGES, or in ~/.cache/nutshell-venvs, and are kept between runs. They are made
for root; a plain user of `scripts/test` has a home of its own for one run, and gets them with --full.
"""
import fcntl
import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support import Skip, is_full, unpack_tar

PLACE = Path(os.environ.get("NUTSHELL_TEST_PACKAGES") or Path.home() / ".cache/nutshell-venvs")
INSTALL_SECONDS = 900
SETS = {
    "roomkit": ("roomkit==0.109.0", "roomkit-sandbox==0.5.0", "pytest", "pytest-asyncio"),
    "langchain": ("deepagents==0.7.32", "langchain-tests==1.1.9", "pytest", "pytest-asyncio"),
    "pydantic": ("pydantic-ai-slim==2.62.0", "pytest", "anyio"),
    "agents": ("openai-agents==0.24.0", "anthropic==2.8.0", "smolagents==1.26.0"),
    "autogen": ("autogen-core==0.7.5", "autogen-agentchat==0.7.5"),
    "crewai": ("crewai==1.15.30",),
    "adk": ("google-adk==2.13.0",),
    "llama": ("llama-index-core==0.14.25",),
    "typing": ("mypy", "pyright"),
    "httpx": ("httpx==0.28.1",),
    "docker": ("docker==7.1.0",),
}
LEAST = {"roomkit": (3, 12)}  # the Python that a set needs


def interpreter(least):
    """A Python of at least this version: this one, one on PATH, or one of pyenv's."""
    if sys.version_info >= least:
        return sys.executable
    wanted = [f"python{least[0]}.{minor}" for minor in range(least[1], least[1] + 4)]
    found = [place for place in map(shutil.which, wanted) if place]
    for name in wanted:
        found += sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{name[6:]}.*/bin/{name}")))
    for place in found:
        if subprocess.run([place, "-c", "import ensurepip"], capture_output=True,
                          check=False).returncode == 0:
            return place
    raise Skip(f"no Python {least[0]}.{least[1]} or newer on PATH or in ~/.pyenv")


def venv(name):
    """The interpreter of an environment with that set of packages; SKIP if they cannot be had."""
    folder, packages = PLACE / name, SETS[name]
    try:
        if not is_ready(folder, packages):
            if os.getuid() != 0 and not is_full():
                raise Skip(f"{packages[0]} is installed for root only: scripts/test --full runs it")
            base = interpreter(LEAST.get(name, (3, 10)))
            PLACE.mkdir(parents=True, exist_ok=True)
            with open(PLACE / f"{name}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not is_ready(folder, packages):
                    make(base, folder, packages)
                    (folder / ".installed").write_text(" ".join(packages))
    except (OSError, subprocess.SubprocessError) as error:
        raise Skip(f"{packages[0]} cannot be installed: {error}") from None
    return str(folder / "bin/python")


def exact_interpreter(version):
    """A Python of this very version."""
    name = f"python{version[0]}.{version[1]}"
    found = [sys.executable] if sys.version_info[:2] == version else []
    found += sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{name[6:]}.*/bin/{name}")))
    found += [place for place in [shutil.which(name)] if place]
    for place in found:
        if subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0:
            return place
    raise Skip(f"no {name}")


def is_ready(folder, packages):
    """Whether the environment is there, and this user may run it."""
    done = folder / ".installed"
    return os.access(done, os.R_OK) and done.read_text() == " ".join(packages) and \
        os.access(folder / "bin/python", os.X_OK)


def make(base, folder, packages):
    failed = PLACE / ".failed"  # one long wait for what cannot be reached is enough
    if failed.exists():
        raise Skip(f"{packages[0]} cannot be installed: {failed.read_text()}")
    subprocess.run([base, "-m", "venv", "--clear", folder], check=True, capture_output=True)
    done = subprocess.run(
        [folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check",
         "--retries", "1", "--timeout", "20", *packages],
        capture_output=True, text=True, timeout=INSTALL_SECONDS, stdin=subprocess.DEVNULL,
        check=False)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
        if "Connection" in done.stderr or "resolve" in done.stderr:
            failed.write_text(why)
        raise Skip(f"{packages[0]} cannot be installed: {why}")


def source(python, package, version):
    """The unpacked source archive of a package, as its authors published it; SKIP if it cannot be had."""
    top = f"{package.replace('-', '_')}-{version}"
    place = PLACE / f"{package}-source"
    archive = place / f"{top}.tar.gz"
    if not archive.exists():
        done = subprocess.run(
            [python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--retries", "1",
             "-d", str(place), f"{package}=={version}"],
            capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Skip(f"the source of {package} cannot be had: {done.stderr.strip()[-200:]}")
    if not (place / top).is_dir():
        unpack_tar(archive, place)
    return place / top


if __name__ == "__main__":
    for each in sys.argv[1:] or SETS:
        print(each, venv(each))
