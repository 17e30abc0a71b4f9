#include "runtime/workspace_apply.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/beneath.h"
#include "base/fault_point.h"
#include "base/file.h"
#include "runtime/apply_target.h"

namespace nutshell {
namespace {

using wire::FileChange;
using wire::FileInfo;
using wire::FileKind;

FileKind kind_of(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return FileKind::Regular;
  if (S_ISDIR(status.st_mode)) return FileKind::Directory;
  return S_ISLNK(status.st_mode) ? FileKind::Link : FileKind::Other;
}

std::int64_t change_time(const struct stat& status) {
  return static_cast<std::int64_t>(status.st_ctim.tv_sec) * 1'000'000'000 + status.st_ctim.tv_nsec;
}

class Application {
 public:
  Application(wire::InitClient& client, const ApplyRequest& request, ApplyTarget target)
      : client_(client), request_(request), target_(std::move(target)) {}

  Result<> look_for_conflicts(const std::vector<FileChange>& changes);
  Result<> write(const std::vector<FileChange>& changes);
  ApplyReport report;

 private:
  Result<std::string> conflict_of(const FileChange& change) const;
  [[nodiscard]] bool is_changed_since(const std::string& path, const struct stat& status) const;
  Result<bool> is_written(const FileChange& change, const struct stat& status) const;
  Result<bool> has_same_bytes(const FileChange& change) const;
  Result<> write_one(const FileChange& change);
  Result<> write_file(const FileChange& change);
  Result<> write_directory(const FileChange& change);
  Result<> set_directory_modes(const std::vector<FileChange>& changes);
  Result<> note(const std::string& path);

  wire::InitClient& client_;
  const ApplyRequest& request_;
  ApplyTarget target_;
};

bool Application::is_changed_since(const std::string& path, const struct stat& status) const {
  const std::int64_t changed = change_time(status);
  const auto ours = request_.applied.find(path);
  if (ours != request_.applied.end()) return changed != ours->second;
  return changed > request_.began_ns;
}

Result<bool> Application::has_same_bytes(const FileChange& change) const {
  const auto place = TRY(target_.place_of(change.path));
  const UniqueFd file = TRY(open_beneath(place.parent.get(), place.name,
                                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, Links::Refuse));
  bool is_same = true;
  std::string ours;
  TRY(client_.read_file(
      {std::string(kWorkspacePath) + change.path, 0, change.after.size, 0, wire::FileState::Now},
      [&](std::string_view theirs) -> Result<> {
        ours.resize(theirs.size());
        std::size_t filled = 0;
        while (is_same && filled < ours.size()) {
          const ssize_t count = ::read(file.get(), ours.data() + filled, ours.size() - filled);
          if (count <= 0) is_same = false;
          filled += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        }
        is_same = is_same && ours == theirs;
        return {};
      }));
  return is_same;
}

// The host has it already as the sandbox has it.
Result<bool> Application::is_written(const FileChange& change, const struct stat& status) const {
  const FileInfo& after = change.after;
  if (kind_of(status) != after.kind) return false;
  if (after.kind == FileKind::Link) return TRY(target_.link_target(change.path)) == after.target;
  if ((status.st_mode & 0777U) != (after.mode & 0777U)) return false;
  if (after.kind != FileKind::Regular) return true;
  if (static_cast<std::uint64_t>(status.st_size) != after.size) return false;
  return has_same_bytes(change);
}

// Empty: none.
Result<std::string> Application::conflict_of(const FileChange& change) const {
  const auto found = TRY(target_.look(change.path));
  const FileInfo& before = change.before;
  if (!found) {
    const bool is_expected = before.kind == kNoFile || change.after.kind == kNoFile;
    return is_expected ? "" : fmt::format("{}: removed here since", change.path);
  }
  if (before.kind == kNoFile) {
    const bool is_merged =
        change.after.kind == FileKind::Directory && kind_of(*found) == FileKind::Directory;
    const bool is_ours =
        request_.applied.contains(change.path) && !is_changed_since(change.path, *found);
    if (is_merged || is_ours || TRY(is_written(change, *found))) return std::string();
    return fmt::format("{}: made here too", change.path);
  }
  if (before.kind == FileKind::Directory && kind_of(*found) == FileKind::Directory)
    return std::string();  // its time changes with every file in it
  if (!is_changed_since(change.path, *found)) return std::string();
  if (change.after.kind != kNoFile && TRY(is_written(change, *found))) return std::string();
  return fmt::format("{}: changed here since", change.path);
}

Result<> Application::look_for_conflicts(const std::vector<FileChange>& changes) {
  for (const FileChange& change : changes) {
    std::string conflict = TRY(conflict_of(change));
    if (!conflict.empty()) report.conflicts.push_back(std::move(conflict));
  }
  return {};
}

Result<> Application::note(const std::string& path) {
  const auto status = TRY(target_.look(path));
  if (status) report.applied[path] = change_time(*status);
  return {};
}

Result<> Application::write_file(const FileChange& change) {
  const UniqueFd file = TRY(target_.new_file());
  std::uint64_t received = 0;
  TRY(client_.read_file(
      {std::string(kWorkspacePath) + change.path, 0, change.after.size, 0, wire::FileState::Now},
      [&](std::string_view bytes) {
        received += bytes.size();
        return write_all(file.get(), bytes);
      }));
  if (received != change.after.size) {
    return failure(ErrorCode::Cancelled, "it changed while it was read: try again");
  }
  // No file that runs as somebody else comes out of a sandbox.
  if (::fchmod(file.get(), change.after.mode & 0777U) != 0) return syscall_failure("chmod");
  return target_.put(change.path);
}

Result<> Application::write_directory(const FileChange& change) {
  const auto found = TRY(target_.look(change.path));
  if (found && S_ISDIR(found->st_mode)) return {};  // it gets its mode at the end
  TRY(target_.new_directory());
  return target_.put(change.path);
}

Result<> Application::write_one(const FileChange& change) {
  const auto found = TRY(target_.look(change.path));
  switch (change.after.kind) {
    case FileKind::Regular:
      if (found && TRY(is_written(change, *found))) return {};
      TRY(write_file(change));
      break;
    case FileKind::Link:
      if (found && TRY(is_written(change, *found))) return {};
      TRY(target_.new_link(change.after.target));
      TRY(target_.put(change.path));
      break;
    case FileKind::Directory:
      TRY(write_directory(change));
      break;
    default:
      return {};
  }
  return note(change.path);
}

// Children first, and only at the end: a directory that forbids writing is filled before.
Result<> Application::set_directory_modes(const std::vector<FileChange>& changes) {
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (change->after.kind != FileKind::Directory) continue;
    const auto place = TRY(target_.place_of(change->path));
    const UniqueFd directory = TRY(open_beneath(
        place.parent.get(), place.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, Links::Refuse));
    if (::fchmod(directory.get(), change->after.mode & 0777U) != 0)
      return syscall_failure("chmod", change->path);
  }
  return {};
}

// What goes goes first, children before parents; then what comes, parents before children.
Result<> Application::write(const std::vector<FileChange>& changes) {
  TRY(target_.stage());
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (change->after.kind != kNoFile) continue;
    auto removed = target_.remove(change->path);
    if (!removed) return while_doing("apply " + change->path, std::move(removed).error());
  }
  for (const FileChange& change : changes) {
    auto written = write_one(change);
    if (!written) return while_doing("apply " + change.path, std::move(written).error());
    fault_point("apply.written");
  }
  return set_directory_modes(changes);
}

bool is_special(const FileInfo& info) {
  return info.kind == FileKind::Other;
}

}  // namespace

Result<ApplyReport> apply_changes(wire::InitClient& client, const std::vector<FileChange>& changes,
                                  const ApplyRequest& request) {
  std::vector<FileChange> wanted;
  std::vector<std::string> skipped;
  for (const FileChange& change : changes) {
    const bool is_ours =
        change.path == kStagingName || change.path.starts_with(std::string(kStagingName) + "/");
    if (is_ours || is_special(change.after)) {
      skipped.push_back(change.path);
    } else {
      wanted.push_back(change);
    }
  }
  // Parents come before their children in this order, whatever the sandbox said.
  std::sort(wanted.begin(), wanted.end(),
            [](const FileChange& a, const FileChange& b) { return a.path < b.path; });
  Application application(client, request, TRY(ApplyTarget::open(request.directory)));
  application.report.skipped = std::move(skipped);
  if (request.conflicts == Conflicts::Refused) {
    TRY(application.look_for_conflicts(wanted));
    if (!application.report.conflicts.empty()) return std::move(application.report);
  }
  application.report.written = wanted;
  if (request.mode == ApplyMode::Write) TRY(application.write(wanted));
  return std::move(application.report);
}

}  // namespace nutshell
