#include "server/mcp/session.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "server/mcp/running_call.h"

namespace nutshell::mcp {
namespace {

Result<std::string> result_of(const std::string& response) {
  const Json parsed = Json::parse(response);
  if (parsed.contains("result")) return dump_json(parsed["result"]);
  return failure(ErrorCode::Unavailable, "the client refused: " + dump_json(parsed["error"]));
}

}  // namespace

Client Session::client() const {
  const std::lock_guard lock(mutex_);
  return client_;
}

void Session::agree(std::string revision, std::string capabilities) {
  const std::lock_guard lock(mutex_);
  client_.revision = std::move(revision);
  client_.capabilities = std::move(capabilities);
}

void Session::set_log_level(LogLevel level) {
  const std::lock_guard lock(mutex_);
  log_level_ = level;
}

LogLevel Session::log_level() const {
  const std::lock_guard lock(mutex_);
  return log_level_;
}

bool Session::add(const CallPointer& call) {
  const std::lock_guard lock(mutex_);
  return calls_.emplace(call->id(), call).second;
}

void Session::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  calls_.erase(id);
  changed_.notify_all();
}

Session::CallPointer Session::cancel(const std::string& id) {
  CallPointer call;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(id);
    if (found == calls_.end()) return nullptr;
    call = found->second;
  }
  call->cancel();
  return call;
}

void Session::cancel_all() {
  std::map<std::string, CallPointer> calls;
  {
    const std::lock_guard lock(mutex_);
    calls = calls_;
  }
  for (const auto& [id, call] : calls)
    call->cancel();
}

std::size_t Session::running() const {
  const std::lock_guard lock(mutex_);
  return calls_.size();
}

bool Session::wait_until_quiet(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const auto is_quiet = [this] { return calls_.empty(); };
  if (deadline.is_never()) {
    changed_.wait(lock, is_quiet);
    return true;
  }
  return changed_.wait_for(lock, std::chrono::milliseconds(deadline.poll_timeout()), is_quiet);
}

void Session::watch_resource(const std::string& uri) {
  const std::lock_guard lock(mutex_);
  if (watched_.size() < kMostWatched) watched_.insert(uri);
}

void Session::unwatch_resource(const std::string& uri) {
  const std::lock_guard lock(mutex_);
  watched_.erase(uri);
}

bool Session::watches(const std::string& uri) const {
  const std::lock_guard lock(mutex_);
  return watched_.contains(uri);
}

std::string Session::begin_ask() {
  const std::lock_guard lock(mutex_);
  std::string id = fmt::format("\"nutshell-{}\"", ++last_ask_);
  asks_.emplace(id, std::nullopt);
  return id;
}

void Session::take_response(const Message& response) {
  const std::lock_guard lock(mutex_);
  const auto found = asks_.find(response.id);
  if (found == asks_.end() || found->second) return;  // not asked for, or answered twice
  found->second = dump_json(response.params());
  changed_.notify_all();
}

Result<std::string> Session::wait_for_response(const std::string& id, const RunningCall& call,
                                               const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return asks_.at(id).has_value() || call.is_cancelled(); };
  changed_.wait_for(lock, std::chrono::milliseconds(deadline.poll_timeout()), is_over);
  const auto response = std::move(asks_.at(id));
  asks_.erase(id);
  if (response) return result_of(*response);
  if (call.is_cancelled()) return failure(ErrorCode::Cancelled, "the call was cancelled");
  return failure(ErrorCode::DeadlineExceeded, "the client did not answer");
}

}  // namespace nutshell::mcp
