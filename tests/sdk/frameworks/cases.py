"""A runner for the programs here, which run with the packages of one framework.

Each function `case_…` is a case; a coroutine function runs in a loop of its own. Prints `ok NAME`, or
`FAIL NAME: what`.
"""
import asyncio
import inspect
import sys
import traceback
from pathlib import Path


def main(names):
    failed = 0
    wanted = sys.argv[1:]
    for name, function in list(names.items()):
        if not name.startswith("case_") or (wanted and name.removeprefix("case_") not in wanted):
            continue
        try:
            done = function()
            if inspect.iscoroutine(done):
                asyncio.run(done)
            print(f"ok {name.removeprefix('case_')}", flush=True)
        except BaseException as error:  # one case must not hide the ones behind it
            failed += 1
            frames = traceback.extract_tb(error.__traceback__)
            at = next((one for one in reversed(frames) if one.filename == inspect.getfile(function)),
                      frames[-1])
            text = f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {error}"
            print(f"FAIL {name.removeprefix('case_')}: {' '.join(text.split())[:400]}", flush=True)
    return 1 if failed else 0
