// Reads records back, also while they are written by another process.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "audit/chain_files.h"
#include "audit/record.h"
#include "base/result.h"

namespace nutshell::audit {

// In order, each one that the filter lets through, at most `filter.most`. What is no record is
// left out: verify() is there to find it.
using RecordVisitor = std::function<Result<Visit>(const Record& record)>;
Result<> for_each_record(const std::filesystem::path& directory, const Filter& filter,
                         const RecordVisitor& visit);
Result<std::vector<Record>> read_records(const std::filesystem::path& directory,
                                         const Filter& filter);

// The same over every chain below `root`, in the order of time; of one tenant alone if the filter
// names it. `filter.after_id` counts for a single chain only.
Result<> for_each_record_of_all(const std::filesystem::path& root, const Filter& filter,
                                const RecordVisitor& visit);

// Where the daemon writes it: audit/ of NUTSHELL_STATE_DIR, /var/lib/nutshell for root, or the
// user's own state directory.
Result<std::filesystem::path> default_directory();

}  // namespace nutshell::audit
