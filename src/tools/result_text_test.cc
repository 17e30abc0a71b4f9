#include "tools/result_text.h"

#include <gtest/gtest.h>

#include "tools/stored_output.h"

namespace nutshell {
namespace {

TEST(Refuse, IsThreeLines) {
  const ToolResult result = refuse(ToolError{ErrorCode::NotUnique, "`old` matches twice.",
                                             "Lines 4, 9.", "Add a line of context."});
  EXPECT_EQ(result.text, "not_unique: `old` matches twice.\nLines 4, 9.\nAdd a line of context.");
  EXPECT_EQ(result.error->code, ErrorCode::NotUnique);
}

TEST(PathBelow, IsWhatTheNextCallCanName) {
  EXPECT_EQ(path_below(".", "a/b"), "a/b");
  EXPECT_EQ(path_below("src", "a/b"), "src/a/b");
  EXPECT_EQ(path_below("/workspace/", "a"), "/workspace/a");
  EXPECT_EQ(path_below("src/a.c", ""), "src/a.c");
}

TEST(ChangeSentence, SaysHowManyFilesAndHowToTakeThemBack) {
  wire::Changed changed;
  EXPECT_EQ(change_sentence(changed), "");
  changed.total_changes = 3;
  changed.undo_id = "u14";
  EXPECT_EQ(change_sentence(changed), "changed 3 files, undo u14");
  changed.undo_id.clear();
  changed.why_no_undo = "too large";
  EXPECT_EQ(change_sentence(changed), "changed 3 files, no undo: too large");
}

TEST(FindPlaceholder, FindsCommentsThatStandForOmittedCode) {
  for (const char* line :
       {"// ... rest of the code unchanged", "  # ... existing code ...", "/* ... unchanged ... */",
        "<!-- … rest of the page … -->", "# rest of file remains the same...",
        "-- ... remaining code omitted for brevity ..."}) {
    EXPECT_EQ(find_placeholder(std::string("int a;\n") + line + "\n").line, 2U) << line;
  }
}

TEST(FindPlaceholder, LeavesHonestTextAlone) {
  for (const char* line : {"// the rest of the bytes", "# unchanged", "...", "f(...);", "# ...",
                           "print('... rest of code unchanged')", "// loop over the rest...",
                           "a // ... rest of the code", "\"...existing code...\""}) {
    EXPECT_EQ(find_placeholder(line).line, 0U) << line;
  }
}

TEST(StoredStream, KeepsTheBeginningAndTheEnd) {
  StoredStream stream;
  const std::string chunk(1U << 20U, 'x');
  stream.append("first");
  for (int i = 0; i < 40; ++i)
    stream.append(chunk);
  stream.append("last");
  stream.trim();
  EXPECT_EQ(stream.head.size(), kMostHeadBytes);
  EXPECT_EQ(stream.tail.size(), kMostTailBytes);
  EXPECT_TRUE(stream.head.starts_with("first"));
  EXPECT_TRUE(stream.tail.ends_with("last"));
  EXPECT_EQ(stream.head.size() + stream.missing + stream.tail.size(), (40U << 20U) + 9U);
}

TEST(StoredStream, CountsWhatWasDroppedBeforeItCame) {
  StoredStream stream;
  stream.append("a");
  stream.skip(100);
  stream.append("b");
  EXPECT_EQ(stream.missing, 100U);
  EXPECT_EQ(whole_text(stream), "a\n[100 bytes are not kept]\nb");
}

}  // namespace
}  // namespace nutshell
