// The flags of a sandbox and an exec by their names: as keys of a --config file, and as words for
// another run of this program.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags.h"

namespace nutshell::cli {

struct TextFlag {
  const char* key;
  const char* word;
  std::optional<std::string> Flags::*flag;
};
inline constexpr std::array<TextFlag, 17> kTextFlags = {
    {{"backend", "--backend", &Flags::backend},
     {"image", "--image", &Flags::image},
     {"runtime", "--runtime", &Flags::runtime},
     {"memory", "--memory", &Flags::memory},
     {"cpus", "--cpus", &Flags::cpus},
     {"pids", "--pids", &Flags::pids},
     {"disk", "--disk", &Flags::disk},
     {"open_files", "--open-files", &Flags::open_files},
     {"cpu_time", "--cpu-time", &Flags::cpu_time},
     {"timeout", "--timeout", &Flags::timeout},
     {"ttl", "--ttl", &Flags::ttl},
     {"idle_timeout", "--idle-timeout", &Flags::idle_timeout},
     {"output_limit", "--output-limit", &Flags::output_limit},
     {"workdir", "--workdir", &Flags::workdir},
     {"workspace", "--workspace", &Flags::workspace},
     {"workspace_mode", "--workspace-mode", &Flags::workspace_mode},
     {"daemon", "--daemon", &Flags::daemon}}};

struct ListFlag {
  const char* key;
  const char* word;
  std::vector<std::string> Flags::*flag;
};
inline constexpr std::array<ListFlag, 6> kListFlags = {
    {{"env", "--env", &Flags::environment},
     {"labels", "--label", &Flags::labels},
     {"require", "--require", &Flags::requirements},
     {"unsafe_without", "--unsafe-without", &Flags::unsafe_without},
     {"unsafe_mounts", "--unsafe-mount", &Flags::unsafe_mounts},
     {"copy", "--copy", &Flags::copies}}};

// What gives the same flags again.
inline std::vector<std::string> to_words(const Flags& flags) {
  std::vector<std::string> words;
  for (const TextFlag& text : kTextFlags) {
    if (const auto& value = flags.*text.flag)
      words.push_back(std::string(text.word) + "=" + *value);
  }
  for (const ListFlag& list : kListFlags) {
    for (const std::string& value : flags.*list.flag)
      words.push_back(std::string(list.word) + "=" + value);
  }
  return words;
}

}  // namespace nutshell::cli
