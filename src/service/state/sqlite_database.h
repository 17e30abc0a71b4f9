// The state file: SQLite in WAL mode, one connection. Commits survive the death of this process. A
// power cut may lose the last commits, but does not damage the file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "service/state/database.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nutshell::service {

class SqliteDatabase final : public Database {
 public:
  // Makes the file if it is missing. Refuses a damaged file and does not change it.
  static Result<std::unique_ptr<SqliteDatabase>> open(const std::filesystem::path& path);
  ~SqliteDatabase() override;

  Result<std::int64_t> run(const std::string& sql, const std::vector<Value>& values = {}) override;
  Result<> query(const std::string& sql, const std::vector<Value>& values,
                 const Visitor& visit) override;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finish {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit SqliteDatabase(std::unique_ptr<sqlite3, Close> handle) : handle_(std::move(handle)) {}

  Result<> prepare_file(const std::filesystem::path& path);
  Result<> execute(const std::string& sql);
  Result<sqlite3_stmt*> prepare(const std::string& sql, const std::vector<Value>& values);
  Failure error_of(const std::string& what);

  std::mutex mutex_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finish>> statements_;
};

}  // namespace nutshell::service
