"""gcc, clang and ld: oracle is gcc's own JSON, or for clang and ld what was planted."""
import json

from scenario import Case, Missing, at_fact, failing, find_tool, plant, row_fact, scenario, text_fact

FLAWS = {
    "undeclared": "  return {name} + {number};\n",
    "unused": "  int {name} = {number};\n",
    "types": '  int {name} = "{name}";\n  return {name};\n',
    "sign": "  unsigned {name} = {number}; if ({name} < n) return 1;\n",
    "format": '  std::printf("{name} %s", {number});\n',
    "member": "  struct S {{ int a; }} s{{}}; return s.{name};\n",
    "call": "  {name}({number});\n",
    "semicolon": "  int {name} = {number}\n  return {name};\n",
    "fallthrough": "  switch (n) {{ case 1: n++; case 2: return {number}; }}\n",
    "shadow": "  int n = {number}; return n;\n",
}
WARNINGS = ["unused", "sign", "format", "fallthrough"]
ERRORS = ["undeclared", "types", "member", "call", "semicolon", "shadow"]


def write_source(project, path, functions, bad, kinds):
    """A file of small functions; those numbered in BAD have one flaw each."""
    text = "#include <cstdio>\n\n"
    for index in range(functions):
        text += f"int {project.word()}(int n) {{\n"
        if index in bad:
            flaw = FLAWS[project.random.choice(kinds)]
            text += flaw.format(name=project.word(), number=project.number())
        text += f"  return n + {project.number()};\n}}\n\n"
    project.write(path, text)


def gcc_facts(report):
    """From -fdiagnostics-format=json, which prints one array for each compiled file."""
    facts, decoder, place = [], json.JSONDecoder(), 0
    text = report.stderr.decode(errors="replace")
    while (place := text.find("[", place)) >= 0:
        found, place = decoder.raw_decode(text, place)
        facts += [at_fact(caret["file"], caret["line"], caret["column"], entry["message"])
                  for entry in found if entry["kind"] in ("error", "warning", "fatal error")
                  for caret in [entry["locations"][0]["caret"]]]
    return facts


@scenario("gcc", ["g++"], quick=True, variants={
    "one-error": {"files": 1, "functions": 3, "share": "one", "kinds": ERRORS},
    "ten-errors": {"files": 1, "functions": 20, "share": 0.5, "kinds": ERRORS},
    "all-errors": {"files": 1, "functions": 40, "share": "all", "kinds": ERRORS},
    "warnings": {"files": 1, "functions": 30, "share": 0.5, "kinds": WARNINGS},
    "mixed-files": {"files": 6, "functions": 20, "share": 0.2, "kinds": ERRORS + WARNINGS},
    "warnings-many": {"files": 10, "functions": 30, "share": 0.2, "kinds": WARNINGS},
    "colour": {"files": 2, "functions": 10, "share": 0.3, "kinds": ERRORS,
               "flags": "-fdiagnostics-color=always "},
    "no-caret": {"files": 2, "functions": 20, "share": 0.3, "kinds": ERRORS + WARNINGS,
                 "flags": "-fno-diagnostics-show-caret "},
    "old-version-errors": {"files": 2, "functions": 20, "share": 0.3, "kinds": ERRORS, "tools": "gcc-11"},
    "old-version-warnings": {"files": 3, "functions": 30, "share": 0.3, "kinds": WARNINGS, "tools": "gcc-11"},
})
def gcc(project, files, functions, share, kinds, flags=""):
    sources = []
    for _ in range(files):
        sources.append(f"src/{project.word()}.cpp")
        write_source(project, sources[-1], functions, plant(project, functions, share), kinds)
    command = f"g++ -Wall -Wextra {flags}-c {' '.join(sources)}"
    facts = gcc_facts(project.run(command + " -fdiagnostics-format=json"))
    ran = project.run(command)
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


@scenario("gcc", ["g++"], quick=True, variants={
    "template-sort": {"kind": "sort"}, "template-map": {"kind": "map"},
    "template-format": {"kind": "format"}, "missing-header": {"kind": "header"},
    "include-chain": {"kind": "chain"}, "c-pointer": {"kind": "c"},
    "old-version-template": {"kind": "sort", "tools": "gcc-11"},
})
def gcc_special(project, kind):
    name, other = project.word(), project.word()
    lines = {
        "sort": f"#include <algorithm>\n#include <list>\nint {name}() {{\n  std::list<int> {other};\n"
                f"  std::sort({other}.begin(), {other}.end());\n  return 0;\n}}\n",
        "map": f"#include <map>\n#include <string>\nstruct {name} {{ int x; }};\nint main() {{\n"
               f"  std::map<{name}, std::string> {other};\n  {other}[{name}{{1}}] = \"a\";\n}}\n",
        "format": f"#include <iostream>\nstruct {name} {{}};\nint main() {{\n  {name} {other};\n"
                  f"  std::cout << {other} << 1;\n}}\n",
        "header": f'#include "{name}/{other}.h"\nint main() {{}}\n',
        "chain": f'#include "{name}.h"\nint main() {{ return {name}({project.number()}, 2); }}\n',
        "c": f"#include <string.h>\nint {name}(char* p) {{ int* {other} = p; return strlen({other}); }}\n",
    }[kind]
    project.write(f"{name}.h", f"#pragma once\nint {name}(const char* text);\nint {other}();\n")
    source = f"src/{project.word()}" + (".c" if kind == "c" else ".cpp")
    project.write(source, lines)
    command = f"{'gcc' if kind == 'c' else 'g++'} -Wall -I. -c {source}"
    facts = gcc_facts(project.run(command + " -fdiagnostics-format=json"))
    return Case("", command, project.run(command), facts)


@scenario("clang", ["clang++-14"], quick=True, variants={
    "one-error": {"count": 3, "share": "one"}, "ten-errors": {"count": 20, "share": 0.5},
    "all-warnings": {"count": 40, "share": "all", "kind": "unused"},
    "colour": {"count": 12, "share": 0.3, "flags": "-fcolor-diagnostics "},
    "limit-reached": {"count": 60, "share": 0.33},
    "new-version-errors": {"count": 20, "share": 0.5, "version": "16"},
    "new-version-warnings": {"count": 30, "share": 0.5, "kind": "unused", "version": "16"},
})
def clang(project, count, share, kind="undeclared", flags="", version="14"):
    if not find_tool(f"clang++-{version}"):
        raise Missing(f"clang++-{version}")
    source, facts = f"src/{project.word()}.cpp", []
    text, bad = "", plant(project, count, share)
    message = "use of undeclared identifier '{}'" if kind == "undeclared" else "unused variable '{}'"
    for index in range(count):
        text += f"int {project.word()}(int n) {{\n"
        if index in bad:
            name = project.word()
            column = 10 if kind == "undeclared" else 7
            text += FLAWS[kind].format(name=name, number=project.number())
            facts.append(at_fact(source, text.count("\n"), column, message.format(name)))
        text += f"  return n + {project.number()};\n}}\n\n"
    project.write(source, text)
    command = f"clang++-{version} -Wall {flags}-c {source}"
    total = f"{len(facts)} {'error' if kind == 'undeclared' else 'warning'}{'s' * (len(facts) > 1)}"
    if len(facts) >= 20 and kind == "undeclared":
        facts, total = facts[:19], "too many errors emitted"
    ran = project.run(command)
    return Case("", command, ran, facts + [text_fact(total)], failing() if ran.exit_code else [])


@scenario("ld", ["g++"], quick=True, variants={
    "one-undefined": {"count": 1, "kind": "undefined"},
    "ten-undefined": {"count": 10, "kind": "undefined"},
    "sixty-undefined": {"count": 60, "kind": "undefined"},
    "duplicate": {"count": 5, "kind": "duplicate"},
    "missing-library": {"count": 1, "kind": "library"},
    })
def ld(project, count, kind, flags=""):
    names = [project.word() for _ in range(count)]
    library = project.word()
    if kind == "undefined":
        declared = "".join(f"int {name}(int);\n" for name in names)
        project.write("main.cpp", declared + "int main() {\n  return 0" + "".join(
            f"\n      + {name}({project.number()})" for name in names) + ";\n}\n")
        project.write("other.cpp", f"int {library}() {{ return 1; }}\n")
        facts = [row_fact("undefined", name) for name in names]
    elif kind == "duplicate":
        for file in ("main.cpp", "other.cpp"):
            main = "int main() { return 0; }\n" if file == "main.cpp" else ""
            project.write(file, main + "".join(f"int {name}(int n) {{ return n; }}\n" for name in names))
        facts = [text_fact("multiple definition", name) for name in names]
    else:
        project.write("main.cpp", "int main() { return 0; }\n")
        project.write("other.cpp", f"int {library}() {{ return 1; }}\n")
        flags = f"-l{library} "
        facts = [text_fact(f"cannot find -l{library}")]
    command = f"g++ main.cpp other.cpp {flags}-o program"
    ran = project.run(command)
    return Case("", command, ran, facts + [text_fact("ld returned 1 exit status")], failing())


@scenario("ld", ["clang++-14", "ld.lld-14"], quick=True, variants={
    "lld-undefined": {"count": 10}, "lld-limit-reached": {"count": 40},
})
def lld(project, count):
    names = [project.word() for _ in range(count)]
    project.write("main.cpp", "".join(f"int {name}(int);\n" for name in names) +
                  "int main() {\n  return 0" + "".join(f"\n      + {name}(1)" for name in names) +
                  ";\n}\n")
    command = "clang++-14 --ld-path=/usr/bin/ld.lld-14 -Wl,--threads=1 main.cpp -o program"
    ran = project.run(command)
    # lld stops at twenty and says so.
    facts = [row_fact("undefined symbol", name) for name in names[:20]]
    if count > 20:
        facts.append(text_fact("too many errors emitted"))
    return Case("", command, ran, facts, failing())
