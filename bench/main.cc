// nutshell-bench: measures the paths that matter against what people would use instead.
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "bench/benchmarks.h"

namespace nutshell::bench {
namespace {

constexpr const char* kUsage = R"(nutshell-bench [options] BENCHMARK...

  cold         create, run /bin/true, destroy; against bwrap
  process      nutshell run -- true as a whole process; against bwrap
  throughput   cold, four workers at once; against bwrap
  warm         a command in a running sandbox; against posix_spawn
  output       10 MB of output; against a pipe
  scale        time and memory with many sandboxes alive (root only)
  tools        the file tools; against cat, sed, ls, rg and find in the same sandbox
  workspace    checkpoints and changes of 50 000 files; against cp -a and git status
  audit        the record of acts: one line of it, and the proof of all
  daemon       pools, execs and health calls through its socket; against posix_spawn and the library
  daemon-load  200 clients of it at once, for --seconds: errors, memory, health calls meanwhile
  daemon-many  its list, and a create, with --alive sandboxes
  mcp          the MCP server: its start, a call, its memory; against the library and the
               reference server for files (NUTSHELL_MCP_RIVAL: node and its program)
  all          all of these
  docker       sandboxes in containers; against docker exec, docker run and the engine's interface
               (the engine of DOCKER_HOST, an image in NUTSHELL_BENCH_IMAGE; not among all)

  --samples N      of each contender (200)
  --seconds N      of each contender in throughput (8)
  --alive N        sandboxes in scale (1000)
  --programs DIR   where nutshell is (../bin, as seen from this program)
  --json           for programs
  --no-heading     a table that continues another

The contenders of one line take turns, sample by sample. The ratio is ours to theirs.
Exit status: 0 every bar is met, 1 one is missed, 2 something could not be measured.
)";

struct Benchmark {
  std::string_view name;
  Result<std::vector<Row>> (*run)(const Options&);
};

constexpr Benchmark kBenchmarks[] = {
    {"cold", bench_cold},
    {"process", bench_process},
    {"throughput", bench_throughput},
    {"warm", bench_warm},
    {"output", bench_output},
    {"scale", bench_scale},
    {"workspace", bench_workspace},
    {"tools", bench_tools},
    {"audit", bench_audit},
    {"daemon", bench_daemon},
    {"daemon-load", bench_daemon_load},
    {"daemon-many", bench_daemon_many},
    {"mcp", bench_mcp},
    {"docker", bench_docker},
};

struct CommandLine {
  Options options;
  std::vector<Benchmark> chosen;
  Heading heading = Heading::Shown;
  bool is_json = false;
};

Result<std::size_t> parse_count(const char* text) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (end != text && *end == '\0' && value > 0 && value <= 1'000'000) return value;
  return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is no number from 1 up", text));
}

Result<> take_option(std::string_view name, const char* value, CommandLine& line) {
  if (value == nullptr) {
    return failure(ErrorCode::InvalidArgument, fmt::format("{} needs a value", name));
  }
  if (name == "--samples") {
    line.options.samples = TRY(parse_count(value));
  } else if (name == "--seconds") {
    line.options.duration = std::chrono::seconds(TRY(parse_count(value)));
  } else if (name == "--alive") {
    line.options.alive = TRY(parse_count(value));
  } else if (name == "--programs") {
    line.options.programs = value;
  } else {
    return failure(ErrorCode::InvalidArgument, fmt::format("no option {}", name));
  }
  return {};
}

Result<> take_benchmark(std::string_view name, CommandLine& line) {
  for (const Benchmark& benchmark : kBenchmarks) {
    const bool is_meant = name == "all" && benchmark.run != bench_docker;
    if (name == benchmark.name || is_meant) line.chosen.push_back(benchmark);
  }
  if (!line.chosen.empty()) return {};
  return failure(ErrorCode::InvalidArgument, fmt::format("no benchmark '{}'", name));
}

Result<CommandLine> parse(int argc, char** argv) {
  CommandLine line;
  std::error_code error;
  const auto own_path = std::filesystem::read_symlink("/proc/self/exe", error);
  line.options.programs = own_path.parent_path().parent_path() / "bin";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--json") {
      line.is_json = true;
    } else if (word == "--no-heading") {
      line.heading = Heading::Hidden;
    } else if (word.starts_with("-")) {
      TRY(take_option(word, argv[i + 1], line));
      ++i;
    } else {
      TRY(take_benchmark(word, line));
    }
  }
  if (line.chosen.empty()) return failure(ErrorCode::InvalidArgument, "no benchmark is named");
  return line;
}

int run(const CommandLine& line) {
  std::vector<Row> all;
  bool is_missed = false;
  bool is_broken = false;
  Heading heading = line.heading;
  for (const Benchmark& benchmark : line.chosen) {
    auto rows = benchmark.run(line.options);
    if (!rows) {
      fmt::print(stderr, "nutshell-bench: {}: {}\n", benchmark.name, rows.error().message);
      is_broken = true;
      continue;
    }
    for (const Row& row : *rows)
      is_missed = is_missed || misses_bar(row);
    if (!line.is_json) print_table(*rows, std::exchange(heading, Heading::Hidden));
    std::fflush(stdout);
    std::move(rows->begin(), rows->end(), std::back_inserter(all));
  }
  if (line.is_json) print_json(all);
  if (is_broken) return 2;
  return is_missed ? 1 : 0;
}

}  // namespace
}  // namespace nutshell::bench

int main(int argc, char** argv) {
  using namespace nutshell;
  std::signal(SIGPIPE, SIG_IGN);
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    fmt::print("{}", bench::kUsage);
    return 0;
  }
  const auto line = bench::parse(argc, argv);
  if (!line) {
    fmt::print(stderr, "nutshell-bench: {}\n\n{}", line.error().message, bench::kUsage);
    return 2;
  }
  return bench::run(*line);
}
