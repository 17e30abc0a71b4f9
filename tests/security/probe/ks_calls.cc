// KS: single system calls. Arguments are invalid where a success would change the machine; the
// errno tells whether the call passed the permission check.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/quota.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "probe.h"

namespace nutshell::probe {
namespace {

constexpr const char* kNoSuchPath = "/nutshell-no-such-path";
constexpr unsigned long kBadFlags = 0xFFFFU;
constexpr long kNowhere = 0;  // a pointer argument that no process maps

Verdict keyrings(const Arguments&) {
  constexpr int kSessionKeyring = -3;
  const auto bad_pointer = let_through({EFAULT});
  Findings findings;
  findings.add(try_call(
      "keyctl", [] { return ::syscall(SYS_keyctl, 0, kSessionKeyring, 0, 0, 0); },
      let_through({ENOKEY})));
  findings.add(try_call(
      "add_key",
      [] { return ::syscall(SYS_add_key, kNowhere, kNowhere, kNowhere, 0, kSessionKeyring); },
      bad_pointer));
  findings.add(try_call(
      "request_key", [] { return ::syscall(SYS_request_key, kNowhere, kNowhere, kNowhere, 0); },
      bad_pointer));
  return findings.verdict();
}

Verdict bpf(const Arguments&) {
  Findings findings;
  findings.add(try_call("bpf map", [] {
    bpf_attr attributes{};
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = 4;
    attributes.value_size = 4;
    attributes.max_entries = 1;
    return ::syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));
  }));
  findings.add(try_call("bpf program", [] {
    const std::array<std::uint64_t, 2> return_zero = {0xB7, 0x95};  // r0 = 0; exit
    static constexpr char kLicense[] = "GPL";
    bpf_attr attributes{};
    attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    attributes.insn_cnt = return_zero.size();
    attributes.insns = reinterpret_cast<std::uint64_t>(return_zero.data());
    attributes.license = reinterpret_cast<std::uint64_t>(&kLicense[0]);
    return ::syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));
  }));
  return findings.verdict();
}

Verdict io_uring(const Arguments&) {
  Findings findings;
  findings.add(try_call("io_uring_setup", [] {
    io_uring_params parameters{};
    return ::syscall(SYS_io_uring_setup, 1, &parameters);
  }));
  findings.add(try_call("io_uring_enter",
                        [] { return ::syscall(SYS_io_uring_enter, -1, 0, 0, 0, kNowhere, 0); }));
  findings.add(try_call("io_uring_register",
                        [] { return ::syscall(SYS_io_uring_register, -1, 0, kNowhere, 0); }));
  return findings.verdict();
}

Verdict observers(const Arguments&) {
  constexpr int kUserModeOnly = 1;
  constexpr unsigned kReportFid = 0x200;
  Findings findings;
  findings.add(try_call("perf_event_open", [] {
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.exclude_kernel = 1;
    return ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
  }));
  findings.add(try_call("userfaultfd",
                        [] { return ::syscall(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly); }));
  findings.add(
      try_call("fanotify_init", [] { return ::syscall(SYS_fanotify_init, kReportFid, O_RDONLY); }));
  findings.add(
      try_call("lookup_dcookie", [] { return ::syscall(SYS_lookup_dcookie, 0, kNowhere, 0); }));
  return findings.verdict();
}

Verdict kexec(const Arguments&) {
  const auto bad_flags = let_through({EINVAL});
  Findings findings;
  findings.add(try_call(
      "kexec_load", [] { return ::syscall(SYS_kexec_load, 0, 0, kNowhere, kBadFlags); },
      bad_flags));
  findings.add(try_call(
      "kexec_file_load",
      [] { return ::syscall(SYS_kexec_file_load, -1, -1, 0, kNowhere, kBadFlags); }, bad_flags));
  return findings.verdict();
}

Verdict modules(const Arguments&) {
  Findings findings;
  findings.add(try_call(
      "init_module", [] { return ::syscall(SYS_init_module, kNowhere, 0, ""); },
      let_through({ENOEXEC, EFAULT})));
  findings.add(try_call(
      "finit_module", [] { return ::syscall(SYS_finit_module, -1, "", kBadFlags); },
      let_through({EINVAL, EBADF})));
  findings.add(try_call(
      "delete_module", [] { return ::syscall(SYS_delete_module, "nutshell_no_such", O_NONBLOCK); },
      let_through({ENOENT})));
  return findings.verdict();
}

Verdict machine_calls(const Arguments&) {
  const auto no_such_path = let_through({ENOENT});
  Findings findings;
  findings.add(try_call(
      "reboot", [] { return ::syscall(SYS_reboot, 0, 0, 0, kNowhere); }, let_through({EINVAL})));
  findings.add(try_call(
      "swapon", [] { return ::syscall(SYS_swapon, kNoSuchPath, 0); }, no_such_path));
  findings.add(try_call(
      "swapoff", [] { return ::syscall(SYS_swapoff, kNoSuchPath); }, no_such_path));
  findings.add(try_call(
      "acct", [] { return ::syscall(SYS_acct, kNoSuchPath); }, no_such_path));
  findings.add(try_call("quotactl", [] {
    return ::syscall(SYS_quotactl, QCMD(Q_GETFMT, USRQUOTA), kNoSuchPath, 0, kNowhere);
  }));
  findings.add(
      try_call("nfsservctl", [] { return ::syscall(SYS_nfsservctl, 0, kNowhere, kNowhere); }));
  return findings.verdict();
}

// settimeofday without a time changes nothing, but the kernel still checks permission. An invalid
// tick is refused after that check. clock_settime reads its argument first, so EFAULT proves
// nothing.
Verdict clocks(const Arguments&) {
  const auto bad_tick = let_through({EINVAL});
  Findings findings;
  findings.add(
      try_call("settimeofday", [] { return ::syscall(SYS_settimeofday, kNowhere, kNowhere); }));
  findings.add(try_call("clock_settime",
                        [] { return ::syscall(SYS_clock_settime, CLOCK_REALTIME, kNowhere); }));
  findings.add(try_call(
      "adjtimex",
      [] {
        timex change{};
        change.modes = ADJ_TICK;
        return ::syscall(SYS_adjtimex, &change);
      },
      bad_tick));
  findings.add(try_call(
      "clock_adjtime",
      [] {
        timex change{};
        change.modes = ADJ_TICK;
        return ::syscall(SYS_clock_adjtime, CLOCK_REALTIME, &change);
      },
      bad_tick));
  return findings.verdict();
}

Verdict host_name(const Arguments&) {
  const auto bad_length = let_through({EINVAL, EFAULT});
  Findings findings;
  findings.add(try_call(
      "sethostname", [] { return ::syscall(SYS_sethostname, kNowhere, -1); }, bad_length));
  findings.add(try_call(
      "setdomainname", [] { return ::syscall(SYS_setdomainname, kNowhere, -1); }, bad_length));
  Verdict verdict = findings.verdict();
  const bool is_private = !is_first_namespace("uts", Namespace::Uts);
  if (verdict.outcome == Outcome::Open && is_private) return refused("the name is private");
  return verdict;
}

Verdict processor_calls(const Arguments&) {
  Findings findings;
  findings.add(try_call("iopl", [] { return ::syscall(SYS_iopl, 3); }));
  findings.add(try_call("ioperm", [] { return ::syscall(SYS_ioperm, 0x80, 1, 1); }));
  findings.add(try_call("modify_ldt", [] {
    std::array<char, 16> entry{};
    // The call returns an int in a 64-bit register: the cast restores its sign.
    return static_cast<int>(::syscall(SYS_modify_ldt, 0, entry.data(), entry.size()));
  }));
  return findings.verdict();
}

// A family and type of sockets that a payload could ask for.
struct SocketKind {
  const char* name;
  int family;
  int type;
  int protocol;
};

Verdict make_sockets(std::initializer_list<SocketKind> kinds) {
  const Rules rules{
      .refusals = {EPERM, EACCES, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT}};
  Findings findings;
  for (const auto& kind : kinds) {
    findings.add(try_call(
        kind.name, [&] { return ::socket(kind.family, kind.type | SOCK_CLOEXEC, kind.protocol); },
        rules));
  }
  return findings.verdict();
}

Verdict raw_sockets(const Arguments&) {
  return make_sockets({{"AF_PACKET raw", AF_PACKET, SOCK_RAW, 0x0300},
                       {"AF_PACKET datagram", AF_PACKET, SOCK_DGRAM, 0x0300},
                       {"raw IPv4", AF_INET, SOCK_RAW, IPPROTO_RAW},
                       {"raw IPv6", AF_INET6, SOCK_RAW, IPPROTO_RAW},
                       {"raw ICMP", AF_INET, SOCK_RAW, IPPROTO_ICMP},
                       {"raw ICMPv6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6}});
}

Verdict rare_sockets(const Arguments&) {
  return make_sockets({{"AF_VSOCK", AF_VSOCK, SOCK_STREAM, 0},
                       {"AF_ALG", AF_ALG, SOCK_SEQPACKET, 0},
                       {"AF_KEY", AF_KEY, SOCK_RAW, 2},
                       {"AF_TIPC", AF_TIPC, SOCK_STREAM, 0},
                       {"AF_RDS", AF_RDS, SOCK_SEQPACKET, 0},
                       {"AF_CAN", AF_CAN, SOCK_RAW, 1},
                       {"AF_BLUETOOTH", AF_BLUETOOTH, SOCK_RAW, 1},
                       {"AF_XDP", AF_XDP, SOCK_RAW, 0},
                       {"AF_SMC", AF_SMC, SOCK_STREAM, 0},
                       {"AF_PPPOX", AF_PPPOX, SOCK_DGRAM, 0},
                       {"AF_KCM", AF_KCM, SOCK_DGRAM, 0},
                       {"AF_QIPCRTR", AF_QIPCRTR, SOCK_DGRAM, 0},
                       {"SCTP", AF_INET, SOCK_STREAM, IPPROTO_SCTP},
                       {"DCCP", AF_INET, SOCK_DCCP, IPPROTO_DCCP}});
}

Verdict netlink_sockets(const Arguments&) {
  return make_sockets({{"NETLINK_SOCK_DIAG", AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG},
                       {"NETLINK_XFRM", AF_NETLINK, SOCK_RAW, NETLINK_XFRM},
                       {"NETLINK_SELINUX", AF_NETLINK, SOCK_RAW, NETLINK_SELINUX},
                       {"NETLINK_AUDIT", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT},
                       {"NETLINK_CONNECTOR", AF_NETLINK, SOCK_RAW, NETLINK_CONNECTOR},
                       {"NETLINK_NETFILTER", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER},
                       {"NETLINK_KOBJECT_UEVENT", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT},
                       {"NETLINK_GENERIC", AF_NETLINK, SOCK_RAW, NETLINK_GENERIC},
                       {"NETLINK_CRYPTO", AF_NETLINK, SOCK_RAW, NETLINK_CRYPTO}});
}

Verdict set_immutable(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) return unexpected("open " + error_name(errno));
  int flags = FS_IMMUTABLE_FL;
  const int result = ::ioctl(file.get(), FS_IOC_SETFLAGS, &flags);
  Verdict verdict = judge("FS_IOC_SETFLAGS", result, errno);
  flags = 0;
  (void)::ioctl(file.get(), FS_IOC_SETFLAGS, &flags);
  return verdict;
}

// Loop, mapper and kvm ioctls need a device, so it is enough that the devices do not open.
Verdict device_calls(const Arguments&) {
  const ScratchPath file("immutable");
  Findings findings;
  findings.add(try_call("TIOCSTI", [] { return ::ioctl(0, TIOCSTI, kNowhere); }));
  findings.add(try_call("TIOCLINUX", [] { return ::ioctl(0, TIOCLINUX, kNowhere); }));
  findings.add(in_child([&] { return set_immutable(file.get()); }));
  for (const auto* device :
       {"/dev/loop0", "/dev/loop-control", "/dev/mapper/control", "/dev/kvm"}) {
    findings.add(try_open(device, O_RDWR | O_NONBLOCK));
  }
  return findings.verdict();
}

Verdict executable_data(const Arguments&) {
  return try_call("personality(READ_IMPLIES_EXEC)",
                  [] { return ::syscall(SYS_personality, READ_IMPLIES_EXEC); });
}

Verdict unknown_calls(const Arguments&) {
  Findings findings;
  for (const long number : {600L, 1000L, 4096L, 0x3FFFFFFFL}) {
    findings.add(try_call("call " + std::to_string(number),
                          [&] { return ::syscall(number, 0, 0, 0, 0, 0, 0); },
                          {.refusals = {ENOSYS}}));
  }
  return findings.verdict();
}

}  // namespace

Probes kernel_call_probes() {
  return {
      {"KS-09", "keyrings", "keyctl, add_key, request_key", "", keyrings},
      {"KS-10", "bpf", "make a bpf map and load a program", "", bpf},
      {"KS-11", "io-uring", "io_uring_setup, enter, register", "", io_uring},
      {"KS-12", "observers", "perf, userfaultfd, fanotify, lookup_dcookie", "", observers},
      {"KS-13", "kexec", "load another kernel (bad flags)", "", kexec},
      {"KS-14", "modules", "load and remove kernel modules (empty, unknown)", "", modules},
      {"KS-15", "machine", "reboot (bad magic), swap, acct, quota, nfs", "", machine_calls},
      {"KS-16", "clocks", "set the machine's clocks", "", clocks},
      {"KS-17", "host-name", "set host and domain name", "", host_name},
      {"KS-18", "processor", "iopl, ioperm, modify_ldt", "", processor_calls},
      {"KS-21", "raw-sockets", "packet and raw IP sockets", "", raw_sockets},
      {"KS-22", "rare-sockets", "vsock, alg, tipc, rds, can, xdp, sctp and others", "",
       rare_sockets},
      {"KS-23", "netlink", "netlink protocols other than route", "", netlink_sockets},
      {"KS-24", "ioctls", "terminal, immutable flag, loop, mapper and kvm ioctls", "",
       device_calls},
      {"KS-26", "personality", "make all readable memory executable", "", executable_data},
      {"KS-27", "unknown-calls", "system calls newer than any known", "", unknown_calls},
  };
}

}  // namespace nutshell::probe
