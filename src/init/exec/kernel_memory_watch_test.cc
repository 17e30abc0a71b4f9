#include "init/exec/kernel_memory_watch.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <vector>

#include "base/scratch_fixture.h"
#include "init/exec/pid_namespace_fixture.h"

namespace nutshell::init {
namespace {

constexpr std::uint64_t kAll = ~0ULL;

// Returns false if there is no network namespace to be had. The caller is root of a user namespace.
bool enter_network() {
  if (::unshare(CLONE_NEWNET) != 0) return false;
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

struct Listener {
  UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};

  bool listen() {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    return ::bind(socket.get(), plain, size) == 0 && ::listen(socket.get(), 200) == 0 &&
           ::getsockname(socket.get(), plain, &size) == 0;
  }
  UniqueFd connect() const {
    UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* plain = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(client.get(), plain, sizeof address) != 0) client.reset();
    return client;
  }
};

class KernelMemoryWatchTest : public PidNamespaceTest {
 protected:
  ScratchDirectory scratch_;
};

TEST_F(KernelMemoryWatchTest, ConnectionsCountUntilTheyAreAccepted) {
  EXPECT_EQ(status_in_pid_namespace([] {
              if (!enter_network()) return 1;
              Listener listener;
              if (!listener.listen()) return 1;
              if (uncounted_socket_bytes(kAll) != 0) return 2;
              for (int i = 0; i < 100; ++i)
                if (!listener.connect()) return 3;  // the client is closed at once
              if (uncounted_socket_bytes(kAll) != 100 * 4096) return 4;
              if (uncounted_socket_bytes(8192) != 8192) return 5;
              for (int i = 0; i < 100; ++i)
                if (!UniqueFd(::accept(listener.socket.get(), nullptr, nullptr))) return 6;
              return uncounted_socket_bytes(kAll) == 0 ? 0 : 7;
            }),
            0);
}

TEST_F(KernelMemoryWatchTest, UnreadBytesOfAConnectionCount) {
  EXPECT_EQ(status_in_pid_namespace([] {
              if (!enter_network()) return 1;
              Listener listener;
              if (!listener.listen()) return 1;
              const UniqueFd client = listener.connect();
              const std::vector<char> bytes(40'000, 'x');
              if (::send(client.get(), bytes.data(), bytes.size(), 0) != 40'000) return 2;
              return uncounted_socket_bytes(kAll) == 4096 + 80'000 ? 0 : 3;
            }),
            0);
}

TEST_F(KernelMemoryWatchTest, UnreadAnswersOfNetlinkCount) {
  EXPECT_EQ(
      status_in_pid_namespace([] {
        if (!enter_network()) return 1;
        const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
        struct {
          nlmsghdr head{sizeof(nlmsghdr) + sizeof(ifinfomsg), RTM_GETLINK, NLM_F_REQUEST, 1, 0};
          ifinfomsg link{};
        } request;
        request.link.ifi_index = 1;
        for (int i = 0; i < 400; ++i)
          (void)::send(socket.get(), &request, sizeof request, MSG_DONTWAIT);
        return uncounted_socket_bytes(kAll) >= 100'000 ? 0 : 2;
      }),
      0);
}

TEST_F(KernelMemoryWatchTest, FileLocksOfItsProcessesAreCounted) {
  const auto path = scratch_.path() / "locked";
  EXPECT_EQ(status_in_pid_namespace([&] {
              const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
              if (!file || count_file_locks(kAll) != 0) return 1;
              for (int i = 0; i < 3000; ++i) {
                struct flock lock {
                  .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2L * i, .l_len = 1, .l_pid = 0
                };
                if (::fcntl(file.get(), F_SETLK, &lock) != 0) return 2;
              }
              if (count_file_locks(kAll) != 3000) return 3;
              return count_file_locks(100) == 100 ? 0 : 4;
            }),
            0);
}

TEST_F(KernelMemoryWatchTest, LooksOnlyWhileThereAreProcesses) {
  KernelMemoryWatch watch;
  EXPECT_TRUE(watch.next_look().is_never());
  watch.begin();
  EXPECT_FALSE(watch.next_look().is_never());
  watch.end();
  EXPECT_TRUE(watch.next_look().is_never());
}

}  // namespace
}  // namespace nutshell::init
