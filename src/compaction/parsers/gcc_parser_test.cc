#include "compaction/parsers/gcc_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(GccParser, TellsEveryDiagnosticWithItsPlaceAndRule) {
  const GivenOutput given("g++ -Wall -c a.cc", 1, R"(In file included from h1.h:1,
                 from a.cc:5:
h2.h:3:2: warning: #warning this is a warning [-Wcpp]
    3 | #warning this is a warning
      |  ^~~~~~~
a.cc: In function ‘int main()’:
a.cc:14:19: error: conversion from ‘int’ to non-scalar type ‘std::string’ requested
   14 |   std::string s = 42;
      |                   ^~
b.c:2:10: fatal error: nothere.h: No such file or directory
    2 | #include "nothere.h"
      |          ^~~~~~~~~~~
compilation terminated.
)");
  const auto facts = given.parsed_by(gcc_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{
                "h2.h:3:2 #warning this is a warning",
                "a.cc:14:19 conversion from ‘int’ to non-scalar type ‘std::string’ requested",
                "b.c:2:10 nothere.h: No such file or directory"}));
  EXPECT_EQ(facts->diagnostics[0].rule, "-Wcpp");
  EXPECT_EQ(total_of(*facts, "errors"), 2U);
  EXPECT_EQ(total_of(*facts, "warnings"), 1U);
}

TEST(GccParser, FollowsATemplateToTheUsersLine) {
  const GivenOutput given(
      "make", 1,
      R"(/usr/include/c++/12/bits/stl_algo.h: In instantiation of ‘void std::sort(_It, _It)’:
/usr/include/c++/12/bits/stl_algo.h:4820:18:   required from ‘void std::sort(_RAIter, _RAIter)’
a.cc:10:30:   required from here
/usr/include/c++/12/bits/predefined_ops.h:98:22: error: no match for ‘operator<’
   98 |       { return __val < *__it; }
      |                ~~~~~~^~~~~~~
/usr/include/c++/12/bits/stl_iterator.h:1246:5: note: candidate: ‘template<class _I> bool f()’
 1246 |     operator<(const _I& __lhs,
      |     ^~~~~~~~
a.cc:3:8: note: defined here
)");
  const auto facts = given.parsed_by(gcc_parser());
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->diagnostics.size(), 1U);
  EXPECT_EQ(facts->diagnostics[0].detail,
            (std::vector<std::string>{"required from a.cc:10:30", "a.cc:3:8: note: defined here"}));
}

TEST(GccParser, ReadsClangsExcerptsAndSums) {
  const GivenOutput given("clang -c c.c", 1, R"(c.c:3:61: warning: using the result [-Wparentheses]
int main(void) { if (x = 3) bar(); }
                     ~~^~~
c.c:3:61: note: use '==' to turn this assignment into an equality comparison
int main(void) { if (x = 3) bar(); }
                       ^
                       ==
c.c:3:83: error: expected ';' after return statement
int main(void) { return 0 }
                         ^
                         ;
1 warning and 1 error generated.
)");
  const auto facts = given.parsed_by(gcc_parser());
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->diagnostics.size(), 2U);
  EXPECT_EQ(facts->diagnostics[0].detail.size(), 1U);
  EXPECT_TRUE(facts->kept.empty());
  EXPECT_EQ(total_of(*facts, "warnings"), 1U);
}

TEST(GccParser, TellsWhatTheLinkerMissed) {
  const GivenOutput given("g++ l1.cc l2.cc", 1,
                          R"(/usr/bin/ld: /tmp/ccvhe8vn.o: in function `dup()':
l2.cc:(.text+0x0): multiple definition of `dup()'; /tmp/ccyt7lbL.o:l1.cc:(.text+0x19): first defined here
/usr/bin/ld: /tmp/ccyt7lbL.o: warning: relocation against `_ZTV1S' in read-only section `.text'
/usr/bin/ld: l1.cc:4: undefined reference to `undefd(int)'
/usr/bin/ld: cannot find -lnosuchlib: No such file or directory
collect2: error: ld returned 1 exit status
)");
  const auto facts = given.parsed_by(gcc_parser());
  ASSERT_TRUE(facts);
  const auto messages = placed_messages(*facts);
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(total_of(*facts, "linker errors"), 3U);
  EXPECT_EQ(facts->diagnostics[1].severity, Severity::Warning);
  EXPECT_EQ(messages[2], "l1.cc:4 undefined reference to `undefd(int)'");
  EXPECT_EQ(messages[3], " cannot find -lnosuchlib: No such file or directory");
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"collect2: error: ld returned 1 exit status"}));
}

// gold names both places of a definition. collect2's line is kept, and is no error of its own.
TEST(GccParser, SaysWhatItLeavesOutOfGoldsDuplicates) {
  const GivenOutput given(
      "g++ -fuse-ld=gold main.cpp other.cpp lib.a", 1,
      R"(/usr/bin/ld.gold: error: /tmp/ccrpiG6A.o: multiple definition of 'edge_border(int)'
/usr/bin/ld.gold: /tmp/ccVYqhq2.o: previous definition here
/usr/bin/ld.gold: error: lib.a(two.o): multiple definition of 'name_native(int)'
/usr/bin/ld.gold: lib.a(one.o): previous definition here
collect2: error: ld returned 1 exit status
)");
  const auto facts = given.parsed_by(gcc_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"collect2: error: ld returned 1 exit status"}));
  ASSERT_EQ(facts->diagnostics.size(), 2U);
  EXPECT_TRUE(facts->diagnostics[0].detail.empty());
  EXPECT_EQ(facts->diagnostics[1].detail,
            std::vector<std::string>{"lib.a(one.o): previous definition here"});
  std::vector<std::string> omitted;
  for (const auto& omission : facts->omitted)
    omitted.push_back(std::to_string(omission.lines) + " " + omission.what);
  EXPECT_EQ(omitted, (std::vector<std::string>{"2 linker names", "1 temporary objects"}));
}

TEST(GccParser, ReferenceOfALinkerHasItsPlaceAndFunction) {
  const GivenOutput given("clang++ -g a.cpp lib.o", 1, R"(ld.lld: error: undefined symbol: beta(int)
>>> referenced by a.cpp:5 (/src/a.cpp:5)
>>>               /tmp/a-38.o:(main)
>>> referenced by b.cpp
>>>               lib.o:(run(int))
clang: error: linker command failed with exit code 1 (use -v to see invocation)
)");
  const auto facts = given.parsed_by(gcc_parser());
  ASSERT_TRUE(facts);
  const std::vector<std::string> wanted = {"referenced by /src/a.cpp:5 in main",
                                           "referenced by b.cpp", "lib.o:(run(int))"};
  EXPECT_EQ(facts->diagnostics[0].detail, wanted);
}

TEST(GccParser, MergesOnlyWhatIsTheSame) {
  const GivenOutput given("ninja", 0, R"(h.h:2:5: warning: unused variable 'q' [-Wunused-variable]
h.h:2:5: warning: unused variable 'q' [-Wunused-variable]
h.h:2:5: warning: unused variable 'r' [-Wunused-variable]
)");
  const auto facts = given.parsed_by(gcc_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->diagnostics.size(), 2U);
}

TEST(GccParser, RefusesAFailureItCannotExplain) {
  const GivenOutput given("gcc a.c", 4, "hello\n");
  EXPECT_FALSE(given.parsed_by(gcc_parser()));
}

}  // namespace
}  // namespace nutshell::compaction
