#include "compaction/parsers/go_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(GoParser, TellsFailedTestsAndTheirPackages) {
  const GivenOutput given("go test ./...", 1,
                          "# demo/p3 [demo/p3.test]\n"
                          "p3/x_test.go:3:28: undefined: undefinedFn\n"
                          "printed\n"
                          "--- FAIL: TestBad (0.00s)\n"
                          "    m_test.go:4: Add(1,2) = 3; want 4\n"
                          "--- FAIL: TestTable (0.00s)\n"
                          "    --- FAIL: TestTable/two_words (0.00s)\n"
                          "        m_test.go:5: bad \"two words\"\n"
                          "--- FAIL: ExampleAdd (0.00s)\n"
                          "got:\n2\nwant:\n3\n"
                          "FAIL\n"
                          "FAIL\tdemo\t0.009s\n"
                          "FAIL\tdemo/p3 [build failed]\n"
                          "?   \tdemo/p4\t[no test files]\n"
                          "ok  \tdemo/p5\t0.003s\n"
                          "FAIL\n");
  const auto facts = given.parsed_by(go_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"TestBad", "TestTable", "TestTable/two_words", "ExampleAdd",
                                      "demo/p3 [build failed]"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "m_test.go:4");
  EXPECT_EQ(facts->failures[0].detail,
            (std::vector<std::string>{"in demo", "Add(1,2) = 3; want 4"}));
  EXPECT_EQ(facts->failures[3].detail,
            (std::vector<std::string>{"in demo", "got:", "2", "want:", "3"}));
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"p3/x_test.go:3:28 undefined: undefinedFn"}));
  EXPECT_EQ(total_of(*facts, "packages failed"), 2U);
}

TEST(GoParser, GivesEachTestItsOwnOutputWhenVerbose) {
  const GivenOutput given("go test -v", 1,
                          "=== RUN   TestOk\n"
                          "    m_test.go:3: error in a passing test\n"
                          "--- PASS: TestOk (0.00s)\n"
                          "=== RUN   TestBad\n"
                          "    m_test.go:4: wrong\n"
                          "--- FAIL: TestBad (0.00s)\n"
                          "FAIL\n"
                          "FAIL\tdemo\t0.005s\n");
  const auto facts = given.parsed_by(go_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), (std::vector<std::string>{"TestBad"}));
  EXPECT_EQ(facts->failures[0].detail, (std::vector<std::string>{"wrong"}));
  EXPECT_EQ(total_of(*facts, "passed"), 1U);
  EXPECT_EQ(facts->kept,
            (std::vector<std::string>{"TestOk: m_test.go:3: error in a passing test"}));
}

TEST(GoParser, PlacesAPanicInTheUsersCode) {
  const GivenOutput given("go test", 2,
                          "--- FAIL: TestPanics (0.00s)\n"
                          "panic: runtime error: invalid memory address [recovered]\n"
                          "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x52e363]\n"
                          "\n"
                          "goroutine 19 [running]:\n"
                          "testing.tRunner.func1()\n"
                          "\t/usr/local/go/src/testing/testing.go:1977 +0x349\n"
                          "demo.Boom(...)\n"
                          "\t/src/m.go:3\n"
                          "FAIL\tdemo\t0.015s\n");
  const auto facts = given.parsed_by(go_parser());
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->failures.size(), 1U);
  EXPECT_EQ(to_text(facts->failures[0].where), "/src/m.go:3");
  EXPECT_EQ(facts->failures[0].detail.at(0),
            "panic: runtime error: invalid memory address [recovered]");
}

TEST(GoParser, IsNotMisledByASearch) {
  const GivenOutput given("rg -n panic", 0, "main.go:12:\tpanic(err)\n");
  EXPECT_FALSE(given.is_recognised_by(go_parser()));
}

}  // namespace
}  // namespace nutshell::compaction
