// nutshell-init: PID 1 of a sandbox whose backend cannot clone itself into it, and the bridge to it
// from outside.
//
//   nutshell-init serve SOCKET TTL_MS [IDLE_MS]   be init; connections come through SOCKET
//   nutshell-init serve SOCKET orders             the same; the settings come on standard input,
//                                                 which then is the first connection
//   nutshell-init connect SOCKET                  join standard input and output to it
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/seccomp_filter.h"
#include "base/socket.h"
#include "core/sandbox_spec.h"
#include "init/bridge.h"
#include "init/container.h"
#include "init/init.h"

namespace nutshell::init {
namespace {

Result<std::chrono::milliseconds> parse_milliseconds(const std::string& text) {
  std::int64_t value = -1;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || value < 0) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("'{}' is no number of milliseconds", text));
  }
  return std::chrono::milliseconds(value);
}

Result<InitSetup> setup_of(const std::vector<std::string>& words) {
  if (words[2] == "orders") return take_container_orders();
  InitSetup setup;
  setup.ttl = TRY(parse_milliseconds(words[2]));
  if (words.size() > 3) setup.idle_timeout = TRY(parse_milliseconds(words[3]));
  setup.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       std::string("HOME=") + kHomeDirectory, "LANG=C.UTF-8"};
  return setup;
}

Result<int> serve(const std::vector<std::string>& words) {
  // The listener comes first: its socket shows that init is running.
  UniqueFd listener = TRY(listen_on(words[1], SocketKind::Stream));
  UniqueFd memory_priority = TRY(open_file("/proc/self/oom_score_adj", O_WRONLY));
  TRY(set_no_new_privileges());
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return syscall_failure("set not dumpable");
  InitSetup setup = TRY(setup_of(words));
  setup.listener = std::move(listener);
  setup.memory_priority = std::move(memory_priority);
  return run_init(std::move(setup));
}

Result<int> connect(const std::vector<std::string>& words) {
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): one thread
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return syscall_failure("set not dumpable");
  const UniqueFd socket = TRY(connect_to(words[1], SocketKind::Stream));
  TRY(bridge(STDIN_FILENO, STDOUT_FILENO, socket.get()));
  return 0;
}

Result<int> run(const std::vector<std::string>& words) {
  if (words.size() >= 3 && words.size() <= 4 && words[0] == "serve") return serve(words);
  if (words.size() == 2 && words[0] == "connect") return connect(words);
  return failure(ErrorCode::InvalidArgument,
                 "serve SOCKET TTL_MS [IDLE_MS] | serve SOCKET orders | connect SOCKET");
}

}  // namespace
}  // namespace nutshell::init

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory ends the program, as it should
int main(int argc, char** argv) {
  const auto status = nutshell::init::run({argv + 1, argv + argc});
  if (status) return *status;
  fmt::print(stderr, "nutshell-init: {}\n", status.error().message);
  return nutshell::init::kCouldNotStart;
}
