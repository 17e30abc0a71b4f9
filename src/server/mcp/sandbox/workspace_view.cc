#include "server/mcp/sandbox/workspace_view.h"

#include <fmt/format.h>

#include "base/defer.h"
#include "runtime/workspace.h"
#include "runtime/workspace_diff.h"

namespace nutshell::mcp {
namespace {

std::string path_in(const std::string& path) {
  return path.starts_with('/') ? path : fmt::format("{}{}", kWorkspacePath, path);
}

// Escapes a name from the sandbox, so that it ends neither its line nor its quotes.
std::string in_quotes(std::string_view path) {
  std::string text = "\"";
  for (const char c : path) {
    const auto code = static_cast<unsigned char>(c);
    const bool is_plain = code >= 0x20 && code != 0x7f && c != '"' && c != '\\';
    text += is_plain ? std::string(1, c) : fmt::format("\\x{:02x}", code);
  }
  return text + "\"";
}

// Bounds a list, so that a sandbox cannot fill the whole review with it.
constexpr std::size_t kMostNoted = 100;
std::string listed(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size() && i < kMostNoted; ++i)
    text += "- " + lines[i] + "\n";
  if (lines.size() > kMostNoted) text += fmt::format("- and {} more\n", lines.size() - kMostNoted);
  return text;
}

// Lists what a patch shows badly: files that the host would run by itself, and new modes.
std::string notes_on(const std::vector<wire::FileChange>& changes,
                     const std::vector<JudgedChange>& held) {
  std::vector<std::string> held_lines;
  for (const HeldSummary& one : summarise(held)) {
    const bool is_git = one.verdict->trust == HostTrust::GitRuns;
    held_lines.push_back(fmt::format(
        "{}{}: {}; {}", in_quotes(one.path),
        one.below == 0 ? "" : fmt::format(" and {} below", one.below), sentence_of(*one.verdict),
        is_git ? "taken with --unsafe-git alone"
               : fmt::format("taken with --path {} alone", in_quotes(one.verdict->root))));
  }
  std::vector<std::string> executable;
  for (const wire::FileChange& change : changes) {
    if (is_newly_executable(change)) executable.push_back(in_quotes(change.path));
  }
  std::string text;
  if (!held_lines.empty()) {
    text +=
        "'nutshell apply' holds these files back, because git or another tool on the user's "
        "machine would run or trust them without being asked. Say what each would do there:\n" +
        listed(held_lines) + "\n";
  }
  if (!executable.empty())
    text += "These files can be run now, and could not before:\n" + listed(executable) + "\n";
  return text;
}

// Compares both sides of a change, if they are small enough for a model.
Result<std::string> patch_of_change(wire::InitClient& client, const wire::FileChange& change,
                                    CallMemory& memory) {
  constexpr std::uint64_t kMost = 1U << 20U;
  if (change.before.size > kMost || change.after.size > kMost)
    return in_quotes(change.path) + " (too large)\n";
  // Each byte may be a line.
  const std::uint64_t needed =
      (change.before.size + change.after.size) * (CallMemory::kForAByte + CallMemory::kForALine);
  TRY(memory.take(needed));
  const Defer given_back([&] { memory.give_back(needed); });
  const auto difference = difference_of(client, change, BinaryForm::Named);
  return difference ? difference->patch : in_quotes(change.path) + " (too large)\n";
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
  return failure(ErrorCode::TooLarge, fmt::format("'{}' has more than {} bytes", path, most));
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

Result<std::string> patch_of(wire::InitClient& client, std::size_t most, CallMemory& memory) {
  const auto changes = TRY(list_workspace_changes(client, charged_to(memory)));
  std::string text = notes_on(changes, TRY(judge_workspace(client, changes)).held);
  std::size_t shown = 0;
  for (const wire::FileChange& change : changes) {
    const std::string patch = TRY(patch_of_change(client, change, memory));
    if (text.size() + patch.size() > most) break;
    text += patch;
    ++shown;
  }
  if (shown < changes.size())
    text += fmt::format("({} more files are changed, not shown)\n", changes.size() - shown);
  return text;
}

}  // namespace nutshell::mcp
