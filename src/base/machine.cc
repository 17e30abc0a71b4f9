#include "base/machine.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "base/file.h"

namespace nutshell {
namespace {

constexpr std::uint64_t kLittleMemory = 1ULL << 30U;
constexpr std::uint64_t kFewProcesses = 32'768;

std::uint64_t number_in(const std::filesystem::path& path, std::uint64_t otherwise) {
  const auto text = read_file(path, 64);
  if (!text) return otherwise;
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), number);
  return parsed.ec == std::errc() ? number : otherwise;  // it may be "max"
}

// The path behind "0::" (v2) or ":memory:" (v1) in /proc/self/cgroup.
std::string own_cgroup(std::string_view text, std::string_view mark) {
  const std::size_t found = text.find(mark);
  if (found == std::string_view::npos) return "/";
  const std::string_view rest = text.substr(found + mark.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

// The least bound of this group and all above it.
std::uint64_t least_of(const std::filesystem::path& mount, std::filesystem::path group,
                       const char* file) {
  std::uint64_t least = ~0ULL;
  for (;;) {
    least = std::min(least, number_in(mount / group.relative_path() / file, ~0ULL));
    if (group.empty() || group == group.parent_path()) return least;
    group = group.parent_path();
  }
}

std::uint64_t cgroup_memory() {
  const std::string groups = read_file("/proc/self/cgroup", 64U << 10U).value_or("");
  return std::min(
      least_of("/sys/fs/cgroup", own_cgroup(groups, "0::"), "memory.max"),
      least_of("/sys/fs/cgroup/memory", own_cgroup(groups, ":memory:"), "memory.limit_in_bytes"));
}

}  // namespace

std::uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

std::uint64_t physical_memory_bytes() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return kLittleMemory;
  return std::uint64_t{info.totalram} * info.mem_unit;
}

std::uint64_t most_processes() {
  return std::min(number_in("/proc/sys/kernel/pid_max", kFewProcesses),
                  number_in("/proc/sys/kernel/threads-max", kFewProcesses));
}

Machine read_machine() {
  return {std::min(physical_memory_bytes(), cgroup_memory()), usable_cores(), most_processes()};
}

std::uint64_t file_system_bytes(std::filesystem::path directory) {
  struct statvfs status {};
  while (::statvfs(directory.c_str(), &status) != 0) {
    if (directory.empty() || directory == directory.parent_path()) return kLittleMemory;
    directory = directory.parent_path();
  }
  return std::uint64_t{status.f_blocks} * status.f_frsize;
}

}  // namespace nutshell
