// Answers to inspection for one flow: whether a request may leave, and a connection for
// it. Used by the flow's own thread.
#pragma once

#include <string>

#include "egress/flow.h"
#include "egress/inspect/flow_guard.h"

namespace nutshell::egress {

class RelayGuard : public FlowGuard {
 public:
  // `server` is connected to one of the names of `judgement`, or not open.
  RelayGuard(FlowContext& context, std::uint32_t flow, Judgement judgement, UniqueFd server)
      : context_(context),
        flow_(flow),
        judgement_(std::move(judgement)),
        server_(std::move(server)) {}

  // Serves the sandbox's end of the flow until it is over.
  void serve(UniqueFd client, const Content& content, std::uint16_t port);
  EventLoop& loop() { return context_.loop; }

  Result<UniqueFd> connect(const std::string& host, std::uint16_t port) override;
  std::optional<std::string> refusal(const HttpRequestHead& head) override;
  Result<> carry(std::size_t bytes) override;
  void refused(const HttpRequestHead& head, const std::string& why) override;

 private:
  Result<UniqueFd> connect_anew(const std::string& host, std::uint16_t port);
  Result<Addresses> look_up(const std::string& host, wire::RecordType type);
  Result<UniqueFd> connect_to(const Address& address, const std::string& host, std::uint16_t port);
  void tell_command(const std::string& reason);
  void record(NetworkEventKind kind, const HttpRequestHead& head, std::string reason);

  FlowContext& context_;
  std::uint32_t flow_;
  Judgement judgement_;
  UniqueFd server_;
};

}  // namespace nutshell::egress
