#include "compaction/parsers/path_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace nutshell::compaction {
namespace {

constexpr std::size_t kGroupFrom = 2;   // names that end alike
constexpr std::size_t kSharedFrom = 3;  // directories below one that has no names of its own
constexpr std::size_t kDeepest = 12;    // headings inside each other

using Names = std::vector<std::string_view>;

struct Directory {
  std::string_view path;  // with its slash; empty: the paths have none
  Names names;
};
using Directories = std::span<const Directory>;

bool is_plain(std::string_view path) {
  return !path.empty() && path.find_first_of(" ,;:*{}\t") == std::string_view::npos &&
         path.back() != '/';
}

std::string_view extension_of(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? "" : name.substr(dot);
}

// How many of the first directories lie below `path`.
std::size_t count_below(Directories directories, std::string_view path) {
  const auto end = std::find_if_not(
      directories.begin(), directories.end(),
      [&](const Directory& directory) { return directory.path.starts_with(path); });
  return static_cast<std::size_t>(end - directories.begin());
}

// The longest directory that holds both.
std::string_view shared_directory(std::string_view first, std::string_view last) {
  const auto differs = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
  const auto same = first.substr(0, static_cast<std::size_t>(differs - first.begin()));
  return same.substr(0, same.rfind('/') + 1);
}

class PathTree {
 public:
  // `directories` are sorted, so that what lies below one stands behind it.
  void add(Directories directories, std::string_view above, std::size_t depth) {
    while (true) {
      directories = add_shared(directories, above, depth);
      if (directories.empty()) return;
      const auto& first = directories.front();
      const bool is_heading = add_names(first, above, depth);
      directories = directories.subspan(1);
      const bool nests = is_heading && !first.path.empty() && depth < kDeepest;
      const std::size_t below = nests ? count_below(directories, first.path) : 0;
      if (below > 0) add(directories.first(below), first.path, depth + 1);
      directories = directories.subspan(below);
    }
  }

  std::vector<std::string> lines;

 private:
  // Puts a heading over directories that share one which has no names of its own; gives the rest.
  Directories add_shared(Directories directories, std::string_view above, std::size_t depth) {
    while (!directories.empty() && depth < kDeepest) {
      const auto path = directories.front().path;
      const auto slash = path.find('/', above.size());
      const auto top = path.substr(0, slash + 1);
      const std::size_t below = slash == std::string_view::npos ? 0 : count_below(directories, top);
      if (below < kSharedFrom) break;
      const auto shared = shared_directory(path, directories[below - 1].path);
      if (shared.size() <= above.size() || shared == path) break;
      lines.push_back(fmt::format("{:{}}{}", "", depth, shared.substr(above.size())));
      add(directories.first(below), shared, depth + 1);
      directories = directories.subspan(below);
    }
    return directories;
  }

  // Says whether the directory stands as a heading now.
  bool add_names(const Directory& directory, std::string_view above, std::size_t depth) {
    std::map<std::string_view, Names> by_extension;
    for (const auto name : directory.names)
      by_extension[extension_of(name)].push_back(name);
    const auto start = fmt::format("{:{}}{}", "", depth, directory.path.substr(above.size()));
    Names rest;
    bool is_heading = false;
    for (auto& [extension, names] : by_extension) {
      if (extension.empty() || names.size() < kGroupFrom) {
        rest.insert(rest.end(), names.begin(), names.end());
        continue;
      }
      for (auto& name : names)
        name.remove_suffix(extension.size());
      lines.push_back(fmt::format("{}*{}: {}", start, extension, fmt::join(names, " ")));
      is_heading = true;
    }
    if (rest.empty()) return is_heading;
    // A path of its own between a heading and what lies below it would be taken for the heading.
    const bool is_list = (is_heading || rest.size() > 1) && !directory.path.empty();
    lines.push_back(fmt::format("{}{}{}", start, is_list ? ": " : "", fmt::join(rest, " ")));
    return is_heading || is_list;
  }
};

}  // namespace

std::vector<std::string> group_paths(std::span<const std::string_view> paths) {
  std::map<std::string_view, Names> by_directory;
  PathTree tree;
  for (const auto path : paths) {
    if (!is_plain(path)) {
      tree.lines.emplace_back(path);
      continue;
    }
    const auto slash = path.rfind('/');
    const auto name_at = slash == std::string_view::npos ? 0 : slash + 1;
    by_directory[path.substr(0, name_at)].push_back(path.substr(name_at));
  }
  std::vector<Directory> directories;
  directories.reserve(by_directory.size());
  for (auto& [path, names] : by_directory)
    directories.push_back({path, std::move(names)});
  tree.add(directories, "", 0);
  return std::move(tree.lines);
}

}  // namespace nutshell::compaction
