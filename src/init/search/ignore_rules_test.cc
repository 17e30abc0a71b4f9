#include "init/search/ignore_rules.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <random>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "init/search/command_fixture.h"

namespace nutshell::init::search {
namespace {

namespace fs = std::filesystem;
using Verdict = IgnoreRules::Verdict;

struct RuleCase {
  const char* rules;
  const char* path;  // a directory where it ends in a slash
  Verdict verdict;
};

class SearchIgnoreCases : public testing::TestWithParam<RuleCase> {};

TEST_P(SearchIgnoreCases, AreAsTheTableSays) {
  std::string path = GetParam().path;
  const EntryKind kind = path.ends_with('/') ? EntryKind::Directory : EntryKind::Other;
  if (kind == EntryKind::Directory) path.pop_back();
  const std::string name = fs::path(path).filename();
  EXPECT_EQ(IgnoreRules::parse(GetParam().rules).judge(path, name, kind), GetParam().verdict)
      << GetParam().rules << " on " << GetParam().path;
}

constexpr std::array kRuleCases = {
    RuleCase{"", "a", Verdict::None},
    RuleCase{"# a\n\n   \n", "a", Verdict::None},
    RuleCase{"a", "a", Verdict::Ignored},
    RuleCase{"a", "x/a", Verdict::Ignored},
    RuleCase{"a", "ab", Verdict::None},
    RuleCase{"a\r\n", "a", Verdict::Ignored},
    RuleCase{"\xEF\xBB\xBF"
             "a",
             "a", Verdict::Ignored},
    RuleCase{"a   ", "a", Verdict::Ignored},
    RuleCase{"a\\ ", "a ", Verdict::Ignored},
    RuleCase{"/a", "a", Verdict::Ignored},
    RuleCase{"/a", "x/a", Verdict::None},
    RuleCase{"a/", "a", Verdict::None},
    RuleCase{"a/", "a/", Verdict::Ignored},
    RuleCase{"a/", "x/a/", Verdict::Ignored},
    RuleCase{"x/a", "x/a", Verdict::Ignored},
    RuleCase{"x/a", "y/x/a", Verdict::None},
    RuleCase{"**/x/a", "y/x/a", Verdict::Ignored},
    RuleCase{"x/**", "x/y/a", Verdict::Ignored},
    RuleCase{"x/**", "x/", Verdict::None},
    RuleCase{"*.o\n!keep.o", "keep.o", Verdict::Kept},
    RuleCase{"*.o\n!keep.o", "x/b.o", Verdict::Ignored},
    RuleCase{"!keep.o\n*.o", "keep.o", Verdict::Ignored},
    RuleCase{"\\#a", "#a", Verdict::Ignored},
    RuleCase{"\\!a", "!a", Verdict::Ignored},
    RuleCase{"{a,b}", "a", Verdict::None},
    RuleCase{"{a,b}", "{a,b}", Verdict::Ignored},
    RuleCase{"[", "[", Verdict::None},
    RuleCase{"[ab]", "b", Verdict::Ignored},
    RuleCase{"*", ".hidden", Verdict::Ignored},
    RuleCase{"/", "a", Verdict::None},
    RuleCase{"!", "a", Verdict::None},
};
INSTANTIATE_TEST_SUITE_P(Table, SearchIgnoreCases, testing::ValuesIn(kRuleCases));

class SearchIgnoreLevels : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((scratch_ / path).parent_path());
    ASSERT_TRUE(write_file(scratch_ / path, text));
  }
  // Reads the rules as a walk from `root` does.
  bool is_left_out(const std::string& root, const std::string& path, EntryKind kind) {
    const auto top = open_file(scratch_ / root, O_RDONLY | O_DIRECTORY);
    auto level = read_levels_above(top->get());
    std::size_t slash = 0;
    for (std::string below;; below = path.substr(0, slash)) {
      const auto fd = open_file((scratch_ / root) / below, O_RDONLY | O_DIRECTORY);
      const std::size_t depth = below.empty() ? 0 : below.size() + 1;
      level = read_ignore_level(fd->get(), depth, level);
      slash = path.find('/', depth);
      if (slash == std::string::npos) break;
    }
    return is_ignored(level.get(), path, fs::path(path).filename().native(), kind);
  }

  ScratchDirectory scratch_;
};

TEST_F(SearchIgnoreLevels, NearerFilesDecideFirst) {
  put(".gitignore", "*.log\n");
  put("sub/.gitignore", "!keep.log\n");
  put("sub/deep/x", "");
  EXPECT_TRUE(is_left_out(".", "a.log", EntryKind::Other));
  EXPECT_TRUE(is_left_out(".", "sub/a.log", EntryKind::Other));
  EXPECT_FALSE(is_left_out(".", "sub/keep.log", EntryKind::Other));
  EXPECT_FALSE(is_left_out(".", "sub/deep/keep.log", EntryKind::Other));
}

TEST_F(SearchIgnoreLevels, AnchorsAreAtTheirOwnDirectory) {
  put("sub/.gitignore", "/top\nx/y\n");
  put("sub/deep/x/y", "");
  EXPECT_TRUE(is_left_out(".", "sub/top", EntryKind::Other));
  EXPECT_FALSE(is_left_out(".", "sub/deep/top", EntryKind::Other));
  EXPECT_FALSE(is_left_out(".", "sub/deep/x/y", EntryKind::Other));
}

TEST_F(SearchIgnoreLevels, LevelsAboveTheRootApplyToo) {
  put(".gitignore", "/sub/secret\n*.log\n");
  put("sub/deep/x", "");
  EXPECT_TRUE(is_left_out("sub", "secret", EntryKind::Other));
  EXPECT_TRUE(is_left_out("sub", "deep/a.log", EntryKind::Other));
  EXPECT_FALSE(is_left_out("sub", "deep/secret", EntryKind::Other));
}

TEST_F(SearchIgnoreLevels, GitsRulesEndAtTheRepository) {
  put(".gitignore", "*.log\n");
  put(".ignore", "*.tmp\n");
  put("repository/.git/info/exclude", "*.local\n");
  EXPECT_FALSE(is_left_out(".", "repository/a.log", EntryKind::Other));
  EXPECT_TRUE(is_left_out(".", "repository/a.tmp", EntryKind::Other));
  EXPECT_TRUE(is_left_out(".", "repository/a.local", EntryKind::Other));
  EXPECT_FALSE(is_left_out(".", "a.local", EntryKind::Other));
}

TEST_F(SearchIgnoreLevels, IgnoreFilesOutrankGits) {
  put(".ignore", "!a.log\n");
  put("sub/.gitignore", "*.log\n");
  EXPECT_FALSE(is_left_out(".", "sub/a.log", EntryKind::Other));
  EXPECT_TRUE(is_left_out(".", "sub/b.log", EntryKind::Other));
}

TEST_F(SearchIgnoreLevels, SpecialFilesAreNotRead) {
  ASSERT_EQ(::mkfifo((scratch_ / ".gitignore").c_str(), 0644), 0);
  put("rules", "*\n");
  fs::create_symlink("rules", scratch_ / ".ignore");
  EXPECT_FALSE(is_left_out(".", "a", EntryKind::Other));
}

std::string random_rules(std::mt19937& random) {
  static constexpr std::array kRules = {
      "a",   "b/",   "/c",   "*.c", "!a",  "!*.c", "a/b", "/a/**",  "**/b",  "a/*/c",
      "?",   "[ab]", "[!a]", "!b/", "*",   "!c/",  "b*",  "!/a/b",  "**/a/", "c/**/a",
      "a.c", "!a.c", "\\a",  "/*",  "!/b", "b/**", "*a*", "[a-b].c"};
  std::string text;
  const std::size_t count = random() % 4;
  for (std::size_t i = 0; i < count; ++i)
    text += std::string(kRules.at(random() % kRules.size())) + "\n";
  return text;
}

// Compares with git on every file of random trees.
TEST_F(SearchIgnoreLevels, AgreeWithGit) {
  if (!has_command("git")) GTEST_SKIP() << "git is not installed";
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same trees every time
  constexpr std::array kNames = {"a", "b", "c", "a.c", "b.c"};
  std::size_t compared = 0;
  for (int round = 0; round < 25; ++round) {
    const std::string root = "r" + std::to_string(round);
    for (int i = 0; i < 25; ++i) {
      std::string path;
      const std::size_t depth = 1 + random() % 4;
      for (std::size_t level = 0; level < depth; ++level) {
        path += (path.empty() ? "" : "/") + std::string(kNames.at(random() % 3));
      }
      path += "/" + std::string(kNames.at(random() % kNames.size()));
      std::error_code ignored;  // a name may be a file already
      fs::create_directories((scratch_ / root / path).parent_path(), ignored);
      if (!ignored && !fs::exists(scratch_ / root / path)) put(root + "/" + path, "x");
    }
    for (const char* place : {"", "a/", "b/", "a/b/"}) {
      if (fs::is_directory((scratch_ / root) / place))
        put(root + "/" + place + ".gitignore", random_rules(random));
    }
    ASSERT_EQ(run_command("git init -q " + (scratch_ / root).native()).status, 0);
    const std::string expected = run_command("cd " + (scratch_ / root).native() +
                                             " && git -c core.excludesFile= ls-files -co "
                                             "--exclude-standard | LC_ALL=C sort")
                                     .output;
    std::string found;
    std::vector<std::string> lines;
    const std::function<void(const std::string&)> visit = [&](const std::string& path) {
      for (const auto& item : fs::directory_iterator((scratch_ / root) / path)) {
        const std::string below = path + item.path().filename().native();
        if (below == ".git") continue;
        const bool is_directory = item.is_directory();
        if (is_left_out(root, below, is_directory ? EntryKind::Directory : EntryKind::Other))
          continue;
        if (is_directory) visit(below + "/");
        if (!is_directory) lines.push_back(below + "\n");
      }
    };
    visit("");
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines)
      found += line;
    EXPECT_EQ(found, expected) << "round " << round;
    compared += lines.size();
  }
  EXPECT_GT(compared, 50U);
}

}  // namespace
}  // namespace nutshell::init::search
