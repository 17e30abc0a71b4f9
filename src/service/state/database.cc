#include "service/state/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/defer.h"

namespace nutshell::service {
namespace {

constexpr int kVersion = 2;

constexpr const char* kSchema = R"(
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sandboxes(
  op TEXT PRIMARY KEY, id TEXT UNIQUE, tenant TEXT NOT NULL, stage TEXT NOT NULL,
  backend TEXT NOT NULL, labels TEXT NOT NULL, created_ms INTEGER NOT NULL,
  ttl_ms INTEGER NOT NULL, deadline_ms INTEGER NOT NULL, left_ms INTEGER NOT NULL,
  idle_ms INTEGER NOT NULL, session TEXT NOT NULL, pool TEXT NOT NULL,
  pool_spec TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS keys(
  tenant TEXT NOT NULL, key TEXT NOT NULL, request TEXT NOT NULL, target TEXT NOT NULL,
  made_ms INTEGER NOT NULL, PRIMARY KEY(tenant, key));
CREATE TABLE IF NOT EXISTS sessions(
  tenant TEXT NOT NULL, name TEXT NOT NULL, request TEXT NOT NULL, stage TEXT NOT NULL,
  sandbox TEXT NOT NULL, life INTEGER NOT NULL, setup TEXT NOT NULL, execs INTEGER NOT NULL,
  cpu_us INTEGER NOT NULL, wall_us INTEGER NOT NULL, output_bytes INTEGER NOT NULL,
  lease_ms INTEGER NOT NULL, lease_end_ms INTEGER NOT NULL, created_ms INTEGER NOT NULL,
  PRIMARY KEY(tenant, name));
CREATE TABLE IF NOT EXISTS session_clocks(
  tenant TEXT NOT NULL, name TEXT NOT NULL, sandbox TEXT NOT NULL, counted_us INTEGER NOT NULL,
  PRIMARY KEY(tenant, name));
CREATE TABLE IF NOT EXISTS execs(
  exec_id TEXT PRIMARY KEY, tenant TEXT NOT NULL, sandbox TEXT NOT NULL, session TEXT NOT NULL,
  stage TEXT NOT NULL, limits TEXT NOT NULL, begun_id INTEGER NOT NULL, audit_id INTEGER NOT NULL,
  result TEXT NOT NULL, ended_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS images(
  tenant TEXT NOT NULL, backend TEXT NOT NULL, image TEXT NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY(tenant, backend, image));
)";

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

}  // namespace

std::int64_t Row::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Row::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}
void Database::Finish::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& path) {
  sqlite3* raw = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, kFlags, nullptr);
  std::unique_ptr<Database> database(new Database(std::unique_ptr<sqlite3, Close>(raw)));
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

Result<> Database::prepare_file(const std::filesystem::path& path) {
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
  if (version > kVersion) {
    return failure(ErrorCode::Unsupported,
                   fmt::format("{} was written by a newer version", path.native()));
  }
  // Version 1 has no pool_spec. Version 0 is a new file, for which the schema below makes the
  // tables.
  if (version == 1) TRY(run("ALTER TABLE sandboxes ADD COLUMN pool_spec TEXT NOT NULL DEFAULT ''"));
  char* message = nullptr;
  const int made = sqlite3_exec(handle_.get(), kSchema, nullptr, nullptr, &message);
  const Defer freed([&message] { sqlite3_free(message); });
  if (made != SQLITE_OK)
    return failure(code_of(made), message != nullptr ? message : sqlite3_errstr(made));
  TRY(run(fmt::format("PRAGMA user_version={}", kVersion)));
  return {};
}

Failure Database::error_of(const std::string& what) {
  return failure(code_of(sqlite3_errcode(handle_.get())),
                 fmt::format("state file: {}: {}", what, sqlite3_errmsg(handle_.get())));
}

Result<sqlite3_stmt*> Database::prepare(const std::string& sql, const std::vector<Value>& values) {
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

Result<std::int64_t> Database::run(const std::string& sql, const std::vector<Value>& values) {
  const std::lock_guard lock(mutex_);
  sqlite3_stmt* statement = TRY(prepare(sql, values));
  const Defer reset([statement] { sqlite3_reset(statement); });
  const int done = sqlite3_step(statement);
  if (done != SQLITE_DONE && done != SQLITE_ROW) return error_of(sql);
  return static_cast<std::int64_t>(sqlite3_changes(handle_.get()));
}

Result<> Database::query(const std::string& sql, const std::vector<Value>& values,
                         const Visitor& visit) {
  const std::lock_guard lock(mutex_);
  sqlite3_stmt* statement = TRY(prepare(sql, values));
  const Defer reset([statement] { sqlite3_reset(statement); });
  for (;;) {
    const int step = sqlite3_step(statement);
    if (step == SQLITE_DONE) return {};
    if (step != SQLITE_ROW) return error_of(sql);
    visit(Row(statement));
  }
}

}  // namespace nutshell::service
