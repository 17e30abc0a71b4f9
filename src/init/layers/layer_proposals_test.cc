// The process that should mount a proposed layer is killed before, during, or after the mount.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "core/layer_names.h"
#include "init/layers/layer_stack.h"

namespace nutshell::init {
namespace {

namespace fs = std::filesystem;

class LayerProposalsTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(directory_ / kFirstLayer);
    store_ = *open_file(directory_.path(), O_RDONLY | O_DIRECTORY);
    stack_.emplace(store_, UniqueFd(), Keeping::Layers,
                   [this] { return Result<std::string>(mounted_); });
    if (stack_->keeping() == Keeping::Copies)
      GTEST_SKIP() << "this file system keeps no marks of layers";
    put("first", "1");
  }
  // Writes through the mounted layers, as a command would.
  void put(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(directory_ / mounted_ / name, text));
  }
  [[nodiscard]] bool is_offered(const std::string& layer) const {
    return fs::exists(directory_ / (layer + kOfferSuffix));
  }
  // Does what the mounting process does.
  void mount(const wire::ChangeBegun& begun) {
    ASSERT_TRUE(fs::remove(directory_ / (begun.layers.back() + kOfferSuffix)));
    mounted_ = begun.layers.back();
  }
  wire::ChangeBegun begin() {
    auto begun = stack_->begin("bash", caller_);
    EXPECT_TRUE(begun) << begun.error().message;
    return begun.value_or(wire::ChangeBegun{});
  }
  std::vector<std::string> changed() {
    std::vector<std::string> names;
    ChangeWalk walk = stack_->against_base();
    for (auto change = walk.next(); change && *change; change = walk.next())
      names.push_back((*change)->path);
    return names;
  }

  ScratchDirectory directory_;
  UniqueFd store_;
  std::string mounted_ = kFirstLayer;
  std::shared_ptr<const int> caller_ = std::make_shared<const int>(0);
  std::optional<LayerStack> stack_;
};

TEST_F(LayerProposalsTest, MountedLayerIsKnownThoughItWasNotReported) {
  const auto begun = begin();
  ASSERT_EQ(begun.way, wire::ChangeWay::NewLayer);
  mount(begun);  // and the caller is killed
  ASSERT_TRUE(stack_->settle());
  put("second", "2");
  const auto next = begin();
  ASSERT_EQ(next.way, wire::ChangeWay::NewLayer);
  ASSERT_EQ(next.layers.size(), 3U);
  EXPECT_EQ(next.layers[1], begun.layers[1]) << "what was written last is not in the next stack";
  mount(next);
  EXPECT_TRUE(stack_->use(next.layers));
  EXPECT_THAT(changed(), testing::ElementsAre("first", "second"));
}

TEST_F(LayerProposalsTest, WithdrawnLayerIsNeverMounted) {
  const auto begun = begin();
  EXPECT_TRUE(is_offered(begun.layers.back()));
  ASSERT_TRUE(stack_->settle());  // the caller is killed before it asks for the mount
  EXPECT_FALSE(is_offered(begun.layers.back()));
  EXPECT_FALSE(fs::exists(directory_ / begun.layers.back()));
  EXPECT_FALSE(stack_->use(begun.layers));
  put("second", "2");
  EXPECT_THAT(changed(), testing::ElementsAre("first", "second"));
  EXPECT_EQ(begin().layers.size(), 2U);
}

TEST_F(LayerProposalsTest, ACheckpointIsThereWithItsLayerAndNotBefore) {
  const auto lost = stack_->checkpoint();
  ASSERT_TRUE(lost);
  ASSERT_TRUE(stack_->settle());
  EXPECT_FALSE(stack_->rollback(lost->change_id)) << "what follows would be written into it";
  const auto kept = stack_->checkpoint();
  ASSERT_TRUE(kept);
  EXPECT_NE(kept->change_id, lost->change_id);
  mount(*kept);
  ASSERT_TRUE(stack_->settle());
  put("second", "2");
  const auto back = stack_->rollback(kept->change_id);
  ASSERT_TRUE(back) << back.error().message;
  mount(*back);
  ASSERT_TRUE(stack_->look());
  EXPECT_THAT(changed(), testing::ElementsAre("first"));
}

TEST_F(LayerProposalsTest, MountThatIsUnderWayIsWaitedFor) {
  const auto begun = begin();
  const std::string offer = directory_ / (begun.layers.back() + kOfferSuffix);
  std::atomic<bool> is_locked = false;
  std::thread mounting([&] {
    const auto file = open_file(offer, O_RDONLY);
    if (file && ::flock(file->get(), LOCK_EX) == 0) is_locked = true;
    is_locked.notify_one();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    mount(begun);
  });
  is_locked.wait(false);
  const auto settled = stack_->settle();
  mounting.join();
  ASSERT_TRUE(settled) << settled.error().message;
  EXPECT_TRUE(stack_->use(begun.layers));
}

TEST_F(LayerProposalsTest, AnOfferThatIsHeldForGoodIsAnError) {
  auto offer = LayerOffer::create(store_.get(), "held");
  ASSERT_TRUE(offer);
  const UniqueFd held = *open_file(directory_ / "held.offer", O_RDONLY);
  ASSERT_EQ(::flock(held.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(offer->withdraw(Deadline::in(std::chrono::milliseconds(5))));
}

TEST_F(LayerProposalsTest, WritesAreRefusedWhereNoLayerIsMounted) {
  const auto begun = begin();
  mounted_.clear();  // killed between taking the old stack away and showing the new one
  ASSERT_TRUE(stack_->settle());
  EXPECT_FALSE(stack_->check_in_place());
  const auto again = stack_->checkpoint();
  ASSERT_TRUE(again);
  ASSERT_EQ(again->way, wire::ChangeWay::NewLayer);
  mount(*again);
  EXPECT_TRUE(stack_->use(again->layers));
  EXPECT_TRUE(stack_->check_in_place());
  EXPECT_THAT(changed(), testing::ElementsAre("first"));
}

TEST_F(LayerProposalsTest, AChangeIsAbandonedWhenItsCallerIsGone) {
  EXPECT_FALSE(stack_->is_abandoned());
  const auto begun = begin();
  mount(begun);
  ASSERT_TRUE(stack_->settle());
  EXPECT_EQ(stack_->open_change(), begun.change_id);
  EXPECT_FALSE(stack_->is_abandoned());
  put("second", "2");
  caller_.reset();
  EXPECT_TRUE(stack_->is_abandoned());
  const auto ended = stack_->end();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->why_not, "");
  ASSERT_EQ(ended->paths.size(), 1U);
  EXPECT_EQ(ended->paths[0].path, "/workspace/second");
  EXPECT_FALSE(stack_->is_abandoned());
}

}  // namespace
}  // namespace nutshell::init
