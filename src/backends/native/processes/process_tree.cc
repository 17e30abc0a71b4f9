#include "backends/native/processes/process_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"

namespace nutshell::native {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostProcesses = 100'000;
constexpr std::size_t kMostStatBytes = 4096;
constexpr std::size_t kMostListBytes = 1U << 20U;

// Returns its CPU time and that of the children that it has waited for, in clock ticks.
std::optional<std::uint64_t> ticks_of(pid_t process) {
  const auto text = read_file(fmt::format("/proc/{}/stat", process), kMostStatBytes);
  if (!text) return std::nullopt;
  // The name in parentheses may contain anything, so fields are counted from its end.
  std::size_t at = text->rfind(')');
  constexpr int kFieldsBefore = 12;
  for (int field = 0; field < kFieldsBefore && at != std::string::npos; ++field)
    at = text->find(' ', at + 1);
  std::uint64_t sum = 0;
  for (int field = 0; field < 4 && at != std::string::npos; ++field) {
    std::uint64_t ticks = 0;
    std::from_chars(text->data() + at + 1, text->data() + text->size(), ticks);
    sum += ticks;
    at = text->find(' ', at + 1);
  }
  return sum;
}

// Each thread has a list of its own children.
void add_children(pid_t process, std::vector<pid_t>& found) {
  std::error_code gone;  // set if the process ends meanwhile
  for (fs::directory_iterator thread(fmt::format("/proc/{}/task", process), gone), end;
       !gone && thread != end; thread.increment(gone)) {
    const auto text = read_file(thread->path() / "children", kMostListBytes);
    if (!text) continue;
    const char* at = text->data();
    const char* const last = at + text->size();
    while (at < last && found.size() < kMostProcesses) {
      pid_t child = 0;
      const auto read = std::from_chars(at, last, child);
      if (read.ec != std::errc()) break;
      found.push_back(child);
      at = read.ptr + 1;  // skips the blank
    }
  }
}

}  // namespace

// Reads the root first and its descendants last. A process that ends meanwhile may be missed, and
// is in its parent's time at the next call; in the other order it could be counted twice.
std::optional<std::chrono::microseconds> cpu_time_of_tree(pid_t root) {
  const auto own = ticks_of(root);
  if (!own) return std::nullopt;
  std::uint64_t sum = *own;
  std::vector<pid_t> processes;
  add_children(root, processes);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    sum += ticks_of(processes[i]).value_or(0);
    add_children(processes[i], processes);
  }
  constexpr std::uint64_t kMicroseconds = 1'000'000;
  const auto per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return std::chrono::microseconds(static_cast<std::int64_t>(sum * kMicroseconds / per_second));
}

}  // namespace nutshell::native
