#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "core/json_form.h"

namespace nutshell::cli {
namespace {

struct StatsFlags {
  std::string id;
  bool is_json = false;
};

struct Counted {
  SandboxStatus status;
  SandboxStats stats;
};

constexpr const char* kNotCounted = "-";

// Formats a size like those of limits, but rounded.
std::string size_text(const std::optional<std::uint64_t>& bytes) {
  if (!bytes) return kNotCounted;
  const auto size = static_cast<double>(*bytes);
  if (size < 1024.0 * 1024) return fmt::format("{:.0f}k", size / 1024);
  if (size < 1024.0 * 1024 * 1024) return fmt::format("{:.1f}m", size / 1024 / 1024);
  return fmt::format("{:.2f}g", size / 1024 / 1024 / 1024);
}

std::string time_text(const std::optional<std::chrono::microseconds>& time) {
  return time ? fmt::format("{:.2f}s", static_cast<double>(time->count()) / 1e6) : kNotCounted;
}

void print_table(const std::vector<Counted>& all) {
  constexpr const char* kLine = "{:<14} {:<8} {:>9} {:>9} {:>9} {:>10} {:>9} {:>9} {:>9}\n";
  print_out(fmt::runtime(kLine), "ID", "BACKEND", "MEMORY", "PEAK", "LIMIT", "CPU", "PROCESSES",
            "READ", "WRITTEN");
  for (const auto& [status, stats] : all) {
    const std::string processes =
        stats.processes ? std::to_string(*stats.processes) : std::string(kNotCounted);
    print_out(fmt::runtime(kLine), status.id, status.spec.backend, size_text(stats.memory_bytes),
              size_text(stats.peak_memory_bytes), format_byte_size(status.spec.limits.memory_bytes),
              time_text(stats.cpu_time), processes, size_text(stats.read_bytes),
              size_text(stats.written_bytes));
  }
}

nlohmann::ordered_json json_of(const Counted& counted) {
  nlohmann::ordered_json object = {{"id", counted.status.id},
                                   {"backend", counted.status.spec.backend}};
  object.update(to_json(counted.stats));
  object["limits"] = to_json(counted.status.spec.limits);
  return object;
}

// Leaves out sandboxes that end meanwhile.
Result<std::vector<Counted>> count_all(Runtime& runtime) {
  std::vector<Counted> all;
  Runtime::Listing listing = TRY(runtime.list_reachable());
  warn_of_unanswered(listing);
  for (SandboxStatus& status : listing.sandboxes) {
    auto stats = runtime.stats(status.id);
    if (!stats && stats.error().code == ErrorCode::NotFound) continue;
    if (!stats && stats.error().code != ErrorCode::Unsupported)
      return Failure(std::move(stats).error());
    all.push_back({std::move(status), stats.value_or(SandboxStats{})});
  }
  return all;
}

Result<int> stats(Program& program, const StatsFlags& flags) {
  if (flags.id.empty()) {
    const auto all = TRY(count_all(program.runtime));
    if (!flags.is_json) {
      print_table(all);
      return 0;
    }
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (const Counted& one : all)
      array.push_back(json_of(one));
    print_json(array);
    return 0;
  }
  SandboxStatus status = TRY(program.runtime.find(TRY(chosen_sandbox(program, flags.id))));
  SandboxStats counted = TRY(program.runtime.stats(status.id));
  const Counted one{std::move(status), counted};
  if (flags.is_json)
    print_json(json_of(one));
  else
    print_table({one});
  return 0;
}

}  // namespace

void add_stats(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("stats", "Show the memory, CPU time and I/O that sandboxes use").alias("top");
  auto flags = std::make_shared<StatsFlags>();
  command.add_option("ID", flags->id, "The sandbox; without it, all");
  command.add_flag("--json", flags->is_json, "Print a JSON object, or an array of them");
  command.footer(
      "Memory and processes are counted as the limits count them; '-' means that this host does "
      "not "
      "count it.\n\nExamples:\n  nutshell stats\n  nutshell stats $ID --json | jq .memory_bytes");
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return stats(program, *flags); }; });
}

}  // namespace nutshell::cli
