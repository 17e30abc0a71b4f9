// The state of one client between its messages: the agreed revision, its running calls, and our
// requests to it. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/deadline.h"
#include "server/mcp/host.h"

namespace nutshell::mcp {

class RunningCall;

class Session {
 public:
  // A client before its handshake.
  explicit Session(Client client) : client_(std::move(client)) {}

  [[nodiscard]] Client client() const;
  void agree(std::string revision, std::string capabilities);
  [[nodiscard]] bool is_agreed() const { return !client().revision.empty(); }

  // The time of the client's last message.
  void touch() { used_ = Clock::now(); }
  [[nodiscard]] Clock::time_point used() const { return used_; }

  void set_log_level(LogLevel level);
  [[nodiscard]] LogLevel log_level() const;

  // Shared by the thread that runs the call and by those that may cancel it.
  using CallPointer = std::shared_ptr<RunningCall>;
  // False if the id is in use.
  bool add(const CallPointer& call);
  void remove(const std::string& id);
  // Returns the call that was cancelled; nullptr if it has just been answered.
  CallPointer cancel(const std::string& id);
  void cancel_all();
  [[nodiscard]] std::size_t running() const;
  // False if the deadline passes first.
  bool wait_until_quiet(const Deadline& deadline);

  void watch_resource(const std::string& uri);
  void unwatch_resource(const std::string& uri);
  [[nodiscard]] bool watches(const std::string& uri) const;

  // Our requests to the client: makes an id, and waits for the response with that id.
  std::string begin_ask();
  void take_response(const Message& response);
  Result<std::string> wait_for_response(const std::string& id, const RunningCall& call,
                                        const Deadline& deadline);
  void wake() { changed_.notify_all(); }

 private:
  static constexpr std::size_t kMostWatched = 1024;
  std::atomic<Clock::time_point> used_ = Clock::now();
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Client client_;
  LogLevel log_level_ = LogLevel::Info;
  std::map<std::string, CallPointer> calls_;
  std::set<std::string> watched_;
  std::map<std::string, std::optional<std::string>> asks_;  // id → response; nullopt until it comes
  unsigned last_ask_ = 0;
};

}  // namespace nutshell::mcp
