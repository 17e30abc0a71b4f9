#!/usr/bin/env python3
"""Needles: lines that no tool of a case prints, planted at a random place of its output. The rendering must show them.

    tests/corpus/needles.py [--seed N] [FAMILY|FAMILY/CASE …]     every kind in every case; prints what is lost

A parser knows nothing of such a line. It has to show it, or to refuse the output.

  NUTSHELL_BIN   directory of the programs (build/bin)
"""
import copy
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import renderer
import store

# Each kind is a few lines; every part of them in braces is drawn anew.
KINDS = {
    "error": ["ERROR: the lease of {name} is gone"],
    "failure": ["{name}: cannot open shared state: Permission denied"],
    "diagnostic": ["{name}/plan.zig:{line}:3: E042 no lease is held here"],
    "block": ["FATAL: no lease for {name}", "    wanted: {one}", "    holder: {name}-{two}"],
    "speech": ["{name} says that the kiln is at {one} degrees"],
}
# Only a typed parser promises to show a line that looks like no error: other outputs are cut by what stands out.
FOR_PARSERS = ("speech",)
GENERIC = ("outline", "excerpt", "generic", "whole", "log", "native", "start", "empty")


class Planted:
    """A case with a needle in it, and the texts that a rendering must hold."""

    def __init__(self, case, kind, chosen):
        self.case, self.kind = copy.copy(case), kind
        values = {"name": f"quince{chosen.randrange(10 ** 6)}", "line": chosen.randint(2, 900),
                  "one": chosen.randint(10 ** 6, 10 ** 7), "two": chosen.randint(10 ** 6, 10 ** 7)}
        self.lines = [line.format(**values) for line in KINDS[kind]]
        stream = "stderr" if case.stderr and (not case.stdout or chosen.random() < 0.3) else "stdout"
        lines = getattr(case, stream).split(b"\n")
        at = chosen.randrange(len(lines))
        lines[at:at] = [line.encode() for line in self.lines]
        setattr(self.case, stream, b"\n".join(lines))
        self.where = f"{stream} line {at + 1}"

    def __str__(self):
        return f"{self.case} {self.kind} at {self.where}"

    def lost(self, rendering):
        """The lines that the rendering does not show."""
        if self.kind in FOR_PARSERS and rendering.parser.split("+")[0] in GENERIC:
            return []
        words = [line.split(": ")[-1].strip() if self.kind == "block" and number else line for number, line in enumerate(self.lines)]
        telling = [next(word for word in line.replace("/", " ").replace(":", " ").split() if any(map(str.isdigit, word))) for line in words]
        return [line for line, word in zip(self.lines, telling) if word not in rendering.text]


def planted(cases, seed, kinds=1):
    """KINDS needles for each case, each in an output of its own; cases take turns with the kinds."""
    chosen, names = random.Random(seed), list(KINDS)
    return [Planted(case, names[(number + seed + more) % len(names)], chosen)
            for number, case in enumerate(cases) for more in range(kinds)]


def rendered(needles):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(zip(needles, pool.map(lambda needle: renderer.render(needle.case), needles)))


def main():
    words = sys.argv[1:]
    seed = int(words[words.index("--seed") + 1]) if "--seed" in words else 17
    names = [word for at, word in enumerate(words) if word != "--seed" and words[at - 1:at] != ["--seed"]]
    cases = [case for case in store.all_cases() if not names or case.family in names or str(case) in names]
    lost, number = {}, 0
    for needle, rendering in rendered(planted(cases, seed, len(KINDS))):
        number += 1
        if gone := needle.lost(rendering):
            known = "known" if needle.case.is_known else "unknown"
            lost[needle.kind, known] = lost.get((needle.kind, known), 0) + 1
            print(f"{needle} ({known}, {rendering.parser}, {rendering.raw_tokens} to {rendering.tokens} tokens): {gone}")
    print(f"{number} needles, lost: {lost}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
