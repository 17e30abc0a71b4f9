// One connection of a sandbox, from the request to its end. Used by the thread of the event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "egress/allowance.h"
#include "egress/bridge.h"
#include "egress/carrier.h"
#include "egress/event_log.h"
#include "egress/inspect/inspect.h"
#include "egress/inspected_flows.h"
#include "egress/inspection.h"
#include "egress/judge.h"
#include "egress/name_service.h"
#include "egress/outside.h"
#include "wire/network_schema.h"

namespace nutshell::egress {

// The things that all flows of a relay share.
struct FlowContext {
  EventLoop& loop;
  InitStream& stream;
  std::function<void()> flush;  // sends what was queued in the stream
  Outside& outside;
  NameService& names;
  const Guarded<Judge>& judge;
  Allowance& allowance;
  EventLog& events;
  InspectedFlows& inspected;
  Carrier::Buffer& buffer;
  Inspection* inspection = nullptr;  // null: TLS is not inspected
  bool has_door = false;
};

class Flow {
 public:
  // `over` deletes the flow; it is called from the loop, not from within these functions.
  Flow(FlowContext& context, std::uint32_t number, std::function<void()> over)
      : context_(context), number_(number), over_(std::move(over)) {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  ~Flow();

  void open(const wire::OpenFlow& request);
  // Refuses it, because there are too many.
  void refuse_for(const wire::OpenFlow& request, std::string reason);
  // Init answers FlowOpened: the sandbox's socket itself, or that it carries the bytes.
  Result<> take_socket(UniqueFd socket);
  Result<> join();
  Result<> take_data(const wire::FlowData& data);
  Result<> take_consumed(std::uint64_t offset);
  Result<> take_end();
  void take_reset();
  void go_on() {
    if (bridge_) bridge_->go_on();
  }
  // The policy has changed: ends the flow if it is no longer allowed.
  void judge_again();
  [[nodiscard]] bool is_over() const { return state_ == State::Over; }

 private:
  enum class State : std::uint8_t {
    Resolving,
    Connecting,
    Joining,   // until init answers FlowOpened
    Checking,  // the first bytes
    Carried,
    Inspected,
    Draining,  // our side has ended, and init still carries
    Over,
  };

  void refuse(std::string reason);
  void open_by_name();
  void connect_to(const Address& address);
  void on_connected();
  void opened(int error_number, std::string reason);
  void fail(int error_number, std::string reason);
  Result<> begin_check(UniqueFd client);
  void check_first_bytes(std::uint32_t events);
  void carry();
  void inspect(const Content& content);
  void refuse_content(const std::string& reason, bool is_tls);
  void stop_watching();
  void drain();
  void end_if_drained();
  // Tells init, closes what is open, and has the flow deleted.
  void end(bool is_broken, std::string reason, bool is_refusal);
  void record(NetworkEventKind kind, std::string reason = {});

  FlowContext& context_;
  std::uint32_t number_;
  std::function<void()> over_;
  State state_ = State::Resolving;
  std::optional<Address> address_;
  std::string name_;  // if a proxy inside was told one
  std::uint16_t port_ = 0;
  Judgement judgement_;
  UniqueFd client_;
  UniqueFd server_;
  EventLoop::Watch watch_ = 0;         // of the server while it connects, then of the client
  EventLoop::Watch server_watch_ = 0;  // while the first bytes are awaited
  std::optional<EventLoop::Timer> timer_;
  std::unique_ptr<Bridge> bridge_;
  std::unique_ptr<Carrier> carrier_;
  // Steps that others call later find out by it whether the flow is still there.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  bool is_opened_ = false;
  bool is_wire_over_ = false;  // init was told, or told us, that the flow is over
};

}  // namespace nutshell::egress
