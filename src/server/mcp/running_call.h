// A request between its arrival and its answer. Thread-safe: one thread answers it, others may
// cancel it or report its progress.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "server/mcp/channel.h"
#include "server/mcp/host.h"
#include "server/mcp/session.h"

namespace nutshell::mcp {

class RunningCall : public Call {
 public:
  // Shared: several calls of a batch use one channel, and a session is used by calls on other
  // threads.
  struct Origin {
    std::shared_ptr<Session> session;
    std::shared_ptr<Channel> channel;
    Client client;
    std::optional<LogLevel> log_level;  // nullopt: no log messages
  };
  RunningCall(Origin origin, Message message);

  [[nodiscard]] const Client& client() const override { return origin_.client; }
  void report(double progress, double total, std::string_view text) override;
  void log(LogLevel level, std::string_view text) override;
  Result<std::string> ask(std::string_view method, std::string_view params) override;
  [[nodiscard]] std::string input_responses() const override;
  [[nodiscard]] std::string request_state() const override { return message_.text("requestState"); }
  [[nodiscard]] bool is_cancelled() const override { return is_cancelled_; }
  [[nodiscard]] int interrupt() const override { return interrupt_.get(); }

  [[nodiscard]] const Message& message() const { return message_; }
  [[nodiscard]] const std::string& id() const { return message_.id; }
  [[nodiscard]] Session& session() const { return *origin_.session; }
  [[nodiscard]] bool wants_progress() const { return !progress_token_.empty(); }
  // Reports how long the call has run, unless the host reports progress itself.
  void tick();

  void cancel();
  // Lets the call go on when its client hangs up.
  void become_task() { is_task_ = true; }
  [[nodiscard]] bool is_task() const { return is_task_; }
  void send(std::string_view message);
  // Sends the answer, once. Nothing is sent after it, nor after cancel().
  void respond(std::string_view message, int error_code);

 private:
  void send_progress(double progress, const std::string& rest);

  Origin origin_;
  Message message_;
  std::string progress_token_;  // as JSON; empty if there is none
  UniqueFd interrupt_;
  Clock::time_point began_ = Clock::now();
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<bool> is_task_ = false;
  std::mutex sending_;  // makes sure that no message follows the answer
  bool is_over_ = false;
  double progress_ = -1;
  bool reports_itself_ = false;
};

std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view name);

}  // namespace nutshell::mcp
