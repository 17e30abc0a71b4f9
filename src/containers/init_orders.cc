#include "containers/init_orders.h"

#include <fmt/format.h>

#include "containers/container_layout.h"
#include "wire/start_report.h"
#include "wire/tree_stream.h"

namespace nutshell::containers {
namespace {

void set_variable(std::vector<std::string>& environment, const std::string& variable) {
  const std::size_t equals = variable.find('=');
  if (equals == 0 || equals == std::string::npos || variable.find('\0') != std::string::npos)
    return;
  const std::string_view name = std::string_view(variable).substr(0, equals + 1);
  std::erase_if(environment, [name](const std::string& known) { return known.starts_with(name); });
  environment.push_back(variable);
}

}  // namespace

std::vector<std::string> environment_for(const std::vector<std::string>& image_environment,
                                         const std::vector<std::string>& sandbox_environment) {
  std::vector<std::string> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
      "SHELL=/bin/sh"};
  for (const std::string& variable : image_environment)
    set_variable(environment, variable);
  for (const std::string& variable : {std::string("HOME=") + kHomeDirectory,
                                      std::string("USER=sandbox"), std::string("LOGNAME=sandbox")})
    set_variable(environment, variable);
  for (const std::string& variable : sandbox_environment)
    set_variable(environment, variable);
  return environment;
}

wire::ContainerOrders orders_for(const SandboxSpec& spec, Lifetime lifetime,
                                 const std::vector<std::string>& image_environment) {
  wire::ContainerOrders orders;
  orders.ttl_ms = static_cast<std::uint64_t>(spec.ttl.count());
  orders.idle_ms = static_cast<std::uint64_t>(spec.idle_timeout.count());
  orders.environment = environment_for(image_environment, spec.environment);
  orders.working_directory = spec.working_directory;
  orders.open_files = spec.limits.open_files;
  orders.has_network = mode_of(spec.network) == NetworkMode::None ? 0 : 1;
  orders.store = kStoreDirectory;
  orders.ends_with_connection = lifetime == Lifetime::Kept ? 0 : 1;
  orders.awaits_release = lifetime == Lifetime::Kept ? 1 : 0;
  return orders;
}

Result<> bring_workspace(int stream, const std::string& directory,
                         const std::function<void(const std::string&)>& show) {
  const auto special = TRY(wire::bring_directory(stream, directory, Deadline::in(wire::kCopyTime)));
  if (special.count > 0 && show) show(special.text(directory) + '\n');
  return {};
}

Result<> check_native_fields(const SandboxSpec& spec) {
  if (spec.keep_caches == KeepCaches::Yes) {
    return failure(ErrorCode::Unsupported,
                   "keep-caches: only the native backend keeps caches; leave it out, or put them "
                   "into an image");
  }
  if (spec.mounts.empty()) return {};
  return failure(
      ErrorCode::Unsupported,
      fmt::format("mount {}: only the native backend can show a directory of this machine "
                  "without sharing its sockets and locks; copy it in with --copy, or "
                  "share it with --unsafe-mount SRC:DST:ro",
                  spec.mounts.front().source));
}

}  // namespace nutshell::containers
