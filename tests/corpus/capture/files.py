"""ls, find, tree, grep, du, ps, wc: oracle is the generated tree itself, read with os.walk and stat."""
import os
import re

from scenario import RELEASES, Case, path_fact, row_fact, scenario, text_fact, with_versions

# Other versions of GNU's tools, and other makers' tools of the same name.
GNU = {"old": "debian-11", "new": "debian-sid"}
MAKERS = {"busybox": "busybox-1.30", "new-busybox": "busybox-1.38", "toybox": "toybox-0.8"}
RUST = {"uutils": "uutils-0.0.30", "new-uutils": "uutils-0.12"}

ENDINGS = [".py", ".py", ".py", ".md", ".json", ".c", ".h", ".txt", ""]


def make_tree(project, files, folders):
    """Files of different sizes in nested folders; returns their paths."""
    places = [""]
    for _ in range(folders):
        places.append(f"{project.random.choice(places)}{project.word()}/")
    paths = []
    for _ in range(files):
        path = f"{project.random.choice(places)}{project.word()}{project.random.choice(ENDINGS)}"
        lines = [f"{project.random.choice(['import', 'use', 'call'])} name_{project.random.randint(1, 99)}"
                 for _ in range(project.random.randint(1, 60))]
        project.write(path, "\n".join(lines) + "\n")
        paths.append(path)
    return paths


@scenario("ls", ["ls"], quick=True, variants=with_versions({
    "empty": {"files": 0}, "one": {"files": 1}, "ten-long": {"files": 10, "flags": " -la"},
    "hundred-long": {"files": 100, "flags": " -la"}, "hundred": {"files": 100},
    "three-hundred-long": {"files": 300, "flags": " -l"}, "human": {"files": 30, "flags": " -lh"},
    "recursive": {"files": 60, "folders": 10, "flags": " -R"}, "links": {"files": 8, "flags": " -l", "links": 4},
    "missing": {"files": 3, "flags": " {missing}"}, "thirty-long": {"files": 30, "flags": " -la"},
}, ["thirty-long", "links", "recursive", "missing"], **GNU, **MAKERS, **RUST))
def ls(project, files, flags="", folders=0, links=0):
    paths = make_tree(project, files, folders)
    missing = project.word()
    for index in range(links):
        (project.directory / f"link-{project.word()}").symlink_to(paths[index % len(paths)])
    command = "ls" + flags.format(missing=missing)
    ran = project.run(command)
    facts = []
    for place, names, leaves in os.walk(project.directory):
        if place != str(project.directory) and "-R" not in flags:
            break
        for name in names + leaves if "missing" not in flags else []:
            entry = os.path.join(place, name)
            inside = os.path.relpath(entry, project.directory)
            if os.path.islink(entry):
                facts.append(row_fact(name, os.readlink(entry)))
            elif " -l" in flags and "h" not in flags and os.path.isfile(entry):
                facts.append(row_fact(name, str(os.stat(entry).st_size)))
            else:
                facts.append(path_fact(inside))
    if "missing" in flags:
        facts = [text_fact(missing, "No such file or directory")]
    return Case("", command, ran, facts)


@scenario("find", ["find"], quick=True, variants=with_versions({
    "one": {"files": 1, "folders": 1}, "hundred": {"files": 100, "folders": 15},
    "python-only": {"files": 180, "folders": 12, "flags": " -name '*.py'"},
    "five-hundred": {"files": 500, "folders": 40, "flags": " -type f"},
    "nothing": {"files": 5, "folders": 1, "flags": " -name '*.none'"},
    "deep": {"files": 60, "folders": 40, "flags": " -type d"},
    "missing": {"files": 3, "folders": 1, "where": "{missing}"},
}, ["hundred", "deep", "missing"], **GNU, **MAKERS))
def find(project, files, folders, flags="", where="."):
    make_tree(project, files, folders)
    missing = project.word()
    command = f"find {where.format(missing=missing)}{flags}"
    ran = project.run(command)
    if where != ".":
        return Case("", command, ran, [text_fact(missing, "No such file or directory")])
    facts = []
    for place, names, leaves in os.walk(project.directory):
        inside = os.path.relpath(place, project.directory)
        for name in names * ("type f" not in flags and "name" not in flags) + leaves * ("type d" not in flags):
            if "name" not in flags or name.endswith(".py") and "py" in flags:
                facts.append(path_fact(os.path.normpath(os.path.join(inside, name))))
    return Case("", command, ran, facts)


@scenario("find", ["debian-sid/fdfind"], quick=True, variants={
    **{f"fd-{age}": {"files": 100, "folders": 15, "tools": tools} for age, tools in GNU.items()},
    **{f"fd-{age}-python": {"files": 60, "folders": 10, "ending": "py", "tools": tools} for age, tools in GNU.items()},
})
def fd(project, files, folders, ending=""):
    paths = make_tree(project, files, folders)
    words = f" -e {ending}" if ending else ""
    ran = project.run("fdfind" + words)
    wanted = [path for path in paths if path.endswith("." + ending)] if ending else [
        os.path.relpath(os.path.join(place, name), project.directory)
        for place, names, leaves in os.walk(project.directory) for name in names + leaves]
    return Case("", "fd" + words, ran, [path_fact(path) for path in wanted])


@scenario("tree", ["tree"], quick=True, variants=with_versions({
    "small": {"files": 8, "folders": 3}, "hundred": {"files": 100, "folders": 20},
    "folders-only": {"files": 30, "folders": 30, "flags": " -d"},
}, ["small", "hundred"]))
def tree(project, files, folders, flags=""):
    make_tree(project, files, folders)
    command = f"tree{flags}"
    ran = project.run(command)
    facts, counts = [], [0, 0]
    for _, names, leaves in os.walk(project.directory):
        counts = [counts[0] + len(names), counts[1] + len(leaves)]
        facts += [text_fact(name) for name in names + leaves * (not flags)]
    # Some count the folder they begin in.
    facts.append(row_fact([str(counts[0] + 1), str(counts[0])], ["directories", "directory", "dirs"]))
    return Case("", command, ran, facts)


HITS = {
    "one-file": {"files": 1, "pattern": "name_1", "flags": "-n"},
    "seventy-hits": {"files": 90, "pattern": "import name_1[0-9]", "flags": "-rn"},
    "many-hits": {"files": 150, "pattern": "call name_[12]", "flags": "-rn"},
    "no-line-numbers": {"files": 60, "pattern": "use name_3", "flags": "-r"},
    "names-only": {"files": 80, "pattern": "name_42", "flags": "-rl"},
    "counts": {"files": 30, "pattern": "import", "flags": "-rc"},
    "nothing": {"files": 5, "pattern": "absent_word", "flags": "-rn"},
    "bad-pattern": {"files": 1, "pattern": "a[", "flags": "-rn"},
    "context": {"files": 20, "pattern": "name_7", "flags": "-rn -C2"},
    "twenty-hits": {"files": 30, "pattern": "import name_1", "flags": "-rn"},
}


@scenario("grep", ["grep"], quick=True, variants=with_versions(
    HITS, ["twenty-hits", "names-only", "bad-pattern"], **GNU, **MAKERS))
def grep(project, files, pattern, flags):
    paths = make_tree(project, files, 0 if files == 1 else 8)
    where = paths[0] if files == 1 else "."
    command = f"grep {flags} '{pattern}' {where}"
    ran = project.run(command)
    facts = []
    if pattern == "a[":
        facts = [text_fact(["Unmatched [", "Invalid regular expression", "bad regex", "brackets ([ ]) not balanced"])]
    else:
        for path in paths:
            hits = [(number, line) for number, line in enumerate(
                (project.directory / path).read_text().splitlines(), start=1) if re.search(pattern, line)]
            facts += hit_facts(path if files > 1 else "", hits, flags)
    return Case("", command, ran, facts)


@scenario("grep", ["rg"], quick=True, variants={
    "ripgrep": {}, **{f"ripgrep-{age}": {"tools": tools} for age, tools in RELEASES.items()},
    "ripgrep-names": {"flags": "-l"}, "ripgrep-plain": {"flags": ""}, "ripgrep-heading": {"flags": "--heading -n"},
    "ripgrep-new-columns": {"flags": "-n --column", "tools": RELEASES["new"]},
})
def ripgrep(project, flags="-n", files=30, pattern="import name_1"):
    paths = make_tree(project, files, 8)
    command = f"rg {flags} '{pattern}' ."
    ran = project.run(command)
    facts = []
    for path in paths:
        hits = [(number, line) for number, line in enumerate(
            (project.directory / path).read_text().splitlines(), start=1) if re.search(pattern, line)]
        facts += hit_facts(path, hits, flags.replace("heading", "").replace("--column", ""))
    return Case("", command, ran, facts)


def hit_facts(path, hits, flags):
    if "c" in flags:
        return [row_fact(path, str(len(hits)))]
    if "l" in flags:
        return [path_fact(path)] if hits else []
    if not path:
        return [row_fact(str(number), line) for number, line in hits]
    if "n" not in flags:
        return [{"path": path, "all": [line]} for _, line in hits]
    return [{"file": path, "line": number, "column": 0, "message": line} for number, line in hits]


@scenario("du", ["du"], quick=True, variants=with_versions({
    "depth-one": {"folders": 20, "flags": " -k -d1"}, "all": {"folders": 10, "flags": " -ka"},
    "human": {"folders": 60, "flags": " -h"},
}, ["depth-one", "all"], **GNU, **MAKERS, **RUST))
def du(project, folders, flags):
    make_tree(project, 40, folders)
    command = f"du{flags} ."
    ran = project.run(command)
    facts = []
    project.tools = ""  # the sizes by GNU's, which ends each with a NUL
    for line in project.run(f"du -0{flags} .").text.split("\0"):
        if line:
            size, path = line.split("\t")
            facts.append({"path": os.path.normpath(path), "all": [size]})
    return Case("", command, ran, [fact for fact in facts if fact["path"] != "."])


@scenario("ps", ["ps"], variants=with_versions(
    {"aux": {"count": 12}, "forest": {"count": 6, "flags": "-ef"}}, ["aux", "forest"], **GNU) | {
    f"{age}-version-bare": {"count": 8, "flags": "", "tools": MAKERS[age]} for age in ("busybox", "new-busybox")} | {
    "toybox-version-forest": {"count": 6, "flags": "-ef", "tools": MAKERS["toybox"]}})
def ps(project, count, flags="aux"):
    """In a process namespace of its own: nothing of the host is in the list."""
    numbers = [project.number(300, 3000) for _ in range(count)]
    sleepers = " ".join(f"sleep {number} &" for number in numbers)
    ran = project.run(f"unshare --pid --fork --mount-proc sh -c '{sleepers} ps {flags}; exit $?'")
    return Case("", f"ps {flags}", ran, [row_fact(f"sleep {number}") for number in numbers])


@scenario("read", ["cat"], quick=True, variants={"source": {"count": 80}, "numbered": {"count": 40, "tool": "cat -n"},
                                                 "head": {"count": 60, "tool": "head -n 50"}})
def read(project, count, tool="cat"):
    path = f"src/{project.word()}.rs"
    lines = []
    for _ in range(count):
        lines += [f"/// {project.word()} {project.word()}", f"pub fn {project.word()}(n: u64) -> u64 {{",
                  f"    n + {project.number()} // {project.word()}", "}", ""]
    project.write(path, "\n".join(lines) + "\n")
    command = f"{tool} {path}"
    ran = project.run(command)
    shown = lines[:50] if "head" in tool else lines
    return Case("", command, ran, [row_fact(line) for line in shown if line.strip(" }")])
