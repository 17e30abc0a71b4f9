#!/usr/bin/env python3
"""Checks sizes and words: no file that is too long, no unfinished work, no name that says nothing.

    scripts/words.py [TREE]    exits 1 and prints file:line for each breach

A .cc, .h or .py file over 400 lines is warned about, over 600 refused. Marks of unfinished work are
refused in everything below src, tests, bench, scripts and cmake. Names made with util, helper,
manager, common or misc are refused for files, and for identifiers in C++ (comments, strings and std
itself excepted). Commands print to standard output through src/cli/print.h alone, which makes text
safe for a terminal.
"""

import os
import re
import sys
from pathlib import Path

FOLDERS = ("src", "tests", "bench", "scripts", "cmake")
WARN_LINES, MOST_LINES = 400, 600
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
EMPTY_NAME = re.compile(r"(utils?|helpers?|managers?|common|misc)", re.IGNORECASE)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
IDENTIFIER = re.compile(r"(?<![\w:])(?!std::)(?:\w+::)*\w+")
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
    r"'(?:\\.|[^'\\\n])+'|^\s*#\s*include[^\n]*", re.DOTALL | re.MULTILINE)


def says_nothing(name):
    return any(EMPTY_NAME.fullmatch(word) for word in WORD.findall(name))


def blank(match):
    return "\n" * match.group().count("\n") or " "


def check_identifiers(path, text):
    for number, line in enumerate(NOT_CODE.sub(blank, text).splitlines(), start=1):
        for name in IDENTIFIER.findall(line):
            if says_nothing(name):
                yield f"{path}:{number}: the name {name} does not say what it is"


def check_size(path, text):
    lines = text.count("\n")
    if lines > MOST_LINES:
        yield f"{path}: {lines} lines; {MOST_LINES} is the end, split it"
    elif lines > WARN_LINES:
        print(f"warning: {path}: {lines} lines; over {WARN_LINES} it wants to be two")


def check_printing(path, text):
    if "cli" not in path.parts or path.stem == "print" or path.stem.endswith("_test"):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if re.search(r"fmt::print\((?!stderr)|std::cout|\bputs\(", line):
            yield f"{path}:{number}: prints past src/cli/print.h, so that a name can forge lines"


def check_file(path):
    if says_nothing(path.stem):
        yield f"{path}: the file name does not say what it holds"
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return  # a corpus or recorded output
    if path.suffix in (".cc", ".h", ".py"):
        yield from check_size(path, text)
    if path.suffix in (".cc", ".h"):
        yield from check_identifiers(path, text)
        yield from check_printing(path, text)
    if not {"testdata", "corpus"} & set(path.parts):
        for number, line in enumerate(text.splitlines(), start=1):
            if UNFINISHED.search(line):
                yield f"{path}:{number}: unfinished work is an issue, not a comment"


def check(tree):
    for folder in FOLDERS:
        for path in sorted((tree / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield from check_file(path)


def main(arguments):
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0
    os.chdir(arguments[0] if arguments else Path(__file__).resolve().parent.parent)
    breaches = list(check(Path()))
    for breach in breaches:
        print(breach)
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
