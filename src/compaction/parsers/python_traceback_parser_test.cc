#include "compaction/parsers/python_traceback_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(PythonTracebackParser, TellsEveryExceptionOfAChain) {
  const GivenOutput given("python3 tb.py", 1, R"(starting
Traceback (most recent call last):
  File "/src/tb.py", line 5, in b
    return json.loads(x)
           ^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode
    obj, end = self.scan_once(s, idx)
json.decoder.JSONDecodeError: Expecting property name: line 1 column 2 (char 1)

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/src/tb.py", line 9, in <module>
    a("{bad")
  File "/src/tb.py", line 7, in b
    raise RuntimeError("cannot parse\nsecond line") from e
RuntimeError: cannot parse
second line
)");
  const auto facts = given.parsed_by(python_traceback_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(
      placed_messages(*facts),
      (std::vector<std::string>{
          "/src/tb.py:5 json.decoder.JSONDecodeError: Expecting property name: line 1 column 2 "
          "(char 1)",
          "/src/tb.py:7 RuntimeError: cannot parse"}));
  EXPECT_EQ(facts->diagnostics[1].detail.back(), "second line");
  EXPECT_EQ(facts->kept, (std::vector<std::string>{"starting"}));
}

TEST(PythonTracebackParser, TellsASyntaxError) {
  const GivenOutput given("python3 syn.py", 1,
                          "  File \"/src/syn.py\", line 1\n"
                          "    def f(:\n"
                          "          ^\n"
                          "SyntaxError: invalid syntax\n");
  const auto facts = given.parsed_by(python_traceback_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"/src/syn.py:1 SyntaxError: invalid syntax"}));
}

TEST(PythonTracebackParser, KeepsTheEndsOfALongOutput) {
  std::string text;
  for (int line = 0; line < 200; ++line)
    text += "row\n";
  text +=
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nKeyError: 1\n";
  const auto facts = GivenOutput("python3 a.py", 1, text).parsed_by(python_traceback_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->kept.size(), 30U);
  EXPECT_EQ(facts->omitted.back().lines, 170U);
}

}  // namespace
}  // namespace nutshell::compaction
