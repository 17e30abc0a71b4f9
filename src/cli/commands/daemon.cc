#include "cli/commands/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/socket.h"
#include "base/spawn.h"
#include "base/user_directory.h"
#include "cli/command.h"
#include "cli/commands/daemon.h"
#include "cli/print.h"
#include "core/daemon_access.h"
#include "http/client.h"

namespace nutshell::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kExamples = R"text(Examples:
  nutshell daemon start
  nutshell daemon start --config nutshelld.toml
  nutshell daemon status
  curl --unix-socket "$(nutshell daemon status --socket)" http://localhost/v1/sandboxes
  nutshell daemon stop

Its log is nutshelld.log beside its socket. Sandboxes keep running when the daemon stops.)text";

struct Asked {
  std::string config;
  std::string state;
  bool is_json = false;
  bool prints_socket = false;
};

Result<std::filesystem::path> socket_path() {
  return TRY(open_user_directory()) / kDaemonSocket;
}

struct Answer {
  int pid = 0;
  bool is_ready = false;
};

// Asks the daemon at the socket for its process id and state.
Result<Answer> ask(const std::filesystem::path& socket) {
  http::Client client({.dial = http::dial_unix(socket)});
  const auto info = TRY(client.send({.target = "/v1/daemon"}, Deadline::in(5s)));
  const auto body = nlohmann::json::parse(info.body, nullptr, false);
  if (info.status != 200 || !body.is_object() || !body["pid"].is_number_integer()) {
    return failure(ErrorCode::Corrupt, "a program that is not nutshelld listens there");
  }
  const auto ready = TRY(client.send({.target = "/readyz"}, Deadline::in(5s)));
  return Answer{body["pid"].get<int>(), ready.status == 200};
}

Result<ChildProcess> spawn_daemon(const std::filesystem::path& log,
                                  std::vector<std::string> words) {
  words.insert(words.begin(), TRY(daemon_program()));
  const UniqueFd output = TRY(open_file(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  return spawn({.arguments = std::move(words),
                .output = output.get(),
                .error = output.get(),
                .session = Command::Session::Own});
}

// The last message in its log, to explain why it does not run.
std::string last_word(const std::filesystem::path& log) {
  const auto text = read_file(log, 64U << 20U);
  if (!text || text->empty()) return "see " + log.native();
  const std::size_t end = text->find_last_not_of('\n') + 1;
  const std::size_t begin = end == 0 ? 0 : text->rfind('\n', end - 1) + 1;
  const auto line = nlohmann::json::parse(text->substr(begin, end - begin), nullptr, false);
  const auto message = line.is_object() ? line.find("message") : line.end();
  return message != line.end() && message->is_string() ? message->get<std::string>()
                                                       : "see " + log.native();
}

Result<int> start(const Asked& asked) {
  std::vector<std::string> words;
  if (!asked.config.empty()) words = {"--config", asked.config};
  const StartedDaemon daemon = TRY(start_daemon(words));
  if (daemon.ran_before) {
    print_out("the daemon already runs, as process {}\n", daemon.pid);
  } else {
    print_out("{}\n", daemon.socket.native());
  }
  return 0;
}

Result<int> status(const Asked& asked) {
  const std::filesystem::path socket = TRY(socket_path());
  if (asked.prints_socket) {
    print_out("{}\n", socket.native());
    return 0;
  }
  const auto there = ask(socket);
  if (asked.is_json) {
    nlohmann::ordered_json object = {{"running", there.has_value()}, {"socket", socket.native()}};
    if (there) object["pid"] = there->pid;
    if (there) object["ready"] = there->is_ready;
    print_json(object);
  } else if (there) {
    print_out("the daemon runs as process {} on {}{}\n", there->pid, socket.native(),
              there->is_ready ? "" : ", but is not ready");
  } else {
    print_out("no daemon runs\n");
  }
  return there ? 0 : 1;
}

// Replaces this process by the daemon's program, which knows the state file.
Result<int> recover(const Asked& asked) {
  const std::string program = TRY(daemon_program());
  std::vector<std::string> words = {program, "--recover"};
  if (!asked.config.empty()) words.insert(words.end(), {"--config", asked.config});
  if (!asked.state.empty()) words.insert(words.end(), {"--state", asked.state});
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return syscall_failure("start", words.front());
}

}  // namespace

Result<std::string> daemon_program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return syscall_failure(error.value(), "read", "/proc/self/exe");
  return (self.parent_path() / "nutshelld").native();
}

Result<StartedDaemon> start_daemon(const std::vector<std::string>& words) {
  const std::filesystem::path socket = TRY(socket_path());
  if (const auto there = ask(socket)) return StartedDaemon{there->pid, socket, true};
  const std::filesystem::path log = socket.parent_path() / "nutshelld.log";
  ChildProcess child = TRY(spawn_daemon(log, words));
  const pid_t pid = child.pid();
  child.release();  // it outlives this command
  const Deadline deadline = Deadline::in(20s);
  while (!deadline.has_passed()) {
    if (const auto there = ask(socket); there && there->pid == pid)
      return StartedDaemon{pid, socket, false};
    if (TRY(wait_for(child.descriptor(), POLLIN, Deadline::in(20ms)))) {
      return failure(ErrorCode::Unavailable,
                     fmt::format("the daemon ended at once: {}", last_word(log)));
    }
  }
  return failure(ErrorCode::DeadlineExceeded,
                 fmt::format("the daemon does not answer; see {}", log.native()));
}

Result<int> stop_daemon() {
  const std::filesystem::path socket = TRY(socket_path());
  const auto there = ask(socket);
  if (!there) {
    print_out("no daemon runs\n");
    return 0;
  }
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, there->pid, 0)));
  // It still answers with this pid, so the descriptor is of the daemon and not of a later process.
  const auto again = ask(socket);
  if (!process || !again || again->pid != there->pid) {
    return failure(ErrorCode::Unavailable, "the daemon was restarted meanwhile; try again");
  }
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) != 0) {
    return syscall_failure("signal", fmt::format("process {}", there->pid));
  }
  if (TRY(wait_for(process.get(), POLLIN, Deadline::in(60s)))) return 0;
  return failure(ErrorCode::DeadlineExceeded,
                 "the daemon still waits for running requests; it will end after them");
}

void add_daemon(const CommandLine& app, Program& program) {
  const CommandLine group = app.add_command("daemon", "Start, stop and inspect your own daemon");
  group.require_command(1, 1);
  group.footer(kExamples);
  auto asked = std::make_shared<Asked>();
  const CommandLine begin = group.add_command("start", "Start the daemon, unless it runs");
  begin.add_option("--config", asked->config, "TOML file with its settings");
  begin.callback([asked, &program] { program.chosen = [asked] { return start(*asked); }; });
  const CommandLine mend =
      group.add_command("recover", "Replace a damaged state file by what can still be read of it");
  mend.add_option("--config", asked->config, "TOML file with its settings");
  mend.add_option("--state", asked->state, "The daemon's state directory");
  mend.callback([asked, &program] { program.chosen = [asked] { return recover(*asked); }; });
  const CommandLine end =
      group.add_command("stop", "Stop the daemon after the requests that run now");
  end.callback([&program] { program.chosen = [] { return stop_daemon(); }; });
  const CommandLine look =
      group.add_command("status", "Show whether it runs; exit status 1 if not");
  look.add_flag("--json", asked->is_json, "Print a JSON object");
  look.add_flag("--socket", asked->prints_socket, "Print the path of its socket");
  look.callback([asked, &program] { program.chosen = [asked] { return status(*asked); }; });
}

}  // namespace nutshell::cli
