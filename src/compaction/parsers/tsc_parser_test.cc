#include "compaction/parsers/tsc_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(TscParser, ReadsPlainDiagnostics) {
  const GivenOutput given("npx tsc --noEmit", 2,
                          R"(ts/a.ts(4,8): error TS2554: Expected 1 arguments, but got 2.
ts/a.ts(6,5): error TS2322: Type '{ a: { b: string; }; }' is not assignable.
  The types of 'a.b' are incompatible between these types.
    Type 'string' is not assignable to type 'number'.
error TS5023: Unknown compiler option '--badopt'.
)");
  const auto facts = given.parsed_by(tsc_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(
      placed_messages(*facts),
      (std::vector<std::string>{"ts/a.ts:4:8 Expected 1 arguments, but got 2.",
                                "ts/a.ts:6:5 Type '{ a: { b: string; }; }' is not assignable.",
                                " Unknown compiler option '--badopt'."}));
  EXPECT_EQ(facts->diagnostics[1].rule, "TS2322");
  EXPECT_EQ(facts->diagnostics[1].detail.size(), 2U);
}

TEST(TscParser, ReadsPrettyDiagnostics) {
  const GivenOutput given(
      "npm run build", 2,
      R"(ts/a.ts:2:16 - error TS2322: Type 'string' is not assignable to type 'number'.

2 const p: P = { a: "x", b: { c: 3 } };
                 ~

  ts/a.ts:1:15 - The expected type comes from property 'a'
    1 interface P { a: number; b: { c: string } }
                    ~

ts/b.ts:1:75 - error TS2307: Cannot find module 'nofs'.

1 import fs from "nofs";
                 ~~~~~~


Found 2 errors in 2 files.

Errors  Files
     1  ts/a.ts:2
     1  ts/b.ts:1
)");
  EXPECT_TRUE(given.is_recognised_by(tsc_parser()));
  const auto facts = given.parsed_by(tsc_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->diagnostics.size(), 2U);
  EXPECT_EQ(facts->diagnostics[0].detail,
            (std::vector<std::string>{"ts/a.ts:1:15: The expected type comes from property 'a'"}));
  EXPECT_EQ(total_of(*facts, "errors"), 2U);
  EXPECT_TRUE(facts->kept.empty());
}

}  // namespace
}  // namespace nutshell::compaction
