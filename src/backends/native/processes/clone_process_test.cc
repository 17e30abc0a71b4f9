#include "backends/native/processes/clone_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "backends/native/processes/kept_descriptors.h"
#include "base/unique_fd.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

// Returns the status of a child that exits with 0 if `kept` is open and `closed` is not.
Result<std::optional<int>> clone_and_look(int kept, int closed) {
  ChildProcess child = TRY(clone_with_low_descriptors(0, -1));
  if (child.pid() == 0) ::_exit(is_open(kept) && (closed < 0 || !is_open(closed)) ? 0 : 1);
  return child.wait(Deadline::in(10s));
}

TEST(CloneProcess, DoesNotCopyHighDescriptors) {
  const UniqueFd low(::eventfd(0, EFD_CLOEXEC));
  const UniqueFd high(::fcntl(low.get(), F_DUPFD_CLOEXEC, kFirstKept));
  if (!high) GTEST_SKIP() << "needs a limit of more than " << kFirstKept << " open files";
  const auto end = clone_and_look(low.get(), high.get());
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, 0);
  EXPECT_TRUE(is_open(high.get()));
}

TEST(CloneProcess, DoesNotHangWhenAllLowNumbersAreTaken) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max <= kFirstKept + 64U) GTEST_SKIP() << "the hard limit of open files is too low";
  const rlimit raised{kFirstKept + 64U, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &raised), 0);
  std::vector<UniqueFd> taken;
  do {
    taken.emplace_back(::eventfd(0, EFD_CLOEXEC));
  } while (taken.back() && taken.back().get() < kFirstKept);
  ASSERT_TRUE(taken.back());
  const auto end = clone_and_look(taken.front().get(), -1);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(*end, 0);
  taken.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

}  // namespace
}  // namespace nutshell::native
