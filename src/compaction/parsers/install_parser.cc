#include "compaction/parsers/install_parser.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "compaction/error_words.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// A start of lines: they are noise to be counted, or name an item of a list.
struct Shape {
  std::string_view start;
  std::string_view noise;  // what it is called when left out; empty: its next words are listed
  std::string_view list;
};

constexpr std::array<Shape, 42> kShapes = {{
    {"Get:", "downloads", ""},
    {"Hit:", "package lists", ""},
    {"Ign:", "package lists", ""},
    {"Fetched ", "downloads", ""},
    {"Reading package lists", "steps", ""},
    {"Building dependency tree", "steps", ""},
    {"Reading state information", "steps", ""},
    {"Selecting previously unselected", "steps", ""},
    {"(Reading database", "steps", ""},
    {"Preparing to unpack", "steps", ""},
    {"Unpacking ", "steps", ""},
    {"Processing triggers", "steps", ""},
    {"debconf: delaying", "steps", ""},
    {"Setting up ", "", "set up"},
    {"Removing ", "", "removed"},
    {"Purging configuration", "steps", ""},
    {"Collecting ", "", "collected"},
    {"Downloading ", "downloads", ""},
    {"Using cached ", "downloads", ""},
    {"Requirement already satisfied: ", "", "already there"},
    {"Preparing metadata", "steps", ""},
    {"Getting requirements", "steps", ""},
    {"Installing build dependencies", "steps", ""},
    {"Installing backend dependencies", "steps", ""},
    {"Building wheel", "steps", ""},
    {"Created wheel", "steps", ""},
    {"Stored in directory", "steps", ""},
    {"Building wheels for", "steps", ""},
    {"Installing collected packages", "steps", ""},
    {"Attempting uninstall", "steps", ""},
    {"Found existing installation", "", "found"},
    {"Uninstalling ", "steps", ""},
    {"Downloaded ", "downloads", ""},
    {"Compiling ", "", "compiled"},
    {"Checking ", "", "checked"},
    {"Updating ", "steps", ""},
    {"Locking ", "steps", ""},
    {"npm timing", "steps", ""},
    {"npm http", "downloads", ""},
    {"npm sill", "steps", ""},
    {"npm verb", "steps", ""},
    {"[notice]", "notices", ""},
}};

bool is_install(const CommandWords& command) {
  const bool is_installer =
      command.starts_with({"apt"}) || command.starts_with({"apt-get"}) ||
      command.starts_with({"pip"}) || command.starts_with({"pip3"}) ||
      command.starts_with({"uv"}) || command.starts_with({"npm"}) ||
      command.starts_with({"cargo", "install"}) || command.starts_with({"cargo", "add"}) ||
      command.starts_with({"cargo", "fetch"}) || (command.starts_with({"python3", "-m", "pip"})) ||
      (command.starts_with({"python", "-m", "pip"}));
  return is_installer && (command.has("install") || command.has("i") || command.has("ci") ||
                          command.has("update") || command.has("upgrade") ||
                          command.has("remove") || command.has("sync") || command.has("add") ||
                          command.has("fetch") || command.has("uninstall") || command.has("purge"));
}

bool recognises_install(const ParserInput& input) {
  return input.lines.size() > 3 && is_install(input.command);
}

// "name (1.2) ..." as "name 1.2"; pip's "name>=1 in /path (from other)" as "name>=1"
std::string item_of(std::string_view text) {
  const auto name = take_word(text);
  if (text.starts_with('(')) {
    const auto version = text.substr(1, text.find(')') - 1);
    if (!contains(version, " ")) return fmt::format("{} {}", name, version);
  }
  if (text.starts_with('v') && text.size() > 1 && is_digit(text[1])) {
    return fmt::format("{} {}", name, take_word(text));
  }
  // "six in /usr/lib/python3 (1.17.0)"
  const auto open = text.rfind(" (");
  if (text.starts_with("in ") && open != std::string_view::npos && text.ends_with(')'))
    return fmt::format("{} {}", name, text.substr(open + 2, text.size() - open - 3));
  return std::string(name);
}

const Shape* find_shape(std::string_view text) {
  for (const Shape& shape : kShapes) {
    if (text.starts_with(shape.start)) return &shape;
  }
  return nullptr;
}

std::optional<Facts> parse_install(const ParserInput& input) {
  Facts facts;
  facts.tool = input.command.words.front();
  std::map<std::string_view, std::uint64_t> noise;
  std::map<std::string_view, std::vector<std::string>> lists;
  for (const auto line : input.lines) {
    auto text = trim(line);
    const Shape* shape = find_shape(text);
    const bool is_plain = look_at(line).kind == LineKind::Plain;
    const bool is_bar = contains(text, "━") || contains(text, "████");
    if (text.empty()) continue;
    if (is_bar && is_plain) {
      ++noise["progress bars"];
    } else if (shape == nullptr || !is_plain) {
      facts.kept.emplace_back(line);
    } else if (shape->list.empty()) {
      ++noise[shape->noise];
    } else {
      (void)take_prefix(text, shape->start);  // find_shape() saw it
      lists[shape->list].push_back(item_of(text));
    }
  }
  for (const auto& [what, items] : lists)
    facts.kept.push_back(fmt::format("{} {}: {}", what, items.size(), fmt::join(items, ", ")));
  for (const auto& [what, lines] : noise)
    facts.omitted.push_back({std::string(what), lines});
  if (noise.empty() && lists.empty()) return std::nullopt;
  return facts;
}

}  // namespace

Parser install_parser() {
  return {"install", recognises_install, parse_install};
}

}  // namespace nutshell::compaction
