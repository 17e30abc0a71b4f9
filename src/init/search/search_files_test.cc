#include "init/search/search_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "init/search/command_fixture.h"
#include "init/search/tree_fixture.h"

namespace nutshell::init::search {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SearchFilesTest : public SearchTreeTest {};

TEST_F(SearchFilesTest, FindsLinesInOrderOfPaths) {
  put("b.txt", "one\ntwo needle\n");
  put("a/x.txt", "needle\nneedle again\n");
  put("a.txt", "needle");
  const auto page = search(pattern("needle"));
  EXPECT_THAT(lines_of(page), ElementsAre("a.txt:1:needle", "a/x.txt:1:needle",
                                          "a/x.txt:2:needle again", "b.txt:2:two needle"));
  EXPECT_EQ(page.total_matches, 4U);
  EXPECT_EQ(page.total_files, 3U);
  EXPECT_EQ(page.is_partial, 0);
}

TEST_F(SearchFilesTest, ShowsContextOnce) {
  put("a", "1\n2\nx3\n4\nx5\n6\n7\n8\nx9");
  wire::Search request = pattern("x");
  request.context = 1;
  EXPECT_THAT(lines_of(search(request)),
              ElementsAre("a-2-2", "a:3:x3", "a-4-4", "a:5:x5", "a-6-6", "a-8-8", "a:9:x9"));
}

TEST_F(SearchFilesTest, PagesAreThePartsOfTheWhole) {
  for (int file = 0; file < 30; ++file) {
    std::string text;
    for (int line = 0; line < file; ++line)
      text += "needle " + std::to_string(line) + "\nother\n";
    put("d" + std::to_string(file % 4) + "/f" + std::to_string(file), text);
  }
  wire::Search request = pattern("needle");
  request.most_matches = 1000;
  const auto whole = lines_of(search(request));
  ASSERT_EQ(whole.size(), 435U);
  for (const std::uint32_t size : {1U, 7U, 100U}) {
    request.most_matches = size;
    std::vector<std::string> together;
    for (request.offset = 0; request.offset < 435; request.offset += size) {
      const auto page = search(request);
      EXPECT_EQ(page.total_matches, 435U);
      for (const std::string& line : lines_of(page))
        together.push_back(line);
    }
    EXPECT_EQ(together, whole) << size;
  }
  request.offset = 435;
  EXPECT_THAT(search(request).files, IsEmpty());
}

TEST_F(SearchFilesTest, KeepsToTheBytesAllowed) {
  std::string text;
  for (int line = 0; line < 5000; ++line)
    text += "needle " + std::string(90, 'x') + "\n";
  put("a", text);
  wire::Search request = pattern("needle");
  request.most_matches = 10'000;
  request.most_bytes = 4000;
  const auto page = search(request);
  EXPECT_EQ(page.total_matches, 5000U);
  EXPECT_GT(lines_of(page).size(), 20U);
  EXPECT_LE(lines_of(page).size(), 40U);
  request.most_bytes = 0;
  EXPECT_LT(wire::encode(search(request)).size(), wire::kMostReplyPayload);
  // However long the names are.
  const std::string folder(200, 'n');
  for (int file = 0; file < 1200; ++file)
    put(folder + "/" + folder + std::to_string(file), "needle\n");
  request.mode = wire::SearchMode::Files;
  EXPECT_LT(wire::encode(search(request)).size(), wire::kMostReplyPayload);
}

TEST_F(SearchFilesTest, CutsLongLinesRoundTheMatch) {
  put("a", std::string(100'000, 'x') + "needle" + std::string(100'000, 'y') + "\n");
  wire::Search request = pattern("needle");
  request.most_line_bytes = 60;
  const auto page = search(request);
  ASSERT_EQ(page.files.size(), 1U);
  const wire::SearchLine& line = page.files[0].lines.at(0);
  EXPECT_THAT(line.text, HasSubstr("needle"));
  EXPECT_EQ(line.text.size(), 60U);
  EXPECT_EQ(line.cut_bytes, 200'006U - 60U);
}

TEST_F(SearchFilesTest, NeverCutsACharacter) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "\xC3\xA9";
  put("a", text + "needle" + text);
  wire::Search request = pattern("needle");
  for (request.most_line_bytes = 20; request.most_line_bytes < 30; ++request.most_line_bytes) {
    const std::string shown = search(request).files.at(0).lines.at(0).text;
    EXPECT_NE(shown.front(), '\xA9');
    EXPECT_NE(shown.back(), '\xC3');
    EXPECT_THAT(shown, HasSubstr("needle"));
  }
}

TEST_F(SearchFilesTest, TakesLinesOfAHundredMegabytes) {
  std::string text(100U << 20U, 'x');
  text.replace(60U << 20U, 6, "needle");
  text += "\nneedle\n";
  put("a", text);
  const auto page = search(pattern("needle"));
  EXPECT_EQ(page.total_matches, 2U);
  ASSERT_EQ(page.files.at(0).lines.size(), 2U);
  EXPECT_EQ(page.files[0].lines[0].line, 1U);
  EXPECT_EQ(page.files[0].lines[1].line, 2U);
  EXPECT_LE(page.files[0].lines[0].text.size(), 500U);
}

TEST_F(SearchFilesTest, CountsLinesAcrossManyWindows) {
  std::string text;
  for (int line = 1; line <= 200'000; ++line)
    text += line % 50'000 == 0 ? "needle\n" : "line " + std::to_string(line) + "\n";
  put("a", text);
  wire::Search request = pattern("needle");
  request.context = 1;
  EXPECT_THAT(lines_of(search(request)),
              ElementsAre("a-49999-line 49999", "a:50000:needle", "a-50001-line 50001",
                          "a-99999-line 99999", "a:100000:needle", "a-100001-line 100001",
                          "a-149999-line 149999", "a:150000:needle", "a-150001-line 150001",
                          "a-199999-line 199999", "a:200000:needle"));
}

TEST_F(SearchFilesTest, SkipsBinaryFiles) {
  put("binary", std::string("needle\0needle\n", 14));
  put("text", "needle\n");
  const auto page = search(pattern("needle"));
  EXPECT_THAT(paths_of(page), ElementsAre("text"));
  EXPECT_EQ(page.skipped_binary, 1U);
}

TEST_F(SearchFilesTest, FindsTheFirstLineBehindAByteOrderMark) {
  put("a", "\xEF\xBB\xBFneedle\n");
  EXPECT_EQ(search(pattern("^needle")).total_matches, 1U);
}

TEST_F(SearchFilesTest, LeavesOutWhatIsIgnored) {
  put(".gitignore", "out/\n");
  put("out/a", "needle");
  put("in/a", "needle");
  put(".hidden", "needle");
  put(".git/config", "needle");
  wire::Search request = pattern("needle");
  auto page = search(request);
  EXPECT_THAT(paths_of(page), ElementsAre(".hidden", "in/a"));
  EXPECT_EQ(page.ignored, 2U);
  request.includes_ignored = 1;
  EXPECT_THAT(paths_of(search(request)), ElementsAre(".hidden", "in/a", "out/a"));
}

TEST_F(SearchFilesTest, IsNarrowedByGlobAndType) {
  for (const char* path : {"a.py", "a.js", "src/b.py", "src/c.ts", "vendor/d.py"})
    put(path, "needle\n");
  wire::Search request = pattern("needle");
  request.file_type = "py";
  EXPECT_THAT(paths_of(search(request)), ElementsAre("a.py", "src/b.py", "vendor/d.py"));
  request.glob = "!vendor/";
  EXPECT_THAT(paths_of(search(request)), ElementsAre("a.py", "src/b.py"));
  request.file_type = "";
  request.glob = "src/**/*.{py,ts}";
  EXPECT_THAT(paths_of(search(request)), ElementsAre("src/b.py", "src/c.ts"));
}

TEST_F(SearchFilesTest, CountsInTheOtherModes) {
  put("a", "needle\nneedle\n");
  put("b", "needle\n");
  wire::Search request = pattern("needle");
  for (const auto mode : {wire::SearchMode::Files, wire::SearchMode::Count}) {
    request.mode = mode;
    request.offset = 0;
    const auto page = search(request);
    ASSERT_EQ(page.files.size(), 2U);
    EXPECT_EQ(page.files[0].matches, 2U);
    EXPECT_THAT(page.files[0].lines, IsEmpty());
    request.offset = 1;
    EXPECT_THAT(paths_of(search(request)), ElementsAre("b"));
  }
}

TEST_F(SearchFilesTest, SearchesAFileThatIsNamed) {
  put(".gitignore", "a\n");
  put("a", "x\nneedle\n");
  wire::Search request = pattern("needle");
  request.path = "a";
  EXPECT_THAT(lines_of(search(request)), ElementsAre(":2:needle"));
}

TEST_F(SearchFilesTest, ShowsMatchesOverSeveralLines) {
  put("a", "one\nbegin {\n  x\n}\ntwo\n");
  wire::Search request = pattern("begin \\{(?s:.*?)\\}");
  request.is_multiline = 1;
  const auto page = search(request);
  ASSERT_EQ(page.total_matches, 1U);
  const auto& lines = page.files.at(0).lines;
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].is_context, 0);
  EXPECT_EQ(lines[1].is_context, 2);
  EXPECT_EQ(lines[2].text, "}");
  EXPECT_EQ(lines[2].line, 4U);
}

TEST_F(SearchFilesTest, RefusesWhatItCannotRead) {
  put("a", "x");
  const auto refusal = [this](const wire::Search& request) {
    auto reply = search_files(place(), request, 2);
    const auto* refused = std::get_if<wire::Refused>(&reply);
    EXPECT_NE(refused, nullptr);
    return refused == nullptr ? wire::Refused() : *refused;
  };
  EXPECT_EQ(refusal(pattern("a(b")).code, ErrorCode::InvalidArgument);
  EXPECT_THAT(refusal(pattern("a(b")).why, HasSubstr("missing )"));
  wire::Search request = pattern("a");
  request.glob = "{a";
  EXPECT_EQ(refusal(request).code, ErrorCode::InvalidArgument);
  request.glob = "";
  request.file_type = "klingon";
  EXPECT_THAT(refusal(request).why, HasSubstr("py"));
  EXPECT_EQ(refusal_of("nothing/here"), ErrorCode::NotFound);
  EXPECT_EQ(refusal_of(std::string("a\0b", 3)), ErrorCode::InvalidArgument);
}

TEST_F(SearchFilesTest, NeverOpensWhatIsNoRegularFile) {
  put("a", "needle");
  ASSERT_EQ(::mkfifo((scratch_ / "fifo").c_str(), 0644), 0);
  fs::create_symlink("a", scratch_ / "link");
  fs::create_symlink(".", scratch_ / "loop");
  fs::create_symlink("loop2", scratch_ / "loop2");
  EXPECT_THAT(paths_of(search(pattern("needle"))), ElementsAre("a"));
  EXPECT_EQ(refusal_of("fifo"), ErrorCode::InvalidArgument);
  EXPECT_NE(refusal_of("loop2"), ErrorCode::Internal);
  EXPECT_EQ(refusal_of("/proc/self"), ErrorCode::InvalidArgument);
  EXPECT_EQ(refusal_of("/dev/null"), ErrorCode::InvalidArgument);
}

TEST_F(SearchFilesTest, TakesNamesOfAnyBytes) {
  put("new\nline", "needle");
  put("bad\xFF\xFEutf", "needle");
  put("-rf", "needle");
  EXPECT_THAT(paths_of(search(pattern("needle"))),
              ElementsAre("-rf", "bad\xFF\xFEutf", "new\nline"));
}

TEST_F(SearchFilesTest, SurvivesFilesThatShrink) {
  const std::string text = std::string(3U << 20U, 'x') + "\nneedle\n";
  put("a", text);
  std::atomic<bool> is_over = false;
  std::thread shrinker([&] {
    while (!is_over) {
      (void)!::truncate((scratch_ / "a").c_str(), 10);
      (void)write_file(scratch_ / "a", text);
    }
  });
  for (int round = 0; round < 100; ++round)
    EXPECT_LE(search(pattern("needle")).total_matches, 1U);
  is_over = true;
  shrinker.join();
}

TEST_F(SearchFilesTest, StopsAtItsDeadlineAndSaysSo) {
  const std::string text(4U << 20U, 'a');
  for (int file = 0; file < 40; ++file)
    put("f" + std::to_string(file), text);
  wire::Search request = pattern("(a|b)*c[^q]{20}$");
  request.timeout_ms = 1;
  const auto start = std::chrono::steady_clock::now();
  const auto page = search(request);
  EXPECT_EQ(page.is_partial, 1);
  EXPECT_LT(page.scanned_bytes, 40U * text.size());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(SearchFilesTest, IsTheSameWithAnyNumberOfThreads) {
  for (int file = 0; file < 300; ++file)
    put("d" + std::to_string(file % 17) + "/" + std::to_string(file % 5) + "/f" +
            std::to_string(file),
        file % 3 == 0 ? "needle\nneedle\n" : "nothing\n");
  wire::Search request = pattern("needle");
  request.most_matches = 40;
  request.offset = 55;
  const std::string one = wire::encode(search(request, 1));
  for (const unsigned threads : {2U, 3U, 8U})
    EXPECT_EQ(wire::encode(search(request, threads)), one) << threads;
}

std::string random_text(std::mt19937& random) {
  static constexpr std::array kWords = {"foo",     "bar", "Foo",  "baz42",
                                        "foo_bar", "\t",  "x=1;", "qux"};
  std::string text;
  const std::size_t words = random() % 60;
  for (std::size_t i = 0; i < words; ++i)
    text += std::string(kWords.at(random() % kWords.size())) + (random() % 4 == 0 ? "\n" : " ");
  return text;
}

// Compares all results, and the ignore rules, with ripgrep on random trees.
TEST_F(SearchFilesTest, AgreesWithRipgrep) {
  if (!has_command("rg")) GTEST_SKIP() << "ripgrep is not installed";
  std::mt19937 random(11);  // NOLINT(cert-msc51-cpp): the same trees every time
  constexpr std::array kNames = {"a", "b", "c.txt", ".d", "e.log", "f g"};
  constexpr std::array kRules = {"*.log", "a/",  "/b",  "!e.log", "c.txt",
                                 ".d",    "!a/", "a/b", "**/b/*"};
  constexpr std::array kFiles = {".gitignore", ".ignore", ".rgignore"};
  constexpr std::array kPatterns = {"foo", "foo|bar", "ba[rz]\\d*", "^x=", "(?i)FOO", "o\\b", ";$"};
  std::size_t compared = 0;
  for (int round = 0; round < 12; ++round) {
    const std::string root = "r" + std::to_string(round);
    for (int i = 0; i < 40; ++i) {
      std::string path = root;
      for (std::size_t level = 0; level <= random() % 4; ++level)
        path += "/" + std::string(kNames.at(random() % 2));
      path += "/" + std::string(kNames.at(2 + random() % 4));
      put(path, random_text(random));
    }
    for (int i = 0; i < 4; ++i) {
      const std::string below = std::array{"/", "/a/", "/b/", "/a/b/"}.at(random() % 4);
      put(root + below + kFiles.at(random() % 3), std::string(kRules.at(random() % kRules.size())) +
                                                      "\n" + kRules.at(random() % kRules.size()) +
                                                      "\n");
    }
    for (const char* expression : kPatterns) {
      wire::Search request = pattern(expression);
      request.path = root;
      request.most_matches = 10'000;
      std::vector<std::string> ours = lines_of(search(request));
      const auto theirs = run_command("cd " + (scratch_ / root).native() +
                                      " && rg --no-config --hidden --no-require-git "
                                      "--no-ignore-global -g '!.git/' -n --no-heading -e '" +
                                      expression + "' | LC_ALL=C sort");
      std::sort(ours.begin(), ours.end());
      std::string text;
      for (const std::string& line : ours)
        text += line + "\n";
      EXPECT_EQ(text, theirs.output) << root << " " << expression;
      compared += ours.size();
    }
  }
  EXPECT_GT(compared, 1000U);
}

}  // namespace
}  // namespace nutshell::init::search
