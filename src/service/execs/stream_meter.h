// What goes by on a stream to init that a client talks on by itself: each exec is counted and
// written down like one that the service runs, and so is each change of a file. What a budget does
// not allow is answered here and does not reach init. Both sides are hostile. Used by one thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "service/budgets/budgets.h"
#include "service/evidence/operations.h"
#include "service/evidence/stream_hash.h"
#include "service/model/caller.h"
#include "service/sandboxes/sandbox_table.h"
#include "wire/frame.h"

namespace nutshell::service {

class StreamMeter {
 public:
  struct Dependencies {
    Budgets& budgets;
    Operations& operations;
    // Charges the session with what its sandbox used so far.
    std::function<void(const Grip&)> count_cpu = [](const Grip&) {};
  };
  StreamMeter(const Dependencies& uses, Caller caller, Grip grip)
      : uses_(uses), caller_(std::move(caller)), grip_(std::move(grip)) {}
  StreamMeter(const StreamMeter&) = delete;
  StreamMeter& operator=(const StreamMeter&) = delete;
  ~StreamMeter();  // what still runs has lost its client

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
  Result<Budgets::Reservation> admit(ExecRequest& request);
  void refuse(std::uint32_t conversation, const Error& error, Passed& passed);
  void note_change(const wire::Frame& frame);
  Result<> take_reply(const wire::Frame& frame);
  void settle(std::map<std::uint32_t, Running>::iterator running, Ending ending, const Usage& used);
  [[nodiscard]] Subject subject() const { return {grip_.id, grip_.session, grip_.secrets}; }

  Dependencies uses_;
  Caller caller_;
  Grip grip_;
  wire::FrameReader requests_{wire::kMostRequestPayload};
  wire::FrameReader replies_{wire::kMostReplyPayload};
  std::map<std::uint32_t, Running> running_;  // by conversation
  std::string refusals_;                      // that have to wait for init's greeting
  bool has_greeted_ = false;
};

}  // namespace nutshell::service
