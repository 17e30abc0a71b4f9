"""Takes facts out of a rendering, or puts them in the wrong place; the judge has to notice each time.

  drop a line        on which a place, a path, a change, a state, a commit or a row stands
  drop a string      of a failing test or a total: every line that says it
  change a number    the line of a place
  exchange           the values of two failing tests, the messages of two places, one value of two records
  remove a heading   of a block, wherever it stands
  swap two blocks    by their headings
  move a line        of a block below the heading of another

None of them asks the oracle where a fact stands: they look for its words only.
"""
import dataclasses
import re

import judge
import match

SINGLE = ("message", "path", "change", "state", "commit", "cells")  # said once, on one line
MOST_TRIES = 60  # lines of a large text that may be the one


def missed(case, rendering, chosen, most):
    """Changes at most MOST facts of the case; returns the changes that the judge does not notice, in words, and
    the number tried."""
    trial = Trial(case, rendering)
    facts = list(case.facts)
    chosen.shuffle(facts)
    found, tried = [], 0
    for fact in facts[:most]:
        for kind in (drop_line, drop_string, change_number, exchange, remove_heading, swap_blocks, move_line):
            outcome = kind(trial, fact, chosen)
            tried += outcome is not None
            if outcome is False:
                found.append(f"{kind.__name__} {fact}")
    return found, tried


class Trial:
    """A case and its rendering, and whether the judge sees a fact of it missing in another text."""

    def __init__(self, case, rendering):
        self.case, self.rendering = case, rendering
        self.lines = rendering.text.split("\n")
        self.plain = [match.plain(line) for line in self.lines]

    def notices(self, text, fact):
        if match.lost([fact], text, self.case.facts):
            return True
        other = dataclasses.replace(self.rendering, text=text)
        if self.rendering.parser != "whole" and fact in match.apart(self.case.facts, text):
            return True
        return bool(judge.unsaid(self.case, other) or judge.changed_lines(self.case, other))

    def lines_with(self, word):
        return [at for at, line in enumerate(self.plain) if match.has_word(line, word)]

    def without(self, dropped):
        return "\n".join(line for at, line in enumerate(self.lines) if at not in dropped)


def strings_of(fact):
    return [[one] if isinstance(one, str) else one for one in [*fact.get("all", []), *fact.get("row", []), *fact.get("record", {}).values()]]


def words_of(fact):
    """Returns the parts that a line must have to show the fact, the most specific first."""
    if "message" in fact:
        given = [str(fact["line"]), fact["message"]]
    elif "path" in fact:
        given = [fact["path"].rstrip("/").split("/")[-1].split(".")[0]]
    elif "cells" in fact:
        given = [value if isinstance(value, str) else value["first"] for value in fact["cells"].values()]
    else:
        given = [str(part) for kind in ("change", "state", "commit") for part in fact.get(kind, [])]
    return {word for text in given for word in re.findall(r"\w+", match.plain(text))}


def drop_line(trial, fact, _):
    """A fact that is said once hangs on a line. One that is listed twice may hang on none."""
    if not any(kind in fact for kind in SINGLE) or trial.case.facts.count(fact) > 1:
        return None
    if "message" in fact and sum(match.has_all(line, [fact["message"], str(fact["line"])]) for line in trial.plain) > 1:
        return None  # said again by a note
    places = {word: trial.lines_with(word) for word in words_of(fact)}
    tries = list(dict.fromkeys(at for word in sorted(places, key=lambda word: len(places[word])) for at in places[word]))
    return any(trial.notices(trial.without({at}), fact) for at in tries[:MOST_TRIES])


def drop_string(trial, fact, chosen):
    groups = strings_of(fact)
    if not groups:
        return None
    group = chosen.choice(groups)
    dropped = {at for word in group for at, line in enumerate(trial.plain) if match.plain(word).strip() in line}
    return trial.notices(trial.without(dropped), fact) if dropped else None


def change_number(trial, fact, _):
    """Every mention of the line's number becomes another: the place is a wrong one then."""
    if "message" not in fact:
        return None
    other = str(fact["line"] + 70000)
    text = re.sub(rf"(?<![\w.]){fact['line']}(?!\w)", other, trial.rendering.text)
    return trial.notices(text, fact) if text != trial.rendering.text else None


def exchange(trial, fact, chosen):
    """Exchanges one part of two facts of the same shape, wherever it is printed."""
    if trial.rendering.parser == "whole":
        return None
    if "message" in fact:
        return exchange_messages(trial, fact, chosen)
    if "record" in fact:
        return exchange_values(trial, fact, chosen)
    own = match.names_of(fact)
    others = [other for other in trial.case.facts if other is not fact and len(match.names_of(other)) == len(own) > 1]
    if not others:
        return None
    other = match.names_of(chosen.choice(others))
    pair = [(one, two) for one, two in zip(own, other) if one != two]
    if len(pair) < 2 or pair[-1][0] in pair[-1][1] or pair[-1][1] in pair[-1][0]:
        return None  # they differ by their names alone, or cannot be told apart
    if not all(match.is_telling(one) and is_of_one(trial.case.facts, one) for one in pair[-1]):
        return None  # what is said of several, or may mean something else, stands in the right place too
    if any(len(trial.lines_with(name)) != 1 for name in (own[0], other[0])) or shares_a_line(trial, own[0]):
        return None  # where several stand on a line, its beginning belongs to all of them
    text = swap(trial.rendering.text, *pair[-1])
    return trial.notices(text, fact) if text != trial.rendering.text else None


def shares_a_line(trial, name):
    line = trial.plain[trial.lines_with(name)[0]]
    names = [match.names_of(fact)[0] for fact in trial.case.facts if match.names_of(fact)]
    return any(one != name and match.has_word(line, one) for one in names)


def is_of_one(facts, string):
    return sum(string in match.names_of(fact) for fact in facts) == 1


def exchange_messages(trial, fact, chosen):
    facts = trial.case.facts
    others = [other for other in facts if "message" in other and other["message"] not in fact["message"]
              and fact["message"] not in other["message"]]
    if not others:
        return None
    other = chosen.choice(others)
    if {**fact, "message": other["message"]} in facts:
        return None  # both are true of the place
    if any(trial.rendering.text.count(one["message"]) == 0 for one in (fact, other)):
        return None  # written in other quotes
    text = swap(trial.rendering.text, fact["message"], other["message"])
    return trial.notices(text, fact) if text != trial.rendering.text else None


def exchange_values(trial, fact, chosen):
    """One value of two records: those that only one record has, and that stand for nothing else."""
    record = fact["record"]
    others = [other["record"] for other in trial.case.facts if other is not fact and other.get("record", {}).keys() == record.keys()]
    if not others:
        return None
    other = chosen.choice(others)
    keys = [key for key in record if all(match.is_telling(one[key]) and trial.rendering.text.count(one[key]) == 1
                                         for one in (record, other)) and record[key] != other[key]]
    if len(record) < 2 or not keys:
        return None
    key = chosen.choice(keys)
    return trial.notices(swap(trial.rendering.text, record[key], other[key]), fact)


def other_heading(trial, fact, chosen):
    """The heading of another block, in which the fact is not true as well."""
    if trial.rendering.parser == "whole":
        return None  # any change of it is noticed
    rows = [other["row"] for other in trial.case.facts if other.get("under") and other["under"] != fact["under"]]
    others = [other["under"] for other in trial.case.facts if other.get("under") and other["under"] != fact["under"]
              and {**fact, "under": other["under"]} not in trial.case.facts]
    if not others or fact["row"] in rows:
        return None
    other = chosen.choice(others)
    names = [next((name for name in one if trial.lines_with(name)), None) for one in (fact["under"], other)]
    return names if all(names) and names[0] not in names[1] and names[1] not in names[0] else None


def remove_heading(trial, fact, _):
    if "under" not in fact:
        return None
    text = match.plain(trial.rendering.text)
    for name in sorted(fact["under"], key=len, reverse=True):
        text = text.replace(match.plain(name).strip(), "")
    return trial.notices(text, fact)


def swap_blocks(trial, fact, chosen):
    names = other_heading(trial, fact, chosen) if "under" in fact else None
    if not names:
        return None
    text = match.plain(trial.rendering.text)
    return trial.notices(swap(text, *(match.plain(name).strip() for name in names)), fact)


def move_line(trial, fact, chosen):
    """Each line of the block that says the fact goes below the heading of another block."""
    names = other_heading(trial, fact, chosen) if "under" in fact else None
    if not names:
        return None
    moved = [at for at, line in enumerate(trial.plain) if match.has_all(line, fact["row"])]
    if not moved or any(match.has_word(trial.plain[at], name) for at in moved for name in fact["under"]):
        return None  # it has its heading with it
    goal = trial.lines_with(names[1])[-1]
    if goal in moved:
        return None
    lines = [line for at, line in enumerate(trial.lines) if at not in moved]
    goal -= sum(at < goal for at in moved)
    return trial.notices("\n".join(lines[:goal + 1] + [trial.lines[at] for at in moved] + lines[goal + 1:]), fact)


def swap(text, one, two):
    def word(string):
        return rf"(?<!\w){re.escape(string)}(?!\w)"
    return re.sub(f"{word(one)}|{word(two)}", lambda found: two if found.group() == one else one, text)
