"""Compilers, linters and runners of less usual languages, each with a form of its own for a diagnostic.

The oracle is the tool's machine-readable report, or what was planted.
"""
import json

from linters import chosen_facts, relative
from scenario import Case, at_fact, failing, row_fact, under_fact, unknown

PYTHON = "more/bin"
SCRIPTS = "more-js/node_modules/.bin"
SIZES = {"few": {"count": 5}, "some": {"count": 30}, "many": {"count": 90}}


def files(project, count, extension, flaws, most=6):
    """Files with COUNT flaws in all; yields (path, line of the flaw, its words). A flaw's {n} is its number."""
    left, found = count, []
    while left > 0:
        path, text = f"src/{project.word(1)}/{project.word()}.{extension}", ""
        for _ in range(min(left, project.random.randint(1, most))):
            flaw = project.random.choice(flaws)
            names = {"a": project.word(), "b": project.word(), "n": project.number()}
            found.append((path, text.count("\n") + flaw.get("line", 1), flaw["says"].format(**names), names))
            text += flaw["text"].format(**names) + "\n"
            left -= 1
        project.write(path, text)
    return found


def report(project, command, ran, facts):
    return Case("", command, ran, chosen_facts(project, facts), failing() if ran.exit_code else [])


# Compilers --------------------------------------------------------------------------------------

@unknown("gfortran", ["gfortran"], SIZES)
def gfortran(project, count):
    found = files(project, count, "f90", [
        {"text": "subroutine {a}()\n implicit none\n integer :: i\n i = {b}\nend subroutine", "line": 4, "says": "Symbol '{b}' at (1) has no IMPLICIT type"},
        {"text": "subroutine {a}()\n integer :: {b}\n {b} = \"x{n}\"\nend subroutine", "line": 3, "says": "Cannot convert CHARACTER"}])
    command = "gfortran -fsyntax-only -fmax-errors=0 $(find src -name '*.f90' | sort)"
    ran = project.run(command)
    return report(project, command, ran, [at_fact(path, line, 0, says) for path, line, says, _ in found])


@unknown("gnat", ["gnatmake"], SIZES)
def gnat(project, count):
    facts = []
    for _ in range(count):
        unit, name = project.word(), project.word()
        project.write(f"{unit}.adb", f"procedure {unit} is\n   X : Integer := 1;\nbegin\n   {name} (X);\nend {unit};\n")
        facts.append({"row": [f"{unit}.adb:4:04", f'"{name}" is undefined']})
    command = "for f in *.adb; do gcc -c -gnatc $f; done"
    ran = project.run(command)
    return report(project, command, ran, facts)


@unknown("ocaml", ["ocamlopt"], {"few": {"count": 4}, "some": {"count": 20}})
def ocaml(project, count):
    facts = []
    for _ in range(count):
        unit, name = project.word(), project.word()
        project.write(f"{unit}.ml", f"let start = 1\nlet {name} = start + missing_{name}\n")
        facts.append(at_fact(f"{unit}.ml", 2, 0, f"Unbound value missing_{name}"))
    command = "for f in *.ml; do ocamlopt -c $f; done"
    ran = project.run(command)
    return report(project, command, ran, facts)


@unknown("nim", ["nim"], {"few": {"count": 4}, "some": {"count": 15}})
def nim(project, count):
    facts = []
    text = ""
    for at in range(count):
        name = project.word().replace("_", "")
        text += f"echo {name}\n"
        facts.append(at_fact(f"{project.directory}/app.nim", at + 1, 6, f"undeclared identifier: '{name}'"))
    project.write("app.nim", text)
    command = "nim check --hints:off app.nim"
    ran = project.run(command)
    return report(project, command, ran, [{"row": [str(fact["line"]), fact["message"]]} for fact in facts])


@unknown("vala", ["valac"], SIZES)
def vala(project, count):
    found = files(project, count, "vala", [
        {"text": "void {a} () {{ {b} (); }}", "says": "The name `{b}' does not exist"},
        {"text": "void {a} () {{ int {b} = \"x\"; }}", "says": "Cannot convert from `string' to `int'"}])
    command = "valac -C $(find src -name '*.vala' | sort)"
    ran = project.run(command)
    facts = [{"row": [[f"{path}:{line}"], says]} for path, line, says, _ in found]
    return report(project, command, ran, [*facts, row_fact(f"{count} error(s)")])


@unknown("zig", ["more/bin/python-zig"], {"few": {"count": 4}, "some": {"count": 12}})
def zig(project, count):
    project.tools = PYTHON
    text, facts = "", []
    for at in range(count):
        name = project.word()
        text += f"fn f{at}() void {{\n    {name}();\n}}\n"
        facts.append(at_fact("app.zig", 3 * at + 2, 5, f"use of undeclared identifier '{name}'"))
    project.write("app.zig", text + "pub fn main() void {}\n")
    command = "python-zig build-exe app.zig"
    return report(project, command, project.run(command), facts)


@unknown("iverilog", ["iverilog"], SIZES)
def iverilog(project, count):
    found = files(project, count, "v", [
        {"text": "module {a}(input a, output b);\n assign b = {b};\nendmodule", "line": 2, "says": "Unable to bind wire/reg/memory `{b}'"}])
    command = "iverilog -o /dev/null $(find src -name '*.v' | sort)"
    return report(project, command, project.run(command), [at_fact(path, line, 0, says) for path, line, says, _ in found])


# Linters ----------------------------------------------------------------------------------------

@unknown("phpcs", ["phpcs"], SIZES)
def phpcs(project, count):
    files(project, count, "php", [{"text": "<?php\nfunction {a}($x){{ return $x+{n}; }}", "says": ""}], 1)
    command = "phpcs --standard=PSR12 --no-colors src"
    ran = project.run(command)
    found = json.loads(project.run("phpcs --standard=PSR12 --report=json src").text)["files"]
    facts = [at_fact(path, one["line"], 0, " ".join(one["message"].split(" ")[:4])) for path, of_file in found.items()
             if path in ran.text for one in of_file["messages"]]  # long paths are cut
    return report(project, command, ran, facts)


@unknown("luacheck", ["luacheck"], SIZES)
def luacheck(project, count):
    found = files(project, count, "lua", [
        {"text": "local {a} = {n}", "says": "unused variable '{a}'"}, {"text": "{a} = {n}", "says": "setting non-standard global variable '{a}'"},
        {"text": "print({a})", "says": "accessing undefined variable '{a}'"}])
    command = "luacheck --no-color src"
    return report(project, command, project.run(command), [at_fact(path, line, 0, says) for path, line, says, _ in found])


@unknown("perlcritic", ["perlcritic"], SIZES)
def perlcritic(project, count):
    files(project, count, "pl", [{"text": "my ${a} = eval \"{n}\";", "says": ""}, {"text": "sub {a} {{ return sort @_ }}", "says": ""}])
    command = "perlcritic -3 src"
    ran = project.run(command)
    plain = project.run("perlcritic -3 --verbose '%f|%l|%c|%m\\n' src")
    facts = []
    for line in plain.text.splitlines():
        if line.count("|") >= 3:
            path, row, column, message = line.split("|", 3)
            said = [message, [f"line {row}, column {column}", f"{row}:{column}"]]
            facts.append(at_fact(path, int(row), int(column), message) if path in ran.text else row_fact(*said))
    return report(project, command, ran, facts)


@unknown("sqlfluff", ["more/bin/sqlfluff"], SIZES)
def sqlfluff(project, count):
    project.tools = PYTHON
    files(project, count, "sql", [{"text": "SELECT {a},{b} from  orders;", "says": ""}, {"text": "select *\nfrom {a}\nWHERE {b} = {n};", "says": ""}], 2)
    command = "sqlfluff lint --dialect ansi --nocolor --disable-progress-bar src"
    ran = project.run(command)
    found = json.loads(project.run("sqlfluff lint --dialect ansi --disable-progress-bar --format json src").text)
    facts = [at_fact(one["filepath"], said["start_line_no"], said["start_line_pos"], said["code"]) for one in found for said in one["violations"]]
    return report(project, command, ran, facts)


@unknown("html-validate", ["more-js/node_modules/.bin/html-validate"], SIZES)
def html_validate(project, count):
    project.tools = SCRIPTS
    files(project, count, "html", [{"text": "<!DOCTYPE html>\n<html lang=\"en\"><head><title>{a}</title></head><body><img src=\"{b}.png\"><p>{n}<div></div></body></html>", "says": ""}], 1)
    ran = project.run("html-validate src")
    found = json.loads(project.run("html-validate -f json src").text)
    facts = [{**at_fact(one["filePath"], said["line"], said["column"], said["message"]), "or_file": relative(project, one["filePath"])}
             for one in found for said in one["messages"]]
    return report(project, "html-validate src", ran, facts)


@unknown("djlint", ["more/bin/djlint"], SIZES)
def djlint(project, count):
    project.tools = PYTHON
    found = files(project, count, "html", [{"text": "<img src={a} id=\"{b}\">", "says": "H013"}, {"text": "<a href=\"http://x\" style=\"x\" id=\"{a}\">{b}</a>", "says": "H021"}])
    command = "djlint --lint --quiet src"
    ran = project.run(command)
    return report(project, command, ran, [under_fact([path.removeprefix("src/")], says, f"{line}:0") for path, line, says, _ in found if says == "H013"])


@unknown("cfn-lint", ["more/bin/cfn-lint"], SIZES)
def cfn_lint(project, count):
    project.tools = PYTHON
    text, names = "AWSTemplateFormatVersion: '2010-09-09'\nResources:\n", []
    for _ in range(count):
        name = project.word().title().replace("_", "")
        text += f"  {name}:\n    Type: AWS::S3::{name}\n"
        names.append(name)
    project.write("stack.yaml", text)
    ran = project.run("cfn-lint stack.yaml")
    found = json.loads(project.run("cfn-lint --format json stack.yaml").text)
    facts = [at_fact("stack.yaml", one["Location"]["Start"]["LineNumber"], one["Location"]["Start"]["ColumnNumber"], f"{one['Rule']['Id']} {one['Message']}") for one in found]
    return report(project, "cfn-lint stack.yaml", ran, facts)


@unknown("ty", ["more/bin/ty"], {"few": {"count": 4}, "some": {"count": 25}})
def ty(project, count):
    project.tools = PYTHON
    found = files(project, count, "py", [
        {"text": "{a}: int = \"{b}\"", "says": "is not assignable to `int`"}, {"text": "print({a})", "says": "Name `{a}` used when not defined"}])
    ran = project.run("ty check --color never src")
    return report(project, "ty check --color never src", ran, [at_fact(path, line, 0, says) for path, line, says, _ in found])


@unknown("pyrefly", ["more/bin/pyrefly"], {"few": {"count": 4}, "some": {"count": 25}})
def pyrefly(project, count):
    project.tools = PYTHON
    found = files(project, count, "py", [{"text": "print({a})", "says": "Could not find name `{a}`"}])
    ran = project.run("pyrefly check src")
    return report(project, "pyrefly check src", ran, [at_fact(path, line, 0, says) for path, line, says, _ in found])


@unknown("typos", ["more/bin/typos"], SIZES)
def typos(project, count):
    project.tools = PYTHON
    found = files(project, count, "md", [{"text": "We recieve {a} {n}", "says": "`recieve` should be `receive`"}, {"text": "It is seperate from {a}", "says": "`seperate` should be `separate`"},
                                         {"text": "The {a} occured", "says": "`occured` should be `occurred`"}])
    ran = project.run("typos src")
    return report(project, "typos src", ran, [at_fact(path, line, 0, says) for path, line, says, _ in found])


@unknown("semgrep", ["more/bin/semgrep"], {"few": {"count": 5}, "some": {"count": 30}})
def semgrep(project, count):
    project.tools = PYTHON
    found = files(project, count, "py", [{"text": "eval({a} + \"{n}\")", "says": "Do not evaluate text"}, {"text": "print({a})\nopen(\"{b}\")", "line": 2, "says": "Close what was opened"}])
    project.write("rules.yml", "rules:\n- {id: no-eval, pattern: 'eval(...)', message: Do not evaluate text, languages: [python], severity: ERROR}\n"
                  "- {id: close, pattern: 'open(...)', message: Close what was opened, languages: [python], severity: WARNING}\n")
    command = "semgrep scan --metrics off --disable-version-check --no-git-ignore --config rules.yml src"
    ran = project.run(command)
    return report(project, command, ran, [under_fact([path], str(line), names["a"] if "eval" in says or "evaluate" in says else names["b"]) for path, line, says, names in found])


@unknown("solhint", ["more-js/node_modules/.bin/solhint"], {"few": {"count": 3}, "some": {"count": 15}})
def solhint(project, count):
    project.tools = SCRIPTS
    files(project, count, "sol", [{"text": "pragma solidity ^0.8.0;\ncontract {a} {{ function {b}() public {{ tx.origin; }} }}", "says": ""}], 1)
    project.write(".solhint.json", '{"extends": "solhint:recommended"}')
    command = "solhint 'src/**/*.sol'"
    ran = project.run(command)
    found = json.loads(project.run("solhint -f json 'src/**/*.sol'").text)
    facts = [at_fact(one["filePath"], one["line"], one["column"], one["message"].split(",")[0]) for one in found if "filePath" in one]
    return report(project, command, ran, facts)


@unknown("spectral", ["more-js/node_modules/.bin/spectral"], {"few": {"count": 2}, "some": {"count": 15}})
def spectral(project, count):
    project.tools = SCRIPTS
    text = "openapi: 3.0.0\ninfo: {title: a}\npaths:\n" + "".join(f"  /{project.word()}:\n    get: {{responses: {{}}}}\n" for _ in range(count))
    project.write("api.yaml", text)
    project.write(".spectral.yaml", 'extends: ["spectral:oas"]\n')
    ran = project.run("spectral lint api.yaml")
    found = json.loads(project.run("spectral lint -q -f json api.yaml").text)
    facts = [{"row": [f"{one['range']['start']['line'] + 1}:{one['range']['start']['character'] + 1}", one["code"]]} for one in found]
    return report(project, "spectral lint api.yaml", ran, facts)


@unknown("standard", ["more-js/node_modules/.bin/standard"], SIZES)
def standard(project, count):
    project.tools = SCRIPTS
    found = files(project, count, "js", [{"text": "console.log({a})", "says": "'{a}' is not defined."}, {"text": "const {a} = {n}", "says": "'{a}' is assigned a value but never used."}])
    ran = project.run("standard src")
    return report(project, "standard src", ran, [{**at_fact(f"{project.directory}/{path}", line, 0, says), "or_file": path} for path, line, says, _ in found])


@unknown("cspell", ["more-js/node_modules/.bin/cspell"], SIZES)
def cspell(project, count):
    project.tools = SCRIPTS
    found = files(project, count, "md", [{"text": "Text with zq{a}xv here", "says": "zq{a}xv"}, {"text": "Some {a} and recieve {n}", "says": "recieve"}])
    found = [one for one in found if one[2] == "recieve"]
    ran = project.run("cspell lint --no-progress --no-color 'src/**'")
    return report(project, "cspell lint --no-progress --no-color 'src/**'", ran, [at_fact(path, line, 0, "Unknown word (recieve)") for path, line, _, _ in found])


@unknown("hadolint", ["more/bin/hadolint"], {"few": {"count": 3}, "some": {"count": 20}})
def hadolint(project, count):
    project.tools = PYTHON
    text = "FROM debian:latest\n" + "".join(f"RUN apt-get install {project.word()}\nRUN cd /{project.word()}\n" for _ in range(count))
    project.write("Dockerfile", text)
    ran = project.run("hadolint Dockerfile")
    found = json.loads(project.run("hadolint -f json Dockerfile").text)
    return report(project, "hadolint Dockerfile", ran, [at_fact("Dockerfile", one["line"], 0, one["message"]) for one in found])


@unknown("vulture", ["more/bin/vulture"], SIZES)
def vulture(project, count):
    project.tools = PYTHON
    found = files(project, count, "py", [{"text": "def {a}():\n    pass\n", "says": "unused function '{a}'"}, {"text": "{a} = {n}", "says": "unused variable '{a}'"}])
    ran = project.run("vulture src")
    return report(project, "vulture src", ran, [at_fact(path, line, 0, says) for path, line, says, _ in found])


# Runners ----------------------------------------------------------------------------------------

@unknown("exunit", ["mix"], {"few": {"count": 12, "bad": 2}, "some": {"count": 60, "bad": 5}})
def exunit(project, count, bad):
    planted = set(project.random.sample(range(count), bad))
    project.write("mix.exs", "defmodule Shop.MixProject do\n  use Mix.Project\n  def project, do: [app: :shop, version: \"0.1.0\"]\nend\n")
    project.write("test/test_helper.exs", "ExUnit.start(seed: 0)\n")
    text, facts = "defmodule ShopTest do\n  use ExUnit.Case\n\n", []
    for at in range(count):
        name, got = project.word(), project.number()
        wanted = project.number() if at in planted else got
        text += f"  test \"{name}\" do\n    assert {got} == {wanted}\n  end\n\n"
        if at in planted:
            facts += [under_fact([f"test {name}"], "left", str(got)), under_fact([f"test {name}"], "right", str(wanted)),
                      under_fact([f"test {name}"], f"test/shop_test.exs:{4 + 4 * at}")]
    project.write("test/shop_test.exs", text + "end\n")
    ran = project.run("mix test", {"MIX_ENV": "test"})
    return report(project, "mix test", ran, [*facts, row_fact(f"{count} tests", f"{bad} failures")])


@unknown("meson-test", ["meson", "ninja"], {"some": {"count": 25, "bad": 3}, "verbose": {"count": 20, "bad": 2, "flags": " --print-errorlogs"}})
def meson_test(project, count, bad, flags=""):
    planted, text, facts = set(project.random.sample(range(count), bad)), "project('shop')\nsh = find_program('sh')\n", []
    for at in range(count):
        name, number = project.word(), project.number()
        status = 1 if at in planted else 0
        text += f"test('{name}', sh, args: ['-c', 'echo value {number}; exit {status}'])\n"
        if status:
            facts += [row_fact(name, "FAIL")] + ([{"all": [name, f"value {number}"]}] if flags else [])
    project.write("meson.build", text)
    project.run("meson setup build")
    command = f"meson test -C build{flags}"
    return report(project, command, project.run(command), [*facts, row_fact("Fail:", str(bad))])


@unknown("django-test", ["more/bin/django-admin"], {"some": {"count": 40, "bad": 4}, "verbose": {"count": 60, "bad": 3, "flags": " -v 2"}})
def django_test(project, count, bad, flags=""):
    project.tools = PYTHON
    project.run("django-admin startproject shop . && python manage.py startapp orders")
    planted, text, facts = set(project.random.sample(range(count), bad)), "from django.test import SimpleTestCase\n\n\nclass Orders(SimpleTestCase):\n", []
    for at in range(count):
        name, got = project.word(), project.number()
        wanted = project.number() if at in planted else got
        text += f"    def test_{name}(self):\n        self.assertEqual({got}, {wanted})\n\n"
        if at in planted:
            facts.append({"all": [f"test_{name}", f"{got} != {wanted}"]})
    project.write("orders/tests.py", text)
    command = f"python manage.py test{flags}"
    return report(project, command, project.run(command), [*facts, row_fact([f"FAILED (failures={bad})", f"{bad} failures"])])


@unknown("go-json", ["go"], {"some": {"count": 30, "bad": 2}, "many": {"count": 120, "bad": 4}})
def go_json(project, count, bad):
    planted, facts = set(project.random.sample(range(count), bad)), []
    project.write("go.mod", "module example.com/shop\n\ngo 1.19\n")
    text = "package shop\n\nimport \"testing\"\n\n"
    for at in range(count):
        name, got = project.word().title().replace("_", ""), project.number()
        wanted = project.number() if at in planted else got
        text += f"func Test{name}(t *testing.T) {{\n\tif {got} != {wanted} {{\n\t\tt.Errorf(\"got %d, want %d\", {got}, {wanted})\n\t}}\n}}\n\n"
        if at in planted:
            facts += [row_fact(f"got {got}, want {wanted}", f"shop_test.go:{7 + 6 * at}"), {"all": [f"Test{name}", f"got {got}, want {wanted}"]}]
    project.write("shop_test.go", text)
    return report(project, "go test -json ./...", project.run("go test -json ./..."), facts)


@unknown("go-race", ["go"], {"one": {"count": 1}, "some": {"count": 6}})
def go_race(project, count):
    project.write("go.mod", "module example.com/shop\n\ngo 1.19\n")
    names = [project.word() for _ in range(count)]
    text = "package main\n\nimport \"sync\"\n\n" + "".join(f"var {name} int\n\nfunc add_{name}(w *sync.WaitGroup) {{\n\t{name}++\n\tw.Done()\n}}\n\n" for name in names)
    text += "func main() {\n\tvar w sync.WaitGroup\n" + "".join(f"\tw.Add(2)\n\tgo add_{name}(&w)\n\tgo add_{name}(&w)\n\tw.Wait()\n" for name in names) + "}\n"
    project.write("main.go", text)
    ran = project.run("go run -race .")
    places = [text[:text.index(f"{name}++")].count("\n") + 1 for name in names]
    facts = [{"all": [f"add_{name}", f"main.go:{place}"]} for name, place in zip(names, places)]
    return report(project, "go run -race .", ran, [*facts, row_fact(f"Found {count} data race(s)")])


@unknown("jstack", ["javac", "jstack"], {"deadlock": {"count": 30}})
def jstack(project, count):
    names = [project.word().title().replace("_", "") for _ in range(2)]
    project.write("Shop.java", "public class Shop {\n  static final Object a = new Object(), b = new Object();\n"
                  "  static void hold(Object one, Object two) { synchronized (one) { try { Thread.sleep(300); } catch (Exception e) {} synchronized (two) { } } }\n"
                  f"  public static void main(String[] s) throws Exception {{\n    new Thread(() -> hold(a, b), \"{names[0]}\").start();\n    new Thread(() -> hold(b, a), \"{names[1]}\").start();\n"
                  f"    for (int i = 0; i < {count}; i++) {{ Thread t = new Thread(() -> {{ try {{ Thread.sleep(60000); }} catch (Exception e) {{}} }}, \"pool-\" + i); t.setDaemon(true); t.start(); }}\n"
                  "    Thread.sleep(1500);\n    new ProcessBuilder(\"jstack\", String.valueOf(ProcessHandle.current().pid())).inheritIO().start().waitFor();\n    Runtime.getRuntime().halt(0);\n  }\n}\n")
    ran = project.run("javac Shop.java && java Shop")
    return report(project, "java Shop", ran, [under_fact([f'"{names[0]}"'], "BLOCKED"), under_fact([f'"{names[1]}"'], "BLOCKED"),
                                              row_fact("Found one Java-level deadlock")])


@unknown("diff-tree", ["diff"], {"some": {"count": 15}})
def diff_tree(project, count):
    facts = []
    for _ in range(count):
        name, old, new = project.word(), project.word(), project.word()
        for folder, key in (("old", old), ("new", new)):
            project.write(f"{folder}/etc/{name}.conf", f"a = 1\nb = 2\n{key} = 3\nc = 4\nd = 5\n")
        facts += [{"all": [f"new/etc/{name}.conf"], "row": [f"+{new} = 3"]}, row_fact(f"-{old} = 3")]
    gone = project.word()
    project.write(f"new/etc/{gone}.key", "x\n")
    return report(project, "diff -ru old new", project.run("diff -ru old new"), [*facts, row_fact("Only in new/etc", f"{gone}.key")])


@unknown("checksums", ["sha256sum"], {"some": {"count": 120, "bad": 3}})
def checksums(project, count, bad):
    planted, facts = set(project.random.sample(range(count), bad)), []
    names = [f"dist/{project.word()}.bin" for _ in range(count)]
    for name in names:
        project.write(name, name)
    project.run(f"sha256sum {' '.join(names)} > SUMS")
    for at in planted:
        project.write(names[at], "changed")
        facts.append(row_fact(names[at], "FAILED"))
    return report(project, "sha256sum -c SUMS", project.run("sha256sum -c SUMS"), [*facts, row_fact(f"{bad} computed checksums did NOT match")])
