#include "http/connection.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include "base/defer.h"
#include "http/server.h"

namespace nutshell::http {
namespace {

using Progress = Transport::Progress;

constexpr std::size_t kReadBytes = 16U << 10U;
constexpr std::size_t kMostLingeringBytes = 4U << 20U;
constexpr auto kLingerTime = std::chrono::seconds(2);

// Without `admit`, every client counts as the owner.
Admission first_admission(const ServerLimits& limits, const Remote& remote) {
  Admission admission;
  if (limits.admit && !is_owner(remote)) admission.caller_kind = CallerKind::Stranger;
  return admission;
}

}  // namespace

Connection::Connection(std::unique_ptr<Transport> transport, Remote remote,
                       const ServerLimits& limits, ConnectionPlaces& places)
    : limits_(limits),
      transport_(std::move(transport)),
      remote_(std::move(remote)),
      admission_(first_admission(limits, remote_)),
      place_(places, group_of(admission_, remote_)),
      deadline_(Deadline::in(limits.head_time)) {}

Connection::RequestState Connection::refuse(Refusal refusal) {
  refusal_ = std::move(refusal);
  is_refused_ = true;
  return RequestState::Refused;
}

Connection::RequestState Connection::shake_hands() {
  const auto step = transport_->handshake();
  if (!step || step->progress == Progress::End) return RequestState::Gone;
  if (step->progress == Progress::WantsRead) return RequestState::WantsRead;
  if (step->progress == Progress::WantsWrite) return RequestState::WantsWrite;
  is_shaken_ = true;
  remote_.certificate_name = transport_->certificate_name();
  remote_.certificate_end = transport_->certificate_end();
  return RequestState::Request;
}

Connection::RequestState Connection::read_more() {
  // Reads into the stack first, so that thousands of idle connections hold no unused memory.
  std::array<char, kReadBytes> space;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const auto step = transport_->read_some(space.data(), space.size());
  if (!step || step->progress == Progress::End) return RequestState::Gone;
  if (step->progress == Progress::WantsRead) return RequestState::WantsRead;
  if (step->progress == Progress::WantsWrite) return RequestState::WantsWrite;
  if (input_.empty() && !has_head_) deadline_ = Deadline::in(limits_.head_time);
  input_.append(space.data(), step->bytes);
  return RequestState::Request;
}

Connection::RequestState Connection::linger() {
  for (;;) {
    std::array<char, kReadBytes> space;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    const auto step = transport_->read_some(space.data(), space.size());
    if (!step || step->progress == Progress::End) return RequestState::Gone;
    if (step->progress == Progress::WantsRead) return RequestState::WantsRead;
    if (step->progress == Progress::WantsWrite) return RequestState::WantsWrite;
    lingered_ += step->bytes;
    if (lingered_ > kMostLingeringBytes) return RequestState::Gone;
  }
}

void Connection::begin_lingering() {
  transport_->end_writing();
  is_lingering_ = true;
  deadline_ = Deadline::in(kLingerTime);
}

Connection::RequestState Connection::take_head() {
  // Some clients send an empty line after a body.
  while (input_.starts_with("\r\n"))
    input_.erase(0, 2);
  const std::size_t length = head_length(input_);
  if (length > limits_.header_bytes || (length == 0 && input_.size() > limits_.header_bytes)) {
    const bool has_line = input_.find("\r\n") < limits_.header_bytes;
    return refuse({has_line ? 431 : 414, "the head of the request is too long"});
  }
  if (length == 0) return RequestState::WantsRead;
  if (auto refusal = parser_.take_head(std::string_view(input_).substr(0, length), head_)) {
    return refuse(std::move(*refusal));
  }
  input_.erase(0, length);
  has_head_ = true;
  if (limits_.admit) {
    admission_ = limits_.admit(head_, remote_);
    place_.move_to(group_of(admission_, remote_));
  }
  return RequestState::Request;
}

bool Connection::awaits_body() const {
  // The body of a stranger is never read.
  if (admission_.caller_kind == CallerKind::Stranger) return false;
  return head_.content_length && *head_.content_length <= limits_.awaited_body_bytes &&
         head_.headers.find("Expect") == nullptr;
}

Result<std::size_t> Connection::decode_into(char* space, std::size_t size) {
  const BodyStep step = TRY(parser_.take_body(input_, space, size));
  // The head of a chunk is short. A longer one is an attack.
  if (step.consumed == 0 && step.produced == 0 && input_.size() > limits_.header_bytes) {
    return failure(ErrorCode::InvalidArgument, "the body is broken: a chunk's head is too long");
  }
  input_.erase(0, step.consumed);
  return step.produced;
}

Connection::RequestState Connection::take_awaited_body() {
  std::array<char, kReadBytes> space;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (!parser_.is_done() && !input_.empty()) {
    const auto count = decode_into(space.data(), space.size());
    if (!count) return refuse({400, count.error().message});
    if (*count == 0) break;
    body_.append(space.data(), *count);
  }
  return parser_.is_done() ? RequestState::Request : RequestState::WantsRead;
}

Connection::RequestState Connection::advance() {
  if (is_lingering_) return linger();
  if (is_refused_) return RequestState::Refused;
  if (!is_shaken_) {
    const RequestState state = shake_hands();
    if (state != RequestState::Request) return state;
  }
  for (;;) {
    RequestState state = RequestState::WantsRead;
    if (!has_head_ && !input_.empty()) state = take_head();
    if (state == RequestState::Refused) return state;
    if (has_head_) state = awaits_body() ? take_awaited_body() : RequestState::Request;
    if (state != RequestState::WantsRead) return state;
    state = read_more();
    if (state != RequestState::Request) return state;
  }
}

Result<> Connection::await_input(std::size_t most, const Deadline& deadline, BodyWait* wait) {
  RequestState state = read_more();
  if (state == RequestState::Request) return {};
  if (state == RequestState::Gone) return failure(ErrorCode::Unavailable, "the body was cut off");
  if (wait != nullptr) wait->begin(admission_.holder);
  const Defer ended([wait, this] {
    if (wait != nullptr) wait->end(admission_.holder);
  });
  const std::size_t before = input_.size();
  input_.resize(before + most);
  auto got = transport_->read(input_.data() + before, most, deadline);
  input_.resize(before + (got ? *got : 0));
  if (TRY(got) == 0) return failure(ErrorCode::Unavailable, "the body was cut off");
  return {};
}

Result<std::string> Connection::read_body(std::size_t most, const Deadline& deadline,
                                          BodyWait* wait) {
  if (!body_.empty()) {
    std::string piece = body_.substr(0, most);
    body_.erase(0, piece.size());
    return piece;
  }
  std::string piece(std::min<std::size_t>(most, 64U << 10U), '\0');
  while (!parser_.is_done()) {
    const std::size_t count = TRY(decode_into(piece.data(), piece.size()));
    if (count > 0) {
      piece.resize(count);
      return piece;
    }
    if (parser_.is_done()) break;
    TRY(await_input(piece.size(), deadline, wait));
  }
  return std::string();
}

int Connection::hang_up_descriptor() {
  if (is_released()) return -1;
  if (hang_up_.is_open()) return hang_up_.get();
  UniqueFd watcher(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  // A Unix socket distinguishes a close from a half-close; a TCP connection does not.
  event.events = remote_.process ? EPOLLHUP : EPOLLRDHUP | EPOLLHUP;
  const int socket = transport_->descriptor();
  if (!watcher || ::epoll_ctl(watcher.get(), EPOLL_CTL_ADD, socket, &event) != 0) return -1;
  hang_up_ = std::move(watcher);
  return hang_up_.get();
}

void Connection::begin_next() {
  parser_ = RequestParser();
  head_ = RequestHead();
  body_ = std::string();  // frees the memory too, as for the input
  if (input_.empty()) input_ = std::string();
  has_head_ = false;
  idle_since_ = Clock::now();
  deadline_ = Deadline::in(input_.empty() ? limits_.idle_time : limits_.head_time);
}

}  // namespace nutshell::http
