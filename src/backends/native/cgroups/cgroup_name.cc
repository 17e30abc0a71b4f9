#include "backends/native/cgroups/cgroup_name.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "base/file.h"

namespace nutshell::native {
namespace {

// Takes a number and the separator behind it off the front of `text`.
template <typename Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return true;
}

bool is_over(const ProcessStat& stat) {
  // A thread group leader that ended before its other threads is a zombie too.
  return (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
}

}  // namespace

std::string to_string(const CgroupName& name) {
  return fmt::format("{}.{}.{}.{}", name.pid_namespace, name.pid, name.start_time, name.number);
}

std::optional<CgroupName> parse_cgroup_name(std::string_view text) {
  CgroupName name;
  std::string_view rest = text;
  const bool is_complete = take_number(rest, name.pid_namespace) && take_number(rest, name.pid) &&
                           take_number(rest, name.start_time) && take_number(rest, name.number);
  if (!is_complete || name.pid <= 0 || to_string(name) != text) return std::nullopt;
  return name;
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  ProcessStat stat;
  std::string_view front = text;
  // The process chooses the name in parentheses; it may contain anything, ')' included.
  const auto name_end = text.rfind(')');
  if (!take_number(front, stat.pid) || name_end == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(name_end + 1);
  if (rest.size() < 4) return std::nullopt;
  stat.state = rest[1];
  rest.remove_prefix(3);
  constexpr int kFirstField = 4;
  constexpr int kThreadsField = 20;
  constexpr int kStartTimeField = 22;
  for (int field = kFirstField; field <= kStartTimeField; ++field) {
    if (rest.starts_with('-')) rest.remove_prefix(1);
    std::uint64_t number = 0;
    if (!take_number(rest, number)) return std::nullopt;
    if (field == kThreadsField) stat.threads = number;
    if (field == kStartTimeField) stat.start_time = number;
  }
  return stat;
}

Result<CgroupName> cgroup_owner() {
  struct stat namespace_file {};
  if (::stat("/proc/self/ns/pid", &namespace_file) != 0) {
    return syscall_failure("stat", "/proc/self/ns/pid");
  }
  const auto stat = parse_process_stat(TRY(read_file("/proc/self/stat")));
  if (!stat) return failure(ErrorCode::Internal, "/proc/self/stat has an unknown format");
  if (stat->pid != ::getpid()) {
    return failure(ErrorCode::Unsupported, "/proc shows another pid namespace than this process's");
  }
  return CgroupName{namespace_file.st_ino, stat->pid, stat->start_time, 0};
}

Result<std::string> cgroup_owner_name() {
  const CgroupName owner = TRY(cgroup_owner());
  return fmt::format("{}.{}.{}", owner.pid_namespace, owner.pid, owner.start_time);
}

OwnerState owner_state(const CgroupName& name, std::uint64_t own_pid_namespace) {
  if (name.pid_namespace != own_pid_namespace) return OwnerState::Unknown;
  if (::kill(name.pid, 0) != 0 && errno == ESRCH) return OwnerState::Dead;
  const auto text = read_file(fmt::format("/proc/{}/stat", name.pid));
  // A /proc mounted with hidepid hides processes that kill(2) finds: they are alive.
  if (!text) return OwnerState::Alive;
  const auto stat = parse_process_stat(*text);
  if (!stat) return OwnerState::Alive;
  if (stat->start_time != name.start_time || is_over(*stat)) return OwnerState::Dead;
  return OwnerState::Alive;
}

}  // namespace nutshell::native
