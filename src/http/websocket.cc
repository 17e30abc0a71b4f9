#include "http/websocket.h"

#include <fmt/format.h>
#include <poll.h>

#include <boost/beast/core/detail/base64.hpp>
#include <boost/beast/core/detail/sha1.hpp>
#include <utility>

#include "base/file.h"
#include "base/random_id.h"
#include "base/utf8.h"

namespace nutshell::http {
namespace {

constexpr unsigned kContinuation = 0;
constexpr unsigned kText = 1;
constexpr unsigned kBinary = 2;
constexpr unsigned kClose = 8;
constexpr unsigned kPing = 9;
constexpr unsigned kPong = 10;
constexpr std::size_t kMostControlBytes = 125;

std::string base64(const void* bytes, std::size_t size) {
  namespace base64 = boost::beast::detail::base64;
  std::string text(base64::encoded_size(size), '\0');
  text.resize(base64::encode(text.data(), bytes, size));
  return text;
}

unsigned byte_at(std::string_view bytes, std::size_t index) {
  return static_cast<unsigned char>(bytes[index]);
}

void mask(std::string& bytes, std::string_view key) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(bytes[i] ^ key[i % 4]);
}

}  // namespace

std::string websocket_accept_of(std::string_view key) {
  namespace detail = boost::beast::detail;
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  detail::sha1_context context;
  detail::init(context);
  detail::update(context, text.data(), text.size());
  std::array<char, detail::sha1_context::digest_size> digest{};
  detail::finish(context, digest.data());
  return base64(digest.data(), digest.size());
}

std::string new_websocket_key() {
  const std::array<std::uint64_t, 2> random = {random_number(), random_number()};
  return base64(random.data(), sizeof random);
}

struct WebSocket::Frame {
  bool is_last = false;
  unsigned opcode = 0;
  std::string bytes;
};

Failure WebSocket::breach(int code, std::string_view why) {
  close(code, why);
  is_closed_ = true;
  return failure(ErrorCode::Corrupt, fmt::format("WebSocket: {}", why));
}

// Returns true if a whole frame was there.
Result<bool> WebSocket::take_frame(Frame& frame) {
  if (input_.size() < 2) return false;
  const unsigned first = byte_at(input_, 0);
  const unsigned second = byte_at(input_, 1);
  const bool is_masked = (second & 0x80U) != 0;
  if ((first & 0x70U) != 0) return breach(1002, "a reserved bit is set");
  if (is_masked != (options_.role == Role::Server)) return breach(1002, "wrongly masked");
  std::uint64_t length = second & 0x7fU;
  const std::size_t extra = length == 127 ? 8 : length == 126 ? 2 : 0;
  if (input_.size() < 2 + extra) return false;
  if (extra > 0) length = 0;
  for (std::size_t i = 0; i < extra; ++i)
    length = length << 8U | byte_at(input_, 2 + i);
  if (length > options_.most_message_bytes) return breach(1009, "the message is too long");
  frame.is_last = (first & 0x80U) != 0;
  frame.opcode = first & 0x0fU;
  const bool is_control = (frame.opcode & 8U) != 0;
  if (is_control && (!frame.is_last || length > kMostControlBytes)) {
    return breach(1002, "a control frame is too long or in parts");
  }
  const std::size_t head = 2 + extra + (is_masked ? 4 : 0);
  if (input_.size() < head || input_.size() - head < length) return false;
  frame.bytes = input_.substr(head, length);
  if (is_masked) mask(frame.bytes, std::string_view(input_).substr(head - 4, 4));
  input_.erase(0, head + length);
  return true;
}

Result<> WebSocket::take_data(Frame& frame, Received& received) {
  const bool begins = frame.opcode != kContinuation;
  if (begins == is_in_message_) return breach(1002, "the parts of a message are out of order");
  if (begins) {
    message_kind_ = frame.opcode == kText ? Kind::Text : Kind::Binary;
    message_.clear();
    is_in_message_ = true;
  }
  if (message_.size() + frame.bytes.size() > options_.most_message_bytes) {
    return breach(1009, "the message is too long");
  }
  message_ += frame.bytes;
  if (!frame.is_last) return {};
  is_in_message_ = false;
  if (message_kind_ == Kind::Text && !is_utf8(message_)) return breach(1007, "not UTF-8");
  received = {Event::Message, message_kind_, std::move(message_)};
  message_.clear();
  return {};
}

Result<> WebSocket::take_control(Frame& frame, Received& received) {
  switch (frame.opcode) {
    case kPing:
      return send_frame(kPong, frame.bytes);
    case kPong:
      return {};
    case kClose:
      close(1000, "");
      is_closed_ = true;
      received.event = Event::Closed;
      return {};
    default:
      return breach(1002, "an unknown kind of frame");
  }
}

// Returns true if bytes came.
Result<bool> WebSocket::read_more() {
  std::array<char, 16384> space;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
  const auto step = TRY(transport_->read_some(space.data(), space.size()));
  if (step.progress == Transport::Progress::End) is_closed_ = true;
  input_.append(space.data(), step.bytes);
  return step.bytes > 0;
}

Result<WebSocket::Received> WebSocket::take_next() {
  Received received;
  while (!is_closed_) {
    Frame frame;
    if (!TRY(take_frame(frame))) {
      if (!TRY(read_more()) && !is_closed_) return received;
      continue;
    }
    const bool is_data = frame.opcode <= kBinary;
    TRY(is_data ? take_data(frame, received) : take_control(frame, received));
    if (received.event != Event::Nothing) return received;
  }
  received.event = Event::Closed;
  return received;
}

Result<WebSocket::Received> WebSocket::next(const Deadline& deadline) {
  for (;;) {
    Received received = TRY(take_next());
    if (received.event != Event::Nothing) return received;
    if (!TRY(wait_for(descriptor(), POLLIN, deadline))) return received;
  }
}

Result<> WebSocket::send(Kind kind, std::string_view bytes) {
  return send_frame(kind == Kind::Text ? kText : kBinary, bytes);
}

Result<bool> WebSocket::try_send(Kind kind, std::string_view bytes) {
  if (has_said_end_) return failure(ErrorCode::Unavailable, "the WebSocket is closed");
  add_frame(kind == Kind::Text ? kText : kBinary, bytes);
  return flush();
}

Result<bool> WebSocket::flush() {
  while (!unsent_.empty()) {
    const auto step = TRY(transport_->write_some(unsent_));
    if (step.progress == Transport::Progress::End)
      return failure(ErrorCode::Unavailable, "the other side of the WebSocket is gone");
    if (step.bytes == 0) return false;
    unsent_.erase(0, step.bytes);
  }
  return true;
}

void WebSocket::add_frame(unsigned opcode, std::string_view bytes) {
  std::string& frame = unsent_;
  frame += static_cast<char>(0x80U | opcode);
  const unsigned mask_bit = options_.role == Role::Client ? 0x80U : 0U;
  const std::size_t extra = bytes.size() > 0xffff ? 8 : bytes.size() > 125 ? 2 : 0;
  const std::size_t shown = extra == 8 ? 127 : extra == 2 ? 126 : bytes.size();
  frame += static_cast<char>(mask_bit | shown);
  for (std::size_t i = extra; i > 0; --i)
    frame += static_cast<char>(static_cast<std::uint64_t>(bytes.size()) >> (8 * (i - 1)) & 0xffU);
  if (options_.role == Role::Client) {
    const std::string key = random_id(4);
    std::string hidden(bytes);
    mask(hidden, key);
    frame += key + hidden;
  } else {
    frame += bytes;
  }
}

Result<> WebSocket::send_frame(unsigned opcode, std::string_view bytes) {
  if (has_said_end_) return failure(ErrorCode::Unavailable, "the WebSocket is closed");
  add_frame(opcode, bytes);
  const std::string frames = std::exchange(unsent_, {});
  return transport_->write(frames, Deadline::in(options_.write_stall));
}

void WebSocket::close(int code, std::string_view reason) {
  if (has_said_end_) return;
  std::string bytes;
  bytes += static_cast<char>(code >> 8);
  bytes += static_cast<char>(code & 0xff);
  bytes += reason.substr(0, kMostControlBytes - 2);
  (void)send_frame(kClose, bytes);  // the other side may be gone already
  has_said_end_ = true;
  transport_->end_writing();
}

}  // namespace nutshell::http
