#include "runtime/output_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "base/scratch_fixture.h"

namespace nutshell {
namespace {

using testing::HasSubstr;

class OutputStoreTest : public testing::Test {
 protected:
  OutputStore open(OutputStore::Bounds bounds = {}) {
    auto store = OutputStore::open(scratch_ / "outputs", "0123456789ab", bounds);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  ScratchDirectory scratch_;
};

StoredOutput some(const std::string& output, const std::string& error = {}) {
  StoredOutput stored;
  stored.command = "make";
  stored.output.head = output;
  stored.error.head = error;
  return stored;
}

TEST_F(OutputStoreTest, GivesBackEveryByteOfBothStreams) {
  OutputStore store = open();
  const std::string bytes("a\0\xff\r\n{}", 7);
  StoredOutput stored = some(bytes, "err\n");
  stored.output.missing = 12;
  stored.output.tail = "end";
  const auto id = store.save(stored);
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(id->size(), 5U);
  const auto loaded = open().load(*id);  // as another process would
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->output.head, bytes);
  EXPECT_EQ(loaded->output.missing, 12U);
  EXPECT_EQ(loaded->output.tail, "end");
  EXPECT_EQ(loaded->error.head, "err\n");
  EXPECT_EQ(loaded->command, "make");
}

TEST_F(OutputStoreTest, IsForItsUserAlone) {
  const OutputStore store = open();
  struct stat status {};
  ASSERT_EQ(::stat(store.directory().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(OutputStoreTest, KnowsNoOtherNames) {
  OutputStore store = open();
  for (const char* id :
       {"", "o", "oXYZ1", "../usage", "usage", "o0000", "o7f3a/../usage", "shown"}) {
    const auto loaded = store.load(id);
    ASSERT_FALSE(loaded) << id;
    EXPECT_EQ(loaded.error().code, ErrorCode::Expired) << id;
  }
}

TEST_F(OutputStoreTest, RefusesSandboxNamesThatArePaths) {
  for (const char* name : {"", "..", "a/b", "."})
    EXPECT_FALSE(OutputStore::open(scratch_ / "outputs", name, {})) << name;
}

TEST_F(OutputStoreTest, KeepsTheBeginningAndTheEndOfWhatIsLargerThanItself) {
  OutputStore store = open({.bytes = 64U << 10U, .outputs = 1000});
  StoredOutput large = some("begin" + std::string(1U << 20U, 'x') + "end");
  large.error.head = std::string(100'000, 'h');
  large.error.missing = 7;
  large.error.tail = std::string(100'000, 't') + "last";
  const auto id = store.save(large);
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_LE(std::filesystem::file_size(store.directory() / *id), 64U << 10U);
  const auto loaded = store.load(*id);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const StoredStream& output = loaded->output;
  EXPECT_TRUE(output.head.starts_with("begin"));
  EXPECT_TRUE(output.tail.ends_with("end"));
  EXPECT_EQ(output.head.size() + output.missing + output.tail.size(), (1U << 20U) + 8U);
  const StoredStream& error = loaded->error;
  EXPECT_TRUE(error.tail.ends_with("last"));
  EXPECT_EQ(error.head.size() + error.missing + error.tail.size(), 200'011U);
}

TEST_F(OutputStoreTest, DropsTheOldestWhenItIsFull) {
  OutputStore store = open({.bytes = 1U << 20U, .outputs = 1000});
  std::vector<std::string> ids;
  for (int i = 0; i < 30; ++i)
    ids.push_back(*store.save(some(std::string(100'000, static_cast<char>('a' + i)))));
  EXPECT_FALSE(store.load(ids.front()));
  EXPECT_TRUE(store.load(ids.back()));
  std::size_t kept = 0;
  for (const std::string& id : ids)
    kept += store.load(id) ? 1 : 0;
  EXPECT_LE(kept, 10U);
  EXPECT_GE(kept, 6U);
}

TEST_F(OutputStoreTest, BoundsTheirNumberToo) {
  OutputStore store = open({.bytes = 1ULL << 40U, .outputs = 40});
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(store.save(some("x")));
  std::size_t files = 0;
  for (const auto& item : std::filesystem::directory_iterator(store.directory()))
    files += item.path().filename().native().front() == 'o' ? 1 : 0;
  EXPECT_LE(files, 40U);
}

TEST_F(OutputStoreTest, SaysWhatIsGone) {
  const auto gone = open().load("o7f3a");
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("256 MiB"));
}

TEST_F(OutputStoreTest, KnowsWhatWasShownForTheSameQuestion) {
  OutputStore store = open();
  const std::string first = *store.save(some("text"));
  EXPECT_EQ(*store.shown_before("make", "text", first), "");
  const std::string second = *store.save(some("text"));
  EXPECT_EQ(*open().shown_before("make", "text", second), first);
  EXPECT_EQ(*store.shown_before("make", "other", second), "");
  EXPECT_EQ(*store.shown_before("make all", "text", second), "");
}

TEST_F(OutputStoreTest, KeepsATextOnceItIsAskedForAgain) {
  OutputStore store = open();
  EXPECT_EQ(*store.shown_before("read a", "text", {}), "");
  const std::string id = *store.shown_before("read a", "text", {});
  ASSERT_NE(id, "");
  EXPECT_EQ(store.load(id)->output.head, "text");
  EXPECT_EQ(*store.shown_before("read a", "text", {}), id);
}

TEST_F(OutputStoreTest, DoesNotPointToWhatIsGone) {
  OutputStore store = open();
  const std::string first = *store.save(some("text"));
  ASSERT_EQ(*store.shown_before("make", "text", first), "");
  std::filesystem::remove(store.directory() / first);
  EXPECT_EQ(*store.shown_before("make", "text", *store.save(some("text"))), "");
}

TEST_F(OutputStoreTest, TakesATornFileForAMissingOne) {
  OutputStore store = open();
  const std::string id = *store.save(some("text"));
  std::filesystem::resize_file(store.directory() / id, 10);
  EXPECT_FALSE(store.load(id));
}

TEST_F(OutputStoreTest, IsSharedByProcesses) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      OutputStore store = open({.bytes = 1ULL << 40U, .outputs = 64});
      for (int i = 0; i < 100; ++i) {
        const auto id = store.save(some("x"));
        ASSERT_TRUE(id) << id.error().message;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::size_t files = 0;
  for (const auto& item : std::filesystem::directory_iterator(scratch_ / "outputs/0123456789ab"))
    files += item.path().filename().native().front() == 'o' ? 1 : 0;
  EXPECT_LE(files, 68U);
}

}  // namespace
}  // namespace nutshell
