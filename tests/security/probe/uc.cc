// UC: resources that the kernel counts by user. `hold` takes as many of each as it can and keeps
// them; the test then checks on the host that the user can still get some.
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "probe.h"

namespace nutshell::probe {
namespace {

constexpr int kMost = 200'000;  // attempts after which the resource counts as unlimited

int until_refused(const std::function<bool()>& take) {
  int count = 0;
  while (count < kMost && take())
    ++count;
  return count;
}

int hold_inotify_instances() {
  return until_refused([] { return ::inotify_init1(IN_CLOEXEC) >= 0; });
}

int hold_inotify_watches() {
  const int instance = ::inotify_init1(IN_CLOEXEC);
  int number = 0;
  return until_refused([&] {
    const std::string path = scratch_directory() + "/watched" + std::to_string(number++);
    return ::mkdir(path.c_str(), 0700) == 0 &&
           ::inotify_add_watch(instance, path.c_str(), IN_CREATE) >= 0;
  });
}

int hold_queues() {
  int number = 0;
  return until_refused([&] {
    const std::string name = "/held" + std::to_string(number++);
    return ::mq_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600, nullptr) >= 0;
  });
}

int hold_signals() {
  sigset_t blocked{};
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGRTMIN);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  return until_refused([] { return ::sigqueue(::getpid(), SIGRTMIN, {}) == 0; });
}

int hold_locked_segments() {
  return until_refused([] {
    const int segment = ::shmget(IPC_PRIVATE, 64U << 10U, IPC_CREAT | 0600);
    return segment >= 0 && ::shmctl(segment, SHM_LOCK, nullptr) == 0;
  });
}

bool send_descriptors(int socket, const std::array<int, 253>& descriptors) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof descriptors);
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

int hold_descriptors_in_flight() {
  std::array<int, 253> descriptors{};
  descriptors.fill(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return 253 * until_refused([&] {
           std::array<int, 2> pair{};
           return ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair.data()) == 0 &&
                  send_descriptors(pair[0], descriptors);
         });
}

int hold_pipe_pages() {
  return until_refused([] {
    std::array<int, 2> ends{};
    return ::pipe2(ends.data(), O_CLOEXEC) == 0 && ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0;
  });
}

int hold_keys() {
  int number = 0;
  return until_refused([&] {
    const std::string name = "held" + std::to_string(number++);
    return ::syscall(SYS_add_key, "user", name.c_str(), "x", 1, -2) >= 0;
  });
}

struct Kind {
  const char* name;
  int (*hold)();
};
constexpr std::array<Kind, 8> kKinds = {{{"inotify watches", hold_inotify_watches},
                                         {"inotify instances", hold_inotify_instances},
                                         {"message queues", hold_queues},
                                         {"pending signals", hold_signals},
                                         {"locked segments", hold_locked_segments},
                                         {"descriptors in flight", hold_descriptors_in_flight},
                                         {"pipe pages", hold_pipe_pages},
                                         {"keys", hold_keys}}};

// Takes each kind in a process of its own, so that none uses up the descriptors of another.
int start_holder(const Kind& kind, int ready) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int count = kind.hold();
  std::printf("HELD %d %s\n", count, kind.name);
  std::fflush(stdout);
  const bool is_told = ::write(ready, "!", 1) == 1;
  while (is_told)
    ::pause();
  ::_exit(0);
}

}  // namespace

int hold(const Arguments& /*arguments*/) {
  std::array<int, 2> ready{};
  if (::pipe2(ready.data(), O_CLOEXEC) != 0) return 2;
  for (const Kind& kind : kKinds) {
    char byte = 0;
    if (start_holder(kind, ready[1]) < 0 || ::read(ready[0], &byte, 1) != 1) return 2;
  }
  std::puts("HOLDING");
  std::fflush(stdout);
  for (;;)
    ::pause();
}

int hog(const Arguments& arguments) {
  if (arguments.size() != 1) return 2;
  const auto size = parse_size(arguments[0]);
  auto* bytes = static_cast<char*>(
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (bytes == MAP_FAILED) return 1;
  std::memset(bytes, 1, size);
  for (;;)
    ::pause();
}

}  // namespace nutshell::probe
