"""Decides whether a fact survived in a text, and whether the text claims what was never printed.

A fact is one of
  {"all": [S, …]}                         every S stands in the text; S may be a list: any one of it
  {"row": [S, …]}                         the same, on one line
  {"file", "line", "column", "message"}   the place and the message both stand in the text
  {"path": P}                             the path, whole or as a name below its directory's heading
                                          (git's a/ and b/ may stand before it)
"all", "row" and "path" may be joined, also by "starts": [S, …], words that begin with S (the head of a hash).

Strings are compared with runs of blanks as one blank and typographic quotes as plain ones, and whole
words only: `test_1` is not found in `test_10`. A place may be written `f.c:3:5` or `f.c(3,5)`, stand
in a list after its file (`f.c:3:5 9:1`), or on an indented line below it (eslint's way).
"""
import re

QUOTES = str.maketrans("‘’“”`", "''\"\"'")
BLANKS = re.compile(r"[ \t\u00a0]+")
PLACE = re.compile(r"(?<![\w./+@-])((?:[\w.+@-]*/)*[\w+@-][\w.+@-]*\.[A-Za-z]\w*):(\d+)(?::(\d+))?(?![\w.])")
COUNT = re.compile(r"(?<![\w.:/-])(\d+) (passed|failed|errors?|warnings?|skipped|failures?|tests|ignored)\b")
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


def plain(text):
    return BLANKS.sub(" ", ANSI.sub("", text).translate(QUOTES))


def has_word(text, wanted):
    """WANTED in TEXT, not as a part of a longer word or number."""
    wanted = plain(wanted).strip()
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        is_open = start == 0 or not (is_letter(text[start - 1]) and is_letter(wanted[0]))
        is_closed = end == len(text) or not (is_letter(text[end]) and is_letter(wanted[-1]))
        if is_open and is_closed:
            return True
        start = text.find(wanted, start + 1)
    return False


def is_letter(character):
    return character.isalnum() or character == "_"


def has_all(text, strings):
    return all(has_word(text, one) if isinstance(one, str) else any(has_word(text, any_of) for any_of in one)
               for one in strings)


class Text:
    """A rendered text, prepared once for many facts."""

    def __init__(self, text):
        self.whole = plain(text)
        self.joined = BLANKS.sub(" ", self.whole.replace("\n", " "))
        self.lines = self.whole.split("\n")
        self.indented = ANSI.sub("", text).translate(QUOTES).split("\n")
        self.paths = None

    def holds(self, fact):
        if "path" in fact and not self.holds_path(fact["path"]):
            return False
        if "message" not in fact:
            return self.holds_strings(fact)
        message = fact["message"]
        is_said = has_word(self.whole, message) or has_word(self.joined, message)
        return is_said and self.holds_place(fact["file"], fact["line"], fact["column"])

    def holds_strings(self, fact):
        row, strings = fact.get("row", []), fact.get("all", [])
        if row and not any(has_all(line, row) for line in self.lines):
            return False
        if not all(re.search(r"(?<!\w)" + re.escape(start), self.whole) for start in fact.get("starts", [])):
            return False
        return has_all(self.whole, strings) or has_all(self.joined, strings)

    def holds_place(self, file, line, column):
        name = r"(?:(?<![\w/.-])|(?<=\s\./)|(?<=^\./))" + re.escape(file)
        comma = rf"[:,]{column}(?!\d)" if column else r"(?!\d)"
        among = r"(?:\d+(?:[:,]\d+)?[ ,;]+)*"
        if re.search(rf"{name}[:(] ?(?:{among})[(\[]?{line}{comma}", self.whole, re.MULTILINE):
            return True
        here = False
        for row in self.indented:
            if row[:1].strip():
                here = re.match(re.escape(file) + r"(?![\w/.-])", row) is not None
            elif here and re.search(rf"(?<![\d:]){line}{comma}", row):
                return True
        return False

    def holds_path(self, path):
        if re.search(rf"(?:^|(?<=[^\w/.-])|(?<=[.ab]/)){re.escape(path)}(?![\w/-]|\.\w)", self.whole):
            return True
        if self.paths is None:
            self.paths = set(grouped_paths(self.indented))
        return path in self.paths


def grouped_paths(lines):
    """Paths of listings such as `src/: a.c b.c`, `src/*.c: a b`, `src/{a,b}.c` and of indented trees."""
    headings = []  # (indentation, directory)
    section = ""  # of ls -R: `./src:`, then names, then an empty line
    for line in lines:
        heading = re.fullmatch(r"(?:\./)?(\S+?)/?:", line)
        section = heading.group(1) + "/" if heading else section if line.strip() else ""
        yield from (section + word for word in line.split())
        body = line.strip(" │├└─|`-\t\u00a0")
        indentation = len(line) - len(line.lstrip(" │├└─|`-\t\u00a0"))
        while headings and headings[-1][0] >= indentation:
            headings.pop()
        above = headings[-1][1] if headings else ""
        words = re.split(r"[ ,;]+", body)
        for at, word in enumerate(words[:4]):
            glob = re.fullmatch(r"(?:\./)?((?:[^ *]*/)?)\*(\.[^ *:]+):", word)
            if glob:
                yield from (f"{above}{glob.group(1)}{name}{glob.group(2)}" for name in words[at + 1:])
                if at == 0 and glob.group(1):
                    headings.append((indentation, above + glob.group(1)))
                break
        first = re.fullmatch(r"(?:\./)?([^ ]*?)/?:?", words[0]).group(1) if words[0] else ""
        if words[0].endswith(("/", "/:", ":")) and "*" not in words[0]:
            below = f"{above}{first}/" if first not in ("", ".") else above
            headings.append((indentation, below))
            yield below.rstrip("/")
            yield from (f"{below}{word}".rstrip("/") for word in words[1:])
        yield from (f"{above}{word}".rstrip("/") for word in words)
        for brace in re.finditer(r"([\w./+-]*)\{([^{}]*)\}([\w.+-]*)", body):
            for inner in brace.group(2).split(","):
                yield above + brace.group(1).removeprefix("./") + inner.strip() + brace.group(3)


def lost(facts, text):
    prepared = Text(text)
    return [fact for fact in facts if not prepared.holds(fact)]


def invented(raw, facts, must_not, text):
    """What TEXT says that RAW does not: places, counts, and words of success on a failing run."""
    raw, text = plain(raw), plain(text)
    found = [word for word in must_not if has_word(text.lower(), word) and not says(raw.lower(), word)]
    numbers = set(re.findall(r"\d+", raw)) | {str(len(facts))}
    numbers |= {str(count) for count in counted(raw, facts)}
    for match in PLACE.finditer(text):
        file, *parts = match.groups()
        if file.rsplit("/", 1)[-1] not in raw or not all(part in numbers for part in parts if part):
            found.append(match.group())
    for match in COUNT.finditer(text):
        if match.group(1) not in numbers:
            found.append(match.group())
    return found


def says(raw, words):
    """`0 errors` is also said by `errors: 0`."""
    first, _, rest = words.partition(" ")
    return has_word(raw, words) or (first.isdigit() and has_word(raw, f"{rest}: {first}"))


def counted(raw, facts):
    """Counts a renderer may well state although the tool did not print them."""
    lines = raw.split("\n")
    yield sum("message" in fact for fact in facts)
    for word in ("error", "warning", "fail", "FAIL", "passed", "PASS", "ok", "SKIP", "skip"):
        yield sum(word in line for line in lines)
        yield len(re.findall(rf"{word}:", raw))


def shows_status(text, exit_code):
    return re.search(rf"(exit|status|code|exited)\D{{0,12}}{exit_code}(?!\d)", text) is not None
