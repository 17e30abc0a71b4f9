#include "backends/native/processes/side_process.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "backends/native/processes/clone_process.h"
#include "base/parent_death.h"
#include "base/socket.h"

namespace nutshell::native {
namespace {

constexpr char kDone = '+';

// A copy that a child keeps of another sandbox's socket would hide the end of that socket.
void close_others(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned next = STDERR_FILENO + 1;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (fd < 0 || number < next) continue;
    if (number > next) ::close_range(next, number - 1, 0);
    next = number + 1;
  }
  ::close_range(next, ~0U, 0);
}

}  // namespace

Result<SideProcess> SideProcess::start(std::vector<int> descriptors,
                                       const std::function<Result<>()>& work) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Packets));
  const pid_t own = ::getpid();
  ChildProcess child = TRY(clone_process(0, -1));
  if (child.pid() == 0) {
    auto done = die_with_parent_process(own);
    descriptors.push_back(theirs.get());
    close_others(std::move(descriptors));
    if (done) done = work();
    const std::string answer =
        done ? std::string(1, kDone) : static_cast<char>(done.error().code) + done.error().message;
    (void)send_packet(theirs.get(), answer);  // nobody waits any more
    ::_exit(0);
  }
  return SideProcess(std::move(child), std::move(ours));
}

Result<> SideProcess::take_answer(const Deadline& deadline) {
  auto answer = receive_packet(answer_.get(), deadline);
  child_.send_signal(SIGKILL);
  if (!answer) return Failure(std::move(answer).error());
  if (answer->bytes.empty()) return failure(ErrorCode::Internal, "the process died that did it");
  if (answer->bytes[0] == kDone) return {};
  return failure(static_cast<ErrorCode>(answer->bytes[0]), answer->bytes.substr(1));
}

}  // namespace nutshell::native
