#include "compaction/parsers/ninja_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(NinjaParser, TellsFailedStepsAndDiagnostics) {
  const GivenOutput given("ninja -k 0", 1, R"(ninja: Entering directory `bn'
[1/6] Building CXX object CMakeFiles/bad.dir/bad.cc.o
FAILED: CMakeFiles/bad.dir/bad.cc.o 
/usr/bin/c++ -Wall -MD -MT bad.cc.o -o CMakeFiles/bad.dir/bad.cc.o -c /src/bad.cc
/src/bad.cc:1:21: error: ‘missing_symbol’ was not declared in this scope
    1 | int main() { return missing_symbol; }
      |                     ^~~~~~~~~~~~~~
[2/6] Building CXX object CMakeFiles/good.dir/good.cc.o
/src/good.cc:2:34: warning: unused variable ‘unused_v’ [-Wunused-variable]
[5/6] Linking CXX executable gt
ninja: build stopped: cannot make progress due to previous errors.
)");
  const auto facts = given.parsed_by(ninja_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"CMakeFiles/bad.dir/bad.cc.o"}));
  EXPECT_EQ(facts->diagnostics.size(), 2U);
  EXPECT_EQ(total_of(*facts, "steps"), 5U);
  EXPECT_EQ(facts->kept.size(), 1U);
}

TEST(NinjaParser, ShowsTheCommandOfAStepThatIsNoCompilers) {
  const GivenOutput given("ninja", 1, R"([1/2] Generating table.inc
FAILED: table.inc
python3 make_table.py > table.inc
Traceback (most recent call last):
  File "make_table.py", line 3, in <module>
    main()
ValueError: bad row
ninja: build stopped: subcommand failed.
)");
  const auto facts = given.parsed_by(ninja_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->failures.at(0).detail,
            (std::vector<std::string>{"python3 make_table.py > table.inc"}));
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"make_table.py:3 ValueError: bad row"}));
}

TEST(NinjaParser, SaysThatThereWasNothingToDo) {
  const auto facts = GivenOutput("ninja", 0, "ninja: no work to do.\n").parsed_by(ninja_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"ninja: no work to do."}));
}

TEST(NinjaParser, FailedStepSaysWhyInItsOwnWords) {
  std::string output = "[1/3] Generating a.h\nFAILED: a.h \ncd /p && python gen.py a.h\n";
  for (int row = 0; row < 40; ++row)
    output += "row " + std::to_string(row) + " read\n";
  output += "value 17 is too large\n[2/3] Generating b.h\nchatter\n";
  output += "ninja: build stopped: subcommand failed.\n";
  const GivenOutput given("ninja", 1, output);
  const auto facts = given.parsed_by(ninja_parser());
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->failures.size(), 1U);
  EXPECT_EQ(facts->failures[0].detail.back(), "value 17 is too large");
  EXPECT_LE(facts->failures[0].detail.size(), 21U);
}

}  // namespace
}  // namespace nutshell::compaction
