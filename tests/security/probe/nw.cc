// NW: reaching the host and other hosts through the network.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace nutshell::probe {
namespace {

constexpr int kConnectMilliseconds = 1500;
constexpr int kAnswerMilliseconds = 700;
constexpr int kListenMilliseconds = 4000;

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

std::optional<Address> parse_address(const std::string& host, const std::string& port) {
  const auto number = htons(static_cast<std::uint16_t>(parse_size(port)));
  Address address;
  auto* four = reinterpret_cast<sockaddr_in*>(&address.bytes);
  auto* six = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  if (::inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = number;
    address.size = sizeof(*four);
    return address;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) != 1) return std::nullopt;
  six->sin6_family = AF_INET6;
  six->sin6_port = number;
  address.size = sizeof(*six);
  return address;
}

Address abstract_address(const std::string& name) {
  Address address;
  auto* local = reinterpret_cast<sockaddr_un*>(&address.bytes);
  local->sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof(local->sun_path) - 1);
  std::memcpy(&local->sun_path[1], name.data(), size);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  return address;
}

Rules unreachable() {
  return {.refusals = {EPERM, EACCES, ENOSYS, ECONNREFUSED, ENETUNREACH, EHOSTUNREACH,
                       EADDRNOTAVAIL, EAFNOSUPPORT, EINVAL, ENETDOWN, ENODEV}};
}

Verdict connect_tcp(const std::string& host, const std::string& port) {
  const std::string name = host + ":" + port;
  const auto address = parse_address(host, port);
  if (!address) return unexpected(host + " is no address");
  const Descriptor client(
      ::socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!client.is_open()) return judge("socket for " + name, -1, errno, unreachable());
  if (::connect(client.get(), address->get(), address->size) == 0) return opened(name);
  if (errno != EINPROGRESS) return judge(name, -1, errno, unreachable());
  pollfd wait{.fd = client.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&wait, 1, kConnectMilliseconds) <= 0) return refused(name + " no answer");
  int error = 0;
  socklen_t size = sizeof(error);
  (void)::getsockopt(client.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return judge(name, error == 0 ? 0 : -1, error, unreachable());
}

Verdict connect_each(std::initializer_list<const char*> hosts, const std::string& port) {
  Findings findings;
  for (const auto* host : hosts)
    findings.add(connect_tcp(host, port));
  return findings.verdict();
}

Verdict host_loopback(const Arguments& arguments) {
  Findings findings;
  findings.add(connect_tcp("127.0.0.1", arguments[0]));
  findings.add(connect_tcp("::1", arguments.size() > 1 ? arguments[1] : arguments[0]));
  return findings.verdict();
}

Verdict host_aliases(const Arguments& arguments) {
  Findings findings;
  findings.add(connect_each({"0.0.0.0", "127.0.0.2", "127.255.255.254", "::", "::ffff:127.0.0.1",
                             "::ffff:0.0.0.0", "172.17.0.1", "10.0.2.2", "192.168.65.2"},
                            arguments[0]));
  for (std::size_t next = 1; next < arguments.size(); ++next) {
    findings.add(connect_tcp(arguments[next], arguments[0]));
  }
  return findings.verdict();
}

Verdict ask_by_datagram(const Address& address, const std::string& name) {
  const Descriptor client(::socket(address.bytes.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!client.is_open()) return judge("socket for " + name, -1, errno, unreachable());
  if (::connect(client.get(), address.get(), address.size) != 0) {
    return judge(name, -1, errno, unreachable());
  }
  if (::send(client.get(), "?", 1, MSG_NOSIGNAL) != 1) return judge(name, -1, errno, unreachable());
  pollfd wait{.fd = client.get(), .events = POLLIN, .revents = 0};
  char answer = 0;
  if (::poll(&wait, 1, kAnswerMilliseconds) <= 0) return refused(name + " no answer");
  const ssize_t size = ::recv(client.get(), &answer, 1, 0);
  return judge(name, size, errno, unreachable());
}

Verdict host_datagrams(const Arguments& arguments) {
  Findings findings;
  for (const auto* host : {"127.0.0.1", "0.0.0.0", "127.0.0.2"}) {
    findings.add(ask_by_datagram(*parse_address(host, arguments[0]), host));
  }
  return findings.verdict();
}

Verdict connect_abstract(const std::string& name, int type) {
  const Descriptor client(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!client.is_open()) return judge("socket", -1, errno);
  const Address address = abstract_address(name);
  const int result = ::connect(client.get(), address.get(), address.size);
  return judge("@" + name, result, errno, unreachable());
}

Verdict abstract_sockets(const Arguments& arguments) {
  Findings findings;
  findings.add(connect_abstract(arguments[0], SOCK_STREAM));
  findings.add(connect_abstract(arguments[1], SOCK_DGRAM));
  return findings.verdict();
}

Verdict connect_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return refused(path + " too long");
  std::memcpy(&address.sun_path[0], path.c_str(), path.size() + 1);
  const Descriptor client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int result =
      ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  Rules rules = path_rules();
  rules.let_through = {ECONNREFUSED, EPROTOTYPE};
  return judge(path, result, errno, rules);
}

Verdict control_sockets(const Arguments& arguments) {
  Arguments paths = {"/run/docker.sock",
                     "/var/run/docker.sock",
                     "/run/containerd/containerd.sock",
                     "/run/podman/podman.sock",
                     "/run/crio/crio.sock",
                     "/run/dbus/system_bus_socket",
                     "/run/systemd/private",
                     "/run/systemd/journal/stdout",
                     "/run/systemd/notify",
                     "/run/udev/control",
                     "/run/nutshell/nutshelld.sock",
                     "/run/user/0/bus",
                     "/run/user/1000/bus",
                     "/run/user/1000/nutshell/nutshelld.sock",
                     "/run/user/1000/gnupg/S.gpg-agent"};
  paths.insert(paths.end(), arguments.begin(), arguments.end());
  Findings findings;
  for (const auto* name : {"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
                           "NOTIFY_SOCKET", "WAYLAND_DISPLAY", "GPG_AGENT_INFO"}) {
    if (const char* value = ::getenv(name)) {
      findings.add(opened(std::string(name) + " says " + value));
    }
  }
  for (const auto& path : paths)
    findings.add(connect_path(path));
  return findings.verdict();
}

Verdict metadata_service(const Arguments&) {
  return connect_each({"169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254"},
                      "80");
}

Verdict private_ranges(const Arguments&) {
  return connect_each({"10.0.0.1", "172.16.0.1", "192.168.0.1", "192.168.1.1", "100.64.0.1",
                       "169.254.1.1", "fd00::1", "fc00::1"},
                      "80");
}

// Connecting a datagram socket asks for a route and sends nothing; the addresses are those kept
// for documentation.
Verdict find_route(const char* host) {
  const auto address = parse_address(host, "53");
  const Descriptor client(::socket(address->bytes.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!client.is_open()) return judge("socket", -1, errno, unreachable());
  const int result = ::connect(client.get(), address->get(), address->size);
  return judge(std::string("a route to ") + host, result, errno, unreachable());
}

Verdict no_route(const Arguments&) {
  Findings findings;
  for (const auto* host : {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1"}) {
    findings.add(find_route(host));
  }
  return findings.verdict();
}

Verdict visitor_from_host(const Arguments& arguments) {
  const auto address = parse_address("0.0.0.0", arguments[0]);
  const Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!server.is_open()) return judge("socket", -1, errno);
  if (::bind(server.get(), address->get(), address->size) != 0 || ::listen(server.get(), 8) != 0) {
    return judge("bind", -1, errno);
  }
  pollfd wait{.fd = server.get(), .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, kListenMilliseconds) > 0) return opened("the host connected to the port");
  return refused("nobody could connect");
}

Verdict bind_low_port(int family, const char* host) {
  const auto address = parse_address(host, "80");
  const Descriptor server(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!server.is_open()) return judge("socket", -1, errno);
  const int result = ::bind(server.get(), address->get(), address->size);
  return judge(std::string("bind ") + host + " port 80", result, errno);
}

Verdict outward_effects(const Arguments&) {
  Findings findings;
  findings.add(bind_low_port(AF_INET, "0.0.0.0"));
  findings.add(bind_low_port(AF_INET6, "::"));
  for (const auto* host : {"224.0.0.1", "255.255.255.255", "ff02::1"}) {
    findings.add(find_route(host));
  }
  return findings.verdict();
}

// A route of an unknown type is refused by its content only after the permission check.
Verdict add_route() {
  const Descriptor kernel(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!kernel.is_open()) return judge("route netlink", -1, errno);
  struct {
    nlmsghdr header;
    rtmsg route;
  } request{};
  request.header.nlmsg_len = sizeof(request);
  request.header.nlmsg_type = RTM_NEWROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
  request.route.rtm_family = AF_INET;
  request.route.rtm_type = 200;
  if (::send(kernel.get(), &request, sizeof(request), 0) < 0) return judge("route", -1, errno);
  struct {
    nlmsghdr header;
    nlmsgerr error;
    std::array<char, 512> rest;
  } answer{};
  if (::recv(kernel.get(), &answer, sizeof(answer), 0) < 0) return judge("route", -1, errno);
  const int error = -answer.error.error;
  return judge("new route", error == 0 ? 0 : -1, error, let_through({EINVAL, ENODEV}));
}

// Sets what the interface has already, so that a success changes nothing.
Verdict change_interface() {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::memcpy(&request.ifr_name[0], "lo", 3);
  Findings findings;
  if (::ioctl(socket.get(), SIOCGIFMTU, &request) != 0) return judge("lo", -1, errno);
  findings.add(try_call("set MTU", [&] { return ::ioctl(socket.get(), SIOCSIFMTU, &request); }));
  if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) return judge("lo", -1, errno);
  findings.add(
      try_call("set flags", [&] { return ::ioctl(socket.get(), SIOCSIFFLAGS, &request); }));
  return findings.verdict();
}

Verdict change_network(const Arguments&) {
  Findings findings;
  findings.add(in_child(add_route));
  findings.add(change_interface());
  return findings.verdict();
}

Verdict host_interfaces(const Arguments&) {
  Findings findings;
  std::vector<std::string> names = entries_of("/sys/class/net");
  struct if_nameindex* list = ::if_nameindex();
  for (auto* entry = list; entry != nullptr && entry->if_index != 0; ++entry) {
    names.emplace_back(entry->if_name);
  }
  if (list != nullptr) ::if_freenameindex(list);
  const std::string table = read_text("/proc/net/dev").value_or("");
  for (auto colon = table.find(':'); colon != std::string::npos;
       colon = table.find(':', colon + 1)) {
    const auto start = table.find_last_of(" \n", colon) + 1;
    names.push_back(table.substr(start, colon - start));
  }
  for (const auto& name : names) {
    findings.add(name == "lo" ? refused("only lo") : opened("interface " + name));
  }
  if (names.empty()) return refused("no interface is seen");
  return findings.verdict();
}

Verdict host_vsock(const Arguments&) {
  Findings findings;
  findings.add(try_call("AF_VSOCK",
                        [] { return ::socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0); },
                        {.refusals = {EPERM, EACCES, ENOSYS, EAFNOSUPPORT}}));
  findings.add(try_open("/dev/vsock", O_RDONLY));
  return findings.verdict();
}

}  // namespace

Probes network_probes() {
  return {
      {"NW-01", "host-loopback", "TCP to the host's 127.0.0.1 and ::1", "PORT [PORT6]",
       host_loopback},
      {"NW-02", "host-aliases", "the same by other addresses of the host", "PORT [ADDRESS...]",
       host_aliases},
      {"NW-03", "host-udp", "UDP to a service of the host", "PORT", host_datagrams},
      {"NW-04", "abstract", "abstract unix sockets of the host", "STREAM DATAGRAM",
       abstract_sockets},
      {"NW-05", "control-sockets", "docker, dbus, systemd, agents, our own", "[SOCKET...]",
       control_sockets},
      {"NW-06", "metadata", "the cloud's metadata service", "", metadata_service},
      {"NW-07", "private-ranges", "private, shared and link-local addresses", "", private_ranges},
      {"NW-08", "no-route", "find any route out", "", no_route},
      {"NW-18", "visitor", "listen and be reached from the host", "PORT", visitor_from_host},
      {"NW-19", "outward", "low ports, multicast, broadcast", "", outward_effects},
      {"NW-21", "reconfigure", "change routes, MTU, interface flags", "", change_network},
      {"NW-22", "interfaces", "see the host's interfaces", "", host_interfaces},
      {"NW-24", "vsock", "vsock to the host", "", host_vsock},
  };
}

}  // namespace nutshell::probe
