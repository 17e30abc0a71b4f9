#include "daemon/server_limits.h"

#include <sys/resource.h>

#include <algorithm>

namespace nutshell::daemon {
namespace {

// There are up to four listeners: HTTP and gRPC, each on a Unix socket and on TCP.
constexpr std::size_t kDescriptorsPerConnection = 8;

std::size_t fitting_connections(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const auto fitting = static_cast<std::size_t>(limit.rlim_cur / kDescriptorsPerConnection);
  return std::min(wanted, std::max<std::size_t>(fitting, 16));
}

std::size_t part_of(const Config& config, std::string_view key, std::size_t all,
                    std::size_t divisor) {
  const std::size_t wanted = config.number(key);
  return wanted != 0 ? wanted : std::max<std::size_t>(1, all / divisor);
}

}  // namespace

http::ServerLimits server_limits(const Config& config) {
  http::ServerLimits limits;
  limits.connections = fitting_connections(config.number("limits.connections"));
  limits.connections_of_tenant =
      part_of(config, "limits.connections_of_tenant", limits.connections, 4);
  limits.connections_of_stranger =
      part_of(config, "limits.connections_of_address", limits.connections, 8);
  limits.workers = config.number("limits.workers");
  limits.workers_of_tenant = part_of(config, "limits.workers_of_tenant", limits.workers, 4);
  limits.body_bytes = config.number("limits.body_bytes");
  limits.body_bytes_of_tenant =
      part_of(config, "limits.body_bytes_of_tenant", limits.body_bytes, 4);
  return limits;
}

}  // namespace nutshell::daemon
