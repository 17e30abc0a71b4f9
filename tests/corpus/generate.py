"""Cases that no file holds: a random scenario, with random names, counts and places, run right now.

Only tools that are installed and quick are used. A seed gives the same cases again.
"""
import importlib
import os
import random
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "capture"))

from scenario import SCENARIOS, TOOLS, Missing, Project, find_tool  # noqa: E402

SIZES = {"count", "functions", "tests", "files", "commits", "changed", "staged", "untracked", "folders"}
MOST = 60  # items; what is larger takes long to make


class GeneratedCase:
    """Looks like a stored one."""

    def __init__(self, family, name, case):
        self.family, self.name = family, name
        self.command, self.exit_code = case.command, case.ran.exit_code
        self.facts, self.must_not, self.is_plain_log = case.facts, case.must_not, case.is_plain_log
        self.is_known = case.is_known
        self.stdout, self.stderr = case.ran.stdout, case.ran.stderr

    def __str__(self):
        return f"{self.family}/{self.name}"


def load():
    for module in sorted((HERE / "capture").glob("*.py")):
        if module.stem != "scenario":
            importlib.import_module(module.stem)


def vary(chosen, variant):
    """The variant with other sizes and another share of failures."""
    changed = dict(variant)
    for key in SIZES & set(changed):
        if changed[key] > 1:
            changed[key] = min(MOST, max(2, round(changed[key] * chosen.uniform(0.4, 1.6))))
    if isinstance(changed.get("share"), float):
        changed["share"] = chosen.choice([0.05, 0.1, 0.3])
    return changed


def at_hand(entry):
    """The names of the variants whose version of the tool is here. Only root enters another release."""
    if not entry.is_quick or not all(find_tool(tool) for tool in entry.needs):
        return []
    is_root = os.geteuid() == 0
    return sorted(name for name, variant in entry.variants.items()
                  if not variant.get("tools") or (is_root and os.path.exists(TOOLS / variant["tools"])))


def found_before(family, name, seed, **sizes):
    """The variant NAME with these sizes: a generated case that once lost something. Raises Missing."""
    load()
    entry = next(one for one in SCENARIOS if one.family == family and name in one.variants)
    if not all(find_tool(tool) for tool in entry.needs):
        raise Missing(" ".join(entry.needs))
    with tempfile.TemporaryDirectory(prefix="nutshell-corpus-") as place:
        directory = Path(place) / "project"
        directory.mkdir()
        made = entry.make(Project(directory, seed, is_stored=False), {**entry.variants[name], **sizes})
    return GeneratedCase(family, name, made)


def cases(seed, count, passed_over=()):
    """COUNT cases of families with a parser but those PASSED_OVER; a scenario whose tool is missing is left out, too."""
    load()
    wanted = [entry for entry in SCENARIOS if entry.is_known and entry.family not in passed_over]
    yield from made_of(wanted, random.Random(seed), count)


def made_of(scenarios, chosen, count, is_shuffled=False):
    """COUNT cases, one of each scenario first unless they are to be SHUFFLED."""
    usable = [(entry, names) for entry in scenarios if (names := at_hand(entry))]
    if not usable:
        return
    for number in range(count):
        entry, names = usable[number] if number < len(usable) and not is_shuffled else chosen.choice(usable)
        name = chosen.choice(names)
        with tempfile.TemporaryDirectory(prefix="nutshell-corpus-") as place:
            directory = Path(place) / "project"
            directory.mkdir()
            project = Project(directory, chosen.getrandbits(64), is_stored=False)
            try:
                made = entry.make(project, vary(chosen, entry.variants[name]))
            except Missing:
                continue
            yield GeneratedCase(entry.family, f"{name}#{number}", made)
