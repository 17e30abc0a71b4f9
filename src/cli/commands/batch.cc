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
#include "core/json_text.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"text(Examples:
  nutshell batch commands.txt                    one shell command per line
  nutshell batch -j 8 --memory 1g - < jobs.txt
  printf '["python3","-c","print(%d)"]\n' 1 2 3 | nutshell batch -
  nutshell batch tests/*.py -- python3 {}        one sandbox per file; {} is its path in there
  nutshell batch --stdin *.json -- jq .name      each file is the standard input of its command

Each command gets its own sandbox, with the flags of 'nutshell run'. A line that begins with [ is a JSON
list of strings; any other line is a command for sh in the sandbox. If a command follows --, the words
before it are files or directories: each is copied to /workspace, and the command runs once for it.
Results are printed in the order given: as a table on a terminal, else as JSON lines. Exit status: 0 if
all exited with 0, else 1.)text";

constexpr std::size_t kMostInputBytes = 64U << 20U;

using Words = std::vector<std::string>;

struct Asked {
  Words files;
  std::size_t parallel = 4;
  bool gives_input = false;  // the files are standard inputs
  bool is_json = false;
  bool is_table = false;
  Flags flags;  // for every sandbox and command
};

struct Item {
  Words command;
  std::string file;   // that is copied in; empty: none
  std::string place;  // path of that file in the sandbox; empty: it is the standard input
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
                     fmt::format("line {} is not a JSON list of strings", number));
    }
    items.push_back({parsed.get<Words>(), "", ""});
  }
  return items;
}

// The command for one file: its path replaces every {}, or is appended if there is none.
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

Result<std::vector<Item>> items_of_inputs(const Words& files, const Words& command) {
  std::vector<Item> items;
  for (const std::string& file : files) {
    TRY(open_file(file, O_RDONLY));  // an unreadable one is found before anything runs
    items.push_back({command, file, ""});
  }
  return items;
}

Result<std::vector<Item>> items_of(const Asked& asked) {
  if (asked.gives_input && asked.flags.command.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   "batch: --stdin gives files to a command: nutshell batch --stdin FILE... -- "
                   "COMMAND");
  }
  if (asked.gives_input) return items_of_inputs(asked.files, asked.flags.command);
  if (!asked.flags.command.empty()) return items_of_files(asked.files, asked.flags.command);
  if (asked.files.size() == 1) return read_commands(asked.files.front());
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("batch: give one file of commands, not {}; to run a command on each file: "
                  "nutshell batch FILE... -- COMMAND {{}}",
                  asked.files.size()));
}

// One `nutshell run --json`. Its output goes to memory files, so that no pipe has to be read while
// others run.
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

bool is_input(const Item& item) {
  return !item.file.empty() && item.place.empty();
}

Words words_for(const Item& item, const Flags& flags) {
  Words words = {"nutshell", "run", "--json"};
  const Words flag_words = to_words(flags);
  words.insert(words.end(), flag_words.begin(), flag_words.end());
  if (is_input(item)) words.emplace_back("--stdin");
  if (!item.place.empty()) words.push_back(fmt::format("--copy={}:{}", item.file, item.place));
  words.emplace_back("--");
  words.insert(words.end(), item.command.begin(), item.command.end());
  return words;
}

Result<Running> begin(std::size_t index, const Item& item, const Flags& flags) {
  UniqueFd output = TRY(nameless_file());
  UniqueFd error = TRY(nameless_file());
  UniqueFd input;
  if (is_input(item)) input = TRY(open_file(item.file, O_RDONLY));
  ChildProcess process = TRY(spawn({.arguments = words_for(item, flags),
                                    .program = "/proc/self/exe",
                                    .input = input ? input.get() : kNullDevice,
                                    .output = output.get(),
                                    .error = error.get()}));
  return Running{index, std::move(process), std::move(output), std::move(error)};
}

Result<std::string> text_of(const UniqueFd& file) {
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return syscall_failure("lseek");
  return read_all(file.get(), kMostInputBytes * 4);
}

struct Finished {
  std::string line;  // JSON, or a row of the table
  bool is_good = false;
};

std::string first_line(const nlohmann::ordered_json& object, const char* member) {
  if (!object.contains(member) || !object[member].is_string()) return {};
  const auto text = object[member].get<std::string>();
  const std::size_t begin = text.find_first_not_of("\r\n");
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

constexpr const char* kRow = "{:>5}  {:<11} {:>8}  {:<30} {}";

// A result for people: index, status, time, the file or the command, and the first line it printed.
std::string row_of(const nlohmann::ordered_json& object) {
  constexpr std::size_t kMostWords = 30;
  const bool has_outcome = object.contains("outcome") && object["outcome"].is_string();
  std::string status = has_outcome ? object["outcome"].get<std::string>() : "failed";
  if (status == "exited") status = fmt::format("exit {}", object.value("exit_code", 0));
  std::string what = object.value("file", "");
  if (what.empty())
    for (const auto& word : object["argv"])
      what += (what.empty() ? "" : " ") + word.get<std::string>();
  if (what.starts_with("sh -c ")) what.erase(0, 6);
  what = terminal_line(what);
  if (what.size() > kMostWords) what.replace(kMostWords - 3, std::string::npos, "...");
  std::string said = first_line(object, status == "exit 0" ? "stdout" : "stderr");
  for (const char* member : {"stdout", "error", "detail"})
    if (said.empty()) said = first_line(object, member);
  const double seconds = object.value("duration_ms", 0.0) / 1000;
  return fmt::format(fmt::runtime(kRow), object.value("index", 0), status,
                     fmt::format("{:.2f}s", seconds), what, terminal_line(said));
}

// A run that fails prints no JSON object; its message becomes the "error" of the line.
Result<Finished> finish(Running& one, const Item& item, bool is_table) {
  const auto status = TRY(one.process.wait(Deadline::never()));
  auto result = nlohmann::ordered_json::parse(TRY(text_of(one.output)), nullptr, false);
  if (!result.is_object()) {
    result = nlohmann::ordered_json::object();
    result["error"] = TRY(text_of(one.error));
  }
  nlohmann::ordered_json object = {{"index", one.index}, {"argv", item.command}};
  if (!item.file.empty()) object["file"] = item.file;
  object.update(result);
  const bool is_good = status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
  if (is_table) return Finished{row_of(object), is_good};
  return Finished{dump_json(object), is_good};
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
    const std::string line = fmt::format("[{}{}] {}/{}, {} failed", std::string(filled, '#'),
                                         std::string(kWidth - filled, ' '), done, all_, failed);
    fmt::print(stderr, "\r{}", terminal_line(line));
  }

 private:
  std::size_t all_;
  bool is_shown_;
};

// Waits until one of them ends, and returns its index.
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
  return failure(ErrorCode::Internal, "poll: no process has ended");
}

void print_line(const std::string& line, bool is_table) {
  if (is_table) return print_text(line + "\n");
  print_json_text(line);
}

Result<int> batch(const Asked& asked) {
  const std::vector<Item> items = TRY(items_of(asked));
  TRY(to_spec(asked.flags));  // an error in the flags is reported once, not for each sandbox
  std::vector<std::string> lines(items.size());
  std::deque<Running> running;
  std::size_t begun = 0;
  std::size_t printed = 0;
  std::size_t done = 0;
  std::size_t failed = 0;
  const bool is_table = asked.is_table || (!asked.is_json && ::isatty(STDOUT_FILENO) == 1);
  if (is_table)
    print_text(fmt::format(fmt::runtime(kRow), "INDEX", "STATUS", "TIME", "WHAT", "OUTPUT") + "\n");
  const Progress progress(items.size());
  while (done < items.size()) {
    while (begun < items.size() && running.size() < asked.parallel) {
      running.push_back(TRY(begin(begun, items[begun], asked.flags)));
      ++begun;
    }
    const auto place = static_cast<std::ptrdiff_t>(TRY(next_ended(running)));
    Running& one = running[static_cast<std::size_t>(place)];
    Finished ended = TRY(finish(one, items[one.index], is_table));
    lines[one.index] = std::move(ended.line);
    running.erase(running.begin() + place);
    ++done;
    if (!ended.is_good) ++failed;
    for (; printed < lines.size() && !lines[printed].empty(); ++printed)
      print_line(std::exchange(lines[printed], std::string()), is_table);
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
                  "File of commands (- is standard input), or files for the command behind --")
      .required();
  command.add_option("-j,--parallel", asked->parallel, "Run at most this many at once (4)")
      .is_between(1, 256);
  command.add_flag("--stdin", asked->gives_input,
                   "Give each file to the command as its standard input; copy none in");
  command.add_flag("--json", asked->is_json, "Print JSON lines on a terminal too");
  command.add_flag("--table", asked->is_table, "Print a table also where there is no terminal");
  add_sandbox_flags(command, asked->flags);
  add_exec_flags(command, asked->flags, Streams::Shared);
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
