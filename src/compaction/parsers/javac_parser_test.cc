#include "compaction/parsers/javac_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(JavacParser, TellsEqualMessagesAboutDifferentSymbols) {
  const GivenOutput given("javac -Xlint:all B.java", 1, R"(B.java:2: error: cannot find symbol
public class B { int f() { return x; } List l = new ArrayList(); foo.bar(); }
                                  ^
  symbol:   variable x
  location: class B
B.java:2: warning: [rawtypes] found raw type: List
public class B { int f() { return x; } List l = new ArrayList(); foo.bar(); }
                                       ^
  missing type arguments for generic class List<E>
B.java:2: error: cannot find symbol
public class B { int f() { return x; } List l = new ArrayList(); foo.bar(); }
                                                                 ^
  symbol:   variable foo
  location: class B
Note: Some messages have been simplified
2 errors
1 warning
)");
  const auto facts = given.parsed_by(javac_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts), (std::vector<std::string>{"B.java:2 cannot find symbol",
                                                               "B.java:2 found raw type: List",
                                                               "B.java:2 cannot find symbol"}));
  EXPECT_EQ(facts->diagnostics[1].rule, "rawtypes");
  EXPECT_EQ(facts->diagnostics[2].detail.front(), "symbol:   variable foo");
  EXPECT_EQ(total_of(*facts, "errors"), 2U);
  EXPECT_EQ(total_of(*facts, "warnings"), 1U);
}

}  // namespace
}  // namespace nutshell::compaction
