#include "compaction/parsers/jest_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(JestParser, TellsFailuresWithExpectedAndReceived) {
  const GivenOutput given("npm test", 1, R"(FAIL ./a.test.js
  math
    ✓ adds (2 ms)
    ✕ adds wrong (16 ms)

  ● Console

    console.log
      note 1

      at Object.log (a.test.js:4:38)

  ● math › adds wrong

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

      3 |   test('adds', () => { expect(sum(1, 2)).toBe(3); });
    > 4 |   test('adds wrong', () => { expect(sum(1, 2)).toBe(4); });
        |                                                ^
      at Object.toBe (a.test.js:4:72)
      at run (node_modules/jest-circus/build/run.js:12:3)

FAIL ./d.test.js
  ● Test suite failed to run

    Cannot find module './nomodule' from 'd.test.js'

      at Resolver._throwModNotFoundError (../node_modules/jest-resolve/build/index.js:1031:11)
      at Object.require (d.test.js:1:11)

PASS ./c.test.js (5.2 s)
Test Suites: 2 failed, 1 passed, 3 total
Tests:       1 failed, 1 skipped, 3 passed, 5 total
Snapshots:   0 total
Time:        1.572 s
Ran all test suites.
)");
  EXPECT_TRUE(given.is_recognised_by(jest_parser()));
  const auto facts = given.parsed_by(jest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(
      failure_names(*facts),
      (std::vector<std::string>{"math › adds wrong", "./d.test.js: Test suite failed to run"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "a.test.js:4:72");
  EXPECT_EQ(facts->failures[0].detail,
            (std::vector<std::string>{"expect(received).toBe(expected) // Object.is equality",
                                      "Expected: 4", "Received: 3"}));
  EXPECT_EQ(to_text(facts->failures[1].where), "d.test.js:1:11");
  EXPECT_EQ(total_of(*facts, "failed"), 1U);
  EXPECT_EQ(total_of(*facts, "suites failed"), 2U);
}

TEST(JestParser, TellsARepeatedFailureOnce) {
  const GivenOutput given("jest", 1, R"(FAIL ./a.test.js
  ● one

    boom

Summary of all failing tests
FAIL ./a.test.js
  ● one

    boom

Test Suites: 1 failed, 1 total
Tests:       1 failed, 1 total
)");
  const auto facts = given.parsed_by(jest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->failures.size(), 1U);
}

}  // namespace
}  // namespace nutshell::compaction
