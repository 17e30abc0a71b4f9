#include "compaction/field_tables.h"

#include <gtest/gtest.h>

#include <string_view>

namespace nutshell::compaction {
namespace {

TEST(FieldTables, ParagraphsWithTheSameKeysAreRows) {
  const std::vector<std::string_view> lines = {"Check: SQL Injection", "File: a.rb", "Line: 3", "",
                                               "Check: SQL Injection", "File: b.rb", "Line: 3", "",
                                               "Check: SQL Injection", "File: c.rb", "Line: 9"};
  const auto tables = find_field_tables(lines, {{0, 3}, {4, 3}, {8, 3}});
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].head, "all: Check=\"SQL Injection\"\nFile|Line\n");
  EXPECT_EQ(tables[0].rows, (std::vector<std::string>{"a.rb|3", "b.rb|3", "c.rb|9"}));
}

TEST(FieldTables, OtherKeysOrOtherLinesAreNone) {
  const std::vector<std::string_view> lines = {"a: 1", "b: 2", "c: 3", "",     "a: 1",      "b: 2",
                                               "d: 3", "",     "a: 4", "b: 2", "more words"};
  EXPECT_TRUE(find_field_tables(lines, {{0, 3}, {4, 3}, {8, 3}}).empty());
}

TEST(FieldTables, BarInAValueWouldDivideIt) {
  const std::vector<std::string_view> lines = {"a: 1", "b: 2", "c: 3|4", "",     "a: 2", "b: 2",
                                               "c: 3", "",     "a: 4",   "b: 2", "c: 9"};
  EXPECT_TRUE(find_field_tables(lines, {{0, 3}, {4, 3}, {8, 3}}).empty());
}

}  // namespace
}  // namespace nutshell::compaction
