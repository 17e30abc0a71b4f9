#include "service/state/sqlite_database.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "base/scratch_fixture.h"

namespace nutshell::service {
namespace {

using testing::HasSubstr;

class SqliteDatabaseTest : public testing::Test {
 protected:
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ScratchDirectory scratch_;
  std::filesystem::path path_ = scratch_ / "state.db";
};

TEST_F(SqliteDatabaseTest, IsForItsOwnerAlone) {
  ASSERT_TRUE(SqliteDatabase::open(path_));
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(SqliteDatabaseTest, RefusesADamagedFileAndSaysHowToGoOn) {
  ASSERT_TRUE(SqliteDatabase::open(path_));
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file << std::string(4000, '\x5a');
  }
  const std::string before = bytes();
  const auto database = SqliteDatabase::open(path_);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::Corrupt);
  EXPECT_THAT(database.error().message,
              HasSubstr("nutshell daemon recover --state " + scratch_.path().native()));
  EXPECT_EQ(bytes(), before);
}

TEST_F(SqliteDatabaseTest, RefusesWhatIsNoDatabase) {
  std::ofstream(path_) << std::string(5000, 'x');
  const auto database = SqliteDatabase::open(path_);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::Corrupt);
}

TEST_F(SqliteDatabaseTest, RefusesOneOfANewerVersion) {
  ASSERT_TRUE((*SqliteDatabase::open(path_))->run("PRAGMA user_version=99"));
  const auto database = SqliteDatabase::open(path_);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::Unsupported);
}

TEST_F(SqliteDatabaseTest, BringsAFileOfVersionOneUpToDate) {
  {
    const auto database = *SqliteDatabase::open(path_);
    ASSERT_TRUE(database->run("ALTER TABLE sandboxes DROP COLUMN pool_spec"));
    ASSERT_TRUE(database->run("DROP TABLE images"));
    ASSERT_TRUE(database->run("PRAGMA user_version=1"));
  }
  for (int start = 1; start <= 2; ++start) {
    const auto database = SqliteDatabase::open(path_);
    ASSERT_TRUE(database) << database.error().message;
    EXPECT_TRUE((*database)->run("UPDATE sandboxes SET pool_spec=''"));
    EXPECT_TRUE((*database)->run("DELETE FROM images"));
  }
}

}  // namespace
}  // namespace nutshell::service
