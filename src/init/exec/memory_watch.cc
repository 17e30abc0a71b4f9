#include "init/exec/memory_watch.h"

#include <fmt/format.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <charconv>

#include "base/file.h"

namespace nutshell::init {
namespace {

std::uint64_t number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Shared segments live on without a process; the kernel lists their pages by segment.
std::uint64_t system_v_bytes() {
  const auto text = read_file("/proc/sysvipc/shm");
  if (!text) return 0;
  constexpr int kResidentColumn = 14;
  std::uint64_t total = 0;
  std::string_view lines = *text;
  lines.remove_prefix(std::min(lines.find('\n') + 1, lines.size()));
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    std::uint64_t value = 0;
    for (int column = 0; column <= kResidentColumn && !line.empty(); ++column) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      const std::string_view word = line.substr(0, line.find(' '));
      value = 0;
      std::from_chars(word.data(), word.data() + word.size(), value);
      line.remove_prefix(word.size());
    }
    total += value;
  }
  return total;
}

// The most bytes that the sandbox's sockets can hold, without the first few. The kernel tells the
// number of sockets, also of those in flight, but not how much each one holds.
std::uint64_t socket_bytes() {
  constexpr std::uint64_t kFreeSockets = 128;
  constexpr std::uint64_t kMostBytesOfOne = 416U << 10U;  // twice net.core.wmem_max, as by default
  const auto text = read_file("/proc/self/net/sockstat");
  const std::uint64_t count = text ? number_after(*text, "sockets: used") : 0;
  return count > kFreeSockets ? (count - kFreeSockets) * kMostBytesOfOne : 0;
}

// Swapped pages still count for the sandbox.
bool has_swapped() {
  struct sysinfo machine {};
  return ::sysinfo(&machine) == 0 && machine.freeswap < machine.totalswap;
}

std::uint64_t swapped_bytes(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/status", pid));
  return text ? number_after(*text, "\nVmSwap:") << 10U : 0;
}

// gVisor counts files in memory (tmpfs, memfd, shared mappings) in AnonPages, and once more in
// Shmem; Linux counts them in Shmem alone. Files on the host's disk that are only cached are not
// the sandbox's.
std::uint64_t kernel_bytes() {
  const auto text = read_file("/proc/meminfo");
  if (!text) return ~0ULL;  // counts as over the limit if it cannot be read
  return number_after(*text, "AnonPages:") << 10U;
}

}  // namespace

std::uint64_t MemoryWatch::resident_bytes(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/statm", pid));
  if (!text) return 0;
  const std::size_t space = std::min(text->find(' '), text->size());
  return number_after(std::string_view(*text).substr(space), "") *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t MemoryWatch::scratch_bytes() const {
  std::uint64_t total = 0;
  for (const std::string& path : scratch_) {
    struct statfs system {};
    if (::statfs(path.c_str(), &system) != 0) continue;
    total += static_cast<std::uint64_t>(system.f_blocks - system.f_bfree) *
             static_cast<std::uint64_t>(system.f_bsize);
  }
  return total;
}

std::uint64_t MemoryWatch::overuse(const ProcessMarks& marks) const {
  if (source_ == Source::WholeKernel) {
    const std::uint64_t used = kernel_bytes();
    return used > limit_bytes_ ? used : 0;
  }
  const std::vector<pid_t> pids = marks.living(ProcessMarks::kAnyMark);
  const std::uint64_t shared_files = scratch_bytes() + system_v_bytes();
  const std::uint64_t sockets = socket_bytes();
  // Resident sizes count shared pages many times over: a quick bound that needs no page walk.
  std::uint64_t bound = shared_files + sockets;
  const bool counts_swap = has_swapped();
  for (const pid_t pid : pids)
    bound += resident_bytes(pid) + (counts_swap ? swapped_bytes(pid) : 0);
  if (bound <= limit_bytes_) return 0;
  std::uint64_t anonymous = 0;
  std::uint64_t shared = 0;
  for (const pid_t pid : pids) {
    const auto rollup = read_file(fmt::format("/proc/{}/smaps_rollup", pid));
    if (!rollup) {
      // It has just ended, or it is not dumpable and its pages cannot be read.
      anonymous += resident_bytes(pid) + (counts_swap ? swapped_bytes(pid) : 0);
      continue;
    }
    anonymous += (number_after(*rollup, "Pss_Anon:") + number_after(*rollup, "SwapPss:")) << 10U;
    shared += number_after(*rollup, "Pss_Shmem:") << 10U;
  }
  // Mapped scratch files are in both counts: so only the larger count is taken.
  const std::uint64_t used = anonymous + std::max(shared, shared_files) + sockets;
  return used > limit_bytes_ ? used : 0;
}

}  // namespace nutshell::init
