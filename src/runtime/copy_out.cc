#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <set>

#include "base/beneath.h"
#include "base/defer.h"
#include "base/file.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "runtime/copy.h"
#include "runtime/copy_place.h"
#include "runtime/folded_name.h"
#include "runtime/git_configuration.h"
#include "runtime/workspace_changes.h"

namespace nutshell {
namespace {

using wire::FileInfo;
using wire::FileKind;

constexpr std::size_t kMostEntries = 1'000'000;
constexpr std::size_t kMostBytesOfNames = 256U << 20U;

Failure corrupt(std::string message) {
  return failure(ErrorCode::Corrupt, std::move(message));
}

Result<> check_entry(const FileInfo& entry) {
  TRY(check_path_below(entry.path));
  if (entry.kind != FileKind::Link) return {};
  const bool is_text = !entry.target.empty() && entry.target.find('\0') == std::string::npos;
  return is_text ? Result<>() : corrupt("the sandbox names a link that leads nowhere");
}

// Lists the whole tree before a file is read, because a client holds one conversation at a time.
Result<std::vector<FileInfo>> list_tree(wire::InitClient& client, const std::string& source) {
  std::vector<FileInfo> entries;
  std::size_t name_bytes = 0;
  TRY(client.walk(source, [&](const FileInfo& entry) -> Result<> {
    TRY(check_entry(entry));
    name_bytes += entry.path.size() + entry.target.size();
    if (entries.size() >= kMostEntries || name_bytes > kMostBytesOfNames) {
      return failure(
          ErrorCode::ResourceExhausted,
          fmt::format("{} holds more than {} entries, or too long names", source, kMostEntries));
    }
    entries.push_back(entry);
    return {};
  }));
  return entries;
}

// An upper bound of the disk space of an entry: its content and a block of its own, which also
// covers its name in the directory.
std::uint64_t disk_bytes_of(std::uint64_t size) {
  constexpr std::uint64_t kBlock = 4096;
  return kBlock + (size + kBlock - 1) / kBlock * kBlock;
}

// Refuses before a byte is written what cannot fit. Sizes come from the sandbox, but no more bytes
// than the size are read, so this bounds the whole copy, of sparse files too.
Result<> check_space(int directory, const std::vector<FileInfo>& entries,
                     std::uint64_t most_bytes) {
  struct statvfs system {};
  if (::fstatvfs(directory, &system) != 0) return syscall_failure("ask for free space");
  const std::uint64_t free_bytes =
      std::min(std::uint64_t{system.f_bavail} * system.f_frsize, most_bytes);
  std::uint64_t wanted = 0;
  for (const FileInfo& entry : entries) {
    const std::uint64_t size = entry.kind == FileKind::Regular ? entry.size : 0;
    if (size > free_bytes || (wanted += disk_bytes_of(size)) > free_bytes) {
      return failure(
          ErrorCode::ResourceExhausted,
          fmt::format("there is no room for more than {} bytes at the target", free_bytes));
    }
  }
  return {};
}

// Renames a new entry to its place. Replaces a file or a link, but no directory.
Result<> take_name(int directory, const std::string& temporary, const std::string& name) {
  if (::renameat(directory, temporary.c_str(), directory, name.c_str()) == 0) return {};
  return syscall_failure("replace", name);
}

std::string temporary_name() {
  return ".nutshell-" + random_id(12);
}

struct Receipt {
  std::string name;
  std::string digest = {};  // SHA-256 of the content that was judged; empty: any content
};

Result<std::uint64_t> receive_file(wire::InitClient& client, const FileInfo& file, int directory,
                                   const Receipt& receipt) {
  const std::string& name = receipt.name;
  const std::string temporary = temporary_name();
  const UniqueFd out =
      TRY(open_at(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  Defer removed([&] { ::unlinkat(directory, temporary.c_str(), 0); });
  std::uint64_t bytes = 0;
  std::string judged;
  TRY(client.read_file({file.path, 0, file.size, 0}, [&](std::string_view data) {
    bytes += data.size();
    if (!receipt.digest.empty()) judged += data;
    return write_all(out.get(), data);
  }));
  if (!receipt.digest.empty() && sha256_hex(judged) != receipt.digest)
    return failure(ErrorCode::Cancelled, "it changed while it was read: try again");
  if (::fchmod(out.get(), file.mode & 0777U) != 0) return syscall_failure("chmod", name);
  TRY(take_name(directory, temporary, name));
  removed.release();
  return bytes;
}

Result<> place_link(const std::string& target, int directory, const std::string& name) {
  const std::string temporary = temporary_name();
  if (::symlinkat(target.c_str(), directory, temporary.c_str()) != 0) {
    return syscall_failure("link", name);
  }
  Defer removed([&] { ::unlinkat(directory, temporary.c_str(), 0); });
  TRY(take_name(directory, temporary, name));
  removed.release();
  return {};
}

// Returns false if the directory existed. Replaces a link, wherever it leads.
Result<bool> make_directory(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0700) == 0) return true;
  if (errno != EEXIST) return syscall_failure("make", name);
  struct stat status {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return syscall_failure("stat", name);
  }
  if (S_ISDIR(status.st_mode)) return false;
  if (!S_ISLNK(status.st_mode)) {
    return failure(ErrorCode::AlreadyExists, fmt::format("{} is there and is no directory", name));
  }
  if (::unlinkat(parent, name.c_str(), 0) != 0 || ::mkdirat(parent, name.c_str(), 0700) != 0) {
    return syscall_failure("replace", name);
  }
  return true;
}

// Writes the entries of a tree below one directory, and nowhere else.
class TreeReceiver {
 public:
  TreeReceiver(wire::InitClient& client, std::string source, UniqueFd root)
      : client_(client), source_(std::move(source)), root_(std::move(root)) {}

  Result<> receive(const std::vector<JudgedChange>& entries);
  Result<> set_mode(const std::string& path, unsigned mode) const;
  [[nodiscard]] CopyReport report() && { return std::move(report_); }

 private:
  Result<> receive_entry(const FileInfo& entry, const std::string& digest);
  Result<> open_parent(std::string path);

  wire::InitClient& client_;
  std::string source_;
  UniqueFd root_;
  UniqueFd parent_;  // parent of the last entry; the next entry often has the same
  std::string parent_path_;
  std::vector<const FileInfo*> made_;
  CopyReport report_;
};

Result<> TreeReceiver::receive(const std::vector<JudgedChange>& entries) {
  for (const auto& [change, verdict] : entries) {
    const FileInfo& entry = change.after;
    auto received = receive_entry(entry, verdict.digest);
    if (!received) return while_doing("copy " + entry.path, std::move(received).error());
  }
  // Sets modes at the end, children first: a directory may forbid writing.
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
    TRY(set_mode((*made)->path, (*made)->mode));
  }
  return {};
}

Result<> TreeReceiver::open_parent(std::string path) {
  if (parent_ && path == parent_path_) return {};
  parent_ = TRY(
      open_beneath(root_.get(), path.empty() ? "." : path, O_PATH | O_DIRECTORY, 0, Links::Refuse));
  parent_path_ = std::move(path);
  return {};
}

Result<> TreeReceiver::receive_entry(const FileInfo& entry, const std::string& digest) {
  const std::size_t slash = entry.path.rfind('/');
  const std::string name = entry.path.substr(slash + 1);  // npos + 1 is 0
  TRY(open_parent(slash == std::string::npos ? "" : entry.path.substr(0, slash)));
  switch (entry.kind) {
    case FileKind::Directory:
      ++report_.directories;
      if (TRY(make_directory(parent_.get(), name))) made_.push_back(&entry);
      return {};
    case FileKind::Link:
      ++report_.files;
      return place_link(entry.target, parent_.get(), name);
    case FileKind::Regular: {
      FileInfo file = entry;
      file.path = source_ + "/" + entry.path;
      report_.bytes += TRY(receive_file(client_, file, parent_.get(), {name, digest}));
      ++report_.files;
      return {};
    }
    case FileKind::Other:
      break;
  }
  report_.skipped.push_back(entry.path);  // also an unknown kind
  return {};
}

Result<> TreeReceiver::set_mode(const std::string& path, unsigned mode) const {
  const UniqueFd directory =
      TRY(open_beneath(root_.get(), path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, Links::Refuse));
  if (::fchmod(directory.get(), mode & 0777U) != 0) return syscall_failure("chmod", path);
  return {};
}

struct Destination {
  UniqueFd directory;
  std::string name;            // empty: the directory itself
  std::filesystem::path path;  // path of the new entry
};

// Follows links in the target's path, because the user named the target.
Result<Destination> open_destination(const std::filesystem::path& target, FileKind kind,
                                     const std::string& name) {
  struct stat status {};
  TargetKind target_kind = TargetKind::Nothing;
  if (::stat(target.c_str(), &status) == 0) {
    target_kind = S_ISDIR(status.st_mode) ? TargetKind::Directory : TargetKind::Other;
  }
  if (TRY(choose_place(kind, target_kind, target.native())) == Place::Inside) {
    return Destination{TRY(open_file(target, O_PATH | O_DIRECTORY)), name, target / name};
  }
  auto [parent, last] = TRY(split_target(target.native()));
  auto directory = open_file(parent, O_PATH | O_DIRECTORY);
  if (directory) return Destination{std::move(*directory), std::move(last), target};
  if (directory.error().code == ErrorCode::NotFound) return no_parent(parent, target.native());
  return Failure(std::move(directory).error());
}

// Sorts the entries of a tree by what programs of the host would do with them at the target.
class TreeJudge {
 public:
  TreeJudge(wire::InitClient& client, std::string source, int root)
      : client_(client), source_(std::move(source)), root_(root) {}

  Result<SortedChanges> sort_out(const std::vector<FileInfo>& entries, const Destination& place,
                                 Taking taking) {
    std::vector<wire::FileChange> changes;
    for (const FileInfo& entry : entries) {
      coming_.insert(entry.path);
      changes.push_back({entry.path, wire::ChangeKind::Added, nothing(), entry});
    }
    SortedChanges sorted;
    if (taking == Taking::All) {
      for (wire::FileChange& change : changes)
        sorted.wanted.push_back({std::move(change), {}});
      return sorted;
    }
    HoldOptions options;
    if (taking == Taking::UnsafeGit) options.git = UnsafeGit::Taken;
    TrustSources sources = sources_for();
    sources.prefix = git_prefix_of(place.path);
    if (sources.prefix.empty())
      sources.prefix = options.named_root = last_name(place.path.native());
    if (const auto configuration = TRY(host_text(".git/config")))
      sources.run_by_git = work_tree_paths_in(*configuration, canonical(place.path));
    TrustJudge judge(std::move(sources));
    return sort_out_changes(changes, judge, options);
  }

 private:
  static std::string canonical(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::weakly_canonical(path, error).native();
  }
  static FileInfo nothing() {
    FileInfo info;
    info.kind = kNoFile;
    return info;
  }
  [[nodiscard]] Result<std::optional<std::string>> host_text(const std::string& path) const {
    const auto file =
        open_beneath(root_, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, Links::Refuse);
    struct stat status {};
    const bool is_file = file && ::fstat(file->get(), &status) == 0 && S_ISREG(status.st_mode);
    if (!is_file) return std::optional<std::string>();
    return std::optional(TRY(read_all(file->get(), kMostJudgedBytes)));
  }
  [[nodiscard]] TrustSources sources_for() const {
    TrustSources sources;
    sources.exists = [this](const std::string& path) -> Result<bool> {
      return coming_.contains(path) ||
             open_beneath(root_, path, O_PATH | O_NOFOLLOW, 0, Links::Refuse);
    };
    sources.before = [this](const wire::FileChange& change) { return host_text(change.path); };
    sources.after = [this](const wire::FileChange& change) -> Result<std::optional<std::string>> {
      std::string text;
      TRY(client_.read_file({source_ + "/" + change.path, 0, change.after.size, 0},
                            [&](std::string_view part) -> Result<> {
                              text += part;
                              return {};
                            }));
      return std::optional(text);
    };
    sources.has_sha1_index = [this](const std::string& index) -> Result<bool> {
      const auto configuration = TRY(host_text(configuration_beside(index)));
      return !configuration || !names_sha256(*configuration);
    };
    return sources;
  }

  wire::InitClient& client_;
  std::string source_;
  int root_;
  std::set<std::string> coming_;
};

Result<CopyReport> copy_tree_out(wire::InitClient& client, const FileInfo& source,
                                 const Destination& destination, const CopyOutOptions& options) {
  const std::vector<FileInfo> entries = TRY(list_tree(client, source.path));
  const int parent = destination.directory.get();
  const std::string& name = destination.name;
  const bool is_new = !name.empty() && TRY(make_directory(parent, name));
  UniqueFd root =
      TRY(open_beneath(parent, name.empty() ? "." : name, O_PATH | O_DIRECTORY, 0, Links::Refuse));
  TRY(check_space(root.get(), entries, options.most_bytes));
  TreeJudge judge(client, source.path, root.get());
  SortedChanges sorted = TRY(judge.sort_out(entries, destination, options.taking));
  TreeReceiver receiver(client, source.path, std::move(root));
  TRY(receiver.receive(sorted.wanted));
  if (is_new) TRY(receiver.set_mode(".", source.mode));
  CopyReport report = std::move(receiver).report();
  report.held = std::move(sorted.held);
  return report;
}

// Refuses a single file if git could run something because of it.
Result<> check_single_file(const FileInfo& file, const Destination& destination, Taking taking) {
  const std::string prefix = git_prefix_of(destination.path.parent_path());
  const bool is_git = !prefix.empty() || is_git_name(fold_name(destination.name));
  if (!is_git || taking != Taking::Harmless) return {};
  wire::FileChange change{destination.name, wire::ChangeKind::Added, {}, file};
  change.before.kind = kNoFile;
  const auto names =
      split_path(prefix.empty() ? destination.name : prefix + "/" + destination.name);
  const GitEntry entry = judge_git_entry({names.begin() + 1, names.end()}, EntryKind::File);
  const bool is_data = entry.part == GitPart::Object || entry.part == GitPart::Record;
  if (is_data && !is_newly_executable(change)) return {};
  return failure(ErrorCode::PermissionDenied,
                 fmt::format("{} is in a git directory, and git could run something because of it: "
                             "--unsafe-git copies it",
                             destination.path.native()));
}

// Follows links, inside the sandbox.
Result<FileInfo> find_source(wire::InitClient& client, const std::string& source) {
  FileInfo info = TRY(client.stat_target(source));
  info.path = source;
  if (info.kind == FileKind::Regular || info.kind == FileKind::Directory) return info;
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("{} is neither a file nor a directory", source));
}

}  // namespace

Result<CopyReport> copy_out(wire::InitClient& client, const std::string& source,
                            const std::filesystem::path& target, const CopyOutOptions& options) {
  const FileInfo info = TRY(find_source(client, source));
  const std::string name = last_name(source);
  const bool is_tree = info.kind == FileKind::Directory;
  if (!is_tree && name.empty()) {
    return failure(ErrorCode::InvalidArgument, fmt::format("'{}' names no file", source));
  }
  const Destination destination = TRY(open_destination(target, info.kind, name));
  if (is_tree) return copy_tree_out(client, info, destination, options);
  TRY(check_single_file(info, destination, options.taking));
  const int directory = destination.directory.get();
  TRY(check_space(directory, {info}, options.most_bytes));
  CopyReport report;
  report.bytes = TRY(receive_file(client, info, directory, {destination.name}));
  report.files = 1;
  return report;
}

Result<> copy_stream_out(wire::InitClient& client, const std::string& source, int fd) {
  const FileInfo info = TRY(find_source(client, source));
  if (info.kind == FileKind::Directory) {
    return failure(ErrorCode::InvalidArgument, fmt::format("{} is a directory", source));
  }
  return client.read_file({source, 0, info.size, 0},
                          [fd](std::string_view data) { return write_all(fd, data); });
}

}  // namespace nutshell
