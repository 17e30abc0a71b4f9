#include "backends/native/filters/seccomp.h"

#include <linux/filter.h>

#include "base/seccomp_filter.h"

namespace nutshell {
namespace {

constexpr sock_filter kSandboxFilter[] = {
#include "sandbox.seccomp.inc"
};

constexpr sock_filter kNetworkFilter[] = {
#include "sandbox_network.seccomp.inc"
};

}  // namespace

Result<> filter_system_calls(ForNetwork network) {
  if (network == ForNetwork::Yes) return install_seccomp_filter(kNetworkFilter);
  return install_seccomp_filter(kSandboxFilter);
}

}  // namespace nutshell
