"""The Python SDK of the tree, made importable, and a daemon for it."""
import contextlib
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from support import NUTSHELL, REPOSITORY, Failed  # noqa: E402 pylint: disable=wrong-import-position

SOURCE = REPOSITORY / "sdk/python/src"
NAMES = ("NUTSHELL_DAEMON", "NUTSHELL_TOKEN", "NUTSHELL_TOKEN_FILE", "NUTSHELL_DAEMON_CA")


def generate():
    """Writes the generated files if they are missing or old, and makes the package importable."""
    done = subprocess.run([sys.executable, REPOSITORY / "sdk/generate.py", "python"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"sdk/generate.py: {done.stderr[-300:]}")
    if str(SOURCE) not in sys.path:
        sys.path.insert(0, str(SOURCE))
    os.environ["NUTSHELL_BIN"] = str(Path(NUTSHELL).parent)


@contextlib.contextmanager
def variables(**values):
    """Sets environment variables for a while; None removes one."""
    before = {name: os.environ.get(name) for name in values}
    try:
        for name, value in values.items():
            put(name, value)
        yield
    finally:
        for name, value in before.items():
            put(name, value)


def put(name, value):
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = str(value)


@contextlib.contextmanager
def served(config="", **more):
    """A daemon of the test's own that the SDK finds by NUTSHELL_DAEMON."""
    from daemon_client import daemon
    with daemon(config, **more) as one, variables(
            NUTSHELL_DAEMON=one.socket, NUTSHELL_RUNTIME_DIR=one.directory / "run",
            NUTSHELL_STATE_DIR=one.directory / "state"):
        yield one


def python(code, *words, **settings):
    """Runs a program with the SDK in an interpreter of its own."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **settings.pop("environment", {})}
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True,
                          env={name: value for name, value in environment.items() if value is not None},
                          timeout=settings.pop("timeout", 90), check=False, **settings)
