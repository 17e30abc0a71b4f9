#!/usr/bin/env python3
"""Sums up how well the cases are rendered, families with a parser and those without one apart.

    tests/corpus/score.py [--lost] [FAMILY|FAMILY/CASE …]

    --lost   prints each case with the facts that are missing from its rendering, and what else is wrong with it

  NUTSHELL_BIN   directory of the programs (build/bin)
"""
import dataclasses
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import judge
import match
import renderer
import store


@dataclasses.dataclass
class Score:
    """Counts over some cases. Tokens are the renderer's estimate."""

    cases: int = 0
    facts: int = 0
    lost: int = 0         # facts that are missing or that no reader could place
    wrong: int = 0        # statements that are not true, and other faults of a rendering
    raw_tokens: int = 0
    tokens: int = 0

    def __add__(self, other):
        return Score(*(one + two for one, two in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    @property
    def kept(self):
        return 1 - self.lost / max(1, self.facts)

    @property
    def saved(self):
        return 1 - self.tokens / max(1, self.raw_tokens)


@dataclasses.dataclass(frozen=True)
class Bars:
    """Families with a parser keep every fact. Those without keep a share, and none of them says what is not true."""

    unknown_kept: float      # share of the facts of families without a parser
    unknown_wrong: int       # untrue statements and other faults of their renderings
    synthetic_kept: float    # share of the facts of tools that do not exist
    synthetic_wrong: int
    forms_kept: float        # share of the facts of outputs in the form of real tools (forms.py)
    forms_wrong: int
    needles_kept: float      # share of the needles (needles.py), in families with a parser and without one
    pending: frozenset = frozenset()  # families with a parser that are measured but not held to the bar


BARS = Bars(unknown_kept=0.99, unknown_wrong=0, synthetic_kept=0.9, synthetic_wrong=0, forms_kept=0.98, forms_wrong=0,
            needles_kept=0.995)


def lost_facts(case, rendering):
    """The facts that the text does not hold, or holds in a place where they belong to something else."""
    gone = match.lost(case.facts, rendering.text)
    if rendering.parser != "whole":
        gone += [fact for fact in match.apart(case.facts, rendering.text) if fact not in gone]
    return gone


def of_case(case, rendering):
    wrong = [text for text in judge.problems(case, rendering) if not text.startswith(("lost ", "apart "))]
    return Score(1, len(case.facts), len(lost_facts(case, rendering)), len(wrong), rendering.raw_tokens, rendering.tokens)


def total(pairs):
    """The score of (case, rendering) PAIRS."""
    return sum((of_case(case, rendering) for case, rendering in pairs), Score())


def main():
    words = [word for word in sys.argv[1:] if word != "--lost"]
    cases = [case for case in store.all_cases() if not words or case.family in words or str(case) in words]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        pairs = list(zip(cases, pool.map(renderer.render, cases)))
    if "--lost" in sys.argv:
        for case, rendering in pairs:
            if found := judge.problems(case, rendering):
                print(f"{case} ({rendering.parser})", *(f"  {text}" for text in found), sep="\n")
    scores = [(case, of_case(case, rendering)) for case, rendering in pairs]
    for family in sorted({case.family for case in cases}):
        print_row(family, [one for case, one in scores if case.family == family])
    for name, is_known in (("known", True), ("unknown", False)):
        of_class = [(case, one) for case, one in scores if case.is_known == is_known]
        print_row(name, [one for _, one in of_class])
        print_row(name + ", no logs", [one for case, one in of_class if not case.is_plain_log])
    return 0


def print_row(name, scores):
    score = sum(scores, Score())
    print(f"{name:20} {score.cases:4} cases {score.facts:6} facts {score.lost:5} lost {score.wrong:3} wrong "
          f"{score.raw_tokens:8} tokens, saved {score.saved:5.1%}")


if __name__ == "__main__":
    sys.exit(main())
