// edit, write, delete and undo: what is refused before init is asked, and how a change is told.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tools/built_in.h"
#include "tools/tool_fixture.h"

namespace nutshell {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

wire::FileChange change(std::string path, wire::ChangeKind kind) {
  wire::FileChange one;
  one.path = std::move(path);
  one.kind = kind;
  return one;
}

wire::Changed changed(wire::ChangeKind kind) {
  wire::Changed one;
  one.undo_id = "u12";
  one.version = "9f02";
  one.total_lines = 3;
  one.changes = {change("a.c", kind)};
  one.total_changes = 1;
  return one;
}

class EditTool : public ToolTest {
 protected:
  const Tool tool = make_edit_tool();
};

TEST_F(EditTool, NamesTheLinesThatItChanged) {
  wire::Changed done = changed(wire::ChangeKind::Modified);
  done.lines = {{4, 4}, {9, 11}};
  init.answer(done);
  const ToolResult result = call(tool, R"({"path": "a.c", "edits": [{"old": "x", "new": "y"},
                                              {"old": "p", "new": "q", "all": true}]})");
  EXPECT_EQ(result.text, "edited a.c:4,9-11 (2 changes, v9f02, undo u12)");
  EXPECT_EQ(result.undo_id, "u12");
  const auto asked = init.asked<wire::EditFile>();
  ASSERT_EQ(asked.edits.size(), 2U);
  EXPECT_EQ(asked.edits[0].replaces_all, 0);
  EXPECT_EQ(asked.edits[1].replaces_all, 1);
}

TEST_F(EditTool, ShowsAtMostEightPlaces) {
  wire::Changed done = changed(wire::ChangeKind::Modified);
  for (std::uint64_t line = 1; line <= 9; ++line)
    done.lines.push_back({line, line});
  init.answer(done);
  EXPECT_THAT(text(tool, R"({"path": "a.c", "old": "x", "new": "y", "all": true})"),
              StartsWith("edited a.c:1,2,3,4,5,6,7,8,… (9 changes"));
}

TEST_F(EditTool, SaysThatNothingChanged) {
  init.answer(wire::Changed{});
  EXPECT_EQ(text(tool, R"({"path": "a.c", "old": "x", "new": "x"})"),
            "a.c is unchanged: the new text is the old one");
}

TEST_F(EditTool, RefusesIncompleteEditsBeforeInitIsAsked) {
  EXPECT_THAT(text(tool, R"({"path": "a"})"), HasSubstr("there is no edit."));
  EXPECT_THAT(text(tool, R"({"path": "a", "old": "x"})"), HasSubstr("`new` is missing."));
  EXPECT_THAT(text(tool, R"({"path": "a", "new": "x"})"), HasSubstr("`old` is missing."));
  EXPECT_THAT(text(tool, R"({"path": "a", "old": "", "new": "x"})"), HasSubstr("`old` is empty."));
  EXPECT_THAT(
      text(tool, R"({"path": "a", "old": "x", "new": "y", "edits": [{"old": "p", "new": "q"}]})"),
      HasSubstr("both `edits` and `old` or `new` are given."));
}

// A strict mode makes a model give every argument.
TEST_F(EditTool, TakesEmptyArgumentsForOmittedOnes) {
  init.answer(changed(wire::ChangeKind::Modified));
  EXPECT_THAT(text(tool, R"({"path": "a.c", "old": "", "new": "", "all": false, "version": "",
                             "edits": [{"old": "x", "new": "y", "all": false}]})"),
              StartsWith("edited a.c"));
  auto asked = init.asked<wire::EditFile>();
  ASSERT_EQ(asked.edits.size(), 1U);
  EXPECT_EQ(asked.edits[0].old_text, "x");
  init.answer(changed(wire::ChangeKind::Modified));
  EXPECT_THAT(text(tool, R"({"path": "a.c", "old": "p", "new": "", "all": false, "edits": [],
                             "version": ""})"),
              StartsWith("edited a.c"));
  asked = init.asked<wire::EditFile>();
  ASSERT_EQ(asked.edits.size(), 1U);
  EXPECT_EQ(asked.edits[0].old_text, "p");
  EXPECT_EQ(asked.edits[0].new_text, "");
  EXPECT_EQ(asked.expected_version, "");
}

TEST_F(EditTool, RefusesAPlaceholderThatIsNew) {
  const ToolResult result =
      call(tool, R"({"path": "a", "old": "x", "new": "y\n// ... rest unchanged"})");
  EXPECT_EQ(result.error->code, ErrorCode::LazyPlaceholder);
  // A placeholder that the old text had may stay.
  init.answer(changed(wire::ChangeKind::Modified));
  EXPECT_FALSE(call(tool, R"({"path": "a", "old": "x // ... rest unchanged",
                              "new": "// ... rest unchanged"})")
                   .error);
}

class WriteTool : public ToolTest {
 protected:
  const Tool tool = make_write_tool();
};

TEST_F(WriteTool, TellsANewFileFromAnOldOne) {
  init.answer(changed(wire::ChangeKind::Added));
  EXPECT_EQ(text(tool, R"({"path": "a.c", "content": "x\ny\nz\n"})"),
            "created a.c (3 lines, v9f02, undo u12)");
  init.answer(changed(wire::ChangeKind::Modified));
  EXPECT_EQ(text(tool, R"({"path": "a.c", "content": "x\ny\nz\n"})"),
            "wrote a.c (3 lines, v9f02, undo u12)");
  wire::Changed same;
  same.version = "9f02";
  init.answer(same);
  EXPECT_EQ(text(tool, R"({"path": "a.c", "content": "x"})"),
            "a.c already has this content (v9f02)");
}

TEST_F(WriteTool, SendsTheContentAndTheExpectedVersion) {
  init.answer(changed(wire::ChangeKind::Modified));
  (void)call(tool, R"({"path": "a.c", "content": "text", "version": "77"})");
  EXPECT_EQ(init.asked<wire::PutFile>().expected_version, "77");
  EXPECT_EQ(init.asked<wire::FileData>().bytes, "text");
}

TEST_F(WriteTool, RefusesAPlaceholder) {
  EXPECT_EQ(call(tool, R"({"path": "a", "content": "# ... existing code ..."})").error->code,
            ErrorCode::LazyPlaceholder);
}

TEST_F(ToolTest, DeleteCountsWhatWasDeleted) {
  wire::Changed done = changed(wire::ChangeKind::Removed);
  done.version.clear();
  done.total_changes = 14;
  init.answer(done);
  EXPECT_EQ(text(make_delete_tool(), R"({"path": "old dir ", "recursive": true})"),
            "deleted \"old dir \" (14 entries, undo u12)");
  EXPECT_EQ(init.asked<wire::Remove>().is_recursive, 1);
}

TEST_F(ToolTest, UndoListsWhatItDid) {
  wire::Changed done;
  done.undo_id = "u13";
  done.changes = {change("a.c", wire::ChangeKind::Modified),
                  change("b.c", wire::ChangeKind::Removed)};
  done.total_changes = 30;
  init.answer(done);
  EXPECT_EQ(text(make_undo_tool(), R"({"id": "u12"})"),
            "undid u12 (redo: undo u13)\nrestored a.c\nremoved b.c\n(+28 more)");
  init.answer(wire::Changed{});
  EXPECT_EQ(text(make_undo_tool(), "{}"), "undone");
}

TEST_F(ToolTest, ChangesAreFieldsForPrograms) {
  context.wants_fields = true;
  wire::Changed done = changed(wire::ChangeKind::Removed);
  done.undo_id.clear();
  done.why_no_undo = "too large";
  init.answer(done);
  const auto fields =
      nlohmann::json::parse(call(make_delete_tool(), R"({"path": "a.c"})").fields_json);
  EXPECT_EQ(fields["changes"][0]["kind"], "removed");
  EXPECT_EQ(fields["why_no_undo"], "too large");
}

}  // namespace
}  // namespace nutshell
