// Checks a record and finds the first line that was changed, removed or moved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "audit/chain_files.h"
#include "base/result.h"

namespace nutshell::audit {

struct Verdict {
  enum class Finding : std::uint8_t {
    Intact,
    Changed,     // the record `at` is not as it was written
    Missing,     // the record `at` is missing
    Reordered,   // the record `at` is at another place
    Unreadable,  // the line in place of record `at` is not a record
  };
  Finding finding = Finding::Intact;
  std::uint64_t at = 0;
  std::string problem;         // one line; empty if intact
  std::uint64_t records = 0;   // found in order before the problem
  std::uint64_t first_id = 0;  // all before it were removed to make room
  Mark last;                   // a copy kept elsewhere proves everything before it
  bool is_torn = false;        // an unfinished record follows the last one
};

// `expected`, if given, is a mark that was kept elsewhere.
Result<Verdict> verify(const std::filesystem::path& directory,
                       const std::optional<Mark>& expected = std::nullopt);

}  // namespace nutshell::audit
