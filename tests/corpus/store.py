"""Where the corpus lies: cases/FAMILY/NAME.json, with NAME.stdout.gz and NAME.stderr.gz beside it.

The JSON has the command, the exit code, the facts that must survive, what must not be said, and the
number of o200k tokens of what was printed. An empty stream has no file.
"""
import gzip
import json
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"


class StoredCase:
    def __init__(self, path):
        self.path = path
        self.family, self.name = path.parent.name, path.stem
        described = json.loads(path.read_text())
        self.command, self.exit_code = described["command"], described["exit_code"]
        self.facts, self.must_not = described["facts"], described["must_not"]
        self.is_plain_log = described.get("plain_log", False)
        self.is_known = not described.get("unknown", False)
        self.tokens = described.get("o200k")
        self.stdout, self.stderr = (read_stream(path, stream) for stream in ("stdout", "stderr"))

    def __str__(self):
        return f"{self.family}/{self.name}"


def stream_path(path, stream):
    return path.with_name(f"{path.stem}.{stream}.gz")


def read_stream(path, stream):
    place = stream_path(path, stream)
    return gzip.decompress(place.read_bytes()) if place.exists() else b""


def all_cases():
    return [StoredCase(path) for path in sorted(CASES.glob("*/*.json"))]


def write_case(family, case, folder=CASES):
    path = folder / family / f"{case.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    described = {"command": case.command, "exit_code": case.ran.exit_code}
    if case.is_plain_log:
        described["plain_log"] = True
    if not case.is_known:
        described["unknown"] = True
    described["must_not"] = case.must_not
    described["facts"] = case.facts
    write_json(path, described)
    for stream in ("stdout", "stderr"):
        place, content = stream_path(path, stream), getattr(case.ran, stream)
        place.unlink(missing_ok=True)
        if content:
            place.write_bytes(gzip.compress(content, 9, mtime=0))


def write_json(path, described):
    """One line for each fact, so that a change of one reads as one."""
    facts = described["facts"]
    head = json.dumps({**described, "facts": []}, ensure_ascii=False, indent=1)
    body = ",\n  ".join(json.dumps(fact, ensure_ascii=False) for fact in facts)
    path.write_text(head.replace('"facts": []', '"facts": [\n  ' + body + "\n ]" if facts
                                 else '"facts": []') + "\n")


def add_tokens(case, tokens):
    described = json.loads(case.path.read_text())
    facts = described.pop("facts")
    described["o200k"] = tokens
    write_json(case.path, {**described, "facts": facts})
