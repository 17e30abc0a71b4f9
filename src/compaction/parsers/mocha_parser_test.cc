#include "compaction/parsers/mocha_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(MochaParser, TellsWholeTitlesAndErrors) {
  const GivenOutput given("npm test", 2, R"(

  Array
    - pending
    1) throws
    #indexOf()
      ✔ returns -1
      2) fails here


  1 passing (43ms)
  1 pending
  2 failing

  1) Array
       throws:
     Error: mocha boom
second line
      at Context.<anonymous> (mocha/test.js:9:30)
      at process.processImmediate (node:internal/timers:483:21)

  2) Array
       #indexOf()
         fails here:

      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

1 !== 2

      + expected - actual

      -1
      +2
      
      at Context.<anonymous> (mocha/test.js:5:43)


)");
  EXPECT_TRUE(given.is_recognised_by(mocha_parser()));
  const auto facts = given.parsed_by(mocha_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"Array throws", "Array #indexOf() fails here"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "mocha/test.js:9:30");
  EXPECT_EQ(facts->failures[0].detail,
            (std::vector<std::string>{"Error: mocha boom", "second line"}));
  EXPECT_EQ(facts->failures[1].detail.back(), "+2");
  EXPECT_EQ(total_of(*facts, "failing"), 2U);
  EXPECT_EQ(total_of(*facts, "pending"), 1U);
}

}  // namespace
}  // namespace nutshell::compaction
