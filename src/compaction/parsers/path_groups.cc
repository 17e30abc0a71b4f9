#include "compaction/parsers/path_groups.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

namespace nutshell::compaction {
namespace {

constexpr std::size_t kBraceFrom = 3;  // fewer names are shorter without braces

struct Directory {
  std::string_view path;  // with its slash; empty: the paths have none
  std::vector<std::string_view> names;
};

bool is_plain(std::string_view path) {
  return !path.empty() && path.find_first_of(" ,{}\t") == std::string_view::npos &&
         path.back() != '/';
}

std::string_view extension_of(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? "" : name.substr(dot);
}

void append_directory(std::vector<std::string>& lines, const Directory& directory) {
  std::map<std::string_view, std::vector<std::string_view>> by_extension;
  for (const auto name : directory.names)
    by_extension[extension_of(name)].push_back(name);
  std::vector<std::string_view> rest;
  for (const auto& [extension, names] : by_extension) {
    if (extension.empty() || names.size() < kBraceFrom) {
      rest.insert(rest.end(), names.begin(), names.end());
      continue;
    }
    std::vector<std::string_view> stems;
    for (const auto name : names)
      stems.push_back(name.substr(0, name.size() - extension.size()));
    lines.push_back(fmt::format("{}{{{}}}{}", directory.path, fmt::join(stems, ","), extension));
  }
  if (rest.empty()) return;
  const bool is_short = rest.size() == 1 || directory.path.empty();
  lines.push_back(
      fmt::format("{}{}{}", directory.path, is_short ? "" : ": ", fmt::join(rest, " ")));
}

}  // namespace

std::vector<std::string> group_paths(std::span<const std::string_view> paths) {
  std::vector<Directory> directories;
  std::unordered_map<std::string_view, std::size_t> known;
  std::vector<std::string> lines;
  for (const auto path : paths) {
    if (!is_plain(path)) {
      lines.emplace_back(path);
      continue;
    }
    const auto slash = path.rfind('/');
    const auto name_at = slash == std::string_view::npos ? 0 : slash + 1;
    const auto [found, is_new] = known.emplace(path.substr(0, name_at), directories.size());
    if (is_new) directories.push_back({path.substr(0, name_at), {}});
    directories[found->second].names.push_back(path.substr(name_at));
  }
  for (const Directory& directory : directories)
    append_directory(lines, directory);
  return lines;
}

}  // namespace nutshell::compaction
