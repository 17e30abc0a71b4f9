#include "compaction/parsers/gtest_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(GtestParser, TellsFailuresParametersAndTotals) {
  const GivenOutput given("./build/unit_tests", 1, R"(Running main() from gtest_main.cc
[==========] Running 3 tests from 2 test suites.
[ RUN      ] Math.Wrong
gt.cc:3: Failure
Expected equality of these values:
  1 + 1
    Which is: 2
  3
[  FAILED  ] Math.Wrong (0 ms)
[ RUN      ] Math.Passes
error: printed by a passing test
[       OK ] Math.Passes (0 ms)
[ RUN      ] Nums/P.Even/0
gt.cc:7: Failure
Value of: false
[  FAILED  ] Nums/P.Even/0, where GetParam() = 1 (0 ms)
[==========] 3 tests from 2 test suites ran. (0 ms total)
[  PASSED  ] 1 test.
[  FAILED  ] 2 tests, listed below:
[  FAILED  ] Math.Wrong
[  FAILED  ] Nums/P.Even/0, where GetParam() = 1

 2 FAILED TESTS
  YOU HAVE 1 DISABLED TEST
)");
  EXPECT_TRUE(given.is_recognised_by(gtest_parser()));
  const auto facts = given.parsed_by(gtest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"Math.Wrong", "Nums/P.Even/0"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "gt.cc:3");
  EXPECT_EQ(facts->failures[1].detail,
            (std::vector<std::string>{"where GetParam() = 1", "Value of: false"}));
  EXPECT_EQ(total_of(*facts, "failed"), 2U);
  EXPECT_EQ(total_of(*facts, "passed"), 1U);
  EXPECT_EQ(total_of(*facts, "disabled"), 1U);
}

TEST(GtestParser, NamesTheTestThatNeverEnded) {
  const GivenOutput given("./t", 139, R"([==========] Running 2 tests from 1 test suite.
[ RUN      ] Math.Crashes
about to crash
)");
  const auto facts = given.parsed_by(gtest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"Math.Crashes"}));
  EXPECT_EQ(facts->failures[0].word, "NO RESULT");
  EXPECT_EQ(facts->failures[0].detail, (std::vector<std::string>{"about to crash"}));
}

}  // namespace
}  // namespace nutshell::compaction
