// Messages between nutshell-egress, which carries the connections of one sandbox, and other
// programs of its user. They go over stream sockets (message_socket.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "core/network_policy.h"
#include "core/network_report.h"
#include "wire/codec.h"

namespace nutshell::wire {

// From the program that starts it, over standard input: first the policy, which it checks and
// answers; then the sandbox, together with a stream to its init, which it answers once commands may
// start. It then no longer needs that program.
struct EgressPolicy {
  NetworkPolicy policy;  // with the values of secrets
  void fields(auto& visit) { visit(policy); }
};
struct EgressSandbox {
  std::string socket;  // the path at which it listens for questions
  void fields(auto& visit) { visit(socket); }
};

// Over that socket; one question for each connection.
struct EgressQuestion {
  enum class Kind : std::uint8_t {
    Status = 1,
    Events,
    SetPolicy,
    Stop,  // not answered: the connection closes when the program has ended
  };
  Kind kind = Kind::Status;
  std::uint64_t after = 0;  // with Events: the number of the last event that the caller has
  NetworkPolicy policy;     // with SetPolicy; a secret without a value keeps the one that it has
  void fields(auto& visit) { visit(kind, after, policy); }
};

struct EgressAnswer {
  ErrorCode code = ErrorCode::Internal;  // it succeeded if the message is empty
  std::string message;
  NetworkStatus status;              // with Status and SetPolicy
  std::vector<NetworkEvent> events;  // with Events
  void fields(auto& visit) { visit(code, message, status, events); }
};

}  // namespace nutshell::wire
