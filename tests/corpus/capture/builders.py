"""Builders and what runs steps for others: bundlers, documentation, TeX, meson, tox, nox, pre-commit. All was planted."""
import json

from scenario import Case, at_fact, failing, plant, row_fact, text_fact, under_fact, unknown

SCRIPTS = "js/node_modules/.bin"
BUILD = "pybuild/bin"


def modules(project, count, share):
    """Modules that import one another; a bad one imports a file that is not there. Returns (path, line, missing name)."""
    bad, names, flawed = plant(project, count, share), [project.word() for _ in range(count)], []
    for index, name in enumerate(names):
        text = f"export const {name} = {project.number()};\nexport function add_{name}(value) {{\n  return value + {name};\n}}\n"
        if index in bad:
            missing = project.word()
            text = f"import {{ {missing} }} from './{missing}.js';\nconsole.log({missing});\n" + text
            flawed.append((f"src/{name}.js", 1, missing))
        project.write(f"src/{name}.js", text)
    project.write("src/index.js", "".join(f"import {{ add_{name} }} from './{name}.js';\nconsole.log(add_{name}(1));\n" for name in names))
    (project.directory / "node_modules").symlink_to("/srv/tools/js/node_modules")
    project.write("package.json", '{"name": "sample", "type": "module"}\n')
    return names, flawed


BUNDLES = {"clean": {"count": 12, "share": "none"}, "clean-many": {"count": 80, "share": "none"},
           "one-missing": {"count": 12, "share": "one"}, "many-missing": {"count": 40, "share": 0.2}}


@unknown("webpack", [f"{SCRIPTS}/webpack"], BUNDLES)
def webpack(project, count, share):
    project.tools = SCRIPTS
    _, flawed = modules(project, count, share)
    command = "webpack --mode production --entry ./src/index.js"
    ran = project.run(command)
    facts = [under_fact([f"ERROR in ./{path}", path], missing) for path, _, missing in flawed]
    report = json.loads(project.run(f"{command} --json").stdout)
    assert report["errorsCount"] == len(flawed)
    if flawed:
        facts.append(row_fact(["compiled with", "errors"], str(len(flawed))))
    else:
        facts += [row_fact(one["name"], "asset") for one in report["assets"]] + [row_fact("compiled", "successfully")]
    return Case("", command, ran, facts, failing() if flawed else [])


@unknown("esbuild", [f"{SCRIPTS}/esbuild"], BUNDLES)
def esbuild(project, count, share):
    project.tools = SCRIPTS
    _, flawed = modules(project, count, share)
    command = "esbuild src/index.js --bundle --outfile=out.js --log-limit=0"
    ran = project.run(command)
    facts = [text_fact(f"./{missing}.js", [f"{path}:1:{len(missing) + 17}"]) for path, _, missing in flawed]
    return Case("", command, ran, facts + [row_fact(f"{len(flawed)} error{'s' if len(flawed) > 1 else ''}") if flawed else row_fact("out.js")],
                failing() if flawed else [])


@unknown("rollup", [f"{SCRIPTS}/rollup"], {name: size for name, size in BUNDLES.items() if name != "many-missing"})
def rollup(project, count, share):
    project.tools = SCRIPTS
    _, flawed = modules(project, count, share)
    ran = project.run("rollup src/index.js --file out.js")
    facts = [row_fact(f"./{missing}.js", path) for path, _, missing in flawed]
    return Case("", "rollup src/index.js --file out.js", ran, facts or [row_fact("src/index.js", "out.js")], failing() if flawed else [])


@unknown("vite", [f"{SCRIPTS}/vite"], {name: size for name, size in BUNDLES.items() if name != "many-missing"})
def vite(project, count, share):
    project.tools = SCRIPTS
    _, flawed = modules(project, count, share)
    project.write("index.html", '<script type="module" src="/src/index.js"></script>\n')
    ran = project.run("vite build")
    facts = [row_fact(f"./{missing}.js", path) for path, _, missing in flawed]
    return Case("", "vite build", ran, facts or [row_fact("dist/index.html")],
                failing() if flawed else [])


@unknown("sphinx", [f"{BUILD}/sphinx-build"], {"clean": {"count": 15, "share": "none"}, "few": {"count": 12, "share": 0.3}, "many": {"count": 120, "share": 0.4}})
def sphinx(project, count, share):
    project.tools = BUILD
    bad, facts, names = plant(project, count, share), [], [project.word() for _ in range(count)]
    for index, name in enumerate(names):
        text = f"{name}\n{'=' * len(name)}\n\nSome text of {name}.\n\n"
        if index in bad:
            missing = project.word()
            flaw, message = project.random.choice([(f".. {missing}:: x\n", f'Unknown directive type "{missing}".'),
                                                   (f":ref:`{missing}`\n", f"undefined label: '{missing}'"),
                                                   (f"See :doc:`{missing}`.\n", f"unknown document: '{missing}'")])
            facts.append({**at_fact(f"{project.directory}/docs/{name}.rst", 6, 0, message), "or_file": f"docs/{name}.rst"})
            text += flaw
        project.write(f"docs/{name}.rst", text)
    project.write("docs/conf.py", "project = 'sample'\nextensions = []\n")
    project.write("docs/index.rst", "Index\n=====\n\n.. toctree::\n\n" + "".join(f"   {name}\n" for name in names))
    ran = project.run("sphinx-build docs out")
    facts.append(row_fact("build succeeded", *([f"{len(bad)} warnings"] if len(bad) > 1 else [])))
    return Case("", "sphinx-build docs out", ran, facts)


@unknown("latex", ["pdflatex"], {"clean": {"kind": "clean"}, "warnings": {"kind": "warnings"}, "error": {"kind": "error"}})
def latex(project, kind):
    name, facts, body = project.word().replace("_", ""), [], ""
    for section in range(12):
        body += f"\\section{{{project.word(1)}}}\n" + "Some words of text. " * 40 + "\n\n"
        if kind == "warnings":
            label = project.word()
            body += f"See \\ref{{{label}}}.\n\n"
            facts.append(row_fact(f"Reference '{label}'", "undefined", f"input line {body.count(chr(10)) + 1}"))
    if kind == "error":
        body += f"\\{name}{{x}}\n\nMore.\n"
        line = body[:body.index(f"\\{name}")].count("\n") + 3
        facts = [row_fact("Undefined control sequence"), row_fact(f"l.{line}", f"\\{name}")]
    project.write("paper.tex", "\\documentclass{article}\n\\begin{document}\n" + body + "\\end{document}\n")
    command = "pdflatex -interaction=nonstopmode paper.tex"
    ran = project.run(command, {"max_print_line": "200"})
    return Case("", command, ran, facts + [row_fact("Output written on", "paper.pdf")], failing() if ran.exit_code else [])


@unknown("meson", [f"{BUILD}/meson", f"{BUILD}/ninja", "gcc"], {"clean": {"kind": "clean"}, "missing": {"kind": "missing"}, "tests": {"kind": "tests"}})
def meson(project, kind):
    project.tools = BUILD
    names, facts = [project.word() for _ in range(20)], []
    text = "project('sample', 'c', version: '1.4')\n"
    for index, name in enumerate(names):
        status = int(kind == "tests" and index % 7 == 3)
        project.write(f"{name}.c", f"#include <stdio.h>\nint main(void) {{\n  puts(\"value of {name}\");\n  return {status};\n}}\n")
        text += f"test('{name}', executable('{name}', '{name}.c'))\n"
        if status:
            facts.append(row_fact(name, "FAIL"))
    wanted = project.word()
    if kind == "missing":
        text += f"dependency('{wanted}')\n"
        facts = [row_fact("meson.build:22", "ERROR", wanted)]
    project.write("meson.build", text)
    command = "meson setup out"
    if kind == "tests":
        command = "meson setup out >/dev/null && meson test -C out"
        facts += [row_fact("Ok:", "17"), row_fact("Fail:", "3")]
    elif kind == "clean":
        facts = [row_fact("Build targets in project", "20"), row_fact("Project version", "1.4")]
    ran = project.run(command)
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


def python_suite(project, count, share):
    """Tests for pytest; returns what a report must say of those that fail."""
    bad, facts, text = plant(project, count, share), [], ""
    for index in range(count):
        name, got, wanted = project.word(), project.number(), project.number()
        text += f"def test_{name}():\n    assert {got} == {wanted if index in bad else got}\n\n\n"
        if index in bad:
            facts.append(text_fact(f"test_{name}", f"assert {got} == {wanted}"))
    path = f"tests/test_{project.word()}.py"
    project.write(path, text)
    return path, facts


@unknown("tox", [f"{BUILD}/tox"], {"pass": {"count": 20, "share": "none"}, "fail": {"count": 40, "share": 0.1}})
def tox(project, count, share):
    """One environment that lints and one that tests: each with its own commands and its own end."""
    project.tools = BUILD
    _, facts = python_suite(project, count, share)
    word = project.word()
    project.write("check.py", "import sys\n" + "".join(f"print('checked {project.word()}')\n" for _ in range(30)) +
                  (f"print('check.py:9:1: E900 {word} is no name of ours')\nsys.exit(1)\n" if share != "none" else ""))
    project.write("tox.ini", "[tox]\nskipsdist = true\nenvlist = lint, unit\n\n[testenv]\nskip_install = true\nallowlist_externals = /srv/tools/pybuild/bin/python\n\n"
                  "[testenv:lint]\ncommands = /srv/tools/pybuild/bin/python check.py\n\n[testenv:unit]\ncommands = /srv/tools/pybuild/bin/python -m pytest -p no:cacheprovider\n")
    ran = project.run("tox")
    if share != "none":
        facts += [row_fact("check.py:9:1", f"E900 {word}"), row_fact("lint: FAIL"), row_fact("unit: FAIL")]
    else:
        facts += [row_fact("lint: OK"), row_fact("unit: OK"), row_fact(f"{count} passed")]
    return Case("", "tox", ran, facts, failing() if ran.exit_code else [])


@unknown("nox", [f"{BUILD}/nox"], {"pass": {"count": 20, "share": "none"}, "fail": {"count": 40, "share": 0.1}})
def nox(project, count, share):
    project.tools = BUILD
    _, facts = python_suite(project, count, share)
    project.write("noxfile.py", "import nox\nnox.options.default_venv_backend = 'none'\n\n\n@nox.session\ndef unit(session):\n"
                  "    session.run('python', '-m', 'pytest', '-p', 'no:cacheprovider')\n\n\n@nox.session\ndef build(session):\n"
                  "    session.run('python', '-c', 'print(\"built\")')\n")
    ran = project.run("nox")
    facts += [row_fact("build", "success"), row_fact("unit", "success" if share == "none" else "failed")]
    return Case("", "nox", ran, facts, failing() if ran.exit_code else [])


@unknown("pre-commit", [f"{BUILD}/pre-commit", "git"], {"pass": {"bad": 0}, "fail": {"bad": 3}})
def pre_commit(project, bad):
    project.tools = BUILD
    text, facts = "repos:\n- repo: local\n  hooks:\n", []
    for index in range(14):
        name, word, number = project.word(), project.word(), project.number(2, 900)
        fails = index % 5 == 2 and bad
        project.write(f"hooks/{name}.sh", "#!/bin/sh\n" + (f"echo 'src/{word}.py:{number}:1: {word} is wrong'\nexit 1\n" if fails else f"echo checked {word}\n"))
        (project.directory / f"hooks/{name}.sh").chmod(0o755)
        text += f"  - id: {name}\n    name: check {name}\n    entry: hooks/{name}.sh\n    language: system\n    pass_filenames: false\n    always_run: true\n"
        if fails:
            facts += [row_fact(f"check {name}", "Failed"), under_fact([f"check {name}"], f"src/{word}.py:{number}:1", f"{word} is wrong")]
    project.write(".pre-commit-config.yaml", text)
    project.run("git init -q . && git add -A")
    ran = project.run("pre-commit run --all-files")
    return Case("", "pre-commit run --all-files", ran, facts, failing() if facts else [])


@unknown("scons", [f"{BUILD}/scons", "gcc"], {"clean": {"count": 15, "bad": 0}, "fail": {"count": 30, "bad": 1}})
def scons(project, count, bad):
    project.tools = BUILD
    names, facts = [project.word() for _ in range(count)], []
    for index, name in enumerate(names):
        text = f"int {name}(void) {{\n  return {project.number()};\n}}\n"
        if bad and index == count // 2:
            missing = project.word()
            text = f"int {name}(void) {{\n  return {missing};\n}}\n"
            facts.append(at_fact(f"{name}.c", 2, 10, f"'{missing}' undeclared"))
        project.write(f"{name}.c", text)
    project.write("SConstruct", "Library('sample', Glob('*.c'))\n")
    ran = project.run("scons -k")
    return Case("", "scons -k", ran, facts + [row_fact("scons: done building targets")], failing() if bad else [])
