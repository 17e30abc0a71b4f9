// The store of the service: what it remembers when it ends. Thread-safe. Its statements mean the
// same in SQLite and in PostgreSQL: question marks stand for values ("?1" for the first one), and
// only syntax that both know is used. Text may be any bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace nutshell::service {

using Value = std::variant<std::int64_t, std::string>;

// A row of a result, valid during the visit.
class Row {
 public:
  Row() = default;
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  [[nodiscard]] virtual std::int64_t number(int column) const = 0;
  [[nodiscard]] virtual std::string text(int column) const = 0;

 protected:
  ~Row() = default;
};

class Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database() = default;

  // Runs one statement, with values in the order of its question marks. Returns the number of rows
  // that it changed.
  virtual Result<std::int64_t> run(const std::string& sql,
                                   const std::vector<Value>& values = {}) = 0;
  using Visitor = std::function<void(const Row&)>;
  // The visitor must not use this object.
  virtual Result<> query(const std::string& sql, const std::vector<Value>& values,
                         const Visitor& visit) = 0;
};

}  // namespace nutshell::service
