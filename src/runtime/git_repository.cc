#include "runtime/git_repository.h"

#include <string>
#include <string_view>

#include "base/file.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 64U << 10U;

std::string line_of(std::string text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

// Reads a file of one line that holds a path, relative to `base`.
std::optional<fs::path> path_in(const fs::path& file, const fs::path& base,
                                std::string_view prefix = {}) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) return std::nullopt;
  const auto text = read_file(file, kMostBytes);
  if (!text || !text->starts_with(prefix)) return std::nullopt;
  const std::string line = line_of(text->substr(prefix.size()));
  if (line.empty()) return std::nullopt;
  fs::path path = fs::canonical(base / line, error);
  return error ? std::nullopt : std::optional(std::move(path));
}

bool is_repository(const fs::path& directory) {
  std::error_code error;
  return fs::is_regular_file(directory / "HEAD", error) &&
         fs::is_directory(directory / "objects", error) &&
         fs::is_directory(directory / "refs", error);
}

}  // namespace

std::optional<fs::path> repository_of_worktree(const fs::path& workspace) {
  const auto git = path_in(workspace / ".git", "/", "gitdir: /");
  if (!git) return std::nullopt;
  const auto repository = path_in(*git / "commondir", *git);
  const auto back = path_in(*git / "gitdir", *git);
  std::error_code error;
  const bool is_sound = repository && back && is_repository(*repository) &&
                        git->parent_path() == *repository / "worktrees" &&
                        *back == fs::canonical(workspace, error) / ".git";
  return is_sound ? repository : std::nullopt;
}

fs::path index_of(const fs::path& work_tree) {
  const auto git = path_in(work_tree / ".git", work_tree, "gitdir: ");
  return git.value_or(work_tree / ".git") / "index";
}

}  // namespace nutshell
