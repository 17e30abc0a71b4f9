#include "init/layers/save_layers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "core/sandbox_spec.h"

namespace nutshell::init {
namespace {

namespace fs = std::filesystem;

// The files that a sandbox left; the store is the directory that it sees as /tmp, and its layers.
class SavedCaches : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const fs::path file = home_ / path;
    fs::create_directories(file.parent_path());
    ASSERT_TRUE(write_file(file, text));
  }
  // The content of the saved files by their paths; of directories and links, their kind.
  Result<std::map<std::string, std::string>> save() {
    const UniqueFd store = TRY(open_file(scratch_ / "store", O_PATH | O_DIRECTORY));
    const fs::path place = scratch_ / "archive";
    const UniqueFd file = TRY(open_file(place, O_RDWR | O_CREAT | O_TRUNC, 0600));
    saved::ArchiveWriter writer(file.get(), {bytes_, bytes_});
    TRY(save_layers({store.get(), -1, false, {}, saved::Saved::Caches}, writer));
    TRY(writer.finish("done"));
    auto reader = TRY(saved::ArchiveReader::open(TRY(open_file(place, O_RDONLY))));
    std::map<std::string, std::string> found;
    while (const auto change = TRY(reader.next())) {
      const auto kind = change->after.kind;
      if (kind == wire::FileKind::Directory) found[change->path] = "directory";
      if (kind == wire::FileKind::Link) found[change->path] = "link";
      if (kind == wire::FileKind::Regular)
        found[change->path] = TRY(reader.read_content(1U << 16U));
    }
    return found;
  }

  std::uint64_t bytes_ = 1U << 20U;
  ScratchDirectory scratch_;
  fs::path home_ = (scratch_ / "store").native() + kHomeDirectory;
};

TEST_F(SavedCaches, AreTheFilesOfCachesWithTheirDirectories) {
  write(".cache/pip/http/ab", "download");
  write("go/pkg/mod/x@v1/x.go", "package x");
  const auto found = save();
  ASSERT_TRUE(found) << found.error().message;
  const std::map<std::string, std::string> wanted = {{".cache", "directory"},
                                                     {".cache/pip", "directory"},
                                                     {".cache/pip/http", "directory"},
                                                     {".cache/pip/http/ab", "download"},
                                                     {"go", "directory"},
                                                     {"go/pkg", "directory"},
                                                     {"go/pkg/mod", "directory"},
                                                     {"go/pkg/mod/x@v1", "directory"},
                                                     {"go/pkg/mod/x@v1/x.go", "package x"}};
  EXPECT_EQ(*found, wanted);
}

TEST_F(SavedCaches, HaveNoSettingsOfPrograms) {
  for (const char* path : {".bashrc", ".npmrc", ".config/pip/pip.conf", ".cargo/config.toml",
                           ".gradle/init.d/evil.gradle", ".m2/settings.xml", ".cache/other/a"})
    write(path, "evil");
  const auto found = save();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->empty());
}

TEST_F(SavedCaches, AreNotReadThroughLinks) {
  fs::create_directories(scratch_ / "secret");
  ASSERT_TRUE(write_file(scratch_ / "secret/key", "of the host"));
  fs::create_directories(home_ / ".cache");
  fs::create_directory_symlink(scratch_ / "secret", home_ / ".cache/pip");
  fs::create_directory_symlink(scratch_ / "secret", home_ / "go");
  write(".npm/_cacache/a", "own");
  fs::create_symlink(scratch_ / "secret/key", home_ / ".npm/_cacache/link");
  const auto found = save();
  ASSERT_TRUE(found) << found.error().message;
  const std::map<std::string, std::string> wanted = {{".npm", "directory"},
                                                     {".npm/_cacache", "directory"},
                                                     {".npm/_cacache/a", "own"},
                                                     {".npm/_cacache/link", "link"}};
  EXPECT_EQ(*found, wanted);
}

TEST_F(SavedCaches, LeaveOutPipesAndHomesThatAreLinks) {
  fs::create_directories(home_ / ".cache/pip");
  ASSERT_EQ(::mkfifo((home_ / ".cache/pip/pipe").c_str(), 0600), 0);
  auto found = save();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(found->contains(".cache/pip/pipe"));
  fs::rename(home_, scratch_ / "elsewhere");
  fs::create_directory_symlink(scratch_ / "elsewhere", home_);
  found = save();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->empty());
}

TEST_F(SavedCaches, BeyondTheirBoundAreRefused) {
  bytes_ = 4096;
  write(".cache/pip/big", std::string(5000, 'a'));
  const auto found = save();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::ResourceExhausted);
}

}  // namespace
}  // namespace nutshell::init
