#include "compaction/parsers/ctest_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(CtestParser, TellsHowEachTestFailed) {
  const GivenOutput given("make test", 2, R"(Running tests...
Test project /src/bm
    Start 1: good
1/5 Test #1: good .............................   Passed    0.01 sec
    Start 2: with space
2/5 Test #2: with space .......................***Failed    0.02 sec
error: argc was 2
running good 2

    Start 4: slow
3/5 Test #4: slow .............................***Timeout   1.02 sec

    Start 5: crash
4/5 Test #5: crash ............................***Exception: SegFault  0.01 sec

    Start 6: aborts
5/5 Test #6: aborts ...........................Subprocess aborted***Exception:   0.10 sec

20% tests passed, 4 tests failed out of 5

Total Test time (real) =   1.00 sec

The following tests FAILED:
	  2 - with space (Failed)
	  4 - slow (Timeout)
	  5 - crash (SEGFAULT)
	  6 - aborts (Subprocess aborted)
Errors while running CTest
make: *** [Makefile:71: test] Error 8
)");
  EXPECT_TRUE(given.is_recognised_by(ctest_parser()));
  const auto facts = given.parsed_by(ctest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"with space", "slow", "crash", "aborts"}));
  EXPECT_EQ(facts->failures[0].detail,
            (std::vector<std::string>{"error: argc was 2", "running good 2"}));
  EXPECT_EQ(facts->failures[1].word, "Timeout");
  EXPECT_EQ(facts->failures[2].word, "Exception: SegFault");
  EXPECT_EQ(total_of(*facts, "failed"), 4U);
  EXPECT_EQ(total_of(*facts, "tests"), 5U);
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"Total Test time (real) =   1.00 sec",
                                                   "make: *** [Makefile:71: test] Error 8"}));
}

TEST(CtestParser, LooksIntoGoogleTestPrograms) {
  const GivenOutput given("ctest -V", 8, R"(test 3
    Start 3: gt

3: Test command: /src/bm/gt
3: [==========] Running 2 tests from 1 test suite.
3: [ RUN      ] Math.Adds
3: [       OK ] Math.Adds (0 ms)
3: [ RUN      ] Math.Wrong
3: gt.cc:3: Failure
3: Value of: false
3: [  FAILED  ] Math.Wrong (0 ms)
1/1 Test #3: gt ...............................***Failed    0.01 sec

0% tests passed, 1 tests failed out of 1
)");
  const auto facts = given.parsed_by(ctest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"gt", "Math.Wrong"}));
  EXPECT_EQ(to_text(facts->failures[1].where), "gt.cc:3");
}

TEST(CtestParser, TakesNamesFromTheListWhenThatIsAllThereIs) {
  const GivenOutput given("ctest | tail -4", 8, R"(50% tests passed, 1 tests failed out of 2
The following tests FAILED:
	  3 - gt (Failed)
)");
  const auto facts = given.parsed_by(ctest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"gt"}));
}

}  // namespace
}  // namespace nutshell::compaction
