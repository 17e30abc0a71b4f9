#include "runtime/workspace_apply.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/beneath.h"
#include "base/fault_point.h"
#include "base/file.h"
#include "base/sha256.h"
#include "runtime/apply_target.h"
#include "runtime/git_configuration.h"
#include "runtime/git_index.h"
#include "runtime/git_repository.h"
#include "runtime/ignored_changes.h"

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

enum class Removals { BeforeWriting, AfterWriting };

// The key under which AppliedTimes keeps a digest of what an applied index has staged. No path can
// contain "//".
std::string staged_key(const std::string& path) {
  return path + "//staged";
}

std::int64_t staged_number(std::string_view index) {
  constexpr std::size_t kDigits = 15;  // in hexadecimal; few enough for a positive number
  const std::string digest = digest_of_staged(index).substr(0, kDigits);
  std::int64_t number = 0;
  std::from_chars(digest.data(), digest.data() + digest.size(), number, 16);
  return number;
}

class Application {
 public:
  Application(wire::InitClient& client, const ApplyRequest& request, ApplyTarget target)
      : client_(client), request_(request), target_(std::move(target)) {}

  // The result refers to this object and to `changes`.
  Result<TrustSources> sources_for(const std::vector<FileChange>& changes);
  // Removes changes from the list that git ignores. `all` are those of the whole workspace.
  Result<> leave_out_ignored(const std::vector<FileChange>& all, std::vector<JudgedChange>& wanted);
  Result<> look_for_conflicts(const std::vector<JudgedChange>& changes);
  Result<> write(const std::vector<JudgedChange>& sorted);
  ApplyReport report;

 private:
  [[nodiscard]] Result<std::vector<std::string>> run_by_git() const;
  Result<IgnoredChanges> ignored_among(const std::vector<FileChange>& all);
  [[nodiscard]] bool is_named(const std::string& ignored) const;
  Result<std::string> conflict_of(const JudgedChange& one) const;
  Result<bool> is_refreshed_index(const JudgedChange& one) const;
  [[nodiscard]] bool is_changed_since(const std::string& path, const struct stat& status) const;
  Result<bool> is_written(const FileChange& change, const struct stat& status) const;
  Result<bool> has_same_bytes(const FileChange& change) const;
  [[nodiscard]] Result<std::optional<std::string>> host_text(const std::string& path) const;
  Result<> remove_all(const std::vector<JudgedChange>& changes, Removals removals);
  Result<> write_one(const JudgedChange& one);
  Result<> write_file(const FileChange& change, const std::string& digest);
  Result<> write_directory(const FileChange& change);
  Result<> set_directory_modes(const std::vector<JudgedChange>& changes);
  Result<> note(const std::string& path, GitPart part);

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

Result<std::optional<std::string>> Application::host_text(const std::string& path) const {
  const auto found = TRY(target_.look(path));
  if (!found || !S_ISREG(found->st_mode)) return std::optional<std::string>();
  const auto place = TRY(target_.place_of(path));
  const UniqueFd file = TRY(open_beneath(place.parent.get(), place.name,
                                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, Links::Refuse));
  return std::optional(TRY(read_all(file.get(), kMostJudgedBytes)));
}

// A path exists if it is on the host or comes from the sandbox: together they could form a git
// directory.
Result<TrustSources> Application::sources_for(const std::vector<FileChange>& changes) {
  std::map<std::string, bool> coming;
  for (const FileChange& change : changes)
    coming.emplace(change.path, change.after.kind != kNoFile);
  TrustSources sources;
  sources.exists = [this, coming = std::move(coming)](const std::string& path) -> Result<bool> {
    const auto found = coming.find(path);
    if (found != coming.end() && found->second) return true;
    return TRY(target_.look(path)).has_value();
  };
  sources.before = [this](const FileChange& change) { return host_text(change.path); };
  sources.after = sandbox_reader(client_, wire::FileState::Now);
  sources.has_sha1_index = [this](const std::string& index) -> Result<bool> {
    const auto configuration = TRY(host_text(configuration_beside(index)));
    return !configuration || !names_sha256(*configuration);
  };
  sources.prefix = git_prefix_of(request_.directory);
  sources.run_by_git = TRY(run_by_git());
  return sources;
}

Result<IgnoredChanges> Application::ignored_among(const std::vector<FileChange>& all) {
  std::map<std::string, const FileChange*> changed;
  for (const FileChange& change : all)
    changed.emplace(change.path, &change);
  IgnoredChanges::Sources sources;
  sources.exists = [this, changed](const std::string& path) -> Result<bool> {
    const auto found = changed.find(path);
    if (found != changed.end()) return found->second->after.kind != kNoFile;
    return TRY(target_.look(path)).has_value();
  };
  sources.text_of = [this, changed, after = sandbox_reader(client_, wire::FileState::Now)](
                        const std::string& path) -> Result<std::optional<std::string>> {
    const auto found = changed.find(path);
    if (found == changed.end()) return host_text(path);
    if (found->second->after.size > kMostShownBytes) return std::optional<std::string>();
    return after(*found->second);
  };
  if (const auto index = read_file(index_of(request_.directory), kMostJudgedBytes))
    sources.tracked = paths_in_index(*index);
  return IgnoredChanges::read(std::move(sources), request_.directory);
}

// Whether the user named what is ignored, or something in it.
bool Application::is_named(const std::string& ignored) const {
  const std::string path = ignored.ends_with('/') ? ignored.substr(0, ignored.size() - 1) : ignored;
  return std::any_of(request_.hold.named.begin(), request_.hold.named.end(),
                     [&path](const auto& named) { return is_at_or_below(named, path); });
}

Result<> Application::leave_out_ignored(const std::vector<FileChange>& all,
                                        std::vector<JudgedChange>& wanted) {
  if (request_.ignored == Ignored::Taken || wanted.empty()) return {};
  IgnoredChanges ignored = TRY(ignored_among(all));
  std::vector<JudgedChange> kept;
  for (JudgedChange& one : wanted) {
    const bool is_plain = one.verdict.trust == HostTrust::Plain;
    const std::string by = is_plain ? TRY(ignored.ignored_by(one.change)) : std::string();
    if (by.empty() || is_named(by)) {
      kept.push_back(std::move(one));
    } else {
      ++report.ignored[by];
    }
  }
  wanted = std::move(kept);
  return {};
}

Result<std::vector<std::string>> Application::run_by_git() const {
  const auto configuration = TRY(host_text(".git/config"));
  if (!configuration) return std::vector<std::string>();
  std::error_code error;
  const auto top = std::filesystem::canonical(request_.directory, error);
  if (error) return failure(ErrorCode::Internal, "find " + request_.directory.native());
  return work_tree_paths_in(*configuration, top.native());
}

// Whether the host already has the file as the sandbox has it.
Result<bool> Application::is_written(const FileChange& change, const struct stat& status) const {
  const FileInfo& after = change.after;
  if (kind_of(status) != after.kind) return false;
  if (after.kind == FileKind::Link) return TRY(target_.link_target(change.path)) == after.target;
  if ((status.st_mode & 0777U) != (after.mode & 0777U)) return false;
  if (after.kind != FileKind::Regular) return true;
  if (static_cast<std::uint64_t>(status.st_size) != after.size) return false;
  return has_same_bytes(change);
}

// Returns why the change conflicts with the host; empty if it does not.
Result<std::string> Application::conflict_of(const JudgedChange& one) const {
  const FileChange& change = one.change;
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
    if (TRY(is_refreshed_index(one))) return std::string();
    return fmt::format("{}: made here too", change.path);
  }
  if (before.kind == FileKind::Directory && kind_of(*found) == FileKind::Directory)
    return std::string();  // a directory's time changes with every file in it
  if (!is_changed_since(change.path, *found)) return std::string();
  if (change.after.kind != kNoFile && TRY(is_written(change, *found))) return std::string();
  if (TRY(is_refreshed_index(one))) return std::string();
  return fmt::format("{}: changed here since", change.path);
}

Result<> Application::look_for_conflicts(const std::vector<JudgedChange>& changes) {
  for (const JudgedChange& one : changes) {
    std::string conflict = TRY(conflict_of(one));
    if (!conflict.empty()) report.conflicts.push_back(std::move(conflict));
  }
  return {};
}

// Whether this is the index that an earlier apply wrote, in which git has only updated times since.
Result<bool> Application::is_refreshed_index(const JudgedChange& one) const {
  if (one.verdict.part != GitPart::Index) return false;
  const auto ours = request_.applied.find(staged_key(one.change.path));
  if (ours == request_.applied.end() || ours->second == 0) return false;  // 0: not understood
  const auto text = TRY(host_text(one.change.path));
  return text && staged_number(*text) == ours->second;
}

Result<> Application::note(const std::string& path, GitPart part) {
  const auto status = TRY(target_.look(path));
  if (status) report.applied[path] = change_time(*status);
  if (part != GitPart::Index) return {};
  const auto text = TRY(host_text(path));
  if (text) report.applied[staged_key(path)] = staged_number(*text);
  return {};
}

// Fails if a judged file has another content now.
Result<> Application::write_file(const FileChange& change, const std::string& digest) {
  const UniqueFd file = TRY(target_.new_file());
  std::uint64_t received = 0;
  std::string judged;
  TRY(client_.read_file(
      {std::string(kWorkspacePath) + change.path, 0, change.after.size, 0, wire::FileState::Now},
      [&](std::string_view bytes) {
        received += bytes.size();
        if (!digest.empty()) judged += bytes;
        return write_all(file.get(), bytes);
      }));
  const bool is_as_judged = digest.empty() || sha256_hex(judged) == digest;
  if (received != change.after.size || !is_as_judged) {
    return failure(ErrorCode::Cancelled, "it changed while it was read: try again");
  }
  // Drops the set-id bits: no file from a sandbox may run as another user.
  if (::fchmod(file.get(), change.after.mode & 0777U) != 0) return syscall_failure("chmod");
  return target_.put(change.path);
}

Result<> Application::write_directory(const FileChange& change) {
  const auto found = TRY(target_.look(change.path));
  if (found && S_ISDIR(found->st_mode)) return {};  // its mode is set at the end
  TRY(target_.new_directory());
  return target_.put(change.path);
}

Result<> Application::write_one(const JudgedChange& one) {
  const FileChange& change = one.change;
  const auto found = TRY(target_.look(change.path));
  switch (change.after.kind) {
    case FileKind::Regular:
      if (found && TRY(is_written(change, *found))) return {};
      TRY(write_file(change, one.verdict.digest));
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
  return note(change.path, one.verdict.part);
}

// Sets modes at the end, children first: a directory may forbid writing.
Result<> Application::set_directory_modes(const std::vector<JudgedChange>& changes) {
  for (auto one = changes.rbegin(); one != changes.rend(); ++one) {
    const FileChange* change = &one->change;
    if (change->after.kind != FileKind::Directory) continue;
    const auto place = TRY(target_.place_of(change->path));
    const UniqueFd directory = TRY(open_beneath(
        place.parent.get(), place.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, Links::Refuse));
    if (::fchmod(directory.get(), change->after.mode & 0777U) != 0)
      return syscall_failure("chmod", change->path);
  }
  return {};
}

// Whether a removal waits until everything else is written. In a git directory it does: new
// references are written before old ones go, and objects go last. It cannot wait if its directory
// becomes a file.
bool waits(const JudgedChange& one, const std::set<std::string>& replaced_directories) {
  if (one.verdict.trust != HostTrust::GitData) return false;
  const std::string& path = one.change.path;
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    if (replaced_directories.contains(path.substr(0, slash))) return false;
  }
  return true;
}

// Writes objects before references to them, and HEAD last, because HEAD makes a directory a
// repository.
int write_rank(const JudgedChange& one) {
  if (one.verdict.trust == HostTrust::GitRuns) return 1;
  if (one.verdict.trust != HostTrust::GitData) return 0;
  const std::string& path = one.change.path;
  switch (one.verdict.part) {
    case GitPart::Directory:
    case GitPart::Object:
      return 1;
    case GitPart::Reference:
      return path == "HEAD" || path.ends_with("/HEAD") ? 4 : 2;
    default:
      return 3;
  }
}

// Parents before children, and git's data in the order that keeps a repository consistent.
std::vector<JudgedChange> in_write_order(std::vector<JudgedChange> changes) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return write_rank(a) < write_rank(b); });
  return changes;
}

// Removes children before parents, by going through each group backwards.
Result<> Application::remove_all(const std::vector<JudgedChange>& changes, Removals removals) {
  std::set<std::string> replaced;
  for (const auto& [change, verdict] : changes) {
    if (change.before.kind == FileKind::Directory && change.after.kind != FileKind::Directory &&
        change.after.kind != kNoFile)
      replaced.insert(change.path);
  }
  for (auto one = changes.rbegin(); one != changes.rend(); ++one) {
    const Removals when = waits(*one, replaced) ? Removals::AfterWriting : Removals::BeforeWriting;
    if (one->change.after.kind != kNoFile || when != removals) continue;
    auto removed = target_.remove(one->change.path);
    if (!removed) return while_doing("apply " + one->change.path, std::move(removed).error());
  }
  return {};
}

Result<> Application::write(const std::vector<JudgedChange>& sorted) {
  TRY(target_.stage());
  const std::vector<JudgedChange> changes = in_write_order(sorted);
  TRY(remove_all(sorted, Removals::BeforeWriting));
  for (const JudgedChange& one : changes) {
    auto written = write_one(one);
    if (!written) return while_doing("apply " + one.change.path, std::move(written).error());
    fault_point("apply.written");
  }
  TRY(remove_all(sorted, Removals::AfterWriting));
  return set_directory_modes(sorted);
}

bool is_ours(const std::string& path) {
  return is_at_or_below(path, kStagingName);
}

}  // namespace

Result<ApplyReport> apply_changes(wire::InitClient& client, const std::vector<FileChange>& changes,
                                  const ApplyRequest& request) {
  Application application(client, request, TRY(ApplyTarget::open(request.directory)));
  TrustJudge judge(TRY(application.sources_for(changes)));
  SortedChanges sorted = TRY(sort_out_changes(changes, judge, request.hold));
  std::vector<JudgedChange> wanted;
  // After judging, which needs the whole workspace in view.
  const auto is_excluded = [&request](const JudgedChange& one) {
    return std::any_of(request.excluded.begin(), request.excluded.end(),
                       [&one](const auto& path) { return is_at_or_below(one.change.path, path); });
  };
  std::erase_if(sorted.wanted, is_excluded);
  std::erase_if(sorted.held, is_excluded);
  for (JudgedChange& one : sorted.wanted) {
    if (is_ours(one.change.path) || one.change.after.kind == FileKind::Other) {
      application.report.skipped.push_back(one.change.path);
    } else {
      wanted.push_back(std::move(one));
    }
  }
  application.report.held = std::move(sorted.held);
  TRY(application.leave_out_ignored(changes, wanted));
  if (request.conflicts == Conflicts::Refused) {
    TRY(application.look_for_conflicts(wanted));
    if (!application.report.conflicts.empty()) return std::move(application.report);
  }
  for (const JudgedChange& one : wanted)
    application.report.written.push_back(one.change);
  if (request.mode == ApplyMode::Write) TRY(application.write(wanted));
  return std::move(application.report);
}

}  // namespace nutshell
