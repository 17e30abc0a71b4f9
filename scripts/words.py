#!/usr/bin/env python3
"""Checks the sizes of files, marks of unfinished work, and names.

    scripts/words.py [TREE]    exits 1 and prints file:line for each breach

A .cc, .h or .py file over 500 lines gets a warning, one over 600 is refused. Marks of unfinished work are
refused everywhere below src, tests, bench, scripts and cmake. Names of files and of C++ identifiers must not
contain the words util, helper, manager, common or misc (comments, strings and names of std may). Comments,
docstrings and names of tests begin with a noun or a verb and not with "What", "Who" and the like. Commands
print to standard output only through src/cli/print.h, and to standard error through print_error() or
terminal_line(), which make text safe for a terminal.
"""

import os
import re
import sys
from pathlib import Path

FOLDERS = ("src", "tests", "bench", "scripts", "cmake")
WARN_LINES, MOST_LINES = 500, 600
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
EMPTY_NAME = re.compile(r"(utils?|helpers?|managers?|common|misc)", re.IGNORECASE)
RIDDLE = re.compile(r"(What|Whatever|Who|Whoever|Of|One (that|who)|Nobody|Somebody|None|Its|That)\b")
RIDDLE_NAME = re.compile(r"(What|Whatever|Who|Whoever|Of|Nobody|Somebody|None|Its|That)(?![a-z])")
TEST_NAME = re.compile(r"^TEST(?:_F|_P)?\(\w+, (\w+)\)", re.MULTILINE)
DOCSTRING = re.compile(r'^\s*"""\s*(.*)')
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


def check_comments(path, text):
    """Looks at the first line of each comment and docstring, and at the names of tests."""
    sign = "//" if path.suffix in (".cc", ".h") else "#"
    is_begun = False
    for number, line in enumerate(text.splitlines(), start=1):
        before, mark, comment = line.partition(sign)
        is_whole_line = bool(mark) and not before.strip() and not line.startswith("#!")
        begins = bool(mark) and (before == "" or before[-1].isspace()) and not (is_whole_line and is_begun)
        if docstring := sign == "#" and DOCSTRING.match(line):
            begins, comment = True, docstring[1]
        if begins and RIDDLE.match(comment.strip()):
            word = comment.split()[0]
            yield f"{path}:{number}: begins a comment with '{word}'; begin with a noun or a verb"
        is_begun = is_whole_line
    for name in TEST_NAME.findall(text) if sign == "//" else ():
        if RIDDLE_NAME.match(name):
            yield f"{path}: the test {name} is not a subject and a fact"


def check_size(path, text):
    lines = text.count("\n")
    if lines > MOST_LINES:
        yield f"{path}: {lines} lines; at most {MOST_LINES} are allowed, so split it"
    elif lines > WARN_LINES:
        print(f"warning: {path}: {lines} lines; does it hold two ideas?")


def check_printing(path, text):
    if "cli" not in path.parts or path.stem == "print" or path.stem.endswith("_test"):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if re.search(r"fmt::print\((?!stderr)|std::cout|std::cerr|\b(f?puts|f?printf)\(", line):
            yield f"{path}:{number}: prints without src/cli/print.h, so a hostile name could forge lines"
    for found in re.finditer(r"fmt::print\(stderr,[^;]*;", text):
        if "{" in found[0] and "terminal_line(" not in found[0]:
            number = text.count("\n", 0, found.start()) + 1
            yield f"{path}:{number}: prints to standard error without terminal_line(); use print_error()"


def check_file(path):
    if says_nothing(path.stem):
        yield f"{path}: the file name does not say what it holds"
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return  # binary: a corpus or recorded output
    if path.suffix in (".cc", ".h", ".py"):
        yield from check_size(path, text)
    if path.suffix in (".cc", ".h"):
        yield from check_identifiers(path, text)
        yield from check_printing(path, text)
    is_script = text.startswith("#!") and not {"testdata", "cases"} & set(path.parts)
    if path.suffix in (".cc", ".h", ".py", ".sh") or is_script:
        yield from check_comments(path, text)
    if not {"testdata", "corpus"} & set(path.parts):
        for number, line in enumerate(text.splitlines(), start=1):
            if UNFINISHED.search(line):
                yield f"{path}:{number}: marks unfinished work; open an issue instead"


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
