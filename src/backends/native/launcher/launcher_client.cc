#include "backends/native/launcher/launcher_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/file.h"
#include "base/socket.h"
#include "wire/codec.h"

namespace nutshell::native {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerTime = 60s;
constexpr auto kListeningTime = 2s;
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

struct SpawnSettings {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

// The launcher writes its first and last word to descriptor 3: empty for ready, or what failed.
Result<> spawn_launcher(const RuntimeDirectory& directory, const std::filesystem::path& program) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return syscall_failure("pipe");
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  SpawnSettings settings;
  for (const int fd : {0, 1, 2}) {
    ::posix_spawn_file_actions_addopen(&settings.actions, fd, "/dev/null", O_RDWR, 0);
  }
  ::posix_spawn_file_actions_adddup2(&settings.actions, theirs.get(), 3);
  ::posix_spawn_file_actions_addclosefrom_np(&settings.actions, 4);
  ::posix_spawn_file_actions_addchdir_np(&settings.actions, "/");
  ::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSID);
  std::string name = "nutshell-launcher";
  std::string where = directory.path.native();
  std::array<char*, 3> argv{name.data(), where.data(), nullptr};
  std::array<char*, 1> environment{nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &settings.actions, &settings.attributes,
                                  argv.data(), environment.data());
  if (error != 0) return syscall_failure(error, "start", program.native());
  theirs.reset();
  int status = 0;
  ::waitpid(pid, &status, 0);  // it goes on in a child of its own
  const std::string problem = TRY(read_all(ours.get(), 64U << 10U));
  if (problem.empty() && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (problem.empty()) return failure(ErrorCode::Unavailable, "it ended at once");
  return failure(static_cast<ErrorCode>(problem[0]), problem.substr(1));
}

}  // namespace

// A launcher that has just started holds its LifeLock a moment before it listens, so this retries.
Result<LauncherClient> LauncherClient::connect(const RuntimeDirectory& directory) {
  const Deadline deadline = Deadline::in(kListeningTime);
  for (;;) {
    auto socket = connect_to(directory.socket(), SocketKind::Packets);
    if (socket) return LauncherClient(std::move(*socket));
    if (!TRY(LifeLock::is_held(directory)))
      return failure(ErrorCode::NotFound, "no sandboxes are kept");
    if (deadline.has_passed()) return does_not_answer(socket.error().message);
    std::this_thread::sleep_for(kBetweenLooks);
  }
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

Result<LauncherClient::Answer> LauncherClient::ask(const LauncherRequest& request) {
  const std::string bytes = wire::encode(request);
  if (bytes.size() > kMostPacketBytes) {
    return failure(ErrorCode::InvalidArgument,
                   "the sandbox's environment and labels are too large: give large values to exec, "
                   "or copy a file in");
  }
  auto sent = send_packet(socket_.get(), bytes);
  if (!sent && is_connection_closed(sent.error())) return failure(ErrorCode::NotFound, kEnded);
  TRY(std::move(sent));
  auto packet = receive_packet(socket_.get(), Deadline::in(kAnswerTime));
  if (!packet && packet.error().code == ErrorCode::DeadlineExceeded)
    return does_not_answer(packet.error().message);
  const bool has_ended = packet ? packet->bytes.empty() : is_connection_closed(packet.error());
  if (has_ended) return failure(ErrorCode::NotFound, kEnded);
  if (!packet) return Failure(std::move(packet).error());
  Answer answer{TRY(wire::decode<LauncherReply>(packet->bytes)), std::move(packet->descriptors)};
  if (answer.reply.message.empty()) return answer;
  return failure(static_cast<ErrorCode>(answer.reply.code), answer.reply.message);
}

}  // namespace nutshell::native
