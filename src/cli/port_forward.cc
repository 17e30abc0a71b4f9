#include "cli/port_forward.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <charconv>
#include <list>
#include <thread>

#include "base/guarded.h"
#include "cli/report.h"
#include "cli/signal_events.h"
#include "http/server.h"
#include "runtime/dial.h"

namespace nutshell::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostConnections = 256;
constexpr auto kInitTime = 10s;

std::optional<std::uint16_t> port_in(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

// The connections that are open, each with a thread.
class Connections {
 public:
  Connections(Runtime& runtime, std::string id)
      : runtime_(runtime),
        id_(std::move(id)),
        stop_(::eventfd(0, EFD_CLOEXEC)),
        has_ended_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;
  ~Connections() {
    ::eventfd_write(stop_.get(), 1);
    open_.clear();  // waits for them
  }

  [[nodiscard]] bool is_full() const { return open_.size() >= kMostConnections; }
  // Readable when a connection has ended.
  [[nodiscard]] int descriptor() const { return has_ended_.get(); }

  void add(UniqueFd socket, std::uint16_t port) {
    Connection& one = open_.emplace_back();
    one.thread = std::jthread([this, &one, port, socket = std::move(socket)]() mutable {
      carry(std::move(socket), port);
      one.is_over = true;
      ::eventfd_write(has_ended_.get(), 1);
    });
  }

  void remove_ended() {
    eventfd_t ignored = 0;
    ::eventfd_read(has_ended_.get(), &ignored);
    open_.remove_if([](const Connection& one) { return one.is_over.load(); });
  }

 private:
  struct Connection {
    std::atomic<bool> is_over = false;
    std::jthread thread;
  };

  void carry(UniqueFd socket, std::uint16_t port) {
    auto connection = InsideConnection::dial(runtime_, id_, port);
    if (!connection) {
      // The client sees that nobody answered, not an answer without a byte.
      constexpr linger kAtOnce{1, 0};
      (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &kAtOnce, sizeof kAtOnce);
      return report(connection.error().message);
    }
    const auto carried = connection->carry(std::move(socket), stop_.get());
    report(carried ? std::string() : carried.error().message);
  }

  // Prints an error, but not again and again the same.
  void report(const std::string& message) {
    const bool is_new = last_error_.with(
        [&](std::string& last) { return std::exchange(last, message) != message; });
    if (is_new && !message.empty()) print_error(message);
  }

  Runtime& runtime_;
  std::string id_;
  UniqueFd stop_;
  UniqueFd has_ended_;
  Guarded<std::string> last_error_;
  std::list<Connection> open_;  // last: its threads use the rest
};

}  // namespace

Result<ForwardedPort> parse_forwarded_port(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto inside = port_in(std::string_view(text).substr(0, colon));
  const auto local =
      colon == std::string::npos ? inside : port_in(std::string_view(text).substr(colon + 1));
  if (!inside || *inside == 0 || !local) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("'{}' is not PORT or PORT:LOCAL, such as 8080 or 8080:3000", text));
  }
  return ForwardedPort{*inside, *local};
}

Result<> listen(ForwardedPort& port) {
  auto listener = http::listen_on_tcp("127.0.0.1", port.local);
  if (!listener) {
    return failure(listener.error().code,
                   fmt::format("{}; choose another port with {}:LOCAL, or any free one with {}:0",
                               listener.error().message, port.inside, port.inside));
  }
  port.local = TRY(http::port_of(listener->get()));
  port.listener = std::move(*listener);
  return {};
}

Result<> forward_ports(Runtime& runtime, const std::string& id,
                       const std::vector<ForwardedPort>& ports) {
  SignalEvents signals;  // before there are threads, which inherit what is blocked
  // This stream ends with the sandbox.
  wire::InitClient life(TRY(runtime.open_stream(id)));
  TRY(life.ping(Deadline::in(kInitTime)));
  Connections connections(runtime, id);
  for (;;) {
    std::vector<pollfd> watched{{signals.descriptor(), POLLIN, 0},
                                {life.channel().descriptor(), POLLRDHUP, 0},
                                {connections.descriptor(), POLLIN, 0}};
    const std::size_t own = watched.size();
    for (const ForwardedPort& port : ports)
      watched.push_back({connections.is_full() ? -1 : port.listener.get(), POLLIN, 0});
    if (::poll(watched.data(), watched.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return syscall_failure("poll");
    }
    if (watched[0].revents != 0) {
      const auto event = signals.next();
      if (event && !std::holds_alternative<WindowSize>(*event)) return {};
    }
    if (watched[1].revents != 0) {
      print_error(fmt::format("the sandbox {} has ended, and its ports with it", id));
      return {};
    }
    connections.remove_ended();
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (watched[own + i].revents == 0 || connections.is_full()) continue;
      UniqueFd socket(::accept4(ports[i].listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (socket) connections.add(std::move(socket), ports[i].inside);
    }
  }
}

}  // namespace nutshell::cli
