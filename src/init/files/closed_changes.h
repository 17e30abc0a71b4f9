// The reports of changes that init ended by itself, because another call came after their caller
// was gone. The report may still be asked for: another process may look at the job later. Not
// thread-safe; init has one thread.
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
  // Returns the report once; nullopt if init did not end this change, or dropped the report.
  std::optional<wire::Changed> take(const std::string& id);

 private:
  std::deque<std::pair<std::string, wire::Changed>> reports_;  // oldest first
};

}  // namespace nutshell::init
