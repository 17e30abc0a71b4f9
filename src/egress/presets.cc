#include "egress/presets.h"

#include <algorithm>

namespace nutshell::egress {
namespace {

struct PresetFile {
  std::string_view name;
  std::string_view text;
};

// The build writes this list from the files.
constexpr PresetFile kFiles[] = {
#include "own_presets.inc"
};

constexpr std::string_view kEnding = ".preset";

// A first line "# what it is for", then a rule on each line, and lines that begin with '#'.
Preset parse(const PresetFile& file) {
  Preset preset;
  preset.name = file.name.substr(0, file.name.size() - kEnding.size());
  std::string_view left = file.text;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (line.starts_with("# ") && preset.help.empty()) preset.help = line.substr(2);
    if (!line.empty() && line.front() != '#') preset.rules.emplace_back(line);
  }
  return preset;
}

std::vector<Preset> parse_all() {
  std::vector<Preset> all;
  for (const PresetFile& file : kFiles)
    all.push_back(parse(file));
  return all;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> kPresets = parse_all();
  return kPresets;
}

const Preset* find_preset(std::string_view name) {
  const auto& all = presets();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [name](const Preset& preset) { return preset.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace nutshell::egress
