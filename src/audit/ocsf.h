// Records in the form of the Open Cybersecurity Schema Framework, for log collectors.
#pragma once

#include <string>

#include "audit/record.h"

namespace nutshell::audit {

// Returns a JSON object without a newline: Process Activity for commands, API Activity for the
// rest.
std::string to_ocsf(const Record& record);

// Returns the record as a JSON object without the hashes.
std::string to_json(const Record& record);

}  // namespace nutshell::audit
