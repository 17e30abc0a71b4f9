#include "backends/docker/container/direct_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

#include <optional>
#include <system_error>
#include <thread>

#include "base/file.h"
#include "base/socket.h"

namespace nutshell::docker {
namespace {

Result<UniqueFd> connect_within(int network, const char* name) {
  if (::setns(network, CLONE_NEWNET) != 0) return syscall_failure("enter", "network namespace");
  return connect_to(name, SocketKind::Stream);
}

// Enters the namespace in a thread of its own, so that the other threads stay where they are.
Result<UniqueFd> connect_in(int network, const char* name) {
  std::optional<Result<UniqueFd>> stream;
  try {
    std::thread([&] { stream.emplace(connect_within(network, name)); }).join();
  } catch (const std::system_error& error) {
    return failure(ErrorCode::ResourceExhausted, std::string("start a thread: ") + error.what());
  }
  return std::move(*stream);
}

}  // namespace

Result<ContainerProcess> ContainerProcess::open(pid_t number) {
  return ContainerProcess(number,
                          TRY(open_file(fmt::format("/proc/{}", number), O_RDONLY | O_DIRECTORY)));
}

Result<UniqueFd> ContainerProcess::connect(const char* name) const {
  const UniqueFd network = TRY(open_at(directory_.get(), "ns/net", O_RDONLY));
  UniqueFd stream = TRY(connect_in(network.get(), name));
  const Peer peer = TRY(peer_of(stream.get()));
  if (peer.process != number_) {
    return failure(ErrorCode::PermissionDenied,
                   fmt::format("process {} listens on init's socket instead of init, process {}",
                               peer.process, number_));
  }
  return stream;
}

}  // namespace nutshell::docker
