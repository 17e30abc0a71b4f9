// Collects the output of a command whose caller waits for all of it. Its memory is charged to the
// tenant; a command that prints more than there is room for ends with output_limit. Used by one
// thread.
#pragma once

#include <string>

#include "base/account.h"
#include "wire/exec_io.h"

namespace nutshell::service {

// The account that is charged for output, and how much one command may take of it.
struct OutputRoom {
  Account& tenant;
  std::uint64_t most_bytes = 0;
};

class CollectedOutput : public wire::ExecIo {
 public:
  // The buffer grows by doubling, and the answer has another copy while it is sent.
  static constexpr std::uint64_t kMemoryForAByte = 3;

  explicit CollectedOutput(const OutputRoom& room)
      : left_(room.most_bytes), charge_(room.tenant.take_anyway(0)) {}

  Taken take(wire::Stream stream, std::string_view bytes) override {
    // Charges in steps, so that a command with little output charges once.
    constexpr std::uint64_t kStep = 64U << 10U;
    const bool is_too_much = bytes.size() > left_;
    bytes = bytes.substr(0, left_);
    const std::uint64_t wanted = (output.size() + error.size() + bytes.size()) * kMemoryForAByte;
    if (wanted > charge_.amount()) {
      const std::uint64_t more = wanted - charge_.amount();
      if (!charge_.grow(more + kStep) && !charge_.grow(more)) return Taken::NoRoom;
    }
    left_ -= bytes.size();
    (stream == wire::Stream::Error ? error : output) += bytes;
    return is_too_much ? Taken::NoRoom : Taken::Yes;
  }

  std::string output;
  std::string error;

 private:
  std::uint64_t left_;
  Charge charge_;
};

}  // namespace nutshell::service
