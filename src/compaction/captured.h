// A command's output and how it ended: the input of compaction.
#pragma once

#include <string>
#include <string_view>

#include "core/exec.h"

namespace nutshell::compaction {

struct Captured {
  std::string command;      // shell text, or an argv joined; used to recognise, never run
  ExecResult ending;        // as the exec reported it; shown, never changed
  std::string_view output;  // standard output, as captured
  std::string_view error;   // standard error, as captured
  std::string recall_id;    // "o7f3a": id of the kept raw output; empty if it is not kept
};

}  // namespace nutshell::compaction
