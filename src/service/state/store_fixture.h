// A store of the test's own: a state file, or tables in a PostgreSQL that this process starts for
// all its tests (scripts/postgres).
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/random_id.h"
#include "base/scratch_fixture.h"
#include "service/state/postgres_database.h"
#include "service/state/sqlite_database.h"

namespace nutshell::service {

// Ends with the process, also when that is killed.
class PostgresServer {
 public:
  PostgresServer() { start(); }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer() { (void)script("stop"); }

  void start() {
    url_ = script("start", "--until " + std::to_string(::getpid()));
    if (!url_.empty()) url_.pop_back();  // the newline
  }
  void halt() { (void)script("halt"); }
  [[nodiscard]] int pid() { return std::atoi(script("pid").c_str()); }
  // Empty if PostgreSQL cannot run here.
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  std::string script(const std::string& verb, const std::string& more = {}) {
    const std::string command =
        NUTSHELL_SCRIPTS "/postgres " + verb + " '" + directory_.native() + "' " + more;
    FILE* output = ::popen(command.c_str(), "re");
    std::string text;
    for (int letter = std::fgetc(output); letter != EOF; letter = std::fgetc(output))
      text += static_cast<char>(letter);
    const int status = ::pclose(output);
    const bool cannot = WIFEXITED(status) && WEXITSTATUS(status) == 77;
    if (status != 0 && !cannot) std::fprintf(stderr, "failed: %s\n", command.c_str());
    return text;
  }

  // Not in a test's own directory, because the server's user may not enter that.
  std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("nutshell-postgres-" + random_id(8));
  std::string url_;
};

// A slow machine is no reason to fail.
inline constexpr PostgresDatabase::Patience kTestPatience{std::chrono::minutes(2),
                                                          std::chrono::minutes(1)};

// A suite is instantiated for both, as OnSqlite and OnPostgres. CTest runs the latter of all suites
// as one test, with one server (src/CMakeLists.txt).
enum class StoreKind { Sqlite, Postgres };

class StoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (GetParam() == StoreKind::Sqlite) return;
    if (server().url().empty()) GTEST_SKIP() << "PostgreSQL cannot run here (postgresql-15)";
    static std::atomic<int> number = 0;
    schema_ = "test" + std::to_string(++number);
    auto admin = PostgresConnection::open(server().url(), Deadline::in(std::chrono::seconds(30)));
    ASSERT_TRUE(admin) << admin.error().message;
    ASSERT_TRUE(
        (*admin)->run_once("CREATE SCHEMA " + schema_, Deadline::in(std::chrono::seconds(30))));
  }

  // The same store each time, one at a time.
  Result<std::unique_ptr<Database>> open_store() {
    if (GetParam() == StoreKind::Sqlite) return TRY(SqliteDatabase::open(scratch_ / "state.db"));
    return TRY(PostgresDatabase::open(url(), kTestPatience));
  }
  [[nodiscard]] std::string url() const {
    return server().url() + "&options=-csearch_path%3D" + schema_;
  }
  static PostgresServer& server() {
    static PostgresServer started;
    return started;
  }

  ScratchDirectory scratch_;

 private:
  std::string schema_;
};

}  // namespace nutshell::service
