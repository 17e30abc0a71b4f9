"""Known tools whose flags ask for something else, and commands that run several tools: the facts are of what was asked for."""
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from scenario import Case, at_fact, failing, path_fact, plant, row_fact, scenario, text_fact, under_fact

BUILD = "pybuild/bin"


def python_suite(project, count, share, slow=()):
    """Tests for pytest in one file; returns its path, their names and what a report must say of those that fail."""
    bad, facts, names = plant(project, count, share), [], []
    text = "import time\n\n\n"
    for index in range(count):
        name, got, wanted = project.word(), project.number(), project.number()
        wait = "    time.sleep(0.1)\n" if index in slow else ""
        text += f"def test_{name}():\n{wait}    assert {got} == {wanted if index in bad else got}\n\n\n"
        names.append(f"test_{name}")
        if index in bad:
            facts.append(text_fact(f"test_{name}", f"assert {got} == {wanted}"))
    path = f"tests/test_{project.word()}.py"
    project.write(path, text)
    return path, names, facts


@scenario("pytest-flags", ["pybuild/bin/pytest"], variants={
    "collect-only": {"count": 12, "flags": " --collect-only", "share": "none"},
    "collect-quiet": {"count": 40, "flags": " --collect-only -q", "share": "none"},
    "durations": {"count": 20, "flags": " --durations=4", "share": "one"},
    "coverage": {"count": 20, "flags": " --cov=src --cov-report=term-missing", "share": 0.1},
    "markers": {"count": 5, "flags": " --markers", "share": "none"}, "fixtures": {"count": 5, "flags": " --fixtures -q", "share": "none"},
})
def pytest_flags(project, count, flags, share):
    project.tools = BUILD
    slow = {2, 7, 11}
    path, names, failed = python_suite(project, count, share, slow if "durations" in flags else ())
    facts = list(failed)
    if "collect" in flags:
        facts = [under_fact([path, path.split("/")[-1]], name) for name in names] + [row_fact(f"{count} tests collected")]
    elif "durations" in flags:
        facts += [row_fact(names[index], [f"0.{hundredths}s" for hundredths in range(10, 30)]) for index in slow]
    elif "cov" in flags:
        words = [project.word() for _ in range(9)]
        for index, word in enumerate(words):
            project.write(f"src/{word}.py", f"def {word}():\n    return 1\n" + ("" if index % 3 else f"\n\ndef more_{word}():\n    return 2\n"))
        project.write("src/__init__.py", "")
        project.write("tests/test_use.py", "".join(f"from src.{word} import {word}\n" for word in words) + "\n\ndef test_use():\n" +
                      "".join(f"    {word}()\n" for word in words))
        facts += [row_fact(f"{word}.py", "4", "1", "75%", "6") for word in words[::3]] + [row_fact("TOTAL", "88%")]
    elif "markers" in flags:
        facts = [row_fact("@pytest.mark.usefixtures"), row_fact("@pytest.mark.parametrize"), row_fact("@pytest.mark.tryfirst")]
    else:
        facts = [row_fact("monkeypatch"), row_fact("tmp_path"), row_fact("capsys")]
    command = f"python -m pytest -p no:cacheprovider{flags}"
    ran = project.run(command)
    return Case("", command.replace("python -m pytest", "pytest"), ran, facts, failing() if failed else [])


@scenario("go-bench", ["go"], variants={"few": {"count": 3}, "many": {"count": 30}, "with-failure": {"count": 6, "fails": True}})
def go_bench(project, count, fails=False):
    """Each benchmark is what was asked for; its figures are those of the run."""
    project.write("go.mod", "module example.org/sample\n\ngo 1.21\n")
    names = [project.word().title().replace("_", "") for _ in range(count)]
    text = "package sample\n\nimport \"testing\"\n\n" + "".join(
        f"func Benchmark{name}(b *testing.B) {{\n\tfor i := 0; i < b.N; i++ {{\n\t\t_ = make([]byte, {project.number(1, 99)})\n\t}}\n}}\n\n" for name in names)
    name, number = project.word().title().replace("_", ""), project.number()
    if fails:
        text += f"func Test{name}(t *testing.T) {{\n\tt.Errorf(\"got %d\", {number})\n}}\n"
    project.write("sample_test.go", text)
    ran = project.run("go test -bench . -benchtime 20x -benchmem")
    lines = re.findall(r"^(Benchmark\w+)(?:-\d+)?\s+20\s+([\d.]+) ns/op", ran.text, re.MULTILINE)
    assert len(lines) == (0 if fails else count) or fails
    facts = [row_fact([one, one + "-2", one + "-4"], f"{figure} ns/op") for one, figure in lines]
    if fails:
        facts.append(text_fact(f"Test{name}", f"got {number}"))
    return Case("", "go test -bench . -benchtime 20x -benchmem", ran, facts, failing() if fails else [])


@scenario("go-coverage", ["go"], variants={"packages": {"count": 12}})
def go_coverage(project, count):
    project.write("go.mod", "module example.org/sample\n\ngo 1.21\n")
    facts = []
    for index in range(count):
        name = project.word(1)
        project.write(f"{name}/code.go", f"package {name}\n\nfunc One() int {{ return 1 }}\n\nfunc Two() int {{ return 2 }}\n")
        project.write(f"{name}/code_test.go", f"package {name}\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {{\n\tOne()\n" +
                      ("\tTwo()\n" if index % 4 else "") + "}\n")
        if index % 4 == 0:
            facts.append(row_fact(f"example.org/sample/{name}", "50.0%"))
    return Case("", "go test -cover ./...", project.run("go test -cover ./..."), facts)


@scenario("gofmt-vet", ["go", "gofmt"], variants={"both": {"count": 5}, "diff-only": {"count": 12, "vet": False}})
def gofmt_vet(project, count, vet=True):
    """The diff of one tool before the findings of another."""
    project.write("go.mod", "module example.org/sample\n\ngo 1.21\n")
    facts = []
    for index in range(count):
        name, word, number = project.word().replace("_", ""), project.word(), project.number()
        text = f"package {name}\n\nimport \"fmt\"\n\nfunc {word}() {{\n"
        text += f"  fmt.Println(\"{word}\",{number})\n"
        if vet and index % 2:
            text += f"\tfmt.Printf(\"%d\\n\", \"{word}\")\n"
            facts.append({**at_fact(f"{name}/code.go", 7, 14, "fmt.Printf format %d has arg"), "or_file": f"./{name}/code.go"})
        facts.append(under_fact([f"{name}/code.go"], f'-  fmt.Println("{word}",{number})'))
        facts.append(under_fact([f"{name}/code.go"], f'fmt.Println("{word}", {number})'))
        project.write(f"{name}/code.go", text + "}\n")
    command = "gofmt -d ." + ("; go vet ./..." if vet else "")
    return Case("", command, project.run(command), facts)


def git_project(project, commits, tags=()):
    """A history with a side branch; returns the subjects and the tags by subject."""
    project.run("git init -q -b main .")
    subjects, tagged = [], {}
    for index in range(commits):
        subject = f"{project.word(1)}: {project.word().replace('_', ' ')} {project.number()}"
        day = f"2026-02-{index % 27 + 1:02}T10:00:{index % 60:02}Z"
        settings = {"GIT_AUTHOR_DATE": day, "GIT_COMMITTER_DATE": day}
        project.write(f"src/{project.word(1)}.txt", "".join(f"{project.word()}\n" for _ in range(3000 if index == commits // 2 else 5)))
        if index % 9 == 4:
            project.run("git checkout -q -b side 2>/dev/null || git checkout -q side", settings)
        project.run(f"git add -A && git commit -q -m '{subject}'", settings)
        if index % 9 == 6:
            project.run("git checkout -q main && git merge -q --no-ff -m 'merge side' side && git branch -q -d side", settings)
        if index in tags:
            tagged[subject] = f"v1.{index}"
            project.run(f"git tag v1.{index}")
        subjects.append(subject)
    return subjects, tagged


@scenario("git-flags", ["git"], quick=True, variants={
    "graph": {"commits": 40, "flags": "log --graph --oneline --decorate"}, "graph-all": {"commits": 25, "flags": "log --graph --all"},
    "numstat": {"commits": 20, "flags": "log --numstat --oneline"}, "stat": {"commits": 20, "flags": "log --stat --oneline"},
    "name-status": {"commits": 20, "flags": "log --name-status --oneline"}, "shortlog": {"commits": 30, "flags": "shortlog HEAD"}})
def git_flags(project, commits, flags):
    subjects, tagged = git_project(project, commits, {3, commits // 3})
    ran = project.run(f"git {flags}")
    facts = [row_fact(subject) for subject in subjects]
    if "graph" in flags:
        facts += [row_fact(tag, subject) for subject, tag in tagged.items()] if "oneline" in flags else []
    elif "stat" in flags and "name" not in flags:
        changed = project.run("git log --format= --numstat").text.splitlines()
        added, _, path = max((line.split("\t") for line in changed), key=lambda parts: int(parts[0]))
        facts.append(row_fact(path, added))
    elif "name-status" in flags:
        facts += [path_fact(line.split("\t")[1]) for line in project.run("git log --format= --name-status").text.splitlines()[:20]]
    return Case("", f"git {flags}", ran, facts)


@scenario("git-word-diff", ["git"], quick=True, variants={"few": {"count": 3}, "many": {"count": 30}})
def git_word_diff(project, count):
    project.run("git init -q .")
    facts, path = [], f"docs/{project.word()}.md"
    old, new = [], []
    for _ in range(count):
        before, after = project.word(), project.word()
        lines = [f"Some {project.word(1)} text about {project.word(1)}.\n" for _ in range(6)]
        old += [*lines, f"The value is {before} here.\n"]
        new += [*lines, f"The value is {after} here.\n"]
        facts.append(row_fact(f"[-{before}-]", f"{{+{after}+}}"))
    project.write(path, "".join(old))
    project.run("git add -A && git commit -q -m first")
    project.write(path, "".join(new))
    return Case("", "git diff --word-diff", project.run("git diff --word-diff"), [*facts, text_fact(path)])


@scenario("jest-coverage", ["js/node_modules/.bin/jest"], variants={"few": {"count": 8}, "many": {"count": 60}})
def jest_coverage(project, count):
    project.tools = "js/node_modules/.bin"
    (project.directory / "node_modules").symlink_to("/srv/tools/js/node_modules")
    project.write("package.json", '{"name": "sample"}\n')
    names, facts = [project.word() for _ in range(count)], []
    for index, name in enumerate(names):
        project.write(f"src/{name}.js", f"exports.one = (x) => {{\n  if (x > 1) {{\n    return {project.number()};\n  }}\n  return 2;\n}};\n")
        if index % 6 == 1:
            facts.append(row_fact(f"{name}.js", "75", "50", "3"))
    test = "".join(f"test('{name}', () => {{\n  const m = require('../src/{name}');\n  m.one(1);\n" + ("" if index % 6 == 1 else "  m.one(2);\n") + "});\n\n"
                   for index, name in enumerate(names))
    project.write("test/all.test.js", test)
    ran = project.run("jest --coverage --coverageReporters=text --no-color")
    return Case("", "jest --coverage", ran, [*facts, row_fact("All files"), row_fact(f"{count} passed")])


@scenario("maven-tree", ["mvn"], variants={"few": {"count": 3}, "many": {"count": 9}})
def maven_tree(project, count):
    chosen = ["com.google.guava:guava:32.1.3-jre", "org.slf4j:slf4j-simple:2.0.9", "com.fasterxml.jackson.core:jackson-databind:2.15.3",
              "org.apache.commons:commons-text:1.11.0", "org.springframework:spring-context:5.3.30", "ch.qos.logback:logback-classic:1.4.11",
              "org.apache.httpcomponents:httpclient:4.5.14", "org.hibernate.validator:hibernate-validator:8.0.1.Final", "junit:junit:4.13.2"][:count]
    text = "".join("    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>\n".format(*one.split(":"))
                   for one in chosen)
    project.write("pom.xml", '<project xmlns="http://maven.apache.org/POM/4.0.0">\n  <modelVersion>4.0.0</modelVersion>\n'
                  "  <groupId>org.example</groupId>\n  <artifactId>sample</artifactId>\n  <version>1.0</version>\n  <dependencies>\n"
                  f"{text}  </dependencies>\n</project>\n")
    home = {"HOME": str(Path.home())}
    ran = project.run("mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:resolve >/dev/null 2>&1;"
                      " mvn -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:tree", home)
    project.run("mvn -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:tree -DoutputFile=tree.txt", home)
    names = re.findall(r"([\w.-]+:[\w.-]+):jar:([\w.-]+)", (project.directory / "tree.txt").read_text())
    facts = [row_fact(name, version) for name, version in names[1:]] + [row_fact("BUILD SUCCESS")]
    return Case("", "mvn dependency:tree", ran, facts)


@scenario("npm-tree", ["npm", "js/node_modules/.bin/ava"], variants={"all": {"flags": " --all"}})
def npm_tree(project, flags):
    """`npm ls`: the versions are those of the installed packages' own descriptions."""
    place = project.directory / "node_modules"
    facts = []
    for index in range(40):
        name = project.word().replace("_", "-")
        version = f"{index % 5 + 1}.{index}.0"
        inner = project.word().replace("_", "-")
        project.write(f"node_modules/{name}/package.json", json.dumps({"name": name, "version": version, "dependencies": {inner: "^1.0.0"}}))
        project.write(f"node_modules/{inner}/package.json", json.dumps({"name": inner, "version": f"1.{index}.3"}))
        facts += [row_fact(f"{name}@{version}"), row_fact(f"{inner}@1.{index}.3")]
    outer = sorted(one.name for one in place.iterdir())
    direct = {name: "*" for name in outer if "dependencies" in (place / name / "package.json").read_text()}
    project.write("package.json", json.dumps({"name": "sample", "version": "1.0.0", "dependencies": {**direct, "absent-one": "^2.0.0"}}))
    ran = project.run(f"npm ls{flags}")
    return Case("", f"npm ls{flags}", ran, [*facts, row_fact("UNMET DEPENDENCY", "absent-one@^2.0.0")])


# Chains -----------------------------------------------------------------------------------------

def c_warnings(project, count):
    """A file with unused variables; returns the command that compiles it and the facts."""
    path, text, facts = f"src/{project.word()}.c", "", []
    for _ in range(count):
        name, number = project.word(), project.number()
        text += f"int {project.word()}(void) {{\n  int {name} = {number};\n  return 1;\n}}\n"
        facts.append(at_fact(path, text.count("\n") - 2, 7, f"unused variable '{name}'"))
    project.write(path, text)
    return f"gcc -Wall -c {path} -o out.o", facts


def cargo_warnings(project, count):
    text, facts = "", []
    for _ in range(count):
        name, number = project.word(), project.number()
        text += f"pub fn {project.word()}() -> i32 {{\n    let {name} = {number};\n    1\n}}\n"
        facts.append(at_fact("src/lib.rs", text.count("\n") - 2, 9, f"unused variable: `{name}`"))
    project.write("src/lib.rs", text)
    project.write("Cargo.toml", '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n')
    return "cargo build", facts


@scenario("chain", ["gcc", "cargo", "pybuild/bin/pytest", "git"], variants={
    "gcc-pytest": {"parts": ["gcc", "pytest"]}, "cargo-pytest": {"parts": ["cargo", "pytest"]},
    "pytest-then-log": {"parts": ["pytest", "log"], "joint": "; "}, "git-then-build": {"parts": ["status", "gcc", "pytest"]},
    "all": {"parts": ["status", "gcc", "cargo", "pytest"], "joint": "; "}, "make-all": {"parts": ["gcc", "cargo", "pytest"], "make": True},
    "json-then-error": {"parts": ["json", "pytest"], "joint": "; "}, "echoed": {"parts": ["gcc", "pytest"], "joint": " && echo done && "}})
def chain(project, parts, joint=" && ", make=False):
    """Several tools in one command: each part keeps what it would keep alone."""
    project.tools = BUILD
    project.run("git init -q .")
    commands, facts = [], []
    for part in parts:
        if part == "gcc":
            command, found = c_warnings(project, 5)
        elif part == "cargo":
            command, found = cargo_warnings(project, 5)
        elif part == "status":
            path = f"notes/{project.word()}.md"
            project.write(path, "x\n")
            command, found = "git status --short -uall", [{"path": path}]
        elif part == "json":
            rows = [{"id": index, "name": project.word(), "state": "failed" if index == 41 else "ready"} for index in range(80)]
            project.write("rows.json", json.dumps(rows, indent=1))
            command, found = "cat rows.json", [{"record": {"id": "41", "name": rows[41]["name"], "state": "failed"}}]
        elif part == "log":
            word = project.word()
            project.write("service.log", "".join(f"2026-03-04T10:00:{n % 60:02}Z INFO request {n} handled\n" for n in range(200)) +
                          f"2026-03-04T10:04:00Z ERROR lost the lock of {word}\n" +
                          "".join(f"2026-03-04T10:05:{n % 60:02}Z INFO request {n} handled\n" for n in range(100)))
            command, found = "cat service.log", [row_fact("ERROR", f"lost the lock of {word}")]
        else:
            _, _, found = python_suite(project, 60, 0.1)
            command = "pytest -p no:cacheprovider -v"
            found = [*found, row_fact("6 failed", "54 passed")]
        commands.append(command)
        facts += found
    command = joint.join(commands)
    if make:
        project.write("Makefile", "all:\n" + "".join(f"\t{one}\n" for one in commands))
        command = "make"
    ran = project.run(command)
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


@scenario("chain", ["npm", "gcc", "pybuild/bin/pytest"], variants={"npm-run": {}})
def npm_chain(project):
    """npm runs one script after another, each of which calls another tool."""
    project.tools = BUILD
    compile_command, facts = c_warnings(project, 6)
    _, _, found = python_suite(project, 30, 0.1)
    project.write("package.json", json.dumps({"name": "sample", "version": "1.0.0", "scripts": {
        "compile": compile_command, "unit": "pytest -p no:cacheprovider", "check": "npm run compile && npm run unit"}}))
    ran = project.run("npm run check")
    return Case("", "npm run check", ran, facts + found + [row_fact("3 failed", "27 passed")], failing())


def coverage_report(project, path):
    """The lines that no test reached, by coverage's own report."""
    root = ElementTree.parse(project.directory / path).getroot()
    return {one.get("filename"): [line.get("number") for line in one.iter("line") if line.get("hits") == "0"] for one in root.iter("class")}


@scenario("coverage", ["pybuild/bin/coverage"], variants={"few": {"count": 8}, "many": {"count": 80}})
def coverage(project, count):
    """`coverage report -m`: most files are whole, the others name their lines."""
    project.tools = BUILD
    names = [project.word() for _ in range(count)]
    for index, name in enumerate(names):
        project.write(f"src/{name}.py", "def one(x):\n    if x:\n        return 1\n    return 2\n" + "\n\ndef two():\n    return 3\n" * (index % 9 == 3))
    project.write("src/__init__.py", "")
    project.write("use.py", "".join(f"from src import {name}\n{name}.one(0)\n{name}.one(1)\n" for name in names))
    project.run("coverage run --source=src use.py && coverage xml -o report.xml")
    facts = [row_fact(name, *lines) for name, lines in coverage_report(project, "report.xml").items() if lines]
    return Case("", "coverage report -m", project.run("coverage report -m"), [*facts, row_fact("TOTAL")])
