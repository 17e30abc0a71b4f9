#include "runtime/held_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/workspace_changes.h"

namespace nutshell {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::FileChange;
using wire::FileKind;

const std::string kObject = ".git/objects/ab/cdef0123456789abcdef0123456789abcdef01";

FileChange change_of(const std::string& path, FileKind before, FileKind after) {
  FileChange change;
  change.path = path;
  change.before.kind = before;
  change.after.kind = after;
  return change;
}
FileChange added(const std::string& path, FileKind kind = FileKind::Regular) {
  return change_of(path, kNoFile, kind);
}
FileChange removed(const std::string& path, FileKind kind = FileKind::Regular) {
  return change_of(path, kind, kNoFile);
}

// Assumes valid references, and that only changed paths exist.
SortedChanges sorted(const std::vector<FileChange>& changes, const HoldOptions& options = {}) {
  TrustSources sources;
  sources.exists = [](const std::string&) -> Result<bool> { return false; };
  sources.before = sources.after = [](const FileChange&) -> Result<std::optional<std::string>> {
    return std::optional<std::string>("ref: refs/heads/main\n");
  };
  sources.has_sha1_index = [](const std::string&) -> Result<bool> { return true; };
  TrustJudge judge(std::move(sources));
  auto result = sort_out_changes(changes, judge, options);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : SortedChanges();
}

std::vector<std::string> paths_of(const std::vector<JudgedChange>& changes) {
  std::vector<std::string> paths;
  for (const JudgedChange& one : changes)
    paths.push_back(one.change.path);
  return paths;
}

TEST(HeldChanges, KeepBackWhatTheHostWouldRun) {
  const std::vector<FileChange> changes = {added("a"), added(".envrc"), added(".git/config"),
                                           added(".git/packed-refs")};
  EXPECT_THAT(paths_of(sorted(changes).wanted), ElementsAre(".git/packed-refs", "a"));
  EXPECT_THAT(paths_of(sorted(changes).held), ElementsAre(".envrc", ".git/config"));
  EXPECT_THAT(paths_of(sorted(changes, {UnsafeGit::Taken, {}}).held), ElementsAre(".envrc"));
}

TEST(HeldChanges, AreTakenWhenTheyAreNamed) {
  const std::vector<FileChange> changes = {added("web", FileKind::Directory),
                                           added("web/.vscode", FileKind::Directory),
                                           added("web/.vscode/a.json"), added("web/.envrc")};
  const auto held = [&](const std::string& named) {
    return paths_of(sorted(changes, {UnsafeGit::HeldBack, {named}}).held);
  };
  EXPECT_THAT(held("web"), ElementsAre("web/.envrc", "web/.vscode", "web/.vscode/a.json"));
  EXPECT_THAT(held("web/.vscode"), IsEmpty());
  EXPECT_THAT(held("web/.envrc"), IsEmpty());
  const auto one = sorted(changes, {UnsafeGit::HeldBack, {"web/.vscode/a.json"}});
  EXPECT_THAT(paths_of(one.wanted), ElementsAre("web", "web/.vscode", "web/.vscode/a.json"));
}

TEST(HeldChanges, KeepTheDirectoriesThatTheyAreIn) {
  const auto result = sorted({removed("sub", FileKind::Directory), removed("sub/.envrc"),
                              removed("sub/a"), removed("other")});
  EXPECT_THAT(paths_of(result.held), ElementsAre("sub", "sub/.envrc"));
  EXPECT_THAT(paths_of(result.wanted), ElementsAre("other", "sub/a"));
}

TEST(HeldChanges, TakeNoReferenceWithoutItsObjects) {
  const std::vector<FileChange> changes = {added(kObject), added(".git/refs/heads/x")};
  EXPECT_THAT(sorted(changes).held, IsEmpty());
  EXPECT_THAT(paths_of(sorted(changes, {UnsafeGit::HeldBack, {".git/refs"}}).held),
              ElementsAre(".git/refs/heads/x"));
  const auto with_link = sorted({added(kObject, FileKind::Link), added(".git/refs/heads/x")});
  EXPECT_THAT(paths_of(with_link.held), ElementsAre(kObject, ".git/refs/heads/x"));
}

TEST(HeldChanges, RemoveNoObjectThatAReferenceCouldNeed) {
  const std::vector<FileChange> changes = {removed(kObject), added(".git/refs/heads/x")};
  EXPECT_THAT(sorted(changes).held, IsEmpty());
  EXPECT_THAT(paths_of(sorted(changes, {UnsafeGit::HeldBack, {".git/objects"}}).held),
              ElementsAre(kObject));
}

TEST(HeldChanges, TakeNothingOfARepositoryThatGoes) {
  const auto result =
      sorted({removed(".git", FileKind::Directory), removed(".git/HEAD"), removed(".git/config"),
              removed(".git/packed-refs"), removed(kObject), removed("a")});
  EXPECT_THAT(paths_of(result.wanted), ElementsAre("a"));
}

TEST(HeldChanges, TakeNothingThatNeedsTheConfiguration) {
  const std::string sha256 = ".git/objects/ab/" + std::string(62, 'c');
  EXPECT_THAT(sorted({added(sha256)}).held, IsEmpty());
  const auto fresh = sorted({added(".git", FileKind::Directory), added(".git/config"),
                             added(".git/HEAD"), added(sha256)});
  EXPECT_THAT(fresh.wanted, IsEmpty());
}

TEST(HeldChanges, TakeNothingBelowAHeldDirectory) {
  const auto result =
      sorted({change_of("sub/.git", FileKind::Regular, FileKind::Directory),
              added("sub/.git/objects", FileKind::Directory), added("sub/.git/packed-refs")});
  EXPECT_THAT(result.wanted, IsEmpty());
}

TEST(HeldChanges, AreToldByTheirDirectory) {
  const auto result = sorted({added(".git/hooks", FileKind::Directory), added(".git/hooks-x"),
                              added(".git/hooks/a"), added(".git/hooks/b")});
  const auto lines = summarise(result.held);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].path, ".git/hooks/");
  EXPECT_EQ(lines[0].below, 2U);
  EXPECT_EQ(lines[1].path, ".git/hooks-x");
}

}  // namespace
}  // namespace nutshell
