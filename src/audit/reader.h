// Reads records, also while another process writes.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "audit/chain_files.h"
#include "audit/record.h"
#include "base/result.h"

namespace nutshell::audit {

// Visits records that match the filter in order, at most `filter.most`. Skips lines that are not
// records: verify() finds those.
using RecordVisitor = std::function<Result<Visit>(const Record& record)>;
Result<> for_each_record(const std::filesystem::path& directory, const Filter& filter,
                         const RecordVisitor& visit);
Result<std::vector<Record>> read_records(const std::filesystem::path& directory,
                                         const Filter& filter);

// Visits the records of every chain below `root` in the order of time, or of one tenant if the
// filter names it. `filter.after_id` applies only to a single chain.
Result<> for_each_record_of_all(const std::filesystem::path& root, const Filter& filter,
                                const RecordVisitor& visit);

// The directory that the daemon writes to: audit/ in NUTSHELL_STATE_DIR, in /var/lib/nutshell for
// root, or in the user's state directory.
Result<std::filesystem::path> default_directory();

}  // namespace nutshell::audit
