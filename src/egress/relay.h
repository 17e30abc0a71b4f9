// The relay of one sandbox: takes what the sandbox's init asks for, decides by the policy, connects
// and carries. One thread calls run(); the other functions may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/network_policy.h"
#include "core/network_report.h"
#include "egress/event_loop.h"
#include "egress/init_stream.h"
#include "egress/inspection.h"
#include "egress/outside.h"

namespace nutshell::egress {

// Refuses a policy that cannot be kept, with words for its writer.
Result<> check_network_policy(const NetworkPolicy& policy);

class Relay {
 public:
  // Makes what the relay reaches the world by; `loop` lives longer than that.
  using MakeOutside = std::function<Result<std::unique_ptr<Outside>>(EventLoop& loop)>;

  // `environment` is what commands get because of the policy. `inspection` lives longer; null: no
  // TLS is inspected.
  static Result<std::unique_ptr<Relay>> create(InitStream stream, const NetworkPolicy& policy,
                                               std::vector<std::string> environment,
                                               const MakeOutside& make_outside,
                                               Inspection* inspection = nullptr);
  Relay() = default;
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  virtual ~Relay() = default;

  // Returns when the stream has ended, or after stop().
  virtual Result<> run() = 0;
  virtual void stop() = 0;
  // Waits until init has taken the stream: commands that start from then on have the network and
  // the environment. An error if run() has ended before.
  virtual Result<> wait_opened(const Deadline& deadline) = 0;

  // Ends the connections that the new policy does not allow. A secret without a value keeps the
  // one that it has.
  virtual Result<> set_policy(const NetworkPolicy& policy) = 0;
  // Without the values of secrets.
  [[nodiscard]] virtual NetworkStatus status() const = 0;
  // Those with a greater number that are still kept.
  [[nodiscard]] virtual std::vector<NetworkEvent> events(std::uint64_t after) const = 0;
};

}  // namespace nutshell::egress
