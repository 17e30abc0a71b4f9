#include "runtime/workspace_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/copy_place.h"

namespace nutshell {
namespace {

using wire::FileChange;
using wire::FileInfo;
using wire::FileKind;

constexpr std::size_t kMostChanges = 1'000'000;
constexpr std::size_t kMostBytesOfNames = 256U << 20U;

Failure corrupt(std::string message) {
  return failure(ErrorCode::Corrupt, std::move(message));
}

Result<> check_info(const FileInfo& info) {
  const auto kind = static_cast<unsigned>(info.kind);
  if (kind > static_cast<unsigned>(FileKind::Other)) return corrupt("a file of an unknown kind");
  if (info.kind != FileKind::Link) return {};
  const bool is_text = !info.target.empty() && info.target.find('\0') == std::string::npos &&
                       info.target.size() < 4096;
  return is_text ? Result<>() : corrupt("the sandbox names a link that leads nowhere");
}

}  // namespace

wire::ChangeKind kind_of(const FileChange& change) {
  if (change.before.kind == kNoFile) return wire::ChangeKind::Added;
  return change.after.kind == kNoFile ? wire::ChangeKind::Removed : wire::ChangeKind::Modified;
}

bool is_at_or_below(std::string_view path, std::string_view directory) {
  return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

std::string workspace_path(std::string path) {
  if (path.starts_with(kWorkspacePath)) path.erase(0, kWorkspacePath.size());
  if (path.starts_with("./")) path.erase(0, 2);
  while (path.ends_with('/'))
    path.pop_back();
  return path;
}

Result<> check_change(const FileChange& change) {
  TRY(check_path_below(change.path));
  TRY(check_info(change.before));
  TRY(check_info(change.after));
  if (change.before.kind == kNoFile && change.after.kind == kNoFile) {
    return corrupt("the sandbox names a change of nothing");
  }
  return {};
}

AdmitChange charged_to(CallMemory& memory) {
  // An answer needs each change three times: as it came, as JSON and as text.
  constexpr std::uint64_t kChange = 3072;
  constexpr std::uint64_t kByteOfName = 6;
  return [&memory](const FileChange& change) {
    const std::uint64_t names =
        change.path.size() + change.before.target.size() + change.after.target.size();
    return memory.take(kChange + names * kByteOfName);
  };
}

Result<std::vector<FileChange>> list_workspace_changes(wire::InitClient& client,
                                                       const AdmitChange& admit) {
  std::vector<FileChange> changes;
  std::size_t name_bytes = 0;
  TRY(client.list_changes([&](const FileChange& change) -> Result<> {
    TRY(check_change(change));
    name_bytes += change.path.size() + change.before.target.size() + change.after.target.size();
    if (changes.size() >= kMostChanges || name_bytes > kMostBytesOfNames) {
      return failure(ErrorCode::ResourceExhausted,
                     fmt::format("the sandbox changed more than {} files", kMostChanges));
    }
    if (admit) TRY(admit(change));
    changes.push_back(change);
    return {};
  }));
  std::set<std::string_view> seen;
  for (const FileChange& change : changes) {
    if (!seen.insert(change.path).second) return corrupt("the sandbox names a change twice");
  }
  return changes;
}

Result<std::vector<FileChange>> select_changes(std::vector<FileChange> changes,
                                               const std::vector<std::string>& paths) {
  if (paths.empty()) return changes;
  std::vector<bool> is_selected(changes.size());
  for (const std::string& given : paths) {
    const std::string path = workspace_path(given);
    bool is_found = false;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (!is_at_or_below(changes[i].path, path)) continue;
      is_found = is_selected[i] = true;
    }
    if (!is_found) {
      return failure(
          ErrorCode::NotFound,
          fmt::format("nothing changed at '{}': 'nutshell diff --stat' lists what did", given));
    }
  }
  std::vector<FileChange> selected;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (is_selected[i]) selected.push_back(std::move(changes[i]));
  }
  return selected;
}

Result<std::string> read_changed_file(wire::InitClient& client, const FileInfo& info,
                                      const std::string& path, wire::FileState state) {
  if (info.size > kMostShownBytes) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("{} is larger than {} MiB: copy it out with 'nutshell cp'", path,
                               kMostShownBytes >> 20U));
  }
  std::string bytes;
  TRY(client.read_file({std::string(kWorkspacePath) + path, 0, info.size, 0, state},
                       [&](std::string_view part) -> Result<> {
                         bytes += part;
                         return {};
                       }));
  return bytes;
}

}  // namespace nutshell
