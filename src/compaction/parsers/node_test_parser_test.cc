#include "compaction/parsers/node_test_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(NodeTestParser, ReadsTap) {
  const GivenOutput given("node --test", 1, R"(TAP version 13
# Subtest: ok one
ok 1 - ok one
  ---
  duration_ms: 1.252912
  ...
# Subtest: suite
    # Subtest: inner bad
    not ok 1 - inner bad
      ---
      duration_ms: 0.11405
      location: '/src/a.test.js:4:53'
      failureType: 'testCodeFailure'
      error: 'inner msg'
      code: 'ERR_TEST_FAILURE'
      stack: |-
        TestContext.<anonymous> (/src/a.test.js:4:83)
        Test.run (node:internal/test_runner/test:796:25)
      ...
    1..1
not ok 2 - suite
  ---
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
1..2
# tests 3
# pass 1
# fail 1
# cancelled 0
# duration_ms 485.627902
)");
  const auto facts = given.parsed_by(node_test_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"suite > inner bad", "suite"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "/src/a.test.js:4:83");
  EXPECT_EQ(facts->failures[0].detail, (std::vector<std::string>{"inner msg"}));
  EXPECT_EQ(total_of(*facts, "fail"), 1U);
}

TEST(NodeTestParser, ReadsTheSpecReportAndItsList) {
  const GivenOutput given("npm test", 1, R"(✔ ok one (1.191481ms)
▶ suite
  ✔ inner ok (0.365684ms)
  ✖ inner bad (0.152527ms)
✖ suite (1.174154ms)
ℹ tests 3
ℹ pass 2
ℹ fail 1

✖ failing tests:

test at a.test.js:4:53
✖ inner bad (0.152527ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
  
  1 !== 2
  
      at TestContext.<anonymous> (/src/a.test.js:4:83)
      at Test.run (node:internal/test_runner/test:796:25) {
    generatedMessage: true,
    code: 'ERR_ASSERTION',
    actual: 1,
    expected: 2,
    operator: 'strictEqual'
  }
)");
  EXPECT_TRUE(given.is_recognised_by(node_test_parser()));
  const auto facts = given.parsed_by(node_test_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"suite > inner bad", "suite"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "/src/a.test.js:4:83");
  EXPECT_EQ(facts->failures[0].detail.at(1), "1 !== 2");
}

}  // namespace
}  // namespace nutshell::compaction
