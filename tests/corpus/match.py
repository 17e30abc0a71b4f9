"""Decides whether a fact survived in a text, and whether the text claims what was never printed.

A fact is one of
  {"all": [S, …]}                         every S stands in the text; S may be a list: any one of it
  {"row": [S, …]}                         the same, on one line
  {"cells": {TITLE: value, …}}            a row of a table: each value below its title, or said once for all
                                          rows (`all: TITLE=value`); {"first": S} is the first word of a cell
  {"change": [FILE, LINE, TEXT]}          a line of a patch, `+…` or `-…`, in its file and at its line of the new one
  {"state": [STATE, PATH]}                what git status says of a path
  {"commit": [HASH, AUTHOR, DAY, SUBJECT]}
  {"file", "line", "column", "message"}   the message, with its place on that line or right beside it
                                          ("or_file": the same file by another path)
  {"under": [H, …], "row": [S, …]}        the strings, on one line of the block that one of the headings H begins; it
                                          ends at the next heading of another fact
  {"record": {KEY: VALUE, …}}             a record that has these values: an object of JSON, a line of key=value, a row
                                          below its keys
  {"path": P}                             the path, whole or as a name below its directory's heading
                                          (git's a/ and b/ may stand before it)
"all", "row" and "path" may be joined, also by "starts": [S, …], words that begin with S (the head of a hash).

What belongs together has to stand together: the strings of one "all" fact are looked for between the
lines that name the other facts of the case, and a place beside its message (`apart`).

Strings are compared with runs of blanks as one blank and typographic quotes as plain ones, and whole
words only: `test_1` is not found in `test_10`. A place may be written `f.c:3:5` or `f.c(3,5)`, stand
in a list after its file (`f.c:3:5 9:1`), or on an indented line below it (eslint's way).
"""
import collections
import itertools
import re

import readings

QUOTES = str.maketrans("‘’“”`", "''\"\"'")
BLANKS = re.compile(r"[ \t\u00a0]+")
PLACE_LIST = re.compile(r"(?<![\w./+@-])((?:[\w.+@-]*/)*[\w+@-][\w.+@-]*\.[A-Za-z]\w*):"
                        r"(\d+(?::\d+)?(?: \d+:\d+)*)(?![\w.])")
JOINED_PATHS = re.compile(r"^\S*/: \S", re.MULTILINE)  # names below their directory
COUNT = re.compile(r"(?<![\w.:/-])(\d+) (passed|failed|errors?|warnings?|skipped|failures?|tests|ignored)\b")
ANY_PLACE = re.compile(r"[\w/-]\.\w+[:(]\d+|^ ?\d+[:-]|^[\w./@+-]+:\d+:")
MOST_LINES_OF_MESSAGE = 3  # a tool may break it
MOST_LINES_OF_SOURCE = 6  # between a place that stands alone and its message
LINES_BEFORE, LINES_BEHIND = 1, 2  # where its place may stand besides
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


def plain(text):
    return BLANKS.sub(" ", ANSI.sub("", text).translate(QUOTES))


def has_word(text, wanted):
    """WANTED in TEXT, not as a part of a longer word or number."""
    return first_word(text, wanted) >= 0


def first_word(text, wanted):
    """Where WANTED stands in TEXT for the first time, as whole words; -1 when nowhere."""
    wanted = plain(wanted).strip()
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        is_open = start == 0 or not (is_letter(text[start - 1]) and is_letter(wanted[0]))
        is_closed = end == len(text) or not (is_letter(text[end]) and is_letter(wanted[-1]))
        if is_open and is_closed:
            return start
        start = text.find(wanted, start + 1)
    return -1


def is_letter(character):
    return character.isalnum() or character == "_"


def has_all(text, strings):
    return all(has_word(text, one) if isinstance(one, str) else any(has_word(text, any_of) for any_of in one)
               for one in strings)


class Text:
    """A rendered text, prepared once for many facts."""

    def __init__(self, text, facts=()):
        self.facts = facts  # of the whole case: whose headings end a block
        self.whole = plain(text)
        self.joined = BLANKS.sub(" ", self.whole.replace("\n", " "))
        rows = readings.table_diagnostics(ANSI.sub("", text).translate(QUOTES).split("\n"))
        self.lines = self.whole.split("\n") + [plain(row) for row in rows]
        self.indented = ANSI.sub("", text).translate(QUOTES).split("\n") + rows
        self.found = {}

    def holds(self, fact):
        if "cells" in fact:
            return any(readings.has_cells(row, fact["cells"]) for row in self.read("cells"))
        if "record" in fact:
            return any(readings.has_values(record, fact["record"]) for record in self.read("record"))
        if "under" in fact:
            return self.holds_under(fact)
        for reading in ("change", "state", "commit"):
            if reading in fact:
                return tuple(fact[reading]) in self.read(reading)
        if "path" in fact and not self.holds_path(fact["path"]):
            return False
        if "message" not in fact:
            return self.holds_strings(fact)
        return self.holds_message(fact)

    def holds_message(self, fact):
        """The place stands on the line where the message begins, or on one of the few that tell more of it."""
        message = fact["message"]
        places = [(file, fact["line"], fact["column"]) for file in (fact["file"], fact.get("or_file")) if file]
        first = plain(message).split(" ")[0]
        for start in range(len(self.lines)):
            if first not in self.lines[start]:
                continue
            for end in range(start + 1, start + 1 + MOST_LINES_OF_MESSAGE):
                if 0 <= first_word(BLANKS.sub(" ", " ".join(self.lines[start:end])), message) < len(self.lines[start]):
                    near = self.lines_of_place(start, end)
                    if any(self.line_holds_place(at, *place) for at in near for place in places):
                        return True
                    if any(self.is_in_block_of(start, *place) or self.is_below_place(start, *place) or self.is_above_place(end, *place) or
                           self.is_divided_row(start, *place) for place in places):
                        return True
                    break
        return False

    def is_in_block_of(self, start, file, line, column):
        """ShellCheck's `In x.sh line 3:` above, and no blank line between."""
        for row in reversed(self.lines[:start]):
            if not row.strip():
                return False
            if found := re.fullmatch(r"In (\S+) line (\d+):", row.strip()):
                return not column and found.groups() == (file, str(line))
        return False

    def is_below_place(self, start, file, line, column):
        """The message stands a few lines below its place, which is alone on its line: `a.f90:3:5:`, `File "a.ml", line 2, …:`."""
        for row in reversed(self.lines[max(0, start - MOST_LINES_OF_SOURCE):start]):
            if found := re.fullmatch(r"(\S+?):(\d+)(?::(\d+))?:", row.strip()):
                return found.group(1) == file and int(found.group(2)) == line and (not column or int(found.group(3) or 0) == column)
            if found := re.match(r'File "([^"]+)", line (\d+)', row.strip()):
                return found.group(1) == file and int(found.group(2)) == line and not column
        return False

    def is_above_place(self, end, file, line, column):
        """The place stands below the message: `on a.tf line 3:`, or below source in a frame `└─ lib/a.ex:3:5: A.b/1`."""
        for row in self.lines[end:end + MOST_LINES_OF_SOURCE]:
            if found := re.match(r"[│ ]*on (\S+) line (\d+)[:,]", row):
                return found.group(1) == file and int(found.group(2)) == line and not column
            if found := re.match(r"\s*└─ (\S+?):(\d+)(?::(\d+))?(?!\d)", row):
                return found.group(1) == file and int(found.group(2)) == line and (not column or int(found.group(3) or 0) == column)
            if not re.match(r"\s*\d*\s*│|\s*$", row):
                return False
        return False

    def is_divided_row(self, start, file, line, column):
        """`12 | ERROR | text` and `L:  12 | P:  3 | LT01 | text`, below a line that names the file."""
        found = re.match(r"\s*(?:L: ?)?(\d+) \|(?: P: ?(\d+) \|)?", self.lines[start])
        if not found or int(found.group(1)) != line or (column and int(found.group(2) or 0) != column):
            return False
        heading = next((row for row in reversed(self.lines[:start]) if re.match(r"FILE: |== \[", row)), "")
        return has_word(heading, file)

    def holds_under(self, fact):
        """The strings stand on one line whose nearest heading, on the line itself or above, is the fact's own."""
        own = fact["under"]
        for at in (at for at, line in enumerate(self.lines) if has_all(line, fact["row"])):
            if has_all(self.lines[at], [own]):
                return True
            above = next((row for row in range(at, -1, -1) if row in self.heading_lines()), None)
            if above is not None and has_all(self.lines[above], [own]):
                return True
        return False

    def heading_lines(self):
        """The lines on which a heading of any fact stands."""
        if "heading" not in self.found:
            headings = {one for fact in self.facts for one in fact.get("under", [])}
            self.found["heading"] = {at for at, line in enumerate(self.lines)
                                     if any(one in line and has_word(line, one) for one in map(plain, headings))}
        return self.found["heading"]

    def holds_strings(self, fact):
        row, strings = fact.get("row", []), fact.get("all", [])
        if row and not any(has_all(line, row) for line in self.lines):
            return False
        if not all(re.search(r"(?<!\w)" + re.escape(start), self.whole) for start in fact.get("starts", [])):
            return False
        return has_all(self.whole, strings) or has_all(self.joined, strings)

    def lines_of_place(self, start, end):
        """A message that has a place on its own line has it there; else it stands right beside."""
        if any(ANY_PLACE.search(line) for line in self.lines[start:end]):
            return range(start, end)
        return range(max(0, start - LINES_BEFORE), min(len(self.lines), end + LINES_BEHIND))

    def line_holds_place(self, at, file, line, column):
        """The place on this line: behind its file, or below the heading that is its file."""
        if str(line) not in self.lines[at]:
            return False
        name = r"(?:(?<![\w/.-])|(?<=\s\./)|(?<=^\./)|(?<=file://))" + re.escape(file)
        comma = rf"[:,]0?{column}(?!\d)" if column else r"(?!\d)"  # gnat writes 4:04
        among = r"(?:\d+(?:[:,]\d+)?[ ,;]+)*"
        if re.search(rf"{name}[:(] ?(?:{among})[(\[]?{line}{comma}", self.lines[at]):
            return True
        if column and re.search(rf"{name}: .* at line {line}, column {column}(?!\d)", self.lines[at]):  # Perl's
            return True
        if not column and re.search(rf'"{re.escape(file)}", line {line}(?!\d)', self.lines[at]):  # Python's
            return True
        if not column and re.search(rf"(?:^|[ │])on {re.escape(file)} line {line}[:,]", self.lines[at]):  # Terraform's
            return True
        if not column and re.match(rf"\s+{line}\s", self.lines[at]):  # PHPStan's
            heading = next((row.split() for row in reversed(self.lines[:at]) if re.match(r"\s*Line\s", row)), [])
            if heading == ["Line", file]:
                return True
        if not column and re.match(rf"{line}[:-]", self.lines[at]):  # ripgrep's, below its file
            return self.heading_above(at).removeprefix("./") == file
        if self.indented[at][:1].strip() or not re.match(rf"\s+{among}{line}{comma}(?!\w)", self.indented[at]):
            return False
        heading = next((row for row in reversed(self.indented[:at]) if row[:1].strip()), "")
        return re.match(re.escape(file) + r"(?![\w/.-])", heading) is not None

    def heading_above(self, at):
        """The nearest line above that is none of `3:hit` and `4-beside it`."""
        return next((row for row in reversed(self.lines[:at]) if not re.match(r"\d+[:-]|--$", row)), "")

    def points_at(self, file, line, column):
        """ShellCheck's `In x.sh line 3:`, and a caret in this column below it."""
        for start, row in enumerate(self.lines):
            if row.strip() == f"In {file} line {line}:":
                below = itertools.takewhile(str.strip, self.indented[start + 1:])
                return not column or any(shown[:column].strip() == "^" and len(shown) >= column for shown in below)
        return False

    def holds_place(self, file, line, column):
        return self.points_at(file, line, column) or any(self.line_holds_place(at, file, line, column) for at in range(len(self.lines)))

    def holds_path(self, path):
        start = r"(?:^|(?<=[^\w/.-])|(?<=(?<![\w/.-])[.ab]/))"
        if re.search(rf"{start}{re.escape(path)}(?![\w/-]|\.\w)", self.whole, re.MULTILINE):
            return True
        return path in self.read("path")

    def read(self, reading):
        """Facts found in a reading, computed once."""
        if reading not in self.found:
            self.found[reading] = READINGS[reading](self.indented)
        return self.found[reading]


READINGS = {
    "cells": lambda lines: list(readings.table_rows(lines)),
    "record": lambda lines: list(readings.records(lines)),
    "change": lambda lines: set(readings.changes(lines)),
    "path": lambda lines: {*readings.paths(lines), *readings.section_paths(lines)},
    "state": lambda lines: readings.states(lines, readings.paths),
    "commit": lambda lines: set(readings.commits(lines)),
}


def lost(facts, text, of_case=None):
    """The facts that TEXT does not hold; OF_CASE are all facts of the case if FACTS are only some of them."""
    prepared = Text(text, facts if of_case is None else of_case)
    return [fact for fact in facts if not prepared.holds(fact)]


def apart(facts, text):
    """Facts whose strings all stand in TEXT, but not together: behind the fact's name, before another's string."""
    whole, counts = plain(text), collections.Counter(one for fact in facts for one in set(names_of(fact)))
    own = [[one for one in names_of(fact) if counts[one] == 1] for fact in facts]
    found = sorted((at, index, one) for index, strings in enumerate(own) for one in strings
                   if one == strings[0] or is_telling(one) for at in places_of(whole, one))
    return [fact for index, fact in enumerate(facts) if own[index] and
            not any(has_all(block, fact["all"]) for block in blocks(whole, found, index, own[index][0]))]


def is_telling(string):
    """Longer than a count, a column or a status, which say something else too."""
    return len(string) > 3


def names_of(fact):
    """The strings that may tell an "all" fact of several strings from the others."""
    return [one for one in fact.get("all", []) if isinstance(one, str)] if len(fact.get("all", [])) > 1 else []


def blocks(text, found, owner, name):
    """For each time the fact is named: from its line to the next string of another's.

    On a line that has another's string before the name, each begins with its name.
    """
    for index, (at, _, one) in enumerate(found):
        if one != name:
            continue
        line = text.rfind("\n", 0, at) + 1
        begin = at if any(start >= line and whose != owner for start, whose, _ in found[:index]) else line
        behind = next((start for start, whose, _ in found[index + 1:] if whose != owner), len(text))
        yield text[begin:behind].replace("\n", " ")


def places_of(text, wanted):
    return [found.start() for found in re.finditer(rf"(?<!\w){re.escape(plain(wanted))}(?!\w)", text)]


def invented(raw, facts, must_not, text):
    """Claims of TEXT that RAW does not make: places, counts, and words of success on a failing run."""
    given, rendered, raw, text = raw, text, plain(raw), plain(text)
    found = [word for word in must_not if has_word(text.lower(), word) and not says(raw.lower(), word)]
    if facts and all(list(fact) == ["path"] for fact in facts):  # a listing, and nothing else
        real = {fact["path"] for fact in facts}
        found += sorted(set(readings.paths(rendered.split("\n")[1:])) - real - {""})[:3] if JOINED_PATHS.search(rendered) else []
    counts = {str(count) for count in counted(raw, facts)} | {str(len(facts))}
    printed = Text(given + given.replace("\\n", "\n").replace("\\t", "\t") if "\\n" in given else given)  # text within JSON
    for file, line, column in sorted(places(text)):
        if not printed.holds_place(file, line, column):
            found.append(f"{file}:{line}:{column}")
    for match in COUNT.finditer(text):
        if match.group(1) not in counts and not any(
                has_word(line, match.group(1)) and match.group(2)[:4] in line.lower() for line in raw.split("\n")):
            found.append(match.group())
    return found


def places(text):
    """Every place a text gives, those of a list behind one file too (`f.c:3:5 9:1`)."""
    for match in PLACE_LIST.finditer(text):
        for line, column in re.findall(r"(?<!\d)(\d+)(?::(\d+))?", match.group(2)):
            yield match.group(1), line, int(column or 0)


def says(raw, words):
    """`0 errors` is also said by `errors: 0`."""
    first, _, rest = words.partition(" ")
    return has_word(raw, words) or (first.isdigit() and has_word(raw, f"{rest}: {first}"))


def counted(raw, facts):
    """Counts a renderer may well state although the tool did not print them."""
    lines = raw.split("\n")
    yield sum("message" in fact for fact in facts)
    yield sum(ANY_PLACE.search(line) is not None for line in lines)
    yield from (sum(line.startswith(level) for line in lines) for level in ("e: ", "w: "))  # Kotlin's
    for word in ("error", "warning", "fail", "FAIL", "passed", "PASS", "ok", "SKIP", "skip"):
        yield sum(word in line for line in lines)
        yield len(re.findall(rf"{word}:", raw))
