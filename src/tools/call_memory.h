// The memory that one tool call holds, charged to the account of whoever pays for it. Used by one
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/account.h"
#include "base/result.h"

namespace nutshell {

class CallMemory {
 public:
  // Copies of a text that a call holds at the same time: as it came, as it is stored, as it is
  // compacted. 16 MB of output take 57 MiB, however many lines they have.
  static constexpr std::uint64_t kForAByte = 4;
  // Records of one line while files are compared.
  static constexpr std::uint64_t kForALine = 96;

  using Refusal = std::function<Failure()>;

  // Without an account, the bounds of each tool are the only ones.
  CallMemory() = default;
  CallMemory(Charge charge, Refusal refusal)
      : charge_(std::move(charge)), refusal_(std::move(refusal)) {}

  // False if the account has no room for that much more.
  [[nodiscard]] bool try_take(std::uint64_t bytes) { return !refusal_ || charge_.grow(bytes); }
  // ResourceExhausted, with what to do, if the account has no room for that much more.
  Result<> take(std::uint64_t bytes) {
    if (try_take(bytes)) return {};
    return refusal_();
  }
  void give_back(std::uint64_t bytes) { charge_.shrink(bytes); }

 private:
  Charge charge_;
  Refusal refusal_;  // empty: there is no account
};

}  // namespace nutshell
