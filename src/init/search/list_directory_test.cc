#include "init/search/list_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/search/tree_fixture.h"

namespace nutshell::init::search {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class ListDirectoryTest : public SearchTreeTest {
 protected:
  static std::vector<std::string> paths_of(const wire::Listing& listing) {
    std::vector<std::string> paths;
    for (const wire::ListedEntry& entry : listing.entries)
      paths.push_back(entry.info.path);
    return paths;
  }
  void fill(const std::string& folder, int count) {
    fs::create_directories(scratch_ / folder);
    const auto directory = open_file(scratch_ / folder, O_RDONLY | O_DIRECTORY);
    ASSERT_TRUE(directory) << directory.error().message;
    put(folder + "/f0", "");
    for (int i = 1; i < count; ++i) {  // links of one file: quickly made
      const std::string name = "f" + std::to_string(i);
      ASSERT_EQ(::linkat(directory->get(), "f0", directory->get(), name.c_str(), 0), 0);
    }
  }
};

TEST_F(ListDirectoryTest, PutsDirectoriesFirst) {
  put("z/one", "");
  put("z/two", "");
  put("b", "12345");
  put("A", "");
  fs::create_symlink("b", scratch_ / "link");
  const auto listing = list({});
  EXPECT_THAT(paths_of(listing), ElementsAre("z", "A", "b", "link"));
  EXPECT_EQ(listing.entries[0].children, 2U);
  EXPECT_EQ(listing.entries[2].info.size, 5U);
  EXPECT_EQ(listing.entries[3].info.target, "b");
  EXPECT_EQ(listing.total_directories, 1U);
  EXPECT_EQ(listing.total_files, 3U);
}

TEST_F(ListDirectoryTest, ListsLevelsBelowTheirDirectory) {
  put("a/x/deep", "");
  put("a/y", "");
  put("b", "");
  fs::create_symlink("..", scratch_ / "a/up");
  wire::ListDirectory request;
  request.depth = 2;
  const auto listing = list(request);
  EXPECT_THAT(paths_of(listing), ElementsAre("a", "a/x", "a/up", "a/y", "b"));
  EXPECT_EQ(listing.entries[0].children, 3U);  // also where they are listed
  EXPECT_EQ(listing.entries[1].children, 1U);
}

TEST_F(ListDirectoryTest, NamesWhatIsIgnored) {
  put(".gitignore", "*.o\nout/\n");
  put("a.o", "");
  put("out/b", "");
  put("c", "");
  put(".git/HEAD", "");
  wire::ListDirectory request;
  auto listing = list(request);
  EXPECT_THAT(paths_of(listing), ElementsAre(".gitignore", "c"));
  EXPECT_THAT(listing.ignored, ElementsAre(".git", "a.o", "out"));
  EXPECT_EQ(listing.total_ignored, 3U);
  request.includes_ignored = 1;
  listing = list(request);
  EXPECT_THAT(paths_of(listing), ElementsAre(".git", "out", ".gitignore", "a.o", "c"));
  EXPECT_EQ(listing.total_ignored, 0U);
}

TEST_F(ListDirectoryTest, PagesAreThePartsOfTheWhole) {
  fill("many", 300);
  wire::ListDirectory request;
  request.path = "many";
  request.most_entries = 1000;
  const auto whole = paths_of(list(request));
  ASSERT_EQ(whole.size(), 300U);
  std::vector<std::string> together;
  request.most_entries = 70;
  for (; request.offset < 300; request.offset += 70) {
    for (const std::string& path : paths_of(list(request)))
      together.push_back(path);
  }
  EXPECT_EQ(together, whole);
}

TEST_F(ListDirectoryTest, DescribesEachOfManyEntries) {
  constexpr std::size_t kEntries = 1200;  // enough for two threads
  for (std::size_t i = 0; i < kEntries; ++i) {
    const std::string name = "many/" + std::to_string(1'000'000 + i);
    if (i % 100 == 7) {
      fs::create_symlink("target" + std::to_string(i), scratch_ / name);
    } else {
      put(name, std::string(i, 'x'));
    }
  }
  const auto listing = list({"many", 1, 0, 0, 4000});
  ASSERT_EQ(listing.entries.size(), kEntries);
  for (std::size_t i = 0; i < kEntries; ++i) {
    const wire::FileInfo& info = listing.entries[i].info;
    EXPECT_EQ(info.path, std::to_string(1'000'000 + i));
    EXPECT_EQ(info.target, i % 100 == 7 ? "target" + std::to_string(i) : "");
    EXPECT_EQ(info.size, i % 100 == 7 ? info.target.size() : i);
  }
}

TEST_F(ListDirectoryTest, TakesTensOfThousandsOfEntries) {
  fill("many", 60'000);
  wire::ListDirectory request;
  request.path = "many";
  request.most_entries = 50;
  request.offset = 59'980;
  const auto listing = list(request);
  EXPECT_EQ(listing.total_files, 60'000U);
  EXPECT_EQ(listing.entries.size(), 20U);
  EXPECT_EQ(listing.entries.back().info.path, "f9999");
  request.offset = 0;
  request.most_entries = 1'000'000;
  EXPECT_LT(wire::encode(list(request)).size(), wire::kMostReplyPayload);
  // Too much for a caller that has other work.
  EXPECT_FALSE(list_directory(place("many"), request, Effort::Small));
}

TEST_F(ListDirectoryTest, IsSmallUpToSomeThousandEntries) {
  fill("some", 1000);
  wire::ListDirectory request;
  request.path = "some";
  EXPECT_TRUE(list_directory(place("some"), request, Effort::Small));
  request.depth = 2;
  EXPECT_FALSE(list_directory(place("some"), request, Effort::Small));
}

TEST_F(ListDirectoryTest, TakesNamesOfAnyBytes) {
  put("new\nline", "");
  put("bad\xFFutf", "");
  ASSERT_EQ(::mkfifo((scratch_ / "fifo").c_str(), 0644), 0);
  const auto listing = list({});
  EXPECT_THAT(paths_of(listing), ElementsAre("bad\xFFutf", "fifo", "new\nline"));
  EXPECT_EQ(listing.entries[1].info.kind, wire::FileKind::Other);
}

TEST_F(ListDirectoryTest, RefusesFiles) {
  put("file", "");
  const auto reply = list_directory(place("file"), {}, Effort::Small);
  ASSERT_TRUE(reply && std::holds_alternative<wire::Refused>(*reply));
  EXPECT_EQ(std::get<wire::Refused>(*reply).code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace nutshell::init::search
