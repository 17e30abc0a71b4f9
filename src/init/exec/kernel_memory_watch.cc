#include "init/exec/kernel_memory_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "init/exec/proc_lines.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 100ms;

// Few sockets cannot hold much, and finding out how much takes longer than counting them.
constexpr std::uint64_t kFewSockets = 64;

constexpr std::string_view kEstablished = "01";
constexpr std::string_view kHalfOpen = "03";
constexpr std::string_view kCloseWait = "08";  // its client has closed it

// A connection has no inode before it is accepted. Connections that their program has closed have
// none either, but are in other states, and the kernel bounds their number.
bool is_unaccepted(std::string_view line) {
  const std::string_view state = word_at(line, 3);
  return (state == kEstablished || state == kHalfOpen || state == kCloseWait) &&
         word_at(line, 9) == "0";
}

// Estimates what a connection holds that was not accepted: its socket, and the buffers of what its
// client has sent, which can be much larger than their content.
std::uint64_t bytes_of_unaccepted(std::string_view line) {
  constexpr std::uint64_t kSocket = 4U << 10U;
  constexpr std::uint64_t kLeastBuffers = 32U << 10U;
  const std::string_view queues = word_at(line, 4);  // "00000000:0000001A": to send, to read
  const std::size_t colon = std::min(queues.find(':'), queues.size() - 1);
  const std::uint64_t sequence = number_of(queues.substr(colon + 1), 16);
  const std::uint64_t end = word_at(line, 3) == kCloseWait ? 1 : 0;  // the end counts as a byte
  return kSocket + (sequence > end ? std::max(kLeastBuffers, 2 * (sequence - end)) : 0);
}

}  // namespace

std::uint64_t uncounted_socket_bytes(std::uint64_t enough) {
  constexpr std::size_t kReadColumn = 4;
  std::uint64_t total = 0;
  for_each_line("/proc/self/net/netlink", [&](std::string_view line) {
    total += number_of(word_at(line, kReadColumn));
    return total < enough;
  });
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    if (total >= enough) break;
    for_each_line(table, [&](std::string_view line) {
      if (is_unaccepted(line)) total += bytes_of_unaccepted(line);
      return total < enough;
    });
  }
  return total;
}

std::uint64_t count_file_locks(std::uint64_t enough) {
  std::uint64_t count = 0;
  for_each_line("/proc/locks", [&](std::string_view line) {
    // Those that wait have "->" there; each of them holds up a process, so they are few.
    if (word_at(line, 1) == "POSIX") ++count;
    return count < enough;
  });
  return count;
}

void KernelMemoryWatch::begin() {
  if (next_look_.is_never()) next_look_ = Deadline::in(kInterval);
}

// Locks are counted only if the kernel's memory has grown by as much as many locks take. It is that
// of the whole machine, so others can make it grow too.
bool KernelMemoryWatch::has_kernel_grown() {
  constexpr std::uint64_t kGrowth = 32U << 20U;
  const auto text = read_file("/proc/meminfo");
  const std::uint64_t now = text ? number_after(*text, "SUnreclaim:") << 10U : 0;
  if (kernel_bytes_ == 0 || now < kernel_bytes_) kernel_bytes_ = now;
  if (now < kernel_bytes_ + kGrowth) return false;
  kernel_bytes_ = now;
  return true;
}

std::string KernelMemoryWatch::look() {
  const auto begin = Clock::now();
  std::string beyond;
  const auto sockets = read_file("/proc/self/net/sockstat");
  if (sockets && number_after(*sockets, "sockets: used") > kFewSockets &&
      uncounted_socket_bytes(kMostSocketBytes) >= kMostSocketBytes) {
    beyond = fmt::format(
        "connections that were not accepted and netlink sockets hold {} MiB of the kernel's "
        "memory, "
        "the most whatever the memory limit is",
        kMostSocketBytes >> 20U);
  } else if (has_kernel_grown() && count_file_locks(kMostLocks) >= kMostLocks) {
    beyond = fmt::format("{} file locks, the most whatever the memory limit is", kMostLocks);
  }
  // A look takes at most a fiftieth of the time.
  constexpr int kShare = 50;
  next_look_ = Deadline::in(std::max<Clock::duration>(kInterval, kShare * (Clock::now() - begin)));
  return beyond;
}

}  // namespace nutshell::init
