#include "backends/gvisor/bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/gvisor/leftovers.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/process_start.h"
#include "base/user_directory.h"
#include "core/sandbox_id.h"
#include "wire/codec.h"

namespace nutshell::gvisor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecord = "record";

Result<fs::path> bundles() {
  return TRY(open_user_directory()) / "gvisor";
}

}  // namespace

Result<fs::path> Bundle::state_directory() {
  return TRY(open_user_directory()) / "gvisor-state";
}

// Until the new directory is locked, a concurrent sweep may remove it; then another one is made.
Result<Bundle> Bundle::create() {
  constexpr int kTries = 16;
  const fs::path place = TRY(bundles());
  for (int i = 0; i < kTries; ++i) {
    TRY(make_directory(place));
    const std::string id = new_sandbox_id(kIdLetter);
    Bundle bundle(id, place / id);
    const bool is_made = ::mkdir(bundle.path_.c_str(), 0700) == 0;
    if (!is_made && errno != ENOENT) return syscall_failure("mkdir", bundle.path_.native());
    if (is_made && bundle.lock() && bundle.exists()) return bundle;
  }
  return failure(ErrorCode::Unavailable,
                 "every new bundle was removed by a concurrent sweep: try again");
}

Result<Bundle> Bundle::at(const std::string& id) {
  if (!is_sandbox_id(id)) return failure(ErrorCode::NotFound, fmt::format("no sandbox '{}'", id));
  return Bundle(id, TRY(bundles()) / id);
}

Result<std::vector<std::string>> Bundle::ids() {
  std::vector<std::string> all;
  std::error_code ignored;  // a missing directory has no bundles
  for (const auto& entry : fs::directory_iterator(TRY(bundles()), ignored)) {
    std::string name = entry.path().filename().native();
    if (is_sandbox_id(name)) all.push_back(std::move(name));
  }
  return all;
}

bool Bundle::exists() const {
  return ::access(path_.c_str(), F_OK) == 0;
}

bool Bundle::lock() {
  auto opened = open_file(path_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!opened || ::flock(opened->get(), LOCK_EX | LOCK_NB) != 0) return false;
  lock_ = std::move(*opened);
  return true;
}

// Renamed into place, so that a reader finds a whole record or none.
Result<> Bundle::remember(const Record& record) const {
  const fs::path fresh = path_ / "record.new";
  TRY(write_file(fresh, wire::encode(record), 0600));
  const fs::path place = path_ / kRecord;
  if (::rename(fresh.c_str(), place.c_str()) != 0) return syscall_failure("rename", place.native());
  return {};
}

Result<Record> Bundle::remembered() const {
  return wire::decode<Record>(TRY(read_file(path_ / kRecord, 4U << 20U)));
}

Result<Record> Bundle::living() const {
  auto record = remembered();
  if (record && is_alive(*record)) return record;
  return failure(ErrorCode::NotFound, fmt::format("no sandbox '{}'", id_));
}

// The directory goes last: everything else is found by it.
Result<> Bundle::remove(const Deadline& deadline) const {
  TRY(end_processes(argument(), deadline));
  TRY(remove_cgroups(id_, deadline));
  remove_state_files(TRY(state_directory()), id_);
  std::error_code error;
  // A concurrent removal may take a file away while this one looks at it.
  for (fs::remove_all(path_, error); error && exists(); fs::remove_all(path_, error)) {
    if (deadline.has_passed()) return syscall_failure(error.value(), "remove", path_.native());
  }
  // These fail while other sandboxes exist.
  ::rmdir(path_.parent_path().c_str());
  ::rmdir(TRY(state_directory()).c_str());
  return {};
}

bool is_alive(const Record& record) {
  const auto start = start_of_process(record.process);
  return record.process != 0 && start && *start == record.process_start;
}

}  // namespace nutshell::gvisor
