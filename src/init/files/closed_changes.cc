#include "init/files/closed_changes.h"

#include <algorithm>

namespace nutshell::init {

void ClosedChanges::add(std::string id, wire::Changed report) {
  if (reports_.size() >= kMost) reports_.pop_front();
  reports_.emplace_back(std::move(id), std::move(report));
}

std::optional<wire::Changed> ClosedChanges::take(const std::string& id) {
  const auto found = std::find_if(reports_.begin(), reports_.end(),
                                  [&](const auto& item) { return item.first == id; });
  if (found == reports_.end()) return std::nullopt;
  wire::Changed report = std::move(found->second);
  reports_.erase(found);
  return report;
}

}  // namespace nutshell::init
