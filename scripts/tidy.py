#!/usr/bin/env python3
"""Runs clang-tidy 14 on every C++ source, two at a time, and remembers what was clean.

    scripts/tidy.py [--all | FILE…]    the sources of src/ that hold the boundary; with --all the
                                       rest, tests and benchmarks too

What a file is judged by is its text, the headers of ours it includes, its compile command,
.clang-tidy and the version of clang-tidy. While none of them changes, a clean file is not looked at
again. The memory is build/tidy/, one empty file for each clean state.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
DATABASE = TREE / "build/release"
MEMORY = TREE / "build/tidy"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def with_own_headers(source):
    """The file and every header of the tree it reaches, in a fixed order."""
    reached, waiting = {}, [source]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached[path] = path.read_text()
        for target in INCLUDE.findall(reached[path]):
            for folder in (TREE / "src", TREE, path.parent):
                if (folder / target).is_file():
                    waiting.append((folder / target).resolve())
                    break
    return sorted(reached.items())


def fingerprint(source, command, version):
    digest = hashlib.sha256()
    for text in (version, command, (TREE / ".clang-tidy").read_text()):
        digest.update(text.encode() + b"\0")
    for path, text in with_own_headers(source):
        digest.update(f"{path}\0{text}\0".encode())
    return digest.hexdigest()


def tidy(source, command, version):
    """The complaints about one file, empty when it is clean."""
    known = MEMORY / fingerprint(source, command, version)
    if known.exists():
        return ""
    run = subprocess.run(
        ["clang-tidy-14", "--quiet", f"-p={DATABASE}", "--extra-arg=-Wno-unknown-warning-option",
         str(source)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode == 0:
        known.touch()
        return ""
    return run.stdout or run.stderr


# All of src/ would take longer than every commit may.
ONLY_WITH_ALL = ("compaction", "tools", "init/files", "init/search", "init/layers", "cli", "service",
                 "server", "daemon", "audit")


def is_of_every_commit(path):
    left_out = any(path.is_relative_to(TREE / "src" / folder) for folder in ONLY_WITH_ALL)
    return path.is_relative_to(TREE / "src") and not path.name.endswith("_test.cc") and not left_out


def main(arguments):
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    commands = {}
    for entry in json.loads((DATABASE / "compile_commands.json").read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        if source.is_relative_to(TREE) and not source.is_relative_to(TREE / "build"):
            commands[source] = entry["command"]
    chosen = [Path(name).resolve() for name in arguments if name != "--all"] or sorted(commands)
    if not arguments:
        chosen = [path for path in chosen if is_of_every_commit(path)]
    unknown = [str(path) for path in chosen if path not in commands]
    if unknown:
        sys.exit(f"not in compile_commands.json: {' '.join(unknown)}")
    MEMORY.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang-tidy-14", "--version"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as workers:
        results = list(workers.map(lambda path: tidy(path, commands[path], version), chosen))
    for complaint in filter(None, results):
        print(complaint)
    bad = sum(1 for result in results if result)
    print(f"{len(results)} files, {bad} with complaints")
    return 1 if bad or not results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
