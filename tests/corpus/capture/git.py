"""git: oracle is porcelain -z and plumbing on a seeded repository."""
from scenario import WORDS, Case, path_fact, scenario, text_fact, with_versions

OLD_AND_NEW = {"old": "debian-11", "new": "debian-sid"}

AUTHORS = ["Ada Miller", "Ben Okafor", "Chiara Rossi", "Dmitri Volkov"]


def author_of(index):
    return AUTHORS[index // 5 % len(AUTHORS)]


def commit(project, index, message):
    author = author_of(index)
    day = index // 3  # people commit in runs, several times a day
    date = f"2026-0{1 + day // 28 % 9}-{1 + day % 28:02} 1{index % 10}:05:00 +0000"
    project.run("git add -A && git commit -q -F -", given=message.encode(), environment={
        "GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": author.split()[0].lower() + "@example.org",
        "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date})


def sentence(project, words):
    return " ".join(project.random.choice(WORDS) for _ in range(words - 1)) + f" {project.number()}"


def write_code(project, path, lines):
    project.write(path, "".join(f"def {project.word()}({project.word()}):\n"
                                f"    return {project.word()} + {project.number()}\n\n"
                                for _ in range(lines)))


def make_repository(project, files=8, commits=3, body=0):
    project.run("git init -q -b main")
    folders = [f"src/{project.word(1)}" for _ in range(3)] + ["src", "tests"]
    paths = [f"{project.random.choice(folders)}/{project.word()}.py" for _ in range(files)]
    for path in paths:
        write_code(project, path, 12)
    commit(project, 0, "core: begin\n")
    for index in range(1, commits):
        path = project.random.choice(paths)
        with (project.directory / path).open("a") as file:
            file.write(f"{project.word()} = {project.number()}\n")
        text = f"{project.word(1)}: {sentence(project, 5)}\n"
        if body:
            text += "\n" + "\n".join(sentence(project, 9) for _ in range(body)) + "\n"
        commit(project, index, text)
    return paths


def edit(project, path, share=0.1):
    """Changes, removes and adds lines here and there."""
    place = project.directory / path
    lines = place.read_text().splitlines()
    for index in range(len(lines)):
        if lines[index].startswith("    return") and project.random.random() < share * 3:
            lines[index] = f"    return {project.word()} * {project.number()}"
    lines.insert(project.random.randrange(len(lines)), f"# {sentence(project, 4)}")
    place.write_text("\n".join(lines) + "\n")


def make_conflict(project, path):
    """Two branches, main and other, with different lines in the same place."""
    for branch in ("other", "main"):
        project.run("git checkout -q -b other" if branch == "other" else "git checkout -q main")
        project.write(path, f"{branch} = {project.number()}\n")
        commit(project, 3, f"{branch}: change\n")


@scenario("git-status", ["git"], quick=True, variants=with_versions({
    "clean": {"staged": 0, "changed": 0, "untracked": 0},
    "one-changed": {"staged": 0, "changed": 1, "untracked": 0},
    "mixed": {"staged": 3, "changed": 5, "untracked": 4},
    "many": {"staged": 20, "changed": 30, "untracked": 50},
    "short": {"staged": 3, "changed": 6, "untracked": 6, "flags": " --short"},
    "renames-deletes": {"staged": 2, "changed": 2, "untracked": 1, "moves": 4},
    "conflict": {"staged": 0, "changed": 0, "untracked": 1, "conflict": True},
}, ["mixed", "renames-deletes", "conflict"], **OLD_AND_NEW))
def status(project, staged, changed, untracked, flags="", moves=0, conflict=False):
    paths = make_repository(project, files=max(8, staged + changed + moves * 2))
    for path in paths[:staged + changed]:
        edit(project, path)
    if staged:
        project.run("git add " + " ".join(paths[:staged]))
    for index in range(moves):
        path = paths[staged + changed + index]
        project.run(f"git mv {path} {path[:-3]}_{project.word()}.py" if index % 2 else f"git rm -q {path}")
    for _ in range(untracked):
        project.write(f"notes/{project.word()}.txt", "x\n")
        project.write(f"{project.word()}.log", "x\n")
    if conflict:
        make_conflict(project, paths[0])
        project.run("git merge other")
    command = f"git status{flags}"
    ran = project.run(command)
    facts = []
    entries = project.run("git status --porcelain=v1 -z").text.split("\0")
    while entries:
        entry = entries.pop(0)
        if not entry:
            continue
        names = [entry[3:]] + ([entries.pop(0)] if entry[0] == "R" else [])
        facts += [{"state": [state, name.rstrip("/")]} for state in states_of(entry[:2]) for name in names]
    branch = project.run("git branch --show-current").text.strip()
    if "short" not in flags:
        facts.append(text_fact(branch))
    return Case("", command, ran, facts, [] if not facts[1:] else ["nothing to commit", "working tree clean"])


def states_of(pair):
    """Porcelain's two letters in words: what is staged, and what is not."""
    if pair == "??":
        return ["untracked"]
    if "U" in pair:
        return ["unmerged both modified"]
    words = {"M": "modified", "A": "new file", "D": "deleted", "R": "renamed"}
    return [where + words[letter] for where, letter in (("staged ", pair[0]), ("", pair[1])) if letter in words]


def changed_lines(patch):
    """Each + and - line of a patch without context, with its file and its line in the new file."""
    found, file, line, is_deleted = [], "", 0, False
    for row in patch.splitlines():
        if row.startswith(("--- a/", "+++ b/")):
            file, is_deleted = row[6:], False
        elif row == "+++ /dev/null":
            is_deleted = True
        elif row.startswith("@@ "):
            first, _, count = row.split(" ")[2][1:].partition(",")
            line = int(first) + (count == "0")
        elif row[:1] in ("+", "-") and row != "--- /dev/null":
            if row[1:].strip():
                found.append({"change": [file, 0 if is_deleted else line, row.rstrip()]})
            line += row[0] == "+"
    return found


def diff_facts(project, words):
    names = project.run(f"git diff --name-only -z {words}").text.split("\0")
    patch = project.run(f"git diff -U0 {words}").text
    return [path_fact(name) for name in names if name] + changed_lines(patch)


@scenario("git-diff", ["git"], quick=True, variants=with_versions({
    "one-file": {"files": 1}, "three-files": {"files": 3}, "ten-files": {"files": 10, "share": 0.3},
    "stat": {"files": 8, "flags": " --stat"}, "name-only": {"files": 12, "flags": " --name-only"},
    "empty": {"files": 0}, "word-free-context": {"files": 4, "flags": " -U10"},
    "staged": {"files": 3, "flags": " --cached"}, "colour": {"files": 2, "flags": " --color=always"},
    "new-and-deleted": {"files": 2, "extra": True},
}, ["three-files", "stat", "new-and-deleted"], **OLD_AND_NEW))
def diff(project, files, share=0.1, flags="", extra=False):
    paths = make_repository(project, files=12)
    for path in paths[:files]:
        edit(project, path, share)
    if extra:
        write_code(project, f"src/{project.word()}.py", 6)
        (project.directory / paths[-1]).unlink()
        project.run("git add -AN")
    if "cached" in flags:
        project.run("git add -A")
    command = f"git diff{flags}"
    ran = project.run(command)
    if "stat" in flags or "name" in flags:
        facts = [path_fact(name) for name in project.run("git diff --name-only -z").text.split("\0") if name]
    else:
        facts = diff_facts(project, "--cached" if "cached" in flags else "")
    return Case("", command, ran, facts)


@scenario("git-log", ["git"], quick=True, variants=with_versions({
    "three": {"commits": 3, "body": 0}, "twenty-bodies": {"commits": 20, "body": 6, "flags": " -20"},
    "hundred": {"commits": 100, "body": 1}, "oneline": {"commits": 40, "body": 2, "flags": " --oneline -20"},
    "stat": {"commits": 10, "body": 1, "flags": " --stat -5"},
    "patch": {"commits": 6, "body": 0, "flags": " -p -3"},
    "graph": {"commits": 12, "body": 0, "flags": " --graph --oneline"},
    "format": {"commits": 10, "body": 0, "flags": " --format='%h %an %s'"},
}, ["three", "twenty-bodies", "stat", "graph"], **OLD_AND_NEW))
def log(project, commits, body, flags=""):
    make_repository(project, commits=commits, body=body)
    command = f"git log{flags}"
    ran = project.run(command)
    limit = next((word for word in flags.split() if word[1:].isdigit()), "")
    facts = []
    fields = "--format='%H%x00%an%x00%s%x00%ad'"
    for line in project.run(f"git log {limit} {fields} --date=short").text.splitlines():
        commit_hash, author, subject, day = line.split("\0")
        if "oneline" in flags or "format" in flags:
            facts.append({"row": [subject], "starts": [commit_hash[:7]]})
        else:
            facts.append({"commit": [commit_hash[:7], author, day, subject]})
    if "-p" in flags:
        patch = project.run("git log -3 -p -U0 --format=").text
        facts += changed_lines(patch)
    return Case("", command, ran, facts)


@scenario("git-show", ["git"], quick=True, variants=with_versions({
    "small": {"files": 1, "body": 0}, "large": {"files": 8, "body": 5}, "stat": {"files": 6, "body": 2, "flags": " --stat"},
}, ["small", "stat"], **OLD_AND_NEW))
def show(project, files, body, flags=""):
    paths = make_repository(project, files=10)
    for path in paths[:files]:
        edit(project, path, 0.3)
    subject = sentence(project, 6)
    commit(project, 7, subject + "\n\n" + "\n".join(sentence(project, 8) for _ in range(body)) + "\n")
    command = f"git show{flags}"
    ran = project.run(command)
    fields = project.run("git log -1 --format='%h%x00%an%x00%ad%x00%s' --abbrev=7 --date=short").text.strip().split("\0")
    facts = [{"commit": fields}]
    facts += diff_facts(project, "HEAD~1 HEAD") if not flags else [
        path_fact(name) for name in project.run("git diff --name-only -z HEAD~1").text.split("\0") if name]
    return Case("", command, ran, facts)


@scenario("git-blame", ["git"], quick=True, variants=with_versions(
    {"file": {"commits": 12}, "long": {"commits": 40}}, ["file"], **OLD_AND_NEW))
def blame(project, commits):
    paths = make_repository(project, files=2, commits=commits)
    command = f"git blame {paths[0]}"
    ran = project.run(command)
    facts, author = [], ""
    for line in project.run(f"git blame --line-porcelain {paths[0]}").text.splitlines():
        if line.startswith("author "):
            author = line[7:]
        elif line.startswith("\t") and line.strip():
            facts.append({"row": [line.strip()], "all": [author]})
        elif len(line.split(" ")[0]) == 40:
            facts.append({"starts": [line[:7]]})
    return Case("", command, ran, facts)


@scenario("git-branch", ["git"], quick=True, variants=with_versions({
    "few": {"count": 4}, "forty": {"count": 40}, "verbose": {"count": 12, "flags": " -vv"},
}, ["few", "verbose"], **OLD_AND_NEW))
def branch(project, count, flags=""):
    make_repository(project)
    for _ in range(count):
        project.run(f"git branch feature/{project.word()}-{project.word(1)}")
    command = f"git branch{flags}"
    ran = project.run(command)
    names = project.run("git for-each-ref --format='%(refname:short)' refs/heads").text.split()
    return Case("", command, ran, [text_fact(name) for name in names])


@scenario("git-trouble", ["git"], quick=True, variants=with_versions({
    "no-repository": {"kind": "none"}, "unknown-revision": {"kind": "revision"},
    "merge-conflict": {"kind": "merge"}, "commit": {"kind": "commit"}, "push-nowhere": {"kind": "push"},
}, ["unknown-revision", "merge-conflict", "commit", "push-nowhere"], **OLD_AND_NEW))
def trouble(project, kind):
    name = project.word()
    if kind != "none":
        paths = make_repository(project)
    command = {"none": "git status", "revision": f"git log {name}", "merge": "git merge other",
               "commit": "git commit -am 'core: change'", "push": f"git push {name} main"}[kind]
    facts = {"none": [text_fact("not a git repository")], "revision": [text_fact(name, "unknown revision")],
             "push": [text_fact(name, "does not appear to be a git repository")]}.get(kind, [])
    if kind == "merge":
        make_conflict(project, paths[0])
        facts = [text_fact("CONFLICT", paths[0]), text_fact("Automatic merge failed")]
    elif kind == "commit":
        edit(project, paths[0])
        facts = [text_fact("core: change"), text_fact("1 file changed")]
    ran = project.run(command)
    return Case("", command, ran, facts, failing_words(ran))


def failing_words(ran):
    return ["merge made", "up to date"] if ran.exit_code else []
