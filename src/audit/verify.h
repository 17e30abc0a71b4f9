// Finds out whether a record is whole: the first record that was changed, taken away or moved.
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
    Missing,     // the record `at` is not there
    Reordered,   // the record `at` stands elsewhere
    Unreadable,  // where the record `at` should be is no record
  };
  Finding finding = Finding::Intact;
  std::uint64_t at = 0;
  std::string problem;         // one line, empty when intact
  std::uint64_t records = 0;   // that were found in order before the problem
  std::uint64_t first_id = 0;  // all before it were removed for want of room
  Mark last;                   // to be kept elsewhere: it proves all that is before it
  bool is_torn = false;        // behind the last record is the beginning of another
};

// `expected`, if given, is a mark that was kept elsewhere.
Result<Verdict> verify(const std::filesystem::path& directory,
                       const std::optional<Mark>& expected = std::nullopt);

}  // namespace nutshell::audit
