"""cargo build, test, clippy and run: oracle is --message-format json, or what was planted."""
import json

from scenario import Case, at_fact, failing, plant, row_fact, scenario, text_fact, with_versions

ERRORS = {
    "mismatch": '    let {name}: u32 = "{other}";\n    {name} as i64\n',
    "undeclared": "    {name} + {number}\n",
    "moved": "    let {name} = String::from(\"{other}\");\n    let a = {name};\n    a.len() as i64 + {name}.len() as i64\n",
    "method": "    let {name} = {number}i64;\n    {name}.{other}()\n",
    "arguments": "    fn {name}(a: i64, b: i64) -> i64 {{ a + b }}\n    {name}({number})\n",
}
WARNINGS = {
    "unused": "    let {name} = {number};\n    0\n",
    "mutable": "    let mut {name} = {number}i64;\n    {name}\n",
    "dead": "    return {number};\n    #[allow(unused)]\n    let {name} = 1;\n",
}
LINTS = {
    "return": "    return {number};\n",
    "clone": "    let {name} = {number}i64;\n    {name}.clone()\n",
    "length": '    let {name} = "{other}";\n    if {name}.len() == 0 {{ 1 }} else {{ {number} }}\n',
    "boolean": "    let {name} = {number} > 3;\n    if {name} == true {{ 1 }} else {{ 2 }}\n",
}


def manifest_of(project):
    edition = "2018" if project.tools == "debian-11" else "2021"  # its cargo is of 2020
    return f'[package]\nname = "sample"\nversion = "0.1.0"\nedition = "{edition}"\n'


def write_crate(project, count, share, kinds):
    project.write("Cargo.toml", manifest_of(project))
    bad, text = plant(project, count, share), ""
    for index in range(count):
        text += f"pub fn {project.word()}() -> i64 {{\n"
        if index in bad:
            flaw = kinds[project.random.choice(sorted(kinds))]
            text += flaw.format(name=project.word(), other=project.word(), number=project.number())
        else:
            text += f"    {project.number()}\n"
        text += "}\n\n"
    project.write("src/lib.rs", text)


def cargo_facts(report):
    facts = []
    for line in report.text.splitlines():
        message = json.loads(line).get("message") if line.startswith("{") else None
        if not isinstance(message, dict) or message["level"] not in ("error", "warning"):
            continue
        spans = [span for span in message["spans"] if span["is_primary"]]
        if spans:
            facts.append(at_fact(spans[0]["file_name"], spans[0]["line_start"], spans[0]["column_start"],
                                 message["message"].split("\n")[0]))
    return facts


@scenario("cargo-build", ["cargo"], variants=with_versions({
    "clean": {"count": 3, "share": "none", "kinds": ERRORS},
    "one-error": {"count": 5, "share": "one", "kinds": ERRORS},
    "five-errors": {"count": 10, "share": 0.5, "kinds": ERRORS},
    "thirty-errors": {"count": 30, "share": "all", "kinds": ERRORS},
    "warnings": {"count": 20, "share": 0.5, "kinds": WARNINGS},
    "short-messages": {"count": 12, "share": 0.5, "kinds": ERRORS, "flags": " --message-format short"},
    "verbose": {"count": 6, "share": 0.3, "kinds": WARNINGS, "flags": " -v"},
    "colour": {"count": 6, "share": 0.5, "kinds": ERRORS, "flags": " --color always"},
    "check": {"count": 20, "share": 0.3, "kinds": ERRORS, "verb": "check"},
    "clippy": {"count": 20, "share": 0.5, "kinds": LINTS, "verb": "clippy"},
    "clippy-denied": {"count": 10, "share": 0.5, "kinds": LINTS, "verb": "clippy",
                      "flags": " -- -D warnings"},
    "new-version-clippy": {"count": 12, "share": 0.5, "kinds": LINTS, "verb": "clippy", "tools": "rust-nightly"},
}, ["five-errors", "warnings", "short-messages"]))
def build(project, count, share, kinds, flags="", verb="build"):
    write_crate(project, count, share, kinds)
    command = f"cargo {verb}{flags}"
    ran = project.run(command)
    plain = flags.split(" --")[0] if "message" in flags or "color" in flags else flags
    words = plain.split(" -- ")
    report = project.run("rm -rf target; cargo " + verb + " --message-format json" + words[0] +
                         (" -- " + words[1] if len(words) > 1 else ""))
    facts = cargo_facts(report)
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


@scenario("cargo-test", ["cargo"], variants=with_versions({
    "all-pass": {"count": 10, "share": "none"}, "one-fails": {"count": 40, "share": "one"},
    "three-of-forty": {"count": 40, "share": 0.075}, "hundred-ten-fail": {"count": 100, "share": 0.1},
    "all-fail": {"count": 20, "share": "all"}, "quiet": {"count": 40, "share": 0.1, "flags": " -q"},
    "thousand-pass": {"count": 1000, "share": "none"},
    "backtrace": {"count": 20, "share": 0.1, "environment": {"RUST_BACKTRACE": "1"}},
    "no-fail-fast": {"count": 20, "share": 0.2, "flags": " --no-fail-fast"},
}, ["all-pass", "three-of-forty", "backtrace"]))
def test(project, count, share, flags="", environment=None):
    project.write("Cargo.toml", manifest_of(project))
    bad, planted, module = plant(project, count, share), {}, project.word()
    text = f"#[cfg(test)]\nmod {module} {{\n"
    for index in range(count):
        name, got, wanted = project.word(), project.number(), project.number()
        text += f"    #[test]\n    fn {name}() {{\n"
        if index in bad:
            text += f"        assert_eq!({got}, {wanted});\n"
            planted[f"{module}::{name}"] = (text.count("\n"), got, wanted)
        text += "    }\n"
    project.write("src/lib.rs", text + "}\n")
    command = f"cargo test{flags}"
    ran = project.run(command, environment=environment)
    facts = [text_fact(name, f"src/lib.rs:{line}", str(got), str(wanted))
             for name, (line, got, wanted) in planted.items()]
    if planted:
        facts.append(row_fact(str(len(planted)), "failed"))
    facts.append(row_fact(str(count - len(planted)), "passed"))
    return Case("", command, ran, facts, failing() if planted else [])


@scenario("cargo-run", ["cargo"], variants=with_versions({
    "panic": {"kind": "panic"}, "output": {"kind": "output"}, "bad-manifest": {"kind": "manifest"},
    "missing-dependency": {"kind": "dependency"},
}, ["panic", "bad-manifest", "missing-dependency"]))
def run(project, kind):
    name, number = project.word(), project.number()
    manifest = manifest_of(project) + (f"bad = [{name}\n" if kind == "manifest" else "")
    if kind == "dependency":
        manifest += f'[dependencies]\n{name} = {{ path = "../{name}" }}\n'
    project.write("Cargo.toml", manifest)
    body = f'panic!("{name} {number}")' if kind == "panic" else f'for n in 0..{number % 90 + 10} {{ println!("line {{n}}"); }}'
    project.write("src/main.rs", f"fn main() {{\n    {body}\n}}\n")
    ran = project.run("cargo run")
    facts = {"panic": [text_fact("panicked", "src/main.rs:2", f"{name} {number}")],
             "output": [text_fact("line 0"), text_fact(f"line {number % 90 + 9}")],
             "manifest": [text_fact("Cargo.toml")], "dependency": [text_fact(name)]}[kind]
    return Case("", "cargo run", ran, facts, failing() if ran.exit_code else [])
