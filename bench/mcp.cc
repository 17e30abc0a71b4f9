// The MCP server as its clients feel it: how soon it is there, what a call costs beyond the tool
// itself, whether it grows, and the same work by the reference server for files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "base/random_id.h"
#include "bench/benchmarks.h"
#include "bench/mcp_process.h"
#include "bench/rivals.h"
#include "init/init.h"
#include "runtime/tool_runner.h"
#include "tools/argument_parser.h"
#include "tools/registry.h"

namespace nutshell::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFiles = 400;
constexpr double kMostAbove = 300;  // microseconds
constexpr double kMostTimes = 2;
constexpr std::size_t kGrowthCalls = 10'000;
constexpr double kMostOfACall = 150;  // microseconds
constexpr const char* kTenKilobytes = "ten.txt";

// A project of some files, gone with the object.
class Project {
 public:
  static Result<Project> make() {
    Project project(fs::temp_directory_path() / ("nutshell-bench-" + random_id(8)));
    std::error_code error;
    for (std::size_t i = 0; i < kFiles; ++i) {
      const fs::path directory = project.path_ / fmt::format("part{}", i % 20);
      fs::create_directories(directory, error);
      std::string text;
      for (std::size_t line = 0; line < 40; ++line)
        text += fmt::format("line {} of file {}\n", line, i);
      TRY(write_file(directory / fmt::format("file{}.txt", i), text));
    }
    std::string ten;
    for (std::size_t line = 0; ten.size() < 10'000; ++line)
      ten += fmt::format("{:04} the quick brown fox jumps over the lazy dog\n", line);
    TRY(write_file(project.path_ / kTenKilobytes, ten));
    return project;
  }
  Project(Project&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Project& operator=(Project&&) = delete;
  ~Project() {
    std::error_code ignored;  // what is left in /tmp is no reason to fail
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_.native(); }

 private:
  explicit Project(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

using Words = std::vector<std::string>;

Words server_command(const Options& options, const std::string& session) {
  return {(options.programs / "nutshell").native(), "mcp", "--session", session, "--repeat-output"};
}

// Node and the reference server's program; empty where NUTSHELL_MCP_RIVAL does not name them.
Words reference_command(const std::string& directory) {
  const char* named = std::getenv("NUTSHELL_MCP_RIVAL");  // NOLINT(concurrency-mt-unsafe)
  if (named == nullptr) return {};
  const std::string text = named;
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return {};
  return {text.substr(0, space), text.substr(space + 1), directory};
}

// Whole calls, from the client's side.
class CallSampler : public Sampler {
 public:
  CallSampler(McpProcess server, std::string tool, std::string arguments)
      : server_(std::move(server)), tool_(std::move(tool)), arguments_(std::move(arguments)) {}
  Result<double> sample() override {
    return time_of([this] { return server_.call(tool_, arguments_); });
  }

 private:
  McpProcess server_;
  std::string tool_;
  std::string arguments_;
};

MakeSampler calls(Words command, std::string directory, std::string tool, std::string arguments) {
  return [=]() -> Result<std::unique_ptr<Sampler>> {
    McpProcess server = TRY(McpProcess::start(command, directory));
    TRY(server.initialize());
    TRY(server.call(tool, arguments));
    return std::make_unique<CallSampler>(std::move(server), tool, arguments);
  };
}

// The same tool on the same sandbox, called as a library.
class LibrarySampler : public Sampler {
 public:
  static Result<std::unique_ptr<Sampler>> make(const Options& options, const std::string& sandbox,
                                               const std::string& arguments) {
    auto made = std::unique_ptr<LibrarySampler>(new LibrarySampler(options, arguments));
    ToolRunnerOptions calls;
    calls.repeats_output = true;
    made->runner_.emplace(TRY(ToolRunner::open(made->runtime_, sandbox, calls)));
    return made;
  }
  Result<double> sample() override {
    return time_of([this]() -> Result<> {
      const Tool& tool = *TRY(find_tool(tool_registry(), "read", ""));
      const ToolResult result =
          runner_->call(tool, parse_arguments(tool, arguments_, Dialect::Nutshell));
      if (result.error) return failure(ErrorCode::Internal, result.text);
      return {};
    });
  }

 private:
  LibrarySampler(const Options& options, std::string arguments)
      : runtime_({&init::run_init, options.programs}), arguments_(std::move(arguments)) {}
  Runtime runtime_;
  std::string arguments_;
  std::optional<ToolRunner> runner_;
};

Result<Row> duel(std::string path, std::vector<Contender> contenders, std::size_t samples) {
  auto series = TRY(take_turns(contenders, samples));
  Row row;
  row.path = std::move(path);
  row.ours = std::move(series[0]);
  if (series.size() > 1) row.rival = std::move(series[1]);
  return row;
}

Result<Row> start_row(const Options& options, const Project& project) {
  const Words command = server_command(options, "bench-start");
  const auto first_list = [command, directory = project.path()]() -> Result<> {
    McpProcess server = TRY(McpProcess::start(command, directory));
    TRY(server.initialize());
    TRY(server.ask("tools/list", "{}"));
    return {};
  };
  const auto version = [program = (options.programs / "nutshell").native()] {
    return run_to_end({program, "version"});
  };
  std::vector<Contender> contenders;
  contenders.push_back(TRY(Contender::start("nutshell mcp", timed(first_list))));
  contenders.push_back(TRY(Contender::start("nutshell version", timed(version))));
  Row row =
      TRY(duel("mcp: start to tools/list, and the end", std::move(contenders), options.samples));
  row.bar = Bar{Bar::Kind::AtMost, 3};
  return row;
}

Result<Row> read_row(const Options& options, const Project& project) {
  const std::string session = "bench-" + random_id(8);
  const std::string arguments = R"({"path":"part1/file1.txt"})";
  const Words command = server_command(options, session);
  // Made by the server; the library finds it by being the only one of this session.
  McpProcess maker = TRY(McpProcess::start(command, project.path()));
  TRY(maker.initialize());
  TRY(maker.call("sandbox_read", arguments));
  const std::string about = TRY(maker.ask("resources/read", R"({"uri":"nutshell://sandbox"})"));
  const std::size_t id = about.find("diff ");
  const std::string sandbox = about.substr(id + 5, about.find('\\', id) - id - 5);
  std::vector<Contender> contenders;
  contenders.push_back(TRY(
      Contender::start("over stdio", calls(command, project.path(), "sandbox_read", arguments))));
  contenders.push_back(TRY(Contender::start("library", [&options, sandbox, arguments] {
    return LibrarySampler::make(options, sandbox, arguments);
  })));
  Row row = TRY(duel("mcp: sandbox_read", std::move(contenders), options.samples));
  const double library = summarize(*row.rival).p50;
  row.bar = Bar{Bar::Kind::AtMost, std::max(kMostTimes, (library + kMostAbove) / library)};
  row.note = "bar: 0.3 ms above, or twice";
  Runtime runtime({&init::run_init, options.programs});
  TRY(runtime.destroy(sandbox));
  return row;
}

// Changes one line there and back, so that each call has something to change.
class EditSampler : public Sampler {
 public:
  explicit EditSampler(McpProcess server) : server_(std::move(server)) {}
  Result<double> sample() override {
    std::swap(old_, new_);
    const std::string arguments =
        fmt::format(R"({{"path":"{}","old":"{}","new":"{}"}})", kTenKilobytes, old_, new_);
    return time_of([&] { return server_.call("sandbox_edit", arguments); });
  }

 private:
  McpProcess server_;
  std::string old_ = "0100 THE QUICK";
  std::string new_ = "0100 the quick";
};

MakeSampler edits(const Words& command, const std::string& directory) {
  return [=]() -> Result<std::unique_ptr<Sampler>> {
    McpProcess server = TRY(McpProcess::start(command, directory));
    TRY(server.initialize());
    return std::make_unique<EditSampler>(std::move(server));
  };
}

// The calls that an agent makes most, each as a whole from the client's side.
Result<std::vector<Row>> usual_rows(const Options& options, const Project& project) {
  const Words command = server_command(options, "bench-usual");
  const std::string arguments = fmt::format(R"({{"path":"{}"}})", kTenKilobytes);
  std::vector<Contender> reading;
  reading.push_back(TRY(
      Contender::start("over stdio", calls(command, project.path(), "sandbox_read", arguments))));
  std::vector<Contender> editing;
  editing.push_back(TRY(Contender::start("over stdio", edits(command, project.path()))));
  std::vector<Row> rows;
  rows.push_back(TRY(duel("mcp: read 10 KB", std::move(reading), options.samples)));
  rows.push_back(TRY(duel("mcp: edit of 10 KB", std::move(editing), options.samples)));
  for (Row& row : rows)
    row.bar = Bar{Bar::Kind::AtMost, kMostOfACall};
  return rows;
}

Result<double> resident_kib(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  std::size_t size = 0;
  std::size_t resident = 0;
  if (!(file >> size >> resident)) return failure(ErrorCode::Internal, "no statm");
  return static_cast<double>(resident) * 4;
}

Result<Row> growth_row(const Options& options, const Project& project) {
  const std::string arguments = R"({"path":"part1/file1.txt"})";
  McpProcess server =
      TRY(McpProcess::start(server_command(options, "bench-growth"), project.path()));
  TRY(server.initialize());
  for (std::size_t i = 0; i < kGrowthCalls / 10; ++i)
    TRY(server.call("sandbox_read", arguments));
  const double before = TRY(resident_kib(server.pid()));
  for (std::size_t i = 0; i < kGrowthCalls; ++i)
    TRY(server.call("sandbox_read", arguments));
  Row row;
  row.path = "mcp: growth over 10 000 calls";
  row.unit = "KiB";
  row.ours = {"resident memory", {TRY(resident_kib(server.pid())) - before}};
  row.bar = Bar{Bar::Kind::AtMost, 256};
  return row;
}

struct Task {
  const char* name;
  const char* tool;
  std::string arguments;
  const char* rival_tool;
  std::string rival_arguments;
};

Result<std::vector<Row>> rival_rows(const Options& options, const Project& project) {
  const std::string& place = project.path();
  const std::vector<Task> tasks = {
      {"read a file", "sandbox_read", R"({"path":"part1/file1.txt"})", "read_text_file",
       fmt::format(R"({{"path":"{}/part1/file1.txt"}})", place)},
      {"list a directory", "sandbox_ls", R"({"path":"part1"})", "list_directory",
       fmt::format(R"({{"path":"{}/part1"}})", place)},
      {"find by name", "sandbox_find", R"({"glob":"**/file3*.txt"})", "search_files",
       fmt::format(R"({{"path":"{}","pattern":"**/file3*.txt"}})", place)}};
  const Words rival = reference_command(place);
  std::vector<Row> rows;
  for (const Task& task : tasks) {
    std::vector<Contender> contenders;
    contenders.push_back(
        TRY(Contender::start("nutshell mcp", calls(server_command(options, "bench-rival"), place,
                                                   task.tool, task.arguments))));
    if (!rival.empty())
      contenders.push_back(TRY(Contender::start(
          "server-filesystem", calls(rival, place, task.rival_tool, task.rival_arguments))));
    rows.push_back(
        TRY(duel(fmt::format("mcp: {}", task.name), std::move(contenders), options.samples)));
    if (rival.empty()) rows.back().note = "NUTSHELL_MCP_RIVAL is not set";
  }
  return rows;
}

// The sandboxes of the sessions above; whoever measures again begins with new ones.
void end_sandboxes(const Options& options, const std::string& project) {
  Runtime runtime({&init::run_init, options.programs});
  const auto listed = runtime.list();
  if (!listed) return;
  for (const SandboxStatus& status : *listed)
    if (status.spec.workspace == project)
      (void)runtime.destroy(status.id);  // its lease ends it else
}

}  // namespace

Result<std::vector<Row>> bench_mcp(const Options& options) {
  const Project project = TRY(Project::make());
  std::vector<Row> rows;
  rows.push_back(TRY(start_row(options, project)));
  rows.push_back(TRY(read_row(options, project)));
  for (Row& row : TRY(usual_rows(options, project)))
    rows.push_back(std::move(row));
  for (Row& row : TRY(rival_rows(options, project)))
    rows.push_back(std::move(row));
  rows.push_back(TRY(growth_row(options, project)));
  end_sandboxes(options, project.path());
  return rows;
}

}  // namespace nutshell::bench
