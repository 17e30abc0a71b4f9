#include "backends/native/filters/seccomp.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/kcmp.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "base/seccomp_filter.h"

#ifndef SYS_clone3
#define SYS_clone3 435
#endif

namespace nutshell {
namespace {

constexpr long kUpperHalf = 1L << 32U;  // the kernel ignores it in an int argument

// Runs in a child, because a filter cannot be removed. Returns the child's wait status.
template <typename Probe>
int status_under_filter(Probe probe) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!set_no_new_privileges() || !filter_system_calls()) ::_exit(255);
    ::_exit(probe());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// Returns the errno of a call under the filter; 0 if it succeeds.
template <typename... Arguments>
int error_of(long number, Arguments... arguments) {
  const int status =
      status_under_filter([=] { return ::syscall(number, arguments...) == -1 ? errno : 0; });
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Call {
  const char* name;
  long number;
};

// The kernel would answer EBADF: success means that it was not asked.
TEST(SandboxFilter, KeepsThePageCacheThatOthersShare) {
  constexpr long kCachestat = 451;
  EXPECT_EQ(error_of(SYS_fadvise64, -1, 0L, 0L, POSIX_FADV_DONTNEED), 0);
  EXPECT_EQ(error_of(SYS_fadvise64, -1, 0L, 0L, kUpperHalf | POSIX_FADV_DONTNEED), 0);
  EXPECT_EQ(error_of(SYS_fadvise64, -1, 0L, 0L, POSIX_FADV_SEQUENTIAL), EBADF);
  EXPECT_EQ(error_of(kCachestat, -1, 0L, 0L, 0), ENOSYS);
}

TEST(SandboxFilter, KeepsKernelMemoryThatNoLimitCounts) {
  EXPECT_EQ(error_of(SYS_fcntl, -1, F_OFD_SETLK, 0L), EINVAL);
  EXPECT_EQ(error_of(SYS_fcntl, -1, kUpperHalf | F_OFD_SETLKW, 0L), EINVAL);
  EXPECT_EQ(error_of(SYS_fcntl, -1, F_SETLK, 0L), EBADF);
  EXPECT_EQ(error_of(SYS_fcntl, -1, F_OFD_GETLK, 0L), EBADF);
  for (const long call : {SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr}) {
    EXPECT_EQ(error_of(call, -1L, 0L, 0L, 1024L, 0), ENOSPC);
    EXPECT_EQ(error_of(call, -1L, 0L, 0L, 1L << 31U, 0), ENOSPC);
  }
  EXPECT_EQ(error_of(SYS_fsetxattr, -1L, 0L, 0L, 1023L, 0), EFAULT);  // the kernel was asked
  constexpr long kSetxattrat = 463;
  EXPECT_EQ(error_of(kSetxattrat, -1L, 0L, 0L, 0L, 0L), ENOSYS);
}

TEST(SandboxFilter, RefusesToJoinGroups) {
  const auto set = [](long level, long option) {
    return error_of(SYS_setsockopt, -1, level, option, 0L, 0L);
  };
  for (const long option : {IP_ADD_MEMBERSHIP, IP_ADD_SOURCE_MEMBERSHIP, IP_MSFILTER,
                            MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP, MCAST_MSFILTER}) {
    EXPECT_EQ(set(IPPROTO_IP, option), ENODEV);
    EXPECT_EQ(set(kUpperHalf | IPPROTO_IP, kUpperHalf | option), ENODEV);
  }
  for (const long option : {IPV6_JOIN_GROUP, IPV6_JOIN_ANYCAST, MCAST_JOIN_GROUP,
                            MCAST_JOIN_SOURCE_GROUP, MCAST_MSFILTER})
    EXPECT_EQ(set(IPPROTO_IPV6, option), ENODEV);
  EXPECT_EQ(set(SOL_SOCKET, IP_ADD_MEMBERSHIP), EBADF);
  EXPECT_EQ(set(IPPROTO_IPV6, IPV6_V6ONLY), EBADF);
}

TEST(SandboxFilter, RefusesOptionsOfSocketsThatNoLimitCounts) {
  const auto set = [](long level, long option) {
    return error_of(SYS_setsockopt, -1, level, option, 0L, 0L);
  };
  constexpr long kAddKey = 38;
  constexpr long kPacketOptions = 6;
  for (const long option : {long{TCP_MD5SIG}, long{TCP_MD5SIG_EXT}, kAddKey})
    EXPECT_EQ(set(IPPROTO_TCP, option), ENOPROTOOPT);
  EXPECT_EQ(set(IPPROTO_IPV6, kPacketOptions), ENOPROTOOPT);
  EXPECT_EQ(set(IPPROTO_TCP, TCP_NODELAY), EBADF);
  EXPECT_EQ(set(SOL_SOCKET, SO_TYPE), EBADF);
}

TEST(SandboxFilter, ComparesNothingOfProcessesButTheirMemory) {
  EXPECT_EQ(error_of(SYS_kcmp, 0, 0, KCMP_VM, 0L, 0L), ESRCH);  // the kernel was asked
  for (const long type : {KCMP_FILE, KCMP_FILES, KCMP_FS, KCMP_SIGHAND, KCMP_IO, KCMP_SYSVSEM})
    EXPECT_EQ(error_of(SYS_kcmp, 0, 0, type, 0L, 0L), EPERM);
}

TEST(SandboxFilter, RefusesToKeepOthersOffACore) {
  constexpr int kSchedCore = 62;
  EXPECT_EQ(error_of(SYS_prctl, kSchedCore, 1, 0, 0, 0), EINVAL);
  EXPECT_EQ(error_of(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
}

TEST(SandboxFilter, KeepsTheLimitOfCoreDumps) {
  EXPECT_EQ(status_under_filter([] {
              rlimit before{};
              rlimit after{};
              const rlimit none{0, 0};
              if (::getrlimit(RLIMIT_CORE, &before) != 0) return 1;
              if (::syscall(SYS_setrlimit, RLIMIT_CORE, &none) != 0) return 2;
              if (::syscall(SYS_setrlimit, kUpperHalf | RLIMIT_CORE, &none) != 0) return 3;
              if (::syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, nullptr) != 0) return 4;
              if (::prlimit(0, RLIMIT_CORE, nullptr, &after) != 0) return 5;
              const bool is_same =
                  before.rlim_cur == after.rlim_cur && before.rlim_max == after.rlim_max;
              const rlimit files{16, 16};
              if (::setrlimit(RLIMIT_NOFILE, &files) != 0) return 6;
              return is_same && after.rlim_max != 0 ? 0 : 7;
            }),
            0);
}

// clone() would begin a child that shares the stack, so only the refusal is tried.
TEST(SandboxFilter, KeepsProcessesFromSharingTheirOpenFiles) {
  EXPECT_EQ(error_of(SYS_clone, CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L), EPERM);
  EXPECT_EQ(error_of(SYS_clone, CLONE_VM | CLONE_FILES | SIGCHLD, 0L, 0L, 0L, 0L), EPERM);
  EXPECT_EQ(status_under_filter([] {
              int value = 0;
              std::thread([&value] { value = 7; }).join();
              return value;
            }),
            7 << 8);
}

// All are answered before the kernel sees them, so no huge page has to be set aside for this test.
TEST(SandboxFilter, KeepsHugePagesOfTheHost) {
  constexpr std::size_t kHugePage = 2U << 20U;
  constexpr long kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
  const auto map = [](long flags) {
    return error_of(SYS_mmap, 0L, kHugePage, PROT_READ, flags, -1, 0L);
  };
  EXPECT_EQ(map(kAnonymous), 0);
  EXPECT_EQ(map(kAnonymous | MAP_HUGETLB), ENOMEM);
  EXPECT_EQ(map(kUpperHalf | kAnonymous | MAP_HUGETLB), ENOMEM);
  EXPECT_EQ(map(MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | (30L << 26U)), ENOMEM);  // of 1 GiB
  EXPECT_EQ(error_of(SYS_memfd_create, "plain", 0U), 0);
  EXPECT_EQ(error_of(SYS_memfd_create, "huge", 4U), EINVAL);
  EXPECT_EQ(error_of(SYS_memfd_create, "huge", 5U | 30U << 26U), EINVAL);
  EXPECT_EQ(error_of(SYS_shmget, 0, kHugePage, 04000 | 0600), ENOMEM);
}

// One sandbox could use up fs.aio-max-nr, which counts all processes of the host.
TEST(SandboxFilter, HasNoAsynchronousContextsOfTheKernel) {
  unsigned long context = 0;
  EXPECT_EQ(error_of(SYS_io_setup, 1U, &context), ENOSYS);
}

TEST(SandboxFilter, RefusesDangerousCalls) {
  constexpr Call kRefused[] = {
      {"mount", SYS_mount},
      {"umount2", SYS_umount2},
      {"pivot_root", SYS_pivot_root},
      {"chroot", SYS_chroot},
      {"unshare", SYS_unshare},
      {"setns", SYS_setns},
      {"fsopen", SYS_fsopen},
      {"open_tree", SYS_open_tree},
      {"move_mount", SYS_move_mount},
      {"mount_setattr", SYS_mount_setattr},
      {"bpf", SYS_bpf},
      {"keyctl", SYS_keyctl},
      {"add_key", SYS_add_key},
      {"perf_event_open", SYS_perf_event_open},
      {"userfaultfd", SYS_userfaultfd},
      {"fanotify_init", SYS_fanotify_init},
      {"open_by_handle_at", SYS_open_by_handle_at},
      {"pidfd_getfd", SYS_pidfd_getfd},
      {"kcmp", SYS_kcmp},
      {"kexec_load", SYS_kexec_load},
      {"init_module", SYS_init_module},
      {"finit_module", SYS_finit_module},
      {"reboot", SYS_reboot},
      {"swapon", SYS_swapon},
      {"acct", SYS_acct},
      {"syslog", SYS_syslog},
      {"clock_settime", SYS_clock_settime},
      {"adjtimex", SYS_adjtimex},
      {"sethostname", SYS_sethostname},
      {"set_mempolicy", SYS_set_mempolicy},
      {"sched_setattr", SYS_sched_setattr},
  };
  // Arguments that no kernel accepts, so that a missing filter does no harm to the machine.
  for (const Call& call : kRefused) {
    EXPECT_EQ(error_of(call.number, -1L, -1L, -1L, -1L, -1L, -1L), EPERM) << call.name;
  }
}

TEST(SandboxFilter, AnswersUnknownCallsAsAnOlderKernelDoes) {
  EXPECT_EQ(error_of(9999), ENOSYS);
  EXPECT_EQ(error_of(-1), ENOSYS);
  EXPECT_EQ(error_of(SYS_clone3, -1L, -1L), ENOSYS);
  EXPECT_EQ(error_of(SYS_io_uring_setup, -1L, -1L), ENOSYS);
}

TEST(SandboxFilter, LetsOrdinaryCallsThrough) {
  EXPECT_EQ(error_of(SYS_getpid), 0);
  EXPECT_EQ(error_of(SYS_read, -1, 0, 0), EBADF);
  EXPECT_EQ(error_of(SYS_openat, -1, "x", 0), EBADF);
  EXPECT_EQ(error_of(SYS_statx, -1, "x", 0, 0, 0), EBADF);
  EXPECT_EQ(error_of(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0), 0);
  EXPECT_EQ(error_of(SYS_prlimit64, 0, -1, 0, 0), EINVAL);
  EXPECT_EQ(error_of(SYS_landlock_create_ruleset, nullptr, 0, -1L), EINVAL);
}

TEST(SandboxFilter, AllowsForksAndThreads) {
  const int status = status_under_filter([] {
    int value = 0;
    std::thread([&] { value = 7; }).join();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    return ::waitpid(child, nullptr, 0) == child ? value : 0;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(SandboxFilter, RefusesNewNamespacesInClone) {
  for (const long flag : {CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
                          CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    EXPECT_EQ(error_of(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0), EPERM) << flag;
    EXPECT_EQ(error_of(SYS_clone, kUpperHalf | flag | SIGCHLD, 0, 0, 0, 0), EPERM) << flag;
  }
}

TEST(SandboxFilter, AllowsUnixAndInternetSockets) {
  EXPECT_EQ(error_of(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), 0);
  EXPECT_EQ(error_of(SYS_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP), 0);
  EXPECT_EQ(error_of(SYS_socket, AF_INET, SOCK_DGRAM, 0), 0);
  EXPECT_EQ(error_of(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), 0);
  int pair[2] = {};
  EXPECT_EQ(error_of(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, &pair), 0);
}

TEST(SandboxFilter, RefusesOtherSockets) {
  EXPECT_EQ(error_of(SYS_socket, AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT);
  EXPECT_EQ(error_of(SYS_socket, kUpperHalf | AF_PACKET, SOCK_RAW, 0), EAFNOSUPPORT);
  EXPECT_EQ(error_of(SYS_socket, AF_VSOCK, SOCK_STREAM, 0), EAFNOSUPPORT);
  EXPECT_EQ(error_of(SYS_socket, AF_ALG, SOCK_SEQPACKET, 0), EAFNOSUPPORT);
  EXPECT_EQ(error_of(SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM);
  EXPECT_EQ(error_of(SYS_socket, AF_INET6, SOCK_RAW, IPPROTO_RAW), EPERM);
  EXPECT_EQ(error_of(SYS_socket, AF_INET, SOCK_STREAM, IPPROTO_SCTP), EPERM);
  EXPECT_EQ(error_of(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER), EPERM);
  EXPECT_EQ(error_of(SYS_socketpair, AF_TIPC, SOCK_STREAM, 0, 0), EAFNOSUPPORT);
}

TEST(SandboxFilter, RefusesDeviceNodes) {
  EXPECT_EQ(error_of(SYS_mknodat, -1, "x", S_IFCHR | 0666, 0x103), EPERM);
  EXPECT_EQ(error_of(SYS_mknodat, -1, "x", S_IFBLK | 0666, 0x700), EPERM);
  EXPECT_EQ(error_of(SYS_mknodat, -1, "x", S_IFIFO | 0666, 0), EBADF);
  EXPECT_EQ(error_of(SYS_mknodat, -1, "x", 0666, 0), EBADF);
}

TEST(SandboxFilter, KeepsThePersonality) {
  EXPECT_EQ(error_of(SYS_personality, 0xffffffffL), 0);
  EXPECT_EQ(error_of(SYS_personality, 0L), 0);
  EXPECT_EQ(error_of(SYS_personality, READ_IMPLIES_EXEC), EPERM);
}

TEST(SandboxFilter, RefusesRealTimeScheduling) {
  sched_param parameters{};
  EXPECT_EQ(error_of(SYS_sched_setscheduler, 0, SCHED_BATCH | SCHED_RESET_ON_FORK, &parameters), 0);
  EXPECT_EQ(error_of(SYS_sched_setscheduler, 0, SCHED_FIFO, &parameters), EPERM);
  constexpr int kRealTimeClass = 1 << 13;
  EXPECT_EQ(error_of(SYS_ioprio_set, -1, 0, kRealTimeClass), EPERM);
  EXPECT_EQ(error_of(SYS_ioprio_set, -1, 0, 2 << 13), EINVAL);
}

#ifdef __x86_64__
int get_pid_as_32_bit() {
  int result = 20;  // __NR_getpid of i386
  asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return 0;
}

TEST(SandboxFilter, KillsX32Calls) {
  const int status =
      status_under_filter([] { return static_cast<int>(::syscall(0x40000000L | SYS_getpid)); });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << status;
}

TEST(SandboxFilter, Kills32BitCalls) {
  const int status = status_under_filter(get_pid_as_32_bit);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  if (WTERMSIG(status) == SIGSEGV) GTEST_SKIP() << "this kernel has no 32-bit system calls";
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}
#endif

}  // namespace
}  // namespace nutshell
