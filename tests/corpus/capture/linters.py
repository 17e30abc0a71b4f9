"""Linters and type checkers of many languages: the oracle is each tool's own machine-readable report."""
import json
import re
import xml.etree.ElementTree as ElementTree

from scenario import Case, at_fact, failing, row_fact, text_fact, unknown

LINT = "lint/bin"  # a virtual environment below the tools directory
SCRIPTS = "js/node_modules/.bin"
SIZES = {"one": {"count": 1}, "few": {"count": 6}, "some": {"count": 25}, "many": {"count": 120}}
MOST_FACTS = 80  # of one case; the rest of a long report is of the same kinds


def chosen_facts(project, facts):
    """All facts, or as many as a test has time for, taken from everywhere."""
    if len(facts) <= MOST_FACTS:
        return facts
    return [facts[at] for at in sorted(project.random.sample(range(len(facts)), MOST_FACTS))]


def relative(project, path):
    return path.removeprefix(str(project.directory) + "/").removeprefix("./")


# Python -----------------------------------------------------------------------------------------

TYPE_FLAWS = [
    "def {a}(value: int) -> str:\n    return value + {n}\n",
    "def {a}(value: str) -> int:\n    return len(value, {n})\n",
    "def {a}(value: list[int]) -> int:\n    return value.{b}\n",
    "def {a}() -> None:\n    {b}: int = \"{n}\"\n    print({b})\n",
    "class {A}:\n    def {b}(self) -> int:\n        return {n}\n\n\n{a} = {A}().{c}\n",
    "def {a}(value: dict[str, int]) -> int:\n    return value[{n}]\n",
]
STYLE_FLAWS = [
    "import {a}\n", "def {a}(x):\n    {b} = {n}\n    return x\n", "def {a}( x ):\n    return x+{n}\n",
    "{a} = lambda x: x + {n}\n", "def {a}(x=[]):\n    return x\n", "def {a}(x):\n    return x == None\n",
    "try:\n    {a} = {n}\nexcept:\n    pass\n", "{a} = '{b} {c} {b} {c} {b} {c} {b} {c} {b} {c} {b} {c} {b} {c} {n}'\n",
    "def {a}(x):\n\treturn {b} + x\n", "if {n} == {n}: {a} = 1\n", "{a} = {n}   \n", "print(f'{b}')\n",
]


def python_files(project, count, flaws, folder="src"):
    """Small modules with COUNT flaws in all, most of their lines without one."""
    left = count
    while left > 0:
        text = "import os\n\n\nprint(os.sep)\n\n\n"
        for _ in range(min(left, project.random.randint(1, 9))):
            text += f"def {project.word()}(value: int) -> int:\n    return value + {project.number()}\n\n\n"
            names = {"a": project.word(), "b": project.word(), "c": project.word(), "n": project.number()}
            text += project.random.choice(flaws).format(A=names["a"].title().replace("_", ""), **names) + "\n\n"
            left -= 1
        project.write(f"{folder}/{project.word(1)}/{project.word()}.py", text.rstrip("\n") + "\n")


@unknown("mypy", ["lint/bin/mypy"], {**SIZES, "clean": {"count": 0}, "pretty": {"count": 8, "flags": " --pretty"}})
def mypy(project, count, flags=""):
    project.tools = LINT
    python_files(project, max(1, count), TYPE_FLAWS if count else ["{a} = {n}\n"])
    command = f"mypy --strict{flags} src"
    ran = project.run(command)
    report = project.run("mypy --strict --output json src")
    found = [json.loads(line) for line in report.text.splitlines() if line.startswith("{")]
    facts = chosen_facts(project, [at_fact(one["file"], one["line"], 0, one["message"]) for one in found])
    errors = sum(one["severity"] == "error" for one in found)
    if errors:
        facts.append(row_fact(["Found", "found"], f"{errors} error{'s' if errors > 1 else ''}"))
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


@unknown("pyright", ["lint/bin/pyright"], SIZES)
def pyright(project, count):
    project.tools = LINT
    python_files(project, count, TYPE_FLAWS)
    ran = project.run("pyright src", {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"})
    report = json.loads(project.run("pyright --outputjson src").text)
    facts = []
    for one in report["generalDiagnostics"]:
        start, message = one["range"]["start"], one["message"].split("\n")[0]
        facts.append(place_of_any(project, one["file"], start["line"] + 1, start["character"] + 1, message))
    errors = report["summary"]["errorCount"]
    return Case("", "pyright src", ran, [*chosen_facts(project, facts), row_fact(f"{errors} error{'s' if errors != 1 else ''}")],
                failing() if ran.exit_code else [])


def place_of_any(project, file, line, column, message):
    """A tool that prints whole paths may have them shown so, or from the project on."""
    return {**at_fact(file, line, column, message), "or_file": relative(project, file)}


@unknown("flake8", ["lint/bin/flake8"], {**SIZES, "thousand": {"count": 900}, "clean": {"count": 0}})
def flake8(project, count):
    project.tools = LINT
    python_files(project, max(1, count), STYLE_FLAWS if count else ["{a} = {n}\n"])
    ran = project.run("flake8 src")
    report = project.run("flake8 --format '%(path)s|%(row)d|%(col)d|%(code)s %(text)s' src")
    facts = []
    for line in report.text.splitlines():
        path, row, column, message = line.split("|", 3)
        facts.append(at_fact(path, int(row), int(column), message))
    return Case("", "flake8 src", ran, chosen_facts(project, facts), failing() if ran.exit_code else [])


@unknown("ruff", ["lint/bin/ruff"], {**SIZES, "clean": {"count": 0}, "concise": {"count": 60, "flags": " --output-format concise"},
                                     "grouped": {"count": 40, "flags": " --output-format grouped"}})
def ruff(project, count, flags=""):
    project.tools = LINT
    python_files(project, max(1, count), STYLE_FLAWS if count else ["{a} = {n}\n"])
    command = f"ruff check --no-cache --select E,F,B,W{flags}"
    ran = project.run(command)
    found = json.loads(project.run("ruff check --no-cache --select E,F,B,W --output-format json").text)
    facts = [at_fact(relative(project, one["filename"]), one["location"]["row"], one["location"]["column"], one["message"])
             for one in found]
    facts = chosen_facts(project, facts)
    if found:
        facts.append(row_fact(["Found", "found"], f"{len(found)} error{'s' if len(found) > 1 else ''}"))
    return Case("", command, ran, facts, failing() if found else [])


@unknown("pylint", ["lint/bin/pylint"], SIZES)
def pylint(project, count):
    project.tools = LINT
    python_files(project, count, STYLE_FLAWS)
    command = "pylint --recursive=y src"
    ran = project.run(command)
    report = project.run("pylint --recursive=y --output-format=json2 src")
    described = json.loads(report.text)
    facts = [at_fact(one["path"], one["line"], one["column"], one["message"].split("\n")[0])
             for one in described["messages"]]
    score = described["statistics"]["score"]
    return Case("", command, ran, [*chosen_facts(project, facts), row_fact(["rated", "score"], f"{score:.2f}")], failing())


@unknown("bandit", ["lint/bin/bandit"], {"few": {"count": 4}, "some": {"count": 20}})
def bandit(project, count):
    project.tools = LINT
    flaws = ["import subprocess\n{a} = subprocess.call('ls {b}', shell=True)\n", "{a} = eval('{n}')\n",
             "password_{a} = '{b}{n}'\n", "import pickle\n{a} = pickle.loads(b'{b}')\n", "assert {n} > 1, '{a}'\n",
             "import hashlib\n{a} = hashlib.md5(b'{b}')\n"]
    python_files(project, count, flaws)
    ran = project.run("bandit -q -r src")
    found = json.loads(project.run("bandit -q -r -f json src").text)["results"]
    facts = [text_fact([f"{one['filename']}:{one['line_number']}:{one['col_offset']}", f"{one['filename']}:{one['line_number']}"],
                       one["test_id"]) for one in found]
    counts = {level: sum(one["issue_severity"] == level for one in found) for level in ("LOW", "MEDIUM", "HIGH")}
    return Case("", "bandit -q -r src", ran, chosen_facts(project, facts) +
                [row_fact(level.title(), str(number)) for level, number in counts.items() if number], failing())


# Shell and data ---------------------------------------------------------------------------------

SHELL_FLAWS = ["cd /tmp/{a}\n", "{a}=`ls {b}`\necho ${a}\n", "rm -rf ${b}/{c}\n", "for {a} in $(ls *.{b}); do echo \"${a}\"; done\n",
               "[ $1 == {b} ] && echo {c}\n", "read {a}\necho \"${a}\"\n", "echo \"${b}\" | grep {c} > {b}.txt\n"]


@unknown("shellcheck", ["shellcheck"], {**SIZES, "gcc": {"count": 40, "flags": " -f gcc"}}, quick=True)
def shellcheck(project, count, flags=""):
    left = count
    while left > 0:
        text = "#!/bin/sh\nset -e\n\n"
        for _ in range(min(left, project.random.randint(1, 8))):
            text += f"echo {project.word()}\n" * project.random.randint(1, 4)
            text += project.random.choice(SHELL_FLAWS).format(a=project.word(1), b=project.word(1), c=project.word(1))
            left -= 1
        project.write(f"bin/{project.word()}.sh", text)
    command = f"shellcheck{flags} bin/*.sh"
    ran = project.run(command)
    found = json.loads(project.run("shellcheck -f json bin/*.sh").text)
    facts = [at_fact(one["file"], one["line"], one["column"] if flags else 0, one["message"]) for one in found]
    return Case("", command, ran, chosen_facts(project, facts), failing())


@unknown("yamllint", ["lint/bin/yamllint"], SIZES)
def yamllint(project, count):
    project.tools = LINT
    flaws = ["{a}: [1,2]\n", "{a}:   {n}\n", "{a}: yes\n", "{a}: {n} \n", "{a}:\n   - {b}\n   - {c}\n", "#{b}\n{a}: {n}\n",
             "{a}: {n}\n{a}: {n}\n", "{a}: \"" + "{b} " * 14 + "\"\n", "{a}: {n}\n\n\n\n\n"]
    left = count
    while left > 0:
        text = "---\n"
        for _ in range(min(left, project.random.randint(1, 7))):
            text += f"{project.word()}: {project.number()}\n" * 1
            text += project.random.choice(flaws).format(a=project.word(), b=project.word(), c=project.word(), n=project.number())
            left -= 1
        project.write(f"deploy/{project.word(1)}/{project.word()}.yaml", text)
    ran = project.run("yamllint deploy")
    facts = []
    for line in project.run("yamllint -f parsable deploy").text.splitlines():
        path, row, column, level, message = re.fullmatch(r"(.*?):(\d+):(\d+): \[(\w+)\] (.*) \(\S+\)", line).groups()
        facts.append(at_fact(path, int(row), int(column), message))
    return Case("", "yamllint deploy", ran, chosen_facts(project, facts), failing() if ran.exit_code else [])


@unknown("markdownlint", [f"{SCRIPTS}/markdownlint-cli2"], SIZES)
def markdownlint(project, count):
    project.tools = SCRIPTS
    flaws = ["#{a} {b}\n", "* {a}\n* {b}\n- {c}\n", "{a} {b}   \n\n\n\n{c}\n", "see http://{a}.example.org/{b}\n", "```\n{a} {b}\n```\n",
             "{a} {b} " * 12 + "\n", "[{a}]()\n", "<b>{a}</b>\n"]
    left, facts = count, []
    while left > 0:
        text = f"# {project.word(1)}\n\n"
        for _ in range(min(left, project.random.randint(1, 8))):
            text += f"Some {project.word(1)} text.\n\n"
            text += project.random.choice(flaws).format(a=project.word(1), b=project.word(1), c=project.word(1)) + "\n"
            left -= 1
        project.write(f"docs/{project.word()}.md", text)
    command = "markdownlint-cli2 'docs/*.md'"
    ran = project.run(command)
    project.write("sink.mjs", "import { main } from 'markdownlint-cli2';\nimport fs from 'node:fs';\n"
                  "await main({directory: '.', argv: ['docs/*.md'], noImport: true, optionsOverride: {outputFormatters: [["
                  "(options) => fs.writeFileSync('report.json', JSON.stringify(options.results))]]}, logMessage() {}, logError() {}});\n")
    (project.directory / "node_modules").symlink_to("/srv/tools/js/node_modules")
    project.run("node sink.mjs")
    for one in json.loads((project.directory / "report.json").read_text()):
        column = one["errorRange"][0] if one.get("errorRange") else 0
        facts.append(at_fact(one["fileName"], one["lineNumber"], column, "/".join(one["ruleNames"])))
    return Case("", command, ran, [*chosen_facts(project, facts), row_fact(["Summary:", "summary"], str(len(facts)))], failing())


# Scripts and styles -----------------------------------------------------------------------------

@unknown("stylelint", [f"{SCRIPTS}/stylelint"], SIZES)
def stylelint(project, count):
    project.tools = SCRIPTS
    flaws = [".{a} {{ color: #FFFFFF; colr: {n}px; }}\n", "#{A}B {{ margin: 0px; }}\n", ".{a} {{ }}\n", ".{a} {{ top: 1px; top: 2px; }}\n",
             ".{a} {{ color: {b} !importnt; }}\n", "@{b} {{ top: 1px; }}\n", ".{a} {{ width: calc(1px+{n}px); }}\n"]
    left = count
    while left > 0:
        text = ""
        for _ in range(min(left, project.random.randint(1, 8))):
            text += f".{project.word(1)}-{project.number()} {{\n  top: 1px;\n}}\n\n"
            word = project.word(1)
            text += project.random.choice(flaws).format(a=word, A=word.title(), b=project.word(1), n=project.number()) + "\n"
            left -= 1
        project.write(f"styles/{project.word()}.css", text)
    project.write("stylelint.config.mjs", "export default {extends: ['stylelint-config-standard']};\n")
    (project.directory / "node_modules").symlink_to("/srv/tools/js/node_modules")
    ran = project.run("stylelint 'styles/*.css'")
    ended = project.run("stylelint -f json 'styles/*.css'")
    report = json.loads((ended.stdout or ended.stderr).decode())
    facts = [at_fact(relative(project, one["source"]), flaw["line"], flaw["column"], re.sub(r" \(\S+\)$", "", flaw["text"]))
             for one in report for flaw in one["warnings"]]
    return Case("", "stylelint 'styles/*.css'", ran, chosen_facts(project, facts) +
                [row_fact(f"{len(facts)} problem{'s' if len(facts) > 1 else ''}")], failing())


SCRIPT_FLAWS = ["var {a} = {n};\n", "if ({b} == {n}) {{ console.log('{a}'); }}\n", "debugger;\n", "const {a} = () => {{ }};\n",
                "let {a} = {n}\nconsole.log({a})\n", "for (const {a} in []) {{ {b}({a}); }}\n", "{a} = {n};\n",
                "function {a}({b}) {{ {b} = {n}; return {b}; }}\n"]


def script_files(project, count, flaws):
    left = count
    while left > 0:
        text = ""
        for _ in range(min(left, project.random.randint(1, 8))):
            text += f"export function {project.word()}() {{\n  return {project.number()};\n}}\n\n"
            text += project.random.choice(flaws).format(a=project.word(), b=project.word(), n=project.number()) + "\n"
            left -= 1
        project.write(f"src/{project.word(1)}/{project.word()}.js", text)


@unknown("biome", [f"{SCRIPTS}/biome"], {"one": {"count": 1}, "few": {"count": 6}, "some": {"count": 25}})
def biome(project, count):
    project.tools = SCRIPTS
    script_files(project, count, SCRIPT_FLAWS)
    project.write("biome.json", '{"root": true}\n')
    command = "biome lint --max-diagnostics=200 src"
    ran = project.run(command)
    report = json.loads(project.run("biome lint --reporter=json --max-diagnostics=200 src").stdout)
    texts = {}
    facts = []
    for one in report["diagnostics"]:
        location = one["location"]
        path = location["path"]["file"] if isinstance(location["path"], dict) else location["path"]
        place = f"{path}:{location['start']['line']}:{location['start']['column']}" if "start" in location else path
        facts.append(text_fact(place, one["category"].removeprefix("lint/")))
        texts[place] = one
    return Case("", command, ran, chosen_facts(project, facts), failing() if ran.exit_code else [])


@unknown("oxlint", [f"{SCRIPTS}/oxlint"], {"few": {"count": 6}, "some": {"count": 30}})
def oxlint(project, count):
    project.tools = SCRIPTS
    script_files(project, count, SCRIPT_FLAWS)
    ran = project.run("oxlint src")
    report = json.loads(project.run("oxlint -f json src").stdout)
    facts = []
    for one in report["diagnostics"]:
        span = one["labels"][0]["span"]
        facts.append(at_fact(one["filename"], span["line"], span["column"], one["message"]))
    warnings = sum(one["severity"] == "warning" for one in report["diagnostics"])
    return Case("", "oxlint src", ran, [*chosen_facts(project, facts), row_fact(["Found", "found"], f"{warnings} warning{'s' if warnings != 1 else ''}")])


# Compiled languages -----------------------------------------------------------------------------

C_FLAWS = ["  int {a}[4]; {a}[{n}] = 1;\n", "  char *{a} = malloc({n}); if (!{a}) return 1;\n", "  int {a}; return {a};\n",
           "  int *{a} = 0; *{a} = {n};\n", "  int {a} = {n}; {a} = {n};\n", "  char {a}[8]; strcpy({a}, \"{b}{b}\");\n",
           "  if (n == n) return {n};\n"]


def c_files(project, count):
    left = count
    while left > 0:
        text = "#include <stdlib.h>\n#include <string.h>\n\n"
        for _ in range(min(left, project.random.randint(1, 7))):
            text += f"int {project.word()}(int n) {{\n" + project.random.choice(C_FLAWS).format(
                a=project.word(), b=project.word(), n=project.number()) + "  return n;\n}\n\n"
            left -= 1
        project.write(f"src/{project.word()}.c", text)


@unknown("cppcheck", ["cppcheck"], {**SIZES, "plain": {"count": 20, "flags": " --template=gcc"}}, quick=True)
def cppcheck(project, count, flags=""):
    c_files(project, count)
    command = f"cppcheck --enable=all --suppress=missingIncludeSystem{flags} src"
    ran = project.run(command)
    root = ElementTree.fromstring(project.run("cppcheck --enable=all --suppress=missingIncludeSystem --xml src").stderr)
    facts = []
    for error in root.iter("error"):
        place = error.find("location")
        if place is not None:
            facts.append(at_fact(place.get("file"), int(place.get("line")), int(place.get("column")), error.get("msg")))
    return Case("", command, ran, chosen_facts(project, facts))


@unknown("clang-tidy", ["clang-tidy"], {"one": {"count": 1}, "few": {"count": 6}, "some": {"count": 25}})
def clang_tidy(project, count):
    c_files(project, count)
    command = "clang-tidy --checks='clang-analyzer-*,bugprone-*,readability-magic-numbers' src/*.c --"
    ran = project.run(command)
    project.run(command.replace("clang-tidy ", "clang-tidy --export-fixes=report.yaml "))
    report = (project.directory / "report.yaml").read_text()
    facts = []
    for found in re.finditer(r"- DiagnosticName: +(\S+)\n +DiagnosticMessage:\n +Message: +(?:'((?:[^']|'')*)'|\"(.*)\"|(.*))\n"
                             r" +FilePath: +'(.*)'\n +FileOffset: +(\d+)", report):
        path, offset = relative(project, found.group(5)), int(found.group(6))
        text = (project.directory / path).read_text()[:offset]
        message = (found.group(2) or found.group(3) or found.group(4) or "").replace("''", "'").replace('\\"', '"')
        facts.append({**at_fact(found.group(5), text.count("\n") + 1, offset - text.rfind("\n"), message), "or_file": path})
    facts = [fact for index, fact in enumerate(facts) if fact not in facts[:index]]
    return Case("", command, ran, chosen_facts(project, facts))


@unknown("rubocop", ["rubocop"], SIZES)
def rubocop(project, count):
    flaws = ["def {a}( x )\n  return x\nend\n", "{A} = {{ :{b} => {n} }}\n", "def {a}\n  {b} = {n}\nend\n", "puts \"{a}\"\n",
             "if !{n}.zero?\n  puts '{b}'\nend\n", "def {a}(value) ; value ; end\n", "x = {n}; puts x\n"]
    left = count
    while left > 0:
        text = "# frozen_string_literal: true\n\n"
        for _ in range(min(left, project.random.randint(1, 7))):
            word = project.word()
            text += project.random.choice(flaws).format(a=word, A=word.upper(), b=project.word(), n=project.number()) + "\n"
            left -= 1
        project.write(f"lib/{project.word()}.rb", text.rstrip("\n") + "\n")
    project.write(".rubocop.yml", "AllCops:\n  NewCops: enable\n  SuggestExtensions: false\n")
    ran = project.run("rubocop --cache false")
    report = json.loads(project.run("rubocop --cache false -f json").text)
    facts = [at_fact(one["path"], flaw["location"]["line"], flaw["location"]["column"],
                     flaw["message"].split("\n")[0].removeprefix(flaw["cop_name"] + ": ").replace("`", ""))
             for one in report["files"] for flaw in one["offenses"]]
    total = report["summary"]["offense_count"]
    return Case("", "rubocop --cache false", ran, [*chosen_facts(project, facts),
                                                   row_fact(f"{total} offense{'s' if total != 1 else ''}")], failing())


@unknown("staticcheck", ["go-tools/staticcheck"], {"one": {"count": 1}, "few": {"count": 8}, "many": {"count": 60}})
def staticcheck(project, count):
    project.tools = "go-tools"
    project.write("go.mod", "module example.org/sample\n\ngo 1.21\n")
    flaws = ["func {a}(x string) bool {{\n\treturn x == x\n}}\n", "func {a}() {{\n\tvar {b} []int\n\tfor range {b} {{\n\t}}\n}}\n",
             "func {a}(err error) error {{\n\tif err != nil {{\n\t\treturn err\n\t}}\n\treturn nil\n}}\n",
             "func {a}(x bool) bool {{\n\tif x == true {{\n\t\treturn false\n\t}}\n\treturn x\n}}\n",
             "func {a}(x []string) string {{\n\treturn fmt.Sprintf(\"{b}\")\n}}\n"]
    left = count
    while left > 0:
        package = project.word(1)
        text = f"package {package}\n\nimport \"fmt\"\n\nvar _ = fmt.Sprint\n\n"
        for _ in range(min(left, project.random.randint(1, 7))):
            text += project.random.choice(flaws).format(a=project.word(), b=project.word()) + "\n"
            left -= 1
        project.write(f"{package}/{project.word()}.go", text)
    ran = project.run("staticcheck ./...")
    found = [json.loads(line) for line in project.run("staticcheck -f json ./...").text.splitlines()]
    facts = [at_fact(relative(project, one["location"]["file"]), one["location"]["line"], one["location"]["column"],
                     one["message"].split("\n")[0]) for one in found]
    return Case("", "staticcheck ./...", ran, chosen_facts(project, facts), failing())
