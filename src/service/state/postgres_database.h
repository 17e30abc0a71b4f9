// The store in PostgreSQL: one connection, which holds an advisory lock, so that one daemon at a
// time uses the store. While the server is away, statements are refused; the next one after it is
// back connects again.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "service/state/database.h"
#include "service/state/postgres_connection.h"

namespace nutshell::service {

class PostgresDatabase final : public Database {
 public:
  struct Patience {
    std::chrono::milliseconds statement{10000};
    // A daemon that was killed holds its lock until the server notices.
    std::chrono::milliseconds lock{5000};
  };

  // `url` is a connection string of libpq. Makes the tables if they are missing. Refuses a store
  // that another daemon uses.
  static Result<std::unique_ptr<PostgresDatabase>> open(std::string url, Patience patience);
  static Result<std::unique_ptr<PostgresDatabase>> open(std::string url) {
    return open(std::move(url), Patience());
  }

  // A statement whose connection breaks fails, although the server may have done it.
  Result<std::int64_t> run(const std::string& sql, const std::vector<Value>& values = {}) override;
  Result<> query(const std::string& sql, const std::vector<Value>& values,
                 const Visitor& visit) override;

 private:
  PostgresDatabase(std::string url, Patience patience)
      : url_(std::move(url)), patience_(patience) {}

  Result<PostgresAnswer> execute(const std::string& sql, const std::vector<Value>& values);
  Result<> reach(const Deadline& deadline);
  Result<> connect(const Deadline& deadline);
  Result<> take_lock(const Deadline& deadline);
  Result<> check_owner(const Deadline& deadline);
  Result<> bring_up_to_date(const Deadline& deadline);
  Result<int> version_of_tables(const Deadline& deadline);

  const std::string url_;
  const Patience patience_;
  std::timed_mutex mutex_;  // of everything below
  std::unique_ptr<PostgresConnection> connection_;
  std::map<std::string, std::string> translated_;  // statements with PostgreSQL's placeholders
  std::string owner_;                              // names this object in the store
  std::optional<Error> trouble_;                   // why the last attempt to connect failed
  Clock::time_point next_attempt_;
};

// "a=? AND b=?" becomes "a=$1 AND b=$2", and "?2" becomes "$2". Text in quotes stays.
std::string with_postgres_placeholders(const std::string& sql);

}  // namespace nutshell::service
