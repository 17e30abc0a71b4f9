// The network of the host, as the relay of a sandbox uses it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "egress/address.h"
#include "wire/network_schema.h"

namespace nutshell::egress {

struct Addresses {
  wire::Resolution resolution = wire::Resolution::Failed;
  std::vector<Address> addresses;
  std::chrono::seconds time_to_live{0};
  std::string reason;  // where it failed
};

// A socket that connects, or has connected, and does not block; or the reason why there is none.
struct Connecting {
  UniqueFd socket;
  int error_number = 0;
};

// Used by the thread of the relay's event loop.
class Outside {
 public:
  virtual ~Outside() = default;

  using TakeAddresses = std::function<void(const Addresses&)>;
  // Calls `take` once, now or later, unless this object ends before.
  virtual void resolve(const std::string& name, wire::RecordType type, TakeAddresses take) = 0;
  // `name` led to the address, or is empty.
  virtual Connecting connect(const Address& address, std::uint16_t port,
                             const std::string& name) = 0;
};

}  // namespace nutshell::egress
