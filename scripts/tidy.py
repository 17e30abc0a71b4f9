#!/usr/bin/env python3
"""Runs clang-tidy 14 on the C++ sources and remembers by content which files were clean.

    scripts/tidy.py [--seconds N] [--all | FILE…]    the sources of src/ without their tests and the
                                                     folders that are not clean yet; with --all everything

Reading the standard library takes most of the time, so the sources of a folder are linted in the groups in
which NUTSHELL_UNITY compiles them. A group that does not compile is linted source by source.

A clean file is not looked at again until its text, one of our headers that it includes, its compile options,
.clang-tidy or the version of clang-tidy changes. Each clean state is one empty file in $NUTSHELL_TIDY_DIR
(~/.cache/nutshell-tidy). All clones of the tree can share that directory; keep it between runs of CI.

With --seconds N, no group is begun after N seconds. The files of the last commit come first, then those of
the security boundary, then the others. A first run with --seconds therefore may look at a part of the files
and says how many it left out; the next run continues with those.
"""

import argparse
import bisect
import hashlib
import json
import os
import re
import shlex
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
COMPLAINT = re.compile(r"^(/[^:\n]+):\d+:\d+: (?:warning|error): .*\[([\w.,-]+)\]$", re.MULTILINE)
# Folders of src/ that clang-tidy still complains about, or that it has not seen whole; only --all looks at them.
NOT_CLEAN_YET = ("cli", "compaction", "daemon", "runtime", "server", "service")
# Folders of src/ whose code reads what a command in a sandbox, a client or an image sends.
BOUNDARY = ("backends/native", "init", "launcher", "wire", "http", "images", "base", "core")


def with_own_headers(source):
    """Returns path and text of the file and of every header of the tree that it includes."""
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
    return reached


def fingerprint(files, options, version):
    """Returns a digest of all that decides over the complaints. It does not depend on where the tree lies."""
    digest = hashlib.sha256(b"2\0")  # the way in which this script asks
    for text in (version, " ".join(options).replace(str(TREE), ""), (TREE / ".clang-tidy").read_text()):
        digest.update(text.encode() + b"\0")
    for path, text in sorted(files.items()):
        digest.update(f"{path.relative_to(TREE)}\0{text}\0".encode())
    return digest.hexdigest()


class Linter:
    """Lints groups of sources; remembers each source without complaints."""

    def __init__(self, options, seconds):
        self.options = options
        self.end = time.monotonic() + seconds if seconds else None
        version = subprocess.run(["clang-tidy-14", "--version"], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout
        self.files = {source: with_own_headers(source) for source in options}
        self.known = {source: MEMORY / fingerprint(self.files[source], options[source], version)
                      for source in options}

    def is_known(self, source):
        if not self.known[source].exists():
            return False
        self.known[source].touch()
        return True

    def complaints(self, group):
        """Prints the complaints about a group, and returns its sources with complaints. If no time was left,
        there are none, and none of its sources is remembered as clean."""
        if self.end and time.monotonic() > self.end:
            return set()
        text = run_tidy(group, self.options[group[0]])
        found = COMPLAINT.findall(text)
        if len(group) > 1 and any(check.startswith("clang-diagnostic-error") for _, check in found):
            each = [self.complaints([source]) for source in group]
            return set().union(*each)
        print(text, end="", flush=True)
        places = {Path(path).resolve() for path, _ in found}
        bad = {source for source in group if places & self.files[source].keys()}
        if text and not bad:  # it failed without naming a file of the tree
            bad = set(group)
        for source in set(group) - bad:
            self.known[source].touch()
        return bad


class OneFile:
    """A file with the text of all sources of a group.

    It does not include them: clang-tidy 14 leaves included files out of some checks, such as the static
    analyzer's and misc-unused-using-decls.
    """

    def __init__(self, group):
        self.sources, self.first_lines, text = group, [], ""
        for source in group:
            self.first_lines.append(text.count("\n") + 1)
            text += source.read_text().rstrip("\n") + "\n"
        self.path = group[0]
        if len(group) > 1:
            self.path = DATABASE / "groups" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.cc"
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(text)

    def with_real_places(self, complaints):
        """Replaces the places in this file by those in the sources."""
        def real(match):
            line = int(match[1])
            index = bisect.bisect_right(self.first_lines, line) - 1
            return f"{self.sources[index]}:{line - self.first_lines[index] + 1}:"
        return re.sub(rf"{re.escape(str(self.path))}:(\d+):", real, complaints)


def run_tidy(group, options):
    """Returns the complaints about sources that compile as one file, "" if there are none."""
    one = OneFile(group)
    run = subprocess.run(
        ["clang-tidy-14", "--quiet", f"--config-file={TREE}/.clang-tidy", str(one.path), "--",
         *options[1:], "-Wno-unknown-warning-option"],
        cwd=BUILT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode == 0:
        return ""
    return one.with_real_places(run.stdout or run.stderr) or f"{one.path}: clang-tidy failed\n"


def is_of_every_commit(path):
    is_left_out = any(path.is_relative_to(TREE / "src" / folder) for folder in NOT_CLEAN_YET)
    return path.is_relative_to(TREE / "src") and not path.name.endswith("_test.cc") and not is_left_out


def ranks(paths):
    """Ranks the last commit's files first, then those of the boundary, then the others."""
    last = subprocess.run(["git", "-C", str(TREE), "diff", "--name-only", "HEAD~1"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout.split()
    changed = {TREE / name for name in last}

    def rank(path):
        is_boundary = any(path.is_relative_to(TREE / "src" / folder) for folder in BOUNDARY)
        return (path not in changed, not is_boundary, path)
    return {path: rank(path) for path in paths}


def forget_old(days=60):
    oldest = time.time() - days * 86400
    for known in MEMORY.iterdir():
        if known.stat().st_mtime < oldest:
            known.unlink(missing_ok=True)


def plain_options(command):
    """Returns the words of a compile command without its input, its output and the precompiled header."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word in ("-o", "-c"):
            next(words)
        elif word == "-include":
            header = next(words)
            if not header.endswith("/cmake_pch.hxx"):
                kept += [word, header]
        elif word != "-Winvalid-pch":
            kept.append(word)
    return kept


def read_groups():
    """Returns the groups of sources that compile as one file, and the compile options of each source.

    They come from a configuration of their own, in which the build groups sources; its generated files are
    those of BUILT.
    """
    run = subprocess.run(["cmake", "--preset", "release", "-B", str(DATABASE), "-DNUTSHELL_UNITY=ON"],
                         cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{run.stdout}tidy: cmake could not configure {DATABASE}")
    groups, options = [], {}
    for entry in json.loads((DATABASE / "compile_commands.json").read_text()):
        file = Path(entry["directory"], entry["file"]).resolve()
        sources = [file]
        if file.parent.name == "Unity":
            sources = [Path(source) for source in INCLUDE.findall(file.read_text())]
        command = entry["command"].replace(str(DATABASE), str(BUILT))
        sources = [source for source in sources if source not in options and
                   source.is_relative_to(TREE) and not source.is_relative_to(TREE / "build")]
        options.update({source: plain_options(command) for source in sources})
        if sources:
            groups.append(sources)
    return groups, options


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=0, metavar="N")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    options = parser.parse_args()
    groups, compile_options = read_groups()
    chosen = {path.resolve() for path in options.files} or {
        path for path in compile_options if options.all or is_of_every_commit(path)}
    unknown = [str(path) for path in chosen if path not in compile_options]
    if unknown:
        sys.exit(f"tidy: the build does not compile {' '.join(unknown)}")
    MEMORY.mkdir(parents=True, exist_ok=True)
    linter = Linter({path: compile_options[path] for path in chosen}, options.seconds)
    rank = ranks(chosen)
    waiting = [[path for path in group if path in chosen and not linter.is_known(path)] for group in groups]
    waiting = sorted(filter(None, waiting), key=lambda group: min(rank[path] for path in group))
    with ThreadPoolExecutor(os.cpu_count() or 1) as workers:
        results = list(workers.map(linter.complaints, waiting))
    bad = set().union(*results)
    left_out = sum(1 for path in chosen - bad if not linter.known[path].exists())
    forget_old()
    if left_out:
        print(f"warning: no time was left for {left_out} of {len(chosen)} files; the next run continues")
    print(f"{len(chosen) - left_out} files, {len(bad)} with complaints")
    return 1 if bad or left_out == len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
