"""Renders a case with `nutshell render`."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

import judge

RECALL_ID = "o7f3a"


def find_program():
    named = Path(os.environ.get("NUTSHELL_BIN", Path(__file__).resolve().parents[2] / "build/bin"))
    return str((named / "nutshell" if named.is_dir() else named).resolve())


def render(case):
    with tempfile.NamedTemporaryFile(prefix="nutshell-corpus-") as errors:
        errors.write(case.stderr)
        errors.flush()
        ended = subprocess.run(
            [find_program(), "render", "--command", case.command, "--exit-code", str(case.exit_code),
             "--stderr", errors.name, "--id", RECALL_ID, "--json"],
            input=case.stdout, capture_output=True, timeout=60, check=False)
    if ended.returncode != 0:
        raise RuntimeError(f"{case}: render ended with {ended.returncode}: {ended.stderr[-300:]!r}")
    answer = json.loads(ended.stdout)
    return judge.Rendering(answer["text"], answer["parser"], len(answer["omitted"]), answer["raw_tokens"],
                           answer["tokens"], RECALL_ID)
