#include "backends/native/start/host_trials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "backends/native/cgroups/cgroup.h"
#include "backends/native/cgroups/cgroup_name.h"
#include "backends/native/files/private_view.h"
#include "backends/native/filters/capabilities.h"
#include "backends/native/filters/landlock.h"
#include "backends/native/filters/seccomp.h"
#include "backends/native/namespaces/network_namespace.h"
#include "backends/native/start/abilities.h"
#include "backends/native/start/enter.h"
#include "backends/native/start/starter.h"
#include "base/apparmor.h"
#include "base/file.h"
#include "base/parent_death.h"
#include "base/seccomp_filter.h"
#include "base/socket.h"
#include "wire/init_client.h"

namespace nutshell::native {
namespace {

struct Trial {
  const char* protection;  // missing if the attempt fails
  std::function<Result<>(const Abilities&)> attempt;
  const char* fix;
};

Result<> gain_own_root(const Abilities& abilities) {
  if (abilities.privilege == Privilege::Root) return {};
  return enter_own_user_namespace({::geteuid(), ::getegid()});
}

Result<> unshare_as_root(const Abilities& abilities, int flags, const char* name) {
  TRY(gain_own_root(abilities));
  if (::unshare(flags) != 0) return syscall_failure("unshare", name);
  return {};
}

Result<> try_user(const Abilities& abilities) {
  TRY(gain_own_root(abilities));
  return ::unshare(CLONE_NEWUSER) == 0 ? Result<>() : syscall_failure("unshare", "user");
}

// Only a process in the new pid namespace can mount a /proc for it.
Result<> try_processes(const Abilities& abilities) {
  TRY(unshare_as_root(abilities, CLONE_NEWPID | CLONE_NEWNS, "pid"));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::mount("proc", "/proc", "proc", 0, nullptr) == 0 ? 0 : errno);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return syscall_failure("fork");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return syscall_failure(WEXITSTATUS(status), "mount", "/proc");
}

Result<> try_network(const Abilities& abilities) {
  TRY(unshare_as_root(abilities, CLONE_NEWNET, "network"));
  return bring_loopback_up();
}

Result<> try_filesystem(const Abilities& abilities) {
  TRY(unshare_as_root(abilities, CLONE_NEWNS, "mount"));
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return syscall_failure("mount");
  return ::mount("tmpfs", "/tmp", "tmpfs", 0, "size=64k") == 0 ? Result<>()
                                                               : syscall_failure("mount", "tmpfs");
}

Result<> try_locks(const Abilities& abilities) {
  TRY(unshare_as_root(abilities, CLONE_NEWNS, "mount"));
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", "/tmp", "tmpfs", 0, "size=64k,mode=0755") != 0) {
    return syscall_failure("mount");
  }
  const UniqueFd empty = TRY(open_file("/tmp", O_PATH | O_DIRECTORY));
  return mount_private_view({"/usr", "/usr", empty.get(), abilities.privilege},
                            TRY(MountTable::read()));
}

Result<> try_landlock(const Abilities& /*abilities*/) {
  TRY(set_no_new_privileges());
  TRY(restrict_paths({.writable = {"/tmp"}, .devices = {"/dev"}}));
  if (open_file("/etc/passwd", O_WRONLY | O_APPEND)) {
    return failure(ErrorCode::Internal, "the kernel accepted a rule and does not enforce it");
  }
  return {};
}

Result<> try_seccomp(const Abilities& /*abilities*/) {
  TRY(set_no_new_privileges());
  TRY(filter_system_calls());
  if (::unshare(CLONE_FS) == 0)
    return failure(ErrorCode::Internal, "the kernel accepted a filter and does not enforce it");
  return {};
}

Result<> try_capabilities(const Abilities& abilities) {
  TRY(gain_own_root(abilities));
  TRY(empty_bounding_set());
  return drop_capabilities();
}

Result<> try_cgroup(const Abilities& abilities) {
  if (abilities.cgroups.version() == CgroupVersion::None) {
    const std::string& all = abilities.cgroups.why_not();
    return failure(ErrorCode::PermissionDenied, all.substr(0, all.find(';')));
  }
  Cgroup cgroup = TRY(Cgroup::create(abilities.cgroups, TRY(cgroup_owner_name()) + ".0"));
  TRY(cgroup.apply(Limits{}));
  return cgroup.remove(Deadline::in(std::chrono::seconds(5)));
}

constexpr const char* kUserNamespaceFix =
    "let users make user namespaces: sysctl -w user.max_user_namespaces=10000 (Debian: also "
    "kernel.unprivileged_userns_clone=1); inside Docker add --security-opt seccomp=unconfined; or "
    "run as root";
// AppArmor lets a program make them and then takes the rights away that it has in them, so that any
// of the trials may fail.
constexpr const char* kAppArmorFix =
    "AppArmor lets plain users' programs make user namespaces only with a profile: 'nutshell "
    "doctor --apparmor-profile | sudo tee /etc/apparmor.d/nutshell', then 'sudo apparmor_parser "
    "--replace /etc/apparmor.d/nutshell'; or run as root";
constexpr const char* kProcFix =
    "this container masks /proc, so no private one can be mounted: run the container with "
    "--security-opt systempaths=unconfined, or run as root on the host";

const std::array<Trial, 9>& trials() {
  static const std::array<Trial, 9> kTrials = {{
      {"user", try_user, kUserNamespaceFix},
      {"filesystem", try_filesystem, kUserNamespaceFix},
      {"locks", try_locks,
       "use a kernel with overlay mounts (as a plain user 5.11 or later) and a /usr that is not "
       "itself two overlays deep, or accept file locks on the host's files with "
       "--unsafe-without locks"},
      {"process_isolation", try_processes, kProcFix},
      {"network", try_network, kUserNamespaceFix},
      {"capabilities", try_capabilities, kUserNamespaceFix},
      {"seccomp", try_seccomp, "use a kernel with CONFIG_SECCOMP_FILTER"},
      {"landlock", try_landlock,
       "boot with lsm=landlock,… on a kernel of 5.13 or later, or accept its absence with "
       "--unsafe-without landlock"},
      {"cgroup", try_cgroup,
       "run as root, or under a delegated cgroup: systemd-run --user --scope -p Delegate=yes …"},
  }};
  return kTrials;
}

// Runs the attempt in a child, whose changes end with it. Returns the error, or an empty text.
std::string attempt_apart(const std::function<Result<>()>& attempt) {
  auto pair = make_socket_pair(SocketKind::Stream);
  if (!pair) return pair.error().message;
  auto& [ours, theirs] = *pair;
  const pid_t own = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return "fork: cannot start a process";
  if (child == 0) {
    if (!die_with_parent_process(own)) ::_exit(1);
    ours.reset();
    const auto result = attempt();
    if (!result) (void)write_all(theirs.get(), result.error().message);
    ::_exit(result ? 0 : 1);
  }
  theirs.reset();
  auto message = read_all(ours.get(), 64U << 10U);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return message && !message->empty() ? *message : "the trial died";
}

Result<> start_whole_sandbox(const InitEntry& entry) {
  Starter starter = TRY(Starter::create(entry, Pooling::Off));
  NativeSandbox sandbox = TRY(starter.start(SandboxSpec{}));
  TRY(Starter::wait_until_started(sandbox));
  wire::InitClient client(TRY(Starter::connect(sandbox)));
  TRY(client.ping());
  (void)starter.finish(std::move(sandbox));
  return {};
}

void mark_missing(Protections& protections, const std::string& name, const std::string& why) {
  for (Protection& protection : protections) {
    if (protection.name == name) protection = {name, Strength::Missing, "", why};
  }
}

}  // namespace

Protections try_on_this_host(const InitEntry& entry) {
  const Abilities abilities = Abilities::find();
  Protections protections = protections_for(abilities, SandboxSpec{});
  const bool is_restricted = abilities.privilege == Privilege::Rootless && needs_apparmor_profile();
  for (const Trial& trial : trials()) {
    const std::string why = attempt_apart([&] { return trial.attempt(abilities); });
    const bool is_of_namespaces = trial.fix == kUserNamespaceFix || trial.fix == kProcFix;
    const char* fix = is_restricted && is_of_namespaces ? kAppArmorFix : trial.fix;
    if (!why.empty()) mark_missing(protections, trial.protection, fmt::format("{}; {}", why, fix));
  }
  const std::string why = attempt_apart([&] { return start_whole_sandbox(entry); });
  const Strength strength = why.empty() ? Strength::Hard : Strength::Missing;
  protections.push_back(
      {"sandbox", strength, why.empty() ? "started one and asked its init" : "", why});
  return protections;
}

}  // namespace nutshell::native
