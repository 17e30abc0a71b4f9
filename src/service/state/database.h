// The state file: SQLite in WAL mode, one connection. Thread-safe. What is committed survives the
// death of this process; a power cut may take the last commits, but never the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nutshell::service {

using Value = std::variant<std::int64_t, std::string>;

// One row of an answer, by column.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] std::int64_t number(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  sqlite3_stmt* statement_;
};

class Database {
 public:
  // Made if missing. A damaged one is refused, and left as it is.
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  // One statement, with its values in the order of the question marks. Gives the rows changed.
  Result<std::int64_t> run(const std::string& sql, const std::vector<Value>& values = {});
  using Visitor = std::function<void(const Row&)>;
  Result<> query(const std::string& sql, const std::vector<Value>& values, const Visitor& visit);

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finish {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Database(std::unique_ptr<sqlite3, Close> handle) : handle_(std::move(handle)) {}

  Result<> prepare_file(const std::filesystem::path& path);
  Result<sqlite3_stmt*> prepare(const std::string& sql, const std::vector<Value>& values);
  Failure error_of(const std::string& what);

  std::mutex mutex_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finish>> statements_;
};

}  // namespace nutshell::service
