// Recovers a damaged state file: renames it, and copies every row that can still be read to a new
// file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace nutshell::service {

struct Recovery {
  std::filesystem::path kept;  // the new name of the damaged file; empty if the file was sound
  struct Table {
    std::string name;
    std::int64_t saved = 0;
    bool is_whole = false;  // false if there may have been more rows
  };
  std::vector<Table> tables;
};

// Refused while a service uses the directory. Overwrites nothing.
Result<Recovery> recover_state(const std::filesystem::path& directory);

}  // namespace nutshell::service
