// One connection to PostgreSQL. It never blocks longer than its deadline. The caller lets one
// thread at a time use it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "service/state/database.h"
#include "service/state/libpq.h"

namespace nutshell::service {

// The answer to a statement, in PostgreSQL's binary forms.
class PostgresAnswer {
 public:
  PostgresAnswer(const Libpq& libpq, PgResult* result)
      : libpq_(&libpq), result_(result, {&libpq}) {}
  [[nodiscard]] int status() const { return libpq_->result_status(result_.get()); }
  [[nodiscard]] std::string error_field(int field) const;
  [[nodiscard]] std::int64_t changed() const;
  void visit(const Database::Visitor& visitor) const;

 private:
  struct Clear {
    const Libpq* libpq;
    void operator()(PgResult* result) const { libpq->clear(result); }
  };
  const Libpq* libpq_;
  std::unique_ptr<PgResult, Clear> result_;
};

class PostgresConnection {
 public:
  static Result<std::unique_ptr<PostgresConnection>> open(const std::string& url,
                                                          const Deadline& deadline);
  // `sql` has PostgreSQL's own placeholders, $1. A statement that comes again is prepared once.
  Result<PostgresAnswer> run_prepared(const std::string& sql, const std::vector<Value>& values,
                                      const Deadline& deadline);
  Result<PostgresAnswer> run_once(const std::string& sql, const Deadline& deadline);
  // False once the server has closed the connection, or has not answered by a deadline.
  [[nodiscard]] bool is_usable();

 private:
  struct Finish {
    const Libpq* libpq;
    void operator()(PgConnection* connection) const { libpq->finish(connection); }
  };
  PostgresConnection(const Libpq& libpq, PgConnection* connection)
      : libpq_(libpq), connection_(connection, {&libpq}) {}

  Result<> finish_connecting(const Deadline& deadline);
  Result<> send(const Deadline& deadline);
  Result<> wait_for(short events, const Deadline& deadline);
  Result<PostgresAnswer> receive(const Deadline& deadline);
  Result<std::string> name_of(const std::string& sql, const std::vector<Value>& values,
                              const Deadline& deadline);
  Failure lost();
  Failure failure_of(const PostgresAnswer& answer);

  const Libpq& libpq_;
  std::unique_ptr<PgConnection, Finish> connection_;
  std::map<std::string, std::string> prepared_;  // names by statement
  bool is_lost_ = false;
};

}  // namespace nutshell::service
