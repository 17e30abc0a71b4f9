// Checks for every parser that what a flag or subcommand asked for is told, or that the parser
// refuses. The outputs are those of the real tools, shortened.
#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

enum class Fate : std::uint8_t { Told, Refused };

struct Row {
  std::string_view parser = {};
  std::string_view command = {};
  int exit_code = 0;
  std::string output = {};
  Fate fate = Fate::Told;
  std::vector<std::string_view> told = {};
  std::vector<std::string_view> untold = {};  // not lines of the text: uniform rows, chatter
};

const Parser* parser_named(std::string_view name) {
  for (const Parser& parser : parsers()) {
    if (parser.name == name) return &parser;
  }
  return nullptr;
}

std::string text_of(const Facts& facts) {
  std::string text;
  for (const auto& failure : facts.failures) {
    text += failure.word + " " + failure.name + "  " + to_text(failure.where) + "\n";
    for (const auto& line : failure.detail)
      text += line + "\n";
  }
  for (const auto& diagnostic : facts.diagnostics) {
    text += to_text(diagnostic.where) + ": " + diagnostic.message + " [" + diagnostic.rule + "]\n";
    for (const auto& line : diagnostic.detail)
      text += line + "\n";
  }
  for (const auto& line : facts.kept)
    text += line + "\n";
  for (const auto& section : facts.sections) {
    text += section.head + "\n";
    for (const auto& line : section.lines)
      text += line + "\n";
  }
  for (const auto& total : facts.totals)
    text += std::to_string(total.count) + " " + total.word + "\n";
  return text;
}

std::string repeated(std::size_t times, std::string_view start, std::string_view end = "\n") {
  std::string text;
  for (std::size_t number = 1; number <= times; ++number)
    text.append(start).append(std::to_string(number)).append(end);
  return text;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {.parser = "go",
       .command = "go test -bench . ./...",
       .output = "goos: linux\ngoarch: amd64\npkg: example.com/veld\ncpu: AMD EPYC\n"
                 "BenchmarkSum-2     \t14721687\t        88.56 ns/op\t       0 B/op\n"
                 "BenchmarkSizes/n=16-2         \t773091567\t         1.912 ns/op\n"
                 "PASS\nok  \texample.com/veld\t13.878s\n",
       .told = {"BenchmarkSum-2 14721687 88.56 ns/op 0 B/op", "BenchmarkSizes/n=16-2",
                "pkg: example.com/veld"}},
      {.parser = "go",
       .command = "go test -v ./...",
       .exit_code = 1,
       .output = "=== RUN   TestSumA\n    veld_test.go:3: sum: got 3 want 4\n"
                 "--- FAIL: TestSumA (0.00s)\n=== RUN   TestSumB\n"
                 "    veld_test.go:4: note: ring cap 17\n--- PASS: TestSumB (0.00s)\n"
                 "=== RUN   TestSkipC\n    veld_test.go:5: needs VELD_DB\n"
                 "--- SKIP: TestSkipC (0.00s)\nFAIL\nFAIL\texample.com/veld\t0.004s\nFAIL\n",
       .told = {"FAIL TestSumA  veld_test.go:3", "sum: got 3 want 4",
                "TestSumB: veld_test.go:4: note: ring cap 17",
                "SKIP TestSkipC: veld_test.go:5: needs VELD_DB"}},
      {.parser = "go",
       .command = "go run ./cmd/veldctl",
       .exit_code = 1,
       .output = "fatal error: all goroutines are asleep - deadlock!\n\n"
                 "goroutine 1 [sync.WaitGroup.Wait]:\n"
                 "sync.(*WaitGroup).Wait(0x19c62ace00a0)\n"
                 "\t/usr/local/go/src/sync/waitgroup.go:206 +0x85\nmain.main()\n"
                 "\t/src/veldctl/main.go:3 +0x105\n\ngoroutine 5 [chan receive]:\n"
                 "main.worker(...)\n\t/src/veldctl/main.go:4\n"
                 "created by main.main in goroutine 1\n\t/src/veldctl/main.go:3 +0xb6\n\n"
                 "goroutine 6 [chan receive]:\nmain.worker(...)\n\t/src/veldctl/main.go:4\n"
                 "created by main.main in goroutine 1\n\t/src/veldctl/main.go:3 +0xf6\n"
                 "exit status 2\n",
       .told = {"goroutine 1 [sync.WaitGroup.Wait]:", "main.main /src/veldctl/main.go:3",
                "goroutines 5 6 [chan receive] ×2:", "main.worker /src/veldctl/main.go:4",
                "created by main.main in goroutine 1 /src/veldctl/main.go:3", "exit status 2"}},
      {.parser = "go",
       .command = "gofmt -d . ; go vet ./...",
       .output = "diff -u veld.go.orig veld.go\n--- veld.go.orig\n+++ veld.go\n@@ -5,3 +5,50 @@\n" +
                 repeated(50, "+func Sum") +
                 "# example.com/veld\n./veld.go:3:2: unreachable code\n",
       .fate = Fate::Refused},
      {.parser = "pytest",
       .command = "pytest -q --durations=5",
       .output = "....                                     [100%]\n"
                 "============================= slowest 5 durations =============================\n"
                 "0.15s call     tests/test_orb.py::test_slow\n\n(1 durations < 0.01s hidden.)\n"
                 "4 passed in 0.56s\n",
       .told = {"0.15s call     tests/test_orb.py::test_slow", "4 passed"}},
      {.parser = "pytest",
       .command = "pytest --collect-only -q",
       .output = repeated(60, "tests/test_orb.py::test_many") + "\n60 tests collected in 0.08s\n",
       .fate = Fate::Refused},
      {.parser = "pytest",
       .command = "pytest --collect-only -q",
       .output = repeated(9, "tests/test_orb.py::test_many") + "\n9 passed in 0.08s\n",
       .told = {"tests/test_orb.py::test_many1\n", "tests/test_orb.py::test_many9\n"}},
      {.parser = "pytest",
       .command = "pytest -v",
       .output =
           "============================= test session starts ==============================\n"
           "collected 3 items\n\ntests/test_orb.py::test_ok PASSED       [ 33%]\n"
           "tests/test_orb.py::TestBox::test_skip SKIPPED (needs kiln 2.0)      [ 66%]\n"
           "tests/test_orb.py::TestBox::test_xf XFAIL (bug KILN-77)             [100%]\n\n"
           "=================== 1 passed, 1 skipped, 1 xfailed in 0.56s ===================\n",
       .told = {"SKIPPED tests/test_orb.py::TestBox::test_skip (needs kiln 2.0)",
                "XFAIL tests/test_orb.py::TestBox::test_xf (bug KILN-77)"},
       .untold = {"test_ok"}},
      {.parser = "pytest",
       .command = "pytest --cov=src -q",
       .output =
           "....                                     [100%]\n"
           "================================ tests coverage ===============================\n"
           "_______________ coverage: platform linux, python 3.11.7-final-0 _______________\n\n"
           "Name              Stmts   Miss  Cover   Missing\n"
           "-----------------------------------------------\n"
           "src/full1.py          2      0   100%\n"
           "src/orb.py           12      3    75%   11-14\n"
           "-----------------------------------------------\n"
           "TOTAL                14      3    79%\n4 passed in 0.56s\n",
       .told = {"src/orb.py           12      3    75%   11-14", "TOTAL                14"},
       .untold = {"full1"}},
      {.parser = "pytest",
       .command = "pytest -q -l",
       .exit_code = 1,
       .output =
           "=================================== FAILURES ===================================\n"
           "________________________________ test_captured _________________________________\n\n"
           "    def test_captured():\n>       assert fold(4, 0)\n"
           "E       ZeroDivisionError: fold by zero\n\ni          = 59\n\n"
           "src/orb.py:8: ZeroDivisionError\n"
           "----------------------------- Captured stdout call -----------------------------\n" +
           repeated(30, "row ", " of frob table\n") + "lease held by worker-nine\n" +
           repeated(40, "row ", " of frob table\n") +
           "=========================== short test summary info ============================\n"
           "FAILED tests/test_orb.py::test_captured - ZeroDivisionError: fold by zero\n"
           "1 failed in 0.1s\n",
       .told = {"i          = 59", "lease held by worker-nine",
                "FAILED tests/test_orb.py::test_captured  src/orb.py:8"}},
      {.parser = "pytest",
       .command = "pytest -q",
       .output = ".                                        [100%]\n"
                 "=============================== warnings summary ==============================\n"
                 "tests/test_orb.py::test_widen_ok\n"
                 "  /src/orb.py:4: DeprecationWarning: widen is old, use stretch\n"
                 "    warnings.warn(\"widen is old, use stretch\", DeprecationWarning)\n\n"
                 "-- Docs: https://docs.pytest.org/en/stable/how-to/capture-warnings.html\n"
                 "1 passed, 1 warning in 0.56s\n",
       .told = {"/src/orb.py:4: DeprecationWarning: widen is old, use stretch",
                "warned: tests/test_orb.py::test_widen_ok"}},
      {.parser = "maven",
       .command = "mvn -B dependency:tree",
       .output = "[INFO] Scanning for projects...\n[INFO] Building veldmv 2.1\n"
                 "[INFO] --- maven-dependency-plugin:2.8:tree (default-cli) @ veldmv ---\n"
                 "[INFO] x.veld:veldmv:jar:2.1\n"
                 "[INFO] \\- junit:junit:jar:4.12:test\n"
                 "[INFO]    \\- org.hamcrest:hamcrest-core:jar:1.3:test\n[INFO] BUILD SUCCESS\n"
                 "[INFO] Total time:  8.764 s\n",
       .told = {"x.veld:veldmv:jar:2.1", "\\- junit:junit:jar:4.12:test",
                "   \\- org.hamcrest:hamcrest-core:jar:1.3:test", "BUILD SUCCESS"},
       .untold = {"Scanning"}},
      {.parser = "maven",
       .command = "mvn test",
       .exit_code = 1,
       .output = "[INFO] Scanning for projects...\n"
                 "Tests run: 4, Failures: 1, Errors: 1, Skipped: 1, Time elapsed: 0.077 sec <<< "
                 "FAILURE!\n"
                 "boom(x.CalcTest)  Time elapsed: 0.002 sec  <<< ERROR!\n"
                 "java.lang.ArithmeticException: / by zero\n\tat x.Calc.d(Calc.java:1)\n"
                 "\tat x.Calc.deep(Calc.java:2)\n"
                 "\tat org.junit.runners.ParentRunner.runLeaf(ParentRunner.java:325)\n\n"
                 "wrong(x.CalcTest)  Time elapsed: 0 sec  <<< FAILURE!\n"
                 "java.lang.AssertionError: sum expected:<4> but was:<5>\n"
                 "\tat x.CalcTest.wrong(CalcTest.java:6)\n\nResults :\n\n"
                 "Failed tests:   wrong(x.CalcTest): sum expected:<4> but was:<5>\n\n"
                 "Tests run: 4, Failures: 1, Errors: 1, Skipped: 1\n\n[INFO] BUILD FAILURE\n",
       .told = {"ERROR boom(x.CalcTest)  Calc.java:1", "at x.Calc.deep(Calc.java:2)",
                "FAILURE wrong(x.CalcTest)  CalcTest.java:6", "sum expected:<4> but was:<5>",
                "4 tests"},
       .untold = {"runLeaf"}},
      {.parser = "gradle",
       .command = "gradle dependencies",
       .output = "> Task :dependencies\n" + repeated(45, "+--- org.example:veld", ":1.0\n") +
                 "BUILD SUCCESSFUL in 1s\n",
       .fate = Fate::Refused},
      {.parser = "cmake",
       .command = "cmake -S . -B b",
       .output = "-- The C compiler identification is GNU 12.2.0\n"
                 "-- Detecting C compiler ABI info\n-- Detecting C compiler ABI info - done\n"
                 "-- veld: kiln backend ON (port 9911)\n"
                 "-- Found ZLIB: /usr/lib/x86_64-linux-gnu/libz.so (found version \"1.2.13\")\n"
                 "-- Looking for stdint.h\n-- Looking for stdint.h - found\n"
                 "-- Looking for frob/nope.h\n-- Looking for frob/nope.h - not found\n"
                 "-- Configuring done\n-- Generating done\n"
                 "-- Build files have been written to: /src/b\n",
       .told = {"identification is GNU 12.2.0", "kiln backend ON (port 9911)", "version \"1.2.13\"",
                "frob/nope.h - not found", "written to: /src/b"},
       .untold = {"stdint.h", "ABI info"}},
      {.parser = "ctest",
       .command = "ctest -V",
       .output = "Test project /src/b\ntest 1\n    Start 1: orb.case1\n\n"
                 "1: Test command: /src/b/veld \"1\"\n1: case 1 lease 4471\n"
                 "1/1 Test #1: orb.case1 ........................   Passed    0.00 sec\n\n"
                 "100% tests passed, 0 tests failed out of 1\n\nLabel Time Summary:\n"
                 "fast    =   0.01 sec*proc (1 test)\n",
       .told = {"orb.case1: case 1 lease 4471", "fast    =   0.01 sec*proc (1 test)"}},
      {.parser = "gcc",
       .command = "cppcheck --enable=all --template=gcc main.c",
       .output = "main.c:5:58: warning: Variable 'dead' is assigned [unreadVariable]\n"
                 "main.c:4:0: style: The function 'unused_fn' is never used. [unusedFunction]\n",
       .fate = Fate::Refused},
      {.parser = "gcc",
       .command = "gcc und.c -o und",
       .exit_code = 1,
       .output = "/usr/bin/ld: /tmp/cctyp3TW.o: in function `main':\n"
                 "und.c:(.text+0xf): undefined reference to `frob'\n"
                 "/usr/bin/ld: und.c:(.text+0x16): undefined reference to `glop'\n"
                 "collect2: error: ld returned 1 exit status\n",
       .told = {"undefined reference to `frob'", "2 linker errors",
                "collect2: error: ld returned 1 exit status"},
       .untold = {"3 errors"}},
      {.parser = "coverage",
       .command = "coverage report -m",
       .output = "Name              Stmts   Miss  Cover   Missing\n"
                 "-----------------------------------------------\n"
                 "src/full1.py          2      0   100%\n"
                 "src/orb.py           12      3    75%   11-14, 20\n"
                 "-----------------------------------------------\n"
                 "TOTAL                14      3    79%\n",
       .told = {"src/orb.py 12 3 75% 11-14, 20", "TOTAL 14 3 79%"},
       .untold = {"full1"}},
      {.parser = "coverage",
       .command = "go tool cover -func=c.out",
       .output = "example.com/veld/veld.go:7:\tPush\t100.0%\n"
                 "example.com/veld/veld.go:9:\tDeep\t66.7%\ntotal:\t(statements)\t77.8%\n",
       .told = {"example.com/veld/veld.go:9: Deep 66.7%", "total: (statements) 77.8%"},
       .untold = {"Push"}},
      {.parser = "git diff",
       .command = "gofmt -d .",
       .output = "diff veld.go.orig veld.go\n--- veld.go.orig\n+++ veld.go\n@@ -1,2 +1,2 @@\n"
                 " package veld\n-func  F() {}\n+func F() {}\n",
       .told = {"# veld.go +1 -1", "+func F() {}"}},
      {.parser = "gcc",
       .command = "clang-tidy src/a.c",
       .output = "854 warnings generated.\n1712 warnings generated.\n"
                 "src/a.c:5:22: warning: 9609 is a magic number [readability-magic-numbers]\n"
                 "Suppressed 1711 warnings (1711 in non-user code).\n",
       .told = {"src/a.c:5:22: 9609 is a magic number [readability-magic-numbers]", "1 warnings",
                "Suppressed 1711 warnings"},
       .untold = {"2566"}},
      {.parser = "gcc",
       .command = "mypy --pretty src",
       .exit_code = 1,
       .output = "src/a.py:12: error: Incompatible return value type (got \"int\",\n"
                 "expected \"str\")  [return-value]\n",
       .fate = Fate::Refused},
      {.parser = "git diff",
       .command = "git diff --word-diff",
       .output = "diff --git a/a.md b/a.md\nindex a884dbf..63f4780 100644\n--- a/a.md\n+++ b/a.md\n"
                 "@@ -1,3 +1,3 @@\n# [-Compaction:-]{+Shortening:+} what a model reads\n\n"
                 "Outputs below 80 [-tokens-]{+marks+} are shown\n",
       .fate = Fate::Refused},
      {.parser = "git diff",
       .command = "git diff --stat --patch",
       .output = " src/a.c | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
                 "diff --git a/src/a.c b/src/a.c\nindex 1..2 100644\n--- a/src/a.c\n+++ b/src/a.c\n"
                 "@@ -1 +1 @@\n-int a;\n+int b;\n",
       .told = {" src/a.c | 2 +-", "# src/a.c +1 -1", "+int b;"}},
      {.parser = "git stat",
       .command = "git diff --numstat HEAD~20",
       .output = repeated(60, "1\t1\tsrc/a", ".c\n") + "3000\t2\tsrc/gen/big table.c\n" +
                 repeated(60, "1\t1\tlib/b", ".c\n") + "0\t0\told.md => new.md\n",
       .told = {"largest:\n src/gen/big table.c +3000 -2", "src/:\n +1 -1 each: a1.c a2.c",
                "old.md => new.md"}},
      {.parser = "git stat",
       .command = "git diff --name-status HEAD~3",
       .output = "R100\ta.md\tb.md\nD\tsrc/old.c\n" + repeated(9, "M\tsrc/net/x", ".c\n"),
       .told = {"M (9):\nsrc/net/: x1.c x2.c", "D (1):\nsrc/old.c", "R100\ta.md\tb.md"}},
      {.parser = "git oneline",
       .command = "git log --graph --oneline --decorate",
       .output = repeated(150, "* abcdef0 change ") + "|\\\n* 1a2b3c4 (tag: v1.2) release\n|/\n" +
                 repeated(150, "* abcdef0 change "),
       .told = {"with refs:\n 1a2b3c4 (tag: v1.2) release\n"}},
      {.parser = "unittest",
       .command = "python3 -m unittest -v",
       .output = "test_a (t.T.test_a) ... ok\ntest_b (t.T.test_b) ... skipped 'needs kiln'\n\n"
                 "----------------------------------------------------------------------\n"
                 "Ran 2 tests in 0.001s\n\nOK (skipped=1)\n",
       .told = {"test_b (t.T.test_b) ... skipped 'needs kiln'"},
       .untold = {"test_a"}},
      {.parser = "jest",
       .command = "npx jest --coverage",
       .output = "PASS test/a.test.js\n  math\n    \xe2\x9c\x93 adds ok (2 ms)\n"
                 "    \xe2\x97\x8b skipped needs kiln\n"
                 "----------|---------|----------|---------|---------|-------------------\n"
                 "File      | % Stmts | % Branch | % Funcs | % Lines | Uncovered Line #s \n"
                 "----------|---------|----------|---------|---------|-------------------\n"
                 "All files |   72.72 |        0 |   85.71 |   72.72 |                   \n"
                 " a.js     |    62.5 |        0 |      50 |    62.5 | 2                 \n"
                 " full1.js |     100 |      100 |     100 |     100 |                   \n"
                 "----------|---------|----------|---------|---------|-------------------\n\n"
                 "Test Suites: 1 passed, 1 total\nTests:       1 skipped, 1 passed, 2 total\n",
       .told = {"All files|72.72|0|85.71|72.72|", " a.js|62.5|0|50|62.5|2",
                "\xe2\x97\x8b skipped needs kiln"},
       .untold = {"full1", "adds ok"}},
      {.parser = "cargo",
       .command = "cargo clippy",
       .output = "    Checking veldrs v0.3.1 (/src)\nwarning: unneeded `return` statement\n"
                 " --> src/lib.rs:2:37\n  |\n2 | pub fn add(a: i32) -> i32 { return a; }\n"
                 "  |                             ^^^^^^^^\n  |\n"
                 "  = help: for further information visit "
                 "https://rust-lang.github.io/rust-clippy/master/index.html#needless_return\n"
                 "  = note: `#[warn(clippy::needless_return)]` on by default\n\n"
                 "warning: unneeded `return` statement\n --> src/lib.rs:3:81\n  |\n"
                 "3 | pub fn first() -> i32 { return 0; }\n  |                         ^^^^^^^^\n"
                 "  = help: for further information visit "
                 "https://rust-lang.github.io/rust-clippy/master/index.html#needless_return\n\n"
                 "warning: `veldrs` (lib) generated 2 warnings\n    Finished `dev` profile\n",
       .told = {"src/lib.rs:2:37: unneeded `return` statement [clippy::needless_return]",
                "src/lib.rs:3:81: unneeded `return` statement [clippy::needless_return]"}},
      {.parser = "cargo",
       .command = "cargo doc --no-deps",
       .output = " Documenting veldrs v0.3.1 (/src)\n    Finished `dev` profile in 1.2s\n"
                 "   Generated /src/target/doc/veldrs/index.html\n",
       .told = {"Generated /src/target/doc/veldrs/index.html"}},
      {.parser = "cargo",
       .command = "cargo test -- --show-output",
       .output = "running 1 test\ntest tests::ok_a ... ok\n\nsuccesses:\n\n"
                 "---- tests::ok_a stdout ----\nlease 4471\n\n\nsuccesses:\n    tests::ok_a\n\n"
                 "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
       .told = {"lease 4471", "1 passed"},
       .untold = {"FAIL"}}};
  return kRows;
}

// Another program's words inside of blocks that a parser counts.
const std::vector<Row>& foreign_rows() {
  static const std::vector<Row> kRows = {
      {.parser = "node_test",
       .command = "node --test",
       .output = "TAP version 13\n# Subtest: one\nok 1 - one\n  ---\n"
                 "ERROR: the lease of kiln is gone\n    holder: worker-nine\n"
                 "  duration_ms: 0.1\n  ...\n1..1\n# tests 1\n# pass 1\n# fail 0\n",
       .told = {"ERROR: the lease of kiln is gone", "holder: worker-nine", "1 pass"},
       .untold = {"duration_ms"}},
      {.parser = "gradle",
       .command = "gradle test",
       .exit_code = 1,
       .output = "> Task :test FAILED\n\nFAILURE: Build failed with an exception.\n\n"
                 "* What went wrong:\nExecution failed for task ':test'.\n\n"
                 "* Try:\n> Run with --stacktrace option to get the stack trace.\n\n"
                 "kiln says that the door is open\n* Get more help at https://help.gradle.org\n"
                 "kiln/plan.zig:7:3: E042 no lease\n\nBUILD FAILED in 1s\n",
       .told = {"kiln says that the door is open", "kiln/plan.zig:7:3: E042 no lease"},
       .untold = {"--stacktrace"}},
      {.parser = "pytest",
       .command = "pytest -q",
       .output = ".                                        [100%]\n"
                 "=============================== warnings summary ==============================\n"
                 "tests/test_orb.py::test_one\n"
                 "  /src/orb.py:4: DeprecationWarning: widen is old, use stretch\n"
                 "    warnings.warn(\"widen is old\")\n\n"
                 "kiln/plan.zig:7:3: E042 no lease\n" +
                 repeated(20, "tests/test_orb.py::test_") + "\n1 passed, 1 warning in 0.56s\n",
       .told = {"kiln/plan.zig:7:3: E042 no lease"},
       .untold = {"warned: tests/test_orb.py::test_1"}},
      {.parser = "go",
       .command = "go run .",
       .exit_code = 1,
       .output = "panic: boom\n\ngoroutine 1 [running]:\ntesting.tRunner(0x17, 0x59)\n"
                 "kiln/plan.zig:7:3: E042 no lease\n"
                 "\t/usr/local/go/src/testing/testing.go:2036 +0xea\nmain.main()\n"
                 "\t/src/main.go:3 +0x105\nexit status 2\n",
       .told = {"kiln/plan.zig:7:3: E042 no lease", "main.main /src/main.go:3"}},
      {.parser = "json",
       .command = "npm audit --json",
       .output = "{\n" + repeated(20, " \"key", "\": 12,\n") +
                 "ERROR: the lease of kiln is gone\n   holder: worker-nine\n"
                 " \"total\": 4711\n}\n",
       .told = {"ERROR: the lease of kiln is gone", "holder: worker-nine", "total: 4711"}}};
  return kRows;
}

void expect_fates(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Parser* parser = parser_named(row.parser);
    ASSERT_NE(parser, nullptr) << row.parser;
    const GivenOutput given(row.command, row.exit_code, row.output);
    ASSERT_TRUE(given.is_recognised_by(*parser)) << row.parser << ": " << row.command;
    const auto facts = given.parsed_by(*parser);
    ASSERT_EQ(facts.has_value(), row.fate == Fate::Told) << row.parser << ": " << row.command;
    if (!facts) continue;
    const auto text = text_of(*facts);
    for (const auto told : row.told)
      EXPECT_TRUE(contains(text, told)) << row.command << " does not tell: " << told << "\n"
                                        << text;
    for (const auto untold : row.untold)
      EXPECT_FALSE(contains(text, untold)) << row.command << " tells: " << untold << "\n" << text;
  }
}

TEST(Payload, IsToldOrTheParserRefuses) {
  expect_fates(rows());
}

TEST(Payload, WordsOfOtherProgramsInsideABlockAreTold) {
  expect_fates(foreign_rows());
}

// Lines of other tools that have the form of one line of a tool known here.
TEST(Payload, ToolIsRecognisedByWhatItsOutputIs) {
  const auto is_taken = [](std::string_view parser, std::string_view command, std::string output) {
    return GivenOutput(command, 0, std::move(output)).is_recognised_by(*parser_named(parser));
  };
  EXPECT_FALSE(is_taken("cargo", "pip download six", "  Downloading six-1.16.0.whl (11 kB)\n"));
  EXPECT_TRUE(is_taken("cargo", "sh b.sh", " Downloading crates ...\n"));
  EXPECT_FALSE(is_taken("ninja", "yarn", "[1/4] Resolving packages...\n[4/4] Building...\n"));
  EXPECT_TRUE(is_taken("ninja", "sh b.sh", "[0/1] Re-running CMake...\n"));
  EXPECT_FALSE(is_taken("go", "staticcheck ./...", "a.go:3:2: func f is unused (U1000)\n"));
  EXPECT_TRUE(is_taken("go", "sh b.sh", "# example.com/veld\n./a.go:3:2: undefined: x\n"));
  EXPECT_FALSE(is_taken("go", "go tool cover -func=c.out", "a.go:3:\tSum\t66.7%\n"));
  EXPECT_FALSE(is_taken("ls", "tar tvf a.tar",
                        "-rw-r--r-- ann/staff 120 2026-01-02 10:20 a name\n"
                        "-rw-r--r-- ann/staff 120 2026-01-02 10:20 b name\n"
                        "-rw-r--r-- ann/staff 120 2026-01-02 10:20 c name\n"));
}

// With these flags the lines that are chatter otherwise are the answer.
TEST(Payload, FlagsThatAskForCommandsAreKnown) {
  const std::string make = "cc -c a.c -o a.o\nmake[1]: Entering directory '/src'\n";
  for (const auto* command : {"make -n", "make -Bn", "make --dry-run", "make -p"})
    EXPECT_FALSE(GivenOutput(command, 0, make).is_recognised_by(*parser_named("make"))) << command;
  EXPECT_TRUE(GivenOutput("make -j4", 0, make).is_recognised_by(*parser_named("make")));
  const std::string ninja = "[1/2] cc -c a.c -o a.o\n[2/2] cc a.o\n";
  for (const auto* command : {"ninja -n -v", "ninja -nv", "ninja -t targets all"})
    EXPECT_FALSE(GivenOutput(command, 0, ninja).is_recognised_by(*parser_named("ninja")))
        << command;
  const std::string ctest = "Test project /src/b\n  Test #1: orb.case1\n\nTotal Tests: 1\n";
  EXPECT_FALSE(GivenOutput("ctest -N", 0, ctest).is_recognised_by(*parser_named("ctest")));
}

}  // namespace
}  // namespace nutshell::compaction
