"""A user's directory as a workspace, for the suites about it."""
import contextlib
import json
import os
import stat
import time
from pathlib import Path

from support import call, expect, sandbox, scratch

mode_flags = []


def in_both_modes(suite):
    """Over the directory's layers or on a copy of it: nobody can tell the difference."""
    def decorate(case):
        def copied():
            mode_flags[:] = ["--workspace-mode", "copy"]
            try:
                case()
            finally:
                mode_flags.clear()
        copied.__name__ = f"{case.__name__}_when_copied"
        suite.case(case)
        suite.case(copied)
        return case
    return decorate


def shell(made, text, status=0):
    ended = call("exec", made, "--", "sh", "-c", text)
    expect(ended.status == status, f"{text!r}: {ended!r}")
    return ended.stdout.decode(errors="surrogateescape")


def make_tree(root):
    root.mkdir(exist_ok=True)
    (root / "src").mkdir()
    (root / "src/main.c").write_text("int main(void) {\n  return 0;\n}\n")
    (root / "src/tool.sh").write_text("#!/bin/sh\necho tool\n")
    (root / "src/tool.sh").chmod(0o755)
    (root / "data").mkdir()
    (root / "data/blob").write_bytes(bytes(range(256)) * 4)
    (root / "data/old.txt").write_text("old\n")
    (root / "README").write_text("hello\n")
    (root / "link").symlink_to("README")
    return root


def snapshot(root):
    """Bytes, modes and links of a tree, by path."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in names + files:
            path = Path(directory) / name
            status = path.lstat()
            kind = stat.S_IFMT(status.st_mode)
            content = os.readlink(path) if stat.S_ISLNK(kind) else (
                path.read_bytes() if stat.S_ISREG(kind) else None)
            mode = 0 if stat.S_ISLNK(kind) else stat.S_IMODE(status.st_mode)
            found[str(path.relative_to(root))] = (kind, mode, content)
    return found


CHANGES = """
set -e
cd /workspace
printf 'int main(void) {\\n  return 1;\\n}\\n' > src/main.c
chmod 700 src/tool.sh
rm data/old.txt
mkdir -p deep/er && echo new > deep/er/file
rm link && ln -s src/main.c link
rm README && mkdir README && echo inside > README/file
printf '\\000\\001\\377' > binary
head -c 300000 /dev/urandom > data/blob
ln -s nowhere dangling
mv src/tool.sh src/renamed.sh
"""


@contextlib.contextmanager
def workspace(*flags):
    with scratch() as directory:
        root = make_tree(directory / "project")
        time.sleep(0.02)
        with sandbox("--workspace", str(root), *mode_flags, *flags) as made:
            yield root, made


def changes_of(made, *flags):
    ended = call("diff", made, "--json", *flags)
    expect(ended.status == 0, f"diff: {ended!r}")
    return {change["path"]: change for change in json.loads(ended.stdout)["changes"]}
