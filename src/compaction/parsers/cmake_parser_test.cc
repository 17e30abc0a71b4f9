#include "compaction/parsers/cmake_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(CmakeParser, TellsErrorsWithTheirCallStack) {
  const GivenOutput given("cmake -S . -B b", 1, R"(-- The C compiler identification is GNU 12.2.0
-- Detecting C compiler ABI info - done
CMake Error at CMakeLists.txt:4 (message):
  one


CMake Error at cmake/f.cmake:6 (find_package):
  in f

  second paragraph
Call Stack (most recent call first):
  CMakeLists.txt:8 (f)


-- Configuring incomplete, errors occurred!
)");
  const auto facts = given.parsed_by(cmake_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"CMakeLists.txt:4 one", "cmake/f.cmake:6 in f"}));
  EXPECT_EQ(
      facts->diagnostics[1].detail,
      (std::vector<std::string>{"(find_package)", "second paragraph",
                                "Call Stack (most recent call first):", "CMakeLists.txt:8 (f)"}));
  EXPECT_EQ(total_of(*facts, "errors"), 2U);
}

TEST(CmakeParser, TellsWarningsOfADirectory) {
  const GivenOutput given("cmake ..", 0, R"(CMake Warning (dev) in CMakeLists.txt:
  Policy CMP0110 is not set.
This warning is for project developers.  Use -Wno-dev to suppress it.

-- Generating done
-- Build files have been written to: /src/b
)");
  const auto facts = given.parsed_by(cmake_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"CMakeLists.txt Policy CMP0110 is not set."}));
  EXPECT_EQ(facts->diagnostics[0].severity, Severity::Warning);
}

}  // namespace
}  // namespace nutshell::compaction
