"""Test runners without a parser of ours: the oracle is a runner's own report, or what was planted."""
import json
import xml.etree.ElementTree as ElementTree

from scenario import Case, failing, plant, row_fact, text_fact, unknown

SCRIPTS = "js/node_modules/.bin"
BUILD = "pybuild/bin"
SIZES = {"all-pass": {"count": 40, "share": "none"}, "one-fails": {"count": 30, "share": "one"},
         "some-fail": {"count": 80, "share": 0.1}, "all-fail": {"count": 12, "share": "all"},
         "hundreds": {"count": 400, "share": 0.05}}


def tests_of(project, count, share):
    """(name, what it got, what it wants) for each test; both are equal in one that passes."""
    bad = plant(project, count, share)
    for index in range(count):
        got = project.number()
        yield project.word(), got, project.number() if index in bad else got


def in_files(tests, most=20):
    tests = list(tests)
    return [tests[start:start + most] for start in range(0, len(tests), most)]


@unknown("rspec", ["rspec"], {**SIZES, "documented": {"count": 40, "share": 0.1, "flags": " --format documentation"}})
def rspec(project, count, share, flags=""):
    tests = list(tests_of(project, count, share))
    for group in in_files(tests):
        text = f"RSpec.describe '{project.word()}' do\n"
        for name, got, wanted in group:
            text += f"  it 'gives {name}' do\n    expect({got}).to eq({wanted})\n  end\n\n"
        project.write(f"spec/{project.word()}_spec.rb", text + "end\n")
    ran = project.run(f"rspec{flags}")
    report = json.loads(project.run("rspec --format json").text)
    bad = [one for one in report["examples"] if one["status"] == "failed"]
    assert len(bad) == sum(got != wanted for _, got, wanted in tests)
    facts = []
    for one in bad:
        name = one["full_description"].split(" ")[-1]
        _, got, wanted = next(test for test in tests if test[0] == name)
        facts.append(text_fact(name, str(wanted), str(got), [one["file_path"].removeprefix("./")]))
    return Case("", f"rspec{flags}", ran, facts + [row_fact(f"{count} examples", f"{len(bad)} failure{'s' if len(bad) != 1 else ''}")],
                failing() if bad else [])


@unknown("phpunit", ["phpunit"], {**SIZES, "named": {"count": 60, "share": 0.1, "flags": " --testdox"}})
def phpunit(project, count, share, flags=""):
    tests = list(tests_of(project, count, share))
    for group in in_files(tests):
        suite = project.word().title().replace("_", "") + "Test"
        text = f"<?php\nuse PHPUnit\\Framework\\TestCase;\n\nclass {suite} extends TestCase\n{{\n"
        for name, got, wanted in group:
            text += f"    public function test_{name}(): void\n    {{\n        $this->assertSame({wanted}, {got});\n    }}\n\n"
        project.write(f"tests/{suite}.php", text + "}\n")
    ran = project.run(f"phpunit{flags} tests")
    project.run("phpunit --log-junit report.xml tests")
    facts = []
    for case in ElementTree.parse(project.directory / "report.xml").getroot().iter("testcase"):
        if case.find("failure") is None:
            continue
        name = case.get("name")
        _, got, wanted = next(test for test in tests if f"test_{test[0]}" == name)
        shown = name.removeprefix("test_").replace("_", " ").capitalize() if flags else name
        facts.append(text_fact(shown, str(got), str(wanted)))
        if not flags:
            facts.append(row_fact(case.get("class"), name))
    bad = sum(got != wanted for _, got, wanted in tests)
    return Case("", f"phpunit{flags} tests", ran, facts + [row_fact(["Tests:", "OK"], str(count))] +
                ([row_fact("Failures:", str(bad))] if bad else []), failing() if bad else [])


@unknown("prove", ["prove"], {**SIZES, "verbose": {"count": 200, "share": 0.05, "flags": " -v"}}, quick=True)
def prove(project, count, share, flags=""):
    tests, facts = list(tests_of(project, count, share)), []
    for group in in_files(tests):
        path = f"t/{project.word()}.t"
        text = f"use strict;\nuse warnings;\nuse Test::More tests => {len(group)};\n\n"
        for index, (name, got, wanted) in enumerate(group):
            text += f"is({got}, {wanted}, '{name}');\n"
            if got != wanted:
                place = f"{path} line {index + 5}"
                facts.append(text_fact(name, f"'{got}'", f"'{wanted}'", [place, place.replace(" line ", ":")]))
        project.write(path, text)
        bad = [str(index + 1) for index, (_, got, wanted) in enumerate(group) if got != wanted]
        if bad:
            facts.append(row_fact(path, [f"Failed: {len(bad)}", f"Failed {len(bad)}/{len(group)}"]))
    facts.append(row_fact(f"Files={len(in_files(tests))}", f"Tests={count}"))
    ran = project.run(f"prove{flags} t")
    return Case("", f"prove{flags} t", ran, facts, failing() if ran.exit_code else [])


@unknown("minitest", ["ruby"], SIZES)
def minitest(project, count, share):
    tests, facts = list(tests_of(project, count, share)), []
    for group in in_files(tests):
        path, suite = f"test/test_{project.word()}.rb", "Test" + project.word().title().replace("_", "")
        text = f"class {suite} < Minitest::Test\n"
        for name, got, wanted in group:
            text += f"  def test_{name}\n    assert_equal {wanted}, {got}\n  end\n\n"
            if got != wanted:
                facts.append(text_fact(f"test_{name}", f"Expected: {wanted}", f"Actual: {got}"))
                facts.append(row_fact(f"{suite}#test_{name}"))
        project.write(path, text + "end\n")
    command = "ruby -rminitest/autorun -e 'Dir.glob(\"./test/*.rb\").sort.each { |path| require path }' -- --seed 7"
    ran = project.run(command)
    bad = sum(got != wanted for _, got, wanted in tests)
    return Case("", command, ran, facts + [row_fact(f"{count} runs", f"{bad} failures")], failing() if bad else [])


@unknown("bats", ["bats"], {name: size for name, size in SIZES.items() if name != "hundreds"}, quick=True)
def bats(project, count, share):
    tests, facts = list(tests_of(project, count, share)), []
    for group in in_files(tests):
        path, text = f"test/{project.word()}.bats", ""
        for index, (name, got, wanted) in enumerate(group):
            text += f"@test \"gives {name}\" {{\n  run echo {got}\n  echo \"got: $output\"\n  [ \"$output\" = \"{wanted}\" ]\n}}\n\n"
            if got != wanted:
                facts.append(text_fact(f"gives {name}", f"got: {got}", str(wanted), [path],
                                       [f"line {index * 6 + 4}", f"{path}:{index * 6 + 4}"]))
        project.write(path, text)
    bad = sum(got != wanted for _, got, wanted in tests)
    ran = project.run("bats --tap test")
    return Case("", "bats --tap test", ran, facts + [text_fact(f"1..{count}") if not bad else row_fact("not ok")], failing() if bad else [])


@unknown("ava", [f"{SCRIPTS}/ava"], SIZES)
def ava(project, count, share):
    project.tools = SCRIPTS
    tests, facts = list(tests_of(project, count, share)), []
    for group in in_files(tests):
        text = "import test from 'ava';\n\n"
        for name, got, wanted in group:
            text += f"test('gives {name}', t => {{\n  t.is({got}, {wanted});\n}});\n\n"
            if got != wanted:
                facts.append(text_fact(f"gives {name}", str(got), str(wanted)))
        project.write(f"test/{project.word()}.js", text)
    project.write("package.json", '{"name": "sample", "type": "module"}\n')
    (project.directory / "node_modules").symlink_to("/srv/tools/js/node_modules")
    bad = sum(got != wanted for _, got, wanted in tests)
    ran = project.run("ava")
    return Case("", "ava", ran, facts + [row_fact(f"{bad} test{'s' if bad != 1 else ''} failed" if bad else f"{count} tests passed")],
                failing() if bad else [])


@unknown("tap", [f"{SCRIPTS}/tape"], SIZES)
def tape(project, count, share):
    project.tools = SCRIPTS
    tests, facts = list(tests_of(project, count, share)), []
    for group in in_files(tests):
        text = "const test = require('tape');\n\n"
        for name, got, wanted in group:
            text += f"test('gives {name}', (t) => {{\n  t.equal({got}, {wanted}, 'value of {name}');\n  t.end();\n}});\n\n"
            if got != wanted:
                facts.append(text_fact(f"value of {name}", f"expected: {wanted}", f"actual: {got}"))
        project.write(f"test/{project.word()}.js", text)
    (project.directory / "node_modules").symlink_to("/srv/tools/js/node_modules")
    bad = sum(got != wanted for _, got, wanted in tests)
    ran = project.run("tape 'test/*.js'")
    return Case("", "tape 'test/*.js'", ran, facts + [row_fact("# tests", str(count))] + ([row_fact("# fail", str(bad))] if bad else []),
                failing() if bad else [])


@unknown("jasmine", [f"{SCRIPTS}/jasmine"], SIZES)
def jasmine(project, count, share):
    project.tools = SCRIPTS
    tests, facts = list(tests_of(project, count, share)), []
    for group in in_files(tests):
        text = f"describe('{project.word()}', () => {{\n"
        for name, got, wanted in group:
            text += f"  it('gives {name}', () => {{\n    expect({got}).toBe({wanted});\n  }});\n\n"
            if got != wanted:
                facts.append(text_fact(f"gives {name}", f"Expected {got} to be {wanted}"))
        project.write(f"spec/{project.word()}Spec.js", text + "});\n")
    bad = sum(got != wanted for _, got, wanted in tests)
    command = "jasmine --random=false 'spec/*.js'"
    ran = project.run(command)
    return Case("", command, ran, facts + [row_fact(f"{count} specs", f"{bad} failure{'s' if bad != 1 else ''}")], failing() if bad else [])


@unknown("playwright", [f"{SCRIPTS}/playwright"], {name: size for name, size in SIZES.items() if name != "hundreds"})
def playwright(project, count, share):
    project.tools = SCRIPTS
    tests, facts = list(tests_of(project, count, share)), []
    for group in in_files(tests):
        path = f"tests/{project.word()}.spec.js"
        text = "const { test, expect } = require('@playwright/test');\n\n"
        for index, (name, got, wanted) in enumerate(group):
            text += f"test('gives {name}', async () => {{\n  expect({got}).toBe({wanted});\n}});\n\n"
            if got != wanted:
                facts.append(text_fact(f"gives {name}", f"Expected: {wanted}", f"Received: {got}"))
                facts.append(row_fact(f"{path}:{3 + index * 4}", f"gives {name}"))
        project.write(path, text)
    (project.directory / "node_modules").symlink_to("/srv/tools/js/node_modules")
    bad = sum(got != wanted for _, got, wanted in tests)
    command = "playwright test --workers=1 --reporter=line" if count == 12 else "playwright test --workers=1 --reporter=list"
    ran = project.run(command)
    return Case("", command, ran, facts + ([row_fact(f"{bad} failed")] if bad else []) +
                ([row_fact(f"{count - bad} passed")] if count > bad else []), failing() if bad else [])


@unknown("robot", ["pybuild/bin/robot"], SIZES)
def robot(project, count, share):
    project.tools = BUILD
    tests, facts = list(tests_of(project, count, share)), []
    for group in in_files(tests):
        text = "*** Test Cases ***\n"
        for name, got, wanted in group:
            text += f"Gives {name}\n    Should Be Equal    {got}    {wanted}\n\n"
            if got != wanted:
                facts.append(text_fact(f"Gives {name}", f"{got} != {wanted}"))
        project.write(f"tests/{project.word()}.robot", text)
    bad = sum(got != wanted for _, got, wanted in tests)
    command = "robot --output NONE --log NONE --report NONE tests"
    ran = project.run(command)
    return Case("", command, ran, facts + [row_fact(f"{count} tests", f"{count - bad} passed", f"{bad} failed")], failing() if bad else [])


@unknown("behave", ["pybuild/bin/behave"], {name: size for name, size in SIZES.items() if name != "hundreds"})
def behave(project, count, share):
    project.tools = BUILD
    tests, facts = list(tests_of(project, count, share)), []
    project.write("features/steps/steps.py", "from behave import then\n\n\n@then('{got:d} is {wanted:d}')\n"
                  "def step(context, got, wanted):\n    assert got == wanted, f'got {got}, not {wanted}'\n")
    for group in in_files(tests):
        path = f"features/{project.word()}.feature"
        text = f"Feature: {project.word()}\n\n"
        for index, (name, got, wanted) in enumerate(group):
            text += f"  Scenario: gives {name}\n    Then {got} is {wanted}\n\n"
            if got != wanted:
                facts.append(text_fact(f"gives {name}", f"got {got}, not {wanted}"))
                facts.append(row_fact(f"{path}:{3 + index * 3}", f"gives {name}"))
        project.write(path, text)
    bad = sum(got != wanted for _, got, wanted in tests)
    ran = project.run("behave --no-color")
    return Case("", "behave --no-color", ran, facts + [row_fact(["scenario", "scenarios"], f"{count - bad}", str(bad))], failing() if bad else [])
