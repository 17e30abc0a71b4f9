#include "egress/host_network.h"

#include <ares.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

namespace nutshell::egress {
namespace {

using namespace std::chrono_literals;

constexpr auto kQueryTime = 3s;
constexpr int kTries = 2;
constexpr std::size_t kMostAddresses = 32;  // of one answer
constexpr auto kLongestTime = 1h;

// Whether packets to the internet could leave; connecting a UDP socket sends none.
bool has_route_of_six() {
  const auto address = Address::parse("2000::1");
  sockaddr_storage storage{};
  const socklen_t size = address->to_socket_address(53, storage);
  const UniqueFd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return socket && ::connect(socket.get(), reinterpret_cast<sockaddr*>(&storage), size) == 0;
}

std::optional<Address> address_of(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(address);
    return Address::of_bytes({reinterpret_cast<const char*>(&four->sin_addr), 4});
  }
  const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
  return Address::of_bytes({reinterpret_cast<const char*>(&six->sin6_addr), 16});
}

// c-ares calls it back when a query ends; it may be deleted only then.
struct Query {
  Outside::TakeAddresses take;
  std::size_t* open = nullptr;
};

void take_answer(void* argument, int status, int /*timeouts*/, ares_addrinfo* found) {
  const std::unique_ptr<Query> query(static_cast<Query*>(argument));
  --*query->open;
  if (status == ARES_EDESTRUCTION || status == ARES_ECANCELLED) return;
  Addresses answer;
  answer.time_to_live = kLongestTime;
  if (status == ARES_SUCCESS || status == ARES_ENODATA) {
    answer.resolution = wire::Resolution::Found;
  } else if (status == ARES_ENOTFOUND) {
    answer.resolution = wire::Resolution::NoSuchName;
  } else {
    answer.reason = ::ares_strerror(status);
  }
  if (found != nullptr) {
    for (const auto* node = found->nodes; node != nullptr; node = node->ai_next) {
      const auto address = address_of(node->ai_addr);
      if (!address || answer.addresses.size() == kMostAddresses) continue;
      answer.addresses.push_back(*address);
      answer.time_to_live =
          std::min(answer.time_to_live, std::chrono::seconds(std::max(node->ai_ttl, 0)));
    }
    ::ares_freeaddrinfo(found);
  }
  query->take(answer);
}

class HostNetwork : public Outside {
 public:
  explicit HostNetwork(EventLoop& loop) : loop_(loop), has_six_(has_route_of_six()) {}
  HostNetwork(const HostNetwork&) = delete;
  HostNetwork& operator=(const HostNetwork&) = delete;
  ~HostNetwork() override { close_channel(); }

  Result<> begin() {
    if (::ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
      return failure(ErrorCode::Internal, "c-ares: cannot begin");
    return {};
  }

  void resolve(const std::string& name, wire::RecordType type, TakeAddresses take) override {
    if (type == wire::RecordType::Address6 && !has_six_) {
      // This machine could not connect to them.
      return take({.resolution = wire::Resolution::Found,
                   .addresses = {},
                   .time_to_live = 60s,
                   .reason = {}});
    }
    if (auto ready = open_channel(); !ready)
      return take({.addresses = {}, .reason = std::move(ready).error().message});
    ares_addrinfo_hints hints{};
    hints.ai_flags = ARES_AI_NOSORT;
    hints.ai_family = type == wire::RecordType::Address4 ? AF_INET : AF_INET6;
    hints.ai_socktype = SOCK_STREAM;
    auto query = std::make_unique<Query>(Query{std::move(take), &open_queries_});
    ++open_queries_;
    ::ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, take_answer, query.release());
    set_timer();
  }

  Connecting connect(const Address& address, std::uint16_t port,
                     const std::string& /*name*/) override {
    sockaddr_storage storage{};
    const socklen_t size = address.to_socket_address(port, storage);
    UniqueFd socket(
        ::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
    if (!socket) return {{}, errno};
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&storage), size) != 0 &&
        errno != EINPROGRESS) {
      return {{}, errno};
    }
    return {std::move(socket), 0};
  }

 private:
  // Reads /etc/resolv.conf again after it changed, once no query is open.
  Result<> open_channel() {
    struct stat now {};
    ::stat("/etc/resolv.conf", &now);
    const auto changed = std::pair(now.st_mtim.tv_sec, now.st_mtim.tv_nsec);
    if (channel_ != nullptr && (changed == configured_ || open_queries_ > 0)) return {};
    close_channel();
    configured_ = changed;
    ares_options options{};
    options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
    options.timeout = static_cast<int>(std::chrono::milliseconds(kQueryTime).count());
    options.tries = kTries;
    options.sock_state_cb = [](void* self, ares_socket_t socket, int reads, int writes) {
      static_cast<HostNetwork*>(self)->set_watch(socket, reads != 0, writes != 0);
    };
    options.sock_state_cb_data = this;
    options.ndomains = 0;  // names are whole: rules do not know of search domains
    const int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_DOMAINS |
                     ARES_OPT_SOCK_STATE_CB;
    const int status = ::ares_init_options(&channel_, &options, mask);
    if (status == ARES_SUCCESS) return {};
    channel_ = nullptr;
    return failure(ErrorCode::Unavailable,
                   fmt::format("read /etc/resolv.conf: {}", ::ares_strerror(status)));
  }

  void close_channel() {
    if (channel_ != nullptr) ::ares_destroy(std::exchange(channel_, nullptr));
    for (const auto& [socket, watch] : watches_)
      loop_.forget(watch);
    watches_.clear();
    forget_timer();
  }

  void set_watch(int socket, bool reads, bool writes) {
    const std::uint32_t events = (reads ? EPOLLIN : 0U) | (writes ? EPOLLOUT : 0U);
    const auto found = watches_.find(socket);
    if (events == 0) {
      if (found == watches_.end()) return;
      loop_.forget(found->second);
      watches_.erase(found);
      return;
    }
    if (found != watches_.end()) return loop_.change(found->second, events);
    auto watch = loop_.watch(socket, events, [this, socket](std::uint32_t ready) {
      const bool is_broken = (ready & (EPOLLERR | EPOLLHUP)) != 0;
      ::ares_process_fd(channel_, is_broken || (ready & EPOLLIN) != 0 ? socket : ARES_SOCKET_BAD,
                        (ready & EPOLLOUT) != 0 ? socket : ARES_SOCKET_BAD);
      set_timer();
    });
    if (watch) watches_.emplace(socket, *watch);
  }

  void set_timer() {
    forget_timer();
    timeval left{};
    if (channel_ == nullptr || ::ares_timeout(channel_, nullptr, &left) == nullptr) return;
    const auto span = std::chrono::seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec);
    timer_ = loop_.call_at(Clock::now() + span + 1ms, [this] {
      timer_.reset();
      ::ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
      set_timer();
    });
  }

  void forget_timer() {
    if (timer_) loop_.forget_timer(*timer_);
    timer_.reset();
  }

  EventLoop& loop_;
  bool has_six_;
  ares_channel channel_ = nullptr;
  std::pair<time_t, long> configured_;
  std::size_t open_queries_ = 0;
  std::map<int, EventLoop::Watch> watches_;
  std::optional<EventLoop::Timer> timer_;
};

}  // namespace

Result<std::unique_ptr<Outside>> make_host_network(EventLoop& loop) {
  auto network = std::make_unique<HostNetwork>(loop);
  TRY(network->begin());
  return std::unique_ptr<Outside>(std::move(network));
}

}  // namespace nutshell::egress
