#include "server/mcp/sandbox/workspace_view.h"

#include <fmt/format.h>

#include "runtime/workspace.h"
#include "runtime/workspace_diff.h"

namespace nutshell::mcp {
namespace {

std::string path_in(const std::string& path) {
  return path.starts_with('/') ? path : fmt::format("{}{}", kWorkspacePath, path);
}

}  // namespace

wire::ReadFile reading_of(const std::string& path, std::size_t most) {
  wire::ReadFile request;
  request.path = path_in(path);
  request.length = most + 1;
  return request;
}

Result<std::string> whole_file(std::string bytes, const std::string& path, std::size_t most) {
  if (bytes.size() <= most) return bytes;
  return failure(ErrorCode::ResourceExhausted, fmt::format("'{}' is too large to give", path));
}

Result<std::vector<std::string>> names_in(wire::InitClient& client, const std::string& directory,
                                          std::size_t most) {
  wire::ListDirectory request;
  request.path = path_in(directory);
  request.most_entries = static_cast<std::uint32_t>(most);
  const auto answer = TRY(client.call<wire::Listing>(request));
  const auto* listing = std::get_if<wire::Listing>(&answer);
  if (listing == nullptr) return failure(ErrorCode::NotFound, "no such directory");
  std::vector<std::string> names;
  for (const wire::ListedEntry& entry : listing->entries) {
    const bool is_directory = entry.info.kind == wire::FileKind::Directory;
    names.push_back(entry.info.path + (is_directory ? "/" : ""));
  }
  return names;
}

Result<std::string> patch_of(wire::InitClient& client, std::size_t most) {
  const auto changes = TRY(list_workspace_changes(client));
  std::string text;
  std::size_t shown = 0;
  for (const wire::FileChange& change : changes) {
    const auto difference = difference_of(client, change, BinaryForm::Named);
    const std::string patch = difference ? difference->patch : change.path + " (too large)\n";
    if (text.size() + patch.size() > most) break;
    text += patch;
    ++shown;
  }
  if (shown < changes.size())
    text += fmt::format("({} more files are changed, not shown)\n", changes.size() - shown);
  return text;
}

}  // namespace nutshell::mcp
