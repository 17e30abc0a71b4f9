"""Reads what a text says back into rows, changes, states and commits, as someone would who has only the text.

Each reading knows the tool's own form and the short one of docs/compaction.md, and nothing else: what it
cannot give back is lost, however much of it stands there. Lines come with their indentation.
"""
import json
import re

TITLE = re.compile(r"[A-Z][A-Z0-9()%/-]*(?: [A-Z0-9()%/-]+)*")


# Tables -----------------------------------------------------------------------------------------

def table_rows(lines):
    """Rows of tables, title to value: in columns below their titles, or joined by `|`."""
    columns, shared = None, {}
    for line in lines:
        if line.startswith("all: "):
            shared = dict(part.split("=", 1) for part in line[5:].split(", ") if "=" in part)
            columns = None
        elif not line.strip():
            columns, shared = None, {}
        elif is_heading(line):
            columns = line.split("|") if "|" in line else [(found.start(), found.group())
                                                           for found in TITLE.finditer(line)]
        elif columns and isinstance(columns[0], str):
            cells = line.split("|")
            if len(cells) == len(columns):
                yield {**shared, **dict(zip(columns, cells))}
        elif columns:
            ends = [start for start, _ in columns[1:]] + [len(line)]
            yield {title: line[start:end].strip() for (start, title), end in zip(columns, ends)}


def is_heading(line):
    if "|" in line:
        return all(TITLE.fullmatch(part) for part in line.split("|"))
    return len(line.split()) > 1 and all(TITLE.fullmatch(part) for part in re.split(r"  +", line.strip()))


def has_cells(row, cells):
    """{"first": S} asks for the first word of a cell."""
    for title, wanted in cells.items():
        found = row.get(title)
        if isinstance(wanted, dict):
            wanted, found = wanted["first"], (found or "").split(" ")[0]
        if found != wanted:
            return False
    return True


# Diagnostics ------------------------------------------------------------------------------------

def table_diagnostics(lines):
    """Diagnostics of a table, each written out: `A = warning: '…' is unused ×2`, then `a.c: 3:5 A x, 9:1 A y` for each file."""
    legend, found = {}, []
    for line in lines:
        if entry := re.match(r"([A-Z]{1,3}) = (.*) ×\d+$", line):
            legend[entry.group(1)] = entry.group(2)
        elif legend and (row := re.match(r"(\S+): (.*)$", line)):
            for one in row.group(2).split(", "):
                entry = re.fullmatch(r"([\d:]*) ?([A-Z]{1,3})((?: \S+)*)", one)
                if not entry or entry.group(2) not in legend:
                    continue
                parts, words = legend[entry.group(2)].split("…"), entry.group(3).split()
                if len(parts) == len(words) + 1:
                    message = parts[0] + "".join(word + part for word, part in zip(words, parts[1:]))
                    found.append(":".join(filter(None, (row.group(1), entry.group(1)))) + ": " + message)
    return found


# Records ----------------------------------------------------------------------------------------

PAIR = re.compile(r'(?<![\w.])([A-Za-z_@][\w.@/\[\]-]*)=("(?:[^"\\]|\\.)*"|\'[^\']*\'|[^\s,;|]+)')
FIELD = re.compile(r'"?([A-Za-z_@$][\w.@/$-]*)"?:(?: +(.+?))?,?')
KEY = re.compile(r'"?[A-Za-z_@$][\w.@/$\[\] -]*"?|#')
SHARED = re.compile(r"\s*(?:all(?: rows)?:|×\d+) .*=")  # what rows below have in common: of all of them, of the next ones
RULE = re.compile(r"[-+=| :─│├┼┤┌┬┐╭╮]+")  # between a heading and its rows
DIVIDERS = ("|", "\t", "│", ",")
SPOKEN = {"msg", "message", "event"}  # keys that a line of a log need not name


def records(lines):
    """Every record of a text, key to value: JSON, key=value, rows below their keys.

    Above the rows may stand what all have in common: `all: key=value`, and `×3 key=value` of the next three. The line
    itself is the value of the key "".
    """
    yield from json_records("\n".join(lines))
    keys, divider, of_all, of_next = [], "", {}, {}
    for line in lines:
        pairs = {key: bare(value) for key, value in PAIR.findall(line)}
        if found := json_object(line):
            yield from found
        elif SHARED.match(line):
            if line.lstrip().startswith("all"):
                of_all, of_next = pairs, {}
            else:
                of_next = pairs
            keys = []
        elif pairs:
            yield {**of_all, **of_next, **pairs, "": line}
        cells = [bare(cell) for cell in split_row(line, divider)] if keys and divider in line else []
        if len(cells) == len(keys) > 0:
            yield {**of_all, **of_next, **dict(zip(keys, cells))}
        elif not RULE.fullmatch(line):
            keys, divider = title_of(line) or ([], "")
            if not line.strip():
                of_all, of_next = {}, {}
    yield from outline_records(lines)


def split_row(line, divider):
    """Cells of a row; a comma in quotes divides none."""
    body = line.strip("|│ \r") if divider and divider in "|│" else line
    if divider == ",":
        return re.findall(r'(?:^|,)((?:"(?:[^"]|"")*"|[^,"]*))', body)
    return body.split(divider)


def title_of(line):
    """The keys of a table and what divides its cells, if this line may be its heading."""
    for divider in DIVIDERS:
        cells = [cell.strip().strip('"') for cell in split_row(line, divider)]
        if divider == "," and not re.fullmatch(r"[^:{}=]+", line):
            continue
        if len(cells) > 1 and all(KEY.fullmatch(cell) for cell in cells) and len(set(cells)) == len(cells):
            return cells, divider
    return None


def bare(value):
    value = value.strip()
    return value[1:-1].replace('\\"', '"').replace('""', '"') if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def json_object(line):
    """The records of a line that is one JSON value."""
    body = line.strip().rstrip(",")
    if body[:1] not in ("{", "["):
        return []
    try:
        return list(objects_of(json.loads(body)))
    except ValueError:
        return []


def json_records(text):
    """The records of JSON over many lines, wherever it begins in the text."""
    decoder, place = json.JSONDecoder(), 0
    for found in re.finditer(r"^[\[{]$|^[\[{](?=\s)", text, re.MULTILINE):
        if found.start() < place:
            continue
        try:
            value, place = decoder.raw_decode(text, found.start())
        except ValueError:
            continue
        yield from objects_of(value)


def objects_of(value, above=""):
    """Each object as a record, the inner ones as fields `a.b` of theirs and by themselves."""
    if isinstance(value, list):
        for one in value:
            yield from objects_of(one)
    elif isinstance(value, dict):
        yield flat(value)
        for one in value.values():
            if isinstance(one, (dict, list)):
                yield from objects_of(one)


def flat(value, above=""):
    record = {}
    for key, one in value.items():
        if isinstance(one, dict):
            record.update(flat(one, f"{above}{key}."))
        elif not isinstance(one, list):
            record[above + key] = one if isinstance(one, str) else json.dumps(one)
    return record


class Node:
    """A record of an outline while it is read."""

    def __init__(self, key, least):
        self.key, self.least, self.indentation, self.fields = key, least, None, {}


def outline_records(lines):
    """Records of an outline: `key: value` on each line, inner ones indented below `key:`, entries of a list behind a dash.

    A record ends at a blank line, at a line that is less indented, or where one of its keys comes again.
    """
    stack = []
    for line in [*lines, ""]:
        body = line.lstrip(" ")
        indentation = len(line) - len(body)
        if not body:
            yield from closed(stack, -1)
            continue
        if body == "-" or body.startswith("- "):
            yield from closed(stack, indentation)
            stack.append(Node(None, indentation + 1))
            body = body[1:].lstrip(" ")
            indentation = len(line) - len(body)
        if field := FIELD.fullmatch(body):
            yield from closed(stack, indentation)
            yield from take(stack, indentation, field.group(1), bare(field.group(2) or ""))


def closed(stack, indentation):
    """Ends the records that a line of this INDENTATION is not part of; an inner one belongs to the outer one, too."""
    while stack and (stack[-1].least > indentation or (stack[-1].indentation or 0) > indentation):
        node = stack.pop()
        if node.key and stack:
            stack[-1].fields.update({f"{node.key}.{key}": value for key, value in node.fields.items()})
        yield node.fields


def take(stack, indentation, key, value):
    if not stack or stack[-1].indentation not in (None, indentation):
        stack.append(Node(None, indentation))
    node = stack[-1]
    node.indentation = indentation
    if key in node.fields:
        yield dict(node.fields)
        node.fields.clear()
    node.fields[key] = value
    node.fields.update({f"{key}.{name}": bare(inner) for name, inner in PAIR.findall(value)})
    if not value or re.fullmatch(r"\[\d+\]", value):
        stack.append(Node(key, indentation + 1))


def has_values(record, wanted):
    """All the values, below their keys; a key may be given with those above it (`user.name`)."""
    return all(any(found == value and is_key(key, name) for key, found in record.items())
               or (name in SPOKEN and stands_in(value, record.get("", ""))) for name, value in wanted.items())


def is_key(key, name):
    return key == name or key.endswith("." + name) or (key != "" and name.endswith("." + key))


def stands_in(words, line):
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", line) is not None


# Patches ----------------------------------------------------------------------------------------

def changes(lines):
    """(file, line in the new file, `+text` or `-text`) of each change; the line is 0 in a deleted file."""
    file, line, is_deleted = "", 0, False
    for row in lines:
        heading = re.match(r"# (.*?) \+\d+ -\d+(.*)$", row) or re.match(r"(?:\+\+\+|---) [ab]/(.*)$", row)
        hunk = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@|@(\d+)(?: |$)", row)
        if heading or row.startswith(("+++ ", "--- /dev/null", "diff --git ")):
            file = heading.group(1) if heading else file
            is_deleted = "deleted" in row or row == "+++ /dev/null"
        elif hunk:
            line = int(hunk.group(1) or hunk.group(3)) + (hunk.group(2) == "0")
        elif row[:1] in ("+", "-"):
            yield (file, 0 if is_deleted else line, row.rstrip())
            line += row[0] == "+"
        elif row[:1] in (" ", ""):
            line += 1


# git status -------------------------------------------------------------------------------------

SECTIONS = {"Changes to be committed": "staged", "Changes not staged for commit": "",
            "Untracked files": "untracked", "Unmerged paths": "unmerged"}
STATE = re.compile(r"((?:staged |unmerged )?(?:new file|modified|deleted|renamed|typechange|both \w+)|untracked):(.*)")
SHORT = {"M": "modified", "A": "new file", "D": "deleted", "R": "renamed"}


def states(lines, expand):
    """(state, path) of each entry; EXPAND reads the grouped paths below one heading."""
    section, state, below, found = None, None, [], set()
    for line in [*lines, "untracked:"]:
        body = line.strip()
        if body.rstrip(":") in SECTIONS and line[:1].strip():
            section = SECTIONS[body.rstrip(":")]
        elif section is not None and line.startswith("\t"):
            word, colon, path = body.partition(":   ")
            word = " ".join(part for part in (section, word if colon else "") if part)
            found |= {(word, name.strip()) for name in (path if colon else body).split(" -> ")}
        elif re.fullmatch(r"[ MADRU?]{2} \S.*", line):
            found |= set(short_states(line))
        elif heading := STATE.fullmatch(line):
            found |= {(state, path) for path in expand(below)} if state else set()
            state, below = heading.group(1), [heading.group(2).strip()]
        elif state:
            below += line.split(" -> ") if " -> " in line else [line]
    return {(state, path.rstrip("/")) for state, path in found}


def short_states(line):
    paths = line[3:].split(" -> ")
    if line.startswith("??"):
        yield from (("untracked", path) for path in paths)
    elif "U" in line[:2]:
        yield from (("unmerged both modified", path) for path in paths)
    else:
        yield from (("staged " + SHORT[line[0]], path) for path in paths if line[0] in SHORT)
        yield from ((SHORT[line[1]], path) for path in paths if line[1] in SHORT)


# git log ----------------------------------------------------------------------------------------

DAY = r"\d{4}-\d\d-\d\d"
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def commits(lines):
    """(first seven of the hash, author, day, subject): the heads stand above, and only what changed of them."""
    commit, author, day, is_open = "", "", "", False
    for line in lines:
        if found := re.fullmatch(r"[*| ]*commit ([0-9a-f]{7,40}).*", line):
            commit, is_open = found.group(1)[:7], True
        elif found := re.fullmatch(r"Author: +(.*) <.*>", line):
            author = found.group(1)
        elif found := re.fullmatch(r"Date: +\w+ (\w+) +(\d+) \S+ (\d+) .*", line):
            day = f"{found.group(3)}-{MONTHS.index(found.group(1)) + 1:02}-{int(found.group(2)):02}"
        elif is_open and line.startswith("    ") and line.strip():
            yield (commit, author, day, line.strip())
            is_open = False
        elif found := re.fullmatch(rf"(?:([^,:]+), )?({DAY}):", line):
            author, day = found.group(1) or author, found.group(2)
        elif found := re.fullmatch(r"([A-Z][^,:]+):", line):
            author = found.group(1)
        elif found := re.fullmatch(r"([0-9a-f]{7,40}) (.*)", line):
            yield (found.group(1)[:7], author, day, found.group(2))


# Paths ------------------------------------------------------------------------------------------

# Whether names without their extension below `src/*.c:`, and directories below directories, are read as paths. Without
# it a name counts only if it stands there as the next call needs it: whole, below its whole directory.
READS_SHORT_NAMES = False
HEADING = re.compile(r"((?:[^\s:*]+/)?)(?:\*(\.[^\s:*/]+))?:(?: (.+))?")


def paths(lines):
    """The paths of a listing: `src/net/: x.md y`, names below `src/`, or one by one.

    READS_SHORT_NAMES: also `src/*.c: a b`, and ` net/: x.md y` below it.
    """
    above, lines = [], list(lines)  # (indentation, directory)
    for line, behind in zip(lines, [*lines[1:], ""]):
        indentation = len(line) - len(line.lstrip(" "))
        body = line.strip()
        while above and above[-1][0] >= indentation:
            above.pop()
        parent = above[-1][1] if above else ""
        heading = HEADING.fullmatch(body)
        if heading and (heading.group(1) or heading.group(2)):
            if not READS_SHORT_NAMES:
                parent = ""
                if heading.group(2):
                    continue
            directory, ending = parent + heading.group(1).removeprefix("./"), heading.group(2) or ""
            yield from (directory + name.rstrip("/") + ending for name in (heading.group(3) or "").split(" ") if name)
            above.append((indentation, directory))
        elif body.endswith("/") and " " not in body:
            if not behind.startswith(" " * (indentation + 1)):  # no heading, but what is listed
                yield parent + body.rstrip("/")
            above.append((indentation, parent + body))
        else:
            yield from (parent + name.removeprefix("./").rstrip("/") for name in body.split(" ") if name not in ("", "."))


def section_paths(lines):
    """ls -R: `./src:`, then its names, then an empty line."""
    section = ""
    for line in lines:
        heading = re.fullmatch(r"(?:\./)?(\S+?)/?:", line)
        section = (heading.group(1) + "/").removeprefix("./") if heading else section if line.strip() else ""
        yield from (section + word for word in line.split() if not heading)
