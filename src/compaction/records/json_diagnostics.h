// Finds diagnostics in the JSON of linters and compilers: objects with a message, a file and a
// line, wherever these stand (eslint, ruff, pyright, shellcheck, golangci-lint, pylint, rubocop …).
#pragma once

#include <vector>

#include "compaction/facts.h"
#include "core/json_values.h"

namespace nutshell::compaction {

// Empty if objects with a time are among them: those are records of a log.
std::vector<Diagnostic> json_diagnostics(const FoundJson& json);

}  // namespace nutshell::compaction
