#include "compaction/parsers/gradle_parser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(GradleParser, TellsFailedTestsAndWhatWentWrong) {
  const GivenOutput given("./gradlew test", 1, R"(> Task :compileJava UP-TO-DATE
> Task :test FAILED

CalcTest > wrong() FAILED
    org.opentest4j.AssertionFailedError: expected: <1> but was: <2>
        at app//org.junit.jupiter.api.AssertEquals.failNotEqual(AssertEquals.java:197)
        at app//x.CalcTest.wrong(CalcTest.java:8)

ATest > err FAILED
    java.lang.RuntimeException at ATest.java:2

4 tests completed, 2 failed, 1 skipped

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':test'.
> There were failing tests. See the report at: file:///src/build/reports/index.html

* Try:
> Run with --scan to get full insights.

BUILD FAILED in 10s
3 actionable tasks: 2 executed, 1 up-to-date
)");
  EXPECT_TRUE(given.is_recognised_by(gradle_parser()));
  const auto facts = given.parsed_by(gradle_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"CalcTest > wrong()", "ATest > err"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "CalcTest.java:8");
  EXPECT_EQ(to_text(facts->failures[1].where), "ATest.java:2");
  EXPECT_EQ(total_of(*facts, "failed"), 2U);
  EXPECT_EQ(facts->kept.size(), 5U);
  EXPECT_EQ(facts->kept.back(), "3 actionable tasks: 2 executed, 1 up-to-date");
}

TEST(GradleParser, TellsCompilerErrorsOfJavaAndKotlin) {
  const GivenOutput given("gradle build", 1, R"(> Task :compileJava FAILED
/src/A.java:1: error: cannot find symbol
public class A { public int f() { return x; } }
                                         ^
  symbol:   variable x
  location: class A
1 error
e: file:///src/B.kt:3:5 Unresolved reference: y

BUILD FAILED in 1s
)");
  const auto facts = given.parsed_by(gradle_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"/src/A.java:1 cannot find symbol",
                                      "/src/B.kt:3:5 Unresolved reference: y"}));
}

TEST(GradleParser, FailedTaskSaysWhyInItsOwnWords) {
  const GivenOutput given("gradle gen", 1, R"(> Task :gen FAILED
value 17 is too large

FAILURE: Build failed with an exception.

* What went wrong:
Execution failed for task ':gen'.
> Process 'command 'sh'' finished with non-zero exit value 3

BUILD FAILED in 1s
)");
  const auto facts = given.parsed_by(gradle_parser());
  ASSERT_TRUE(facts);
  EXPECT_NE(std::find(facts->kept.begin(), facts->kept.end(), "value 17 is too large"),
            facts->kept.end());
}

}  // namespace
}  // namespace nutshell::compaction
