#include "egress/cache/package_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "base/sha256.h"

namespace nutshell::egress {
namespace {

namespace fs = std::filesystem;

class PackageStoreTest : public testing::Test {
 protected:
  static void keep(const PackageStore& store, const std::string& key, const std::string& body) {
    auto writer = store.begin(key);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE(writer->append(body.substr(0, 3)));
    ASSERT_TRUE(writer->append(body.substr(std::min<std::size_t>(3, body.size()))));
    ASSERT_TRUE(writer->keep({{"ETag", "\"" + body + "\""}}));
  }

  static std::string found(const PackageStore& store, const std::string& key) {
    const auto answer = store.find(key);
    return answer ? read_all(answer->body.get(), 1U << 20U).value_or("broken") : "nothing";
  }

  [[nodiscard]] std::size_t count(const std::string& folder) const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(scratch_ / folder), fs::directory_iterator()));
  }

  [[nodiscard]] PackageStore open(std::uint64_t most_bytes = 1U << 20U) const {
    auto store = PackageStore::open(scratch_.path(), most_bytes);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }

  ScratchDirectory scratch_;
};

TEST_F(PackageStoreTest, GivesBackWhatWasKept) {
  const PackageStore store = open();
  EXPECT_EQ(found(store, "a"), "nothing");
  keep(store, "a", "content");
  const auto answer = open().find("a");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->size, 7U);
  EXPECT_EQ(answer->headers.get("etag"), "\"content\"");
  EXPECT_EQ(found(store, "a"), "content");
  EXPECT_TRUE(fs::exists(scratch_ / "contents" / sha256_hex("content")));
  struct stat about {};
  ::stat(scratch_.path().c_str(), &about);
  EXPECT_EQ(about.st_mode & 0777U, 0700U);
}

TEST_F(PackageStoreTest, KeepsEqualContentsOnce) {
  const PackageStore store = open();
  keep(store, "a", "same");
  keep(store, "b", "same");
  keep(store, "a", "other");
  EXPECT_EQ(count("contents"), 2U);
  EXPECT_EQ(found(store, "a"), "other");
  EXPECT_EQ(found(store, "b"), "same");
}

TEST_F(PackageStoreTest, LeavesNothingOfADownloadThatWasNotKept) {
  const PackageStore store = open();
  {
    auto writer = store.begin("a");
    ASSERT_TRUE(writer->append("half"));
  }
  EXPECT_EQ(found(store, "a"), "nothing");
  EXPECT_EQ(count("new"), 0U);
}

TEST_F(PackageStoreTest, ForgetsWhatWasUsedLongestAgo) {
  const PackageStore store = open(std::uint64_t{4} << 12U);  // two answers: each is two files
  keep(store, "a", "ten bytes1");
  keep(store, "b", "ten bytes2");
  const std::array<timespec, 2> old = {timespec{1000, 0}, timespec{1000, 0}};
  ::utimensat(AT_FDCWD, (scratch_ / "entries" / sha256_hex("a")).c_str(), old.data(), 0);
  keep(store, "c", "ten bytes3");
  ASSERT_TRUE(store.trim());
  EXPECT_EQ(found(store, "a"), "nothing");
  EXPECT_EQ(found(store, "b"), "ten bytes2");
  EXPECT_EQ(found(store, "c"), "ten bytes3");
  EXPECT_EQ(count("contents"), 2U);
  auto writer = store.begin("d");
  EXPECT_FALSE(writer->append(std::string((2U << 12U) + 1, 'x')));  // more than half of all
}

TEST_F(PackageStoreTest, BrokenEntriesAreNoEntries) {
  const PackageStore store = open();
  keep(store, "a", "content");
  const fs::path place = scratch_ / "entries" / sha256_hex("a");
  const std::string whole = *read_file(place);
  for (std::size_t size = 0; size < whole.find("\na\n") + 2; ++size) {
    ASSERT_TRUE(write_file(place, whole.substr(0, size)));
    EXPECT_EQ(found(store, "a"), "nothing") << size;
  }
  ASSERT_TRUE(write_file(place, "../../../../etc/passwd" + whole));
  EXPECT_EQ(found(store, "a"), "nothing");
}

TEST_F(PackageStoreTest, ConfirmsThatAnAnswerIsCurrent) {
  const PackageStore store = open();
  keep(store, "a", "content");
  const fs::path place = scratch_ / "entries" / sha256_hex("a");
  std::string text = *read_file(place);
  text.replace(65, text.find('\n') - 65, "1000");
  ASSERT_TRUE(write_file(place, text));
  const auto old = store.find("a");
  ASSERT_TRUE(old);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(old->checked_at), 1000);
  ASSERT_TRUE(store.confirm("a", *old));
  EXPECT_GT(std::chrono::system_clock::to_time_t(store.find("a")->checked_at), 1000);
}

}  // namespace
}  // namespace nutshell::egress
