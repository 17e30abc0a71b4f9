#include "init/search/worker.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/file.h"
#include "base/pipe.h"
#include "init/exec/memory_priority.h"
#include "wire/frame.h"

namespace nutshell::init::search {
namespace {

constexpr std::size_t kMostAnswer = wire::kHeaderBytes + wire::kMostReplyPayload;
constexpr int kPipeBytes = 256 << 10;  // an answer fits, so that the worker does not wait for init

// Sends the length first, so that a cut answer is not taken for a whole one.
void send_answer(int pipe, const std::string& answer) {
  const auto size = static_cast<std::uint32_t>(answer.size());
  std::array<char, sizeof size> prefix{};
  std::memcpy(prefix.data(), &size, sizeof size);
  // Errors are not reported: init sees the end of the pipe.
  if (write_all(pipe, {prefix.data(), prefix.size()})) (void)write_all(pipe, answer);
}

void close_others(int one, int other) {
  unsigned next = 0;
  std::array<int, 2> kept = {std::min(one, other), std::max(one, other)};
  for (const int fd : kept) {
    if (fd < 0) continue;
    const auto number = static_cast<unsigned>(fd);
    if (number > next) ::close_range(next, number - 1, 0);
    next = number + 1;
  }
  ::close_range(next, INT_MAX, 0);  // gVisor takes no larger number
}

[[noreturn]] void work(const Worker::Plan& plan, int pipe) {
  close_others(pipe, plan.kept);
  ::prctl(PR_SET_NAME, "search");
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    descriptors.rlim_cur = descriptors.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &descriptors);
  }
  try {
    send_answer(pipe, plan.answer());
  } catch (...) {  // out of memory: a worker without an answer
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

Result<Worker> Worker::start(const Plan& plan) {
  auto [ours, theirs] = TRY(make_pipe());
  // Only init's end is non-blocking; a smaller pipe works, too.
  TRY(set_nonblocking(ours.get()));
  (void)::fcntl(theirs.get(), F_SETPIPE_SZ, kPipeBytes);
  set_memory_priority(plan.memory_priority, kKilledFirst);
  const pid_t pid = ::fork();
  if (pid == 0) work(plan, theirs.get());
  const int error = errno;
  set_memory_priority(plan.memory_priority, kKilledLast);
  if (pid < 0) return failure(ErrorCode::ResourceExhausted, ::strerrordesc_np(error));
  return Worker(std::move(ours), pid);
}

// Only init reaps, and it has one thread: so the number stays the worker's until the signal is
// sent. A pidfd is not needed for that; gVisor has none.
Worker::~Worker() {
  if (pid_ < 0) return;
  pollfd end{pipe_.get(), 0, 0};
  const bool has_ended = ::poll(&end, 1, 0) > 0 && (end.revents & POLLHUP) != 0;
  if (!has_ended) ::kill(pid_, SIGKILL);
}

Worker::State Worker::read() {
  std::uint32_t size = 0;
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t count = ::read(pipe_.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN ? State::Working : State::Lost;
    if (count == 0) break;
    answer_.append(chunk.data(), static_cast<std::size_t>(count));
    if (answer_.size() > kMostAnswer + sizeof size) return State::Lost;
  }
  if (answer_.size() < sizeof size) return State::Lost;
  std::memcpy(&size, answer_.data(), sizeof size);
  answer_.erase(0, sizeof size);
  return answer_.size() == size && size > 0 ? State::Answered : State::Lost;
}

}  // namespace nutshell::init::search
