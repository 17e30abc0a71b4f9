#include "service/state/recovery.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "base/scratch_fixture.h"
#include "service/state/sqlite_database.h"

namespace nutshell::service {
namespace {

class RecoveryTest : public testing::Test {
 protected:
  RecoveryTest() { std::filesystem::permissions(scratch_.path(), std::filesystem::perms(0700)); }

  static std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(int from, int to) const {
    const auto database = SqliteDatabase::open(path_);
    ASSERT_TRUE(database) << database.error().message;
    for (int i = from; i < to; ++i) {
      ASSERT_TRUE((*database)->run("INSERT INTO meta(name, value) VALUES(?, ?)",
                                   {"name" + std::to_string(i), std::string(300, 'v')}));
    }
  }
  std::int64_t count() const {
    std::int64_t found = -1;
    const auto database = SqliteDatabase::open(path_);
    EXPECT_TRUE(database) << database.error().message;
    EXPECT_TRUE((*database)->query("SELECT count(*) FROM meta WHERE name LIKE 'name%'", {},
                                   [&found](const Row& row) { found = row.number(0); }));
    return found;
  }
  void damage(std::streamoff place, std::size_t size) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(place);
    file << std::string(size, '\x5a');
  }

  ScratchDirectory scratch_;
  std::filesystem::path path_ = scratch_ / "state.db";
};

TEST_F(RecoveryTest, LeavesASoundFileAlone) {
  write(0, 10);
  const auto recovery = recover_state(scratch_.path());
  ASSERT_TRUE(recovery) << recovery.error().message;
  EXPECT_TRUE(recovery->kept.empty());
  EXPECT_EQ(count(), 10);
  EXPECT_FALSE(std::filesystem::exists(path_.native() + ".damaged-1"));
}

TEST_F(RecoveryTest, KeepsTheDamagedFileAndGoesOnWithWhatCanBeRead) {
  write(0, 400);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path_));
  damage(size - 8192, 4096);  // a page of rows, near the end
  const std::string before = bytes_of(path_);
  ASSERT_FALSE(SqliteDatabase::open(path_));
  const auto recovery = recover_state(scratch_.path());
  ASSERT_TRUE(recovery) << recovery.error().message;
  EXPECT_EQ(recovery->kept, path_.native() + ".damaged-1");
  EXPECT_EQ(bytes_of(recovery->kept), before);
  EXPECT_GT(count(), 100);
  EXPECT_LT(count(), 400);
  ASSERT_EQ(recovery->tables.back().name, "meta");
  EXPECT_FALSE(recovery->tables.back().is_whole);
}

TEST_F(RecoveryTest, OverwritesNothingItKeptBefore) {
  for (int round = 1; round <= 2; ++round) {
    write(0, 10);
    damage(0, 4096);
    const std::string before = bytes_of(path_);
    const auto recovery = recover_state(scratch_.path());
    ASSERT_TRUE(recovery) << recovery.error().message;
    EXPECT_EQ(recovery->kept, path_.native() + ".damaged-" + std::to_string(round));
    EXPECT_EQ(bytes_of(recovery->kept), before);
    EXPECT_EQ(count(), 0);
  }
}

}  // namespace
}  // namespace nutshell::service
