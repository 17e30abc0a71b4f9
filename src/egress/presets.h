// Lists of rules with a name, for services that many sandboxes need: files in presets/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nutshell::egress {

struct Preset {
  std::string name;
  std::string help;  // the first line of the file
  std::vector<std::string> rules;
};

const std::vector<Preset>& presets();
// Null if there is none of that name.
const Preset* find_preset(std::string_view name);

}  // namespace nutshell::egress
