// Bounds one reply of described entries: their number, and the bytes of a frame.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "wire/tool_schema.h"

namespace nutshell::init::search {

// The time limit of a walk whose request has no timeout.
inline constexpr std::chrono::seconds kListingTime{20};

class Budget {
 public:
  explicit Budget(std::uint32_t most) : left_(most) {}

  // Returns false once it is used up, and from then on.
  bool take(const wire::FileInfo& info) {
    const std::size_t cost = info.path.size() + info.target.size() + kOverhead;
    if (left_ == 0 || cost > bytes_) {
      left_ = 0;
      return false;
    }
    --left_;
    bytes_ -= cost;
    return true;
  }
  [[nodiscard]] bool is_used_up() const { return left_ == 0; }
  [[nodiscard]] std::uint32_t left() const { return left_; }

 private:
  static constexpr std::size_t kOverhead = 48;  // the fields of fixed size
  std::uint32_t left_;
  std::size_t bytes_ = wire::kMostPageBytes;
};

// Describes an entry, without its path. Kind Other and no size if it is gone by now.
wire::FileInfo describe_entry(int directory, const char* path);
// The same, but without the target of a link.
wire::FileInfo describe_status(int directory, const char* path);

}  // namespace nutshell::init::search
