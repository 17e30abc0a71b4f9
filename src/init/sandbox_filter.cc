#include "init/sandbox_filter.h"

namespace nutshell {
namespace {

constexpr sock_filter kFilter[] = {
#include "sandbox.seccomp.inc"
};

constexpr sock_filter kFilterWithNetwork[] = {
#include "sandbox_network.seccomp.inc"
};

}  // namespace

std::span<const sock_filter> sandbox_filter(SocketsOfCommands sockets) {
  if (sockets == SocketsOfCommands::MayBeTaken) return kFilterWithNetwork;
  return kFilter;
}

}  // namespace nutshell
