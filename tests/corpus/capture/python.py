"""pytest, unittest and plain tracebacks: oracle is JUnit XML, or what was planted."""
import xml.etree.ElementTree as ElementTree

from scenario import Case, failing, plant, row_fact, scenario, text_fact

PYTEST = ["pytest-8.3.5/bin/pytest", "pytest-7.2.0/bin/pytest"]


def write_test(project, is_bad, style):
    """One test function; returns its name, its text and what a report of its failure must say."""
    name = f"test_{project.word()}"
    if not is_bad:
        return name, f"def {name}():\n    assert {project.number()} > 1\n\n\n", None
    got, wanted, word = project.number(), project.number(), project.word()
    body, says = {
        "compare": (f"    value = {got}\n    assert value == {wanted}\n", [str(got), str(wanted)]),
        "raise": (f"    raise ValueError('{word} {got}')\n", ["ValueError", f"{word} {got}"]),
        "lookup": (f"    {{}}['{word}']\n", ["KeyError", word]),
        "nested": (f"    def {word}(depth):\n        return {word}(depth - 1) if depth else 1 // 0\n"
                   f"    {word}(4)\n", ["ZeroDivisionError"]),
        "dicts": (f"    assert {{'a': {got}}} == {{'a': {wanted}}}\n", [str(got), str(wanted)]),
        "printing": (f"    print('{word} was here')\n    assert 0, '{got}'\n", [str(got)]),
    }[project.random.choice(style or ["compare", "raise", "lookup", "nested", "dicts", "printing"])]
    return name, f"def {name}():\n{body}\n\n", says


def write_tests(project, files, tests, share, style=None):
    """Test files; returns for each failing node id its line-less facts."""
    bad, planted, index = plant(project, files * tests, share), {}, 0
    for _ in range(files):
        path, text = f"tests/test_{project.word()}.py", "import os\n\n\n"
        for _ in range(tests):
            name, body, says = write_test(project, index in bad, style)
            if says:
                planted[f"{path}::{name}"] = says
            text += body
            index += 1
        project.write(path, text)
    return planted


def junit_failures(project, path):
    """Node ids and places of what failed, and the totals, as pytest's own report has them."""
    root = ElementTree.parse(project.directory / path).getroot()
    suite = root.find("testsuite")
    failed = []
    for case in suite.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            file = case.get("classname").replace(".", "/") + ".py"
            failed.append(f"{file}::{case.get('name')}")
    counts = {key: int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")}
    return failed, counts


@scenario("pytest", PYTEST, quick=False, variants={
    "one-passes": {"files": 1, "tests": 1, "share": "none"},
    "one-fails": {"files": 1, "tests": 1, "share": "one"},
    "hundred-pass": {"files": 5, "tests": 20, "share": "none"},
    "hundred-ten-fail": {"files": 5, "tests": 20, "share": 0.1},
    "thousand-one-fails": {"files": 20, "tests": 50, "share": "one"},
    "all-fail": {"files": 3, "tests": 10, "share": "all"},
    "verbose": {"files": 6, "tests": 20, "share": 0.03, "flags": " -v"},
    "verbose-thousand": {"files": 20, "tests": 50, "share": 0.01, "flags": " -v"},
    "quiet": {"files": 5, "tests": 20, "share": 0.05, "flags": " -q"},
    "short": {"files": 5, "tests": 20, "share": 0.1, "flags": " --tb=short"},
    "lines": {"files": 5, "tests": 20, "share": 0.1, "flags": " --tb=line"},
    "old-verbose": {"files": 6, "tests": 20, "share": 0.05, "flags": " -v", "version": "7.2.0"},
    "old-failures": {"files": 4, "tests": 10, "share": 0.2, "version": "7.2.0"},
    "oldest-failures": {"files": 4, "tests": 10, "share": 0.2, "version": "6.2.5"},
    "oldest-short": {"files": 4, "tests": 10, "share": 0.2, "version": "6.2.5", "flags": " --tb=short"},
    "colour": {"files": 3, "tests": 10, "share": 0.1, "flags": " --color=yes"},
    "stop-at-first": {"files": 3, "tests": 10, "share": 0.3, "flags": " -x"},
})
def pytest(project, files, tests, share, flags="", version="8.3.5"):
    planted = write_tests(project, files, tests, share)
    tool = f"/srv/tools/pytest-{version}/bin/pytest"
    ran = project.run(f"{tool} -p no:cacheprovider{flags}")
    project.run(f"{tool} -p no:cacheprovider{flags} --junitxml=report.xml")
    failed, counts = junit_failures(project, "report.xml")
    assert "-x" in flags or set(failed) == set(planted)
    facts = []
    for node in failed:
        path, name = node.split("::")
        facts.append(text_fact(name, path, *planted[node]))
    count = len(failed)
    if count:
        facts.append(row_fact(str(count), "failed"))
    if counts["tests"] > count:
        facts.append(row_fact(str(counts["tests"] - count), "passed"))
    return Case("", f"pytest{flags}", ran, facts, failing() if failed else [])


@scenario("pytest", PYTEST, variants={
    "import-error": {"kind": "import"}, "syntax-error": {"kind": "syntax"},
    "fixture-error": {"kind": "fixture"}, "no-tests": {"kind": "none"},
    "skips-and-xfails": {"kind": "marks"}, "parametrised": {"kind": "parameters"},
    "warnings": {"kind": "warnings"}, "captured-output": {"kind": "output"},
    "recursion": {"kind": "recursion"}, "usage-error": {"kind": "usage"},
})
def pytest_special(project, kind):
    name, other, number = project.word(), project.word(), project.number()
    text = {
        "import": f"import {name}\n\n\ndef test_a():\n    pass\n",
        "syntax": f"def test_{name}(:\n    pass\n",
        "fixture": f"import pytest\n\n\n@pytest.fixture\ndef {name}():\n    raise OSError('{other}')\n\n\n"
                   f"def test_{other}({name}):\n    pass\n",
        "none": "x = 1\n",
        "marks": f"import pytest\n\n\n@pytest.mark.skip(reason='{name}')\ndef test_a():\n    pass\n\n\n"
                 f"@pytest.mark.xfail\ndef test_b():\n    assert 0\n\n\ndef test_c():\n    assert {number} == 1\n",
        "parameters": "import pytest\n\n\n@pytest.mark.parametrize('n', range(50))\n"
                      f"def test_{name}(n):\n    assert n % 17 != 3\n",
        "warnings": "import warnings\n\n\n" + "".join(
            f"def test_{index}():\n    warnings.warn('{name} {index}', DeprecationWarning)\n\n\n"
            for index in range(12)),
        "output": f"import sys\n\n\ndef test_{name}():\n    for n in range(200):\n        print('step', n)\n"
                  f"    print('ERROR {other}', file=sys.stderr)\n    assert {number} == 2\n",
        "recursion": f"def {name}(n):\n    return {name}(n + 1)\n\n\ndef test_{other}():\n    {name}(0)\n",
        "usage": "def test_a():\n    pass\n",
    }[kind]
    path = f"tests/test_{project.word()}.py"
    project.write(path, text)
    command = "pytest" + (f" --{name}" if kind == "usage" else "")
    ran = project.run(f"/srv/tools/pytest-8.3.5/bin/{command} -p no:cacheprovider")
    facts = {
        "import": [text_fact(path, "ModuleNotFoundError", name), row_fact("1", "error")],
        "syntax": [text_fact(path, "SyntaxError"), row_fact("1", "error")],
        "fixture": [text_fact(f"test_{other}", "OSError", other), row_fact("1", "error")],
        "none": [text_fact("no tests ran")],
        "marks": [text_fact("test_c", str(number)), row_fact("1", "skipped"), row_fact("1", "xfailed")],
        "parameters": [text_fact(f"test_{name}[3]"), text_fact(f"test_{name}[20]"),
                       text_fact(f"test_{name}[37]"), row_fact("3", "failed"), row_fact("47", "passed")],
        "warnings": [row_fact("12", "passed"), row_fact("12", "warnings")] +
                    [text_fact(f"{name} {index}") for index in range(12)],
        "output": [text_fact(f"test_{name}", str(number), f"ERROR {other}"), row_fact("1", "failed")],
        "recursion": [text_fact(f"test_{other}", "RecursionError"), row_fact("1", "failed")],
        "usage": [text_fact("unrecognized arguments", f"--{name}")],
    }[kind]
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


@scenario("unittest", ["python3"], quick=True, variants={
    "all-pass": {"count": 30, "share": "none"}, "one-fails": {"count": 30, "share": "one"},
    "ten-percent": {"count": 100, "share": 0.1}, "all-fail": {"count": 12, "share": "all"},
    "verbose": {"count": 60, "share": 0.05, "flags": " -v"},
    "verbose-thousand": {"count": 1000, "share": 0.01, "flags": " -v"},
    "old-version": {"count": 20, "share": 0.2, "tools": "python-3.8"},
    "new-version": {"count": 20, "share": 0.2, "tools": "python-3.13"},
    "new-version-verbose": {"count": 40, "share": 0.1, "flags": " -v", "tools": "python-3.13"},
})
def unittest(project, count, share, flags=""):
    bad, facts = plant(project, count, share), []
    module, suite = f"test_{project.word()}", project.word().capitalize()
    text = f"import unittest\n\n\nclass {suite}(unittest.TestCase):\n"
    for index in range(count):
        name, got, wanted = f"test_{project.word()}", project.number(), project.number()
        text += f"    def {name}(self):\n"
        if index not in bad:
            text += f"        self.assertTrue({got})\n\n"
        elif project.random.random() < 0.7:
            text += f"        self.assertEqual({got}, {wanted})\n\n"
            facts.append(text_fact(name, f"{got} != {wanted}"))
        else:
            text += f"        raise RuntimeError('{got}')\n\n"
            facts.append(text_fact(name, "RuntimeError", str(got)))
    project.write(f"tests/{module}.py", text)
    project.write("tests/__init__.py", "")
    command = f"python3 -m unittest{flags}"
    ran = project.run(command)
    facts.append(text_fact(str(count)))
    if bad:
        facts.append(row_fact(["failed", "FAILED", "failures", "errors"]))
    return Case("", command, ran, facts, failing() if bad else [])


@scenario("traceback", ["python3"], quick=True, variants={
    "plain": {"kind": "plain"}, "chained": {"kind": "chained"}, "deep": {"kind": "deep"},
    "syntax": {"kind": "syntax"}, "after-output": {"kind": "output"}, "node": {"kind": "node"},
    "many-logged": {"kind": "logged"},
    **{f"old-version-{kind}": {"kind": kind, "tools": "python-3.8"} for kind in ("chained", "deep", "output")},
    **{f"new-version-{kind}": {"kind": kind, "tools": "python-3.13"} for kind in ("chained", "deep", "output")},
    **{f"{age}-version-node": {"kind": "node", "tools": tools} for age, tools in (("old", "debian-11"), ("new", "node-24"))},
})
def traceback(project, kind):
    name, other, number = project.word(), project.word(), project.number()
    path = f"{project.word()}.py"
    if kind == "node":
        path = path.replace(".py", ".js")
    text = {
        "plain": f"def {name}():\n    raise ValueError('{other} {number}')\n\n\n{name}()\n",
        "chained": f"try:\n    {{}}['{name}']\nexcept KeyError as error:\n"
                   f"    raise RuntimeError('{other} {number}') from error\n",
        "deep": "".join(f"def f{n}():\n    f{n + 1}()\n\n\n" for n in range(40)) +
                f"def f40():\n    raise OSError('{other} {number}')\n\n\nf0()\n",
        "syntax": f"x = 1\ndef {name}(:\n    pass\n",
        "output": f"for n in range(300):\n    print('step', n, 'done')\nraise KeyError('{other} {number}')\n",
        "node": f"function {name}() {{\n  throw new TypeError('{other} {number}');\n}}\n{name}();\n",
        "logged": "import traceback\nfor n in range(20):\n    print('attempt', n)\n    try:\n"
                  f"        raise OSError(f'{other} {{n}}')\n    except OSError:\n"
                  "        traceback.print_exc()\n",
    }[kind]
    project.write(path, text)
    command = f"{'node' if kind == 'node' else 'python3'} {path}"
    ran = project.run(command)
    facts = {
        "plain": [text_fact("ValueError", f"{other} {number}", path, "2")],
        "chained": [text_fact("KeyError", name), text_fact("RuntimeError", f"{other} {number}", "4")],
        "deep": [text_fact("OSError", f"{other} {number}", path, "162")],
        "syntax": [text_fact(path, "SyntaxError", "2")],
        "output": [text_fact("KeyError", f"{other} {number}", path, "3")],
        "node": [text_fact("TypeError", f"{other} {number}", f"{path}:2")],
        "logged": [text_fact("OSError", f"{other} {n}") for n in range(20)],
    }[kind]
    return Case("", command, ran, facts)
