#!/usr/bin/env python3
"""Runs clang-tidy 14 on the C++ sources and remembers by content which files were clean.

    scripts/tidy.py [--seconds N] [--all | FILE…]    the sources of src/ without their tests and the
                                                     folders that are not clean yet; with --all everything

A clean file is not looked at again until its text, one of our headers that it includes, its compile command,
.clang-tidy or the version of clang-tidy changes. Each clean state is one empty file in $NUTSHELL_TIDY_DIR
(~/.cache/nutshell-tidy). All clones of the tree can share that directory; keep it between runs of CI.

With --seconds N, no file is begun after N seconds. The files of the last commit come first, then those of the
security boundary, then the others. A first run with --seconds therefore looks at a part of the files and
says how many it left out; the next run continues with those.
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
DATABASE = TREE / "build/tidy"
BUILT = TREE / "build/release"  # has the sources and headers that the build generates
MEMORY = Path(os.environ.get("NUTSHELL_TIDY_DIR") or
              Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nutshell-tidy")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# Folders of src/ whose code reads what a command in a sandbox, a client or an image sends.
BOUNDARY = ("backends/native", "init", "launcher", "wire", "http", "images", "base", "core")

# Folders of src/ that clang-tidy still complains about; only --all looks at them.
NOT_CLEAN_YET = ("api_client", "audit", "cli", "compaction", "daemon", "init/files", "init/layers",
                 "init/search", "runtime", "server", "service", "telemetry", "tools", "unpack", "wire")


def with_own_headers(source):
    """Returns path and text of the file and of every header of the tree that it includes, sorted by path."""
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
    """Returns a digest of all that decides over the complaints. It does not depend on where the tree lies."""
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
        """Returns the complaints about one file: "" if it is clean, None if no time was left for it."""
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
    """Sorts the last commit's files first, then those of the boundary, then the others."""
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
    """Returns the compile command of each source of the tree.

    They come from a configuration of their own, which compiles each source by itself: build/release may
    compile them in groups. clang-tidy reads them from DATABASE.
    """
    run = subprocess.run(["cmake", "--preset", "release", "-B", str(DATABASE), "-DNUTSHELL_UNITY=OFF"],
                         cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{run.stdout}tidy: cmake could not configure {DATABASE}")
    database = DATABASE / "compile_commands.json"
    commands, entries = {}, []
    for entry in json.loads(database.read_text().replace(str(DATABASE), str(BUILT))):
        source = Path(entry["directory"], entry["file"]).resolve()
        if source.is_relative_to(TREE) and not source.is_relative_to(TREE / "build"):
            commands[source] = entry["command"]
            entries.append(entry)
    database.write_text(json.dumps(entries))
    return commands


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=0, metavar="N")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    options = parser.parse_args()
    commands = read_commands()
    chosen = [path.resolve() for path in options.files] or [
        path for path in commands if options.all or is_of_every_commit(path)]
    unknown = [str(path) for path in chosen if path not in commands]
    if unknown:
        sys.exit(f"tidy: the build does not compile {' '.join(unknown)}")
    MEMORY.mkdir(parents=True, exist_ok=True)
    linter = Linter(commands, options.seconds)
    with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
        results = list(workers.map(linter.complaints, by_importance(chosen)))
    for complaint in filter(None, results):
        print(complaint)
    forget_old()
    bad, left_out = sum(1 for result in results if result), results.count(None)
    if left_out:
        print(f"warning: no time was left for {left_out} of {len(results)} files; the next run continues")
    print(f"{len(results) - left_out} files, {bad} with complaints")
    return 1 if bad or left_out == len(results) else 0


if __name__ == "__main__":
    sys.exit(main())
