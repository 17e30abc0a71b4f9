"""go build, vet and test: oracle is go test -json, or what was planted."""
import json
import re

from scenario import Case, at_fact, failing, plant, row_fact, scenario, text_fact

OLD_GO = "go-1.19"

FLAWS = {
    "undeclared": ("\treturn {name} + {number}\n", "undefined: {name}", 9),
    "unused": ("\t{name} := {number}\n\treturn 1\n", "declared and not used: {name}", 2),
    "mismatch": ('\tvar {name} int = "{number}"\n\treturn {name}\n', "cannot use \"{number}\"", 0),
}


def write_package(project, package, count, share):
    bad, facts = plant(project, count, share), []
    path = f"{package}/{project.word()}.go"
    text = f"package {package}\n\n"
    for index in range(count):
        text += f"func {project.word()}() int {{\n"
        if index in bad:
            flaw, message, column = FLAWS[project.random.choice(sorted(FLAWS))]
            names = {"name": project.word(), "number": project.number()}
            column = column or 13 + len(names["name"])  # where the string begins
            facts.append(at_fact(path, text.count("\n") + 1, column, message.format(**names)))
            text += flaw.format(**names)
        else:
            text += f"\treturn {project.number()}\n"
        text += "}\n\n"
    project.write(path, text)
    return facts


@scenario("go-build", ["go"], variants={
    "clean": {"count": 4, "share": "none"}, "one-error": {"count": 4, "share": "one"},
    "nine-errors": {"count": 9, "share": "all"}, "too-many": {"count": 30, "share": "all"},
    "packages": {"count": 6, "share": 0.5, "packages": 5},
    "old-version": {"count": 6, "share": 0.5, "packages": 2, "tools": OLD_GO},
})
def build(project, count, share, packages=1):
    project.write("go.mod", "module example.org/sample\n\ngo 1.19\n")
    facts = []
    for _ in range(packages):
        found = write_package(project, project.word(), count, share)
        if len(found) > 10:  # the compiler stops at ten
            found = found[:10] + [text_fact("too many errors")]
        facts += found
    if project.tools == OLD_GO:  # said the other way round
        facts = [{**fact, "message": re.sub(r"declared and not used: (\w+)", r"\1 declared but not used",
                                            fact.get("message", ""))} for fact in facts]
    ran = project.run("go build ./...")
    return Case("", "go build ./...", ran, facts, failing() if ran.exit_code else [])


@scenario("go-vet", ["go"], variants={"printf": {"count": 6}, "clean": {"count": 0}, "many": {"count": 40},
                                  "old-version": {"count": 5, "tools": OLD_GO}})
def vet(project, count):
    project.write("go.mod", "module example.org/sample\n\ngo 1.19\n")
    package = project.word()
    path, text, facts = f"{package}/{project.word()}.go", f'package {package}\n\nimport "fmt"\n\n', []
    for _ in range(max(count, 1)):
        name, number = project.word(), project.number()
        text += f"func {name}() {{\n"
        if count:
            text += f'\tfmt.Printf("{name} %s\\n", {number})\n'
            facts.append(at_fact(path, text.count("\n"), 0, f"has arg {number} of wrong type int"))
        else:
            text += f'\tfmt.Println("{name}")\n'
        text += "}\n\n"
    project.write(path, text)
    ran = project.run("go vet ./...")
    return Case("", "go vet ./...", ran, facts, failing() if ran.exit_code else [])


@scenario("go-test", ["go"], variants={
    "all-pass": {"packages": 3, "tests": 5, "share": "none"},
    "one-fails": {"packages": 3, "tests": 10, "share": "one"},
    "ten-percent": {"packages": 5, "tests": 20, "share": 0.1},
    "all-fail": {"packages": 2, "tests": 12, "share": "all"},
    "old-version": {"packages": 3, "tests": 12, "share": 0.2, "tools": OLD_GO},
    "old-version-verbose": {"packages": 2, "tests": 20, "share": 0.1, "flags": " -v", "tools": OLD_GO},
    "verbose-one-fails": {"packages": 1, "tests": 60, "share": "one", "flags": " -v"},
    "verbose-ten-percent": {"packages": 4, "tests": 25, "share": 0.1, "flags": " -v"},
    "verbose-pass-thousand": {"packages": 5, "tests": 200, "share": "none", "flags": " -v"},
    "no-test-files": {"packages": 3, "tests": 0, "share": "none"},
    "panic": {"packages": 1, "tests": 3, "share": "none", "extra": "panic"},
    "build-failed": {"packages": 2, "tests": 3, "share": "none", "extra": "build"},
    "cover": {"packages": 3, "tests": 8, "share": 0.1, "flags": " -cover"},
})
def test(project, packages, tests, share, flags="", extra=""):
    project.write("go.mod", "module example.org/sample\n\ngo 1.19\n")
    bad, planted, index = plant(project, packages * tests, share), {}, 0
    for _ in range(packages):
        package = project.word()
        project.write(f"{package}/{package}.go", f"package {package}\n\nfunc Value() int {{ return 1 }}\n")
        path, text = f"{package}/{package}_test.go", f'package {package}\n\nimport "testing"\n\n'
        for _ in range(tests):
            name, got, wanted = "Test" + project.word().capitalize(), project.number(), project.number()
            text += f"func {name}(t *testing.T) {{\n"
            if index in bad:
                text += f'\tt.Errorf("got %d, want %d", {got}, {wanted})\n'
                planted[name] = text_fact(name, f"{package}_test.go:{text.count(chr(10))}",
                                          f"got {got}, want {wanted}")
            else:
                text += "\tif Value() != 1 {\n\t\tt.Fatal()\n\t}\n"
            text += "}\n\n"
            index += 1
        if tests:
            project.write(path, text)
    facts = []
    if extra == "panic":
        word = project.word()
        text += f'func TestLast(t *testing.T) {{\n\tpanic("{word}")\n}}\n'
        project.write(path, text)
        facts = [text_fact("TestLast", word, "panic")]
    elif extra == "build":
        word = project.word()
        line = text.count("\n") + 2
        project.write(path, text + f"func TestLast(t *testing.T) {{\n\t{word}()\n}}\n")
        facts = [at_fact(path, line, 2, f"undefined: {word}"), text_fact("build failed")]
    command = f"go test{flags} ./..."
    ran = project.run(command)
    report = project.run(f"go test -json{flags} ./...".replace(" -v", ""))
    failed = {event["Test"] for event in map(json.loads, report.text.splitlines())
              if event["Action"] == "fail" and event.get("Test")}
    assert extra or failed == set(planted), (failed, set(planted))
    facts += [planted[name] for name in sorted(planted)]
    if not planted and not extra and tests:
        facts.append(row_fact("ok"))
    return Case("", command, ran, facts, failing() if ran.exit_code else [])
