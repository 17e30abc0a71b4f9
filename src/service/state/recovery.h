// A state file that is damaged is put aside, whole, and what can still be read of it goes on in a
// new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace nutshell::service {

struct Recovery {
  std::filesystem::path kept;  // where the damaged file is now; empty: the file was sound
  struct Table {
    std::string name;
    std::int64_t saved = 0;
    bool is_whole = false;  // false: there may have been more rows
  };
  std::vector<Table> tables;
};

// No service may use the directory meanwhile. Nothing is overwritten.
Result<Recovery> recover_state(const std::filesystem::path& directory);

}  // namespace nutshell::service
