// Every parser in the registry takes twice as long for twice the input, not four times.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "compaction/compactor.h"
#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

// An output that a parser recognises: `line` as often as wanted, % in it is a number.
struct Shape {
  std::string command;
  std::string head;
  std::string line;
  std::string tail = {};
};

const std::map<std::string_view, Shape>& shapes() {
  static const std::map<std::string_view, Shape> kShapes = {
      {"cargo",
       {"cargo test", "running 9 tests\n",
        "test tests::case_% ... FAILED\n---- tests::case_% stdout ----\nthread 'tests::case_%' "
        "panicked at src/lib.rs:%:9:\nassertion failed\n",
        "test result: FAILED. 0 passed; 9 failed\n"}},
      {"cmake",
       {"cmake -B b", "", "CMake Warning at a/CMakeLists.txt:% (message):\n  it is %\n\n"}},
      {"coverage",
       {"coverage report -m", "Name      Stmts   Miss  Cover   Missing\n---------------\n",
        "src/f_%.py      %      2    60%   3-4\n", "TOTAL     9      2    60%\n"}},
      {"ctest",
       {"ctest", "Test project /a\n", "  %/9 Test  #1: case_% ....***Failed    0.00 sec\n",
        "0% tests passed, 9 tests failed out of 9\n"}},
      {"divided table",
       {"psql -c x", " id | name | state\n----+------+-------\n", " % | item_% | ready\n"}},
      {"docker build",
       {"docker build .", "", "#% [%/9] RUN echo %\n#% 0.1 text %\n#% DONE 0.2s\n"}},
      {"eslint",
       {"npx eslint .", "", "/p/file_%.js\n  %:1  error  'x%' is not defined  no-undef\n\n",
        "\xe2\x9c\x96 9 problems (9 errors, 0 warnings)\n"}},
      {"find", {"find .", "", "./dir_%/sub/file_%.c\n./dir_%/sub/other_%.c\n./dir_%/one.h\n"}},
      {"gcc",
       {"gcc -c a.c", "", "a.c:%:2: warning: unused variable 'x%' [-Wunused]\n    % | int x;\n"}},
      {"git blame",
       {"git blame a.c", "", "4a5b6c7d (Ann Lee 2026-01-02 10:20:30 +0100 %) int a%;\n"}},
      {"git diff",
       {"git diff", "",
        "diff --git a/f% b/f%\nindex 1..2 100644\n--- a/f%\n+++ b/f%\n@@ -1,3 +1,3 @@ f\n "
        "a\n-b%\n+c%\n "
        "d\n"}},
      {"git log",
       {"git log", "",
        "commit 4a5b6c7d8e9f00112233445566778899aabbccdd\nAuthor: A% <a@b>\nDate:   Fri Jan 2 "
        "10:20:30 2026 +0100\n\n    subject %\n\n    body\n\n"}},
      {"git status",
       {"git status", "On branch main\nChanges not staged for commit:\n",
        "\tmodified:   src/d%/f_%.cc\n"}},
      {"go",
       {"go test ./...", "", "=== RUN   Test%\n    a_test.go:%: bad %\n--- FAIL: Test% (0.00s)\n",
        "FAIL\texample.org/a\t0.1s\n"}},
      {"go test -json",
       {"go test -json ./...", "",
        "{\"Action\":\"output\",\"Package\":\"a\",\"Output\":\"=== RUN   Test%\\n\"}\n"
        "{\"Action\":\"output\",\"Package\":\"a\",\"Output\":\"    a_test.go:%: bad %\\n\"}\n"
        "{\"Action\":\"output\",\"Package\":\"a\",\"Output\":\"--- FAIL: Test% (0.00s)\\n\"}\n",
        "{\"Action\":\"output\",\"Package\":\"a\",\"Output\":\"FAIL\\ta\\t0.1s\\n\"}\n"}},
      {"gradle",
       {"gradle test", "> Task :test FAILED\n",
        "CalcTest > case_% FAILED\n    java.lang.Error at A.java:%\n"}},
      {"git oneline", {"git log --oneline --graph", "", "* abcdef0 (tag: v%) subject %\n"}},
      {"git stat", {"git diff --numstat", "", "%\t1\tsrc/d_%/a.c\n"}},
      {"grep", {"grep -rn x .", "", "./src/f_%.c:%:x = %;\n./src/f_%.c-9-context\n"}},
      {"gtest",
       {"./tests", "", "[ RUN      ] S.Case%\na.cc:%: Failure\nno\n[  FAILED  ] S.Case% (0 ms)\n"}},
      {"install",
       {"npm install", "", "npm warn deprecated thing-%@1.0.0: old\nadded % packages\n"}},
      {"javac",
       {"javac A.java", "",
        "src/A.java:%: error: cannot find symbol\n    x%\n    ^\n  symbol: x%\n"}},
      {"jest",
       {"npx jest", "FAIL test/a.test.js\n",
        "  \xe2\x97\x8f suite \xe2\x80\xba case %\n\n    expect(received).toBe(expected)\n\n      "
        "at "
        "Object.<anonymous> (test/a.test.js:%:9)\n\n"}},
      {"json", {"cat a.json", "[\n", "{\"a\": %, \"b\": [1, 2, {\"c\": \"x%\"}]},\n", "0]\n"}},
      {"junit",
       {"java -jar junit.jar", "JUnit version 4.13\n",
        "%) case_%(CalcTest)\njava.lang.Error: %\n\tat A.b(A.java:%)\n",
        "Tests run: 9,  Failures: 9\n"}},
      {"kubectl describe",
       {"kubectl describe pods", "Name:   a\nLabels:  b=c\nContainers:\n",
        "  c%:\n    Image:   x:%\n    Port:  <none>\n    Command:\n      sh\nMounts:\n"}},
      {"log",
       {"./serve", "",
        "{\"level\":30,\"n\":%,\"msg\":\"served\"}\nlevel=error msg=\"bad %\" id=%\n"
        "  at a.b(c.js:%:1)\n"}},
      {"ls", {"ls -l", "", "-rw-r--r-- 1 ann staff % Nov 15 18:13 file_%.txt\n"}},
      {"make",
       {"make", "",
        "cc -c f_%.c\nf_%.c:%:1: error: bad %\nmake[1]: *** [Makefile:%: f_%.o] Error 1\n"}},
      {"maven",
       {"mvn test", "[INFO] Scanning for projects...\n",
        "[ERROR] CalcTest.case_% -- Time elapsed: 0.1 s <<< FAILURE!\norg.E: expected %\n\tat "
        "A.b(A.java:%)\n\n"}},
      {"mocha",
       {"npx mocha", "  0 passing (1ms)\n  9 failing\n\n",
        "  %) suite\n       case %:\n     Error: bad %\n      at Context.<anonymous> "
        "(a.js:%:1)\n\n"}},
      {"ninja", {"ninja", "", "[%/999999] Building CXX object f_%.o\nf_%.cc:%:1: error: bad %\n"}},
      {"node_test",
       {"node --test", "",
        "not ok % - case %\n  ---\n  duration_ms: 1\n  error: 'bad %'\n  ...\n"}},
      {"pytest",
       {"pytest", "=== test session starts ===\n",
        "FAILED tests/test_a.py::test_% - assert % == 0\n", "=== 9 failed in 0.1s ===\n"}},
      {"python_traceback",
       {"python3 a.py", "",
        "Traceback (most recent call last):\n  File \"a.py\", line %, in f\n    g(%)\nValueError: "
        "%\n"}},
      {"table", {"docker ps", "NAME      STATUS    AGE\n", "pod-%  Running   5d\n"}},
      {"tree", {"tree", ".\n", "\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 f_%.c\n"}},
      {"tsc", {"npx tsc", "", "src/a.ts(%,5): error TS2304: Cannot find name 'x%'.\n"}},
      {"unittest",
       {"python3 -m unittest", "",
        "======\nFAIL: test_% (a.T)\n------\nTraceback (most recent call last):\n  File \"a.py\", "
        "line %, in t\nAssertionError: %\n\n",
        "Ran 9 tests in 0.1s\n\nFAILED (failures=9)\n"}},
      {"vitest",
       {"npx vitest run", "",
        " FAIL  a.test.js > suite > case %\nAssertionError: expected %\n \xe2\x9d\xaf "
        "a.test.js:%:1\n\n",
        " Test Files  1 failed (1)\n      Tests  9 failed (9)\n"}}};
  return kShapes;
}

std::string output_of(const Shape& shape, std::size_t bytes) {
  std::string text = shape.head;
  for (std::size_t number = 10000; text.size() < bytes; ++number) {
    for (const char character : shape.line) {
      if (character == '%')
        text += std::to_string(number);
      else
        text += character;
    }
  }
  return text + shape.tail;
}

// Processor time of a whole rendering and of the parser alone, which may refuse in the end.
double seconds(const Parser& parser, const Shape& shape, std::size_t bytes) {
  const auto output = output_of(shape, bytes);
  const GivenOutput given(shape.command, 1, output);
  EXPECT_TRUE(given.is_recognised_by(parser)) << parser.name;
  Captured captured;
  captured.command = shape.command;
  captured.ending.exit_code = 1;
  captured.output = output;
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const std::clock_t start = std::clock();
    (void)given.parsed_by(parser);
    (void)render(captured, {});
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

// Shapes that no parser takes, or takes and cannot read.
TEST(Growth, HostileShapesAreLinear) {
  constexpr std::size_t kBytes = 1U << 20U;
  const std::vector<Shape> hostile = {{"./x", "", "error: thing % broke\n"},
                                      {"cat x.json", "", "[[[["},
                                      {"x", "", "\x1b[1mbold\x1b[0m\r10%\r20% "},
                                      {"find .", "a", "/a"},
                                      {"flake8", "", "src/a_%.py:%:1: E%01 bad %\n"},
                                      {"rspec", "", "  %) case %\n\n     got: %\n\n"},
                                      {"make && pytest", "", "lint: commands[%]> flake8 %\nx %\n"},
                                      {"./x", "", "step a_% of b/% is done\n  more of %\n"},
                                      {"git diff", "diff --git a/x b/x\n@@ -1 +1 @@\n", "+%\n"}};
  const auto took = [](const Shape& shape, std::size_t bytes) {
    const auto output = output_of(shape, bytes);
    Captured captured;
    captured.command = shape.command;
    captured.output = output;
    const std::clock_t start = std::clock();
    (void)render(captured, {});
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  for (const Shape& shape : hostile) {
    const double once = std::min(took(shape, kBytes), took(shape, kBytes));
    const double twice = std::min(took(shape, 2 * kBytes), took(shape, 2 * kBytes));
    EXPECT_LT(twice, once * 3 + 0.02) << shape.command;
  }
}

TEST(Growth, EveryParserIsLinear) {
  constexpr std::size_t kBytes = 256U << 10U;
  for (const Parser& parser : parsers()) {
    const auto shape = shapes().find(parser.name);
    ASSERT_NE(shape, shapes().end()) << parser.name << " has no shape to be measured with";
    const double once = seconds(parser, shape->second, kBytes);
    const double twice = seconds(parser, shape->second, 2 * kBytes);
    EXPECT_LT(twice, once * 3 + 0.02) << parser.name;
  }
}

}  // namespace
}  // namespace nutshell::compaction
