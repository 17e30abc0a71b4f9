#include "backends/native/processes/side_process.h"

#include <signal.h>
#include <unistd.h>

#include <string>

#include "backends/native/processes/child_answer.h"
#include "backends/native/processes/clone_process.h"
#include "backends/native/processes/close_descriptors.h"
#include "base/parent_death.h"
#include "base/socket.h"

namespace nutshell::native {
Result<SideProcess> SideProcess::start(std::vector<int> descriptors,
                                       const std::function<Result<>()>& work) {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Packets));
  const pid_t own = ::getpid();
  ChildProcess child = TRY(clone_process(0, -1));
  if (child.pid() == 0) {
    auto done = die_with_parent_process(own);
    // A copy of another sandbox's socket would keep that connection open.
    descriptors.push_back(theirs.get());
    if (done) done = close_all_but(std::move(descriptors));
    if (done) done = work();
    (void)send_packet(theirs.get(), encode_answer(done));  // fails if the parent has given up
    ::_exit(0);
  }
  return SideProcess(std::move(child), std::move(ours));
}

Result<> SideProcess::take_answer(const Deadline& deadline) {
  auto answer = receive_packet(answer_.get(), deadline);
  child_.send_signal(SIGKILL);
  if (!answer) return Failure(std::move(answer).error());
  TRY(decode_answer(answer->bytes));
  return {};
}

}  // namespace nutshell::native
