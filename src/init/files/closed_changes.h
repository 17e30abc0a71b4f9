// The reports of changes that init ended by itself, because another call came after whoever began
// them was gone. A command's end may still be asked for later: a job is looked at by another
// process than the one that started it. Not thread-safe; init has one thread.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "wire/tool_schema.h"

namespace nutshell::init {

class ClosedChanges {
 public:
  static constexpr std::size_t kMost = 64;  // the oldest report is dropped for the next

  void add(std::string id, wire::Changed report);
  // The report, once; nullopt where init did not end this change, or dropped the report.
  std::optional<wire::Changed> take(const std::string& id);

 private:
  std::deque<std::pair<std::string, wire::Changed>> reports_;  // oldest first
};

}  // namespace nutshell::init
