#include "core/workspace_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace nutshell {
namespace {

constexpr std::string_view kPrefix = "volume:";
constexpr std::size_t kMostLetters = 63;

bool is_volume_name(std::string_view name) {
  const auto is_allowed = [](unsigned char c) {
    return std::isdigit(c) != 0 || (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMostLetters &&
         std::isalnum(static_cast<unsigned char>(name.front())) != 0 &&
         std::all_of(name.begin(), name.end(), is_allowed);
}

}  // namespace

bool is_volume(std::string_view workspace) {
  return workspace.starts_with(kPrefix);
}

std::string volume_of(const SandboxSpec& spec) {
  return is_volume(spec.workspace) ? spec.workspace.substr(kPrefix.size()) : std::string();
}

Result<> check_volume(const SandboxSpec& spec) {
  if (!is_volume(spec.workspace) || is_volume_name(volume_of(spec))) return {};
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("workspace '{}': the name of a volume is made of small letters, digits "
                  "and ._- (at most {}), for example volume:project-1",
                  spec.workspace.substr(0, 100), kMostLetters));
}

}  // namespace nutshell
