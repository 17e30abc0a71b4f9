#include "bench/host_memory.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/file.h"

namespace nutshell::bench {
namespace {

// The number after a line's "name:", in KiB as the kernel gives it.
double value_of(const std::string& text, const std::string& name) {
  const auto begin = ("\n" + text).find("\n" + name + ":");
  if (begin == std::string::npos) return 0;
  return std::strtod(text.c_str() + begin + name.size() + 1, nullptr);
}

}  // namespace

Result<HostMemory> HostMemory::read() {
  const std::string text = TRY(read_file("/proc/meminfo"));
  return HostMemory{value_of(text, "MemAvailable"), value_of(text, "Slab"),
                    value_of(text, "Percpu"), value_of(text, "KernelStack"),
                    value_of(text, "PageTables")};
}

Result<double> private_memory(const std::vector<pid_t>& processes) {
  double sum = 0;
  for (const pid_t process : processes) {
    const std::string text = TRY(read_file(fmt::format("/proc/{}/smaps_rollup", process)));
    sum += value_of(text, "Private_Dirty") + value_of(text, "Private_Clean");
  }
  return sum;
}

}  // namespace nutshell::bench
