#include "compaction/parsers/path_groups.h"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace nutshell::compaction {
namespace {

constexpr std::size_t kLongestLine = 800;  // bytes of names, below what the formatter cuts

using Names = std::vector<std::string>;

bool is_plain(std::string_view path) {
  return !path.empty() && path.find_first_of(" ,;:*{}\t") == std::string_view::npos &&
         path.back() != '/';
}

// Writes one directory. A long list goes on in further lines, each with the directory.
void append_directory(std::string_view directory, const Names& names,
                      std::vector<std::string>& lines) {
  if (names.size() == 1) {
    lines.push_back(fmt::format("{}{}", directory, names.front()));
    return;
  }
  const auto start = directory.empty() ? std::string() : fmt::format("{}:", directory);
  std::string line = start;
  for (const auto& name : names) {
    if (line.size() > start.size() && line.size() + name.size() > kLongestLine)
      lines.push_back(std::exchange(line, start));
    if (!line.empty()) line += ' ';
    line += name;
  }
  lines.push_back(std::move(line));
}

}  // namespace

std::vector<std::string> group_paths(std::span<const std::string_view> paths,
                                     std::span<const std::string_view> notes) {
  std::map<std::string_view, Names> by_directory;
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < paths.size(); ++at) {
    const auto path = paths[at];
    const auto note = notes.empty() ? std::string() : fmt::format(" ({})", notes[at]);
    if (!is_plain(path)) {
      lines.push_back(fmt::format("{}{}", path, note));
      continue;
    }
    const auto slash = path.rfind('/');
    const auto name_at = slash == std::string_view::npos ? 0 : slash + 1;
    by_directory[path.substr(0, name_at)].push_back(
        fmt::format("{}{}", path.substr(name_at), note));
  }
  for (const auto& [directory, names] : by_directory)
    append_directory(directory, names, lines);
  return lines;
}

}  // namespace nutshell::compaction
