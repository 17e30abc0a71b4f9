#include "init/search/find_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "init/search/tree_fixture.h"

namespace nutshell::init::search {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class FindFilesTest : public SearchTreeTest {
 protected:
  static wire::FindFiles glob(const std::string& text) {
    wire::FindFiles request;
    request.glob = text;
    return request;
  }
  static std::vector<std::string> paths_of(const wire::FindPage& page) {
    std::vector<std::string> paths;
    for (const wire::FileInfo& info : page.found)
      paths.push_back(info.path);
    return paths;
  }
  void set_time(const std::string& path, int seconds) {
    const std::array<timespec, 2> times = {timespec{seconds, 0}, timespec{seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (scratch_ / path).c_str(), times.data(), 0), 0);
  }
};

TEST_F(FindFilesTest, GroupsByDirectoryNewestFirst) {
  for (const char* path : {"old/a.c", "old/b.c", "new/c.c", "new/d.h", "top.c"})
    put(path, "x");
  set_time("old/a.c", 100);
  set_time("old/b.c", 200);
  set_time("new/c.c", 300);
  set_time("new/d.h", 900);
  set_time("top.c", 50);
  const auto page = find(glob("*.c"));
  EXPECT_THAT(paths_of(page), ElementsAre("new/c.c", "old/b.c", "old/a.c", "top.c"));
  EXPECT_EQ(page.total, 4U);
  EXPECT_EQ(page.scanned, 7U);
  EXPECT_EQ(page.found.at(0).size, 1U);
  EXPECT_EQ(page.found.at(0).modified_ns, 300'000'000'000);
}

TEST_F(FindFilesTest, PagesAreThePartsOfTheWhole) {
  for (int i = 0; i < 2500; ++i)
    put("d" + std::to_string(i % 40) + "/f" + std::to_string(i), "");
  wire::FindFiles request = glob("f*");
  for (const int first : {0, 2000}) {  // few enough to be asked for their times, and too many
    if (first == 0) request.glob = "f1*";
    if (first != 0) request.glob = "f*";
    request.offset = 0;
    request.most_results = 10'000;
    const auto whole = paths_of(find(request));
    std::vector<std::string> together;
    request.most_results = 300;
    for (; request.offset < whole.size(); request.offset += 300) {
      for (const std::string& path : paths_of(find(request)))
        together.push_back(path);
    }
    EXPECT_EQ(together, whole);
  }
  EXPECT_EQ(find(request).total, 2500U);
}

TEST_F(FindFilesTest, TellsKindsApart) {
  put("dir/file", "x");
  fs::create_symlink("file", scratch_ / "dir/link");
  fs::create_symlink("..", scratch_ / "dir/loop");
  ASSERT_EQ(::mkfifo((scratch_ / "dir/fifo").c_str(), 0644), 0);
  wire::FindFiles request = glob("");
  EXPECT_THAT(paths_of(find(request)), ElementsAre("dir/file"));
  request.kind = wire::FileKind::Directory;
  EXPECT_THAT(paths_of(find(request)), ElementsAre("dir"));
  request.kind = wire::FileKind::Link;
  EXPECT_THAT(paths_of(find(request)), UnorderedElementsAre("dir/link", "dir/loop"));
  EXPECT_EQ(find(request).found.at(0).kind, wire::FileKind::Link);
  request.kind = wire::FileKind::Other;
  EXPECT_THAT(paths_of(find(request)), ElementsAre("dir/fifo"));
  request.is_any_kind = 1;
  EXPECT_EQ(find(request).total, 5U);
}

TEST_F(FindFilesTest, CountsWhatIsIgnored) {
  put(".gitignore", "out\n*.o\n");
  put("out/a", "");
  put("b.o", "");
  put("c", "");
  wire::FindFiles request = glob("*");
  const auto page = find(request);
  EXPECT_THAT(paths_of(page), UnorderedElementsAre(".gitignore", "c"));
  EXPECT_EQ(page.ignored, 2U);
  request.includes_ignored = 1;
  EXPECT_EQ(find(request).total, 4U);
}

TEST_F(FindFilesTest, KeepsToTheBytesOfAFrame) {
  const std::string folder(240, 'n');
  for (int i = 0; i < 1500; ++i)
    put(folder + "/" + std::string(200, 'f') + std::to_string(i), "");
  wire::FindFiles request = glob("*");
  request.most_results = 100'000;
  const auto page = find(request);
  EXPECT_EQ(page.total, 1500U);
  EXPECT_GT(page.found.size(), 300U);
  EXPECT_LT(wire::encode(page).size(), wire::kMostReplyPayload);
}

TEST_F(FindFilesTest, GoesDeepButNotForever) {
  std::string path;
  UniqueFd directory(::open(scratch_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 700; ++level) {
    ASSERT_EQ(::mkdirat(directory.get(), "d", 0755), 0);
    directory.reset(::openat(directory.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  wire::FindFiles request = glob("d");
  request.kind = wire::FileKind::Directory;
  const auto page = find(request);
  EXPECT_GE(page.total, 512U);
  EXPECT_EQ(page.is_partial, 1);
}

TEST_F(FindFilesTest, RefusesWhatItCannotRead) {
  put("file", "");
  const auto code = [this](const wire::FindFiles& request) {
    const auto reply = find_files(place(request.path), request, 1);
    const auto* refused = std::get_if<wire::Refused>(&reply);
    return refused == nullptr ? ErrorCode::Internal : refused->code;
  };
  EXPECT_EQ(code(glob("[")), ErrorCode::InvalidArgument);
  wire::FindFiles request = glob("*");
  request.path = "file";
  EXPECT_EQ(code(request), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace nutshell::init::search
