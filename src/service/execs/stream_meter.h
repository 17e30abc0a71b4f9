// Reads the frames between a client and the init that it talks to directly. Each exec and each
// change of a file is counted and recorded as if the service had done it. An exec beyond the budget
// is refused here and does not reach init. Both sides are hostile. Used by one thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "service/budgets/budgets.h"
#include "service/evidence/operations.h"
#include "service/evidence/stream_hash.h"
#include "service/model/caller.h"
#include "service/sandboxes/sandbox_operations.h"
#include "wire/frame.h"

namespace nutshell::service {

class StreamMeter {
 public:
  struct Dependencies {
    Budgets& budgets;
    Operations& operations;
    // Charges the session with what its sandbox used so far.
    std::function<void(const SandboxRef&)> count_cpu = [](const SandboxRef&) {};
  };
  StreamMeter(const Dependencies& uses, Caller caller, SandboxRef ref)
      : uses_(uses), caller_(std::move(caller)), ref_(std::move(ref)) {}
  StreamMeter(const StreamMeter&) = delete;
  StreamMeter& operator=(const StreamMeter&) = delete;
  ~StreamMeter();  // records execs that still run as lost by their client

  struct Passed {
    std::string to_init;
    std::string to_client;
  };
  Result<Passed> from_client(std::string_view bytes);
  Result<Passed> from_init(std::string_view bytes);

  [[nodiscard]] bool is_idle() const { return running_.empty(); }

 private:
  struct Running {
    Operation operation;
    Budgets::Reservation reservation;
    bool outlives_client = false;
    StreamHash input;
    StreamHash output;
    StreamHash error;
  };

  Result<> take_request(const wire::Frame& frame, Passed& passed);
  Result<> begin_exec(const wire::Frame& frame, Passed& passed);
  Result<Budgets::Reservation> admit(wire::Exec& exec);
  void refuse(std::uint32_t conversation, const Error& error, Passed& passed);
  void note_change(const wire::Frame& frame);
  Result<> take_reply(const wire::Frame& frame);
  void settle(std::map<std::uint32_t, Running>::iterator running, Ending ending, const Usage& used);

  Dependencies uses_;
  Caller caller_;
  SandboxRef ref_;
  wire::FrameReader requests_{wire::kMostRequestPayload};
  wire::FrameReader replies_{wire::kMostReplyPayload};
  std::map<std::uint32_t, Running> running_;  // by conversation
  std::string refusals_;                      // sent to the client after init's greeting
  bool has_greeted_ = false;
};

}  // namespace nutshell::service
