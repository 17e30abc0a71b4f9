#include "init/exec/memory_watch.h"

#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "init/exec/proc_lines.h"
#include "init/exec/process_stat.h"

namespace nutshell::init {
namespace {

// System V objects live on without a process. The kernel lists the pages of each segment, and the
// content and number of each queue's messages.
std::uint64_t segment_bytes() {
  constexpr std::size_t kResidentColumn = 14;
  std::uint64_t total = 0;
  for_each_line("/proc/sysvipc/shm", [&](std::string_view line) {
    total += number_of(word_at(line, kResidentColumn));
    return true;
  });
  return total;
}

std::uint64_t queue_bytes() {
  constexpr std::size_t kBytesColumn = 3;
  constexpr std::size_t kMessagesColumn = 4;
  constexpr std::uint64_t kHead = 64;  // of each message
  constexpr std::uint64_t kQueue = 512;
  std::uint64_t total = 0;
  for_each_line("/proc/sysvipc/msg", [&](std::string_view line) {
    total += kQueue + number_of(word_at(line, kBytesColumn)) +
             kHead * number_of(word_at(line, kMessagesColumn));
    return true;
  });
  return total;
}

// Each process that uses semaphores with SEM_UNDO has two bytes more for each of them.
std::uint64_t semaphore_bytes(std::size_t processes) {
  constexpr std::size_t kCountColumn = 3;
  constexpr std::uint64_t kSemaphore = 64;
  constexpr std::uint64_t kSet = 512;
  std::uint64_t total = 0;
  for_each_line("/proc/sysvipc/sem", [&](std::string_view line) {
    total += kSet + number_of(word_at(line, kCountColumn)) * (kSemaphore + 2 * processes);
    return true;
  });
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

// gVisor counts files in memory (tmpfs, memfd, shared mappings) in AnonPages, and once more in
// Shmem; Linux counts them in Shmem alone. Files on the host's disk that are only cached are not
// the sandbox's.
std::uint64_t kernel_bytes() {
  const auto text = read_file("/proc/meminfo");
  if (!text) return ~0ULL;  // counts as over the limit if it cannot be read
  return number_after(*text, "AnonPages:") << 10U;
}

struct Size {
  std::uint64_t space = 0;  // all addresses that are mapped
  std::uint64_t resident = 0;
};

Size size_of(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/statm", pid));
  if (!text) return {};
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {number_of(word_at(*text, 0)) * page, number_of(word_at(*text, 1)) * page};
}

// Bytes of a process that its resident size leaves out: page tables, which a large mapping needs
// even where each page is the same page of zeros, and what was swapped out.
enum class Swap { Counted, LeftOut };

std::uint64_t hidden_bytes(pid_t pid, std::uint64_t space, Swap swap) {
  constexpr std::uint64_t kSmallSpace = 128U << 20U;  // its tables take 256 KiB
  const bool counts_swap = swap == Swap::Counted;
  if (space <= kSmallSpace && !counts_swap) return 0;
  const auto text = read_file(fmt::format("/proc/{}/status", pid));
  if (!text) return 0;
  const std::uint64_t tables = space > kSmallSpace ? number_after(*text, "\nVmPTE:") : 0;
  const std::uint64_t swapped = counts_swap ? number_after(*text, "\nVmSwap:") : 0;
  return (tables + swapped) << 10U;
}

// Whether the process uses its parent's memory, as between vfork and exec: it has none of its own
// then, though /proc shows the parent's as if it had. Kernels without kcmp cannot tell.
bool has_parents_memory(int proc, pid_t pid) {
  const auto stat = read_process_stat(proc, pid);
  return stat && ::syscall(SYS_kcmp, pid, stat->parent, KCMP_VM, 0, 0) == 0;
}

}  // namespace

std::uint64_t MemoryWatch::bytes_of(pid_t pid) {
  const Size size = size_of(pid);
  return size.resident + hidden_bytes(pid, size.space, Swap::LeftOut);
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
  const std::uint64_t shared_files = scratch_bytes() + segment_bytes();
  const std::uint64_t kernel = socket_bytes() + queue_bytes() + semaphore_bytes(pids.size());
  // Resident sizes count shared pages many times over: a quick bound that needs no page walk.
  std::uint64_t bound = shared_files + kernel;
  const Swap swap = has_swapped() ? Swap::Counted : Swap::LeftOut;
  for (const pid_t pid : pids) {
    const Size size = size_of(pid);
    bound += size.resident + hidden_bytes(pid, size.space, swap);
  }
  if (bound <= limit_bytes_) return 0;
  std::uint64_t own = 0;
  std::uint64_t shared = 0;
  for (const pid_t pid : pids) {
    if (has_parents_memory(marks.proc(), pid)) continue;
    const Size size = size_of(pid);
    const auto rollup = read_file(fmt::format("/proc/{}/smaps_rollup", pid));
    if (!rollup) {
      // It has just ended, or it is not dumpable and its pages cannot be read.
      own += size.resident + hidden_bytes(pid, size.space, swap);
      continue;
    }
    own += (number_after(*rollup, "Pss_Anon:") + number_after(*rollup, "SwapPss:")) << 10U;
    own += hidden_bytes(pid, size.space, Swap::LeftOut);
    shared += number_after(*rollup, "Pss_Shmem:") << 10U;
  }
  // Mapped scratch files are in both counts: so only the larger count is taken.
  const std::uint64_t used = own + std::max(shared, shared_files) + kernel;
  return used > limit_bytes_ ? used : 0;
}

}  // namespace nutshell::init
