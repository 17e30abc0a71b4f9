#include "backends/native/launcher/launcher_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "backends/native/processes/child_answer.h"
#include "base/connect_within.h"
#include "base/file.h"
#include "base/pipe.h"
#include "base/socket.h"
#include "base/spawn.h"
#include "wire/codec.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr auto kListeningTime = 2s;
constexpr auto kConnectingTime = 200ms;
constexpr auto kBetweenLooks = 2ms;

Failure does_not_answer(std::string_view why) {
  return failure(ErrorCode::Unavailable,
                 fmt::format("the launcher, which keeps the sandboxes, does not answer ({}). The "
                             "sandboxes are still running. Try again, or kill the process "
                             "'nutshell-launcher', which ends all of them",
                             why));
}

constexpr const char* kEnded = "the launcher has ended, and its sandboxes with it";

bool is_connection_closed(const Error& error) {
  return error.code == ErrorCode::Unavailable;
}

// The launcher closes descriptor 3 when it is ready, or writes an error to it.
Result<> spawn_launcher(const RuntimeDirectory& directory, const std::filesystem::path& program) {
  Pipe report = TRY(make_pipe());
  ChildProcess child = TRY(spawn({.arguments = {"nutshell-launcher", directory.path.native()},
                                  .program = program,
                                  .output = kNullDevice,
                                  .error = kNullDevice,
                                  .third = report.write.get(),
                                  .directory = "/",
                                  .session = Command::Session::Own,
                                  .environment = Command::Environment::Empty,
                                  .others = Command::OtherDescriptors::Closed}));
  report.write.reset();
  // The launcher goes on in a child of its own.
  const auto status = TRY(child.wait(Deadline::never()));
  const std::string problem = TRY(read_all(report.read.get(), 64U << 10U));
  if (problem.empty() && status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {};
  if (problem.empty()) return failure(ErrorCode::Unavailable, "it ended before it was ready");
  TRY(decode_answer(problem));
  return {};
}

}  // namespace

// A launcher that has just started holds its InstanceLock a moment before it listens, so this
// retries.
Result<LauncherClient> LauncherClient::connect(const RuntimeDirectory& directory) {
  const Deadline deadline = Deadline::in(kListeningTime);
  for (;;) {
    auto socket = connect_to(directory.socket(), SocketKind::Packets);
    if (socket) return LauncherClient(std::move(*socket));
    if (!TRY(InstanceLock::is_held(directory)))
      return failure(ErrorCode::NotFound, "no sandboxes are kept");
    if (deadline.has_passed()) return does_not_answer(socket.error().message);
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

// Needs no lock: a launcher that exits at this moment resets the connection.
Result<LauncherClient> LauncherClient::connect_if_alive(const RuntimeDirectory& directory) {
  return LauncherClient(
      TRY(connect_within(kConnectingTime, directory.socket(), SocketKind::Packets)));
}

Result<LauncherClient> LauncherClient::connect_or_start(const RuntimeDirectory& directory,
                                                        const std::filesystem::path& program) {
  const LauncherLock lock = TRY(LauncherLock::take(directory));
  auto found = connect(directory);
  if (found || found.error().code != ErrorCode::NotFound) return found;
  auto spawned = spawn_launcher(directory, program);
  if (!spawned) return while_doing("start the launcher", std::move(spawned).error());
  return connect(directory);
}

Result<LauncherClient::Answer> LauncherClient::ask(const LauncherRequest& request,
                                                   std::chrono::milliseconds patience) {
  const std::string bytes = wire::encode(request);
  if (bytes.size() > kMostPacketBytes) {
    return failure(ErrorCode::InvalidArgument,
                   "the sandbox's environment and labels are too large: give large values to exec, "
                   "or copy a file in");
  }
  auto sent = send_packet(socket_.get(), bytes);
  if (!sent && is_connection_closed(sent.error())) return failure(ErrorCode::NotFound, kEnded);
  TRY(std::move(sent));
  auto packet = receive_packet(socket_.get(), Deadline::in(patience));
  if (!packet && packet.error().code == ErrorCode::DeadlineExceeded)
    return does_not_answer(packet.error().message);
  const bool has_ended = packet ? packet->bytes.empty() : is_connection_closed(packet.error());
  if (has_ended) return failure(ErrorCode::NotFound, kEnded);
  if (!packet) return Failure(std::move(packet).error());
  Answer answer{TRY(wire::decode<LauncherReply>(packet->bytes)), std::move(packet->descriptors)};
  if (answer.reply.message.empty()) return answer;
  return failure(answer.reply.code, answer.reply.message);
}

}  // namespace nutshell::native
