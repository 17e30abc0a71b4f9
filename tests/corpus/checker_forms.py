"""Outputs in the form of compilers and checkers, as forms.py has those of other tools."""
from synthetic import count_of, message, some  # first: it knows where the scenarios lie
from scenario import at_fact, record_fact, row_fact, text_fact, under_fact


def places(project, count, extension, columns=True):
    """Sorted, distinct places in a few files."""
    files = [f"{project.word(1)}/{project.word()}.{extension}" for _ in range(max(1, min(25, count // 4)))]
    return sorted({(project.random.choice(files), project.random.randint(1, 900), project.random.randint(1, 80) if columns else 0) for _ in range(count)})


def few(project, most=400):
    return max(3, min(most, count_of(project)))


def planted(project, count, most=6):
    """Which of COUNT items are the odd ones."""
    return set(project.random.sample(range(count), min(count, project.random.randint(1, most))))


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def dotnet_build(project):
    """Warnings while it compiles, and all of them again at the end."""
    codes = [("CS0168", "The variable '{}' is declared but never used"), ("CS8618", "Non-nullable property '{}' must contain a non-null value when exiting constructor."),
             ("CS0103", "The name '{}' does not exist in the current context")]
    lines, facts, warnings, errors = ["  Determining projects to restore...", "  All projects are up-to-date for restore."], [], 0, 0
    for file, line, column in places(project, few(project), "cs"):
        code, text = project.random.choice(codes)
        said = text.format(project.word())
        word = "error" if code == "CS0103" else "warning"
        errors, warnings = errors + (word == "error"), warnings + (word == "warning")
        lines.append(f"/src/{file}({line},{column}): {word} {code}: {said} [/src/Shop/Shop.csproj]")
        facts.append(at_fact(f"/src/{file}", line, column, said))
    again = lines[2:]
    end = ["", "Build FAILED." if errors else "Build succeeded.", "", *again, f"    {warnings} Warning(s)", f"    {errors} Error(s)", "", "Time Elapsed 00:00:07.31"]
    return "dotnet build", lines + end, [*some(project, facts), row_fact(f"{warnings} Warning(s)"), row_fact(f"{errors} Error(s)")], 1 if errors else 0


def golangci_lint(project):
    """Each message with its line of source and a caret below."""
    rules = [("errcheck", "Error return value of `{}` is not checked"), ("staticcheck", "SA4006: this value of `{}` is never used"), ("revive", "exported: exported function {} should have comment or be unexported")]
    lines, facts = [], []
    for file, line, column in places(project, few(project), "go"):
        rule, text = project.random.choice(rules)
        said = text.format(camel(project.word()))
        source = f"\t{project.word()} := {project.word()}()"
        lines += [f"{file}:{line}:{column}: {said} ({rule})", source, "\t^"]
        facts.append(at_fact(file, line, column, said))
    return "golangci-lint run", [*lines, f"{len(facts)} issues:", f"* errcheck: {len(facts)}"], [*some(project, facts), row_fact(f"{len(facts)} issues")], 1


def terraform_errors(project):
    """Errors in a frame: the place stands below the message and a blank row."""
    lines, facts = [], []
    for file, line, _ in places(project, few(project, 40), "tf", columns=False):
        said, name = message(project, 3).capitalize(), project.word()
        lines += ["╷", f"│ Error: {said}", "│ ", f'│   on {file} line {line}, in resource "aws_instance" "{name}":', f"│  {line:3}:   {project.word(1)} = var.{project.word(1)}", "│ ",
                  f"│ An argument named \"{project.word(1)}\" is not expected here.", "╵"]
        facts.append(at_fact(file, line, 0, said))
    return "terraform validate", lines, some(project, facts), 1


def tflint(project):
    """The place of a message stands below it, behind a blank line."""
    lines, facts = [], []
    for file, line, _ in places(project, few(project, 80), "tf", columns=False):
        said = f'variable "{project.word()}" is declared but not used'
        lines += [f"Warning: [Fixable] {said} (terraform_unused_declarations)", "", f"  on {file} line {line}:", f"  {line:2}: variable \"x\" {{", "",
                  "Reference: https://github.com/terraform-linters/tflint-ruleset-terraform/blob/v0.5.0/docs/rules/terraform_unused_declarations.md", ""]
        facts.append(at_fact(file, line, 0, said))
    return "tflint", [f"{len(facts)} issue(s) found:", "", *lines], [*some(project, facts), row_fact(f"{len(facts)} issue(s) found")], 2


def scalac(project):
    """Messages that go on for several lines, each with the level in front."""
    lines, facts = ["[info] compiling 41 Scala sources to /src/target/scala-3.3/classes ..."], []
    for file, line, column in places(project, few(project, 60), "scala"):
        one, two = camel(project.word()), camel(project.word())
        lines += [f"[error] /src/{file}:{line}:{column}: type mismatch;", f"[error]  found   : {one}", f"[error]  required: {two}", f"[error]   val {project.word(1)}: {two} = {project.word(1)}", "[error]       ^"]
        facts += [at_fact(f"/src/{file}", line, column, "type mismatch;"), row_fact("found", one), row_fact("required", two)]
    total = f"[error] {len(facts) // 3} errors found"
    return "sbt compile", [*lines, total, "[error] (Compile / compileIncremental) Compilation failed"], [*some(project, facts), row_fact(total)], 1


def kotlinc(project):
    """A level and a URL of the file in front of each message."""
    lines, facts = ["> Task :app:compileKotlin"], []
    for file, line, column in places(project, few(project), "kt"):
        level, said = ("e", f"Unresolved reference: {project.word()}") if project.random.random() < 0.3 else ("w", f"Parameter '{project.word()}' is never used")
        lines.append(f"{level}: file:///src/{file}:{line}:{column} {said}")
        facts.append(at_fact(f"/src/{file}", line, column, said))
    return "kotlinc src", lines, some(project, facts), 1


def verilator(project):
    """The level stands in front of the place, the rule behind the level."""
    lines, facts = [], []
    for file, line, column in places(project, few(project, 80), "sv"):
        if project.random.random() < 0.2:
            said = f"Can't find definition of variable: '{project.word()}'"
            lines += [f"%Error: {file}:{line}:{column}: {said}"]
        else:
            said = f"Operator ASSIGN expects 8 bits on the Assign RHS, but Assign RHS's VARREF '{project.word()}' generates 9 bits."
            lines += [f"%Warning-WIDTH: {file}:{line}:{column}: {said}", f"                     : ... In instance top.{project.word(1)}"]
        lines += [f"  {line:4} |   assign {project.word(1)} = {project.word(1)};", "       |          ^"]
        facts.append(at_fact(file, line, column, said))
    total = f"%Error: Exiting due to {len(facts)} warning(s)"
    return "verilator --lint-only -Wall top.sv", [*lines, total], [*some(project, facts), row_fact(total)], 1


def phpstan(project):
    """Tables, whose heading is the name of a file; a rule stands below its message."""
    lines, facts, by_file, total = [" 41/41 [▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓] 100%", ""], [], {}, 0
    for file, line, _ in places(project, few(project), "php", columns=False):
        by_file.setdefault(file, []).append(line)
    for file, rows in by_file.items():
        lines += [" ------ " + "-" * 70, f"  Line   {file}", " ------ " + "-" * 70]
        for line in rows:
            said = f"Call to an undefined method App\\{camel(project.word())}::{project.word()}()."
            lines += [f"  {line:<6} {said}", "         🪪  method.notFound"]
            facts.append(under_fact([f"Line {file}", file], str(line), said))
            total += 1
        lines += [" ------ " + "-" * 70, ""]
    end = f" [ERROR] Found {total} errors"
    return "phpstan analyse src", [*lines, end, ""], [*some(project, facts), row_fact(f"Found {total} errors")], 1


def psalm(project):
    """The level and the rule in front, the place in the middle; source below."""
    lines, facts = [], []
    for file, line, column in places(project, few(project, 80), "php"):
        said = f"The declared return type 'int' for {camel(project.word())} is incorrect, got 'string'"
        lines += [f"ERROR: InvalidReturnType - {file}:{line}:{column} - {said} (see https://psalm.dev/011)", f"    public function {project.word(1)}(): int", "", ""]
        facts.append(at_fact(file, line, column, said))
    total = f"{len(facts)} errors found"
    return "psalm", [*lines, "------------------------------", total, "------------------------------"], [*some(project, facts), row_fact(total)], 2


def dart_analyze(project):
    """Level, message, place and rule, divided by bullets."""
    lines, facts, dot = ["Analyzing shop...", ""], [], project.random.choice(["•", "-"])
    for file, line, column in places(project, few(project), "dart"):
        level, said, rule = project.random.choice([("error", "Undefined name '{}'", "undefined_identifier"), ("warning", "The value of the local variable '{}' isn't used", "unused_local_variable"),
                                                   ("   info", "Use 'const' with the constructor of {}", "prefer_const_constructors")])
        said = said.format(project.word())
        lines.append(f"  {level:>7} {dot} {said} {dot} {file}:{line}:{column} {dot} {rule}" if dot == "•" else f"  {level:>7} - {file}:{line}:{column} - {said} - {rule}")
        facts.append(at_fact(file, line, column, said))
    return "dart analyze", [*lines, "", f"{len(facts)} issues found."], [*some(project, facts), row_fact(f"{len(facts)} issues found")], 3


def credo(project):
    """A bar in front; the place stands below the message."""
    lines, facts = ["  Warnings - please take a look", "┃ "], []
    for file, line, column in places(project, few(project, 80), "ex"):
        said = f"There should be no calls to `IO.inspect/1` in {project.word()}."
        lines += [f"┃ [W] ↗ {said}", f"┃       {file}:{line}:{column} #({camel(project.word())}.call)"]
        facts.append(at_fact(file, line, column, said))
    total = f"{len(facts)} warnings, 0 refactoring opportunities"
    return "mix credo", [*lines, "", "Analysis took 0.3 seconds (0.02s to load, 0.2s running 55 checks on 41 files)", f"212 mods/funs, found {total}."], [*some(project, facts), row_fact(total)], 16


def checkov(project):
    """Passed and failed checks, each a paragraph with a range of lines."""
    lines, facts, count = [], [], count_of(project) // 3 + 5
    bad = planted(project, count, 12)
    for index in range(count):
        name, start, file = f"aws_s3_bucket.{project.word()}", project.random.randint(1, 400), f"/{project.word(1)}.tf"
        rule, title = f"CKV_AWS_{project.random.randint(1, 300)}", message(project)
        lines += [f'Check: {rule}: "{title}"', f"\t{'FAILED' if index in bad else 'PASSED'} for resource: {name}", f"\tFile: {file}:{start}-{start + 7}"]
        if index in bad:
            lines += [f"\tGuide: https://docs.prismacloud.io/en/enterprise-edition/policy-reference/{rule.lower()}", "", *(f"\t\t{start + at} |   {project.word(1)} = {at}" for at in range(7))]
            facts += [text_fact([f"FAILED for resource: {name}"], [f"{file}:{start}-{start + 7}", f"{file}:{start}"]), row_fact(rule, title)]
        lines.append("")
    total = f"Passed checks: {count - len(bad)}, Failed checks: {len(bad)}, Skipped checks: 0"
    return "checkov -d .", ["terraform scan results:", "", total, "", *lines], [*some(project, facts), row_fact(total)], 1


def gosec(project):
    """The place in brackets in front; numbered source below."""
    lines, facts = [], []
    for file, line, _ in places(project, few(project, 80), "go", columns=False):
        rule, said = project.random.choice([("G104 (CWE-703)", "Errors unhandled"), ("G304 (CWE-22)", "Potential file inclusion via variable"), ("G401 (CWE-328)", "Use of weak cryptographic primitive")])
        lines += [f"[/src/{file}:{line}] - {rule}: {said} (Confidence: HIGH, Severity: LOW)", *(f"  {'>' if at == line else ' '} {at}: \t{project.word(1)}({at})" for at in range(line - 1, line + 2)), "", ""]
        facts.append(at_fact(f"/src/{file}", line, 0, rule))
    return "gosec ./...", ["Results:", "", "", *lines, "Summary:", "  Gosec  : 2.19.0", "  Files  : 41", f"  Issues : {len(facts)}"], [*some(project, facts), row_fact("Issues", str(len(facts)))], 1


def brakeman(project):
    """Paragraphs of fields, of which the file and the line are two."""
    lines, facts = ["== Warnings ==", ""], []
    for file, line, _ in places(project, few(project, 80), "rb", columns=False):
        code = f"{camel(project.word())}.where(params[:{project.word(1)}])"
        lines += ["Confidence: High", "Category: SQL Injection", "Check: SQL", "Message: Possible SQL injection", f"Code: {code}", f"File: app/{file}", f"Line: {line}", ""]
        facts.append(record_fact(File=f"app/{file}", Line=line, Code=code))
    return "brakeman -q", ["== Overview ==", "", "Controllers: 12", f"Security Warnings: {len(facts)}", "", *lines], [*some(project, facts), row_fact("Security Warnings", str(len(facts)))], 3


def mix_compile(project):
    """Warnings with a drawn excerpt and the place below it."""
    lines, facts = ["Compiling 41 files (.ex)"], []
    for file, line, column in places(project, few(project, 60), "ex"):
        said = f'variable "{project.word()}" is unused (if the variable is not meant to be used, prefix it with an underscore)'
        lines += [f"    warning: {said}", "    │", f" {line:3}│   def {project.word(1)}(x) do", "    │       ~", "    │", f"    └─ lib/{file}:{line}:{column}: {camel(project.word())}.call/1", ""]
        facts.append(at_fact(f"lib/{file}", line, column, said))
    return "mix compile", [*lines, "Generated shop app"], some(project, facts), 0


def pa11y(project):
    """Problems with a bullet and fields on branches below."""
    lines, facts = ["", "Results for URL: http://localhost:8080/", ""], []
    for _ in range(few(project, 80)):
        said, where = message(project, 5).capitalize() + ".", f"#{project.word()} > div:nth-child({project.number()}) > a"
        lines += [f" • Error: {said}", "   ├── WCAG2AA.Principle1.Guideline1_4.1_4_3.G18.Fail", f"   ├── {where}", f"   └── <a href=\"/{project.word(1)}\">{project.word(1)}</a>", ""]
        facts.append(under_fact([said], where))
    total = f"{len(facts)} Errors"
    return "pa11y http://localhost:8080", [*lines, total], [*some(project, facts), row_fact(total)], 2


CHECKERS = (dotnet_build, golangci_lint, terraform_errors, tflint, scalac, kotlinc, verilator, phpstan, psalm,
            dart_analyze, credo, checkov, gosec, brakeman, mix_compile, pa11y)
