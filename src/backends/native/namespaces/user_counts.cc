#include "backends/native/namespaces/user_counts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/file.h"

namespace nutshell::native {
namespace {

// The limits that the kernel counts by user and user namespace. RLIMIT_NPROC is the fourth; each
// sandbox sets it itself.
constexpr std::array<__rlimit_resource, 3> kCounted = {RLIMIT_MSGQUEUE, RLIMIT_SIGPENDING,
                                                       RLIMIT_MEMLOCK};

struct InotifyCount {
  const char* host_setting;
  const char* name;
};
constexpr std::array<InotifyCount, 2> kInotifyCounts = {
    {{"/proc/sys/fs/inotify/max_user_instances", "max_inotify_instances"},
     {"/proc/sys/fs/inotify/max_user_watches", "max_inotify_watches"}}};

}  // namespace

Result<> with_halved_limits(const std::function<Result<>()>& enter) {
  std::array<rlimit, kCounted.size()> own{};
  for (std::size_t i = 0; i < kCounted.size(); ++i) {
    if (::getrlimit(kCounted[i], &own[i]) != 0) return syscall_failure("getrlimit");
    const rlimit halved{own[i].rlim_cur / 2, own[i].rlim_max};
    if (own[i].rlim_cur == RLIM_INFINITY) continue;
    if (::setrlimit(kCounted[i], &halved) != 0) return syscall_failure("setrlimit");
  }
  auto entered = enter();
  for (std::size_t i = 0; i < kCounted.size(); ++i) {
    if (::setrlimit(kCounted[i], &own[i]) != 0) return syscall_failure("setrlimit");
  }
  return entered;
}

Result<UniqueFd> open_user_counts() {
  return open_file("/proc/sys/user", O_PATH | O_DIRECTORY);
}

Result<> bound_inotify(const UniqueFd& user_counts, Share share) {
  for (const InotifyCount& count : kInotifyCounts) {
    const auto text = read_file(count.host_setting);
    if (!text) continue;  // a kernel without inotify
    unsigned long all = 0;
    std::from_chars(text->data(), text->data() + text->size(), all);
    const unsigned long part = all / (share == Share::OfAllSandboxes ? 2 : 4);
    TRY(write_value_at(user_counts.get(), count.name, fmt::format("{}\n", std::max(part, 1UL))));
  }
  return {};
}

}  // namespace nutshell::native
