#include "backends/native/cgroups/systemd_scope.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "backends/native/cgroups/dbus_message.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/random_id.h"
#include "base/socket.h"
#include "base/unique_fd.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kSerial = 1;
constexpr std::string_view kPrefix = "nutshell-";
constexpr std::string_view kSuffix = ".scope";
constexpr std::size_t kDigits = 16;
constexpr std::size_t kMostGreeting = 4096;

Failure silent() {
  return failure(ErrorCode::DeadlineExceeded, "the user's service manager does not answer");
}

// Unlike connect_to(), never waits: a manager that hangs has a full queue at some time.
Result<UniqueFd> connect_at_once(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = socket.native();
  if (path.size() >= sizeof address.sun_path)
    return failure(ErrorCode::NotFound, fmt::format("{} is too long for a socket", path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return syscall_failure("socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return fd;
  if (errno == EAGAIN) return silent();
  return failure(ErrorCode::NotFound, fmt::format("no user manager listens at {}", path));
}

// The connection to the manager. Its requests are small enough for any socket buffer.
class Connection {
 public:
  Connection(UniqueFd socket, const Deadline& deadline)
      : socket_(std::move(socket)), deadline_(deadline) {}

  Result<> send(std::string_view bytes) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(bytes.size())) return {};
    return failure(ErrorCode::Unavailable, "the user's service manager takes no request");
  }

  // Appends what comes next to `bytes`.
  Result<> receive(std::string& bytes) {
    pollfd polled{socket_.get(), POLLIN, 0};
    while (::poll(&polled, 1, deadline_.poll_timeout()) <= 0) {
      if (deadline_.has_passed()) return silent();
    }
    std::array<char, 4096> part{};
    const ssize_t count = ::recv(socket_.get(), part.data(), part.size(), 0);
    if (count <= 0)
      return failure(ErrorCode::Unavailable, "the user's service manager closed the connection");
    bytes.append(part.data(), static_cast<std::size_t>(count));
    return {};
  }

 private:
  UniqueFd socket_;
  Deadline deadline_;
};

// D-Bus begins with lines of text: the user's id in hexadecimal digits of its decimal digits.
Result<> authenticate(Connection& connection) {
  std::string id;
  for (const char digit : std::to_string(::geteuid()))
    id += fmt::format("{:02x}", static_cast<unsigned>(digit));
  TRY(connection.send(std::string(1, '\0') + "AUTH EXTERNAL " + id + "\r\n"));
  std::string answer;
  while (answer.find("\r\n") == std::string::npos) {
    if (answer.size() > kMostGreeting) return failure(ErrorCode::Corrupt, "it is no D-Bus socket");
    TRY(connection.receive(answer));
  }
  if (!answer.starts_with("OK "))
    return failure(ErrorCode::PermissionDenied, "the user's service manager knows another user");
  return connection.send("BEGIN\r\n");
}

void begin_property(DbusWriter& body, std::string_view name, std::string_view type) {
  body.align(8);
  body.text(name);
  body.signature(type);
}

// StartTransientUnit(name, mode, properties, auxiliary units) with the signature ssa(sv)a(sa(sv)).
std::string scope_request(const std::string& name) {
  DbusWriter body;
  body.text(name);
  body.text("fail");
  const auto properties = body.begin_array(8);
  begin_property(body, "Description", "s");
  body.text("Nutshell sandboxes");
  begin_property(body, "PIDs", "au");
  const auto processes = body.begin_array(4);
  body.integer(static_cast<std::uint32_t>(::getpid()));
  body.end_array(processes);
  begin_property(body, "Delegate", "b");
  body.integer(1);
  begin_property(body, "CollectMode", "s");  // without it, a scope that failed would stay
  body.text("inactive-or-failed");
  body.end_array(properties);
  body.end_array(body.begin_array(8));
  return encode_call(kSerial, {"/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                               "StartTransientUnit", "ssa(sv)a(sa(sv))", body.bytes()});
}

Result<> wait_for_reply(Connection& connection) {
  std::string bytes;
  for (;;) {
    const auto message = TRY(take_message(bytes));
    if (!message) {
      TRY(connection.receive(bytes));
      continue;
    }
    if (message->reply_to != kSerial) continue;  // signals come on the same connection
    if (message->kind == DbusMessage::Kind::Return) return {};
    return failure(
        ErrorCode::Unavailable,
        fmt::format("the user's service manager: {}",
                    message->error_text.empty() ? message->error_name : message->error_text));
  }
}

// The reply only says that the manager will do it.
Result<> wait_until_inside(const std::string& name, const Deadline& deadline) {
  for (;;) {
    const std::string own = TRY(read_file("/proc/self/cgroup"));
    if (own.find("/" + name + "\n") != std::string::npos) return {};
    if (deadline.has_passed())
      return failure(ErrorCode::DeadlineExceeded, "the user's service manager made no scope");
    std::this_thread::sleep_for(500us);
  }
}

}  // namespace

bool is_own_scope(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  return name.size() == kDigits && name.find_first_not_of("0123456789abcdef") == name.npos;
}

std::filesystem::path user_systemd_socket() {
  auto place = environment_path("XDG_RUNTIME_DIR");
  if (place.empty()) place = fmt::format("/run/user/{}", ::geteuid());
  return place / "systemd" / "private";
}

Result<std::string> join_delegated_scope(const std::filesystem::path& socket,
                                         const Deadline& deadline) {
  UniqueFd connected = TRY(connect_at_once(socket));
  if (TRY(peer_of(connected.get())).user != ::geteuid())
    return failure(ErrorCode::PermissionDenied, "the service manager belongs to another user");
  Connection connection(std::move(connected), deadline);
  TRY(authenticate(connection));
  const std::string name = fmt::format("{}{}{}", kPrefix, random_id(kDigits), kSuffix);
  TRY(connection.send(scope_request(name)));
  TRY(wait_for_reply(connection));
  TRY(wait_until_inside(name, deadline));
  return name;
}

}  // namespace nutshell::native
