#include "init/network/name_server.h"

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t kPort = 53;
constexpr std::size_t kMostWaiting = 256;
constexpr std::size_t kMostStreams = 16;
constexpr std::size_t kMostPacket = 1024;  // a question is shorter, whatever it carries besides
constexpr int kPacketsAtOnce = 32;         // so that a flood leaves time for others
constexpr auto kAnswerTime = 30s;
constexpr auto kStreamTime = 10s;
constexpr std::uint32_t kLocalSeconds = 3600;
// Numbers of the two sockets among the events; streams have higher ones.
constexpr std::uint64_t kDatagrams = 1;
constexpr std::uint64_t kListener = 2;

Result<UniqueFd> open_socket(int type) {
  const SocketAddress address = loopback_4(kPort);
  UniqueFd socket(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::bind(socket.get(), address.pointer(), address.size) != 0 ||
      (type == SOCK_STREAM && ::listen(socket.get(), static_cast<int>(kMostStreams)) != 0)) {
    return syscall_failure("answer look-ups of names on port 53");
  }
  return socket;
}

NameCode code_of(wire::Resolution resolution) {
  switch (resolution) {
    case wire::Resolution::Found:
      return NameCode::Good;
    case wire::Resolution::NoSuchName:
    // "Refused" would tell clients to try again later, and some do so for a minute.
    case wire::Resolution::NotAllowed:
      return NameCode::NoSuchName;
    case wire::Resolution::Failed:
      break;
  }
  return NameCode::ServerFailure;
}

std::vector<std::string> local_addresses(std::uint16_t type) {
  if (type == static_cast<std::uint16_t>(wire::RecordType::Address4)) {
    return {std::string("\x7f\0\0\1", 4)};
  }
  return {std::string(15, '\0') + '\1'};
}

}  // namespace

Result<NameServer> NameServer::create(UniqueFd datagrams, UniqueFd listener, Ask ask) {
  NameServer server;
  server.datagrams_ = datagrams ? std::move(datagrams) : TRY(open_socket(SOCK_DGRAM));
  server.listener_ = listener ? std::move(listener) : TRY(open_socket(SOCK_STREAM));
  server.ask_ = std::move(ask);
  server.last_stream_ = kListener;
  server.events_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!server.events_) return syscall_failure("epoll_create");
  server.watch(server.datagrams_.get(), kDatagrams, EPOLLIN);
  server.watch(server.listener_.get(), kListener, EPOLLIN);
  return server;
}

void NameServer::watch(int descriptor, std::uint64_t number, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  (void)::epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event);  // else it times out
}

Deadline NameServer::deadline() const {
  // Numbers rise with time, so the first that waits is the first to time out.
  Deadline next = waiting_.empty() ? Deadline::never() : waiting_.begin()->second.deadline;
  for (const auto& [number, stream] : streams_)
    next = earlier(next, stream.deadline);
  return next;
}

void NameServer::progress() {
  std::array<epoll_event, 16> events{};
  const int count = ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t number = events[static_cast<std::size_t>(i)].data.u64;
    if (number == kDatagrams) {
      read_datagrams();
    } else if (number == kListener) {
      accept_streams();
    } else if (const auto found = streams_.find(number); found != streams_.end()) {
      read_stream(number, found->second);
      write_stream(found->second);
    }
  }
  expire();
}

void NameServer::expire() {
  while (!waiting_.empty() && waiting_.begin()->second.deadline.has_passed()) {
    reply(waiting_.begin()->second, NameCode::ServerFailure, 0, {});
    waiting_.erase(waiting_.begin());
  }
  std::erase_if(streams_, [](const auto& item) {
    return item.second.is_done || item.second.deadline.has_passed();
  });
}

void NameServer::read_datagrams() {
  std::array<char, kMostPacket> space{};
  for (int i = 0; i < kPacketsAtOnce; ++i) {
    Waiting from;
    const ssize_t count = ::recvfrom(datagrams_.get(), space.data(), space.size(), MSG_TRUNC,
                                     from.client.pointer(), &from.client.size);
    if (count < 0) return;
    const auto size = static_cast<std::size_t>(count);
    if (size <= space.size()) take({space.data(), size}, std::move(from));
  }
}

void NameServer::accept_streams() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  // The stream that was opened first gives way.
  if (streams_.size() >= kMostStreams) streams_.erase(streams_.begin());
  const std::uint64_t number = ++last_stream_;
  watch(socket.get(), number, EPOLLIN);
  Stream& stream = streams_[number];
  stream.socket = std::move(socket);
  stream.deadline = Deadline::in(kStreamTime);
}

// Each message follows two bytes with its size.
void NameServer::read_stream(std::uint64_t number, Stream& stream) {
  constexpr std::size_t kSizeBytes = 2;
  std::array<char, kMostPacket> space{};
  const ssize_t count = ::recv(stream.socket.get(), space.data(), space.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    stream.is_done = true;
    return;
  }
  stream.incoming.append(space.data(), static_cast<std::size_t>(count));
  while (stream.incoming.size() >= kSizeBytes) {
    const std::size_t size =
        static_cast<std::size_t>(static_cast<unsigned char>(stream.incoming[0])) << 8U |
        static_cast<unsigned char>(stream.incoming[1]);
    if (size > kMostPacket) {
      stream.is_done = true;
      return;
    }
    if (stream.incoming.size() < kSizeBytes + size) return;
    Waiting from;
    from.stream = number;
    take(std::string_view(stream.incoming).substr(kSizeBytes, size), std::move(from));
    stream.incoming.erase(0, kSizeBytes + size);
  }
}

// Answers are small: a client that does not read them loses its stream.
void NameServer::write_stream(Stream& stream) {
  if (stream.outgoing.empty()) return;
  const ssize_t count = ::send(stream.socket.get(), stream.outgoing.data(), stream.outgoing.size(),
                               MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count != static_cast<ssize_t>(stream.outgoing.size())) stream.is_done = true;
  stream.outgoing.clear();
}

void NameServer::take(std::string_view packet, Waiting from) {
  auto query = parse_name_query(packet);
  if (!query) return;
  from.query = std::move(*query);
  if (!from.query.is_for_host) return reply(from, from.query.code, 0, {});
  if (is_local_name(from.query.name)) {
    return reply(from, NameCode::Good, kLocalSeconds, local_addresses(from.query.type));
  }
  if (waiting_.size() >= kMostWaiting) return reply(from, NameCode::ServerFailure, 0, {});
  from.deadline = Deadline::in(kAnswerTime);
  const std::uint32_t number = ++last_query_;
  const auto [place, is_new] = waiting_.emplace(number, std::move(from));
  ask_(number, place->second.query);
}

void NameServer::reply(const Waiting& to, NameCode code, std::uint32_t seconds_to_live,
                       const std::vector<std::string>& addresses) {
  const std::string answer = write_name_answer(to.query, code, seconds_to_live, addresses);
  if (to.stream == 0) {
    // A client that is gone gets no answer.
    (void)::sendto(datagrams_.get(), answer.data(), answer.size(), MSG_DONTWAIT,
                   to.client.pointer(), to.client.size);
    return;
  }
  const auto found = streams_.find(to.stream);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  stream.outgoing += static_cast<char>(answer.size() >> 8U & 0xffU);
  stream.outgoing += static_cast<char>(answer.size() & 0xffU);
  stream.outgoing += answer;
  stream.deadline = Deadline::in(kStreamTime);
  write_stream(stream);
}

void NameServer::ask_again() {
  for (const auto& [number, waiting] : waiting_)
    ask_(number, waiting.query);
}

void NameServer::fail_all() {
  for (const auto& [number, waiting] : waiting_)
    reply(waiting, NameCode::ServerFailure, 0, {});
  waiting_.clear();
}

std::string NameServer::answer(const wire::Resolved& resolved) {
  const auto found = waiting_.find(resolved.query);
  if (found == waiting_.end()) return {};
  reply(found->second, code_of(resolved.resolution), resolved.seconds_to_live, resolved.addresses);
  std::string name = std::move(found->second.query.name);
  waiting_.erase(found);
  return name;
}

}  // namespace nutshell::init
