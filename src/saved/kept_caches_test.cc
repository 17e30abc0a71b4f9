#include "saved/kept_caches.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/socket.h"
#include "saved/restore_caches.h"

namespace nutshell::saved {
namespace {

constexpr const char* kSandbox = "n111111111111";

Result<> write_archive(int file, const std::string& path, const std::string& content) {
  ArchiveWriter writer(file, {1U << 20U, 1U << 20U});
  wire::FileChange change;
  change.path = path;
  change.after.kind = wire::FileKind::Regular;
  change.after.size = content.size();
  TRY(writer.add(change));
  TRY(writer.add_content(content));
  return writer.finish("its ttl was over");
}

class KeptCachesTest : public ::testing::Test {
 protected:
  Result<> keep(const KeptCaches& caches, const std::string& path = ".cache/pip/a",
                const std::string& content = "text") {
    auto saving = TRY(CacheSaving::begin(caches.base(), kSandbox));
    TRY(write_archive(saving.file(), path, content));
    return saving.commit(bounds_);
  }
  void age(const KeptCaches& caches, std::int64_t days) {
    const timespec then{::time(nullptr) - days * 86'400, 0};
    const std::array<timespec, 2> times{then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, caches.base().c_str(), times.data(), 0), 0);
  }
  static bool is_kept(const KeptCaches& caches) {
    const auto found = caches.find();
    return found && found->has_value();
  }

  ScratchDirectory scratch_;
  Bounds bounds_{1U << 20U, 0, 30};
  KeptCaches caches_{scratch_ / "aaaa"};
  KeptCaches others_{scratch_ / "bbbb"};
};

TEST(CachePlaces, AreCachesAndTheDirectoriesAboveThemAndNothingElse) {
  EXPECT_EQ(cache_place(".cache/pip"), CachePlace::Within);
  EXPECT_EQ(cache_place("go/pkg/mod/cache/download"), CachePlace::Within);
  EXPECT_EQ(cache_place("go/pkg"), CachePlace::Above);
  EXPECT_EQ(cache_place(".npm"), CachePlace::Above);
  for (const char* path :
       {"", ".bashrc", ".npmrc", ".cargo/config.toml", ".cargo/registry/src", ".cache/pipx",
        ".cache/pi", ".gradle/init.d/a.gradle", ".config", "go/bin"})
    EXPECT_EQ(cache_place(path), CachePlace::Elsewhere) << path;
}

TEST_F(KeptCachesTest, AreFoundByTheirProjectAndByNoOther) {
  EXPECT_FALSE(is_kept(caches_));
  ASSERT_TRUE(keep(caches_));
  EXPECT_TRUE(is_kept(caches_));
  EXPECT_FALSE(is_kept(others_));
  caches_.forget();
  EXPECT_FALSE(is_kept(caches_));
}

TEST_F(KeptCachesTest, AreUnsavedWhileTheirProcessLives) {
  std::optional<CacheSaving> saving(std::move(*CacheSaving::begin(caches_.base(), kSandbox)));
  EXPECT_EQ(caches_.unsaved(), std::vector<std::string>{kSandbox});
  EXPECT_TRUE(others_.unsaved().empty());
  EXPECT_FALSE(CacheSaving::begin(caches_.base(), kSandbox)) << "two processes save one sandbox";
  saving.reset();  // as if it were killed
  EXPECT_TRUE(caches_.unsaved().empty());
  EXPECT_FALSE(is_kept(caches_));
}

TEST_F(KeptCachesTest, StayWhenLaterOnesCannotBeSavedAndTheReasonIsToldOnce) {
  ASSERT_TRUE(keep(caches_));
  auto saving = CacheSaving::begin(caches_.base(), kSandbox);
  ASSERT_TRUE(saving);
  saving->fail("they are too large");
  EXPECT_TRUE(is_kept(caches_));
  EXPECT_EQ(caches_.take_failure(), "they are too large");
  EXPECT_EQ(caches_.take_failure(), "");
}

TEST_F(KeptCachesTest, MakeRoomIfTheyAreTheOldest) {
  ASSERT_TRUE(keep(caches_, ".cache/pip/a", std::string(600'000, 'a')));
  age(caches_, 2);
  ASSERT_TRUE(keep(others_, ".cache/pip/a", std::string(600'000, 'b')));
  EXPECT_FALSE(is_kept(caches_));
  EXPECT_TRUE(is_kept(others_));
}

TEST_F(KeptCachesTest, AreRemovedAfterThirtyDaysAndNamedByADryRun) {
  ASSERT_TRUE(keep(caches_));
  ASSERT_TRUE(keep(others_));
  age(caches_, 31);
  SweepReport report;
  KeptCaches::make_room(scratch_.path(), bounds_, SweepMode::DryRun, report);
  EXPECT_EQ(report.removed, std::vector<std::string>{"kept caches aaaa"});
  EXPECT_TRUE(is_kept(caches_));
  KeptCaches::make_room(scratch_.path(), bounds_, SweepMode::Remove, report);
  EXPECT_FALSE(is_kept(caches_));
  EXPECT_TRUE(is_kept(others_));
}

TEST_F(KeptCachesTest, AreDamagedIfTheyWereCut) {
  ASSERT_TRUE(keep(caches_));
  ASSERT_EQ(::truncate(caches_.base().c_str(), 30), 0);
  EXPECT_EQ(caches_.find().error().code, ErrorCode::Corrupt);
}

TEST_F(KeptCachesTest, AreNotRestoredOutsideTheCacheDirectories) {
  for (const char* path : {".bashrc", ".npmrc", ".cache/pip/../../.bashrc", "/etc/passwd", "../a",
                           ".cache/pip//a", ".cache/pip/.", ".npm", ""}) {
    ASSERT_TRUE(keep(caches_, path));
    auto found = caches_.find();
    ASSERT_TRUE(found && *found) << path;
    auto pair = make_socket_pair(SocketKind::Stream);
    ASSERT_TRUE(pair);
    wire::InitClient init(std::move(pair->first));
    const auto restored = restore_caches(init, (*found)->archive);
    ASSERT_FALSE(restored) << path;
    EXPECT_EQ(restored.error().code, ErrorCode::Corrupt) << path;
    EXPECT_EQ(init.channel().sent_bytes(), 0U) << path;
  }
}

}  // namespace
}  // namespace nutshell::saved
