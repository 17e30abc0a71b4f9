#!/usr/bin/env python3
"""Checks that the folders of src/ include each other only as ARCHITECTURE.md allows.

It reads the layers from the fenced block of ARCHITECTURE.md that starts with ```layers. Each line of the
block is a number and the folders of that layer; text after a # is a comment:

    1 base            # results, owners of kernel objects
    2 core
    3 wire http

A folder includes from itself and from lines above its own, never from a neighbour on its line. A folder and
its subfolders must not include each other in a circle; tests, fixtures and files with a main() may. The
name of a backend may appear only in its folder, in src/backends/registry.cc, in tests and in files with a
main(). Headers that are slow to compile may be included only by .cc files.

    scripts/layers.py [TREE]    exits 1 and prints file:line for each breach
"""

import os
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
HEAVY = re.compile(
    r"nlohmann/(?!json_fwd\.hpp)|CLI/|toml\+\+/|archive(_entry)?\.h$|seccomp\.h$|google/|\.pb\.h$")


def read_layers(text):
    """Maps each folder to the number of its layer, or raises ValueError."""
    blocks = re.findall(r"^```layers\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    if len(blocks) != 1:
        raise ValueError(f"must have one fenced block that starts with ```layers, and has {len(blocks)}")
    layers = {}
    lines = [line.split("#")[0].split() for line in blocks[0].splitlines()]
    for number, words in enumerate(filter(None, lines), start=1):
        if words[0] != str(number) or len(words) < 2:
            raise ValueError(f"layer line {number} must be `{number} FOLDER…`, is `{' '.join(words)}`")
        for folder in words[1:]:
            if layers.setdefault(folder, number) != number:
                raise ValueError(f"the folder {folder} is on two lines of the layers")
    return layers


def check_folders(source, layers):
    found = {path.name for path in source.iterdir() if path.is_dir()}
    for folder in sorted(found - layers.keys()):
        yield f"src/{folder}: is not among the layers of ARCHITECTURE.md"
    for folder in sorted(layers.keys() - found):
        yield f"ARCHITECTURE.md: names the folder {folder}, but src/{folder} does not exist"


def check_own_include(parts, target, layers):
    """Returns why a file with the path `parts` below src may not include `target`; None if it may."""
    if target.endswith((".inc", ".pb.h")):  # generated at build time, for the folder that includes it
        return None
    folder, wanted = parts[0], target.split("/")[0]
    if wanted not in layers:
        return f'includes "{target}", which is not below a folder of src/'
    if wanted != folder and layers[wanted] >= layers.get(folder, 0):
        return f"{folder} may not include from {wanted}, which is not in a layer above it"
    if folder == "backends" and target.startswith("backends/"):
        other = target.split("/")[1:-1]
        may_know_all = parts[1:] in (("registry.cc",), ("registry_test.cc",))
        if other and other[0] != parts[1] and not may_know_all:
            return f"only the registry and the backend itself may include {target}"
    return None


def is_test(parts):
    return parts[-1].endswith("_test.cc")


def check_includes(path, parts, layers):
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        if quote == '"':
            reason = check_own_include(parts, target, layers)
        else:
            heavy = path.suffix == ".h" and HEAVY.match(target)
            reason = f"<{target}> is slow to compile: include it in .cc files only" if heavy else None
        if reason:
            yield f"{path}:{number}: {reason}"


def folder_graph(source):
    """Maps each directory below src to those it includes from, with one include as the example."""
    graph = {}
    for path in sorted(source.rglob("*")):
        name = path.name
        if path.suffix not in (".cc", ".h") or name == "main.cc" or re.search(r"_(test|fixture)\.", name):
            continue
        folder = str(path.parent.relative_to(source))
        for line in path.read_text().splitlines():
            match = INCLUDE.match(line)
            target = match and match[1] == '"' and os.path.dirname(match[2])
            if target and target != folder and target.split("/")[0] == folder.split("/")[0]:
                graph.setdefault(folder, {}).setdefault(target, f"{path} includes {match[2]}")
    return graph


def check_circles(source):
    """Yields each include between two directories of which each includes, directly or not, from the other."""
    graph = folder_graph(source)

    def reached_from(folder):
        found, left = set(), [folder]
        while left:
            for target in graph.get(left.pop(), {}):
                if target not in found:
                    found.add(target)
                    left.append(target)
        return found

    for folder, targets in sorted(graph.items()):
        for target, example in sorted(targets.items()):
            if folder in reached_from(target):
                yield f"{example}, but src/{target} includes from src/{folder}, directly or through others"


# Files in which a backend's name means something else: output as the command printed it, a type of files, a
# program that a user ran, a word of Roche's.
OTHER_MEANING = {"native": (("compaction", "compactor.h"), ("compaction", "native.cc"), ("compaction", "gain_log.cc"),
                            ("cli", "commands", "render.cc"), ("roche", "sandbox_request.cc")),
                 "docker": (("init", "search", "file_types.cc"), ("compaction", "command_words.cc"),
                            ("roche", "sandbox_request.h")),
                 "gvisor": (("roche", "sandbox_request.cc"),)}


def backend_name_pattern(name):
    pascal = "".join(word.capitalize() for word in name.split("_"))
    return re.compile(rf'"{name}"|\b{pascal}Backend|\bmake_{name}_backend|\b{name}::|'
                      rf"\bnamespace (nutshell::)?{name}\b|\bbackends/{name}/")


def check_backend_names(path, parts, patterns):
    """Yields lines that name a backend outside its folder, which would tie the rest of the tree to it."""
    is_main = parts[-1] == "main.cc" or parts[-1].endswith("_main.cc")
    if is_test(parts) or is_main or parts == ("backends", "registry.cc"):
        return
    for name, pattern in patterns.items():
        if parts[:2] == ("backends", name) or parts in OTHER_MEANING.get(name, ()):
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if pattern.search(line):
                yield f"{path}:{number}: names the backend {name}, which only its own folder may"


def check(tree):
    source = tree / "src"
    layers = read_layers((tree / "ARCHITECTURE.md").read_text())
    yield from check_folders(source, layers)
    yield from check_circles(source)
    backends = source / "backends"
    names = [path.name for path in backends.iterdir() if path.is_dir()] if backends.is_dir() else []
    patterns = {name: backend_name_pattern(name) for name in names}
    for path in sorted(source.rglob("*")):
        parts = path.relative_to(source).parts
        if path.suffix in (".cc", ".h") and len(parts) > 1:
            yield from check_includes(path, parts, layers)
            yield from check_backend_names(path, parts, patterns)


def main(arguments):
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    os.chdir(arguments[0] if arguments else Path(__file__).resolve().parent.parent)
    try:
        breaches = list(check(Path()))
    except (OSError, ValueError) as error:
        print(f"ARCHITECTURE.md: {error}")
        return 1
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
