#include "compaction/parsers/maven_parser.h"

#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"

namespace nutshell::compaction {
namespace {

TEST(MavenParser, TellsCompilerErrorsOnce) {
  const GivenOutput given("mvn -B test", 1, R"([INFO] Scanning for projects...
[WARNING] /src/Calc.java:[3,52] found raw type: java.util.List
  missing type arguments for generic class java.util.List<E>
[ERROR] COMPILATION ERROR : 
[ERROR] /src/Calc.java:[3,89] cannot find symbol
  symbol:   variable c
  location: class x.Calc
[INFO] BUILD FAILURE
[ERROR] Failed to execute goal compiler:3.11.0:compile on project demo: Compilation failure
[ERROR] /src/Calc.java:[3,89] cannot find symbol
[ERROR]   symbol:   variable c
[ERROR]   location: class x.Calc
[ERROR] -> [Help 1]
[ERROR] 
[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.
)");
  const auto facts = given.parsed_by(maven_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(placed_messages(*facts),
            (std::vector<std::string>{"/src/Calc.java:3:52 found raw type: java.util.List",
                                      "/src/Calc.java:3:89 cannot find symbol"}));
  EXPECT_EQ(facts->diagnostics[1].detail,
            (std::vector<std::string>{"symbol:   variable c", "location: class x.Calc"}));
  EXPECT_EQ(facts->kept.size(), 2U);
}

TEST(MavenParser, TellsFailedTestsOfBothSurefires) {
  const GivenOutput given(
      "./mvnw verify", 1,
      "[INFO] Running x.CalcTest\n"
      "[ERROR] Tests run: 2, Failures: 1, Errors: 1, Skipped: 0, Time elapsed: "
      "0.032 s <<< FAILURE! -- in x.CalcTest\n"
      "[ERROR] x.CalcTest.wrong -- Time elapsed: 0.043 s <<< FAILURE!\n"
      "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n"
      "\tat org.junit.jupiter.api.Assertions.assertEquals(Assertions.java:531)\n"
      "\tat x.CalcTest.wrong(CalcTest.java:11)\n"
      "\n"
      "[ERROR] boom(x.CalcTest)  Time elapsed: 0.005 s  <<< ERROR!\n"
      "java.lang.ArithmeticException: / by zero\n"
      "\tat x.Calc.div(Calc.java:3)\n"
      "\n"
      "[ERROR] Failures: \n"
      "[ERROR]   CalcTest.wrong:11 expected: <1> but was: <2>\n"
      "[ERROR] Tests run: 2, Failures: 1, Errors: 1, Skipped: 0\n"
      "[INFO] BUILD FAILURE\n");
  const auto facts = given.parsed_by(maven_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts),
            (std::vector<std::string>{"x.CalcTest.wrong", "boom(x.CalcTest)"}));
  EXPECT_EQ(to_text(facts->failures[0].where), "CalcTest.java:11");
  EXPECT_EQ(facts->failures[1].word, "ERROR");
  EXPECT_EQ(total_of(*facts, "tests"), 2U);
  EXPECT_EQ(total_of(*facts, "failures"), 1U);
}

}  // namespace
}  // namespace nutshell::compaction
