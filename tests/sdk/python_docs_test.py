#!/usr/bin/env python3
"""Runs every Python snippet of the documentation.

A block ```python is a program of its own, in a directory of its own; a block ```text right after it is what it
prints. `<!-- packages: NAME -->` before a block names the environment that it needs (python_venvs.py). A block
```py shows the code of others, and is not run.
"""
import re
import subprocess
import sys
import tempfile
import os

import python_sdk
import python_venvs
from support import REPOSITORY, Suite, expect, expect_equal

python_sdk.generate()
suite = Suite()
BLOCK = re.compile(r"(?:<!-- packages: (\w+) -->\n+)?```python\n(.*?)```\n(?:\n*```text\n(.*?)```)?", re.DOTALL)


def snippets_of(name):
    text = (REPOSITORY / name).read_text()
    found = [(text[:one.start(2)].count("\n") + 1, *one.groups()) for one in BLOCK.finditer(text)]
    expect(found, f"{name} has no Python")
    return found


def run_snippets(name):
    for line, packages, code, printed in snippets_of(name):
        interpreter = python_venvs.venv(packages) if packages else sys.executable
        with tempfile.TemporaryDirectory() as place:
            done = subprocess.run(
                [interpreter, "-c", code], cwd=place, capture_output=True, text=True, timeout=120, check=False,
                env={**os.environ, "PYTHONPATH": str(python_sdk.SOURCE), "NUTSHELL_DAEMON": "private"})
        expect(done.returncode == 0, f"{name}:{line} ends with {done.returncode}: {done.stderr[-500:]}")
        if printed is not None:
            expect_equal(done.stdout, printed, f"output of {name}:{line}")


@suite.case
def the_python_page():
    run_snippets("docs/python.md")


@suite.case
def the_readmes():
    run_snippets("README.md")
    run_snippets("sdk/python/README.md")


@suite.case
def the_migration_from_roomkit_sandbox():
    run_snippets("docs/migrate/roomkit-sandbox.md")


@suite.case
def the_migration_from_e2b():
    run_snippets("docs/migrate/e2b.md")


@suite.case
def the_migration_from_docker_run():
    run_snippets("docs/migrate/docker-run.md")


if __name__ == "__main__":
    sys.exit(suite.run())
