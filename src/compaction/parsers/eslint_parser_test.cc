#include "compaction/parsers/eslint_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(EslintParser, ReadsStylishRows) {
  const GivenOutput given("npm run lint", 1, R"(
/src/a.js
  1:5   warning  'unused' is assigned a value but never used  no-unused-vars
  1:15  error    Missing semicolon                            semi

/src/b.js
  1:9  error  Parsing error: Unexpected token ;

✖ 3 problems (2 errors, 1 warning)
  1 error and 0 warnings potentially fixable with the `--fix` option.

)");
  EXPECT_TRUE(given.is_recognised_by(eslint_parser()));
  const auto facts = given.parsed_by(eslint_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"/src/a.js:1:5 'unused' is assigned a value but never used",
                                      "/src/a.js:1:15 Missing semicolon",
                                      "/src/b.js:1:9 Parsing error: Unexpected token ;"}));
  EXPECT_EQ(facts->diagnostics[0].severity, Severity::Warning);
  EXPECT_EQ(facts->diagnostics[1].rule, "semi");
  EXPECT_EQ(total_of(*facts, "problems"), 3U);
  EXPECT_EQ(total_of(*facts, "errors"), 2U);
}

TEST(EslintParser, ReadsCompactAndUnixRows) {
  const GivenOutput given("eslint -f compact .", 1,
                          "/src/a.js: line 1, col 5, Warning - never used. (no-unused-vars)\n"
                          "/src/a.js:2:9: Expected '==='. [Error/eqeqeq]\n"
                          "\n2 problems\n");
  const auto facts = given.parsed_by(eslint_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts), (std::vector<std::string>{"/src/a.js:1:5 never used.",
                                                               "/src/a.js:2:9 Expected '==='."}));
  EXPECT_EQ(facts->diagnostics[1].rule, "eqeqeq");
}

TEST(EslintParser, RefusesWhenRowsAreMissing) {
  const GivenOutput given("eslint . | tail -2", 1, "✖ 3 problems (2 errors, 1 warning)\n");
  EXPECT_FALSE(given.parsed_by(eslint_parser()));
}

}  // namespace
}  // namespace nutshell::compaction
