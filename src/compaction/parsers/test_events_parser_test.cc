#include "compaction/parsers/test_events_parser.h"

#include <gtest/gtest.h>

#include "compaction/compactor.h"
#include "compaction/parsers/docker_build_parser.h"
#include "compaction/parsers/given_output.h"
#include "compaction/parsers/go_parser.h"
#include "compaction/parsers/json_parser.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

std::string event(std::string_view package, std::string_view test, std::string_view output) {
  return "{\"Action\":\"output\",\"Package\":\"" + std::string(package) + "\",\"Test\":\"" +
         std::string(test) + "\",\"Output\":\"" + std::string(output) + "\\n\"}\n";
}

TEST(TestEventsParser, PackagesThatTakeTurnsAreReadApart) {
  const auto text = event("x/a", "TestOne", "=== RUN   TestOne") +
                    event("x/b", "TestTwo", "=== RUN   TestTwo") +
                    event("x/a", "TestOne", "    a_test.go:9: got 1, want 2") +
                    event("x/b", "TestTwo", "--- PASS: TestTwo (0.00s)") +
                    event("x/a", "TestOne", "--- FAIL: TestOne (0.00s)") +
                    event("x/a", "", "FAIL\\tx/a\\t0.1s") + event("x/b", "", "ok  \\tx/b\\t0.1s");
  const GivenOutput given("go test -json ./...", 1, text);
  ASSERT_TRUE(given.is_recognised_by(test_events_parser()));
  const auto facts = given.parsed_by(test_events_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(failure_names(*facts), std::vector<std::string>{"TestOne"});
  ASSERT_FALSE(facts->failures.empty());
  EXPECT_EQ(to_text(facts->failures[0].where), "a_test.go:9");
  const auto shown = render({"go test -json ./...", {}, text, "", "o1a2b"}, {});
  EXPECT_TRUE(contains(shown.text, "got 1, want 2")) << shown.text;
}

TEST(TestEventsParser, OtherJsonIsNotTaken) {
  const GivenOutput given("x", 0,
                          "{\"Action\":1}\n{\"Action\":2}\n{\"Action\":3}\n{\"Action\":4}\n");
  EXPECT_FALSE(given.is_recognised_by(test_events_parser()));
  const GivenOutput forged("x", 0,
                           event("a", "T", "x") + "{\"Action\":\"output\",\"Package\":\"\n");
  EXPECT_FALSE(forged.is_recognised_by(test_events_parser()));
}

TEST(GoParser, RaceKeepsItsFunctions) {
  const GivenOutput given(
      "go run -race .", 66,
      "==================\nWARNING: DATA RACE\nWrite at 0x00c000 by goroutine 7:\n"
      "  main.add()\n      /src/main.go:8 +0x30\n\nPrevious read at 0x00c000 by goroutine 6:\n"
      "  main.sum()\n      /src/main.go:12 +0x48\n==================\nFound 1 data race(s)\n");
  const auto facts = given.parsed_by(go_parser());
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->diagnostics.size(), 1U);
  const auto& detail = facts->diagnostics[0].detail;
  EXPECT_EQ(detail[1], "main.add() /src/main.go:8");
  EXPECT_EQ(detail.back(), "main.sum() /src/main.go:12");
}

TEST(DockerBuildParser, FramesOfADebuggerAreNoSteps) {
  std::string text = "Thread 2 (LWP 7):\n";
  for (int at = 0; at < 20; ++at)
    text += "#" + std::to_string(at) + " 0x00007f in step (value=3) at main.c:3\n";
  const GivenOutput given("gdb -batch", 0, text);
  EXPECT_FALSE(given.is_recognised_by(docker_build_parser()));
}

TEST(JsonParser, SarifResultsAreDiagnostics) {
  std::string text = R"({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x", "rules": [)"
                     R"({"id": "R0", "shortDescription": {"text": "about"}}]}}, "results": [)";
  for (int at = 1; at <= 9; ++at) {
    text +=
        std::string(at > 1 ? "," : "") +
        R"({"ruleId": "R0", "level": "error", "message": {"text": "m)" + std::to_string(at) +
        R"("}, "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a.py"}, )"
        R"("region": {"startLine": )" +
        std::to_string(at) +
        R"(, "startColumn": 5}}}], "relatedLocations": [{"physicalLocation": {"artifactLocation": )"
        R"({"uri": "b.py"}, "region": {"startLine": 1}}, "message": {"text": "beside"}}]})";
  }
  const GivenOutput given("scan --sarif", 0, text + "]}]}\n");
  const auto facts = given.parsed_by(json_parser());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->diagnostics.size(), 9U);
  EXPECT_EQ(placed_messages(*facts).front(), "a.py:1:5 m1");
}

}  // namespace
}  // namespace nutshell::compaction
