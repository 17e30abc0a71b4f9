#include "bench/rivals.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/unique_fd.h"

namespace nutshell::bench {
namespace {

constexpr const char* kBubblewrap = "/usr/bin/bwrap";
constexpr std::size_t kReadSize = 64U << 10U;  // a pipe's whole content

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  void open_nowhere(int target) {
    ::posix_spawn_file_actions_addopen(&actions_, target, "/dev/null", O_RDWR, 0);
  }
  void connect(int source, int target) {
    ::posix_spawn_file_actions_adddup2(&actions_, source, target);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

Result<pid_t> spawn(const Arguments& arguments, const FileActions& actions) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));  // the kernel only reads them
  pointers.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, pointers[0], actions.get(), nullptr, pointers.data(), environ);
  if (error != 0) return syscall_failure(error, "spawn", arguments[0]);
  return pid;
}

Result<> wait_for_success(pid_t pid, const std::string& name) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return syscall_failure("waitpid", name);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return failure(ErrorCode::Internal, fmt::format("{} ended with wait status {}", name, status));
}

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return syscall_failure("pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<> read_some(UniqueFd& reader, std::string& bytes) {
  std::array<char, kReadSize> buffer;  // left as it is: clearing it would count against the rival
  const ssize_t count = ::read(reader.get(), buffer.data(), buffer.size());
  if (count < 0) return syscall_failure("read");
  if (count == 0) reader.reset();
  bytes.append(buffer.data(), static_cast<std::size_t>(count));
  return {};
}

}  // namespace

Arguments bubblewrap(const Arguments& command) {
  Arguments all = {kBubblewrap, "--unshare-all", "--ro-bind", "/",       "/",   "--proc",
                   "/proc",     "--dev",         "/dev",      "--tmpfs", "/tmp"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

Result<> check_bubblewrap() {
  if (::access(kBubblewrap, X_OK) != 0) {
    return failure(ErrorCode::NotFound,
                   fmt::format("{} is missing, and with it what to compare with: apt-get install "
                               "bubblewrap",
                               kBubblewrap));
  }
  return run_to_end(bubblewrap({"/bin/true"}));
}

Result<> run_to_end(const Arguments& arguments) {
  FileActions actions;
  for (const int fd : {0, 1, 2})
    actions.open_nowhere(fd);
  return wait_for_success(TRY(spawn(arguments, actions)), arguments[0]);
}

Result<Captured> run_captured(const Arguments& arguments) {
  Pipe output = TRY(make_pipe());
  Pipe error = TRY(make_pipe());
  FileActions actions;
  actions.open_nowhere(0);
  actions.connect(output.writer.get(), 1);
  actions.connect(error.writer.get(), 2);
  const pid_t pid = TRY(spawn(arguments, actions));
  output.writer.reset();
  error.writer.reset();
  Captured captured;
  while (output.reader || error.reader) {
    std::array<pollfd, 2> polled{
        {{output.reader.get(), POLLIN, 0}, {error.reader.get(), POLLIN, 0}}};
    if (::poll(polled.data(), polled.size(), -1) < 0) return syscall_failure("poll");
    if (polled[0].revents != 0) TRY(read_some(output.reader, captured.output));
    if (polled[1].revents != 0) TRY(read_some(error.reader, captured.error));
  }
  TRY(wait_for_success(pid, arguments[0]));
  return captured;
}

}  // namespace nutshell::bench
