"""Outputs in the form of real tools that have no parser and no captured case, with names, counts and places drawn anew.

Each function writes what its tool prints, as its documentation and its users show it, and plants the facts. A seed and
a number give the same case again, as in synthetic.py, whose kinds are tools that do not exist.
"""
import json
import random

from checker_forms import CHECKERS, camel, few, planted
from synthetic import case_of, count_of, message, some
from scenario import at_fact, record_fact, row_fact, under_fact


def dotnet_test(project):
    """Names of failing tests with an indented message and stack below each."""
    count = count_of(project)
    bad, lines, facts = planted(project, count), ["Starting test execution, please wait...", "A total of 1 test files matched the specified pattern."], []
    for index in range(count):
        name = f"Shop.Tests.{camel(project.word())}.{camel(project.word())}"
        if index not in bad:
            lines.append(f"  Passed {name} [{project.random.randint(1, 40)} ms]")
            continue
        want, got, line = project.number(), project.number(), project.random.randint(5, 400)
        place = f"/src/Shop.Tests/{camel(project.word())}.cs:line {line}"
        lines += [f"  Failed {name} [{project.random.randint(1, 40)} ms]", "  Error Message:", "   Assert.Equal() Failure: Values differ", f"Expected: {want}", f"Actual:   {got}",
                  "  Stack Trace:", f"     at {name}() in {place}", "     at System.RuntimeMethodHandle.InvokeMethod(Object target, Void** arguments, Signature sig, Boolean isConstructor)",
                  "     at System.Reflection.MethodBaseInvoker.InvokeWithNoArgs(Object obj, BindingFlags invokeAttr)"]
        facts += [under_fact([name], "Expected", str(want)), under_fact([name], "Actual", str(got)), under_fact([name], place)]
    total = f"Failed!  - Failed: {len(bad):5}, Passed: {count - len(bad):5}, Skipped:     0, Total: {count:5}, Duration: 812 ms - Shop.Tests.dll (net8.0)"
    return "dotnet test --logger 'console;verbosity=normal'", [*lines, "", total], [*some(project, facts), row_fact(f"Failed: {len(bad)}", f"Total: {count}")], 1


def swift_test(project):
    """A start and an end for each test; the failure between them names a place."""
    count = count_of(project)
    bad, lines, facts = planted(project, count), ["[12/12] Linking ShopPackageTests", "Build complete! (3.21s)"], []
    for index in range(count):
        name = f"{camel(project.word())}Tests.test{camel(project.word())}"
        lines.append(f"Test Case '{name}' started at 2026-03-04 10:{index // 60 % 60:02}:{index % 60:02}.123")
        if index in bad:
            file, line, one, two = f"/src/Tests/{camel(project.word())}.swift", project.random.randint(4, 300), project.number(), project.number()
            said = f'{name} : XCTAssertEqual failed: ("{one}") is not equal to ("{two}") - '
            lines += [f"{file}:{line}: error: {said}"]
            facts.append(at_fact(file, line, 0, said.removesuffix(" - ")))
        lines.append(f"Test Case '{name}' {'failed' if index in bad else 'passed'} (0.{project.random.randint(1, 99):03} seconds)")
    total = f"Executed {count} tests, with {len(bad)} failures (0 unexpected) in 0.812 (0.813) seconds"
    return "swift test", [*lines, "Test Suite 'All tests' failed at 2026-03-04 11:00:00.000", f"\t {total}"], [*some(project, facts), row_fact(total)], 1


def bazel_test(project):
    """A table of targets; failing ones name their log on a line of their own."""
    count = count_of(project)
    bad, lines, facts = planted(project, count), ["INFO: Analyzed 212 targets (0 packages loaded, 0 targets configured).", "INFO: Found 80 targets and 132 test targets..."], []
    targets = [f"//{project.word(1)}/{project.word(1)}:{project.word()}_test" for _ in range(count)]
    for index in sorted(bad):
        log = "/root/.cache/bazel/_bazel_root/1f/execroot/_main/bazel-out/k8-fastbuild/testlogs/" + targets[index][2:].replace(":", "/") + "/test.log"
        lines.append(f"FAIL: {targets[index]} (see {log})")
        facts.append(row_fact(targets[index], log))
    lines += ["INFO: Elapsed time: 31.402s, Critical Path: 12.08s", "INFO: 264 processes: 12 internal, 252 linux-sandbox.", "INFO: Build completed, 3 tests FAILED, 264 total actions"]
    for index, target in enumerate(targets):
        seconds = f"{project.random.randint(1, 90) / 10}s"
        lines.append(f"{target:60} {'FAILED in ' + seconds if index in bad else '(cached) PASSED in ' + seconds if index % 3 else 'PASSED in ' + seconds}")
    total = f"Executed {count // 3} out of {count} tests: {count - len(bad)} tests pass and {len(bad)} fail locally."
    return "bazel test //...", [*lines, "", total], [*some(project, facts), row_fact(total)], 3


def trivy_table(project):
    """A table in a box: packages with several rows each, whose first cells are empty below the first row."""
    rows, facts = [], []
    for _ in range(few(project, 90)):
        package, severity = project.word(), project.random.choice(["LOW", "LOW", "MEDIUM", "MEDIUM", "HIGH", "CRITICAL"])
        number = f"CVE-2026-{project.number(1000, 99999)}"
        rows.append((package, number, severity, "fixed" if project.random.random() < 0.7 else "affected", f"1.{project.random.randint(0, 9)}.{project.random.randint(0, 9)}",
                     message(project, 3)))
        if severity == "CRITICAL":
            facts.append(row_fact(package, number, "CRITICAL"))
    titles = ("Library", "Vulnerability", "Severity", "Status", "Installed Version", "Title")
    widths = [max(len(row[at]) for row in [titles, *rows]) for at in range(6)]
    draw = lambda left, middle, right: left + middle.join("─" * (width + 2) for width in widths) + right  # noqa: E731
    cells = lambda row: "│ " + " │ ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " │"  # noqa: E731
    body = [line for row in rows for line in (draw("├", "┼", "┤"), cells(row))]
    total = f"Total: {len(rows)} (UNKNOWN: 0, LOW: {sum(row[2] == 'LOW' for row in rows)}, MEDIUM: {sum(row[2] == 'MEDIUM' for row in rows)}, HIGH: {sum(row[2] == 'HIGH' for row in rows)}, CRITICAL: {len(facts)})"
    return "trivy image shop:1", ["", "shop:1 (debian 12.5)", "====================", total, "", draw("┌", "┬", "┐"), cells(titles), *body, draw("└", "┴", "┘")], [*some(project, facts), row_fact(total)], 0


def kubectl_apply(project):
    """A line for what was done with each object; a few are refused."""
    count = count_of(project)
    bad, lines, errors, facts = planted(project, count), [], [], []
    for index in range(count):
        name = f"{project.random.choice(['deployment.apps', 'service', 'configmap', 'secret'])}/{project.word().replace('_', '-')}"
        if index in bad and index % 2:
            reason = f'Error from server (Invalid): error when creating "k8s/{project.word()}.yaml": Service "{name.split("/")[1]}" is invalid: spec.ports[0].nodePort: Invalid value: {project.number()}: provided port is not in the valid range'
            errors.append(reason)
            facts.append(row_fact(*reason.split(": ")[1:2], name.split("/")[1]))
        elif index in bad:
            lines.append(f"{name} created")
            facts.append(row_fact(name, "created"))
        else:
            lines.append(f"{name} {'configured' if index % 7 == 0 else 'unchanged'}")
    return "kubectl apply -R -f k8s", [*lines, *errors], some(project, facts), 1 if errors else 0


def k6_summary(project):
    """A progress line each second, checks with a share that failed, and metrics with dots."""
    lines, facts = [f"running (0m{second:02}.0s), 20/20 VUs, {second * 97} complete and 0 interrupted iterations\ndefault   [ {second * 100 // 60:3}% ] 20 VUs  0m{second:02}.0s/1m0s" for second in range(1, 60)], []
    for _ in range(project.random.randint(3, 20)):
        name, good, bad = message(project, 2), project.number(), project.random.choice([0, 0, project.number()])
        if bad:
            lines += [f"     ✗ {name}", f"      ↳  {good * 100 // (good + bad)}% — ✓ {good} / ✗ {bad}"]
            facts.append(under_fact([name], f"✓ {good} / ✗ {bad}"))
        else:
            lines.append(f"     ✓ {name}")
    for name in ("http_req_duration", "http_req_waiting", "iteration_duration"):
        worst = f"{project.number()}.{project.random.randint(1, 99)}ms"
        lines.append(f"     {name:.<30}: avg=12.31ms min=2.11ms med=11.02ms max={worst} p(90)=20.12ms p(95)=31.9ms")
        facts.append(row_fact(name + "." * (30 - len(name)), f"max={worst}"))
    failed = f"ERRO[0061] thresholds on metrics '{project.word()}' have been crossed"
    return "k6 run load.js", "\n".join([*lines, failed]).split("\n"), [*facts, row_fact(failed)], 99


def explain_analyze(project):
    """A plan as a tree; one node reads far more rows than the others."""
    count, lines, facts = max(6, min(120, count_of(project))), [], []
    odd = project.random.randrange(1, count)
    for index in range(count):
        table, rows = project.word(), project.number(10 ** 6, 10 ** 7) if index == odd else project.random.randint(1, 400)
        pad = "" if index == 0 else "  " * (index % 9 + 1) + "->  "
        node = f"Seq Scan on {table}" if index == odd else project.random.choice(["Nested Loop", f"Index Scan using {table}_pkey on {table}", "Hash Join", f"Bitmap Heap Scan on {table}"])
        lines.append(f" {pad}{node}  (cost=0.29..{index * 8}.30 rows={rows} width=8) (actual time=0.010..{index / 7:.3f} rows={rows} loops=1)")
        if index == odd:
            removed = project.number()
            lines += [f" {'  ' * (index % 9 + 4)}Filter: (({table}.state)::text = 'open'::text)", f" {'  ' * (index % 9 + 4)}Rows Removed by Filter: {removed}"]
            facts += [row_fact(f"Seq Scan on {table}", f"rows={rows}"), row_fact("Rows Removed by Filter", str(removed))]
        elif index % 3 == 0:
            lines.append(f" {'  ' * (index % 9 + 4)}Index Cond: (id = {project.number()})")
    end = f" Execution Time: {project.number()}.{project.random.randint(1, 99)} ms"
    return "psql -f plan.sql", ["                QUERY PLAN", "-" * 60, *lines, " Planning Time: 1.200 ms", end, f"({len(lines) + 2} rows)"], [*facts, row_fact(end.strip())], 0


def journal(project):
    """Lines of systemd's journal; a process is killed, a unit fails."""
    count = count_of(project) + 40
    bad, lines, facts = planted(project, count, 4), [], []
    units = [project.word(1) for _ in range(4)]
    for index in range(count):
        head = f"Mar 04 1{index // 3600 % 10}:{index // 60 % 60:02}:{index % 60:02} host"
        if index in bad:
            name, pid, size = project.word(), project.number(), project.number(10 ** 5, 10 ** 7)
            if index % 2:
                lines.append(f"{head} kernel: Out of memory: Killed process {pid} ({name}) total-vm:{size}kB, anon-rss:{size - 9}kB, file-rss:0kB")
                facts.append(row_fact("Out of memory", str(pid), name, f"total-vm:{size}kB"))
            else:
                lines.append(f"{head} systemd[1]: {name}.service: Main process exited, code=exited, status={pid % 250}/n/a")
                lines.append(f"{head} systemd[1]: {name}.service: Failed with result 'exit-code'.")
                facts.append(row_fact(f"{name}.service: Failed with result 'exit-code'"))
        else:
            unit = project.random.choice(units)
            lines.append(f"{head} {unit}[{900 + units.index(unit)}]: {project.random.choice(['accepted connection from', 'closed connection of'])} 10.0.0.{index % 250}:{40000 + index % 20000}")
    return "journalctl -b --no-pager", lines, facts, 0


def access_log(project):
    """Lines of an access log; a few answers are errors of the server."""
    count = count_of(project) + 30
    bad, lines, facts = planted(project, count, 5), [], []
    paths = [f"/api/{project.word(1)}" for _ in range(5)]
    for index in range(count):
        status, path = (project.random.choice([500, 502, 503]), f"/api/{project.word()}/{project.number()}") if index in bad else (project.random.choice([200, 200, 200, 304]), project.random.choice(paths))
        lines.append(f'10.0.{index % 7}.{index % 250} - - [04/Mar/2026:1{index // 3600 % 10}:{index // 60 % 60:02}:{index % 60:02} +0000] "GET {path} HTTP/1.1" {status} {project.random.randint(100, 9000)} "-" "curl/8.5.0"')
        if index in bad:
            facts.append(row_fact(path, str(status)))
    return "tail -n 5000 access.log", lines, facts, 0


def compose_logs(project):
    """Several services, each with its name and a bar in front; one of them has a traceback."""
    count = count_of(project) + 30
    lines, facts, at = [], [], project.random.randrange(count)
    for index in range(count):
        name = project.random.choice(["db-1   ", "web-1  ", "worker-1"])
        lines.append(f"{name} | 2026-03-04 10:{index // 60 % 60:02}:{index % 60:02}.123 UTC [{index % 90}] LOG:  checkpoint complete: wrote {index % 900} buffers")
        if index == at:
            file, line, word, number = f"/app/{project.word()}.py", project.random.randint(3, 500), project.word(), project.number()
            lines += [f"api-1    | {text}" for text in ("Traceback (most recent call last):", f'  File "{file}", line {line}, in handle', f"    return table[{number}]", f"KeyError: '{word}'")]
            facts += [row_fact("api-1", f"KeyError: '{word}'"), row_fact("api-1", f'File "{file}", line {line}')]
    return "docker compose logs", lines, facts, 0


def perf_report(project):
    """Shares of symbols, the largest first."""
    share, rows = 31.0, []
    for _ in range(few(project, 400)):
        rows.append((f"{share:6.2f}%", project.word(1), f"lib{project.word(1)}.so.6", f"[.] {project.word()}"))
        share *= 0.93
    facts = [row_fact(row[0].strip(), row[3][4:]) for row in rows[:5]]
    return "perf report --stdio", ["# To display the perf.data header info, please use --header/--header-only options.", "#", "# Samples: 41K of event 'cycles:P'", "# Event count (approx.): 31022220012", "#",
                                   "# Overhead  Command          Shared Object          Symbol", "# ........  ...............  .....................  ..........................", "#",
                                   *("  ".join((f"{row[0]:>9}", f"{row[1]:15}", f"{row[2]:21}", row[3])) for row in rows)], facts, 0


def cargo_audit(project):
    """Blocks of fields, each followed by a tree of who needs it."""
    lines, facts, count = ["    Fetching advisory database from `https://github.com/RustSec/advisory-db.git`", "      Loaded 712 security advisories (from /root/.cargo/advisory-db)",
                           "    Scanning Cargo.lock for vulnerabilities (312 crate dependencies)"], [], few(project, 40)
    for _ in range(count):
        crate, number, title, fixed = project.word().replace("_", "-"), f"RUSTSEC-2026-{project.number(1000, 9999)}", message(project), f">={project.random.randint(1, 9)}.{project.number(10, 999)}.0"
        lines += [f"Crate:     {crate}", f"Version:   0.{project.random.randint(1, 90)}.1", f"Title:     {title}", "Date:      2026-01-18", f"ID:        {number}", f"URL:       https://rustsec.org/advisories/{number}",
                  f"Solution:  Upgrade to {fixed}", "Dependency tree:", f"{crate} 0.1.43", f"└── {project.word(1)} 0.4.19", "    └── shop 0.1.0", ""]
        facts += [under_fact([f"Crate: {crate}"], "ID:", number), under_fact([f"Crate: {crate}"], "Upgrade to", fixed)]
    total = f"error: {count} vulnerabilities found!"
    return "cargo audit", [*lines, total], [*some(project, facts), row_fact(total)], 1


def flutter_test(project):
    """A line for each test with the counts so far; failures are blocks in between."""
    count = count_of(project)
    bad, lines, facts, failed = planted(project, count), [], [], 0
    for index in range(count):
        name, file = message(project, 2), f"/src/test/{project.word()}_test.dart"
        lines.append(f"00:{index % 60:02} +{index - failed}{f' -{failed}' if failed else ''}: {file}: {name}")
        if index in bad:
            failed += 1
            want, got, line = project.number(), project.number(), project.random.randint(3, 200)
            lines += [f"00:{index % 60:02} +{index - failed + 1} -{failed}: {file}: {name} [E]", f"  Expected: <{want}>", f"    Actual: <{got}>", "  package:matcher expect", f"  {file.removeprefix('/src/')} {line}:5  main.<fn>"]
            facts += [under_fact([f"{name} [E]"], "Expected", str(want)), under_fact([f"{name} [E]"], "Actual", str(got)), under_fact([f"{name} [E]"], f"{line}:5")]
    total = f"00:59 +{count - failed} -{failed}: Some tests failed."
    return "flutter test", [*lines, total], [*some(project, facts), row_fact(total)], 1


def migrations(project):
    """Applied and unapplied steps below the name of their part."""
    lines, facts = [], []
    for _ in range(few(project, 60)):
        part = project.word(1)
        lines.append(part)
        for number in range(1, project.random.randint(2, 30)):
            is_open = project.random.random() < 0.03
            name = f"{number:04}_{project.word()}"
            lines.append(f" [{' ' if is_open else 'X'}] {name}")
            if is_open:
                facts.append(row_fact(f"[ ] {name}"))
    return "python manage.py showmigrations", lines, some(project, facts), 0


def psql_script(project):
    """A line for each statement of a script; errors name the line of the script."""
    count = count_of(project)
    bad, lines, errors, facts = planted(project, count), [], [], []
    for index in range(count):
        if index in bad:
            said = f'ERROR:  relation "{project.word()}" already exists'
            errors.append(f"psql:dump/{project.word(1)}.sql:{index * 7 + 3}: {said}")
            facts.append(row_fact(*errors[-1].split(": ", 1)))
        else:
            lines.append(project.random.choice(["CREATE TABLE", "ALTER TABLE", "INSERT 0 1", "CREATE INDEX", "COPY 14"]))
    return "psql -f dump/all.sql", [*lines, *errors], facts, 0


def s3_sync(project):
    """Transfers, of which a few fail."""
    count = count_of(project)
    bad, lines, facts = planted(project, count), [], []
    for index in range(count):
        name = f"{project.word(1)}/{project.word()}.bin"
        if index in bad:
            lines.append(f"upload failed: ./{name} to s3://shop-data/{name} An error occurred (AccessDenied) when calling the PutObject operation: Access Denied")
            facts.append(row_fact("upload failed", f"./{name}", "AccessDenied"))
        else:
            lines.append(f"Completed {index * 3}.1 MiB/9.1 GiB (41.0 MiB/s) with {count - index} file(s) remaining")
            lines.append(f"upload: ./{name} to s3://shop-data/{name}")
    return "aws s3 sync . s3://shop-data", lines, some(project, facts), 1


def sbt_test(project):
    """Each line has its level in front; a failed check names its file behind it."""
    count = count_of(project)
    bad, lines, facts = planted(project, count), ["[info] welcome to sbt 1.9.9 (Debian Java 17.0.10)", "[info] loading project definition from /src/project"], []
    for index in range(count):
        if index % 9 == 0:
            lines.append(f"[info] {camel(project.word())}Spec:")
        name = message(project, 2)
        if index in bad:
            one, two, place = project.number(), project.number(), f"{camel(project.word())}Spec.scala:{project.random.randint(5, 300)}"
            lines += [f"[info] - {name} *** FAILED ***", f"[info]   {one} did not equal {two} ({place})"]
            facts.append(under_fact([f"{name} *** FAILED ***"], f"{one} did not equal {two} ({place})"))
        else:
            lines.append(f"[info] - {name}")
    total = f"[error] Failed: Total {count}, Failed {len(bad)}, Errors 0, Passed {count - len(bad)}"
    return "sbt test", [*lines, "[info] Run completed in 812 milliseconds.", total, "[error] (Test / test) sbt.TestsFailedException: Tests unsuccessful"], [*some(project, facts), row_fact(f"Failed {len(bad)}", f"Total {count}")], 1


def nextest(project):
    """A line for each test; failures show what they printed, between rules."""
    count = count_of(project)
    bad, lines, facts = planted(project, count), ["    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.12s", f"    Starting {count} tests across 4 binaries (run ID: 1, nextest profile: default)"], []
    for index in range(count):
        name = f"shop::{project.word(1)} {project.word(1)}::{project.word()}"
        if index in bad:
            file, line, one, two = f"src/{project.word()}.rs", project.random.randint(5, 400), project.number(), project.number()
            lines += [f"        FAIL [   0.0{index % 90:02}s] {name}", "──── STDOUT:             " + name, "", "running 1 test", f"test {name.split(' ')[1]} ... FAILED", "", "──── STDERR:             " + name, "",
                      f"thread '{name.split(' ')[1]}' panicked at {file}:{line}:9:", "assertion `left == right` failed", f"  left: {one}", f" right: {two}", ""]
            facts += [under_fact([name, name.split(" ")[1]], f"{file}:{line}:9"), under_fact([name, name.split(" ")[1], f"{file}:{line}:9"], "left:", str(one))]
        else:
            lines.append(f"        PASS [   0.0{index % 90:02}s] {name}")
    total = f"{count} tests run: {count - len(bad)} passed, {len(bad)} failed, 0 skipped"
    return "cargo nextest run", [*lines, "────────────", f"     Summary [   1.204s] {total}", "error: test run failed"], [*some(project, facts), row_fact(total)], 100


def testthat(project):
    """A table of files that is drawn as it goes, then failures between bars."""
    lines, facts, failed, passed = ["ℹ Testing shop", "✔ | F W  S  OK | Context"], [], 0, 0
    blocks = []
    for index in range(few(project)):
        name, good, is_bad = project.word(), project.random.randint(1, 40), project.random.random() < 0.15 or index == 1
        passed, failed = passed + good, failed + is_bad
        lines.append(f"{'✖' if is_bad else '✔'} | {int(is_bad)}       {good:2} | {name}")
        if is_bad:
            title, line, one, two = message(project, 3), project.random.randint(3, 300), project.number(), project.number()
            blocks += [f"Failure ('test-{name}.R:{line}:3'): {title}", f"total(x) (`actual`) not equal to {one} (`expected`).", "", f"  `actual`: {two}", f"`expected`: {one}", "─" * 78]
            facts += [row_fact(f"test-{name}.R:{line}:3", title), under_fact([title], "`actual`:", str(two)), under_fact([title], "`expected`:", str(one))]
    total = f"[ FAIL {failed} | WARN 0 | SKIP 0 | PASS {passed} ]"
    return "Rscript -e 'devtools::test()'", [*lines, "", "══ Results ═════════════════════════════════════════", "Duration: 1.2 s", "", "── Failed tests ─────────────────────────", *blocks, total], [*some(project, facts), row_fact(total)], 1


def dbt_run(project):
    """Steps with dots and a state, then the reasons of those that failed."""
    count = few(project, 400)
    bad, lines, reasons, facts = planted(project, count), ["12:00:01  Running with dbt=1.7.9", "12:00:02  Concurrency: 4 threads (target='dev')"], [], []
    for index in range(count):
        name = project.word()
        head = f"12:0{index // 60 % 10}:{index % 60:02}  {index + 1} of {count}"
        lines.append(f"{head} START sql table model shop.{name} {'.' * 30} [RUN]")
        if index in bad:
            column, line = project.word(), project.random.randint(3, 90)
            lines.append(f"{head} ERROR creating sql table model shop.{name} {'.' * 20} [ERROR in 0.31s]")
            reasons += ["", f"12:09:00    Database Error in model {name} (models/{name}.sql)", f'  column "{column}" does not exist', f"  LINE {line}:   {column},", f"  compiled Code at target/run/shop/models/{name}.sql"]
            facts += [row_fact(f"model {name}", f"models/{name}.sql"), under_fact([f"in model {name}"], f'column "{column}" does not exist'), under_fact([f"in model {name}"], f"LINE {line}:")]
        else:
            lines.append(f"{head} OK created sql table model shop.{name} {'.' * 22} [SELECT {project.random.randint(1, 9000)} in 0.{index % 90:02}s]")
    total = f"Done. PASS={count - len(bad)} WARN=0 ERROR={len(bad)} SKIP=0 TOTAL={count}"
    return "dbt run", [*lines, *reasons, "", f"12:09:09  {total}"], [*some(project, facts), row_fact("Done.", f"PASS={count - len(bad)}", f"ERROR={len(bad)}", f"TOTAL={count}")], 1


def nested_report(project):
    """A JSON report with a list in each entry of a list; the failures are in the inner ones."""
    suites, facts = [], []
    for _ in range(few(project, 60)):
        checks, suite = [], project.word()
        for _ in range(project.random.randint(1, 30)):
            name, is_bad = project.word(), project.random.random() < 0.02
            check = {"name": name, "state": "failed" if is_bad else "passed", "millis": project.random.randint(1, 90)}
            if is_bad:
                check["reason"] = message(project)
                facts.append(record_fact(name=name, state="failed", reason=check["reason"]))
            checks.append(check)
        suites.append({"suite": suite, "file": f"/src/{suite}.spec", "checks": checks})
    report = {"ok": not facts, "failed": len(facts), "suites": suites, "tool": "checker", "elapsed": project.number()}
    return "checker --report json", json.dumps(report, indent=project.random.choice([None, 2])).split("\n"), [*some(project, facts), record_fact(elapsed=report["elapsed"])], 1


def aws_table(project):
    """A table drawn with plus and bar below a title; one instance is stopped."""
    count = few(project, 300)
    bad, facts, rows = planted(project, count, 3), [], []
    for index in range(count):
        row = (f"i-0{project.number(10 ** 7, 10 ** 8)}", project.word(), "stopped" if index in bad else "running", f"10.0.{index // 250}.{index % 250}")
        rows.append(row)
        if index in bad:
            facts.append(row_fact(*row))
    titles = ("InstanceId", "Name", "State", "PrivateIp")
    widths = [max(len(row[at]) for row in [titles, *rows]) + 2 for at in range(4)]
    rule = "+" + "+".join("-" * width for width in widths) + "+"
    draw = lambda row: "|" + "|".join(f" {cell}".ljust(width) for cell, width in zip(row, widths)) + "|"  # noqa: E731
    total = sum(widths) + 3
    return "aws ec2 describe-instances --output table", ["-" * (total + 2), "|" + "DescribeInstances".center(total) + "|", rule, draw(titles), rule, *map(draw, rows), rule], facts, 0


def heap_histogram(project):
    """Numbered rows, the largest first; a total at the end."""
    count, size, lines = few(project, 400), project.number(10 ** 8, 10 ** 9), []
    rows = []
    for index in range(count):
        rows.append((index + 1, size // 40, size, f"shop.{project.word(1)}.{camel(project.word())}"))
        size = max(16, int(size * 0.9))
    lines = [f"{row[0]:4}:{row[1]:15}{row[2]:15}  {row[3]}" for row in rows]
    facts = [row_fact(str(row[2]), row[3]) for row in rows[:4]]
    total = f"Total{sum(row[1] for row in rows):14}{sum(row[2] for row in rows):15}"
    return "jcmd 77 GC.class_histogram", [" num     #instances         #bytes  class name (module)", "-" * 55, *lines, total], [*facts, row_fact(*total.split())], 0


def newman(project):
    """Requests with checks below, numbered where they failed, and the failures again at the end."""
    lines, facts, failures, number = ["newman", "", "shop", ""], [], [], 0
    for index in range(few(project, 150)):
        name = message(project, 2)
        lines += [f"→ {name}", f"  GET http://localhost:8080/{project.word(1)} [{200} OK, 1.2kB, {project.random.randint(2, 90)}ms]"]
        for _ in range(2):
            check = message(project, 3)
            if project.random.random() < 0.04 or index == 2 and number == 0:
                number += 1
                want, got = project.number(), project.number()
                lines.append(f"  {number}. {check}")
                failures += [f" {number:2}.  AssertionError      {check}", f"                         expected {got} to deeply equal {want}", "                         at assertion:0 in test-script", f"                         inside \"{name}\"", ""]
                facts += [under_fact([f"AssertionError {check}"], f"expected {got} to deeply equal {want}"), under_fact([f"AssertionError {check}"], f'inside "{name}"')]
            else:
                lines.append(f"  √  {check}")
        lines.append("")
    return "newman run shop.json", [*lines, "  #  failure              detail", "", *failures], some(project, facts), 1


FORMS = {one.__name__: one for one in (
    *CHECKERS, dotnet_test, swift_test, bazel_test, trivy_table, kubectl_apply, k6_summary, explain_analyze, journal, access_log,
    compose_logs, perf_report, cargo_audit, flutter_test, migrations, psql_script, s3_sync, sbt_test, nextest,
    testthat, dbt_run, nested_report, aws_table, heap_histogram, newman)}

LOGS = ("journal", "access_log", "compose_logs")


def case(name, seed):
    """The output in the form NAME that SEED gives."""
    return case_of("forms", FORMS[name], seed, name in LOGS)


def cases(seed, count):
    chosen = random.Random(seed)
    for _ in range(count):
        yield case(chosen.choice(sorted(FORMS)), chosen.getrandbits(40))
