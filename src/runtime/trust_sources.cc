// The sources that tell a judge about the surroundings of a path.
#include <fmt/format.h>

#include <filesystem>

#include "runtime/host_trust.h"
#include "runtime/workspace_changes.h"

namespace nutshell {
namespace {

using wire::FileChange;
using wire::FileInfo;
using wire::FileKind;

// Listings do not read larger files; `apply` and `cp` do.
constexpr std::uint64_t kMostListedBytes = 1U << 20U;

// Answers yes when in doubt, which is the careful answer.
Result<bool> is_in_sandbox(wire::InitClient& client, const std::string& path) {
  const auto found = client.stat(path);
  return found || found.error().code != ErrorCode::NotFound;
}

Result<std::string> text_of(wire::InitClient& client, const std::string& path, std::uint64_t size) {
  std::string text;
  TRY(client.read_file({path, 0, size, 0}, [&](std::string_view part) -> Result<> {
    text += part;
    return {};
  }));
  return text;
}

Result<bool> has_sha1_names(wire::InitClient& client, const std::string& configuration) {
  const auto text = text_of(client, configuration, kMostJudgedBytes);
  if (!text && text.error().code == ErrorCode::NotFound) return true;
  return text && !names_sha256(*text);
}

}  // namespace

TrustSources::Reader sandbox_reader(wire::InitClient& client, wire::FileState state) {
  return [&client, state](const FileChange& change) -> Result<std::optional<std::string>> {
    const FileInfo& info = state == wire::FileState::Base ? change.before : change.after;
    if (info.kind != FileKind::Regular) return std::optional<std::string>();
    return std::optional(TRY(read_changed_file(client, info, change.path, state)));
  };
}

TrustSources sandbox_sources(wire::InitClient& client) {
  const std::string top(kWorkspacePath);
  TrustSources sources;
  sources.exists = [&client, top](const std::string& path) {
    return is_in_sandbox(client, top + path);
  };
  sources.before = sandbox_reader(client, wire::FileState::Base);
  sources.after = sandbox_reader(client, wire::FileState::Now);
  sources.has_sha1_index = [&client, top](const std::string& index) {
    return has_sha1_names(client, top + configuration_beside(index));
  };
  return sources;
}

Result<std::vector<TrustVerdict>> judge_listing(wire::InitClient& client,
                                                const std::string& directory,
                                                const std::vector<FileInfo>& entries) {
  // Paths are judged from the sandbox's root, without the leading slash.
  std::string above = std::filesystem::path("/" + directory).lexically_normal().native();
  while (above.starts_with('/'))
    above.erase(0, 1);
  while (above.ends_with('/'))
    above.pop_back();
  TrustSources sources;
  sources.exists = [&client](const std::string& path) { return is_in_sandbox(client, "/" + path); };
  sources.before = [](const FileChange& /*change*/) -> Result<std::optional<std::string>> {
    return std::optional<std::string>();
  };
  sources.after = [&client](const FileChange& change) -> Result<std::optional<std::string>> {
    if (change.after.size > kMostListedBytes) return std::optional<std::string>();
    auto text = text_of(client, "/" + change.path, change.after.size);
    return text ? std::optional(std::move(*text)) : std::optional<std::string>();
  };
  sources.has_sha1_index = [&client](const std::string& index) {
    return has_sha1_names(client, "/" + configuration_beside(index));
  };
  TrustJudge judge(std::move(sources));
  std::vector<TrustVerdict> verdicts;
  for (const FileInfo& entry : entries) {
    FileChange change;
    change.path = above.empty() ? entry.path : above + "/" + entry.path;
    change.before.kind = kNoFile;
    change.after = entry;
    verdicts.push_back(TRY(judge.judge(change)));
  }
  return verdicts;
}

std::string configuration_beside(const std::string& index_path) {
  const std::size_t slash = index_path.rfind('/');
  return slash == std::string::npos ? "config" : index_path.substr(0, slash) + "/config";
}

bool names_sha256(std::string_view configuration) {
  std::string lower(configuration);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower.find("sha256") != std::string::npos;
}

}  // namespace nutshell
