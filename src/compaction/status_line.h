// Writes the first line of every text: how the command ended, its totals, and the id of the raw
// output.
#pragma once

#include <string>

#include "compaction/captured.h"
#include "compaction/facts.h"

namespace nutshell::compaction {

bool is_failing(const ExecResult& ending);

// "exit 101, 4.2s", "killed by signal 11, 0.3s", "timed out after 120s"
std::string ending_text(const ExecResult& ending);

// "cargo test: 2 failed, 78 passed"
std::string summary_text(const Facts& facts);

// "exit 101, 4.2s. cargo test: 2 failed, 78 passed. recall o7f3a"
std::string status_line(const Captured& captured, std::string_view summary);

// "recall o7f3a offset=120"; without an id: "run it again with raw output"
std::string recall_call(const std::string& recall_id, std::size_t offset = 0);

}  // namespace nutshell::compaction
