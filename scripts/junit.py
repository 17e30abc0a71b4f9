#!/usr/bin/env python3
"""Turns the JUnit file that ctest writes into FAIL and SKIP lines and one line of counts."""

import re
import sys
import xml.etree.ElementTree as xml


def skip_reason(case):
    """Returns the message of GTEST_SKIP(): the text after the line that ends in `: Skipped`."""
    output = case.findtext("system-out") or ""
    match = re.search(r": Skipped\n(.+?)\n(?:\n|\[)", output, re.DOTALL)
    if match:
        return " ".join(match.group(1).split())
    skipped = case.find("skipped")
    message = skipped.get("message") if skipped is not None else None
    return message or "disabled"


def is_skipped(case):
    """Returns whether the test skipped itself. One whose program is missing is `notrun` too: it failed."""
    if case.get("status") == "disabled":
        return True
    skipped = case.find("skipped")
    return skipped is not None and (skipped.get("message") or "").startswith("SKIP_")


def main(path):
    try:
        cases = xml.parse(path).getroot().findall("testcase")
    except (OSError, xml.ParseError) as error:
        sys.exit(f"cannot read the results of ctest: {error}")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in cases:
        name = case.get("name")
        if case.get("status") == "run":
            counts["passed"] += 1
        elif is_skipped(case):
            counts["skipped"] += 1
            print(f"SKIP {name}: {skip_reason(case)}")
        else:
            counts["failed"] += 1
            print(case.findtext("system-out") or "")
            print(f"FAIL {name}")
    print(", ".join(f"{count} {word}" for word, count in counts.items()))


if __name__ == "__main__":
    main(sys.argv[1])
