"""Counts o200k tokens by the real vocabulary: nutshell-compaction-bench and bench/compaction/tokenizer."""
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def count_tokens(program, texts):
    ranks = subprocess.run([ROOT / "bench/compaction/tokenizer"], check=True, capture_output=True, text=True)
    framed = b"".join(b"%d\n%s" % (len(text), text) for text in texts)
    counted = subprocess.run([program, "tokens", ranks.stdout.strip()], input=framed, check=True,
                             capture_output=True)
    return [int(line) for line in counted.stdout.split()]
