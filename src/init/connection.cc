#include "init/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/descriptor_message.h"

namespace nutshell::init {
namespace {

constexpr std::size_t kMostConversations = 256;
constexpr std::size_t kMostPending = 1U << 20U;
constexpr std::chrono::milliseconds kGreetingPatience{2};

}  // namespace

Connection::Connection(UniqueFd stream) : stream_(std::move(stream)) {
  wire::append_frame(pending_, 0, wire::Hello{});
  greeting_bytes_ = pending_.size();
}

Connection::~Connection() {
  close();
}

void Connection::close() {
  stream_.reset();
  life_.reset();
  for (auto& [number, conversation] : conversations_)
    conversation->disconnected();
  conversations_.clear();
}

short Connection::wanted_events() const {
  // A host that sends requests but reads no replies is not read from either.
  const int reading = pending_.size() < kMostPending ? POLLIN : 0;
  return static_cast<short>(reading | (is_blocked_ ? POLLOUT : 0));
}

bool Connection::is_writing() const {
  return std::any_of(conversations_.begin(), conversations_.end(),
                     [](const auto& item) { return item.second->is_writing(); });
}

std::vector<int> Connection::awaited_descriptors() const {
  std::vector<int> descriptors;
  for (const auto& [number, conversation] : conversations_) {
    if (conversation->descriptor() >= 0) descriptors.push_back(conversation->descriptor());
  }
  return descriptors;
}

Deadline Connection::next_deadline() const {
  Deadline next = greeting_due_ && !has_sent_ ? *greeting_due_ : Deadline::never();
  for (const auto& [number, conversation] : conversations_)
    next = earlier(next, conversation->deadline());
  return next;
}

void Connection::progress() {
  for (auto& [number, conversation] : conversations_)
    conversation->progress();
}

void Connection::read_available(const Opener& open) {
  const auto [space, size] = reader_.space();
  const ssize_t count = ::recv(stream_.get(), space, size, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return close();
  reader_.filled(static_cast<std::size_t>(count));
  while (stream_) {
    auto frame = reader_.next();
    if (!frame) return close();
    if (!*frame) return;
    if (!dispatch(**frame, open)) return close();
  }
}

Result<> Connection::greet(const wire::Frame& frame) {
  const auto hello = frame.type == wire::MessageType::Hello
                         ? wire::decode<wire::Hello>(frame.payload)
                         : Result<wire::Hello>(wire::Hello{0, 0});
  if (!hello || hello->magic != wire::kMagic || hello->version != wire::kVersion) {
    return failure(ErrorCode::Corrupt,
                   "the host speaks another protocol, or another version of it");
  }
  has_greeted_ = true;
  return {};
}

Result<> Connection::dispatch(const wire::Frame& frame, const Opener& open) {
  if (!has_greeted_) return greet(frame);
  if (frame.conversation == 0) return failure(ErrorCode::Corrupt, "conversation 0 is the greeting");
  const auto found = conversations_.find(frame.conversation);
  if (found != conversations_.end()) return found->second->receive(frame);
  if (conversations_.size() >= kMostConversations) {
    fail_conversation(frame.conversation, {ErrorCode::ResourceExhausted, "too many at once"});
    return {};
  }
  auto opened = open(frame);
  if (!opened) {
    // Messages for a conversation that has just ended may still arrive; they break no rule.
    if (opened.error().code != ErrorCode::Cancelled) {
      fail_conversation(frame.conversation, opened.error());
    }
    return {};
  }
  conversations_.emplace(frame.conversation, std::move(*opened));
  return {};
}

void Connection::fail_conversation(std::uint32_t conversation, const Error& error) {
  wire::append_frame(pending_, conversation, wire::Failed{error.code, error.message});
}

ssize_t Connection::send_once() {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (!descriptor_) return ::send(stream_.get(), pending_.data(), pending_.size(), kFlags);
  const int descriptor = descriptor_.get();
  const ssize_t count = send_with_descriptors(stream_.get(), pending_, {&descriptor, 1}, kFlags);
  if (count > 0) descriptor_.reset();
  return count;
}

bool Connection::send_pending() {
  while (!pending_.empty()) {
    const ssize_t count = send_once();
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      is_blocked_ = true;
      return false;
    }
    if (count < 0) {
      close();
      return false;
    }
    has_sent_ = true;
    pending_.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

// Round robin: begins with the conversation after the last served one.
bool Connection::take_next_frame() {
  auto candidate = conversations_.upper_bound(last_served_);
  for (std::size_t tried = 0; tried < conversations_.size(); ++tried, ++candidate) {
    if (candidate == conversations_.end()) candidate = conversations_.begin();
    const auto frame = candidate->second->ready();
    if (!frame) continue;
    last_served_ = candidate->first;
    pending_ += *frame;
    candidate->second->sent();
    if (UniqueFd descriptor = candidate->second->descriptor_to_send()) {
      descriptor_ = std::move(descriptor);
    }
    if (candidate->second->is_over()) conversations_.erase(candidate);
    return true;
  }
  return false;
}

// A host that sends a request before our Hello does not wait for it: if the answer is ready soon,
// both are sent together.
bool Connection::holds_greeting() {
  if (has_sent_ || conversations_.empty() || pending_.size() > greeting_bytes_) return false;
  if (!greeting_due_) greeting_due_ = Deadline::in(kGreetingPatience);
  return !greeting_due_->has_passed();
}

// Sends small frames together: the last output and the end of an exec cost the host one wake-up.
void Connection::write_available() {
  is_blocked_ = false;
  while (stream_) {
    while (pending_.size() < wire::kMostData && take_next_frame()) {
    }
    if (pending_.empty() || holds_greeting() || !send_pending()) return;
  }
}

}  // namespace nutshell::init
