#!/usr/bin/env python3
"""Runs clang-tidy 14 on the C++ sources and remembers by content which were clean.

    scripts/tidy.py [--seconds N] [--all | FILE…]    the folders of src/ that are clean, without their
                                                     tests; with --all everything

A file is judged by its text, the headers of ours it includes, its compile command, .clang-tidy and the
version of clang-tidy. While none of them changes, a clean file costs nothing. The memory is one empty
file for each clean state in $NUTSHELL_TIDY_DIR (~/.cache/nutshell-tidy), beside ccache's: it serves
every clone of the tree and should be kept between runs of CI.

With --seconds, no file is begun after that time. The files of the last commit come first, then what
holds the boundary, then the rest: a run without a memory looks at a part and says how many it left
out, and the next run goes on from there.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
BUILT = TREE / "build/release/compile_commands.json"
DATABASE = TREE / "build/tidy"
MEMORY = Path(os.environ.get("NUTSHELL_TIDY_DIR") or
              Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nutshell-tidy")
PRECOMPILED = re.compile(r" -Winvalid-pch| -include \S*/cmake_pch\.hxx")  # g++'s, which clang cannot read
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# Folders of src/ that a command in a sandbox, a client or an image can reach first.
BOUNDARY = ("backends/native", "init", "launcher", "wire", "http", "images", "base", "core")
# Folders of src/ whose complaints are not mended yet: only --all looks at them.
NOT_CLEAN_YET = ("compaction", "tools", "init/files", "init/search", "init/layers", "cli", "service",
                 "server", "daemon", "audit")


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
    """The same in every clone: no path of it begins with where the tree lies."""
    digest = hashlib.sha256()
    for text in (version, command.replace(str(TREE), ""), (TREE / ".clang-tidy").read_text()):
        digest.update(text.encode() + b"\0")
    for path, text in with_own_headers(source):
        digest.update(f"{path.relative_to(TREE)}\0{text}\0".encode())
    return digest.hexdigest()


class Linter:
    def __init__(self, commands, seconds):
        self.commands = commands
        self.end = time.monotonic() + seconds if seconds else None
        self.version = subprocess.run(["clang-tidy-14", "--version"], stdout=subprocess.PIPE,
                                      text=True, check=True).stdout

    def complaints(self, source):
        """About one file, empty when it is clean; None when there was no time to look."""
        known = MEMORY / fingerprint(source, self.commands[source], self.version)
        if known.exists():
            known.touch()
            return ""
        if self.end and time.monotonic() > self.end:
            return None
        run = subprocess.run(
            ["clang-tidy-14", "--quiet", f"-p={DATABASE}",
             "--extra-arg=-Wno-unknown-warning-option", str(source)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode == 0:
            known.touch()
            return ""
        return run.stdout or run.stderr


def is_of_every_commit(path):
    is_left_out = any(path.is_relative_to(TREE / "src" / folder) for folder in NOT_CLEAN_YET)
    return path.is_relative_to(TREE / "src") and not path.name.endswith("_test.cc") and not is_left_out


def by_importance(paths):
    """The last commit's files first, then the boundary's, then the others."""
    last = subprocess.run(["git", "-C", str(TREE), "diff", "--name-only", "HEAD~1"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout.split()
    changed = {TREE / name for name in last}

    def rank(path):
        is_boundary = any(path.is_relative_to(TREE / "src" / folder) for folder in BOUNDARY)
        return (path not in changed, not is_boundary, path)
    return sorted(paths, key=rank)


def forget_old(days=60):
    oldest = time.time() - days * 86400
    for known in MEMORY.iterdir():
        if known.stat().st_mtime < oldest:
            known.unlink(missing_ok=True)


def read_commands():
    """How each source of the tree is compiled; also written to where clang-tidy looks for it."""
    commands, entries = {}, []
    for entry in json.loads(BUILT.read_text()):
        source = Path(entry["directory"], entry["file"]).resolve()
        if source.is_relative_to(TREE) and not source.is_relative_to(TREE / "build"):
            commands[source] = PRECOMPILED.sub("", entry["command"])
            entries.append({**entry, "command": commands[source]})
    DATABASE.mkdir(parents=True, exist_ok=True)
    (DATABASE / "compile_commands.json").write_text(json.dumps(entries))
    return commands


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    commands = read_commands()
    chosen = [path.resolve() for path in options.files] or [
        path for path in commands if options.all or is_of_every_commit(path)]
    unknown = [str(path) for path in chosen if path not in commands]
    if unknown:
        sys.exit(f"not in compile_commands.json: {' '.join(unknown)}")
    MEMORY.mkdir(parents=True, exist_ok=True)
    linter = Linter(commands, options.seconds)
    with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
        results = list(workers.map(linter.complaints, by_importance(chosen)))
    for complaint in filter(None, results):
        print(complaint)
    forget_old()
    bad, left_out = sum(1 for result in results if result), results.count(None)
    if left_out:
        print(f"warning: no time for {left_out} of {len(results)} files, whose state is not known yet")
    print(f"{len(results) - left_out} files, {bad} with complaints")
    return 1 if bad or left_out == len(results) else 0


if __name__ == "__main__":
    sys.exit(main())
