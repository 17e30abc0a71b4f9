#include "backends/native/namespaces/privilege.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

#include "base/file.h"
#include "base/random_id.h"

namespace nutshell::native {
namespace {

// Above the ids that systemd gives to containers and below 2^31: accounts and other programs do not
// use them.
constexpr uid_t kFirstHostId = 0x70000000;
constexpr uid_t kHostIds = 0x0f000000;

bool has_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  for (const unsigned capability :
       {unsigned{CAP_SYS_ADMIN}, unsigned{CAP_SETUID}, unsigned{CAP_SETGID}, unsigned{CAP_CHOWN},
        unsigned{CAP_MKNOD}, unsigned{CAP_SYS_CHROOT}, unsigned{CAP_SETPCAP},
        unsigned{CAP_NET_ADMIN}}) {
    if ((data[capability / 32].effective & (1U << (capability % 32))) == 0) return false;
  }
  return true;
}

bool maps_all_ids() {
  const auto map = read_file("/proc/self/uid_map");
  return map && map->find("4294967295") != std::string::npos;
}

}  // namespace

Privilege find_privilege() {
  return ::geteuid() == 0 && has_capabilities() && maps_all_ids() ? Privilege::Root
                                                                  : Privilege::Rootless;
}

HostIds choose_host_ids(Privilege privilege) {
  if (privilege == Privilege::Rootless) return {::geteuid(), ::getegid()};
  const auto id = kFirstHostId + static_cast<uid_t>(random_number() % kHostIds);
  return {id, id};
}

}  // namespace nutshell::native
