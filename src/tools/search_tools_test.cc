// ls, grep and find: what they ask of init, and how they show a page of it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tools/built_in.h"
#include "tools/tool_fixture.h"

namespace nutshell {
namespace {

using testing::HasSubstr;
using testing::Not;

wire::ListedEntry entry(std::string path, wire::FileKind kind, std::uint64_t size = 0) {
  wire::ListedEntry one;
  one.info.path = std::move(path);
  one.info.kind = kind;
  one.info.size = size;
  one.info.mode = 0644;
  return one;
}

class LsTool : public ToolTest {
 protected:
  const Tool tool = make_ls_tool();
};

TEST_F(LsTool, ShowsEachKindOfEntry) {
  wire::Listing listing;
  listing.entries = {entry("src", wire::FileKind::Directory),
                     entry("doc", wire::FileKind::Directory),
                     entry("run.sh", wire::FileKind::Regular, 4200),
                     entry("link", wire::FileKind::Link), entry("pipe", wire::FileKind::Other)};
  listing.entries[0].children = 3;
  listing.entries[2].info.mode = 0755;
  listing.entries[3].info.target = "src/a b ";
  listing.total_directories = 2;
  listing.total_files = 3;
  init.answer(listing);
  EXPECT_EQ(text(tool, "{}"),
            "./ (2 dirs, 3 files)\n"
            "src/ (3) doc/ (0)\n"
            "run.sh 4.1k x\n"
            "link -> \"src/a b \"\n"
            "pipe (not a regular file)");
  const auto asked = init.asked<wire::ListDirectory>();
  EXPECT_EQ(asked.path, ".");
  EXPECT_EQ(asked.depth, 1U);
  EXPECT_EQ(asked.includes_ignored, 0);
}

TEST_F(LsTool, GivesEachFolderAHeading) {
  wire::Listing listing;
  listing.entries = {entry("a.c", wire::FileKind::Regular, 1),
                     entry("src/b.c", wire::FileKind::Regular, 2)};
  listing.total_files = 2;
  init.answer(listing);
  EXPECT_THAT(text(tool, R"({"depth": 2, "all": true})"), HasSubstr("a.c 1\nsrc/:\nb.c 2"));
  const auto asked = init.asked<wire::ListDirectory>();
  EXPECT_EQ(asked.depth, 2U);
  EXPECT_EQ(asked.includes_ignored, 1);
}

TEST_F(LsTool, ListsAFolderOnceAndTheTopWithoutAHeading) {
  wire::Listing listing;
  listing.entries = {
      entry("src", wire::FileKind::Directory),       entry("src/net", wire::FileKind::Directory),
      entry("src/b.c", wire::FileKind::Regular, 2),  entry("doc", wire::FileKind::Directory),
      entry("doc/d.md", wire::FileKind::Regular, 4), entry("a.c", wire::FileKind::Regular, 1)};
  for (const std::size_t i : {0U, 3U})
    listing.entries[i].children = 2 - i / 3;
  listing.total_directories = 3;
  listing.total_files = 3;
  init.answer(listing);
  EXPECT_EQ(text(tool, R"({"depth": 2})"),
            "./ (3 dirs, 3 files)\n"
            "src/ (2) doc/ (1)\n"
            "a.c 1\n"
            "src/:\n"
            "net/ (0)\n"
            "b.c 2\n"
            "doc/:\n"
            "d.md 4");
  std::rotate(listing.entries.begin(), listing.entries.begin() + 4, listing.entries.end());
  listing.entries.resize(2);
  init.answer(listing);
  EXPECT_THAT(text(tool, R"({"depth": 2, "offset": 4})"), HasSubstr("doc/:\nd.md 4\n./:\na.c 1"));
}

TEST_F(LsTool, SaysWhereThePageGoesOn) {
  wire::Listing listing;
  listing.entries = {entry("b.c", wire::FileKind::Regular, 2)};
  listing.total_files = 9;
  init.answer(listing);
  const ToolResult result = call(tool, R"({"offset": 3})");
  EXPECT_THAT(result.text, HasSubstr("next: offset=4"));
  EXPECT_TRUE(result.is_cut);
  EXPECT_EQ(init.asked<wire::ListDirectory>().offset, 3U);
}

TEST_F(LsTool, GivesProgramsTheFields) {
  wire::Listing listing;
  listing.entries = {entry("b.c", wire::FileKind::Regular, 2)};
  listing.total_files = 1;
  context.wants_fields = true;
  init.answer(listing);
  const auto fields = nlohmann::json::parse(call(tool, "{}").fields_json);
  EXPECT_EQ(fields["entries"][0]["path"], "b.c");
  EXPECT_EQ(fields["total_files"], 1);
}

class GrepTool : public ToolTest {
 protected:
  static wire::SearchPage page() {
    wire::SearchPage found;
    found.files = {{"a.c", 2, {{3, 1, 0, "before"}, {4, 0, 0, "main"}, {9, 0, 7, "main()"}}}};
    found.total_matches = 2;
    found.total_files = 1;
    return found;
  }
  const Tool tool = make_grep_tool();
};

TEST_F(GrepTool, GroupsLinesByFileAndMarksContext) {
  init.answer(page());
  EXPECT_EQ(text(tool, R"({"pattern": "main", "context": 1, "path": "src"})"),
            "2 matches in 1 file\n"
            "src/a.c\n3-before\n4:main\n--\n9:main()…(+7 bytes)");
  const auto asked = init.asked<wire::Search>();
  EXPECT_EQ(asked.pattern, "main");
  EXPECT_EQ(asked.context, 1U);
  EXPECT_EQ(asked.mode, wire::SearchMode::Lines);
}

TEST_F(GrepTool, ShowsOnlyNamesOrCounts) {
  init.answer(page());
  EXPECT_EQ(text(tool, R"({"pattern": "main", "mode": "files"})"), "2 matches in 1 file\na.c");
  init.answer(page());
  EXPECT_EQ(text(tool, R"({"pattern": "main", "mode": "count"})"), "2 matches in 1 file\na.c: 2");
  EXPECT_EQ(init.asked<wire::Search>().mode, wire::SearchMode::Files);
  EXPECT_EQ(init.asked<wire::Search>().mode, wire::SearchMode::Count);
}

TEST_F(GrepTool, SaysHowManyMatchesAreLeft) {
  wire::SearchPage found = page();
  found.total_matches = 12;
  init.answer(found);
  const ToolResult result = call(tool, R"({"pattern": "main", "offset": 3})");
  EXPECT_THAT(result.text, HasSubstr("(+7 more matches; narrow with glob or path, or offset=5)"));
  EXPECT_TRUE(result.is_cut);
}

TEST_F(GrepTool, ExplainsWhyNothingWasFound) {
  wire::SearchPage none;
  none.ignored = 2;
  none.skipped_binary = 1;
  none.is_partial = 1;
  init.answer(none);
  const std::string told = text(tool, R"({"pattern": "x"})");
  EXPECT_THAT(told, HasSubstr("no matches so far (partial"));
  EXPECT_THAT(told, HasSubstr("2 entries are ignored by .gitignore; all=true searches them"));
  EXPECT_THAT(told, HasSubstr("1 binary file skipped"));
}

TEST_F(GrepTool, PassesEveryOptionOn) {
  init.answer(wire::SearchPage{});
  (void)call(tool, R"({"pattern": "x", "glob": "*.py", "type": "py", "ignore_case": true,
                       "literal": true, "multiline": true, "all": true})");
  const auto asked = init.asked<wire::Search>();
  EXPECT_EQ(asked.glob, "*.py");
  EXPECT_EQ(asked.file_type, "py");
  EXPECT_EQ(asked.ignores_case + asked.is_literal + asked.is_multiline + asked.includes_ignored, 4);
}

class FindTool : public ToolTest {
 protected:
  static wire::FileInfo file(std::string path, wire::FileKind kind = wire::FileKind::Regular) {
    wire::FileInfo info;
    info.path = std::move(path);
    info.kind = kind;
    return info;
  }
  const Tool tool = make_find_tool();
};

TEST_F(FindTool, GroupsPathsByDirectory) {
  wire::FindPage page;
  page.found = {file("net/a.c"), file("net/b.c"), file("c.c"),
                file("d", wire::FileKind::Directory)};
  page.total = 4;
  page.ignored = 7;
  init.answer(page);
  EXPECT_EQ(text(tool, R"({"type": "any"})"), "4 paths (7 ignored)\nnet/ a.c b.c\n./ c.c d/");
  const auto asked = init.asked<wire::FindFiles>();
  EXPECT_EQ(asked.glob, "*");
  EXPECT_EQ(asked.is_any_kind, 1);
}

TEST_F(FindTool, SaysWhatIsLeftAndThatItStoppedEarly) {
  wire::FindPage page;
  page.found = {file("a.c")};
  page.total = 5;
  page.scanned = 1000;
  page.is_partial = 1;
  init.answer(page);
  const ToolResult result = call(tool, R"({"glob": "*.c", "path": "src", "offset": 1})");
  EXPECT_THAT(result.text, HasSubstr("5 files partial: stopped after 1000 entries"));
  EXPECT_THAT(result.text, HasSubstr("src/ a.c"));
  EXPECT_THAT(result.text, HasSubstr("(+3 more; narrow with glob or path, or offset=2)"));
  EXPECT_TRUE(result.is_cut);
}

TEST_F(FindTool, AsksForDirectoriesAlone) {
  init.answer(wire::FindPage{});
  EXPECT_THAT(text(tool, R"({"type": "d"})"), HasSubstr("0 dirs"));
  EXPECT_EQ(init.asked<wire::FindFiles>().kind, wire::FileKind::Directory);
}

TEST_F(FindTool, ShowsHostileNamesOnOneLine) {
  wire::FindPage page;
  page.found = {file("a\nb")};
  page.total = 1;
  init.answer(page);
  EXPECT_THAT(text(tool, "{}"), Not(HasSubstr("a\nb")));
}

}  // namespace
}  // namespace nutshell
