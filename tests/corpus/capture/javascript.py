"""jest, vitest, mocha, node --test, tsc and eslint: oracle is each one's JSON reporter."""
import json

from scenario import TOOLS, Case, Missing, at_fact, failing, plant, row_fact, scenario, text_fact, with_versions

BIN = "node_modules/.bin"


def prepare(project, package=None, modules="node_modules"):
    if not (TOOLS / modules).exists():
        raise Missing(f"{modules} below the tools directory")
    (project.directory / "node_modules").symlink_to(TOOLS / modules)
    project.write("package.json", json.dumps({"name": "sample", "version": "1.0.0", **(package or {})}))


def write_suites(project, files, tests, share, style):
    """Test files in the runner's dialect; returns what each failing test's report must say."""
    bad, planted, index = plant(project, files * tests, share), {}, 0
    for _ in range(files):
        suite, path = project.word(), f"test/{project.word()}.test.{style['ending']}"
        text = style["head"] + f"describe('{suite}', () => {{\n"
        for _ in range(tests):
            name, got, wanted = f"{project.word()} {project.word()}", project.number(), project.number()
            text += f"  it('{name}', () => {{\n"
            if index in bad:
                text += style["check"].format(got=got, wanted=wanted)
                planted[name] = (path, text.count("\n"), suite, got, wanted)
            else:
                text += style["check"].format(got=1, wanted=1)
            text += "  });\n"
            index += 1
        project.write(path, text + "});\n")
    return planted


def suite_facts(planted, total, passed_words=("passed", "passing", "pass")):
    facts = [text_fact(name, suite, f"{path}:{line}", str(got), str(wanted))
             for name, (path, line, suite, got, wanted) in planted.items()]
    if planted:
        facts.append(row_fact(str(len(planted)), ["failed", "failing", "fail"]))
    if total > len(planted):
        facts.append(row_fact(str(total - len(planted)), list(passed_words)))
    return facts


SIZES = {
    "all-pass": {"files": 3, "tests": 8, "share": "none"},
    "one-fails": {"files": 4, "tests": 10, "share": "one"},
    "ten-percent": {"files": 5, "tests": 20, "share": 0.1},
    "all-fail": {"files": 2, "tests": 8, "share": "all"},
}


@scenario("jest", [f"{BIN}/jest"], variants={
    **SIZES, "verbose": {"files": 5, "tests": 20, "share": 0.05, "flags": " --verbose"},
    "verbose-thousand": {"files": 10, "tests": 100, "share": 0.01, "flags": " --verbose"},
    "thirty-version": {"files": 3, "tests": 10, "share": 0.1, "tool": "jest30/bin/jest.js"},
    "colour": {"files": 2, "tests": 6, "share": 0.2, "flags": " --colors"},
    "suite-does-not-run": {"files": 2, "tests": 5, "share": "none", "broken": True},
    "console-noise": {"files": 2, "tests": 10, "share": 0.1, "noise": True},
})
def jest(project, files, tests, share, flags="", tool="jest/bin/jest.js", broken=False, noise=False):
    prepare(project, {"jest": {"testEnvironment": "node"}})
    head = "console.log('booting the fixture');\n" if noise else ""
    planted = write_suites(project, files, tests, share, {
        "ending": "js", "head": head, "check": "    expect({got}).toBe({wanted});\n"})
    word = project.word()
    if broken:
        project.write(f"test/{word}.test.js", f"require('./{word}-missing');\n")
    command = f"jest{flags}"
    ran = project.run(f"node node_modules/{tool}{flags}")
    project.run(f"node node_modules/{tool} --json --outputFile=report.json")
    report = json.loads((project.directory / "report.json").read_text())
    failed = {test["title"] for suite in report["testResults"] for test in suite["assertionResults"]
              if test["status"] == "failed"}
    assert failed == set(planted)
    facts = suite_facts(planted, report["numTotalTests"])
    if broken:
        facts.append(text_fact(f"test/{word}.test.js", "Cannot find module", f"{word}-missing"))
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


@scenario("vitest", [f"{BIN}/vitest"], variants={
    **SIZES, "verbose": {"files": 4, "tests": 15, "share": 0.05, "flags": " --reporter=verbose"},
    "dots": {"files": 4, "tests": 20, "share": 0.05, "flags": " --reporter=dot"},
    "old-version": {"files": 4, "tests": 12, "share": 0.1, "modules": "vitest-1/node_modules"},
    "old-version-verbose": {"files": 3, "tests": 12, "share": 0.1, "flags": " --reporter=verbose", "modules": "vitest-1/node_modules"},
})
def vitest(project, files, tests, share, flags="", modules="node_modules"):
    prepare(project, {"type": "module"}, modules)
    planted = write_suites(project, files, tests, share, {
        "ending": "js", "head": "import { describe, it, expect } from 'vitest';\n",
        "check": "    expect({got}).toBe({wanted});\n"})
    command = f"vitest run{flags}"
    ran = project.run(f"node node_modules/vitest/vitest.mjs run{flags}")
    project.run("node node_modules/vitest/vitest.mjs run --reporter=json --outputFile=report.json")
    report = json.loads((project.directory / "report.json").read_text())
    failed = {test["title"] for suite in report["testResults"] for test in suite["assertionResults"]
              if test["status"] == "failed"}
    assert failed == set(planted)
    return Case("", command, ran, suite_facts(planted, report["numTotalTests"]),
                failing() if ran.exit_code else [])


@scenario("mocha", [f"{BIN}/mocha"], variants={
    **SIZES, "thousand": {"files": 10, "tests": 100, "share": 0.005},
    "dots": {"files": 3, "tests": 20, "share": 0.05, "flags": " --reporter dot"},
    "old-version": {"files": 3, "tests": 10, "share": 0.1, "tool": "mocha9/bin/mocha"},
})
def mocha(project, files, tests, share, flags="", tool="mocha/bin/mocha.js"):
    prepare(project)
    planted = write_suites(project, files, tests, share, {
        "ending": "js", "head": "const assert = require('assert');\n",
        "check": "    assert.strictEqual({got}, {wanted});\n"})
    command = f"mocha{flags}"
    tool = tool if (TOOLS / "node_modules" / tool).exists() else tool + ".js"
    ran = project.run(f"node node_modules/{tool}{flags} 'test/*.js'")
    report = json.loads(project.run(f"node node_modules/{tool} --reporter json 'test/*.js'").text)
    assert {test["title"] for test in report["failures"]} == set(planted)
    return Case("", command + " 'test/*.js'", ran, suite_facts(planted, report["stats"]["tests"]),
                failing() if ran.exit_code else [])


NODES = {"old": "node-18", "middle": "node-22", "new": "node-24"}


@scenario("node-test", ["node"], quick=True, variants=with_versions({
    **SIZES, "spec": {"files": 2, "tests": 10, "share": 0.1, "flags": " --test-reporter=spec"},
    "thousand-pass": {"files": 10, "tests": 100, "share": "none"},
}, ["all-pass", "one-fails", "ten-percent", "spec"], **NODES))
def node_test(project, files, tests, share, flags=""):
    project.write("package.json", '{"name": "sample"}')
    planted = write_suites(project, files, tests, share, {
        "ending": "js", "head": "const { describe, it } = require('node:test');\nconst assert = require('node:assert');\n",
        "check": "    assert.strictEqual({got}, {wanted});\n"})
    command = f"node --test{flags}"
    ran = project.run(command)
    total = files * tests
    return Case("", command, ran, suite_facts(planted, total), failing() if ran.exit_code else [])


@scenario("tsc", [f"{BIN}/tsc"], variants={
    "clean": {"files": 3, "count": 5, "share": "none"},
    "one-error": {"files": 3, "count": 5, "share": "one"},
    "ten-percent": {"files": 10, "count": 10, "share": 0.1},
    "many": {"files": 8, "count": 10, "share": "all"},
    "pretty": {"files": 4, "count": 6, "share": 0.3, "flags": " --pretty"},
    "old-version": {"files": 6, "count": 8, "share": 0.3, "tool": "typescript4"},
    "old-version-pretty": {"files": 3, "count": 6, "share": 0.3, "flags": " --pretty", "tool": "typescript4"},
})
def tsc(project, files, count, share, flags="", tool="typescript"):
    prepare(project)
    project.write("tsconfig.json", '{"compilerOptions": {"strict": true, "noEmit": true, "types": []}, '
                                   '"include": ["src"]}')
    bad, facts, index = plant(project, files * count, share), [], 0
    for _ in range(files):
        path, text = f"src/{project.word()}.ts", ""
        for _ in range(count):
            name, other, number = project.word(), project.word(), project.number()
            if index in bad:
                kind = project.random.choice(["assign", "undeclared", "property", "argument"])
                line = text.count("\n") + 1
                flaw, column, message = {
                    "assign": (f"export const {name}: number = '{number}';\n", 14,
                               "Type 'string' is not assignable to type 'number'."),
                    "undeclared": (f"export const {name} = {other} + {number};\n", 17 + len(name),
                                   f"Cannot find name '{other}'."),
                    "property": (f"export const {name} = 'a'.{other};\n", 21 + len(name),
                                 f"Property '{other}' does not exist on type"),
                    "argument": (f"export const {name} = Math.abs('{other}');\n", 26 + len(name),
                                 "Argument of type 'string' is not assignable to parameter of type 'number'."),
                }[kind]
                facts.append(at_fact(path, line, column, message))
                text += flaw
            else:
                text += f"export const {name}: number = {number};\n"
            index += 1
        project.write(path, text)
    command = f"tsc{flags}"
    ran = project.run(f"node {TOOLS}/node_modules/{tool}/bin/tsc{flags}")
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


LINTS = ["var {name} = {number};\n", "const {name} = {number};\n", "let {name} = {number} == 3;\n",
         "console.log({name});\n", "if ({number}) {{\n  let {name};\n}}\n"]


@scenario("eslint", [f"{BIN}/eslint"], variants={
    "clean": {"files": 2, "count": 3, "share": "none"},
    "one": {"files": 3, "count": 6, "share": "one"},
    "ten-percent": {"files": 10, "count": 10, "share": 0.1},
    "many": {"files": 8, "count": 8, "share": "all"},
    "old-version": {"files": 4, "count": 8, "share": 0.3, "tool": "eslint8/bin/eslint.js"},
    "parse-error": {"files": 2, "count": 4, "share": "none", "broken": True},
})
def eslint(project, files, count, share, tool="eslint/bin/eslint.js", broken=False):
    prepare(project)
    rules = {"no-undef": "error", "no-unused-vars": "warn", "eqeqeq": "error", "no-var": "error",
             "prefer-const": "warn", "no-constant-condition": "error"}
    project.write("eslint.config.js", f"module.exports = [{{ rules: {json.dumps(rules)}, languageOptions: "
                                      "{ sourceType: 'script' } }];\n")
    project.write(".eslintrc.json", json.dumps({"root": True, "rules": rules,
                                                "parserOptions": {"ecmaVersion": 2020}}))
    bad, index = plant(project, files * count, share), 0
    for number in range(files):
        text = "let a = 1;\n" if broken and number == 0 else ""
        for _ in range(count):
            if index in bad:
                text += project.random.choice(LINTS).format(name=project.word(), number=project.number())
            else:
                text += f"(function () {{ return {project.number()}; }})();\n"
            index += 1
        project.write(f"src/{project.word()}.js", text + ("let let = ;\n" if broken and number == 0 else ""))
    environment = {"ESLINT_USE_FLAT_CONFIG": "false"} if "8" in tool else {}
    command = "eslint src"
    ran = project.run(f"node node_modules/{tool} src", environment=environment)
    report = json.loads(project.run(f"node node_modules/{tool} src -f json", environment=environment).text)
    facts = [at_fact(file["filePath"], entry["line"], entry["column"], entry["message"].rstrip("."))
             for file in report for entry in file["messages"]]
    rules_hit = {entry["ruleId"] for file in report for entry in file["messages"] if entry["ruleId"]}
    facts += [text_fact(rule) for rule in sorted(rules_hit)]
    if facts:
        facts.append(row_fact(str(sum(len(file["messages"]) for file in report)), ["problem", "problems"]))
    return Case("", command, ran, facts, failing() if ran.exit_code else [])
