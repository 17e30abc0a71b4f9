"""The commands of the published comparison with RTK, at sizes like its own, as a family of their own."""
import containers
import files
import git
import python
import rust
from scenario import scenario

ROWS = {
    "git-status": (git.status, {"staged": 4, "changed": 5, "untracked": 3, "moves": 2}),
    "git-log": (git.log, {"commits": 30, "body": 8, "flags": " -20"}),
    "git-log-oneline": (git.log, {"commits": 30, "body": 0, "flags": " --oneline -20"}),
    "git-diff": (git.diff, {"files": 3}),
    "git-show": (git.show, {"files": 5, "body": 6}),
    "cargo-test": (rust.test, {"count": 40, "share": 0.075, "environment": {"RUST_BACKTRACE": "1"}}),
    "cargo-build": (rust.build, {"count": 10, "share": 0.5, "kinds": rust.ERRORS}),
    "pytest": (python.pytest, {"files": 11, "tests": 11, "share": 0.025}),
    "ls": (files.ls, {"files": 15, "flags": " -la"}),
    "grep": (files.grep, {"files": 80, "pattern": "import name_1[0-9]", "flags": "-rn"}),
    "find": (files.find, {"files": 198, "folders": 14, "flags": " -name '*.py'"}),
    "cat": (files.read, {"count": 125}),
    "docker-ps": (containers.docker, {"kind": "ps", "count": 7}),
}


@scenario("rtk", ["git", "cargo", "docker", "pytest-8.3.5/bin/pytest"], variants={name: {"row": name} for name in ROWS})
def row(project, row):
    function, arguments = ROWS[row]
    return function(project, **arguments)
