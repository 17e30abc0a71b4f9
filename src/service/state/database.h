// The state file: SQLite in WAL mode, one connection. Thread-safe. Commits survive the death of
// this process. A power cut may lose the last commits, but does not damage the file.
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

// A row of a result, valid during the visit.
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
  // Makes the file if it is missing. Refuses a damaged file and does not change it.
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& path);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  // Runs one statement, with values in the order of its question marks. Returns the number of rows
  // that it changed.
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
