#include "runtime/ignored_changes.h"

#include <gtest/gtest.h>

namespace nutshell {
namespace {

using wire::FileChange;
using wire::FileKind;

FileChange made(const std::string& path, FileKind kind = FileKind::Regular) {
  FileChange change;
  change.path = path;
  change.before.kind = FileKind{0};
  change.after.kind = kind;
  return change;
}

// A workspace that has these files.
class IgnoredChangesTest : public testing::Test {
 protected:
  std::string ignored_by(const FileChange& change) {
    IgnoredChanges::Sources sources;
    sources.exists = [this](const std::string& path) -> Result<bool> {
      const auto next = files.lower_bound(path);
      return next != files.end() && (next->first == path || next->first.starts_with(path + "/"));
    };
    sources.text_of = [this](const std::string& path) -> Result<std::optional<std::string>> {
      const auto found = files.find(path);
      return found == files.end() ? std::nullopt : std::optional(found->second);
    };
    sources.tracked = tracked;
    auto ignored = IgnoredChanges::read(std::move(sources), "/nowhere/at/all");
    auto by = ignored->ignored_by(change);
    EXPECT_TRUE(by) << by.error().message;
    return by.value_or("an error");
  }

  std::map<std::string, std::string> files = {{".git/HEAD", ""}, {".gitignore", "build/\n*.o\n"}};
  std::vector<std::string> tracked;
};

TEST_F(IgnoredChangesTest, StandForADirectoryOrAFile) {
  EXPECT_EQ(ignored_by(made("build/deep/er/a.c")), "build/");
  EXPECT_EQ(ignored_by(made("build", FileKind::Directory)), "build/");
  EXPECT_EQ(ignored_by(made("src/a.o")), "src/a.o");
  EXPECT_EQ(ignored_by(made("src/a.c")), "");
  EXPECT_EQ(ignored_by(made("build")), "");  // the rule is for directories
}

TEST_F(IgnoredChangesTest, FollowTheNearestRules) {
  files["src/.gitignore"] = "!kept.o\nbuild\n";
  files[".git/info/exclude"] = "private\n*.c\n!src/a.o\n";
  EXPECT_EQ(ignored_by(made("src/kept.o")), "");
  EXPECT_EQ(ignored_by(made("src/build")), "src/build");
  EXPECT_EQ(ignored_by(made("private")), "private");
  EXPECT_EQ(ignored_by(made("src/a.o")), "src/a.o");
}

TEST_F(IgnoredChangesTest, LeaveTrackedFilesAndTheirDirectoriesAlone) {
  tracked = {"build/kept"};
  EXPECT_EQ(ignored_by(made("build/kept")), "");
  EXPECT_EQ(ignored_by(made("build", FileKind::Directory)), "");
  EXPECT_EQ(ignored_by(made("build.d/a.o")), "build.d/a.o");
  EXPECT_EQ(ignored_by(made("build/other")), "build/");
}

TEST_F(IgnoredChangesTest, EndAtARepositoryBelow) {
  files["lib/.git/HEAD"] = "";
  EXPECT_EQ(ignored_by(made("lib/a.o")), "");
  files["lib/.gitignore"] = "*.a";
  EXPECT_EQ(ignored_by(made("lib/x.a")), "lib/x.a");
}

TEST_F(IgnoredChangesTest, TakeADirectoryThatBecameAFileForWhatItWas) {
  FileChange change = made("build");
  change.before.kind = FileKind::Directory;
  EXPECT_EQ(ignored_by(change), "build/");
}

}  // namespace
}  // namespace nutshell
