#!/usr/bin/env python3
"""Holds every stored case against itself: a fact that is not in what the tool printed is no fact.

    tests/corpus/check.py [FAMILY …]
"""
import sys

import match
import store


def raw_text(case):
    return (case.stdout + b"\n" + case.stderr).decode(errors="replace")


def main():
    wanted, bad = sys.argv[1:], 0
    for case in store.all_cases():
        if wanted and case.family not in wanted:
            continue
        for fact in match.lost(case.facts, raw_text(case)):
            print(f"{case}: not in the output: {fact}")
            bad += 1
    print(f"{bad} facts without a ground")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
