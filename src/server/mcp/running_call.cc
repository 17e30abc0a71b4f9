#include "server/mcp/running_call.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "core/json_text.h"

namespace nutshell::mcp {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerTime = 600s;  // a person may have to be asked
constexpr auto kRootsTime = 5s;     // the client knows them
constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};

std::string token_of(const Message& message) {
  const auto meta = message.params().find("_meta");
  if (meta == message.params().end() || !meta->is_object()) return {};
  const auto token = meta->find("progressToken");
  if (token == meta->end() || (!token->is_string() && !token->is_number_integer())) return {};
  return dump_json(*token);
}

}  // namespace

std::string_view to_string(LogLevel level) {
  return kLevels.at(static_cast<std::size_t>(level));
}

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < kLevels.size(); ++i)
    if (kLevels.at(i) == name) return static_cast<LogLevel>(i);
  return std::nullopt;
}

bool Client::can(std::string_view capability) const {
  const Json declared = Json::parse(capabilities, nullptr, false);
  try {
    return declared.contains(Json::json_pointer(fmt::format("/{}", capability)));
  } catch (const Json::exception&) {
    return false;  // a part of the path is not an object
  }
}

RunningCall::RunningCall(Origin origin, Message message)
    : origin_(std::move(origin)),
      message_(std::move(message)),
      progress_token_(token_of(message_)),
      interrupt_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void RunningCall::report(double progress, double total, std::string_view text) {
  std::string rest;
  if (total > 0) rest += fmt::format(",\"total\":{}", total);
  if (!text.empty()) rest += fmt::format(",\"message\":{}", json_string(text));
  {
    const std::lock_guard lock(sending_);
    reports_itself_ = true;
  }
  send_progress(progress, rest);
}

void RunningCall::tick() {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_);
  {
    const std::lock_guard lock(sending_);
    if (reports_itself_) return;
  }
  if (seconds < 1s) return;
  send_progress(static_cast<double>(seconds.count()),
                fmt::format(",\"message\":\"running for {} s\"", seconds.count()));
}

// Values that do not grow are dropped: the protocol forbids them.
void RunningCall::send_progress(double progress, const std::string& rest) {
  if (!wants_progress() || is_cancelled()) return;
  const std::lock_guard lock(sending_);
  if (is_over_ || progress <= progress_) return;
  progress_ = progress;
  origin_.channel->send(notification(
      "notifications/progress",
      fmt::format(R"({{"progressToken":{},"progress":{}{}}})", progress_token_, progress, rest)));
}

void RunningCall::log(LogLevel level, std::string_view text) {
  if (!origin_.log_level || level < *origin_.log_level) return;
  send(notification("notifications/message", fmt::format(R"({{"level":"{}","data":{}}})",
                                                         to_string(level), json_string(text))));
}

Result<std::string> RunningCall::ask(std::string_view method, std::string_view params) {
  if (client().is_stateless() || client().revision.empty())
    return failure(ErrorCode::Unsupported, "this revision has no requests to the client");
  const std::string id = session().begin_ask();
  send(request_message(id, method, params));
  const auto patience = method == "roots/list" ? kRootsTime : kAnswerTime;
  return session().wait_for_response(id, *this, Deadline::in(patience));
}

std::string RunningCall::input_responses() const {
  return message_.params().contains("inputResponses") ? dump_json(message_.object("inputResponses"))
                                                      : "";
}

void RunningCall::cancel() {
  is_cancelled_ = true;
  const std::uint64_t one = 1;
  // Fails only if the counter is full, and then the descriptor is readable anyway.
  (void)!::write(interrupt_.get(), &one, sizeof(one));
  session().wake();
}

void RunningCall::send(std::string_view message) {
  const std::lock_guard lock(sending_);
  if (!is_over_ && !is_cancelled_) origin_.channel->send(message);
}

void RunningCall::respond(std::string_view message, int error_code) {
  const std::lock_guard lock(sending_);
  if (std::exchange(is_over_, true)) return;
  if (is_cancelled_) {
    origin_.channel->abandon();
  } else {
    origin_.channel->respond(message, error_code);
  }
}

}  // namespace nutshell::mcp
