#include "compaction/parsers/make_parser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(MakeParser, TellsTheDeepestFailureAndTheCompilersWords) {
  const GivenOutput given("make -C mk", 2, R"(make: Entering directory '/src/mk'
gcc -Wall -c x.c -o x.o
x.c: In function ‘f’:
x.c:1:17: warning: unused variable ‘u’ [-Wunused-variable]
    1 | int f(void){int u;return 0;}
      |                 ^
make -C sub
make[1]: Entering directory '/src/mk/sub'
gcc -c y.c
y.c:1:20: error: ‘zz’ undeclared (first use in this function)
    1 | int g(void){return zz;}
      |                    ^~
make[1]: *** [Makefile:2: all] Error 1
make[1]: Leaving directory '/src/mk/sub'
make: *** [Makefile:4: all] Error 2
make: Leaving directory '/src/mk'
)");
  EXPECT_TRUE(given.is_recognised_by(make_parser()));
  const auto facts = given.parsed_by(make_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"x.c:1:17 unused variable ‘u’",
                                      "y.c:1:20 ‘zz’ undeclared (first use in this function)"}));
  EXPECT_EQ(facts->kept,
            (std::vector<std::string>{"make[1]: *** [Makefile:2: all] Error 1",
                                      "make: *** [Makefile:4: all] Error 2", "make -C sub"}));
}

TEST(MakeParser, KeepsWhatMakeItselfCouldNotDo) {
  const GivenOutput missing("make test", 2,
                            "make: *** No rule to make target 'm.o', needed by 'test'.  Stop.\n");
  const auto facts = missing.parsed_by(make_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept.size(), 1U);

  const GivenOutput broken("make", 2, "Makefile:2: *** missing separator.  Stop.\n");
  const auto broken_facts = broken.parsed_by(make_parser());
  ASSERT_TRUE(broken_facts);
  EXPECT_EQ(placed_messages(*broken_facts),
            (std::vector<std::string>{"Makefile:2 *** missing separator.  Stop."}));
}

TEST(MakeParser, FoldsEqualPlainLinesAndRefusesManyOthers) {
  std::string text = "make: Entering directory '/src'\n";
  for (int line = 0; line < 50; ++line)
    text += "copied a file\n";
  const auto facts = GivenOutput("make", 0, text).parsed_by(make_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"copied a file (×50)"}));

  std::string others = "make: Entering directory '/src'\n";
  for (int line = 0; line < 50; ++line)
    others += "copied file " + std::to_string(line) + "\n";
  EXPECT_FALSE(GivenOutput("make", 0, others).parsed_by(make_parser()));

  const auto few = GivenOutput("make", 0, "make: Entering directory '/src'\nversion 1.2\n")
                       .parsed_by(make_parser());
  ASSERT_TRUE(few);
  EXPECT_EQ(few->kept, (std::vector<std::string>{"version 1.2"}));
}

TEST(MakeParser, FailedRecipeSaysWhyInItsOwnWords) {
  std::string output = "cc -c a.c -o a.o\npython gen.py\n";
  for (int row = 0; row < 40; ++row)
    output += "row " + std::to_string(row) + " read\n";
  output += "value 17 is too large\nmake: *** [Makefile:3: b.h] Error 1\n";
  const GivenOutput given("make", 2, output);
  const auto facts = given.parsed_by(make_parser());
  ASSERT_TRUE(facts);
  ASSERT_GE(facts->kept.size(), 2U);
  const auto reason = std::ranges::find(facts->kept, "value 17 is too large");
  ASSERT_NE(reason, facts->kept.end());
  EXPECT_EQ(*(reason + 1), "make: *** [Makefile:3: b.h] Error 1");
}

TEST(MakeParser, ErrorOfACompilerIsReasonEnough) {
  std::string output;
  for (int row = 0; row < 40; ++row)
    output += "row " + std::to_string(row) + " read\n";
  output += "a.c:3:1: error: no\nmake: *** [Makefile:3: a.o] Error 1\n";
  const GivenOutput given("make", 2, output);
  const auto facts = given.parsed_by(make_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept.front(), "make: *** [Makefile:3: a.o] Error 1");
  EXPECT_EQ(facts->kept.back(), "row 39 read");
}

}  // namespace
}  // namespace nutshell::compaction
