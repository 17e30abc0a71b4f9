// Remembers why the last sandboxes ended, for callers that ask a moment later. Thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "core/backend.h"

namespace nutshell::service {

class GoneList {
 public:
  void add(const std::string& tenant, const std::string& id, Gone gone) {
    items_.with([&](std::deque<Item>& items) {
      items.push_back({tenant, id, std::move(gone)});
      if (items.size() > kMost) items.pop_front();
    });
  }
  std::optional<Gone> find(const std::string& tenant, const std::string& id) {
    return items_.with([&](const std::deque<Item>& items) -> std::optional<Gone> {
      for (const Item& item : items) {
        if (item.tenant == tenant && item.id == id) return item.gone;
      }
      return std::nullopt;
    });
  }

 private:
  static constexpr std::size_t kMost = 256;
  struct Item {
    std::string tenant;
    std::string id;
    Gone gone;
  };
  Guarded<std::deque<Item>> items_;
};

}  // namespace nutshell::service
