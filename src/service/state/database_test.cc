#include "service/state/database.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "base/scratch_fixture.h"

namespace nutshell::service {
namespace {

using testing::HasSubstr;

class DatabaseTest : public testing::Test {
 protected:
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ScratchDirectory scratch_;
  std::filesystem::path path_ = scratch_ / "state.db";
};

TEST_F(DatabaseTest, KeepsWhatWasWritten) {
  {
    auto database = Database::open(path_);
    ASSERT_TRUE(database) << database.error().message;
    ASSERT_TRUE((*database)->run("INSERT INTO meta(name, value) VALUES(?, ?)",
                                 {std::string("a'b\"; --"), std::string("x\0y", 3)}));
  }
  auto database = Database::open(path_);
  ASSERT_TRUE(database) << database.error().message;
  std::string name;
  std::string value;
  ASSERT_TRUE((*database)->query("SELECT name, value FROM meta", {}, [&](const Row& row) {
    name = row.text(0);
    value = row.text(1);
  }));
  EXPECT_EQ(name, "a'b\"; --");
  EXPECT_EQ(value, std::string("x\0y", 3));
}

TEST_F(DatabaseTest, IsForItsOwnerAlone) {
  ASSERT_TRUE(Database::open(path_));
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(DatabaseTest, RefusesADamagedFileAndSaysHowToGoOn) {
  ASSERT_TRUE(Database::open(path_));
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file << std::string(4000, '\x5a');
  }
  const std::string before = bytes();
  const auto database = Database::open(path_);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::Corrupt);
  EXPECT_THAT(database.error().message,
              HasSubstr("nutshell daemon recover --state " + scratch_.path().native()));
  EXPECT_EQ(bytes(), before);
}

TEST_F(DatabaseTest, RefusesWhatIsNoDatabase) {
  std::ofstream(path_) << std::string(5000, 'x');
  const auto database = Database::open(path_);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::Corrupt);
}

TEST_F(DatabaseTest, RefusesOneOfANewerVersion) {
  ASSERT_TRUE((*Database::open(path_))->run("PRAGMA user_version=99"));
  const auto database = Database::open(path_);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace nutshell::service
