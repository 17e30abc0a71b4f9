#include "server/mcp/sandbox/client_roots.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "server/mcp/message.h"

namespace nutshell::mcp {
namespace {

constexpr std::size_t kMostRoots = 64;

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Decodes %20 and the like; nullopt if an escape is malformed or hides a NUL.
std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit_of(text[i + 1]);
    const int low = digit_of(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

}  // namespace

std::optional<std::string> path_of_file_uri(std::string_view uri) {
  constexpr std::string_view kScheme = "file://";
  constexpr std::string_view kThisMachine = "localhost";
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  if (uri.starts_with(kThisMachine)) uri.remove_prefix(kThisMachine.size());
  if (!uri.starts_with('/')) return std::nullopt;  // of another machine
  return decoded(uri.substr(0, uri.find_first_of("?#")));
}

std::vector<std::string> directories_in(std::string_view roots) {
  const Json parsed = Json::parse(roots, nullptr, false);
  std::vector<std::string> directories;
  if (!parsed.is_object() || !parsed.contains("roots") || !parsed["roots"].is_array())
    return directories;
  for (const Json& root : parsed["roots"]) {
    if (directories.size() >= kMostRoots) break;
    const bool has_uri = root.is_object() && root.contains("uri") && root["uri"].is_string();
    if (!has_uri) continue;
    if (auto path = path_of_file_uri(root["uri"].get<std::string>()))
      directories.push_back(std::move(*path));
  }
  return directories;
}

}  // namespace nutshell::mcp
