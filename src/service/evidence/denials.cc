#include "service/evidence/denials.h"

namespace nutshell::service {

bool Denials::is_worth_a_record(const std::string& tenant, const std::string& who) {
  return windows_.with([&](auto& windows) {
    auto key = std::pair(tenant, who.substr(0, 256));
    const bool is_one_too_many = !windows.contains(key) && windows.size() >= kMostCallers;
    if (is_one_too_many) key = {tenant, "others"};
    return ++windows[key].count <= kWritten;
  });
}

std::vector<Denials::Sum> Denials::take_sums() {
  return windows_.with([](auto& windows) {
    std::vector<Sum> sums;
    for (auto item = windows.begin(); item != windows.end();) {
      const auto& [key, window] = *item;
      if (Clock::now() - window.began < kWindow) {
        ++item;
        continue;
      }
      if (window.count > kWritten) sums.push_back({key.first, key.second, window.count - kWritten});
      item = windows.erase(item);
    }
    return sums;
  });
}

}  // namespace nutshell::service
