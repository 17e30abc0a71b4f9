#include "compaction/parsers/junit_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(JunitParser, ReadsTheConsoleLauncher) {
  const GivenOutput given(
      "java -jar junit-platform-console-standalone.jar --scan-classpath", 1,
      R"(Thanks for using JUnit! Support its development at https://junit.org/sponsoring

╷
├─ JUnit Jupiter ✔
│  └─ CalcTest ✔
│     ├─ ok() ✔
│     └─ par(int) ✔
│        └─ [2] 2 ✘ expected: <1> but was: <2>

Failures (1):
  JUnit Jupiter:CalcTest:par(int):[2] 2
    MethodSource [className = 'x.CalcTest', methodName = 'par', methodParameterTypes = 'int']
    => org.opentest4j.AssertionFailedError: expected: <1> but was: <2>
       org.junit.jupiter.api.Assertions.assertEquals(Assertions.java:531)
       x.CalcTest.par(CalcTest.java:11)
       [...]

Test run finished after 574 ms
[         2 containers found      ]
[         0 containers failed     ]
[         2 tests found           ]
[         1 tests successful      ]
[         1 tests failed          ]
)");
  EXPECT_TRUE(given.is_recognised_by(junit_parser()));
  const auto facts = given.parsed_by(junit_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"JUnit Jupiter:CalcTest:par(int):[2] 2"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "CalcTest.java:11");
  EXPECT_EQ(facts->failures[0].detail.front(), "x.CalcTest.par");
  EXPECT_EQ(total_of(*facts, "tests failed"), 1U);
}

TEST(JunitParser, ReadsJunit4) {
  const GivenOutput given("java org.junit.runner.JUnitCore ATest", 1,
                          "JUnit version 4.13.2\n"
                          "I..E.E\n"
                          "Time: 0.01\n"
                          "There were 2 failures:\n"
                          "1) bad(ATest)\n"
                          "java.lang.AssertionError: msg expected:<2> but was:<1>\n"
                          "\tat org.junit.Assert.fail(Assert.java:89)\n"
                          "\tat ATest.bad(ATest.java:2)\n"
                          "2) err(ATest)\n"
                          "java.lang.RuntimeException: e\n"
                          "\tat ATest.err(ATest.java:5)\n"
                          "\n"
                          "FAILURES!!!\n"
                          "Tests run: 3,  Failures: 2\n");
  const auto facts = given.parsed_by(junit_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"bad(ATest)", "err(ATest)"}));
  EXPECT_EQ(to_text(facts->failures[1].where), "ATest.java:5");
  EXPECT_EQ(total_of(*facts, "failures"), 2U);
}

constexpr const char* kFlat = R"(Test execution started. Number of static tests: 3
Started:     JUnit Jupiter ([engine:junit-jupiter])
Started:     bad() ([engine:junit-jupiter]/[class:x.CalcTest]/[nested-class:In]/[method:bad()])
Finished:    bad() ([engine:junit-jupiter]/[class:x.CalcTest]/[nested-class:In]/[method:bad()])
             => Exception: org.opentest4j.AssertionFailedError: expected: <1> but was: <2>
             second line
             \tat org.junit.jupiter.api.Assertions.assertEquals(Assertions.java:531)
             \tat x.CalcTest$In.bad(CalcTest.java:16)
Started:     [2] 2 ([engine:junit-jupiter]/[class:x.CalcTest]/[test-template:par(int)]/[test-template-invocation:#2])
Finished:    [2] 2 ([engine:junit-jupiter]/[class:x.CalcTest]/[test-template:par(int)]/[test-template-invocation:#2])
             => Exception: java.lang.IllegalStateException: no
Skipped:     off() ([engine:junit-jupiter]/[class:x.CalcTest]/[method:off()])
             => Reason: void x.CalcTest.off() is @Disabled
Started:     away() ([engine:junit-jupiter]/[class:x.CalcTest]/[method:away()])
Finished:    away() ([engine:junit-jupiter]/[class:x.CalcTest]/[method:away()])
             => Exception: org.opentest4j.TestAbortedException: Assumption failed: no net
Test execution finished.

[         1 tests skipped         ]
[         1 tests aborted         ]
[         %1 tests failed          ]
)";

std::string flat_with(std::string_view failed) {
  std::string text = kFlat;
  for (auto at = text.find("\\t"); at != std::string::npos; at = text.find("\\t"))
    text.replace(at, 2, "\t");
  return text.replace(text.find("%1"), 2, failed);
}

TEST(JunitParser, ReadsTheFlatConsole) {
  const auto output = flat_with("2");
  const GivenOutput given("java -jar junit.jar execute --details=flat", 1, output);
  const auto facts = given.parsed_by(junit_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"x.CalcTest.In.bad()", "x.CalcTest.par(int).#2:[2] 2"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "CalcTest.java:16");
  EXPECT_EQ(facts->failures[0].detail.at(1), "second line");
  const std::vector<std::string> kept = {
      "x.CalcTest.off()", "  => Reason: void x.CalcTest.off() is @Disabled", "x.CalcTest.away()",
      "  => Exception: org.opentest4j.TestAbortedException: Assumption failed: no net"};
  EXPECT_EQ(facts->kept, kept);
}

TEST(JunitParser, RefusesMoreExceptionsThanFailures) {
  const auto output = flat_with("1");
  const GivenOutput given("java -jar junit.jar execute --details=flat", 1, output);
  EXPECT_FALSE(given.parsed_by(junit_parser()));
}

}  // namespace
}  // namespace nutshell::compaction
