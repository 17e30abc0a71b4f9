#include "backends/docker/notes/sandbox_notes.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "backends/docker/notes/note_files.h"
#include "base/file.h"
#include "base/process_start.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPrefix = "container-";
constexpr auto kPatience = 60s;  // init ends the sandbox itself when its ttl is over

struct Environment {
  std::string engine;
  std::vector<std::string> variables;
  void fields(auto& visit) { visit(engine, variables); }
};

// A process number and its start are unique within one pid namespace of one boot.
struct Process {
  std::string engine;
  std::uint32_t number = 0;
  std::uint64_t started = 0;
  std::string pid_namespace;
  std::string boot;
  void fields(auto& visit) { visit(engine, number, started, pid_namespace, boot); }

  bool operator==(const Process&) const = default;
};

constexpr Notes<Environment> kEnvironments{kPrefix, ".environment"};
constexpr Notes<TtlClock> kClocks{kPrefix, ".clock"};
constexpr Notes<Process> kProcesses{kPrefix, ".process"};

// Identifies the process that has this number now.
Result<Process> describe(const std::string& engine, std::uint32_t number) {
  const auto started = start_of_process(number);
  if (!started) return failure(ErrorCode::NotFound, "the process has ended");
  std::error_code error;
  const auto pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  if (error) return failure(ErrorCode::Unsupported, "the pid namespace has no name");
  constexpr std::size_t kMost = 256;
  return Process{engine, number, *started, pid_namespace.native(),
                 TRY(read_file("/proc/sys/kernel/random/boot_id", kMost))};
}

}  // namespace

Result<> keep_environment(const std::string& id, const std::string& engine,
                          const std::vector<std::string>& environment) {
  return kEnvironments.write(id, {engine, environment});
}

Result<std::vector<std::string>> kept_environment(const std::string& id) {
  auto kept = kEnvironments.read(id);
  if (kept) return std::move(kept->variables);
  return failure(ErrorCode::NotFound,
                 fmt::format("the environment of sandbox {} is known only to the user who made it, "
                             "on the machine where it was made",
                             id));
}

std::vector<std::string> ids_with_environments(const std::string& engine) {
  std::vector<std::string> ids = kEnvironments.names();
  std::erase_if(ids, [&engine](const std::string& id) {
    const auto kept = kEnvironments.read(id);
    return !kept || kept->engine != engine;
  });
  return ids;
}

Result<> keep_clock(const std::string& id, const TtlClock& clock) {
  return kClocks.write(id, clock);
}

Result<TtlClock> kept_clock(const std::string& id) {
  return kClocks.read(id);
}

Result<> keep_process(const std::string& id, const std::string& engine, pid_t process) {
  return kProcesses.write(id, TRY(describe(engine, static_cast<std::uint32_t>(process))));
}

Result<pid_t> kept_process(const std::string& id, const std::string& engine) {
  const auto kept = kProcesses.read(id);
  if (kept && kept->engine == engine) {
    const auto now = describe(engine, kept->number);
    if (now && *now == *kept) return static_cast<pid_t>(kept->number);
  }
  return failure(ErrorCode::NotFound, fmt::format("the process of sandbox {} is not known", id));
}

void forget_sandbox(const std::string& id) {
  kEnvironments.remove(id);
  kProcesses.remove(id);
  kClocks.remove(id);
}

void sweep_sandbox_notes(SweepMode mode, SweepReport& report) {
  const auto now = containers::milliseconds_now();
  for (const std::string& id : kClocks.names()) {
    const auto clock = kept_clock(id);
    if (!clock || now < clock->expires_at + kPatience) continue;
    report.removed.push_back(fmt::format("what was kept of sandbox {}", id));
    if (mode == SweepMode::Remove) forget_sandbox(id);
  }
}

}  // namespace nutshell::docker
