#include "images/layer_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "base/scratch_fixture.h"

namespace nutshell::images {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LayerTree : public testing::Test {
 protected:
  LayerTree() { fs::create_directories(root_); }

  // Makes a layer with these files; a name that ends with a slash is a directory.
  fs::path layer(const std::vector<std::string>& names) {
    fs::path made = scratch_ / ("layer" + std::to_string(++count_));
    fs::create_directories(made);
    for (const std::string& name : names) {
      fs::create_directories((made / name).parent_path());
      if (!name.ends_with('/')) std::ofstream(made / name) << "layer " << count_;
    }
    return made;
  }
  void add(const std::vector<std::string>& names) {
    const auto added = add_layer(layer(names), root_);
    ASSERT_TRUE(added) << added.error().message;
  }
  std::vector<std::string> files() {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      all.push_back(entry.path().lexically_relative(root_).native());
    std::sort(all.begin(), all.end());
    return all;
  }
  std::string text_of(const std::string& name) {
    std::ifstream file(root_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  ScratchDirectory scratch_;
  fs::path root_ = scratch_ / "root";
  int count_ = 0;
};

TEST_F(LayerTree, UpperFilesReplaceLowerOnes) {
  add({"a", "d/b", "d/c"});
  add({"d/b"});
  EXPECT_EQ(files(), (std::vector<std::string>{"a", "d", "d/b", "d/c"}));
  EXPECT_EQ(text_of("d/b"), "layer 2");
  EXPECT_EQ(text_of("d/c"), "layer 1");
}

TEST_F(LayerTree, FilesAreSharedWithTheLayer) {
  const fs::path made = layer({"a"});
  fs::create_symlink("/etc/passwd", made / "link");
  fs::create_hard_link(made / "a", made / "same");
  ASSERT_TRUE(add_layer(made, root_));
  EXPECT_TRUE(fs::equivalent(made / "a", root_ / "same"));
  EXPECT_EQ(fs::read_symlink(root_ / "link"), "/etc/passwd");
}

TEST_F(LayerTree, WhiteoutsTakeLowerFilesAway) {
  add({"a", "gone", "d/x", "d/y", "e/deep/z"});
  add({".wh.gone", "d/.wh.x", ".wh.e", ".wh.never-there"});
  EXPECT_EQ(files(), (std::vector<std::string>{"a", "d", "d/y"}));
}

TEST_F(LayerTree, WhiteoutHidesNothingOfItsOwnLayer) {
  add({"a"});
  add({"a", ".wh.a", "d/new", ".wh.d"});
  EXPECT_EQ(files(), (std::vector<std::string>{"a", "d", "d/new"}));
  EXPECT_EQ(text_of("a"), "layer 2");
}

TEST_F(LayerTree, OpaqueDirectoriesBeginAnew) {
  add({"d/old", "d/inner/old", "kept"});
  add({"d/.wh..wh..opq", "d/new"});
  EXPECT_EQ(files(), (std::vector<std::string>{"d", "d/new", "kept"}));
}

TEST_F(LayerTree, BookkeepingOfOthersIsLeftOut) {
  add({".wh..wh.plnk", ".wh..wh.aufs", "a"});
  EXPECT_EQ(files(), (std::vector<std::string>{"a"}));
}

TEST_F(LayerTree, FileAndDirectoryReplaceEachOther) {
  add({"a/inner", "b"});
  add({"a", "b/inner"});
  EXPECT_EQ(files(), (std::vector<std::string>{"a", "b", "b/inner"}));
}

TEST_F(LayerTree, DirectoryModesAndTimesAreTheUpperLayers) {
  add({"d/a"});
  const fs::path upper = layer({"d/b"});
  ASSERT_EQ(::chmod((upper / "d").c_str(), 01777), 0);
  fs::last_write_time(upper / "d", fs::file_time_type(std::chrono::hours(24)));
  ASSERT_TRUE(add_layer(upper, root_));
  struct stat status {};
  ASSERT_EQ(::stat((root_ / "d").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 01777U);
  EXPECT_EQ(fs::last_write_time(root_ / "d"), fs::last_write_time(upper / "d"));
}

// Files and whiteouts of an upper layer cannot lead out through a link of a lower layer.
TEST_F(LayerTree, LinksOfLowerLayersAreNotFollowed) {
  fs::create_directories(scratch_ / "outside");
  std::ofstream(scratch_ / "outside/precious") << "mine";
  const fs::path lower = layer({});
  fs::create_symlink(scratch_ / "outside", lower / "d");
  fs::create_symlink(scratch_ / "outside", lower / "e");
  ASSERT_TRUE(add_layer(lower, root_));
  add({"d/precious", "e/.wh.precious", "e/.wh..wh..opq"});
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch_ / "outside"), {}), 1);
  std::ifstream precious(scratch_ / "outside/precious");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(precious), {}), "mine");
  EXPECT_FALSE(fs::is_symlink(root_ / "d"));
}

TEST_F(LayerTree, WhiteoutsOfWhatIsNoFileAreRefused) {
  for (const char* name : {"d/.wh..", "d/.wh...", "d/.wh."}) {
    const auto added = add_layer(layer({name}), root_);
    ASSERT_FALSE(added) << name;
    EXPECT_THAT(added.error().message, HasSubstr("which is not a file"));
  }
}

TEST_F(LayerTree, IsRemovedWithoutFollowingLinks) {
  add({"a/b/c", "x"});
  fs::create_directories(scratch_ / "outside/kept");
  fs::create_symlink(scratch_ / "outside", root_ / "a/link");
  remove_tree(root_);
  EXPECT_FALSE(fs::exists(root_));
  EXPECT_TRUE(fs::exists(scratch_ / "outside/kept"));
}

}  // namespace
}  // namespace nutshell::images
