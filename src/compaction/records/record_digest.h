// Chooses what is shown of many records: what all share once, how often each state occurs, every
// record that reports an error, warnings, rare records, then one of each kind with its count.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compaction/records/record_profile.h"
#include "compaction/records/record_rows.h"
#include "compaction/records/record_set.h"

namespace nutshell::compaction {

struct DigestOptions {
  RecordPlace place = RecordPlace::Line;
  bool is_log = false;           // one record of each kind is enough
  std::size_t few_tokens = 600;  // for records that report nothing special
  std::size_t most_tokens = 4500;
};

struct Digest {
  std::vector<std::string> lines;
  std::size_t errors = 0;  // records
  std::size_t warnings = 0;
  std::size_t left_out = 0;
  std::size_t first_left_out = 0;  // places, if any are
  std::size_t last_left_out = 0;
};

// All records, as a table if their keys are mostly the same. `left_out` is 0.
Digest whole_records(const RecordSet& set);

Digest digest_of(const RecordSet& set, const DigestOptions& options);

}  // namespace nutshell::compaction
