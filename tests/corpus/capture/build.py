"""make, ninja, cmake, ctest and GoogleTest on generated C++ projects."""
import json
import xml.etree.ElementTree as ElementTree

from cc import ERRORS, WARNINGS, gcc_facts, write_source
from scenario import Case, failing, plant, row_fact, scenario, text_fact, with_versions

OLD_CMAKE = "cmake-3.22/bin"  # with ninja 1.10
RUNS = {
    "clean": {"files": 10, "share": "none", "kinds": WARNINGS},
    "one-warning": {"files": 10, "share": "one", "kinds": WARNINGS},
    "many-warnings": {"files": 25, "share": "all", "kinds": WARNINGS},
    "one-error": {"files": 10, "share": "one", "kinds": ERRORS},
    "keep-going": {"files": 20, "share": 0.3, "kinds": ERRORS, "flags": "-k {all}"},
    "clean-hundred": {"files": 100, "share": "none", "kinds": WARNINGS},
}


def write_tree(project, files, share, kinds):
    """Sources, each with one function or, when planted, two flawed ones; returns them."""
    sources, bad = [], plant(project, files, share)
    for index in range(files):
        sources.append(f"src/{project.word()}.cpp")
        write_source(project, sources[-1], 2, {0, 1} if index in bad else set(), kinds)
    return sources, bad


def diagnostics(project, sources):
    return gcc_facts(project.run("for f in " + " ".join(sources) +
                                 "; do g++ -Wall -Wextra -fdiagnostics-format=json -c $f -o /dev/null"
                                 "; done"))


# With their own gcc, 10 and 14: the newest has no report in JSON.
MAKES = {"old": "debian-11", "new": "debian-13"}


@scenario("make", ["make", "g++"], quick=True, variants=with_versions({
    **RUNS, "silent": {"files": 12, "share": 0.5, "kinds": WARNINGS, "flags": "-s"},
    "thousand-echoes": {"files": 1, "share": "none", "kinds": WARNINGS, "echoes": 1000},
}, ["one-warning", "one-error", "keep-going", "silent"], **MAKES))
def make(project, files, share, kinds, flags="", echoes=0):
    sources, _ = write_tree(project, files, share, kinds)
    objects = " ".join(source.replace(".cpp", ".o") for source in sources)
    project.write("Makefile", f"CXXFLAGS = -Wall -Wextra -O0 -Iinclude\nall: {objects}\n"
                  + "".join(f"\t@echo copying asset {n} of {echoes}\n" for n in range(echoes))
                  + "%.o: %.cpp\n\t$(CXX) $(CXXFLAGS) -c $< -o $@\n")
    command = f"make {flags.format(all='all')}".strip()
    ran = project.run(command)
    facts = diagnostics(project, sources)
    if ran.exit_code and "-k" not in flags:  # it stopped at the first bad file
        facts = [fact for fact in facts if fact["file"].encode() in ran.stderr]
    if ran.exit_code:
        facts.append(text_fact("Error 1"))
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


@scenario("make", ["make"], quick=True, variants=with_versions({
    "no-rule": {"kind": "rule"}, "missing-separator": {"kind": "separator"},
    "command-fails": {"kind": "status"}, "recursive": {"kind": "recursive"},
    "up-to-date": {"kind": "done"},
}, ["no-rule", "missing-separator", "command-fails", "recursive", "up-to-date"], **MAKES))
def make_trouble(project, kind):
    name, status = project.word(), project.random.randint(3, 90)
    text = {"rule": f"all: {name}.o\n", "separator": f"all:\n  echo {name}\n",
            "status": f"all:\n\t@echo {name} begins\n\t@exit {status}\n",
            "recursive": f"all:\n\t$(MAKE) -C {name}\n", "done": f"all: {name}\n"}[kind]
    project.write("Makefile", text)
    project.write(f"{name}/Makefile", f"all:\n\t@echo at work\n\t@exit {status}\n")
    facts = {"rule": [text_fact("No rule to make target", f"{name}.o")],
             "separator": [text_fact("Makefile:2", "missing separator")],
             "status": [text_fact(f"Error {status}", "Makefile:3"), text_fact(f"{name} begins")],
             "recursive": [text_fact(f"Error {status}"), text_fact("Error 2")], "done": []}[kind]
    ran = project.run("make")
    return Case("", "make", ran, facts, failing() if ran.exit_code else [])


@scenario("ninja", ["ninja", "g++"], quick=True, variants={
    **RUNS, "old-version-fails": {"files": 8, "share": 0.3, "kinds": ERRORS, "flags": "-k {all}", "tools": OLD_CMAKE},
    "old-version-warnings": {"files": 12, "share": 0.5, "kinds": WARNINGS, "tools": OLD_CMAKE},
    "verbose": {"files": 25, "share": "all", "kinds": WARNINGS, "flags": "-v"},
})
def ninja(project, files, share, kinds, flags=""):
    sources, _ = write_tree(project, files, share, kinds)
    project.write("build.ninja", "rule cxx\n  command = g++ -Wall -Wextra -c $in -o $out\n"
                  "  description = Building CXX object $out\n" + "".join(
                      f"build {source.replace('.cpp', '.o')}: cxx {source}\n" for source in sources))
    command = f"ninja -j1 {flags.format(all='0')}".strip()
    ran = project.run(command)
    facts = diagnostics(project, sources)
    if ran.exit_code and "-k" not in flags:
        facts = [fact for fact in facts if fact["file"].encode() + b":" in ran.stdout]
    if ran.exit_code:
        facts.append(text_fact("FAILED", sorted(fact["file"] for fact in facts)[0][:-4]))
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


@scenario("cmake", ["cmake", "g++"], quick=True, variants={
    "configure": {"kind": "good"}, "missing-package": {"kind": "package"},
    "syntax": {"kind": "syntax"}, "missing-source": {"kind": "source"},
    "warnings": {"kind": "warnings"}, "build-error": {"kind": "build"},
    **{f"old-version-{kind}": {"kind": kind, "tools": OLD_CMAKE} for kind in ("package", "source", "warnings")},
})
def cmake(project, kind):
    name, number = project.word(), project.number()
    extra = {"good": "", "package": f"find_package({name} REQUIRED)\n", "syntax": f"set({name} (\n",
             "source": f"add_executable({name} {name}.cpp)\n",
             "warnings": f'message(WARNING "{name} is old")\nmessage(DEPRECATION "use {number}")\n'
                         f'message(AUTHOR_WARNING "look at {name}")\n',
             "build": f"add_executable({name} {name}.cpp)\n"}[kind]
    project.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(sample CXX)\n" + extra)
    command, facts = "cmake -S . -B build", []
    if kind == "package":
        facts = [text_fact("CMakeLists.txt:3", name, "find_package")]
    elif kind == "syntax":
        facts = [text_fact("CMakeLists.txt", ["Parse error", "Function missing ending"])]
    elif kind == "source":
        facts = [text_fact("CMakeLists.txt:3", "Cannot find source file", f"{name}.cpp")]
    elif kind == "warnings":
        facts = [text_fact("CMakeLists.txt:3", f"{name} is old"), text_fact(f"use {number}"),
                 text_fact("CMakeLists.txt:5", f"look at {name}")]
    elif kind == "build":
        write_source(project, f"{name}.cpp", 4, {1, 2}, ERRORS)
        facts = gcc_facts(project.run(f"g++ -c {name}.cpp -fdiagnostics-format=json"))
        for fact in facts:
            fact["file"] = str(project.directory / fact["file"])
        project.run(command)
        command = "cmake --build build"
    ran = project.run(command)
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


def write_gtest(project, suites, tests, share):
    bad, planted, text, index = plant(project, suites * tests, share), [], "#include <gtest/gtest.h>\n", 0
    for _ in range(suites):
        suite = project.word().capitalize()
        for _ in range(tests):
            name = project.word().capitalize()
            text += f"TEST({suite}, {name}) {{\n"
            if index in bad:
                got, wanted = project.number(), project.number()
                text += f"  EXPECT_EQ({got}, {wanted});\n"
                planted.append((f"{suite}.{name}", text.count("\n"), got, wanted))
            else:
                text += "  EXPECT_TRUE(true);\n"
            text += "}\n"
            index += 1
    project.write("tests.cpp", text)
    return planted


SIZES = {
    "one-passes": {"suites": 1, "tests": 1, "share": "none"},
    "ten-one-fails": {"suites": 2, "tests": 5, "share": "one"},
    "hundred-ten-fail": {"suites": 10, "tests": 10, "share": 0.1},
    "hundred-pass": {"suites": 10, "tests": 10, "share": "none"},
    "thirty-all-fail": {"suites": 3, "tests": 10, "share": "all"},
}


@scenario("gtest", ["g++"], variants=with_versions({
    **SIZES, "thousand-three-fail": {"suites": 20, "tests": 50, "share": 0.003},
    "colour": {"suites": 4, "tests": 5, "share": 0.1, "flags": " --gtest_color=yes"},
    "brief": {"suites": 4, "tests": 5, "share": 0.2, "flags": " --gtest_brief=1"},
}, ["ten-one-fails", "hundred-ten-fail", "brief"]))
def gtest(project, suites, tests, share, flags=""):
    planted = write_gtest(project, suites, tests, share)
    built = project.run("g++ -O0 -w tests.cpp -o run_tests -lgtest -lgtest_main -lpthread")
    assert built.exit_code == 0, built.stderr
    command = "./run_tests" + flags
    root = "in-root " if project.tools else ""  # whose libraries it needs
    ran = project.run(root + command)
    project.run(root + "./run_tests --gtest_output=json:report.json")
    report = json.loads((project.directory / "report.json").read_text())
    failed = {f"{suite['name']}.{test['name']}" for suite in report["testsuites"]
              for test in suite["testsuite"] if test.get("failures")}
    assert failed == {name for name, *_ in planted}
    facts = [{"all": [name, f"tests.cpp:{line}", str(got), str(wanted)]}
             for name, line, got, wanted in planted]
    if report["tests"] > len(failed):
        facts.append(row_fact(str(report["tests"] - len(failed)), ["passed", "PASSED", "ok"]))
    if failed and "brief" not in flags:  # brief does not count them
        facts.append(row_fact(str(len(failed)), ["failed", "FAILED", "failures", "failure"]))
    return Case("", command, ran, facts, failing() if failed else [])


@scenario("ctest", ["ctest", "cmake"], quick=True, variants={
    "all-pass": {"count": 10, "share": "none"}, "one-fails": {"count": 10, "share": "one"},
    "hundred-ten-fail": {"count": 100, "share": 0.1}, "all-fail": {"count": 20, "share": "all"},
    "output-on-failure": {"count": 60, "share": 0.05, "flags": " --output-on-failure"},
    "verbose": {"count": 20, "share": 0.1, "flags": " -V"},
    "thousand-ten-fail": {"count": 1000, "share": 0.01, "flags": " -j2 --output-on-failure"},
    "parallel": {"count": 40, "share": 0.1, "flags": " -j2 --output-on-failure"},
    "none-found": {"count": 0, "share": "none"}, "timeout": {"count": 4, "share": "none", "hang": True},
    "old-version-fails": {"count": 40, "share": 0.1, "flags": " --output-on-failure", "tools": OLD_CMAKE},
    "old-version-passes": {"count": 30, "share": "none", "tools": OLD_CMAKE},
})
def ctest(project, count, share, flags="", hang=False):
    bad, planted = plant(project, count, share), []
    text = "cmake_minimum_required(VERSION 3.20)\nproject(sample NONE)\nenable_testing()\n"
    for index in range(count):
        name, code, word = project.word(), project.random.randint(1, 9), project.word()
        if index in bad:
            planted.append((name, word))
            text += f'add_test(NAME {name} COMMAND sh -c "echo {word} is wrong >&2; exit {code}")\n'
        else:
            text += f'add_test(NAME {name} COMMAND sh -c "echo {word} is right")\n'
    if hang:
        text += "add_test(NAME sleeper COMMAND sleep 60)\nset_tests_properties(sleeper PROPERTIES TIMEOUT 1)\n"
    project.write("CMakeLists.txt", text)
    project.run("cmake -S . -B build")
    command = "ctest --test-dir build" + flags
    ran = project.run(command)
    project.run("ctest --test-dir build --output-junit report.xml")
    report = ElementTree.parse(project.directory / "build/report.xml").getroot()
    facts = []
    for case in report.iter("testcase"):
        if case.get("status") == "fail":
            shown = [word + " is wrong" for name, word in planted
                     if name == case.get("name") and flags.strip(" -j2")]
            facts.append({"all": [case.get("name"), *shown]})
    total, failed = int(report.get("tests")), int(report.get("failures"))
    if hang:
        facts.append(row_fact("sleeper", ["Timeout", "timeout", "TIMEOUT"]))
    if failed:
        facts.append(row_fact(str(failed), ["failed", "FAILED"]))
        facts.append(text_fact(str(total)))
    elif total:
        facts.append(row_fact(str(total), ["passed", "ok", "tests"]))
    else:
        facts.append(text_fact("No tests were found"))
    return Case("", command, ran, facts, failing() if failed else [])
