#include "compaction/records/vertical_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compaction/clean.h"
#include "compaction/compactor.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

std::string rows_of_mysql(int count) {
  std::string text;
  for (int at = 0; at < count; ++at) {
    const bool is_odd = at == 30;
    text += fmt::format(
        "*************************** {}. row ***************************\n"
        "           Id: {}\n      Command: {}\n         Time: {}\n        State: {}\n",
        at + 1, 2000 + at, is_odd ? "Query" : "Sleep", is_odd ? 9000 : at % 60,
        is_odd ? "Waiting for table metadata lock" : "");
  }
  return text + fmt::format("{} rows in set (0.00 sec)\n", count);
}

TEST(VerticalReader, ReadsRecordsOfMysqlAndPsql) {
  const auto text = rows_of_mysql(25);
  const CleanText clean(text, "");
  const auto table = read_vertical_records(clean.lines());
  ASSERT_TRUE(table);
  EXPECT_EQ(table->set.records().size(), 25U);
  EXPECT_EQ(table->set.records()[1].place, 7U);
  EXPECT_EQ(table->other.size(), 1U);
  std::string psql;
  for (int at = 1; at < 30; ++at)
    psql += fmt::format("-[ RECORD {} ]-+------\nid         | {}\nlast_error | \n", at, at);
  const CleanText expanded(psql, "");
  const auto records = read_vertical_records(expanded.lines());
  ASSERT_TRUE(records);
  EXPECT_EQ(records->set.records().size(), 29U);
}

TEST(VerticalReader, RefusesTextAndOtherBlocks) {
  std::string text;
  for (int at = 0; at < 30; ++at)
    text += fmt::format("Chapter {}: a title\nIt goes on: with words.\nAnd with none\n\n", at);
  const CleanText prose(text, "");
  EXPECT_FALSE(read_vertical_records(prose.lines()));
  std::string yaml;
  for (int at = 0; at < 40; ++at)
    yaml += fmt::format("---\nkind: Service\nmetadata:\n  name: a{}\nspec:\n  port: {}\n", at, at);
  const CleanText nested(yaml, "");
  EXPECT_FALSE(read_vertical_records(nested.lines()));
  std::string sections;
  for (int at = 0; at < 30; ++at)
    sections += fmt::format("Name{}: x\nKind{}: y\n\n", at, at);
  const CleanText other(sections, "");
  EXPECT_FALSE(read_vertical_records(other.lines()));
}

TEST(VerticalReader, OddRecordIsShownAndTheOthersCounted) {
  const auto text = rows_of_mysql(200);
  ExecResult ending;
  ending.outcome = Outcome::Exited;
  ending.exit_code = 0;
  const auto rendering = render({"mysql -E", ending, text, "", "o1a2b"}, {});
  EXPECT_EQ(rendering.parser, "divided table") << rendering.reason;
  EXPECT_TRUE(contains(rendering.text, "2030")) << rendering.text;
  EXPECT_TRUE(contains(rendering.text, "Waiting for table metadata lock")) << rendering.text;
  EXPECT_TRUE(contains(rendering.text, "200 rows in set")) << rendering.text;
  EXPECT_LT(rendering.tokens * 4, rendering.raw_tokens);
}

}  // namespace
}  // namespace nutshell::compaction
