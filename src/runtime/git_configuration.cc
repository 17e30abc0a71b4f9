#include "runtime/git_configuration.h"

#include <algorithm>
#include <filesystem>

#include "runtime/folded_name.h"

namespace nutshell {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// A word of a value as a path relative to the work tree; empty if it lies outside.
std::string path_of(std::string_view word, std::string_view base, std::string_view work_tree) {
  namespace fs = std::filesystem;
  const fs::path top = fs::path(work_tree).lexically_normal();
  const fs::path path = (top / base / word).lexically_normal().lexically_relative(top);
  std::string text = path.native();
  while (text.ends_with('/'))
    text.pop_back();
  const bool is_inside = !text.empty() && text != "." && !text.starts_with("..");
  return is_inside ? text : std::string();
}

bool is_separator(char c) {
  return c == ' ' || c == '\t' || c == '"' || c == '\'' || c == '!' || c == ';' || c == '&' ||
         c == '|' || c == '=';
}

}  // namespace

std::vector<std::string> work_tree_paths_in(std::string_view configuration,
                                            std::string_view work_tree) {
  std::vector<std::string> paths;
  const auto add = [&](std::string_view word, std::string_view base) {
    std::string path = path_of(word, base, work_tree);
    if (!path.empty()) paths.push_back(std::move(path));
  };
  while (!configuration.empty()) {
    const std::size_t end = std::min(configuration.find('\n'), configuration.size());
    const std::string_view line = configuration.substr(0, end);
    configuration.remove_prefix(std::min(end + 1, configuration.size()));
    const std::size_t sign = line.find('=');
    if (sign == std::string_view::npos) continue;
    const std::string key = fold_name(trimmed(line.substr(0, sign)));
    std::string_view value = trimmed(line.substr(sign + 1));
    if (value.size() > 1 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (key == "hookspath" || key == "attributesfile") add(value, "");
    if (key == "path") add(value, ".git");  // an include
    // Git looks for a command without a slash in PATH, not in the work tree.
    for (std::size_t at = 0; at < value.size();) {
      const auto* begin = std::find_if_not(value.begin() + at, value.end(), is_separator);
      const auto* stop = std::find_if(begin, value.end(), is_separator);
      const std::string_view word(begin, static_cast<std::size_t>(stop - begin));
      const bool is_reference = word.starts_with("refs/") || word.starts_with("+refs/");
      const bool is_address = word.find("://") != std::string_view::npos;
      if (word.find('/') != std::string_view::npos && !is_reference && !is_address) add(word, "");
      at = static_cast<std::size_t>(stop - value.begin());
    }
  }
  return paths;
}

}  // namespace nutshell
