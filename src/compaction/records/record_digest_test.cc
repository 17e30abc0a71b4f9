#include "compaction/records/record_digest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compaction/parsers/given_output.h"
#include "compaction/parsers/json_parser.h"
#include "compaction/parsers/log_parser.h"
#include "compaction/records/log_reader.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines)
    text += line + "\n";
  return text;
}

std::string digest_text(const std::string& output) {
  const auto log = read_log(output);
  DigestOptions options;
  options.is_log = true;
  return joined(digest_of(log.set, options).lines);
}

std::string repeated(const std::string& line, int times) {
  std::string text;
  for (int i = 0; i < times; ++i)
    text += fmt::format(fmt::runtime(line), i) + "\n";
  return text;
}

struct LevelCase {
  std::string_view key;
  std::string_view value;
  Grade grade;
};

TEST(FieldRole, GradesLevelsAndStatesOfManyTools) {
  const std::vector<LevelCase> cases = {{"level", "50", Grade::Error},
                                        {"level", "30", Grade::Plain},
                                        {"lvl", R"("warn")", Grade::Warning},
                                        {"log.level", R"("ERROR")", Grade::Error},
                                        {"@l", R"("Fatal")", Grade::Error},
                                        {"levelname", R"("CRITICAL")", Grade::Error},
                                        {"PRIORITY", R"("3")", Grade::Error},
                                        {"PRIORITY", R"("6")", Grade::Plain},
                                        {"levelno", "40", Grade::Error},
                                        {"record.level.name", R"("ERROR")", Grade::Error},
                                        {"status", R"("FAILED")", Grade::Error},
                                        {"conclusion", R"("failure")", Grade::Error},
                                        {"res.statusCode", "503", Grade::Error},
                                        {"statusCode", "200", Grade::Plain},
                                        {"ok", "false", Grade::Error},
                                        {"ok", "true", Grade::None},
                                        {"exit_code", "1", Grade::Error},
                                        {"exit_code", "0", Grade::None},
                                        {"error", "null", Grade::None},
                                        {"error", R"("")", Grade::None},
                                        {"error", R"("no route")", Grade::Error},
                                        {"failures", "0", Grade::None},
                                        {"name", R"("error")", Grade::None}};
  for (const LevelCase& one : cases) {
    const bool is_string = one.value.front() == '"';
    const bool is_word = one.value == "true" || one.value == "false";
    const auto kind = is_string ? JsonKind::String : is_word ? JsonKind::Bool : JsonKind::Number;
    EXPECT_EQ(grade_of(role_of(one.key), one.value, kind), one.grade)
        << one.key << "=" << one.value;
  }
}

TEST(RecordDigest, ShowsAnErrorBetweenRecordsThatAreAlike) {
  const auto text =
      digest_text(repeated(R"({{"level":30,"host":"a","msg":"served","ms":{}}})", 60) +
                  R"({"level":50,"host":"a","msg":"lost order 8812","err":{"code":"E_GONE"}})" +
                  "\n" + repeated(R"({{"level":30,"host":"a","msg":"served","ms":{}}})", 40));
  EXPECT_THAT(text, AllOf(HasSubstr("all: host=a\n"), HasSubstr("level: 30 ×100, 50 ×1\n"),
                          HasSubstr("61: level=50 lost order 8812 err.code=E_GONE\n"),
                          HasSubstr("1: level=30 served ms=0 (×100 alike)\n"), HasSubstr("101: ")));
}

TEST(RecordDigest, ShowsRareKeysRareValuesAndNumbersFarAboveTheOthers) {
  const auto text = digest_text(
      repeated("level=info msg=served region=eu ms={}", 90) +
      "level=info msg=served region=us ms=4\nlevel=info msg=served region=eu ms=99000\n" +
      "level=info msg=served region=eu ms=4 retried=yes\n");
  EXPECT_THAT(text, AllOf(HasSubstr("91|"), HasSubstr("us"), HasSubstr("92"), HasSubstr("99000"),
                          HasSubstr("93"), HasSubstr("retried")));
}

TEST(RecordDigest, KeepsTheCausesOfAnErrorAndTheProgramsOwnFrames) {
  const auto text = digest_text(repeated("2026-01-02 10:00:00 INFO served {}", 30) +
                                "2026-01-02 10:00:01 ERROR cannot pay\n"
                                "java.lang.IllegalStateException: no stock\n"
                                "\tat org.springframework.web.X.y(X.java:10)\n"
                                "\tat com.acme.Cart.pay(Cart.java:81)\n"
                                "Caused by: java.net.ConnectException: refused\n"
                                "\tat java.base/sun.nio.ch.Net.connect(Net.java:1)\n"
                                "\tat com.acme.Db.open(Db.java:33)\n\t... 12 more\n" +
                                repeated("2026-01-02 10:00:02 INFO served {}", 30));
  EXPECT_THAT(text, HasSubstr("31: 2026-01-02 10:00:01 ERROR cannot pay\n"
                              "  java.lang.IllegalStateException: no stock\n"
                              "  at com.acme.Cart.pay(Cart.java:81)\n"
                              "  Caused by: java.net.ConnectException: refused\n"
                              "  at com.acme.Db.open(Db.java:33) (+3 lines)\n"));
}

TEST(RecordDigest, CountsTheCharactersThatAValueLacks) {
  const auto text = digest_text(repeated("level=info msg=served n={}", 20) +
                                "level=error msg=bad dump=" + std::string(500, 'x') + "\n");
  EXPECT_THAT(text, HasSubstr(std::string(200, 'x') + "…(+300 chars)"));
}

TEST(LogReader, ReadsJsonBehindAPrefixAndLogfmtWithWordsInFront) {
  const auto log = read_log(
      "web-1  | {\"level\":\"error\",\"msg\":\"a\"}\n"
      "2026-01-02T10:00:00Z ERROR store closed path=/v/x code=4\n"
      "time=2026-01-02 level=warn msg=\"two words\"\nnot a record\n");
  EXPECT_EQ(log.json, 1U);
  EXPECT_EQ(log.logfmt, 2U);
  ASSERT_EQ(log.set.records().size(), 4U);
  EXPECT_EQ(log.set.records()[0].grade, Grade::Error);
  EXPECT_EQ(log.set.records()[1].grade, Grade::Error);
  EXPECT_EQ(log.set.records()[2].grade, Grade::Warning);
}

std::string json_text_of(const std::string& output) {
  const GivenOutput given("cat a.json", 0, output);
  const auto facts = given.parsed_by(json_parser());
  return facts ? joined(facts->kept) : "refused";
}

TEST(JsonParser, ShowsAFailedRecordAmongThousands) {
  std::string output = "[";
  for (int i = 0; i < 2000; ++i)
    output +=
        fmt::format(R"({{"id":{},"status":"{}","region":"eu"}},)", i, i == 1417 ? "FAILED" : "ok");
  output.back() = ']';
  EXPECT_THAT(json_text_of(output),
              AllOf(HasSubstr("[2000]"), HasSubstr("status: ok ×1999, FAILED ×1"),
                    HasSubstr("[1417] id=1417 status=FAILED")));
}

TEST(JsonParser, ShowsAnErrorDeepInsideWithItsPointer) {
  std::string output = R"({"run":{"jobs":[)";
  for (int job = 0; job < 30; ++job) {
    output += fmt::format(R"({{"name":"job{}","steps":[)", job);
    for (int step = 0; step < 12; ++step)
      output += fmt::format(R"({{"n":{},"conclusion":"{}","note":"aaaaaaaaaaaaaaaaaaaaaaaa"}},)",
                            step, job == 7 && step == 9 ? "failure" : "success");
    output.back() = ']';
    output += "},";
  }
  output.back() = ']';
  output += R"(},"total":360})";
  EXPECT_THAT(json_text_of(output), AllOf(HasSubstr("/run/jobs/7/steps/9: n=9 conclusion=failure"),
                                          HasSubstr("total: 360")));
}

TEST(JsonParser, GroupsTheDiagnosticsOfALinter) {
  const GivenOutput given("ruff check --output-format json", 1,
                          R"([{"code":"F401","message":"x unused","filename":"a.py",)"
                          R"("location":{"row":3,"column":5}},{"code":"F401","message":"x unused",)"
                          R"("filename":"b.py","location":{"row":9,"column":1}}])");
  const auto facts = given.parsed_by(json_parser());
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->diagnostics.size(), 2U);
  EXPECT_EQ(to_text(facts->diagnostics[1].where), "b.py:9:1");
  EXPECT_EQ(facts->diagnostics[0].rule, "F401");
}

TEST(JsonParser, SaysThatJsonEndsEarly) {
  EXPECT_THAT(json_text_of(R"({"a": 1, "b": [{"c": 2}, {"c": "cut he)"),
              AllOf(HasSubstr("ends early"), HasSubstr("a: 1"), HasSubstr("c=2")));
}

}  // namespace
}  // namespace nutshell::compaction
