#include "service/state/postgres_database.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <thread>

#include "base/defer.h"
#include "service/state/store_fixture.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(PostgresPlaceholders, AreNumberedOutsideOfText) {
  EXPECT_EQ(with_postgres_placeholders("a=? AND b='?''?' AND c=?"), "a=$1 AND b='?''?' AND c=$2");
  EXPECT_EQ(with_postgres_placeholders("a>?1 AND b=?12 OR a<?1"), "a>$1 AND b=$12 OR a<$1");
  EXPECT_EQ(with_postgres_placeholders(""), "");
}

TEST(PostgresUrl, IsRefusedWithTheReasonIfItLeadsNowhere) {
  const auto missing = PostgresDatabase::open("postgresql:///postgres?host=/nonexistent");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("open the store"));
  EXPECT_FALSE(PostgresDatabase::open("no such url"));
}

// Each has a server of its own, which it stops, blocks or makes read-only.
class OnPostgres : public testing::Test {
 protected:
  void SetUp() override {
    if (server_.url().empty()) GTEST_SKIP() << "PostgreSQL cannot run here (postgresql-15)";
  }
  std::unique_ptr<PostgresDatabase> open(PostgresDatabase::Patience patience = kTestPatience) {
    auto opened = PostgresDatabase::open(server_.url(), patience);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  static Result<std::int64_t> set(Database& database, const std::string& name) {
    return database.run("INSERT INTO meta(name, value) VALUES(?, 'x')", {name});
  }
  static std::int64_t count(Database& database) {
    std::int64_t found = -1;
    const auto read = database.query("SELECT count(*) FROM meta WHERE value='x'", {},
                                     [&found](const Row& row) { found = row.number(0); });
    EXPECT_TRUE(read) << read.error().message;
    return found;
  }
  // Runs a statement until it succeeds: attempts to connect are a second apart.
  static bool comes_back(Database& database) {
    const auto patience = Clock::now() + 60s;
    while (Clock::now() < patience) {
      if (database.run("UPDATE meta SET value=value")) return true;
      std::this_thread::sleep_for(20ms);
    }
    return false;
  }
  void administer(const std::string& sql) {
    auto admin = PostgresConnection::open(server_.url(), Deadline::in(60s));
    ASSERT_TRUE(admin) << admin.error().message;
    const auto done = (*admin)->run_once(sql, Deadline::in(60s));
    ASSERT_TRUE(done) << done.error().message;
  }

  PostgresServer server_;
};

TEST_F(OnPostgres, WorkIsRefusedWhileTheServerIsGoneAndGoesOnWhenItIsBack) {
  const auto database = open();
  ASSERT_TRUE(database);
  ASSERT_TRUE(set(*database, "before"));
  server_.halt();
  for (int i = 0; i < 3; ++i) {
    const auto refused = set(*database, "meanwhile");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unavailable) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr("PostgreSQL"));
  }
  server_.start();
  ASSERT_TRUE(comes_back(*database));
  EXPECT_TRUE(set(*database, "after"));
  EXPECT_EQ(count(*database), 2);
}

TEST_F(OnPostgres, ARestartBetweenStatementsIsNotSeen) {
  const auto database = open();
  ASSERT_TRUE(database);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(set(*database, std::to_string(i)));
    server_.halt();
    server_.start();
  }
  EXPECT_EQ(count(*database), 3);
}

TEST_F(OnPostgres, AServerThatDoesNotAnswerHoldsACallerForABoundedTime) {
  const auto database = open({5s, 1min});
  ASSERT_TRUE(database);
  const int pid = server_.pid();
  ASSERT_GT(pid, 0);
  // The process of the connection, a child of the server, answers; so the children stop as well.
  std::int64_t child = 0;
  ASSERT_TRUE(comes_back(*database));
  ASSERT_TRUE(database->query("SELECT pg_backend_pid()", {},
                              [&child](const Row& row) { child = row.number(0); }));
  ::kill(pid, SIGSTOP);
  ::kill(static_cast<pid_t>(child), SIGSTOP);
  const Defer goes_on([&] {
    ::kill(pid, SIGCONT);
    ::kill(static_cast<pid_t>(child), SIGCONT);
  });
  const auto refused = set(*database, "meanwhile");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("no answer in time"));
  EXPECT_FALSE(set(*database, "meanwhile")) << "connects again, in vain";
  ::kill(pid, SIGCONT);
  ::kill(static_cast<pid_t>(child), SIGCONT);
  EXPECT_TRUE(comes_back(*database));
}

TEST_F(OnPostgres, AReadOnlyServerRefusesWorkUntilItCanBeWritten) {
  const auto database = open();
  ASSERT_TRUE(database);
  administer("ALTER SYSTEM SET default_transaction_read_only=on");
  administer("SELECT pg_reload_conf()");
  // The server reads its settings in its own time.
  const auto patience = Clock::now() + 60s;
  auto refused = database->run("UPDATE meta SET value=value");
  while (refused && Clock::now() < patience)
    refused = database->run("UPDATE meta SET value=value");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("read-only"));
  EXPECT_FALSE(set(*database, "meanwhile"));
  auto admin =
      PostgresConnection::open(server_.url() + "&target_session_attrs=any", Deadline::in(60s));
  ASSERT_TRUE(admin) << admin.error().message;
  ASSERT_TRUE((*admin)->run_once("SET default_transaction_read_only=off", Deadline::in(60s)));
  ASSERT_TRUE(
      (*admin)->run_once("ALTER SYSTEM RESET default_transaction_read_only", Deadline::in(60s)));
  ASSERT_TRUE((*admin)->run_once("SELECT pg_reload_conf()", Deadline::in(60s)));
  EXPECT_TRUE(comes_back(*database));
  EXPECT_EQ(count(*database), 0);
}

TEST_F(OnPostgres, ASecondUserOfTheStoreIsRefusedAndAnotherSchemaIsAnotherStore) {
  auto first = open();
  ASSERT_TRUE(first);
  const auto second = PostgresDatabase::open(server_.url(), {2min, 200ms});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(second.error().message, HasSubstr("another daemon uses this store"));
  administer("CREATE SCHEMA other");
  EXPECT_TRUE(
      PostgresDatabase::open(server_.url() + "&options=-csearch_path%3Dother", kTestPatience));
  first.reset();
  EXPECT_TRUE(open());
}

TEST_F(OnPostgres, AConnectionThatIsEndedGivesNobodyElseTheStoreUnseen) {
  const auto first = open();
  ASSERT_TRUE(first);
  server_.halt();
  EXPECT_FALSE(set(*first, "meanwhile"));
  server_.start();
  { ASSERT_TRUE(open()); }  // another one comes and goes
  const auto patience = Clock::now() + 60s;
  auto refused = set(*first, "late");
  while (!refused && refused.error().message.find("has used the store") == std::string::npos &&
         Clock::now() < patience)
    refused = set(*first, "late");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("another daemon has used the store"));
}

TEST_F(OnPostgres, TablesOfAnotherProgramOrANewerVersionAreLeftAlone) {
  administer("CREATE TABLE meta(id int)");
  const auto foreign = PostgresDatabase::open(server_.url());
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("not ours"));
  administer("DROP TABLE meta");
  { ASSERT_TRUE(open()); }
  administer("UPDATE meta SET value='99' WHERE name='schema_version'");
  const auto newer = PostgresDatabase::open(server_.url());
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::Unsupported);
}

TEST_F(OnPostgres, AStoreOfVersionOneIsBroughtUpToDate) {
  { ASSERT_TRUE(open()); }
  administer("ALTER TABLE sandboxes DROP COLUMN pool_spec");
  administer("UPDATE meta SET value='1' WHERE name='schema_version'");
  for (int start = 1; start <= 2; ++start) {
    const auto database = open();
    ASSERT_TRUE(database);
    EXPECT_TRUE(database->run("UPDATE sandboxes SET pool_spec=''"));
  }
}

}  // namespace
}  // namespace nutshell::service
