#include "backends/kubernetes/client/channel_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "backends/kubernetes/client/api_error.h"
#include "core/json_members.h"
#include "core/json_text.h"

namespace nutshell::kubernetes {
namespace {

using Json = nlohmann::json;

constexpr char kInput = 0;
constexpr char kOutput = 1;
constexpr char kErrorOutput = 2;
constexpr char kStatus = 3;
constexpr char kPortData = 0;
constexpr char kPortError = 1;
constexpr std::string_view kCloseInput("\xff\x00", 2);  // of v5: the channel that ends
constexpr std::size_t kMostMessage = 32U << 10U;
constexpr std::size_t kMostErrorText = 4096;
constexpr std::size_t kMostStatus = 64U << 10U;
constexpr std::size_t kPortNumber = 2;

void append_up_to(std::string& text, std::string_view more, std::size_t most) {
  text += more.substr(0, most - std::min(most, text.size()));
}

}  // namespace

Result<> ChannelTransport::take_message(std::string bytes) {
  if (bytes.empty()) return failure(ErrorCode::Corrupt, "Kubernetes sent a message of no channel");
  const char channel = bytes.front();
  std::string_view content = std::string_view(bytes).substr(1);
  if (is_exec()) {
    if (channel == kOutput) held_ += content;
    if (channel == kErrorOutput) append_up_to(error_text_, content, kMostErrorText);
    if (channel == kStatus) append_up_to(status_, content, kMostStatus);
    return {};
  }
  if (channel != kPortData && channel != kPortError)
    return failure(ErrorCode::Corrupt, "Kubernetes sent a message of an unknown channel");
  // Each channel begins with the number of the port.
  std::size_t& seen = port_bytes_.at(static_cast<std::size_t>(channel));
  const std::size_t skipped = std::min(kPortNumber - seen, content.size());
  seen += skipped;
  content.remove_prefix(skipped);
  if (channel == kPortData) {
    held_ += content;
  } else {
    append_up_to(error_text_, content, kMostErrorText);
  }
  return {};
}

Result<http::Transport::Step> ChannelTransport::read_some(char* space, std::size_t size) {
  TRY(socket_.flush());  // an earlier end_writing() may be under way
  while (held_.empty()) {
    auto received = TRY(socket_.take_next());
    may_hold_ = received.event != http::WebSocket::Event::Nothing;
    if (received.event == http::WebSocket::Event::Nothing) return Step{Progress::WantsRead, 0};
    if (received.event == http::WebSocket::Event::Closed) return Step{Progress::End, 0};
    TRY(take_message(std::move(received.bytes)));
  }
  const std::size_t count = std::min(size, held_.size());
  std::memcpy(space, held_.data(), count);
  held_.erase(0, count);
  return Step{Progress::Moved, count};
}

Result<http::Transport::Step> ChannelTransport::write_some(std::string_view bytes) {
  if (bytes.empty()) return Step{};
  if (sending_ == 0) {
    sending_ = std::min(bytes.size(), kMostMessage);
    std::string message(1, is_exec() ? kInput : kPortData);
    message += bytes.substr(0, sending_);
    if (!TRY(socket_.try_send(http::WebSocket::Kind::Binary, message)))
      return Step{Progress::WantsWrite, 0};
  } else if (!TRY(socket_.flush())) {
    return Step{Progress::WantsWrite, 0};
  }
  return Step{Progress::Moved, std::exchange(sending_, 0)};
}

void ChannelTransport::end_writing() {
  // A lost connection shows when it is read.
  if (protocol_ == Protocol::ExecV5) {
    (void)socket_.try_send(http::WebSocket::Kind::Binary, kCloseInput);
  } else {
    socket_.close(1000, "");
  }
}

Result<int> ChannelTransport::exit_code() const {
  const auto status = parse_strict(status_);
  const std::string word = status ? text_of(*status, "status") : std::string();
  if (word == "Success") return 0;
  if (word != "Failure") {
    return failure(ErrorCode::Unavailable,
                   "the connection to the pod was lost; the command may still run");
  }
  const Json* details = member(*status, "details");
  const Json* causes = details == nullptr ? nullptr : member(*details, "causes");
  if (text_of(*status, "reason") == "NonZeroExitCode" && causes != nullptr && causes->is_array()) {
    for (const Json& cause : *causes) {
      const std::string code = text_of(cause, "message");
      int value = -1;
      const char* const end = code.data() + code.size();
      const auto [stopped, error] = std::from_chars(code.data(), end, value);
      const bool is_code = error == std::errc() && stopped == end && value > 0 && value < 256;
      if (text_of(cause, "reason") == "ExitCode" && is_code) return value;
    }
  }
  return Failure(error_of(read_status(*status)));
}

}  // namespace nutshell::kubernetes
