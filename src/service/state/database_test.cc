#include "service/state/database.h"

#include <gmock/gmock.h>

#include <limits>
#include <thread>

#include "service/state/store_fixture.h"

namespace nutshell::service {
namespace {

class DatabaseTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    if (!IsSkipped()) open();
  }
  void open() {
    database_.reset();
    auto opened = open_store();
    ASSERT_TRUE(opened) << opened.error().message;
    database_ = std::move(*opened);
  }
  std::vector<std::string> texts(const std::string& sql, const std::vector<Value>& values = {}) {
    std::vector<std::string> all;
    const auto read =
        database_->query(sql, values, [&all](const Row& row) { all.push_back(row.text(0)); });
    EXPECT_TRUE(read) << read.error().message;
    return all;
  }
  std::int64_t number(const std::string& sql, const std::vector<Value>& values = {}) {
    std::int64_t found = -1;
    const auto read =
        database_->query(sql, values, [&found](const Row& row) { found = row.number(0); });
    EXPECT_TRUE(read) << read.error().message;
    return found;
  }
  Result<std::int64_t> set(const std::string& name, const std::string& value) {
    return database_->run("INSERT INTO meta(name, value) VALUES(?, ?)", {name, value});
  }

  std::unique_ptr<Database> database_;
};
INSTANTIATE_TEST_SUITE_P(OnSqlite, DatabaseTest, testing::Values(StoreKind::Sqlite));
INSTANTIATE_TEST_SUITE_P(OnPostgres, DatabaseTest, testing::Values(StoreKind::Postgres));

TEST_P(DatabaseTest, KeepsAnyBytes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte);
  ASSERT_TRUE(set("a'b\"; -- ?$1\\", all));
  ASSERT_TRUE(set("empty", ""));
  open();
  EXPECT_EQ(texts("SELECT value FROM meta WHERE name=?", {"a'b\"; -- ?$1\\"}),
            std::vector<std::string>{all});
  EXPECT_EQ(texts("SELECT value FROM meta WHERE name='empty'"), std::vector<std::string>{""});
}

TEST_P(DatabaseTest, KeepsAnyNumber) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t wanted :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40U, Limits::max(), Limits::min()}) {
    ASSERT_TRUE(database_->run("DELETE FROM images"));
    ASSERT_TRUE(
        database_->run("INSERT INTO images(tenant, backend, image, bytes) "
                       "VALUES('t','docker','i',?)",
                       {wanted}));
    EXPECT_EQ(number("SELECT bytes FROM images"), wanted);
    EXPECT_EQ(number("SELECT count(*) FROM images WHERE bytes=?", {wanted}), 1);
  }
}

TEST_P(DatabaseTest, TellsHowManyRowsAStatementChanged) {
  ASSERT_TRUE(set("one", "1"));
  ASSERT_TRUE(set("two", "2"));
  EXPECT_EQ(database_->run("UPDATE meta SET value=? WHERE name IN ('one', 'two')", {"x"}), 2);
  EXPECT_EQ(database_->run("DELETE FROM meta WHERE name='nobody'"), 0);
  EXPECT_EQ(database_->run("DELETE FROM meta WHERE name='one'"), 1);
}

TEST_P(DatabaseTest, RefusesARowThatIsThere) {
  ASSERT_TRUE(set("name", "first"));
  const auto again = set("name", "second");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::AlreadyExists);
  EXPECT_EQ(texts("SELECT value FROM meta WHERE name='name'"), std::vector<std::string>{"first"});
}

TEST_P(DatabaseTest, GoesOnAfterAWrongStatement) {
  EXPECT_FALSE(database_->run("DELETE FROM nowhere"));
  EXPECT_FALSE(database_->run("not a statement"));
  EXPECT_TRUE(set("name", "value"));
}

TEST_P(DatabaseTest, UsesAValueTwiceByItsNumber) {
  ASSERT_TRUE(set("name", "?"));
  EXPECT_EQ(texts("SELECT CASE WHEN value='?' THEN ?1 ELSE ?2 END FROM meta WHERE name=?3 OR "
                  "value=?1",
                  {"yes", "no", "name"}),
            std::vector<std::string>{"yes"});
}

TEST_P(DatabaseTest, KeepsRowsOfAKeyInTheOrderOfTheirArrival) {
  for (const char* key : {"c", "a", "b"}) {
    ASSERT_TRUE(
        database_->run("INSERT INTO keys(tenant, key, request, target, made_ms) "
                       "VALUES('t',?,'','',5)",
                       {key}));
  }
  EXPECT_EQ(texts("SELECT key FROM keys ORDER BY made_ms DESC, rowid DESC"),
            (std::vector<std::string>{"b", "a", "c"}));
}

TEST_P(DatabaseTest, ServesManyThreads) {
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 25; ++i)
          EXPECT_TRUE(set(std::to_string(thread) + "-" + std::to_string(i), "x"));
      });
    }
  }
  EXPECT_EQ(number("SELECT count(*) FROM meta WHERE value='x'"), 200);
}

TEST_P(DatabaseTest, KeepsItsRowsWhenItIsOpenedAgain) {
  ASSERT_TRUE(set("name", "value"));
  ASSERT_TRUE(database_->run(
      "INSERT INTO sandboxes(op, id, tenant, stage, backend, labels, created_ms, ttl_ms, "
      "deadline_ms, left_ms, idle_ms, session, pool) "
      "VALUES('o',NULL,'t','creating','native','{}',1,2,3,-1,5,'','')"));
  for (int start = 1; start <= 2; ++start) {
    open();
    EXPECT_EQ(texts("SELECT value FROM meta WHERE name='name'"), std::vector<std::string>{"value"});
    EXPECT_EQ(texts("SELECT id FROM sandboxes"), std::vector<std::string>{""});
    EXPECT_EQ(texts("SELECT pool_spec FROM sandboxes"), std::vector<std::string>{""});
    EXPECT_EQ(number("SELECT left_ms FROM sandboxes"), -1);
  }
}

}  // namespace
}  // namespace nutshell::service
