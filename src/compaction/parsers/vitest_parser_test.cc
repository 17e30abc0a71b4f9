#include "compaction/parsers/vitest_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(VitestParser, TellsFailuresAndUnhandledErrors) {
  const GivenOutput given("npm test", 1, R"(
 RUN  v4.1.12 /src

stdout | a.test.ts > math > adds wrong
hello log

 ❯ a.test.ts (3 tests | 1 failed) 50ms
     ✓ adds 4ms
     × adds wrong 7ms
 ✓ c.test.ts (2 tests) 5ms

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  a.test.ts > math > adds wrong
AssertionError: expected 3 to be 4 // Object.is equality

- Expected
+ Received

- 4
+ 3

 ❯ a.test.ts:4:68
      3|   it('adds', () => { expect(1 + 2).toBe(3); });
      4|   it('adds wrong', () => { expect(1 + 2).toBe(4); });
       |                                          ^

⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯

⎯⎯⎯⎯⎯⎯ Unhandled Errors ⎯⎯⎯⎯⎯⎯

⎯⎯⎯⎯ Unhandled Rejection ⎯⎯⎯⎯⎯
Error: unhandled one
 ❯ c.test.ts:3:39
⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯

 Test Files  1 failed | 1 passed (2)
      Tests  1 failed | 4 passed | 1 todo (6)
     Errors  1 error
   Start at  19:33:37
   Duration  1.42s (transform 93ms, setup 0ms)

)");
  EXPECT_TRUE(given.is_recognised_by(vitest_parser()));
  const auto facts = given.parsed_by(vitest_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"a.test.ts > math > adds wrong", "Unhandled Rejection"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "a.test.ts:4:68");
  EXPECT_EQ(facts->failures[0].detail.front(),
            "AssertionError: expected 3 to be 4 // Object.is equality");
  EXPECT_EQ(to_text(facts->failures[1].where), "c.test.ts:3:39");
  EXPECT_EQ(total_of(*facts, "passed"), 4U);
  EXPECT_EQ(total_of(*facts, "total"), 6U);
  EXPECT_EQ(total_of(*facts, "files failed"), 1U);
}

TEST(VitestParser, RefusesWhenFailuresWereCutOff) {
  const GivenOutput given("vitest run | tail", 1,
                          " Test Files  1 failed (1)\n      Tests  2 failed (2)\n");
  EXPECT_FALSE(given.parsed_by(vitest_parser()));
}

}  // namespace
}  // namespace nutshell::compaction
