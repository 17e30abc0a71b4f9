// Records in the shape of the Open Cybersecurity Schema Framework, for systems that collect such.
#pragma once

#include <string>

#include "audit/record.h"

namespace nutshell::audit {

// One JSON object, without a newline: Process Activity for commands, API Activity for the rest.
std::string to_ocsf(const Record& record);

// As the line has it, for people and scripts: one JSON object without the hashes.
std::string to_json(const Record& record);

}  // namespace nutshell::audit
