#include "backends/native/launcher/circumstances.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "base/file.h"

namespace nutshell::native {
namespace {

constexpr std::size_t kMostBytes = 16U << 10U;
constexpr int kIoPriorityOfProcess = 1;  // IOPRIO_WHO_PROCESS, which glibc does not define

Result<> add_rights(std::string& text) {
  uid_t user = 0;
  uid_t effective_user = 0;
  uid_t saved_user = 0;
  gid_t group = 0;
  gid_t effective_group = 0;
  gid_t saved_group = 0;
  if (::getresuid(&user, &effective_user, &saved_user) != 0 ||
      ::getresgid(&group, &effective_group, &saved_group) != 0)
    return syscall_failure("look up the own user");
  text += fmt::format("users {} {} {} groups {} {} {}", user, effective_user, saved_user, group,
                      effective_group, saved_group);
  const int count = ::getgroups(0, nullptr);
  if (count < 0) return syscall_failure("getgroups");
  std::vector<gid_t> others(static_cast<std::size_t>(count));
  if (::getgroups(count, others.data()) != count) return syscall_failure("getgroups");
  for (const gid_t other : others)
    text += fmt::format(" {}", other);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> held{};
  if (::syscall(SYS_capget, &header, held.data()) != 0) return syscall_failure("capget");
  for (const auto& half : held)
    text += fmt::format(" {:x} {:x} {:x}", half.effective, half.permitted, half.inheritable);
  text += " bounds ";
  for (int one = 0; one <= CAP_LAST_CAP; ++one)
    text += ::prctl(PR_CAPBSET_READ, one) == 1 ? '1' : '0';
  text += fmt::format(" no_new_privs {} seccomp {}\n", ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
                      ::prctl(PR_GET_SECCOMP));
  return {};
}

Result<> add_shares(std::string& text) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof cpus, &cpus) != 0) return syscall_failure("sched_getaffinity");
  text += "cpus";
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &cpus)) text += fmt::format(" {}", cpu);
  text += fmt::format(" nice {} policy {} io {}\n", ::getpriority(PRIO_PROCESS, 0),
                      ::sched_getscheduler(0), ::syscall(SYS_ioprio_get, kIoPriorityOfProcess, 0));
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit limit{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0)
      return syscall_failure("getrlimit");
    text += fmt::format(" {} {}", limit.rlim_cur, limit.rlim_max);
  }
  return {};
}

// Leaves out what this kernel does not have.
void add_file(std::string& text, const char* path) {
  const auto content = read_file(path, kMostBytes);
  text += fmt::format("\n{} {}", path, content ? *content : std::string());
}

}  // namespace

Result<std::string> own_circumstances() {
  std::string text;
  TRY(add_rights(text));
  TRY(add_shares(text));
  for (const char* file :
       {"/proc/self/cgroup", "/proc/self/oom_score_adj", "/proc/self/attr/current"})
    add_file(text, file);
  std::array<char, 64> name{};
  const ssize_t size = ::readlink("/proc/self/ns/mnt", name.data(), name.size());
  if (size < 0) return syscall_failure("readlink", "/proc/self/ns/mnt");
  text.append(name.data(), static_cast<std::size_t>(size));
  return text + " " + TRY(identity_of("/"));
}

Result<std::string> identity_of(const std::filesystem::path& program) {
  struct stat status {};
  if (::stat(program.c_str(), &status) != 0) return syscall_failure("stat", program.native());
  if (S_ISDIR(status.st_mode)) return fmt::format("{} {}", status.st_dev, status.st_ino);
  return fmt::format("{} {} {}.{}", status.st_dev, status.st_ino, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec);
}

}  // namespace nutshell::native
