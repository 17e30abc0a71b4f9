"""gcc, clang and ld: oracle is gcc's own JSON, or for clang and ld what was planted."""
import json

from scenario import Case, Missing, at_fact, failing, find_tool, plant, row_fact, scenario, text_fact, with_versions

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


# How each linker says it: what is missing, what is there twice, which library is nowhere.
LINKER_WORDS = {
    "": ("undefined reference", "multiple definition", "cannot find -l{}"),
    "gold": ("undefined reference", "multiple definition", "cannot find -l{}"),
    "mold": ("undefined symbol", "duplicate symbol", "library not found: {}"),
    "lld": ("undefined symbol", "duplicate symbol", "unable to find library -l{}"),
}
LIMIT_OF_LLD = 20  # errors; it stops there and says so


def write_undefined(project, names):
    """Calls of functions that are nowhere; gives the lines they are called on."""
    declared = "".join(f"int {name}(int);\n" for name in names)
    project.write("main.cpp", declared + "int main() {\n  return 0" + "".join(
        f"\n      + {name}({project.number()})" for name in names) + ";\n}\n")
    project.write("other.cpp", f"int {project.word()}() {{ return 1; }}\n")
    return {name: len(names) + 3 + index for index, name in enumerate(names)}


def write_duplicates(project, names):
    for file in ("main.cpp", "other.cpp"):
        main = "int main() { return 0; }\n" if file == "main.cpp" else ""
        project.write(file, main + "".join(f"int {name}(int n) {{ return n; }}\n" for name in names))


def link_facts(project, count, kind, linker):
    """Writes the two sources; gives what is to be said, and the flags that make the linker say it."""
    undefined, duplicate, library = LINKER_WORDS[linker]
    names = [project.word() for _ in range(count)]
    if kind == "undefined":
        write_undefined(project, names)
        return [row_fact(undefined, name) for name in names], ""
    if kind == "places":  # with -g the linker knows the lines
        lines = write_undefined(project, names)
        if linker == "lld":
            return [text_fact(undefined, name, f"main.cpp:{line}") for name, line in lines.items()], "-g "
        main = str(project.directory / "main.cpp")
        return [at_fact(main, line, 0, f"{undefined} to '{name}(int)'") for name, line in lines.items()], "-g "
    if kind == "duplicate":
        write_duplicates(project, names)
        return [text_fact(duplicate, name) for name in names], ""
    project.write("main.cpp", "int main() { return 0; }\n")
    project.write("other.cpp", f"int {names[0]}() {{ return 1; }}\n")
    return [text_fact(library.format(names[0]))], f"-l{names[0]} "


@scenario("ld", ["g++"], quick=True, variants=with_versions({
    "one-undefined": {"count": 1, "kind": "undefined"},
    "ten-undefined": {"count": 10, "kind": "undefined"},
    "sixty-undefined": {"count": 60, "kind": "undefined"},
    "places": {"count": 10, "kind": "places"},
    "duplicate": {"count": 5, "kind": "duplicate"},
    "missing-library": {"count": 1, "kind": "library"},
    "gold-undefined": {"count": 10, "kind": "undefined", "linker": "gold"},
    "gold-places": {"count": 6, "kind": "places", "linker": "gold"},
    "gold-duplicate": {"count": 5, "kind": "duplicate", "linker": "gold"},
    "gold-missing-library": {"count": 1, "kind": "library", "linker": "gold"},
    "mold-undefined": {"count": 10, "kind": "undefined", "linker": "mold"},
    "mold-duplicate": {"count": 5, "kind": "duplicate", "linker": "mold"},
    "mold-missing-library": {"count": 1, "kind": "library", "linker": "mold"},
}, ["ten-undefined", "places", "duplicate", "missing-library"]))
def ld(project, count, kind, linker=""):
    if linker and not find_tool(f"ld.{linker}"):
        raise Missing(f"ld.{linker}")
    facts, flags = link_facts(project, count, kind, linker)
    command = f"g++ {f'-fuse-ld={linker} ' * bool(linker)}main.cpp other.cpp {flags}-o program"
    return Case("", command, project.run(command), facts + [text_fact("ld returned 1 exit status")], failing())


@scenario("ld", ["clang++-14"], quick=True, variants={
    "lld-undefined": {"count": 10}, "lld-limit-reached": {"count": 40},
    "lld-places": {"count": 6, "kind": "places"}, "lld-duplicate": {"count": 5, "kind": "duplicate"},
    "lld-missing-library": {"count": 1, "kind": "library"},
    "middle-version-lld-undefined": {"count": 10, "version": "15"},
    "middle-version-lld-duplicate": {"count": 5, "kind": "duplicate", "version": "15"},
    "new-version-lld-undefined": {"count": 10, "version": "19"},
    "new-version-lld-places": {"count": 6, "kind": "places", "version": "19"},
    "new-version-lld-duplicate": {"count": 5, "kind": "duplicate", "version": "19"},
})
def lld(project, count, kind="undefined", version="14"):
    if not find_tool(f"ld.lld-{version}"):
        raise Missing(f"ld.lld-{version}")
    facts, flags = link_facts(project, count, kind, "lld")
    command = f"clang++-14 --ld-path=/usr/bin/ld.lld-{version} -Wl,--threads=1 main.cpp other.cpp {flags}-o program"
    if len(facts) > LIMIT_OF_LLD:
        facts = facts[:LIMIT_OF_LLD] + [text_fact("too many errors emitted")]
    return Case("", command, project.run(command), facts, failing())
