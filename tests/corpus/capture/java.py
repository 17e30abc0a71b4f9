"""javac, Maven and Gradle with JUnit, JUnit's own runner: oracle is the XML report, or what was planted."""
import os
import xml.etree.ElementTree as ElementTree

from scenario import TOOLS, Case, Missing, at_fact, failing, plant, row_fact, scenario, text_fact, with_versions

HOME = {"HOME": os.environ.get("HOME", "/")}
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>org.example</groupId><artifactId>sample</artifactId><version>1</version>
<properties><maven.compiler.release>17</maven.compiler.release>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId>
<version>5.10.2</version><scope>test</scope></dependency></dependencies>
<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin>
<plugin><artifactId>maven-compiler-plugin</artifactId><version>3.11.0</version></plugin></plugins></build>
</project>
"""
FLAWS = {
    "symbol": ("        return {name} + 1;\n", 16, "cannot find symbol"),
    "types": ("        int {name} = \"{number}\"; return 1;\n", 0, "String cannot be converted to int"),
    "missing": ("        int {name};\n        return {name};\n", 16, "variable {name} might not have been initialized"),
}


def write_class(project, folder, count, share):
    name, facts = project.word().capitalize(), []
    path, text = f"{folder}/{name}.java", f"public class {name} {{\n"
    bad = plant(project, count, share)
    kind = project.random.choice(["symbol", "types"])  # one pass finds these, another the third
    for index in range(count):
        text += f"    public static int {project.word()}() {{\n"
        if index in bad:
            flaw, column, message = FLAWS[kind]
            names = {"name": project.word(), "number": project.number()}
            column = column or 16 + len(names["name"])  # where the string begins
            text += flaw.format(**names)
            facts.append((path, text.count("\n"), column, message.format(**names), names["name"]))
        else:
            text += f"        return {project.number()};\n"
        text += "    }\n"
    project.write(path, text + "}\n")
    return facts


@scenario("javac", ["javac"], quick=True, variants=with_versions({
    "clean": {"files": 2, "count": 3, "share": "none"}, "one-error": {"files": 1, "count": 4, "share": "one"},
    "many": {"files": 5, "count": 8, "share": 0.5}, "all": {"files": 4, "count": 10, "share": "all"},
}, ["one-error", "many"]))
def javac(project, files, count, share):
    planted = []
    for _ in range(files):
        planted += write_class(project, "src", count, share)
    ran = project.run("javac -d out src/*.java")
    facts = [at_fact(path, line, 0, message) for path, line, _, message, _ in planted]
    facts += [text_fact(name) for *_, message, name in planted if "symbol" in message]
    if planted:
        facts.append(row_fact(str(len(planted)), ["error", "errors"]))
    return Case("", "javac -d out src/*.java", ran, facts, failing() if ran.exit_code else [])


JUPITER = "import static org.junit.jupiter.api.Assertions.*;\nimport org.junit.jupiter.api.Test;\n"
JUNIT4 = "import static org.junit.Assert.*;\nimport org.junit.Test;\n"
JARS = ["/usr/share/java/junit4.jar", "/usr/share/java/hamcrest-core.jar"]
OLD_JARS = [str(TOOLS / "junit/junit-4.12.jar"), str(TOOLS / "junit/hamcrest-core-1.3.jar")]


def write_junit(project, folder, classes, tests, share, imports=JUPITER):
    bad, planted, index = plant(project, classes * tests, share), {}, 0
    for _ in range(classes):
        name = project.word().capitalize() + "Test"
        text = f"{imports}public class {name} {{\n"
        for _ in range(tests):
            test, got, wanted = project.word(), project.number(), project.number()
            text += f"    @Test\n    public void {test}() {{\n"
            if index in bad:
                text += f"        assertEquals({wanted}, {got});\n"
                planted[f"{name}.{test}"] = (name, test, text.count("\n"), got, wanted)
            text += "    }\n"
            index += 1
        project.write(f"{folder}/{name}.java", text + "}\n")
    return planted


def reported(directory):
    """The tests that failed, by the XML of JUnit."""
    cases = [case for report in directory.glob("*.xml") for case in ElementTree.parse(report).getroot().iter("testcase")]
    return {f"{case.get('classname')}.{case.get('name')}" for case in cases if case.find("failure") is not None}


@scenario("maven", ["mvn"], variants={
    "all-pass": {"classes": 3, "tests": 5, "share": "none"}, "one-fails": {"classes": 3, "tests": 6, "share": "one"},
    "ten-percent": {"classes": 5, "tests": 12, "share": 0.1}, "all-fail": {"classes": 2, "tests": 5, "share": "all"},
    "compile-error": {"classes": 1, "tests": 1, "share": "none", "flaw": True},
    "batch": {"classes": 3, "tests": 6, "share": 0.1, "flags": " -B -ntp"},
    "quiet": {"classes": 3, "tests": 6, "share": 0.1, "flags": " -q"},
    "old-version-fails": {"classes": 3, "tests": 6, "share": 0.2, "tools": "maven/apache-maven-3.6.3/bin"},
    "new-version-fails": {"classes": 3, "tests": 6, "share": 0.2, "tools": "maven/apache-maven-3.9.9/bin"},
    "new-version-passes": {"classes": 3, "tests": 6, "share": "none", "tools": "maven/apache-maven-3.9.9/bin"},
    "new-version-compile-error": {"classes": 1, "tests": 1, "share": "none", "flaw": True,
                                  "tools": "maven/apache-maven-3.9.9/bin"},
})
def maven(project, classes, tests, share, flags="", flaw=False):
    project.write("pom.xml", POM)
    planted = write_junit(project, "src/test/java", classes, tests, share)
    errors = write_class(project, "src/main/java", 4, 0.5 if flaw else "none")
    command = f"mvn{flags} test"
    ran = project.run(command, environment=HOME)
    if b"Could not transfer" in ran.stdout or b"UnknownHost" in ran.stdout:
        raise Missing("Maven Central")
    facts = [at_fact(str(project.directory / path), line, column, message)
             for path, line, column, message, _ in errors]
    if not flaw:
        assert reported(project.directory / "target/surefire-reports") == set(planted)
    facts += [text_fact(test, name, [f"{name}.java:{line}", f"{test}:{line}"], f"<{wanted}>", f"<{got}>")
              for name, test, line, got, wanted in planted.values()]
    if not flaw and "-q" not in flags:
        facts.append(row_fact(str(classes * tests), ["Tests run", "tests", "passed"]))
        facts.append(row_fact(str(len(planted)), ["Failures", "failures", "failed"]) if planted else
                     text_fact(["BUILD SUCCESS", "passed", "success", "ok"]))
    return Case("", command, ran, facts, failing("build success") if ran.exit_code else [])


def present(jars):
    absent = [jar for jar in jars if not os.path.exists(jar)]
    if absent:
        raise Missing(" ".join(absent))
    return jars


@scenario("junit", ["java", "javac"], variants={
    "all-pass": {"classes": 2, "tests": 6, "share": "none"}, "one-fails": {"classes": 2, "tests": 6, "share": "one"},
    "ten-percent": {"classes": 3, "tests": 10, "share": 0.1}, "all-fail": {"classes": 1, "tests": 8, "share": "all"},
    "old-version-all-pass": {"classes": 2, "tests": 6, "share": "none", "jars": OLD_JARS},
    "old-version-ten-percent": {"classes": 3, "tests": 10, "share": 0.1, "jars": OLD_JARS},
})
def junit(project, classes, tests, share, jars=tuple(JARS)):
    path = ":".join([*present(jars), "out"])
    planted = write_junit(project, "src", classes, tests, share, JUNIT4)
    names = sorted(place.stem for place in (project.directory / "src").glob("*.java"))
    project.run(f"mkdir out && javac -cp {path} -d out src/*.java")
    command = f"java -cp {path} org.junit.runner.JUnitCore {' '.join(names)}"
    ran = project.run(command)
    facts = [text_fact(test, name, f"{name}.java:{line}", f"<{wanted}>", f"<{got}>")
             for name, test, line, got, wanted in planted.values()]
    facts.append(row_fact(str(classes * tests), ["tests", "Tests run"]))
    if planted:
        facts.append(row_fact(str(len(planted)), ["failures", "Failures", "failure"]))
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


CONSOLES = {"five": "junit/junit-platform-console-standalone-1.10.2.jar",
            "six": "junit/junit-platform-console-standalone-6.0.1.jar"}
CONSOLE_RUNS = {"all-pass": {"classes": 2, "tests": 6, "share": "none"}, "one-fails": {"classes": 2, "tests": 6, "share": "one"},
                "ten-percent": {"classes": 4, "tests": 10, "share": 0.1}, "all-fail": {"classes": 1, "tests": 6, "share": "all"},
                "summary": {"classes": 3, "tests": 8, "share": 0.2, "flags": " --details=summary"},
                "flat": {"classes": 2, "tests": 6, "share": 0.2, "flags": " --details=flat"},
                "colour": {"classes": 2, "tests": 5, "share": 0.2, "colour": True}}


@scenario("junit-console", ["java", "javac"], variants={
    f"{name}-{run}": {**variant, "jar": jar} for name, jar in CONSOLES.items() for run, variant in CONSOLE_RUNS.items()})
def junit_console(project, classes, tests, share, jar, flags="", colour=False):
    """JUnit's own console, which runs Jupiter's tests."""
    jar = present([str(TOOLS / jar)])[0]
    planted = write_junit(project, "src", classes, tests, share)
    project.run(f"mkdir out && javac -cp {jar} -d out src/*.java")
    command = f"java -jar {jar} execute{flags}{'' if colour else ' --disable-ansi-colors'} --disable-banner -cp out --scan-classpath"
    ran = project.run(command + " --reports-dir reports")
    assert reported(project.directory / "reports") == {f"{name}.{test}()" for name, test, *_ in planted.values()}
    facts = [text_fact(test, name, f"{name}.java:{line}", f"<{wanted}>", f"<{got}>")
             for name, test, line, got, wanted in planted.values()]
    if share != "all":
        facts.append(row_fact(str(classes * tests - len(planted)), ["tests successful", "passed"]))
    if planted:
        facts.append(row_fact(str(len(planted)), ["tests failed", "failed"]))
    return Case("", command, ran, facts, failing() if ran.exit_code else [])


GRADLE = "apply plugin: 'java'\ndependencies {{ testCompile files({}) }}\n"


@scenario("gradle", ["gradle"], variants=with_versions({
    "all-pass": {"classes": 3, "tests": 5, "share": "none"}, "one-fails": {"classes": 3, "tests": 6, "share": "one"},
    "ten-percent": {"classes": 5, "tests": 12, "share": 0.1}, "all-fail": {"classes": 2, "tests": 5, "share": "all"},
    "compile-error": {"classes": 1, "tests": 1, "share": "none", "flaw": True},
    "no-such-task": {"classes": 1, "tests": 1, "share": "none", "task": "{word}"},
    "quiet": {"classes": 2, "tests": 6, "share": 0.2, "flags": " -q"},
    "info": {"classes": 2, "tests": 6, "share": 0.2, "flags": " --info"},
    "stacktrace": {"classes": 2, "tests": 6, "share": 0.2, "flags": " --stacktrace"},
    "up-to-date": {"classes": 2, "tests": 3, "share": "none", "before": "test"},
    "build": {"classes": 2, "tests": 4, "share": "none", "task": "build"},
    "build-fails": {"classes": 2, "tests": 4, "share": 0.2, "task": "build --continue"},
}, ["all-pass", "ten-percent", "compile-error", "no-such-task", "build-fails"], new="debian-sid"))
def gradle(project, classes, tests, share, flaw=False, task="test", flags="", before=""):
    project.write("build.gradle", GRADLE.format(", ".join(f"'{jar}'" for jar in present(JARS))))
    planted = write_junit(project, "src/test/java", classes, tests, share, JUNIT4)
    errors = write_class(project, "src/main/java", 4, 0.5 if flaw else "none")
    task = task.format(word=project.word())
    if before:
        project.run(f"gradle --offline --no-daemon {before}")
    ran = project.run(f"gradle --offline --no-daemon{flags} {task}")
    facts = [at_fact(str(project.directory / path), line, 0, message) for path, line, _, message, _ in errors]
    if "-q" not in flags:  # it names none of them then
        facts += [text_fact(test, name, f"{name}.java:{line}") for name, test, line, _, _ in planted.values()]
    if planted:
        assert reported(project.directory / "build/test-results/test") == set(planted)
        facts.append(row_fact(str(classes * tests), ["tests", "tests completed"]))
        facts.append(row_fact(str(len(planted)), "failed"))
    if task.split()[0] not in ("test", "build"):
        facts.append(text_fact(f"Task '{task}' not found"))
    if "-q" not in flags:
        facts.append(text_fact("BUILD FAILED" if ran.exit_code else "BUILD SUCCESSFUL"))
    return Case("", f"gradle{flags} {task}", ran, facts, failing("build successful") if ran.exit_code else [])
