// One request with its answer, carried in both directions at once: servers may answer before they
// have read the whole request. Bodies are framed anew. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "egress/inspect/answer_filter.h"
#include "egress/inspect/gate_request.h"
#include "egress/inspect/inspect.h"
#include "egress/inspect/stream_replacer.h"
#include "http/parser.h"
#include "http/transport.h"

namespace nutshell::egress {

// A side of the gate, with the bytes that were read from it and are not used yet.
struct GateSide {
  http::Transport* transport = nullptr;
  std::string input;
};

class Exchange {
 public:
  struct Terms {
    FlowGuard& guard;
    const InspectTimes& times;
    AnswerFilter* filter = nullptr;  // nullptr: the answer passes unchanged
    // Changes the body of the request, which then has to be chunked; nullptr: it passes unchanged.
    StreamReplacer* body = nullptr;
  };
  // The connections that may serve the next request.
  enum class After { KeepBoth, CloseServer, CloseBoth };

  // `parser` has read the head of the request; `head` is what the server gets.
  Exchange(GateSide& client, GateSide& server, const GateRequest& request,
           http::RequestParser& parser, const Terms& terms);

  void begin(std::string head) { to_server_ = std::move(head); }
  Result<After> run();

  // Whether a byte of the answer was passed on, so that no other answer can be given.
  [[nodiscard]] bool has_answered() const { return has_answered_; }
  // Whether the server sent a byte. If not, a request without a body may be sent again.
  [[nodiscard]] bool has_heard_server() const { return has_heard_server_; }

 private:
  enum class Step { Moved, Waits };
  enum class Phase { Head, Body, Tunnel, Done };
  struct Wait {
    const http::Transport* transport = nullptr;
    http::Transport::Progress progress = http::Transport::Progress::WantsRead;
  };

  Result<Step> step_up();
  Result<Step> step_down();
  Result<Step> send(GateSide& side, std::string& bytes, Wait& wait);
  Result<Step> receive(GateSide& side, Wait& wait, bool& has_ended);
  Result<Step> take_request_body();
  Result<Step> take_response_head();
  Result<Step> take_response_body();
  Result<Step> pass_tunnel(GateSide& from, std::string& to, bool& has_ended, Wait& wait);
  void write_response_head(const http::ResponseHead& head, std::string_view reason);
  void write_framing(const http::ResponseHead& head);
  [[nodiscard]] std::string framed_answer(std::string_view bytes) const;
  Result<> wait_for_either();
  [[nodiscard]] After after() const;

  GateSide& client_;
  GateSide& server_;
  const GateRequest& request_;
  http::RequestParser& request_parser_;
  http::ResponseParser response_parser_;
  Terms terms_;
  std::string to_server_;
  std::string to_client_;
  Wait wait_up_;
  Wait wait_down_;
  Phase phase_ = Phase::Head;
  bool is_request_sent_ = false;
  bool is_server_deaf_ = false;  // it takes no more of the request
  bool client_has_ended_ = false;
  bool server_has_ended_ = false;
  bool is_answer_chunked_ = false;
  bool is_answer_to_end_ = false;  // its end is the end of the connection
  bool server_keeps_alive_ = false;
  bool has_answered_ = false;
  bool has_heard_server_ = false;
};

}  // namespace nutshell::egress
