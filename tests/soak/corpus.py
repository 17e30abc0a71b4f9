#!/usr/bin/env python3
"""Renders outputs that nobody has seen and judges them, until the time is over.

    scripts/soak corpus 10m [SEED]

A third of the cases are outputs of tools that do not exist (tests/corpus/synthetic.py), a third have the form of real
tools (tests/corpus/forms.py), the others are scenarios of tests/corpus/capture whose tools are here, with other names,
counts and sizes. Families with a parser must keep every fact, all others the share that score.BARS names. A case that
loses something is written to build/found-cases in the form of the corpus: what a run finds becomes a fixed case there,
or its kind and seed one in corpus_test.py.
"""
import random
import secrets
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/corpus"))

import forms  # noqa: E402
import generate  # noqa: E402
import judge  # noqa: E402
import score  # noqa: E402
import store  # noqa: E402
import synthetic  # noqa: E402
from renderer import render  # noqa: E402
from scenario import SCENARIOS, Ran  # noqa: E402

FOUND = ROOT / "build/found-cases"
MOST_KEPT = 100  # cases written by one run
SHOWN = 3  # facts of a case in a message


def draw(chosen, number):
    """One case: of a tool that is here (None if there is none), of a tool that does not exist, or in a tool's form."""
    if number % 3 == 0:
        return next(generate.made_of(SCENARIOS, chosen, 1, is_shuffled=True), None)
    return next((synthetic if number % 3 == 1 else forms).cases(chosen.getrandbits(40), 1))


def keep(case, number):
    """Writes the case as the corpus has it."""
    described = type("Described", (), {
        "name": f"{case.name.replace('#', '-')}-{number}", "command": case.command, "ran": Ran(case.exit_code, case.stdout, case.stderr),
        "facts": case.facts, "must_not": case.must_not, "is_plain_log": case.is_plain_log, "is_known": case.is_known})
    store.write_case(case.family, described, FOUND)


def main():
    end = time.monotonic() + int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(2 ** 32)
    chosen, number, failed = random.Random(seed), 0, 0
    known, unknown = score.Score(), score.Score()
    generate.load()
    print(f"corpus: seed {seed}", flush=True)
    while time.monotonic() < end:
        number += 1
        made = draw(chosen, number)
        if made is None:
            continue
        rendering = render(made)
        found = score.of_case(made, rendering)
        is_held = made.is_known and made.family not in score.BARS.pending
        known, unknown = (known + found, unknown) if is_held else (known, unknown + found)
        if problems := judge.problems(made, rendering):
            failed += is_held
            print(f"{'FAIL' if is_held else 'lost'} corpus {made} ({rendering.parser}): " +
                  "; ".join(text[:160] for text in problems[:SHOWN]) + f" ({len(problems)} in all)", flush=True)
            if failed + unknown.cases < MOST_KEPT:
                keep(made, number)
    for name, total in (("known", known), ("unknown", unknown)):
        print(f"{name}: {total.cases} cases, {total.lost} of {total.facts} facts lost, {total.wrong} untrue, saved {total.saved:.1%}")
    if unknown.kept < score.BARS.unknown_kept:
        failed += 1
        print(f"FAIL corpus: unknown families keep {unknown.kept:.1%} of their facts, wanted {score.BARS.unknown_kept:.1%}")
    print(f"{known.cases + unknown.cases - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
