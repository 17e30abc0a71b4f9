#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/report.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"text(Examples:
  nutshell batch commands.txt                    one shell command per line
  nutshell batch -j 8 --memory 1g - < jobs.txt
  printf '["python3","-c","print(%d)"]\n' 1 2 3 | nutshell batch -

Each command gets a sandbox of its own, as with 'nutshell run'. A line that begins with [ is a JSON
list of words, any other is given to sh inside the sandbox. The results are printed as JSON lines in
the order of the commands. Exit status: 0 when all exited with 0, else 1.)text";

constexpr std::size_t kMostInputBytes = 64U << 20U;

struct Asked {
  std::string file;
  std::size_t parallel = 4;
  std::string memory;
  std::string timeout;
  std::string daemon;
};

using Words = std::vector<std::string>;

Result<std::vector<Words>> read_commands(const std::string& file) {
  const std::string text = file == "-" ? TRY(read_all(STDIN_FILENO, kMostInputBytes))
                                       : TRY(read_file(file, kMostInputBytes));
  std::vector<Words> commands;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    if (line.front() != '[') {
      commands.push_back({"sh", "-c", line});
      continue;
    }
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    const bool is_list = parsed.is_array() && !parsed.empty() &&
                         std::all_of(parsed.begin(), parsed.end(),
                                     [](const auto& word) { return word.is_string(); });
    if (!is_list) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("line {} is no JSON list of words", number));
    }
    commands.push_back(parsed.get<Words>());
  }
  return commands;
}

// One `nutshell run --json` of ours; its output goes to a file without a name, so that no pipe has
// to be read while others run.
struct Running {
  std::size_t index = 0;
  ChildProcess process;
  UniqueFd output;
};

Result<Running> begin(std::size_t index, const Words& command, const Asked& asked) {
  Words words = {"nutshell", "run", "--json"};
  if (!asked.memory.empty()) words.insert(words.end(), {"--memory", asked.memory});
  if (!asked.timeout.empty()) words.insert(words.end(), {"--timeout", asked.timeout});
  if (!asked.daemon.empty()) words.insert(words.end(), {"--daemon", asked.daemon});
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  UniqueFd output(static_cast<int>(::syscall(SYS_memfd_create, "output", MFD_CLOEXEC)));
  if (!output) return syscall_failure("memfd_create");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, output.get(), 2);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return syscall_failure(error, "start", "nutshell run");
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return Running{index, ChildProcess(pid, std::move(process)), std::move(output)};
}

struct Finished {
  std::string line;  // JSON
  bool is_good = false;
};

Result<Finished> finish(Running& one, const Words& command) {
  const auto status = TRY(one.process.wait(Deadline::never()));
  if (::lseek(one.output.get(), 0, SEEK_SET) != 0) return syscall_failure("lseek");
  const std::string text = TRY(read_all(one.output.get(), kMostInputBytes * 4));
  auto result = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!result.is_object()) {
    result = {{"error", nlohmann::json::parse(nlohmann::json(text).dump(
                            -1, ' ', false, nlohmann::json::error_handler_t::replace))}};
  }
  nlohmann::ordered_json object = {{"index", one.index}, {"argv", command}};
  object.update(result);
  return Finished{object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                  status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0};
}

class Progress {
 public:
  explicit Progress(std::size_t all) : all_(all), is_shown_(::isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (is_shown_) fmt::print(stderr, "\r\x1b[K");
  }

  void show(std::size_t done, std::size_t failed) const {
    if (!is_shown_ || all_ == 0) return;
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = done * kWidth / all_;
    fmt::print(stderr, "\r[{}{}] {}/{}, {} failed", std::string(filled, '#'),
               std::string(kWidth - filled, ' '), done, all_, failed);
  }

 private:
  std::size_t all_;
  bool is_shown_;
};

// Waits until one of them has ended, and gives its place.
Result<std::size_t> next_ended(const std::deque<Running>& running) {
  std::vector<pollfd> watched;
  watched.reserve(running.size());
  for (const Running& one : running)
    watched.push_back({one.process.descriptor(), POLLIN, 0});
  while (::poll(watched.data(), watched.size(), -1) < 0) {
    if (errno != EINTR) return syscall_failure("poll");
  }
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (watched[i].revents != 0) return i;
  }
  return failure(ErrorCode::Internal, "poll: nobody has ended");
}

Result<int> batch(const Asked& asked) {
  const std::vector<Words> commands = TRY(read_commands(asked.file));
  std::vector<std::string> lines(commands.size());
  std::deque<Running> running;
  std::size_t begun = 0;
  std::size_t printed = 0;
  std::size_t done = 0;
  std::size_t failed = 0;
  const Progress progress(commands.size());
  while (done < commands.size()) {
    while (begun < commands.size() && running.size() < asked.parallel) {
      running.push_back(TRY(begin(begun, commands[begun], asked)));
      ++begun;
    }
    const auto place = static_cast<std::ptrdiff_t>(TRY(next_ended(running)));
    Running& one = running[static_cast<std::size_t>(place)];
    Finished ended = TRY(finish(one, commands[one.index]));
    lines[one.index] = std::move(ended.line);
    running.erase(running.begin() + place);
    ++done;
    if (!ended.is_good) ++failed;
    for (; printed < lines.size() && !lines[printed].empty(); ++printed)
      fmt::print("{}\n", std::exchange(lines[printed], std::string()));
    progress.show(done, failed);
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

void add_batch(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("batch", "Run many commands, each in its own sandbox");
  auto asked = std::make_shared<Asked>();
  command.add_option("file", asked->file, "File of commands; - is standard input").required();
  command.add_option("-j,--parallel", asked->parallel, "At most so many at once (4)")
      .is_between(1, 256);
  command.add_option("--memory", asked->memory, "Of each sandbox, as in 'run'");
  command.add_option("--timeout", asked->timeout, "Of each command, as in 'run'");
  command.add_option("--daemon", asked->daemon, "As in 'run'");
  command.footer(kExamples);
  command.callback([asked, &program] { program.chosen = [asked] { return batch(*asked); }; });
}

}  // namespace nutshell::cli
