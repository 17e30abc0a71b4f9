#include "service/state/recovery.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include "base/defer.h"
#include "service/state/sqlite_database.h"
#include "service/state/state_directory.h"

namespace nutshell::service {
namespace {

namespace fs = std::filesystem;

constexpr int kMostKept = 1000;

fs::path beside(const fs::path& path, const char* ending) {
  return path.native() + ending;
}

Result<> move_if_there(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno == ENOENT) return {};  // there may be no log
  return syscall_failure("rename", from.native());
}

// Renames the file to the first free name, together with its log. SQLite makes the index again.
Result<fs::path> put_aside(const fs::path& path) {
  for (int number = 1; number <= kMostKept; ++number) {
    fs::path kept = path.native() + fmt::format(".damaged-{}", number);
    std::error_code error;
    if (fs::exists(kept, error) || fs::exists(beside(kept, "-wal"), error)) continue;
    TRY(move_if_there(path, kept));
    TRY(move_if_there(beside(path, "-wal"), beside(kept, "-wal")));
    ::unlink(beside(path, "-shm").c_str());
    return kept;
  }
  return failure(ErrorCode::ResourceExhausted,
                 fmt::format("{} was put aside {} times: remove some", path.native(), kMostKept));
}

Result<> copy_if_there(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::exists(from, error)) return {};
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return syscall_failure(error.value(), "copy", from.native());
  return {};
}

// Copies row by row, so that an unreadable row costs only itself.
Recovery::Table save_table(Database& fresh, const std::string& name) {
  Recovery::Table table{name, 0, true};
  std::vector<std::int64_t> rows;
  const auto listed = fresh.query(fmt::format("SELECT rowid FROM damaged.{} NOT INDEXED", name), {},
                                  [&rows](const Row& row) { rows.push_back(row.number(0)); });
  table.is_whole = listed.has_value();
  // Copies by column name: tables of earlier versions have fewer columns; the rest get defaults.
  std::string columns;
  (void)fresh.query("SELECT group_concat(name) FROM pragma_table_info(?, 'damaged')", {name},
                    [&columns](const Row& row) { columns = row.text(0); });
  const std::string insert =
      fmt::format("INSERT OR IGNORE INTO main.{0}({1}) SELECT {1} FROM damaged.{0} WHERE rowid=?",
                  name, columns);
  for (const std::int64_t row : rows) {
    const auto saved = fresh.run(insert, {row});
    table.saved += saved.value_or(0);
    table.is_whole = table.is_whole && saved.has_value();
  }
  return table;
}

}  // namespace

Result<Recovery> recover_state(const fs::path& directory) {
  const StateDirectory locked = TRY(StateDirectory::open(directory));
  const fs::path path = locked / "state.db";
  const auto opened = SqliteDatabase::open(path);
  if (opened) return Recovery{};
  if (opened.error().code != ErrorCode::Corrupt) return Failure(opened.error());
  Recovery recovery;
  recovery.kept = TRY(put_aside(path));
  // Reads a copy, because reading a log writes to the files.
  const fs::path copied = locked / "state.db.reading";
  const Defer removed([&copied] {
    for (const char* ending : {"", "-wal", "-shm"})
      ::unlink(beside(copied, ending).c_str());
  });
  TRY(copy_if_there(recovery.kept, copied));
  TRY(copy_if_there(beside(recovery.kept, "-wal"), beside(copied, "-wal")));
  const auto fresh = TRY(SqliteDatabase::open(path));
  const auto attached = fresh->run("ATTACH DATABASE ? AS damaged", {copied.native()});
  for (const char* name :
       {"sandboxes", "sessions", "session_clocks", "keys", "execs", "images", "meta"}) {
    recovery.tables.push_back(attached ? save_table(*fresh, name)
                                       : Recovery::Table{name, 0, false});
  }
  return recovery;
}

}  // namespace nutshell::service
