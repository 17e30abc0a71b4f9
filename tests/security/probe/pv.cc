// PV: gaining privileges inside, or finding some that were not dropped.
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <sstream>

#include "probe.h"

namespace nutshell::probe {
namespace {

constexpr int kDepth = 8;

Verdict capabilities(const Arguments&) {
  const auto status = read_text("/proc/self/status");
  if (!status) return unexpected("/proc/self/status does not open");
  Findings findings;
  for (const auto* name : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    const std::string set = field_of(*status, name);
    const std::string text = std::string(name) + " " + set;
    if (set.empty()) {
      findings.add(unexpected(std::string(name) + " is missing"));
    } else {
      findings.add(set.find_first_not_of('0') == std::string::npos ? refused(text) : opened(text));
    }
  }
  return findings.verdict();
}

Verdict no_new_privileges(const Arguments&) {
  const int flag = ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  if (flag < 0) return unexpected("prctl " + error_name(errno));
  return flag == 1 ? refused("no_new_privs is 1") : opened("no_new_privs is 0");
}

std::vector<std::string> set_user_id_programs() {
  std::vector<std::string> programs;
  for (const auto* directory : {"/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/lib/openssh"}) {
    for (const auto& name : entries_of(directory)) {
      const std::string path = std::string(directory) + "/" + name;
      struct stat about {};
      const bool is_program = ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
      if (is_program && (about.st_mode & S_ISUID) != 0) programs.push_back(path);
    }
  }
  return programs;
}

// The /proc directory of a zombie still has the owner of the process.
Verdict run_set_user_id(const std::string& program) {
  const pid_t child = ::fork();
  if (child < 0) return unexpected("fork " + error_name(errno));
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {0, 1, 2})
      ::dup2(nowhere, stream);
    ::alarm(5);
    ::execl(program.c_str(), program.c_str(), "--help", nullptr);
    ::_exit(127);
  }
  siginfo_t end{};
  (void)::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT);
  const auto status = read_text("/proc/" + std::to_string(child) + "/status").value_or("");
  ::waitpid(child, nullptr, 0);
  std::istringstream numbers(field_of(status, "Uid"));
  uid_t real = 0;
  uid_t effective = 0;
  if (!(numbers >> real >> effective)) return unexpected(program + " shows no uid");
  const std::string text = program + " ran as " + std::to_string(effective);
  return effective == ::getuid() ? refused(text) : opened(text);
}

Verdict set_user_id(const Arguments&) {
  if (::getuid() == 0) return opened("this runs as uid 0 already");
  const auto programs = set_user_id_programs();
  if (programs.empty()) return refused("there is no set-user-id program");
  Findings findings;
  for (const auto& program : programs)
    findings.add(run_set_user_id(program));
  return findings.verdict();
}

Verdict supplementary_groups() {
  std::array<gid_t, 256> groups{};
  const int count = ::getgroups(groups.size(), groups.data());
  if (count < 0) return unexpected("getgroups " + error_name(errno));
  for (int number = 0; number < count; ++number) {
    const gid_t group = groups.at(static_cast<std::size_t>(number));
    if (group != ::getgid()) return opened("group " + std::to_string(group) + " is kept");
  }
  return refused("no group is kept");
}

// EINVAL means that the user namespace does not map the user.
Verdict become_root(const Arguments&) {
  const Rules rules{.refusals = {EPERM, ENOSYS, EINVAL}};
  Findings findings;
  findings.add(try_call(
      "setuid 0", [] { return ::syscall(SYS_setuid, 0); }, rules));
  findings.add(try_call(
      "setresuid 0", [] { return ::syscall(SYS_setresuid, 0, 0, 0); }, rules));
  findings.add(try_call(
      "setgid 0", [] { return ::syscall(SYS_setgid, 0); }, rules));
  findings.add(try_call(
      "setresgid 0", [] { return ::syscall(SYS_setresgid, 0, 0, 0); }, rules));
  findings.add(try_call(
      "setgroups",
      [] {
        const gid_t group = 0;
        return ::syscall(SYS_setgroups, 1, &group);
      },
      rules));
  findings.add(supplementary_groups());
  return findings.verdict();
}

// These files belong to root of the host. If this process appears to own them, it is that root. The
// uid map would not tell, because it shows uids of the next outer namespace only.
Verdict host_identity(const Arguments&) {
  Findings findings;
  for (const auto* path : {"/proc/sys", "/proc/sys/kernel", "/proc/sys/kernel/ostype"}) {
    struct stat about {};
    if (::stat(path, &about) != 0) continue;
    const bool is_own = about.st_uid == ::getuid();
    findings.add(is_own ? opened(std::string(path) + " of root is our own")
                        : refused(std::string(path) + " is not ours"));
  }
  return findings.verdict();
}

Verdict write_each(std::initializer_list<const char*> paths) {
  Findings findings;
  for (const auto* path : paths)
    findings.add(try_open(path, O_WRONLY));
  return findings.verdict();
}

Verdict kernel_programs(const Arguments&) {
  return write_each({"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
                     "/proc/sys/kernel/hotplug", "/proc/sys/kernel/poweroff_cmd",
                     "/sys/kernel/uevent_helper", "/proc/sys/fs/binfmt_misc/status",
                     "/proc/sys/kernel/randomize_va_space", "/proc/sys/vm/panic_on_oom"});
}

Verdict kernel_triggers(const Arguments&) {
  return write_each({"/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger",
                     "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/memory/release_agent",
                     "/sys/fs/cgroup/devices/devices.allow", "/sys/fs/cgroup/devices/release_agent",
                     "/sys/power/state", "/proc/acpi/wakeup"});
}

struct Walk {
  unsigned tried = 0;
  std::vector<std::string> writable;
};

void open_all_below(const std::string& directory, int depth, Walk& walk) {
  for (const auto& name : entries_of(directory)) {
    const std::string path = directory + "/" + name;
    struct stat about {};
    if (::lstat(path.c_str(), &about) != 0 || !walk.writable.empty()) continue;
    if (S_ISDIR(about.st_mode) && depth > 0) open_all_below(path, depth - 1, walk);
    if (!S_ISREG(about.st_mode)) continue;
    ++walk.tried;
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.is_open()) walk.writable.push_back(path);
  }
}

Verdict kernel_settings(const Arguments&) {
  Walk walk;
  for (const auto* root : {"/proc/sys", "/sys"})
    open_all_below(root, kDepth, walk);
  if (!walk.writable.empty()) return opened(walk.writable.front());
  return refused("none of " + std::to_string(walk.tried) + " files opens for writing");
}

Verdict memory_of_init(const Arguments&) {
  Findings findings;
  for (const auto* path : {"/proc/1/mem", "/proc/1/task/1/mem"}) {
    findings.add(try_open(path, O_RDWR));
    findings.add(try_open(path, O_RDONLY));
  }
  for (const auto* name : {"environ", "auxv", "maps", "smaps", "pagemap", "syscall", "stack"}) {
    const std::string path = std::string("/proc/1/") + name;
    const auto text = read_text(path);
    findings.add(text && !text->empty() ? opened(path) : refused(path + " says nothing"));
  }
  for (const auto* name : {"exe", "cwd", "root"}) {
    const std::string path = std::string("/proc/1/") + name;
    const std::string target = link_target(path);
    findings.add(target.empty() ? refused(path + " says nothing") : opened(path + " " + target));
  }
  return findings.verdict();
}

}  // namespace

Probes privilege_probes() {
  return {
      {"PV-01", "capabilities", "find a capability in any set", "", capabilities},
      {"PV-02", "no-new-privs", "find no_new_privs unset", "", no_new_privileges},
      {"PV-03", "set-user-id", "run every set-user-id program", "", set_user_id},
      {"PV-04", "become-root", "setuid, setgid, setgroups, groups kept", "", become_root},
      {"PV-05", "host-identity", "be root outside", "", host_identity},
      {"PV-06", "kernel-programs", "write paths of programs the kernel starts", "",
       kernel_programs},
      {"PV-07", "kernel-triggers", "binfmt_misc, sysrq, release_agent, devices", "",
       kernel_triggers},
      {"PV-08", "kernel-settings", "open any file of /proc/sys and /sys for writing", "",
       kernel_settings},
      {"PV-09", "init-memory", "read or write the memory of pid 1", "", memory_of_init},
  };
}

}  // namespace nutshell::probe
