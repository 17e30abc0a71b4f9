#include "bench/mcp_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "base/file.h"

namespace nutshell::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 30s;

struct Ends {
  UniqueFd reader, writer;
};

Result<Ends> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return syscall_failure("pipe");
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<McpProcess> McpProcess::start(const std::vector<std::string>& command,
                                     const std::string& directory) {
  Ends input = TRY(make_pipe());
  Ends output = TRY(make_pipe());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input.reader.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output.writer.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, command.front().c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return syscall_failure(error, "start", command.front());
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return McpProcess(ChildProcess(pid, std::move(pidfd)), std::move(input.writer),
                    std::move(output.reader));
}

McpProcess::~McpProcess() {
  input_.reset();
  if (process_.is_owned()) (void)process_.wait(Deadline::in(kPatience));  // else it is killed
}

Result<std::string> McpProcess::read_line() {
  std::size_t end = rest_.find('\n');
  while (end == std::string::npos) {
    if (!TRY(wait_for(output_.get(), POLLIN, Deadline::in(kPatience))))
      return failure(ErrorCode::DeadlineExceeded, "the server does not answer");
    std::array<char, 1U << 16U> bytes{};
    const ssize_t got = ::read(output_.get(), bytes.data(), bytes.size());
    if (got <= 0) return failure(ErrorCode::Unavailable, "the server has ended");
    rest_.append(bytes.data(), static_cast<std::size_t>(got));
    end = rest_.find('\n');
  }
  std::string line = rest_.substr(0, end);
  rest_.erase(0, end + 1);
  return line;
}

Result<std::string> McpProcess::ask(const std::string& method, const std::string& params) {
  const std::string id = fmt::format("\"id\":{}", ++last_);
  TRY(write_all(input_.get(),
                fmt::format("{{\"jsonrpc\":\"2.0\",{},\"method\":\"{}\",\"params\":{}}}\n", id,
                            method, params)));
  std::string line;
  do {
    line = TRY(read_line());
  } while (line.find(id) == std::string::npos);  // notifications have none
  const bool is_wrong = line.find("\"error\":{") != std::string::npos ||
                        line.find("\"isError\":true") != std::string::npos;
  if (is_wrong) return failure(ErrorCode::Internal, line.substr(0, 300));
  return line;
}

Result<> McpProcess::initialize() {
  TRY(ask("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                        R"("clientInfo":{"name":"bench","version":"0"}})"));
  return write_all(input_.get(),
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
}

Result<> McpProcess::call(const std::string& tool, const std::string& arguments) {
  TRY(ask("tools/call", fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments)));
  return {};
}

}  // namespace nutshell::bench
