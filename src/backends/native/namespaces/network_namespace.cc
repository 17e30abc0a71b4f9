#include "backends/native/namespaces/network_namespace.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/defer.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

constexpr std::size_t kMostSocketCounts = 1024;
constexpr std::size_t kMostCounters = 64U << 10U;

// "TCP: inuse 0 orphan 0 tw 0 …": the number behind `key` in the line that begins with `line`.
long number_in(const std::string& text, std::string_view line, std::string_view key) {
  const std::size_t start = text.find(line);
  if (start == std::string::npos) return 0;
  const std::size_t end = std::min(text.find('\n', start), text.size());
  const std::size_t at = text.find(key, start);
  if (at >= end) return 0;
  return std::strtol(text.c_str() + at + key.size(), nullptr, 10);
}

// A process that cannot get back into its own network namespace must not go on.
void enter_or_die(int fd) {
  if (::setns(fd, CLONE_NEWNET) != 0) std::abort();
}

// 0 or the errno. Allocates nothing.
int raise_loopback() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const int error = ::ioctl(fd, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

// Everything that the kernel counts for a network namespace. What goes over the loopback interface
// is counted as IP as well, and so is what found no route.
constexpr std::array<const char*, 4> kCounters = {"snmp", "netstat", "snmp6", "dev"};

}  // namespace

Result<> bring_loopback_up() {
  const int error = raise_loopback();
  if (error != 0) return syscall_failure(error, "bring up", "lo");
  return {};
}

Result<UniqueFd> open_own_network_namespace() {
  return open_file("/proc/self/ns/net", O_RDONLY);
}

struct NetworkMaker::Work {
  static constexpr std::size_t kStackBytes = 32U << 10U;

  // Runs in a process that shares our memory and descriptors while we go on: it may touch nothing
  // but this object, not even by allocating. errno is shared too, and set only where it fails,
  // which fails the start anyway.
  static int run(void* argument) {
    Work& work = *static_cast<Work*>(argument);
    work.error = work.make();
    return 0;
  }

  int make() {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
    if (::getppid() != parent) return ESRCH;  // it died before the signal was asked for
    if (::unshare(CLONE_NEWNET) != 0) return errno;
    if (const int failed = raise_loopback()) return failed;
    made = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    return made < 0 ? errno : 0;
  }

  const pid_t parent = ::getpid();
  int made = -1;
  int error = ECANCELED;  // killed before it could say anything else
  alignas(16) std::array<char, kStackBytes> stack;
};

NetworkMaker::NetworkMaker(std::unique_ptr<Work> work) : work_(std::move(work)) {}

NetworkMaker::NetworkMaker(NetworkMaker&& other) noexcept
    : work_(std::move(other.work_)), child_(std::exchange(other.child_, -1)) {}

NetworkMaker::~NetworkMaker() {
  if (child_ <= 0) return;
  wait();
  if (work_->made >= 0) ::close(work_->made);
}

Result<NetworkMaker> NetworkMaker::start() {
  NetworkMaker maker(std::make_unique_for_overwrite<Work>());  // its stack is left as it is
  Work& work = *maker.work_;
  maker.child_ = ::clone(Work::run, work.stack.data() + work.stack.size(),
                         CLONE_VM | CLONE_FILES | SIGCHLD, &work);
  if (maker.child_ < 0) return syscall_failure("clone a process");
  return maker;
}

void NetworkMaker::wait() {
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

Result<UniqueFd> NetworkMaker::take() {
  wait();
  if (work_->error != 0) return syscall_failure(work_->error, "make a network namespace");
  return UniqueFd(std::exchange(work_->made, -1));
}

Result<NetworkNamespace> NetworkNamespace::create(const UniqueFd& home) {
  if (::unshare(CLONE_NEWNET) != 0) return syscall_failure("unshare", "network");
  const Defer back([&] { enter_or_die(home.get()); });
  TRY(bring_loopback_up());
  NetworkNamespace made;
  made.namespace_ = TRY(open_own_network_namespace());
  TRY(made.open_counters());
  made.first_counters_ = TRY(made.hash_counters());
  made.sockets_ = TRY(open_file("/proc/thread-self/net/sockstat", O_RDONLY));
  return made;
}

// For a process in the namespace.
Result<> NetworkNamespace::open_counters() {
  for (std::size_t i = 0; i < kCounters.size(); ++i) {
    auto opened = open_file(std::string("/proc/thread-self/net/") + kCounters[i], O_RDONLY);
    if (!opened && opened.error().code == ErrorCode::NotFound) continue;  // no snmp6 without IPv6
    counters_[i] = TRY(std::move(opened));
    (void)native::renumber(counters_[i], kFirstKept);  // else it stays, and a clone copies it
  }
  return {};
}

Result<std::size_t> NetworkNamespace::hash_counters() const {
  std::array<char, kMostCounters> text;
  std::size_t size = 0;
  for (const UniqueFd& counters : counters_) {
    if (!counters) continue;
    ssize_t count = 0;
    for (off_t offset = 0;; offset += count) {
      count = ::pread(counters.get(), text.data() + size, text.size() - size, offset);
      if (count < 0) return syscall_failure("read", "the counters of a network namespace");
      if (count == 0) break;
      size += static_cast<std::size_t>(count);
    }
    if (size == text.size()) return failure(ErrorCode::ResourceExhausted, "too many counters");
  }
  return std::hash<std::string_view>()({text.data(), size});
}

Result<bool> NetworkNamespace::is_clean(const UniqueFd& home) {
  std::string text(kMostSocketCounts, '\0');
  const ssize_t count = ::pread(sockets_.get(), text.data(), text.size(), 0);
  if (count <= 0) return syscall_failure("read", "the counts of sockets");
  text.resize(static_cast<std::size_t>(count));
  const bool has_sockets = number_in(text, "sockets:", "used ") != 0 ||
                           number_in(text, "TCP:", "tw ") != 0 ||
                           number_in(text, "FRAG:", "inuse ") != 0;
  if (has_sockets) return false;
  if (!counters_.front()) {
    if (::setns(namespace_.get(), CLONE_NEWNET) != 0) return syscall_failure("setns", "network");
    const Defer back([&] { enter_or_die(home.get()); });
    TRY(open_counters());
  }
  return TRY(hash_counters()) == first_counters_;
}

}  // namespace nutshell::native
