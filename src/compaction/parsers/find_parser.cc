#include "compaction/parsers/find_parser.h"

#include <algorithm>
#include <array>

#include "compaction/error_words.h"
#include "compaction/parsers/path_groups.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool lists_paths(const CommandWords& command) {
  constexpr std::array<std::string_view, 5> kPrograms = {"find", "fd", "fdfind", "ls", "locate"};
  if (command.starts_with({"git", "ls-files"}) || command.has("--name-only")) return true;
  if (command.starts_with({"rg", "--files"})) return true;
  if (command.starts_with({"grep"}) || command.starts_with({"rg"})) {
    return command.has("-l") || command.has("-rl") || command.has("-lr");
  }
  return !command.words.empty() &&
         std::find(kPrograms.begin(), kPrograms.end(), command.words.front()) != kPrograms.end();
}

// Returns whether ls sorts by time or size: then the order is the answer, and grouping would lose
// it.
bool is_ordered(const CommandWords& command) {
  if (!command.starts_with({"ls"})) return false;
  return std::any_of(command.words.begin(), command.words.end(), [](const std::string& word) {
    if (word.starts_with("--")) return word.starts_with("--sort") || word.starts_with("--time");
    return word.starts_with('-') && word.find_first_of("tSUvXfr") != std::string::npos;
  });
}

bool is_bare_path(std::string_view line) {
  return !line.empty() && line.find_first_of(" \t:") == std::string_view::npos;
}

// Takes "12K\t" off the start of a line of du; returns the size, or "" if there is none.
std::string_view take_size(std::string_view& line) {
  const auto tab = line.find('\t');
  const bool is_size = tab != std::string_view::npos && tab > 0 && is_digit(line.front()) &&
                       is_bare_path(line.substr(0, tab));
  if (!is_size) return {};
  const auto size = line.substr(0, tab);
  line.remove_prefix(tab + 1);
  return size;
}

bool is_entry_of_du(std::string_view line) {
  return !take_size(line).empty() && is_bare_path(line);
}

bool recognises_find(const ParserInput& input) {
  if (input.command.starts_with({"du"})) {
    const auto sized = std::count_if(input.lines.begin(), input.lines.end(), is_entry_of_du);
    return sized > 3 && static_cast<std::size_t>(sized) * 10 >= input.lines.size() * 9;
  }
  const bool is_listing = lists_paths(input.command) && !is_ordered(input.command);
  if (input.lines.size() < 4 || !is_listing) return false;
  const auto paths = std::count_if(input.lines.begin(), input.lines.end(), is_bare_path);
  return static_cast<std::size_t>(paths) * 10 >= input.lines.size() * 9;
}

std::optional<Facts> parse_find(const ParserInput& input) {
  Facts facts;
  facts.is_data = true;
  facts.tool = input.command.words.front();
  const bool is_sized = input.command.starts_with({"du"});
  std::vector<std::string_view> paths;
  std::vector<std::string_view> sizes;
  for (auto line : input.lines) {
    const bool is_message = line.starts_with(facts.tool + ":") && looks_like_error(line);
    if (is_message) {
      facts.kept.emplace_back(line);
    } else if (!line.empty()) {
      if (is_sized) {
        sizes.push_back(take_size(line));
        if (sizes.back().empty()) return std::nullopt;
      }
      (void)take_prefix(line, "./");  // the same path without it
      paths.push_back(line);
    }
  }
  auto groups = group_paths(paths, sizes);
  std::move(groups.begin(), groups.end(), std::back_inserter(facts.kept));
  facts.totals = {{"paths", paths.size()}};
  return facts;
}

}  // namespace

Parser find_parser() {
  return {"find", recognises_find, parse_find};
}

}  // namespace nutshell::compaction
