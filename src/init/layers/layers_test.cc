#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "init/layers/change_walk.h"
#include "init/layers/layer_stack.h"
#include "init/layers/merge_layers.h"

namespace nutshell::init {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// Layers in the kernel's format, made by hand.
class LayersTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(directory_ / "workspace");
    store_ = *open_file(directory_.path(), O_RDONLY | O_DIRECTORY);
    fs::create_directory(directory_ / "base");
  }
  std::shared_ptr<const Layer> make(const std::string& name) {
    return *Layer::create(store_.get(), name);
  }
  fs::path at(const Layer& layer, const std::string& path) const {
    return directory_ / layer.name() / path;
  }
  static void put(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(write_file(path, text));
  }
  static void white_out(const fs::path& path) {
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(write_file(path, ""));
    const std::string aside = path.native() + ".aside";
    if (::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, aside.c_str(), RENAME_WHITEOUT) != 0)
      GTEST_SKIP() << "this file system makes no whiteouts";
    fs::remove(aside);
  }
  static void opaque(const fs::path& path) {
    fs::create_directories(path);
    if (::setxattr(path.c_str(), "user.overlay.opaque", "y", 1, 0) != 0)
      GTEST_SKIP() << "this file system keeps no attributes";
  }
  std::shared_ptr<const Layer> base() {
    return Layer::base(*open_file(directory_ / "base", O_RDONLY | O_DIRECTORY));
  }
  static std::vector<std::string> changes(LayerList layers, std::size_t first) {
    return changes(ChangeWalk(std::move(layers), first));
  }
  static std::vector<std::string> changes(ChangeWalk walk) {
    std::vector<std::string> found;
    for (;;) {
      auto change = walk.next();
      if (!change) return {change.error().message};
      if (!*change) return found;
      const char kind = !(*change)->before ? '+' : !(*change)->after ? '-' : '~';
      found.push_back(kind + (*change)->path);
    }
  }

  ScratchDirectory directory_;
  UniqueFd store_;
};

TEST_F(LayersTest, AFileInAHigherLayerWins) {
  const auto low = make("0001");
  const auto high = make("0002");
  put(at(*low, "f"), "low");
  put(at(*high, "f"), "high");
  EXPECT_EQ((*LayerView({low, high}).find("f"))->layer, high);
  EXPECT_EQ((*LayerView({low}).find("f"))->layer, low);
  EXPECT_FALSE(*LayerView({low, high}).find("g"));
}

TEST_F(LayersTest, ARemovedFileIsHidden) {
  const auto low = make("0001");
  const auto high = make("0002");
  put(at(*low, "d/f"), "low");
  white_out(at(*high, "d"));
  EXPECT_FALSE(*LayerView({low, high}).find("d"));
  EXPECT_FALSE(*LayerView({low, high}).find("d/f"));
  EXPECT_THAT(changes({low, high}, 1), ElementsAre("-d", "-d/f"));
}

TEST_F(LayersTest, ADirectoryMadeAnewHidesTheOldOne) {
  const auto low = make("0001");
  const auto high = make("0002");
  put(at(*low, "d/old"), "low");
  put(at(*low, "d/same"), "same");
  opaque(at(*high, "d"));
  put(at(*high, "d/new"), "high");
  put(at(*high, "d/same"), "same");
  EXPECT_FALSE(*LayerView({low, high}).find("d/old"));
  EXPECT_THAT(changes({low, high}, 1), ElementsAre("+d/new", "-d/old"));
}

TEST_F(LayersTest, TheSameBytesAreNoChange) {
  const auto high = make("0001");
  put(directory_ / "base" / "f", "text");
  put(at(*high, "f"), "text");
  EXPECT_THAT(changes({base(), high}, 1), IsEmpty());
  put(at(*high, "f"), "texT");
  EXPECT_THAT(changes({base(), high}, 1), ElementsAre("~f"));
}

TEST_F(LayersTest, AFileAndADirectoryChangePlaces) {
  const auto high = make("0001");
  put(directory_ / "base" / "d" / "f", "x");
  put(directory_ / "base" / "f", "x");
  put(at(*high, "d"), "now a file");
  put(at(*high, "f/g"), "now in a directory");
  EXPECT_THAT(changes({base(), high}, 1), ElementsAre("~d", "-d/f", "~f", "+f/g"));
}

TEST_F(LayersTest, AddedAndRemovedInPrivateLayersIsNoChange) {
  const auto low = make("0001");
  const auto high = make("0002");
  put(at(*low, "f"), "x");
  white_out(at(*high, "f"));
  EXPECT_THAT(changes({base(), low, high}, 1), IsEmpty());
}

TEST_F(LayersTest, MergedLayersShowTheSame) {
  put(directory_ / "base" / "gone", "x");
  put(directory_ / "base" / "d" / "hidden", "x");
  put(directory_ / "base" / "kept", "x");
  const auto low = make("0001");
  const auto high = make("0002");
  put(at(*low, "f"), "low");
  put(at(*low, "temporary"), "low");
  white_out(at(*low, "gone"));
  put(at(*high, "f"), "high");
  white_out(at(*high, "temporary"));
  opaque(at(*high, "d"));
  put(at(*high, "d/new"), "high");
  const auto wanted = changes({base(), low, high}, 1);
  const auto merged = make("0003");
  const auto done = merge_layers({low, high}, *merged, Below::Something);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(changes({base(), merged}, 1), wanted);
  EXPECT_THAT(wanted, ElementsAre("-d/hidden", "+d/new", "+f", "-gone"));
}

class LayerStackTest : public LayersTest {
 protected:
  LayerStack make_stack() {
    return {store_, UniqueFd(), Keeping::Layers, [this] { return Result<std::string>(top_); }};
  }
  void use(LayerStack& stack, const wire::ChangeBegun& begun) {
    if (begun.way != wire::ChangeWay::NewLayer) return;
    top_ = begun.layers.back();
    const auto used = stack.use(begun.layers);
    ASSERT_TRUE(used) << used.error().message;
  }
  fs::path top(const std::string& path) const { return directory_ / top_ / path; }
  std::string top_ = "workspace";
};

TEST_F(LayerStackTest, AnEmptyTopCatchesTheChangeItself) {
  LayerStack stack = make_stack();
  const auto begun = stack.begin("bash", {});
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->way, wire::ChangeWay::SameLayer);
  put(directory_ / "workspace" / "f", "new");
  const auto ended = stack.end();
  ASSERT_TRUE(ended);
  ASSERT_EQ(ended->paths.size(), 1U);
  EXPECT_EQ(ended->paths[0].path, "/workspace/f");
  EXPECT_FALSE(ended->paths[0].before.is_there());
}

TEST_F(LayerStackTest, TheOldBytesAreKept) {
  put(directory_ / "workspace" / "f", "old");
  LayerStack stack = make_stack();
  const auto begun = stack.begin("bash", {});
  ASSERT_TRUE(begun);
  ASSERT_EQ(begun->way, wire::ChangeWay::NewLayer);
  use(stack, *begun);
  put(top("f"), "new");
  const auto ended = stack.end();
  ASSERT_TRUE(ended);
  ASSERT_EQ(ended->paths.size(), 1U);
  EXPECT_EQ(*read_all(ended->paths[0].before.content->open()->get(), 100), "old");
}

TEST_F(LayerStackTest, LayersThatWereNotAskedForAreRefused) {
  put(directory_ / "workspace" / "f", "old");
  LayerStack stack = make_stack();
  EXPECT_FALSE(stack.use({"workspace", "0001"}));
  ASSERT_TRUE(stack.begin("bash", {}));
  EXPECT_FALSE(stack.use({"0001"}));
}

TEST_F(LayerStackTest, AThousandChangesMakeAShortStack) {
  LayerStack stack = make_stack();
  std::size_t longest = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto begun = stack.begin("bash", {});
    ASSERT_TRUE(begun) << begun.error().message;
    use(stack, *begun);
    longest = std::max(longest, begun->layers.size());
    put(top("f" + std::to_string(i % 10)), std::to_string(i));
    ASSERT_TRUE(stack.end());
  }
  EXPECT_LT(longest, 40U);
  EXPECT_LT(std::distance(fs::directory_iterator(directory_.path()), {}), 100);
  ChangeWalk walk = stack.against_base();
  std::size_t files = 0;
  while (*walk.next())
    ++files;
  EXPECT_EQ(files, 10U);
}

TEST_F(LayerStackTest, ACheckpointIsGoneBackTo) {
  put(directory_ / "workspace" / "f", "old");
  LayerStack stack = make_stack();
  const auto kept = stack.checkpoint();
  ASSERT_TRUE(kept);
  use(stack, *kept);
  put(top("f"), "new");
  const auto back = stack.rollback(kept->change_id);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->layers.front(), "workspace");
  EXPECT_EQ(back->layers.size(), 2U);
  use(stack, *back);
  EXPECT_FALSE(fs::exists(top("f")));
  EXPECT_FALSE(stack.rollback("c9"));
}

TEST_F(LayersTest, CopiesAreComparedAndBroughtBackWhole) {
  put(directory_ / "base" / "d/kept", "kept");
  put(directory_ / "base" / "gone", "gone");
  put(directory_ / "workspace" / "d/kept", "kept");
  put(directory_ / "workspace" / "d/new", "new");
  LayerStack stack(store_, *open_file(directory_ / "base", O_RDONLY | O_DIRECTORY),
                   Keeping::Copies);
  EXPECT_FALSE(stack.begin("a command", {}));
  EXPECT_THAT(changes(stack.against_base()), ElementsAre("+d/new", "-gone"));

  const auto kept = stack.checkpoint();
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->way, wire::ChangeWay::SameLayer);
  fs::remove_all(directory_ / "workspace" / "d");
  put(directory_ / "workspace" / "d", "a file now");
  ASSERT_TRUE(stack.rollback(kept->change_id));
  EXPECT_THAT(changes(stack.against_base()), ElementsAre("+d/new", "-gone"));
  ASSERT_TRUE(stack.rollback("base"));
  EXPECT_THAT(changes(stack.against_base()), IsEmpty());
  EXPECT_EQ(*read_file(directory_ / "workspace" / "gone"), "gone");
  ASSERT_TRUE(stack.rollback(kept->change_id));
  EXPECT_EQ(*read_file(directory_ / "workspace" / "d/new"), "new");
}

TEST_F(LayersTest, TheComparedCopyFollowsAppliedChanges) {
  const fs::path now = directory_ / "workspace";
  put(directory_ / "base" / "gone/file", "gone");
  put(directory_ / "base" / "turned/file", "was a directory");
  put(directory_ / "base" / "closed/kept", "kept");
  fs::permissions(directory_ / "base" / "closed", fs::perms(0555));
  put(now / "turned", "is a file");
  put(now / "closed/kept", "changed");
  fs::permissions(now / "closed", fs::perms(0555));
  put(now / "d/e/new", "new");
  fs::create_symlink("d", now / "link");
  LayerStack stack(store_, *open_file(directory_ / "base", O_RDONLY | O_DIRECTORY),
                   Keeping::Copies);
  std::vector<wire::FileChange> all;
  ChangeWalk walk = stack.against_base();
  for (auto change = walk.next(); change && *change; change = walk.next()) {
    const ChangeWalk::Change& found = **change;
    all.push_back({found.path, wire::ChangeKind::Modified, image_of(found.before, found.path).info,
                   image_of(found.after, found.path).info});
  }
  ASSERT_EQ(all.size(), 9U);
  put(now / "d/e/new", "newer than what was applied");
  for (const wire::FileChange& change : all) {
    const auto followed = stack.follow(change);
    ASSERT_TRUE(followed) << change.path << ": " << followed.error().message;
    EXPECT_EQ(*followed, change.path != "d/e/new") << change.path;
  }
  EXPECT_THAT(changes(stack.against_base()), ElementsAre("+d/e/new"));
  fs::permissions(now / "closed", fs::perms(0755));
  fs::permissions(directory_ / "base" / "closed", fs::perms(0755));
}

}  // namespace
}  // namespace nutshell::init
