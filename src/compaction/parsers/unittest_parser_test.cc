#include "compaction/parsers/unittest_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(UnittestParser, TellsFailuresWithTheirWholeMessage) {
  const GivenOutput given("python3 -m unittest -v", 1, R"(test_ok (ut.T.test_ok) ... ok
test_f (ut.T.test_f)
Docs of f. ... FAIL
test_sub (ut.T.test_sub) ... 
  test_sub (ut.T.test_sub) (i=1) ... FAIL

======================================================================
FAIL: test_f (ut.T.test_f)
Docs of f.
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/src/ut.py", line 6, in test_f
    self.assertEqual([1,2,3],[1,2,4], "msg here")
AssertionError: Lists differ: [1, 2, 3] != [1, 2, 4]

First differing element 2:
3
4

- [1, 2, 3]
?        ^

+ [1, 2, 4]
?        ^
 : msg here

======================================================================
ERROR: test_chain (ut.T.test_chain)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/src/ut.py", line 18, in test_chain
    try: {}["q"]
         ~~^^^^^
KeyError: 'q'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/src/ut.py", line 19, in test_chain
    raise ValueError("second") from e
ValueError: second

----------------------------------------------------------------------
Ran 8 tests in 0.007s

FAILED (failures=1, errors=1, skipped=1, expected failures=1)
)");
  const auto facts = given.parsed_by(unittest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"test_f (ut.T.test_f)", "test_chain (ut.T.test_chain)"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "/src/ut.py:6");
  EXPECT_EQ(facts->failures[0].detail.back(), " : msg here");
  EXPECT_EQ(facts->failures[1].word, "ERROR");
  EXPECT_EQ(facts->failures[1].detail.back(), "ValueError: second");
  EXPECT_EQ(total_of(*facts, "tests"), 8U);
  EXPECT_EQ(total_of(*facts, "expected failures"), 1U);
}

TEST(UnittestParser, ReadsAPassingRun) {
  const auto rule = std::string(70, '-');
  const GivenOutput given("python3 manage.py test", 0,
                          "..s\n" + rule + "\nRan 3 tests in 0.01s\n\nOK (skipped=1)\n");
  EXPECT_TRUE(given.is_recognised_by(unittest_parser()));
  const auto facts = given.parsed_by(unittest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(total_of(*facts, "skipped"), 1U);
}

}  // namespace
}  // namespace nutshell::compaction
