#include "saved/change_archive.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scratch_fixture.h"

namespace nutshell::saved {
namespace {

class ChangeArchive : public ::testing::Test {
 protected:
  wire::FileChange file(const std::string& path, std::uint64_t size) {
    wire::FileChange change;
    change.path = path;
    change.kind = wire::ChangeKind::Added;
    change.after.kind = wire::FileKind::Regular;
    change.after.size = size;
    return change;
  }
  UniqueFd fresh() { return *open_file(path_, O_RDWR | O_CREAT | O_TRUNC, 0600); }
  Result<ArchiveReader> read() { return ArchiveReader::open(*open_file(path_, O_RDONLY)); }
  void write_two() {
    const UniqueFd to = fresh();
    ArchiveWriter writer(to.get(), {1U << 20U, 1U << 20U});
    ASSERT_TRUE(writer.add(file("a", 5)));
    ASSERT_TRUE(writer.add_content("hel"));
    ASSERT_TRUE(writer.add_content("lo"));
    ASSERT_TRUE(writer.add(file("empty", 0)));
    ASSERT_TRUE(writer.finish("it was destroyed"));
  }

  ScratchDirectory scratch_;
  std::string path_ = (scratch_ / "changes").native();
};

TEST_F(ChangeArchive, GivesBackWhatWasAdded) {
  write_two();
  auto reader = read();
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->summary().changes, 2U);
  EXPECT_EQ(reader->summary().why, "it was destroyed");
  auto first = reader->next();
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->path, "a");
  EXPECT_EQ(*reader->read_content(3), "hel");
  EXPECT_EQ(*reader->read_content(100), "lo");
  EXPECT_EQ(*reader->read_content(100), "");
  auto second = reader->next();
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->path, "empty");
  EXPECT_FALSE(reader->next()->has_value());
}

TEST_F(ChangeArchive, SkipsContentThatNobodyReads) {
  write_two();
  auto reader = read();
  ASSERT_TRUE(reader->next());
  const auto second = reader->next();
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->path, "empty");
}

TEST_F(ChangeArchive, IsRefusedAtEveryLengthButTheWhole) {
  write_two();
  const std::string whole = *read_file(path_);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ASSERT_TRUE(write_file(path_, whole.substr(0, length)));
    EXPECT_FALSE(read()) << length;
  }
}

TEST_F(ChangeArchive, WithAnyByteChangedNeitherCrashesNorNeedsMemory) {
  write_two();
  const std::string whole = *read_file(path_);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(~changed[at]);
    ASSERT_TRUE(write_file(path_, changed));
    auto reader = read();
    if (!reader) continue;
    for (int steps = 0; steps < 4; ++steps) {
      const auto next = reader->next();
      if (!next || !*next) break;
      (void)reader->read_content(1U << 30U);
    }
  }
}

TEST_F(ChangeArchive, IsBounded) {
  const UniqueFd to = fresh();
  const ArchiveBounds bounds{1000, 1U << 20U};
  const auto sparse = ArchiveWriter(to.get(), bounds).add(file("sparse", 1ULL << 40U));
  ASSERT_FALSE(sparse);
  EXPECT_EQ(sparse.error().code, ErrorCode::ResourceExhausted);
  ArchiveWriter writer(to.get(), bounds);
  Result<> added;
  for (int i = 0; i < 100'000 && added; ++i)
    added = writer.add(file(std::to_string(i), 0));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::ResourceExhausted);
}

TEST_F(ChangeArchive, HoldsNoMoreContentThanTheSandboxsDisk) {
  const UniqueFd to = fresh();
  ArchiveWriter writer(to.get(), {1U << 30U, 1000});
  Result<> added;
  int files = 0;
  for (; files < 100 && added; ++files) {  // as links to one file of 100 bytes
    added = writer.add(file(std::to_string(files), 100));
    if (added) added = writer.add_content(std::string(100, 'x'));
  }
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::ResourceExhausted);
  EXPECT_EQ(files, 11);
}

TEST_F(ChangeArchive, TakesNoRecordThatItsReaderRefuses) {
  const UniqueFd to = fresh();
  ArchiveWriter writer(to.get(), {1U << 30U, 1000});
  EXPECT_TRUE(writer.add(file(std::string(4096, 'x'), 0)));
  EXPECT_FALSE(writer.add(file(std::string(70'000, 'x'), 0)));
}

TEST_F(ChangeArchive, RefusesAFileThatChangesMeanwhile) {
  const UniqueFd to = fresh();
  ArchiveWriter writer(to.get(), {1U << 20U, 1U << 20U});
  ASSERT_TRUE(writer.add(file("a", 5)));
  EXPECT_FALSE(writer.add_content("longer"));
  EXPECT_FALSE(writer.add(file("b", 0)));
  EXPECT_FALSE(writer.finish(""));
}

}  // namespace
}  // namespace nutshell::saved
