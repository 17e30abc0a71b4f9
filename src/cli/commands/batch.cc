#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
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
#include "base/spawn.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/print.h"
#include "cli/report.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"text(Examples:
  nutshell batch commands.txt                    one shell command per line
  nutshell batch -j 8 --memory 1g - < jobs.txt
  printf '["python3","-c","print(%d)"]\n' 1 2 3 | nutshell batch -
  nutshell batch tests/*.py -- python3 {}        one file per sandbox; {} is its path inside

Each command gets a sandbox of its own, made by the flags of 'nutshell run'. A line that begins with [
is a JSON list of words, any other is given to sh inside the sandbox. Before a command of your own
stand files, or directories: each is copied to /workspace, and the command runs once for it. The
results are printed as JSON lines in the order given. Exit status: 0 when all exited with 0, else
1.)text";

constexpr std::size_t kMostInputBytes = 64U << 20U;

using Words = std::vector<std::string>;

struct Asked {
  Words files;
  std::size_t parallel = 4;
  Flags flags;  // of each sandbox and command
};

struct Item {
  Words command;
  std::string file;   // it is about; empty: none
  std::string place;  // of that file, inside
};

Result<std::vector<Item>> read_commands(const std::string& file) {
  const std::string text = file == "-" ? TRY(read_all(STDIN_FILENO, kMostInputBytes))
                                       : TRY(read_file(file, kMostInputBytes));
  std::vector<Item> items;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    if (line.front() != '[') {
      items.push_back({{"sh", "-c", line}, "", ""});
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
    items.push_back({parsed.get<Words>(), "", ""});
  }
  return items;
}

// Its name, in place of every {}, or behind all words where there is none.
Words command_for(const Words& pattern, const std::string& place) {
  constexpr std::string_view kMark = "{}";
  Words command = pattern;
  bool is_named = false;
  for (std::string& word : command) {
    for (std::size_t at = word.find(kMark); at != std::string::npos;
         at = word.find(kMark, at + place.size())) {
      word.replace(at, kMark.size(), place);
      is_named = true;
    }
  }
  if (!is_named) command.push_back(place);
  return command;
}

Result<std::vector<Item>> items_of_files(const Words& files, const Words& pattern) {
  std::vector<Item> items;
  for (const std::string& file : files) {
    std::error_code error;
    const auto real = std::filesystem::canonical(file, error);
    if (error) return syscall_failure(error.value(), "open", file);
    std::string place = "/workspace/" + real.filename().native();
    items.push_back({command_for(pattern, place), file, std::move(place)});
  }
  return items;
}

Result<std::vector<Item>> items_of(const Asked& asked) {
  if (asked.flags.has_input || asked.flags.has_terminal) {
    return failure(ErrorCode::InvalidArgument,
                   "batch: commands that run side by side have neither our standard input nor a "
                   "terminal: leave -i and -t out");
  }
  if (!asked.flags.command.empty()) return items_of_files(asked.files, asked.flags.command);
  if (asked.files.size() == 1) return read_commands(asked.files.front());
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("batch: one file of commands is expected, and here are {}; to run "
                             "something on each: nutshell batch FILE... -- COMMAND {{}}",
                             asked.files.size()));
}

// One `nutshell run --json` of ours; what it says goes to files without a name, so that no pipe has
// to be read while others run.
struct Running {
  std::size_t index = 0;
  ChildProcess process;
  UniqueFd output;
  UniqueFd error;
};

Result<UniqueFd> nameless_file() {
  UniqueFd file(static_cast<int>(::syscall(SYS_memfd_create, "output", MFD_CLOEXEC)));
  if (!file) return syscall_failure("memfd_create");
  return file;
}

Words words_for(const Item& item, const Flags& flags) {
  Words words = {"nutshell", "run", "--json"};
  const Words flag_words = to_words(flags);
  words.insert(words.end(), flag_words.begin(), flag_words.end());
  if (!item.file.empty()) words.push_back(fmt::format("--copy={}:{}", item.file, item.place));
  words.emplace_back("--");
  words.insert(words.end(), item.command.begin(), item.command.end());
  return words;
}

Result<Running> begin(std::size_t index, const Item& item, const Flags& flags) {
  UniqueFd output = TRY(nameless_file());
  UniqueFd error = TRY(nameless_file());
  ChildProcess process = TRY(spawn({.arguments = words_for(item, flags),
                                    .program = "/proc/self/exe",
                                    .output = output.get(),
                                    .error = error.get()}));
  return Running{index, std::move(process), std::move(output), std::move(error)};
}

Result<std::string> text_of(const UniqueFd& file) {
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return syscall_failure("lseek");
  return read_all(file.get(), kMostInputBytes * 4);
}

struct Finished {
  std::string line;  // JSON
  bool is_good = false;
};

// A run that could not be says why in words, and prints no object.
Result<Finished> finish(Running& one, const Item& item) {
  const auto status = TRY(one.process.wait(Deadline::never()));
  auto result = nlohmann::ordered_json::parse(TRY(text_of(one.output)), nullptr, false);
  if (!result.is_object()) {
    result = nlohmann::ordered_json::object();
    result["error"] = TRY(text_of(one.error));
  }
  nlohmann::ordered_json object = {{"index", one.index}, {"argv", item.command}};
  if (!item.file.empty()) object["file"] = item.file;
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
  const std::vector<Item> items = TRY(items_of(asked));
  TRY(to_spec(asked.flags));  // what is wrong with all of them is said once
  std::vector<std::string> lines(items.size());
  std::deque<Running> running;
  std::size_t begun = 0;
  std::size_t printed = 0;
  std::size_t done = 0;
  std::size_t failed = 0;
  const Progress progress(items.size());
  while (done < items.size()) {
    while (begun < items.size() && running.size() < asked.parallel) {
      running.push_back(TRY(begin(begun, items[begun], asked.flags)));
      ++begun;
    }
    const auto place = static_cast<std::ptrdiff_t>(TRY(next_ended(running)));
    Running& one = running[static_cast<std::size_t>(place)];
    Finished ended = TRY(finish(one, items[one.index]));
    lines[one.index] = std::move(ended.line);
    running.erase(running.begin() + place);
    ++done;
    if (!ended.is_good) ++failed;
    for (; printed < lines.size() && !lines[printed].empty(); ++printed)
      print_json_text(std::exchange(lines[printed], std::string()));
    progress.show(done, failed);
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

void add_batch(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("batch", "Run many commands, each in its own sandbox");
  auto asked = std::make_shared<Asked>();
  command
      .add_option("FILE", asked->files,
                  "File of commands (- is standard input), or files to run on")
      .required();
  command.add_option("-j,--parallel", asked->parallel, "At most so many at once (4)")
      .is_between(1, 256);
  add_sandbox_flags(command, asked->flags);
  add_exec_flags(command, asked->flags);
  add_copy_flag(command, asked->flags);
  command.add_option("--daemon", asked->flags.texts["daemon"], "As in 'run'").group("Daemon");
  command.footer(kExamples);
  command.callback([asked, &program] {
    program.chosen = [asked, &program]() -> Result<int> {
      asked->flags.command = program.command;
      TRY(read_config(asked->flags));
      return batch(*asked);
    };
  });
}

}  // namespace nutshell::cli
