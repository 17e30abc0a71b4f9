#include "service/state/sqlite_database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/defer.h"
#include "service/state/schema.h"

namespace nutshell::service {
namespace {

ErrorCode code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
      return ErrorCode::ResourceExhausted;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return ErrorCode::PermissionDenied;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::Corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::Unavailable;
    case SQLITE_CONSTRAINT:
      return ErrorCode::AlreadyExists;
    default:
      return ErrorCode::Internal;
  }
}

Failure damaged(const std::filesystem::path& path, const std::string& how) {
  return failure(
      ErrorCode::Corrupt,
      fmt::format("{} is damaged ({}); nothing was changed. 'nutshell daemon recover --state {}' "
                  "keeps it and goes on with what can still be read of it",
                  path.native(), how, path.parent_path().native()));
}

class SqliteRow final : public Row {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] std::int64_t number(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] std::string text(int column) const override {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr
               ? std::string()
               : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }

 private:
  sqlite3_stmt* statement_;
};

}  // namespace

void SqliteDatabase::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}
void SqliteDatabase::Finish::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteDatabase::~SqliteDatabase() = default;

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::filesystem::path& path) {
  sqlite3* raw = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, kFlags, nullptr);
  std::unique_ptr<SqliteDatabase> database(
      new SqliteDatabase(std::unique_ptr<sqlite3, Close>(raw)));
  if (opened != SQLITE_OK) {
    return failure(code_of(opened),
                   fmt::format("open {}: {}", path.native(), sqlite3_errstr(opened)));
  }
  sqlite3_extended_result_codes(raw, 1);
  // Closing must not write the log into a damaged file.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // The file may hold the environments of sessions.
  if (::chmod(path.c_str(), 0600) != 0) return syscall_failure("chmod", path.native());
  auto prepared = database->prepare_file(path);
  if (prepared) {
    sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
    return database;
  }
  if (prepared.error().code == ErrorCode::Corrupt) return damaged(path, prepared.error().message);
  return while_doing(path.native(), std::move(prepared).error());
}

Result<> SqliteDatabase::prepare_file(const std::filesystem::path& path) {
  std::string verdict;
  TRY(query("PRAGMA quick_check(1)", {}, [&verdict](const Row& row) { verdict = row.text(0); }));
  if (verdict != "ok") return failure(ErrorCode::Corrupt, verdict);
  // StateDirectory allows only one writer, so SQLite's own locks are not needed.
  TRY(query("PRAGMA locking_mode=EXCLUSIVE", {}, [](const Row&) {}));
  TRY(query("PRAGMA journal_mode=WAL", {}, [](const Row&) {}));
  TRY(run("PRAGMA synchronous=NORMAL"));
  TRY(run("PRAGMA busy_timeout=2000"));
  std::int64_t version = 0;
  TRY(query("PRAGMA user_version", {}, [&version](const Row& row) { version = row.number(0); }));
  if (version > kSchemaVersion) {
    return failure(ErrorCode::Unsupported,
                   fmt::format("{} was written by a newer version", path.native()));
  }
  TRY(execute("BEGIN IMMEDIATE"));  // closing the file undoes what was begun
  for (const std::string& statement : migrations(static_cast<int>(version), kSqliteForms))
    TRY(execute(statement));
  TRY(execute(fmt::format("PRAGMA user_version={}", kSchemaVersion)));
  return execute("COMMIT");
}

// Runs a statement that is needed once, and keeps no prepared form of it.
Result<> SqliteDatabase::execute(const std::string& sql) {
  char* message = nullptr;
  const int done = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, &message);
  const Defer freed([&message] { sqlite3_free(message); });
  if (done == SQLITE_OK) return {};
  return failure(code_of(done), message != nullptr ? message : sqlite3_errstr(done));
}

Failure SqliteDatabase::error_of(const std::string& what) {
  return failure(code_of(sqlite3_errcode(handle_.get())),
                 fmt::format("state file: {}: {}", what, sqlite3_errmsg(handle_.get())));
}

Result<sqlite3_stmt*> SqliteDatabase::prepare(const std::string& sql,
                                              const std::vector<Value>& values) {
  auto& slot = statements_[sql];
  if (!slot) {
    sqlite3_stmt* fresh = nullptr;
    const auto size = static_cast<int>(sql.size());
    if (sqlite3_prepare_v2(handle_.get(), sql.data(), size, &fresh, nullptr) != SQLITE_OK)
      return error_of(sql);
    slot.reset(fresh);
  }
  int index = 0;
  for (const Value& value : values) {
    ++index;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      sqlite3_bind_int64(slot.get(), index, *number);
    } else {
      const auto& text = std::get<std::string>(value);
      sqlite3_bind_text64(slot.get(), index, text.data(), text.size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8);
    }
  }
  return slot.get();
}

Result<std::int64_t> SqliteDatabase::run(const std::string& sql, const std::vector<Value>& values) {
  const std::lock_guard lock(mutex_);
  sqlite3_stmt* statement = TRY(prepare(sql, values));
  const Defer reset([statement] { sqlite3_reset(statement); });
  const int done = sqlite3_step(statement);
  if (done != SQLITE_DONE && done != SQLITE_ROW) return error_of(sql);
  return static_cast<std::int64_t>(sqlite3_changes(handle_.get()));
}

Result<> SqliteDatabase::query(const std::string& sql, const std::vector<Value>& values,
                               const Visitor& visit) {
  const std::lock_guard lock(mutex_);
  sqlite3_stmt* statement = TRY(prepare(sql, values));
  const Defer reset([statement] { sqlite3_reset(statement); });
  for (;;) {
    const int step = sqlite3_step(statement);
    if (step == SQLITE_DONE) return {};
    if (step != SQLITE_ROW) return error_of(sql);
    visit(SqliteRow(statement));
  }
}

}  // namespace nutshell::service
