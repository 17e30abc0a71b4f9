"""Holds one rendering against its case. What the test and the benchmark both ask."""
import dataclasses
import re

import match

STATUS_LINE = 12  # tokens it may cost
FRAMES = {"File", "line", "Line", "module", "lld"}  # of Python's and PHPStan's places, and the name of the program that speaks
TIMES = re.compile(r" \(×\d+\)$")  # equal lines, said once
CLEANED = re.compile(r"[\r\b\0\ufffd]")  # progress that writes over itself, and what is no text
LEFT_OUT = re.compile(r"\(left out: [^()\n]*\)")


@dataclasses.dataclass
class Rendering:
    text: str
    parser: str
    omitted: int      # kinds of lines left out
    raw_tokens: int   # estimated
    tokens: int       # estimated
    recall_id: str


def raw_text(case):
    return (case.stdout + b"\n" + case.stderr).decode(errors="replace")


def problems(case, rendering):
    """Everything that is wrong with it, in words; an empty list is a pass."""
    found = [f"lost {fact}" for fact in match.lost(case.facts, rendering.text)]
    if rendering.parser != "whole":  # as printed, what belongs together is where the tool put it
        found += [f"apart {fact}" for fact in match.apart(case.facts, rendering.text)]
    found += [f"invented {claim!r}" for claim in
              match.invented(raw_text(case), case.facts, case.must_not, body(rendering))]
    if case.exit_code != 0 and not shows_status(rendering.text, case.exit_code):
        found.append(f"the status {case.exit_code} is not shown")
    if rendering.tokens > rendering.raw_tokens + allowance(case):
        found.append(f"{rendering.tokens} tokens for {rendering.raw_tokens}")
    if rendering.omitted and f"recall {rendering.recall_id}" not in rendering.text:
        found.append("leaves something out and does not say how to see it")
    found += [f"not as printed: {line!r}" for line in changed_lines(case, rendering)]
    return found + [f"left out unsaid: {word!r}" for word in unsaid(case, rendering)] + wrong_notes(case, rendering)


def shows_status(text, exit_code):
    """In the first line, which is the renderer's own: a status that the command talks about is none."""
    return re.match(rf"exit {exit_code}(?!\d)", text) is not None


def words(text):
    return set(re.findall(r"[^\W_]{3,}", match.plain(text)))


def unsaid(case, rendering):
    """Words of the output that are gone although nothing is said to be left out."""
    return [] if rendering.omitted else sorted(words(raw_text(case)) - words(rendering.text) - FRAMES)[:3]


def changed_lines(case, rendering):
    """Lines of an output shown whole that differ from what was printed."""
    if rendering.parser != "whole":
        return []
    shown = {TIMES.sub("", line).strip() for line in match.plain(rendering.text).split("\n")}
    return [line for line in match.plain(raw_text(case)).split("\n")
            if line.strip() and line.strip() not in shown and not CLEANED.search(line)][:3]


def wrong_notes(case, rendering):
    """A note on what is left out counts lines that were printed, or a number the tool gave."""
    raw = raw_text(case)
    most, numbers = raw.count("\n") + 1, set(re.findall(r"\d+", raw))
    return [f"says that {number} are left out" for note in LEFT_OUT.findall(rendering.text)
            for number in re.findall(r"(?<![\w=])\d+", note.replace(f"recall {rendering.recall_id}", ""))
            if int(number) > most and number not in numbers]


def allowance(case):
    """Text that a rendering may add: a failing status, or that nothing was printed, which raw does not say."""
    is_silent = not case.stdout.strip() and not case.stderr.strip()
    if case.exit_code != 0 or is_silent:
        return STATUS_LINE
    return 2 if case.stdout and case.stderr else 0  # where the one stream ends and the other begins


def body(rendering):
    """Without what tells what was left out: its numbers are the renderer's own."""
    return LEFT_OUT.sub("", rendering.text)
