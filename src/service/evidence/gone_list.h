// Remembers why the last sandboxes of each tenant ended, for callers that ask a moment later. No
// tenant pushes out what another may ask for. Thread-safe.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "core/backend.h"

namespace nutshell::service {

class GoneList {
 public:
  void add(const std::string& tenant, const std::string& id, Gone gone) {
    items_.with([&](Items& items) {
      std::deque<Item>& own = items[tenant];
      own.push_back({id, std::move(gone)});
      if (own.size() > kMost) own.pop_front();
    });
  }
  std::optional<Gone> find(const std::string& tenant, const std::string& id) {
    return items_.with([&](const Items& items) -> std::optional<Gone> {
      const auto own = items.find(tenant);
      if (own == items.end()) return std::nullopt;
      for (const Item& item : own->second) {
        if (item.id == id) return item.gone;
      }
      return std::nullopt;
    });
  }

 private:
  static constexpr std::size_t kMost = 256;  // of each tenant
  struct Item {
    std::string id;
    Gone gone;
  };
  using Items = std::map<std::string, std::deque<Item>>;
  Guarded<Items> items_;
};

}  // namespace nutshell::service
