"""Base of every capture script: a project directory, a run of the real tool, a case.

A scenario writes a small project with planted failures, runs the tool on it, and says which facts
must survive compaction. Facts come from the tool's machine-readable report or from what was
planted; never from the text under test. The same scenarios make the stored corpus (a fixed seed, in
/srv/project) and the generated one (a fresh seed, in a scratch directory).
"""
import dataclasses
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

TOOLS = Path(os.environ.get("NUTSHELL_CORPUS_TOOLS", "/srv/tools"))
PATIENCE = 240  # seconds for one command


class Missing(Exception):
    """A tool is not here; the text says how to get it."""


@dataclasses.dataclass
class Ran:
    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self):
        return self.stdout.decode(errors="replace")


@dataclasses.dataclass
class Case:
    name: str
    command: str
    ran: Ran
    facts: list
    must_not: list = dataclasses.field(default_factory=list)
    is_plain_log: bool = False
    is_known: bool = True  # a parser of ours is made for its family
    note: str = ""


@dataclasses.dataclass
class Scenario:
    family: str
    function: object
    variants: dict  # name of the case -> keyword arguments
    needs: list
    is_quick: bool  # cheap enough to be run again by the test, with a fresh seed
    is_known: bool = True  # a parser of ours is made for the family

    def make(self, project, variant):
        """The case of one variant. Its `tools` is a directory of programs that stand first on PATH: a version."""
        arguments = dict(variant)
        project.tools = arguments.pop("tools", "")
        if project.tools and not os.path.exists(TOOLS / project.tools):
            raise Missing(f"{project.tools} below the tools directory")
        case = self.function(project, **arguments)
        case.is_known = self.is_known
        return case


SCENARIOS = []


def scenario(family, needs, variants, quick=False, known=True):
    """Registers a function (project, **variant) -> Case under each variant's name."""
    def register(function):
        SCENARIOS.append(Scenario(family, function, variants, needs, quick, known))
        return function
    return register


def unknown(family, needs, variants, quick=False):
    """Registers a scenario of a family for which no parser of ours is made."""
    return scenario(family, needs, variants, quick, known=False)


# Releases of Debian, each with its versions of many tools (capture/tools makes them).
RELEASES = {"old": "debian-11", "middle": "debian-13", "new": "debian-sid"}


def with_versions(variants, names, **tools):
    """The variants, and those NAMED again with the TOOLS of other versions: `old-version-NAME`."""
    again = {f"{age}-version-{name}": {**variants[name], "tools": directory}
             for age, directory in (tools or RELEASES).items() for name in names}
    return {**variants, **again}


def find_tool(name):
    """A program on PATH, or below the tools directory (`node_modules/.bin/jest`)."""
    if "/" in name:
        found = TOOLS / name
        return str(found) if os.path.exists(found) else None
    return shutil.which(name, path=search_path())


def search_path():
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/bin", "/usr/sbin", "/sbin"])


# Facts ------------------------------------------------------------------------------------------

def text_fact(*strings):
    """All of the strings stand somewhere in the text; a list among them means any one of it."""
    return {"all": list(strings)}


def row_fact(*strings):
    """All of the strings stand on one line."""
    return {"row": list(strings)}


def under_fact(heading, *strings):
    """All of the strings stand on one line in the block below HEADING, or on its own line; a list means any one of it.

    The block ends at the next heading of another fact of the case.
    """
    return {"under": heading if isinstance(heading, list) else [heading], "row": list(strings)}


def record_fact(**values):
    """A record with these values: an object of JSON, a line of key=value, or a row below its titles."""
    return {"record": {key: str(value) for key, value in values.items()}}


def at_fact(file, line, column, message):
    """A diagnostic: its place (column 0: none given) and the head of its message."""
    return {"file": file, "line": line, "column": column, "message": message}


def path_fact(path):
    """A path, written out or as a name below its directory's heading."""
    return {"path": path}


def failing(*words):
    """Claims that must not be made about a failed run."""
    return ["all tests passed", "no issues", "no errors", "0 failed", "0 errors", *words]


# Projects ---------------------------------------------------------------------------------------

# Names cost what names cost in real projects: plain words, not syllables nobody would write.
WORDS = """account action address anchor archive array asset atlas badge balance basket batch beacon border branch
bridge bucket buffer bundle button cache canvas capture carrier catalog cell channel chart city client cloud cluster
color column command copy counter country course cursor customer daily data deck delta depth device digest display
dock domain draft driver edge editor engine entry event export factor feature feed field file filter flow folder
frame garden gate graph grid group handle header history image import index input invoice item job kernel label
ladder layer layout ledger letter library light limit link list local loop map market matrix member memory menu
message metric mirror model module motion name native network node number object offer option order origin output
owner packet page panel parcel parser path pattern payment phase pixel place plan player plugin point policy pool
port price print process product profile prompt proxy query queue radio range record region relay render report
request ring river road role room root route rule sample scale scene schema scope search section segment sensor
series session shape sheet shelf signal slot source space stage station step stock store stream street style
switch symbol table target task team temple text theme thread ticket tile timer token tool topic track trade train
transfer tree trip tunnel turn unit update user value vector version view voice volume wallet water window winter
word worker yard zone""".split()


class Project:
    """A directory that a scenario fills, and the random choices it makes."""

    def __init__(self, directory, seed, is_stored):
        self.directory = Path(directory)
        self.random = random.Random(seed)
        self.is_stored = is_stored
        self.used = set()
        self.tools = ""  # below the tools directory

    def word(self, parts=2):
        """A name that was not used before in this project."""
        made = ""
        for attempt in range(100):
            made = "_".join(self.random.choice(WORDS) for _ in range(parts + attempt // 4))
            if made not in self.used:
                break
        self.used.add(made)
        return made

    def number(self, least=100, most=99999):
        while True:
            made = self.random.randint(least, most)
            if made not in self.used:
                self.used.add(made)
                return made

    def write(self, path, text):
        place = self.directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def run(self, command, environment=None, seconds=PATIENCE, given=None):
        """Runs shell text in the project, as a sandbox would: no terminal, a small environment."""
        home = self.directory.parent / (self.directory.name + "-home")
        home.mkdir(exist_ok=True)
        path = os.pathsep.join([str(TOOLS / self.tools), search_path()] if self.tools else [search_path()])
        settings = {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb",
                    "TZ": "UTC", "USER": "dev", "CI": "", "GIT_CONFIG_NOSYSTEM": "1",
                    "GIT_AUTHOR_NAME": "Ada Miller", "GIT_AUTHOR_EMAIL": "ada@example.org",
                    "GIT_COMMITTER_NAME": "Ada Miller", "GIT_COMMITTER_EMAIL": "ada@example.org",
                    "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
                    "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
                    "DOCKER_HOST": os.environ.get("DOCKER_HOST", ""),
                    "GOCACHE": str(home / "go-build"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
        settings.update(environment or {})
        ended = subprocess.run(["/bin/sh", "-c", command], cwd=self.directory, env=settings,
                               input=given if given is not None else b"", capture_output=True,
                               timeout=seconds, check=False)
        return Ran(ended.returncode, self.neutral(ended.stdout), self.neutral(ended.stderr))

    def neutral(self, output):
        """Takes this machine out of the text: its private directories and its mirrors."""
        if not self.is_stored:
            return output
        for pattern, replacement in NEUTRAL:
            output = re.sub(pattern, replacement, output)
        return output


HOME_PATH = re.escape(str(Path.home())).encode()
NEUTRAL = [
    (HOME_PATH + rb"/\.pyenv/versions/[0-9.]+", b"/usr/local"),
    (HOME_PATH + rb"/\.rustup/toolchains/[^/]+", b"/usr/local/rust"),
    (HOME_PATH + rb"/\.cargo", b"/home/dev/.cargo"),
    (HOME_PATH + rb"(?=/)", b"/home/dev"),
    (rb"https?://(?!127\.0\.0\.1|localhost|errors\.|docs\.|nodejs\.org|doc\.rust-lang|go\.dev|pytest|eslint\.org|"
     rb"jestjs|vitest|maven\.apache|cwiki|typescript|rust-lang\.github|docs\.gradle|github\.com)"
     rb"[A-Za-z0-9._:@-]+", b"https://packages.example"),
    (rb"\b" + re.escape(os.uname().nodename).encode() + rb"\b(?<=[\w.-]{4})", b"builder"),  # not a mere syllable
]


def plant(project, count, share):
    """Which of COUNT items are to fail: none, one, a share of them, or all."""
    wanted = {"none": 0, "one": 1, "all": count}.get(share)
    if wanted is None:
        wanted = max(1, round(count * share))
    return set(project.random.sample(range(count), min(wanted, count)))
