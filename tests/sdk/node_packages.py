"""The TypeScript SDK, built below build/, and packages of npm at the versions tried, installed when first needed."""
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from support import REPOSITORY, Failed, Skip  # noqa: E402 pylint: disable=wrong-import-position

SOURCE = REPOSITORY / "sdk/typescript"
PLACE = REPOSITORY / "build/npm"
BUILT = REPOSITORY / "build/sdk/typescript"
PARTS = ("src", "test", "build.mjs", "package.json", "tsconfig.json")
LEAST_NODE = 20
FRAMEWORKS = {"ai": "7.0.173", "@mastra/core": "1.71.0", "zod": "4.6.7"}


def node():
    found = shutil.which("node")
    if not found or not shutil.which("npm"):
        raise Skip("node or npm is missing")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < LEAST_NODE:
        raise Skip(f"node {version.strip()} is older than {LEAST_NODE}")
    return found


def compilers():
    """Versions of the compiler and its types, as the package names them."""
    return json.loads((SOURCE / "package.json").read_text())["devDependencies"]


def install(name, packages):
    """Gives a directory whose node_modules has these packages. Skips where the registry is not reached."""
    node()
    folder = PLACE / name
    marker = json.dumps(packages, sort_keys=True)
    PLACE.mkdir(parents=True, exist_ok=True)
    with open(PLACE / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / ".installed"
        if not done.exists() or done.read_text() != marker:
            fetch(folder, packages)
            done.write_text(marker)
    return folder


def fetch(folder, packages):
    failed = PLACE / ".failed"  # one long wait for what cannot be reached is enough
    if failed.exists():
        raise Skip(f"npm cannot install: {failed.read_text()}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
    words = [f"{name}@{version}" for name, version in packages.items()]
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps", "--fetch-retries=1",
         "--cache", str(PLACE / "cache"), "--loglevel=error", *words],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        failed.write_text((done.stderr.strip().splitlines() or ["no message"])[-1][:200])
        raise Skip(f"npm cannot install: {failed.read_text()}")


def build():
    """Builds both forms of the package, if its sources changed. Strict types are part of it."""
    tools = install("typescript", compilers())
    generated = subprocess.run([sys.executable, REPOSITORY / "sdk/generate.py", "typescript"], capture_output=True,
                               text=True, check=False)
    if generated.returncode != 0:
        raise Failed(f"sdk/generate.py: {generated.stderr[-300:]}")
    for part in PARTS:
        target = BUILT / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (SOURCE / part).is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(SOURCE / part, target)
        else:
            shutil.copy(SOURCE / part, target)
    link = BUILT / "node_modules"
    if not link.is_symlink():
        link.symlink_to(tools / "node_modules")
    done = subprocess.run(["node", "build.mjs"], cwd=BUILT, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise Failed(f"the package does not build: {done.stdout[-2000:]}{done.stderr[-500:]}")
    return BUILT


def install_into(folder):
    """Puts the built package into node_modules of this directory, as npm would."""
    target = folder / "node_modules/@nutshell/sandbox"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    shutil.copy(BUILT / "package.json", target)
    shutil.copytree(BUILT / "dist", target / "dist")


def run_node(*words, **settings):
    environment = {**os.environ, **settings.pop("environment", {})}
    return subprocess.run(["node", *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=settings.pop("timeout", 120), stdin=subprocess.DEVNULL,
                          env={name: value for name, value in environment.items() if value is not None}, **settings)
