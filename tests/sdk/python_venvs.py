"""Virtual environments with the packages of others, made when first needed, at the versions tried.

They lie in $NUTSHELL_TEST_PACKAGES, or in build/python-venvs, and are kept between runs.
"""
import fcntl
import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support import REPOSITORY, Skip

PLACE = Path(os.environ.get("NUTSHELL_TEST_PACKAGES", REPOSITORY / "build/python-venvs"))
INSTALL_SECONDS = 900
SETS = {
    "roomkit": ("roomkit==0.109.0", "roomkit-sandbox==0.5.0"),
    "langchain": ("deepagents==0.7.32", "langchain-tests==1.1.9", "pytest", "pytest-asyncio"),
    "pydantic": ("pydantic-ai-slim==2.62.0", "pytest", "anyio"),
    "agents": ("openai-agents==0.24.0", "anthropic==2.8.0", "smolagents==1.26.0"),
    "autogen": ("autogen-core==0.7.5", "autogen-agentchat==0.7.5"),
    "crewai": ("crewai==1.15.30",),
    "adk": ("google-adk",),
    "llama": ("llama-index-core",),
    "typing": ("mypy", "pyright"),
    "build": ("setuptools", "wheel", "build"),
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
    base = interpreter(LEAST.get(name, (3, 10)))
    marker = " ".join((base, *packages))
    done = folder / ".installed"
    try:
        PLACE.mkdir(parents=True, exist_ok=True)
        if not done.exists() or done.read_text() != marker:
            with open(PLACE / f"{name}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not done.exists() or done.read_text() != marker:
                    make(base, folder, packages)
                    done.write_text(marker)
    except (OSError, subprocess.SubprocessError) as error:
        raise Skip(f"{packages[0]} cannot be installed: {error}") from None
    return str(folder / "bin/python")


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


if __name__ == "__main__":
    for each in sys.argv[1:] or SETS:
        print(each, venv(each))
