"""Holds one rendering against its case. What the test and the benchmark both ask."""
import dataclasses
import re

import match

STATUS_LINE = 12  # tokens it may cost
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
    found += [f"invented {claim!r}" for claim in
              match.invented(raw_text(case), case.facts, case.must_not, body(rendering))]
    if case.exit_code != 0 and not match.shows_status(rendering.text, case.exit_code):
        found.append(f"the status {case.exit_code} is not shown")
    if rendering.tokens > rendering.raw_tokens + allowance(case):
        found.append(f"{rendering.tokens} tokens for {rendering.raw_tokens}")
    if rendering.omitted and f"recall {rendering.recall_id}" not in rendering.text:
        found.append("leaves something out and does not say how to see it")
    return found


def allowance(case):
    """What a rendering may add: a failing status, or that nothing was printed, which raw does not say."""
    is_silent = not case.stdout.strip() and not case.stderr.strip()
    if case.exit_code != 0 or is_silent:
        return STATUS_LINE
    return 2 if case.stdout and case.stderr else 0  # where the one stream ends and the other begins


def body(rendering):
    """Without what tells what was left out: its numbers are the renderer's own."""
    return LEFT_OUT.sub("", rendering.text)
