// Makes a socket of a flow whose bytes come and go in frames, so that everything else handles
// sockets only. Used by the thread of the event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "egress/event_loop.h"
#include "egress/init_stream.h"

namespace nutshell::egress {

class Bridge {
 public:
  // `moved` is called by the loop after bytes moved: messages may be queued in `stream`, and the
  // flow may be over. It must not delete the bridge.
  Bridge(EventLoop& loop, InitStream& stream, std::uint32_t flow, std::function<void()> moved)
      : loop_(loop), stream_(stream), flow_(flow), moved_(std::move(moved)) {}
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;
  ~Bridge() { loop_.forget(watch_); }

  // Returns the socket whose bytes are those of the sandbox.
  Result<UniqueFd> begin();

  // Messages of init; an error if it breaks the protocol.
  Result<> take_data(std::string_view bytes);
  Result<> take_consumed(std::uint64_t offset);
  void take_end();
  // Whether both directions have ended, so that the flow is over.
  [[nodiscard]] bool is_over() const { return has_sent_end_ && is_end_passed_on_; }
  // Queues no more messages: the flow is over.
  void stop();
  // There is room in the stream again.
  void go_on() { pump(); }

 private:
  // Most bytes that wait in the stream to init, of all flows together.
  static constexpr std::size_t kMostQueued = 1U << 20U;

  void pump();
  void write_pending();
  void read_some();

  EventLoop& loop_;
  InitStream& stream_;
  std::uint32_t flow_;
  std::function<void()> moved_;
  UniqueFd socket_;
  EventLoop::Watch watch_ = 0;
  std::string pending_;  // from init, not written yet
  std::size_t written_ = 0;
  std::uint64_t from_init_ = 0;
  std::uint64_t passed_on_ = 0;
  std::uint64_t told_ = 0;  // the last FlowConsumed
  std::uint64_t to_init_ = 0;
  std::uint64_t consumed_ = 0;  // by init
  bool has_init_ended_ = false;
  bool is_end_passed_on_ = false;
  bool has_sent_end_ = false;
};

}  // namespace nutshell::egress
