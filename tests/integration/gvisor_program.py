"""Finds gVisor's program runsc; scripts/engine downloads it if the machine has none."""
import os
import subprocess

from support import REPOSITORY, Skip, expect

CANNOT = 77


def find_runsc():
    """Returns its path, and makes the programs that this suite starts use it."""
    if "NUTSHELL_RUNSC" not in os.environ:
        done = subprocess.run([REPOSITORY / "scripts/engine", "program", "runsc"],
                              capture_output=True, text=True, timeout=300, check=False)
        if done.returncode == CANNOT:
            raise Skip(done.stderr.strip().splitlines()[-1])
        expect(done.returncode == 0, f"scripts/engine program runsc: {done.stderr}")
        os.environ["NUTSHELL_RUNSC"] = done.stdout.strip()
    return os.environ["NUTSHELL_RUNSC"]
