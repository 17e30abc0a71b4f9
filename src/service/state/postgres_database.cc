#include "service/state/postgres_database.h"

#include <fmt/format.h>

#include <cctype>
#include <thread>

#include "base/random_id.h"
#include "service/state/schema.h"

namespace nutshell::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenAttempts = 1s;
constexpr Clock::duration kOpeningTime = 30s;

std::int64_t first_number(const PostgresAnswer& answer) {
  std::int64_t number = 0;
  answer.visit([&number](const Row& row) { number = row.number(0); });
  return number;
}

std::string first_text(const PostgresAnswer& answer) {
  std::string text;
  answer.visit([&text](const Row& row) { text = row.text(0); });
  return text;
}

}  // namespace

std::string with_postgres_placeholders(const std::string& sql) {
  std::string translated;
  bool is_quoted = false;
  int count = 0;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    if (sql[at] == '\'') is_quoted = !is_quoted;
    if (sql[at] != '?' || is_quoted) {
      translated += sql[at];
      continue;
    }
    translated += '$';
    const bool has_number =
        at + 1 < sql.size() && std::isdigit(static_cast<unsigned char>(sql[at + 1])) != 0;
    if (!has_number) translated += std::to_string(++count);
  }
  return translated;
}

Result<std::unique_ptr<PostgresDatabase>> PostgresDatabase::open(std::string url,
                                                                 Patience patience) {
  std::unique_ptr<PostgresDatabase> database(new PostgresDatabase(std::move(url), patience));
  const std::lock_guard lock(database->mutex_);
  const auto deadline = Deadline::in(std::max<Clock::duration>(patience.statement, kOpeningTime));
  auto opened = database->connect(deadline);
  if (opened) opened = database->bring_up_to_date(deadline);
  if (!opened) return while_doing("open the store", std::move(opened).error());
  return database;
}

Result<> PostgresDatabase::connect(const Deadline& deadline) {
  connection_ = TRY(PostgresConnection::open(url_, deadline));
  TRY(connection_->run_once(fmt::format("SELECT set_config('statement_timeout', '{0}', false), "
                                        "set_config('lock_timeout', '{0}', false), "
                                        "set_config('client_min_messages', 'warning', false), "
                                        "set_config('tcp_keepalives_idle', '10', false), "
                                        "set_config('tcp_keepalives_interval', '5', false), "
                                        "set_config('tcp_keepalives_count', '3', false)",
                                        patience_.statement.count()),
                            deadline));
  return take_lock(deadline);
}

// The server gives the lock back when the connection ends. Another schema of the database is
// another store.
Result<> PostgresDatabase::take_lock(const Deadline& deadline) {
  const auto patience = earlier(deadline, Deadline::in(patience_.lock));
  const std::string take =
      "SELECT pg_try_advisory_lock(hashtext('nutshelld'), hashtext(current_schema()))";
  for (;;) {
    if (first_number(TRY(connection_->run_once(take, deadline))) != 0) return {};
    if (patience.has_passed()) {
      return failure(ErrorCode::Unavailable,
                     "another daemon uses this store: stop that one, or name another database or "
                     "schema");
    }
    std::this_thread::sleep_for(50ms);
  }
}

Result<int> PostgresDatabase::version_of_tables(const Deadline& deadline) {
  const auto found =
      TRY(connection_->run_once("SELECT (to_regclass('meta') IS NOT NULL)::int", deadline));
  if (first_number(found) == 0) return 0;
  const auto version = connection_->run_once(
      "SELECT convert_from(value, 'UTF8')::int FROM meta WHERE name='schema_version'", deadline);
  if (version && first_number(*version) > 0) return static_cast<int>(first_number(*version));
  if (!connection_->is_usable()) return Failure(version.error());
  return failure(ErrorCode::Conflict,
                 "the database has a table 'meta' that is not ours: give the store a database or "
                 "schema of its own");
}

// Leaves an owner in the store. A transaction that is not committed ends with the connection.
Result<> PostgresDatabase::bring_up_to_date(const Deadline& deadline) {
  TRY(connection_->run_once("BEGIN", deadline));
  const int version = TRY(version_of_tables(deadline));
  if (version > kSchemaVersion)
    return failure(ErrorCode::Unsupported, "the store was written by a newer version");
  for (const std::string& statement : migrations(version, kPostgresForms))
    TRY(connection_->run_once(statement, deadline));
  owner_ = random_id(16);
  const std::string set =
      "INSERT INTO meta(name, value) VALUES($1,$2) "
      "ON CONFLICT(name) DO UPDATE SET value=excluded.value";
  TRY(connection_->run_prepared(set, {"schema_version", std::to_string(kSchemaVersion)}, deadline));
  TRY(connection_->run_prepared(set, {"owner", owner_}, deadline));
  TRY(connection_->run_once("COMMIT", deadline));
  return {};
}

// Two daemons cannot hold the lock at once, but another one may have come and gone while this one
// had no connection. What this one remembers is old then.
Result<> PostgresDatabase::check_owner(const Deadline& deadline) {
  const auto owner =
      TRY(connection_->run_once("SELECT value FROM meta WHERE name='owner'", deadline));
  if (first_text(owner) == owner_) return {};
  return failure(ErrorCode::Unavailable,
                 "another daemon has used the store since this one lost its connection: restart "
                 "this one");
}

// Makes sure of a connection. While the server is away, only one call in a second tries.
Result<> PostgresDatabase::reach(const Deadline& deadline) {
  if (connection_ && connection_->is_usable()) return {};
  connection_.reset();
  if (trouble_ && Clock::now() < next_attempt_) return Failure(*trouble_);
  auto reached = connect(deadline);
  if (reached) reached = check_owner(deadline);
  if (reached) {
    trouble_.reset();
    return {};
  }
  connection_.reset();
  trouble_ = reached.error();
  next_attempt_ = Clock::now() + kBetweenAttempts;
  return reached;
}

Result<PostgresAnswer> PostgresDatabase::execute(const std::string& sql,
                                                 const std::vector<Value>& values) {
  const auto deadline = Deadline::in(patience_.statement);
  const std::unique_lock lock(mutex_, patience_.statement);
  if (!lock.owns_lock())
    return failure(ErrorCode::Unavailable, "the store is busy: PostgreSQL: no answer in time");
  if (auto reached = reach(deadline); !reached)
    return while_doing("the store is out of reach", std::move(reached).error());
  auto known = translated_.find(sql);
  if (known == translated_.end())
    known = translated_.emplace(sql, with_postgres_placeholders(sql)).first;
  auto answer = connection_->run_prepared(known->second, values, deadline);
  if (!answer) return while_doing("store", std::move(answer).error());
  return answer;
}

Result<std::int64_t> PostgresDatabase::run(const std::string& sql,
                                           const std::vector<Value>& values) {
  return TRY(execute(sql, values)).changed();
}

Result<> PostgresDatabase::query(const std::string& sql, const std::vector<Value>& values,
                                 const Visitor& visit) {
  TRY(execute(sql, values)).visit(visit);
  return {};
}

}  // namespace nutshell::service
