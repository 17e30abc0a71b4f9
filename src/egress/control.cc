#include "egress/control.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/socket.h"
#include "wire/egress_messages.h"
#include "wire/message_socket.h"

namespace nutshell::egress {
namespace {

using namespace std::chrono_literals;
using Kind = wire::EgressQuestion::Kind;

constexpr auto kQuestionTime = 2s;  // for a caller to send it, and to read the answer

wire::EgressAnswer answer_to(const wire::EgressQuestion& question, Relay& relay) {
  wire::EgressAnswer answer;
  Result<> done;
  if (question.kind == Kind::SetPolicy) done = relay.set_policy(question.policy);
  if (question.kind == Kind::Events) answer.events = relay.events(question.after);
  answer.status = relay.status();
  if (!done) {
    answer.code = done.error().code;
    answer.message = done.error().message;
  }
  return answer;
}

}  // namespace

Result<ControlSocket> ControlSocket::open(std::filesystem::path path) {
  UniqueFd listener = TRY(listen_on(path, SocketKind::Stream));
  return ControlSocket(std::move(path), std::move(listener));
}

ControlSocket::ControlSocket(ControlSocket&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      listener_(std::move(other.listener_)),
      last_caller_(std::move(other.last_caller_)) {}

ControlSocket::~ControlSocket() {
  if (!path_.empty()) ::unlink(path_.c_str());
  (void)last_caller_.release();  // the kernel closes it when this process has ended
}

void ControlSocket::serve(Relay& relay, int end) {
  std::array<pollfd, 2> polled{pollfd{end, POLLIN, 0}, pollfd{listener_.get(), POLLIN, 0}};
  for (;;) {
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;  // a signal
    if (polled[0].revents != 0) return;
    if (polled[1].revents != 0 && !answer(relay)) return;
  }
}

bool ControlSocket::answer(Relay& relay) {
  auto caller = accept_from(listener_.get());
  if (!caller) return true;
  // The directory keeps other users out, but a socket can be passed on to one.
  const auto peer = peer_of(caller->get());
  if (!peer || peer->user != ::geteuid()) return true;
  const auto question =
      wire::receive_message<wire::EgressQuestion>(caller->get(), Deadline::in(kQuestionTime));
  if (!question) return true;  // it hung up, or is of another version
  if (question->kind == Kind::Stop) {
    last_caller_ = std::move(*caller);
    return false;
  }
  (void)wire::send_message(caller->get(), answer_to(*question, relay),
                           Deadline::in(kQuestionTime));  // a caller that does not read
  return true;
}

}  // namespace nutshell::egress
