#!/usr/bin/env python3
"""Writes the small outputs of tests/corpus as inputs of the parsers' fuzzers: tests/fuzz/output_seeds.py DIRECTORY

Real text leads a fuzzer further into a parser than a file of its own ever would.
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "corpus"))

import store  # noqa: E402

MOST_BYTES = 8 << 10  # a larger input is a slower one
FAILED = b"\1"  # the first byte: how the command ended, and the budget


def main(directory):
    directory.mkdir(parents=True, exist_ok=True)
    for case in store.all_cases():
        output = case.stdout + case.stderr
        if 0 < len(output) <= MOST_BYTES:
            (directory / str(case).replace("/", "-")).write_bytes((FAILED if case.exit_code else b"\0") + output)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    main(Path(sys.argv[1]))
