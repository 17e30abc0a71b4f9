#include "server/mcp/http_channel.h"

#include <fmt/format.h>

#include "server/mcp/message.h"

namespace nutshell::mcp {

http::Headers HttpChannel::headers(std::string_view type) const {
  http::Headers headers{{"Content-Type", std::string(type)}, {"Cache-Control", "no-store"}};
  if (!session_.empty()) headers.add("Mcp-Session-Id", session_);
  return headers;
}

int HttpChannel::status_of(int error_code) const {
  const bool is_unreadable = error_code == kParseError || error_code == kInvalidRequest;
  if (rule_ == StatusRule::Plain) return is_unreadable ? 400 : 200;
  switch (error_code) {
    case kMethodNotFound:
      return 404;
    case kInvalidParams:
    case kHeaderMismatch:
    case kMissingCapability:
    case kUnsupportedVersion:
      return 400;
    default:
      return is_unreadable ? 400 : 200;
  }
}

bool HttpChannel::begin_stream() {
  if (is_broken_) return false;
  if (exchange_.is_streaming()) return true;
  http::Headers head = headers("text/event-stream");
  head.add("X-Accel-Buffering", "no");
  is_broken_ = !exchange_.begin_stream(200, head);
  return !is_broken_;
}

void HttpChannel::send(std::string_view message) {
  const std::lock_guard lock(mutex_);
  // No message holds a newline: its text would have it escaped.
  if (begin_stream()) is_broken_ = !exchange_.write(fmt::format("data: {}\n\n", message));
}

void HttpChannel::respond(std::string_view message, int error_code) {
  const std::lock_guard lock(mutex_);
  if (is_broken_) return;
  if (!exchange_.is_streaming()) {
    is_broken_ = !exchange_.respond(status_of(error_code), headers("application/json"), message);
    return;
  }
  is_broken_ = !exchange_.write(fmt::format("data: {}\n\n", message)) || !exchange_.finish();
}

void HttpChannel::abandon() {
  const std::lock_guard lock(mutex_);
  if (begin_stream()) is_broken_ = !exchange_.finish();
}

bool HttpChannel::keep_alive() {
  const std::lock_guard lock(mutex_);
  if (begin_stream()) is_broken_ = !exchange_.write(": still here\n\n");
  return !is_broken_;
}

}  // namespace nutshell::mcp
