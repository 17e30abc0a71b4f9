#include "saved/saved_workspaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

#include "base/byte_size.h"
#include "base/directory.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/state_directory.h"
#include "core/json_form.h"
#include "core/sandbox_id.h"

namespace nutshell::saved {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::system_clock;

constexpr const char* kLock = "lock";
constexpr const char* kSandbox = "sandbox.json";
constexpr const char* kChanges = "changes";
constexpr const char* kUnfinished = "changes.new";
constexpr const char* kFailed = "failed";
constexpr std::size_t kMostSandboxBytes = 1U << 20U;
constexpr std::size_t kMostListed = 10'000;
constexpr auto kBetweenLooks = 5ms;

constexpr const char* kLostText =
    "the process that saves its changes was killed too, or the machine stopped: they are lost";

Result<std::uint64_t> number_in(const char* variable, std::uint64_t otherwise) {
  const std::string text = environment_variable(variable);
  if (text.empty()) return otherwise;
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error == std::errc() && end == last) return number;
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("{}: '{}' is not a number", variable, text));
}

bool is_locked(const fs::path& directory) {
  const auto lock = open_file(directory / kLock, O_RDONLY | O_NOFOLLOW);
  if (!lock || ::flock(lock->get(), LOCK_SH | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK;
}

std::uint64_t bytes_in(const fs::path& directory) {
  struct stat status {};
  const bool is_there = ::lstat((directory / kChanges).c_str(), &status) == 0;
  return is_there ? static_cast<std::uint64_t>(status.st_size) : 0;
}

system_clock::time_point time_of(const fs::path& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return {};
  return system_clock::time_point(std::chrono::seconds(status.st_mtim.tv_sec));
}

Result<> remove_directory(const fs::path& directory) {
  // The lock goes last, and with it the name, so that a removal that is killed is seen again.
  for (const char* name : {kSandbox, kChanges, kUnfinished, kFailed, kLock}) {
    if (::unlink((directory / name).c_str()) != 0 && errno != ENOENT)
      return syscall_failure("remove", (directory / name).native());
  }
  if (::rmdir(directory.c_str()) != 0 && errno != ENOENT)
    return syscall_failure("remove", directory.native());
  return {};
}

Result<ArchiveReader> open_archive(const fs::path& directory) {
  return ArchiveReader::open(TRY(open_file(directory / kChanges, O_RDONLY | O_NOFOLLOW)));
}

SavedWorkspace look_at(const fs::path& directory) {
  SavedWorkspace found;
  const bool is_busy = is_locked(directory);  // before the rest, which it may still write
  const auto text = read_file(directory / kSandbox, kMostSandboxBytes);
  if (auto sandbox = text ? from_json_text<SandboxStatus>(*text)
                          : Result<SandboxStatus>(Failure(text.error()))) {
    found.sandbox = std::move(*sandbox);
  }
  found.sandbox.id = directory.filename().native();
  auto archive = open_archive(directory);
  const auto why = read_file(directory / kFailed, kMostSandboxBytes);
  found.ended = time_of(directory);
  if (archive) {
    found.state = State::Saved;
    found.summary = archive->summary();
    found.bytes = bytes_in(directory);
    found.ended = system_clock::time_point(
        std::chrono::milliseconds(static_cast<std::int64_t>(found.summary.ended_ms)));
  } else if (why) {
    found.state = State::Failed;
    found.why = *why;
  } else if (!is_busy) {
    found.state = State::Lost;
    found.why = kLostText;
  }
  return found;
}

}  // namespace

Result<Bounds> Bounds::from_environment() {
  Bounds bounds;
  const std::string bytes = environment_variable("NUTSHELL_SAVED_BYTES");
  if (!bytes.empty()) {
    auto parsed = parse_byte_size(bytes);
    if (!parsed) return while_doing("NUTSHELL_SAVED_BYTES", std::move(parsed).error());
    bounds.bytes = *parsed;
  }
  bounds.count = TRY(number_in("NUTSHELL_SAVED_COUNT", bounds.count));
  bounds.days = std::min<std::uint64_t>(TRY(number_in("NUTSHELL_SAVED_DAYS", bounds.days)), 36'500);
  return bounds;
}

Result<Saving> Saving::begin(const fs::path& place, const SandboxStatus& sandbox) {
  const fs::path directory = place / sandbox.id;
  TRY(make_directory(directory));
  UniqueFd lock = TRY(open_file(directory / kLock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return syscall_failure("lock", sandbox.id);
  Saving saving(directory, std::move(lock));
  TRY(write_file(directory / kSandbox, to_json_text(sandbox, Written::Kept), 0600));
  return saving;
}

Result<UniqueFd> Saving::new_archive(const Bounds& bounds) {
  SweepReport report;
  SavedWorkspaces(directory_.parent_path()).make_room(bounds, 1, SweepMode::Remove, report);
  return open_file(directory_ / kUnfinished, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

Result<> Saving::commit(const Bounds& bounds) {
  const std::string from = (directory_ / kUnfinished).native();
  if (::rename(from.c_str(), (directory_ / kChanges).c_str()) != 0)
    return syscall_failure("rename", from);
  SweepReport report;
  SavedWorkspaces(directory_.parent_path()).make_room(bounds, 0, SweepMode::Remove, report);
  return {};
}

void Saving::fail(const std::string& why) {
  ::unlink((directory_ / kUnfinished).c_str());
  (void)write_file(directory_ / kFailed, why, 0600);  // without it, the changes count as lost
}

void Saving::drop() {
  (void)remove_directory(directory_);  // 'nutshell gc' removes what is left
}

Result<SavedWorkspaces> SavedWorkspaces::open() {
  return SavedWorkspaces(TRY(user_state_directory()) / "saved");
}

Result<SavedWorkspaces> SavedWorkspaces::make() {
  auto place = TRY(make_user_state_directory()) / "saved";
  TRY(make_private_directory(place));
  return SavedWorkspaces(std::move(place));
}

Result<std::vector<SavedWorkspace>> SavedWorkspaces::list() const {
  std::vector<SavedWorkspace> all;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(place_, error)) {
    if (!is_sandbox_id(item.path().filename().native())) continue;
    if (all.size() >= kMostListed) break;
    all.push_back(look_at(item.path()));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return syscall_failure(error.value(), "read", place_.native());
  std::sort(all.begin(), all.end(),
            [](const auto& left, const auto& right) { return left.ended > right.ended; });
  return all;
}

Result<SavedWorkspace> SavedWorkspaces::find(const std::string& id) const {
  const auto none = [&id] {
    return failure(ErrorCode::NotFound, fmt::format("no changes are saved of sandbox '{}'", id));
  };
  if (is_sandbox_id(id)) {
    struct stat status {};
    if (::lstat((place_ / id).c_str(), &status) != 0) return none();
    return look_at(place_ / id);
  }
  std::vector<SavedWorkspace> matches;
  for (SavedWorkspace& one : TRY(list()))
    if (one.sandbox.id.starts_with(id)) matches.push_back(std::move(one));
  if (matches.empty() || id.empty()) return none();
  if (matches.size() == 1) return std::move(matches.front());
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("'{}' is the beginning of {} ids: give more letters", id, matches.size()));
}

Result<SavedWorkspace> SavedWorkspaces::await(const std::string& id,
                                              const Deadline& deadline) const {
  for (;;) {
    SavedWorkspace found = TRY(find(id));
    if (found.state != State::Saving || deadline.has_passed()) return found;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

Result<ArchiveReader> SavedWorkspaces::read(const std::string& id) const {
  if (!is_sandbox_id(id)) return failure(ErrorCode::InvalidArgument, "not an id: " + id);
  return open_archive(place_ / id);
}

Result<> SavedWorkspaces::remove(const std::string& id, const Deadline& deadline) const {
  if (!is_sandbox_id(id)) return failure(ErrorCode::InvalidArgument, "not an id: " + id);
  const auto found = await(id, deadline);
  if (!found) return {};
  if (found->state == State::Saving) {
    return failure(ErrorCode::DeadlineExceeded,
                   fmt::format("the changes of {} are still being saved", id));
  }
  return remove_directory(place_ / id);
}

void SavedWorkspaces::make_room(const Bounds& bounds, std::uint64_t new_ones, SweepMode mode,
                                SweepReport& report) const {
  auto all = list();
  if (!all) return report.failed.push_back(all.error().message);
  const auto now = system_clock::now();
  const auto age_bound = std::chrono::hours(24 * static_cast<std::int64_t>(bounds.days));
  std::uint64_t bytes = 0;
  std::uint64_t count = new_ones;
  for (const SavedWorkspace& one : *all) {  // the newest first
    if (one.state == State::Saving) continue;
    ++count;
    bytes += one.bytes;
    const bool is_old = now - one.ended >= age_bound;
    if (!is_old && count <= bounds.count && bytes <= bounds.bytes) continue;
    const bool is_gone =
        mode == SweepMode::DryRun || remove_directory(place_ / one.sandbox.id).has_value();
    bytes -= one.bytes;
    --count;
    (is_gone ? report.removed : report.failed)
        .push_back(fmt::format("saved changes of sandbox {}", one.sandbox.id));
  }
}

}  // namespace nutshell::saved
