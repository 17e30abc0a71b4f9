// The command of Roche, with its verbs, flags and output: `nutshell roche`, or this program under
// the name roche. Errors begin with "Error: " and end with status 1, and hold the words by which
// Roche's clients tell them apart.
#include "cli/commands/roche.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/safe_text.h"
#include "cli/commands/roche_daemon.h"
#include "cli/daemon_calls.h"
#include "cli/held_report.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/terminal_io.h"
#include "http/message.h"
#include "roche/sandbox_request.h"
#include "runtime/copy.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  ID=$(nutshell roche create --image host)
  nutshell roche exec --sandbox $ID -- uname -a
  nutshell roche list --json
  nutshell roche destroy $ID

A link to this program with the name roche has the same verbs.
NUTSHELL_ROCHE_DOCKER: what the provider docker is: docker, native or auto (an engine that answers, else
native). NUTSHELL_ROCHE_IMAGES: what names of images stand for, as in python:3.12-slim=host; host is this
machine's own system.)";

struct RocheFlags {
  roche::SandboxRequest request;
  std::optional<std::string> cpus;
  std::vector<std::string> mounts;
  std::uint64_t timeout = static_cast<std::uint64_t>(roche::kDefaultTimeout.count());
  unsigned count = 1;
  std::string id;
  std::vector<std::string> ids;
  std::string source;
  std::string target;
  bool is_json = false;
  bool is_dry = false;
  bool is_all = false;
  bool is_direct = false;
  bool is_foreground = false;
  std::uint64_t port = kRochePort;
};
using SharedFlags = std::shared_ptr<RocheFlags>;

// The word by which Roche's clients recognise the error.
std::string_view word_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::NotFound:
    case ErrorCode::Expired:
      return "sandbox not found: ";
    case ErrorCode::Conflict:
      return "sandbox is paused: ";
    case ErrorCode::DeadlineExceeded:
      return "timeout: ";
    case ErrorCode::Unsupported:
      return "unsupported: ";
    case ErrorCode::Unavailable:
      return "provider unavailable: ";
    default:
      return "";
  }
}

void print_roche_error(const Error& error) {
  fmt::print(stderr, "Error: {}{}\n", word_of(error.code), terminal_line(error.message));
}

// Prints the error in Roche's form, where all other commands leave that to the program.
Result<int> reported(Result<int> done) {
  if (done) return done;
  print_roche_error(done.error());
  return 1;
}

std::vector<std::string> items_of(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
  std::vector<std::string> items;
  for (std::string_view rest = value == nullptr ? "" : value; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (end > 0) items.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return items;
}

Result<roche::Choices> choices() {
  const char* engine = std::getenv("NUTSHELL_ROCHE_DOCKER");  // NOLINT(concurrency-mt-unsafe)
  return roche::Choices::parse(engine == nullptr ? "" : engine, items_of("NUTSHELL_ROCHE_IMAGES"));
}

Result<double> cores_of(const std::string& text) {
  double cores = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cores);
  if (error == std::errc() && end == text.data() + text.size()) return cores;
  return failure(ErrorCode::InvalidArgument, fmt::format("'{}' is not a number of cores", text));
}

Result<int> create(Program& program, RocheFlags& flags) {
  roche::SandboxRequest& request = flags.request;
  if (flags.timeout == 0) {
    return failure(ErrorCode::Unsupported,
                   "a sandbox always ends by itself: give its time in seconds, at most a year");
  }
  request.timeout_seconds = flags.timeout;
  if (flags.cpus) request.cpus = TRY(cores_of(*flags.cpus));
  for (const std::string& mount : flags.mounts)
    request.mounts.push_back(TRY(roche::parse_mount(mount)));
  const SandboxSpec spec =
      TRY(roche::spec_of(request, TRY(choices()), [&](const SandboxSpec& one) -> Result<> {
        TRY(program.runtime.check(one));
        return {};
      }));
  if (request.is_writable) print_error(std::string(roche::kWritableNote));
  for (unsigned i = 0; i < flags.count; ++i) {
    print_out("{}\n", TRY(program.runtime.create(spec)));
    std::fflush(stdout);  // an error with a later one must not hide this one
  }
  return 0;
}

// Prints the output as text, as Roche does.
Result<int> exec(Program& program, const RocheFlags& flags) {
  ExecRequest request;
  request.argv = program.command;
  if (request.argv.empty()) {
    return failure(ErrorCode::InvalidArgument, "give the command after --");
  }
  request.limits.timeout = std::chrono::seconds(flags.timeout);
  TRY(check_exec(request));
  CapturingIo io(request);
  const ExecResult result = TRY(program.runtime.exec(flags.id, request, io));
  TRY(roche::refuse_without_status(result, request));
  print_bytes(roche::to_text(io.output));
  const std::string error = roche::to_text(io.error);
  std::fwrite(error.data(), 1, error.size(), stderr);
  return roche::exit_code_of(result);
}

Result<std::vector<roche::SandboxInfo>> all_of(Program& program) {
  const Runtime::Listing listing = TRY(program.runtime.list_reachable(roche::own_labels()));
  std::vector<roche::SandboxInfo> all;
  for (const SandboxStatus& status : listing.sandboxes)
    all.push_back(roche::info_of(status));
  return all;
}

Result<std::vector<std::string>> ids_of(Program& program) {
  std::vector<std::string> ids;
  for (const roche::SandboxInfo& info : TRY(all_of(program)))
    ids.push_back(info.id);
  return ids;
}

// A sandbox that is not there any more counts as destroyed.
Result<int> destroy(Program& program, const RocheFlags& flags) {
  const auto ids = flags.is_all ? TRY(ids_of(program)) : flags.ids;
  int status = 0;
  for (const std::string& id : ids) {
    const auto done = program.runtime.destroy(id);
    if (done) continue;
    print_roche_error(done.error());
    if (done.error().code != ErrorCode::NotFound) status = 1;
  }
  return status;
}

// Sandboxes end by themselves when their time is over, so nothing expired is ever left.
Result<int> collect(Program& program, const RocheFlags& flags) {
  if (!flags.is_all) {
    if (!flags.is_dry) print_out("No expired sandboxes found.\n");
    return 0;
  }
  for (const std::string& id : TRY(ids_of(program))) {
    if (flags.is_dry) {
      print_out("{}\n", id);
    } else if (const auto done = program.runtime.destroy(id)) {
      print_out("destroyed: {}\n", id);
    } else {
      print_roche_error(done.error());
    }
  }
  return 0;
}

std::string time_left_text(const roche::SandboxInfo& info) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const auto left = std::max<std::int64_t>(0, info.expires_at - now);
  return fmt::format("{}m{:02}s", left / 60, left % 60);
}

Result<int> list(Program& program, const RocheFlags& flags) {
  const auto all = TRY(all_of(program));
  if (flags.is_json) {
    auto array = nlohmann::ordered_json::array();
    for (const roche::SandboxInfo& one : all) {
      array.push_back({{"id", one.id},
                       {"status", one.status},
                       {"provider", one.provider},
                       {"image", one.image},
                       {"expires_at", one.expires_at},
                       {"backend", one.backend}});
    }
    print_json(array);
    return 0;
  }
  if (all.empty()) {
    print_out("No active sandboxes.\n");
    return 0;
  }
  constexpr const char* kLine = "{:<16} {:<10} {:<10} {:<10} {}\n";
  print_out(kLine, "ID", "STATUS", "PROVIDER", "EXPIRES", "IMAGE");
  for (const roche::SandboxInfo& one : all)
    print_out(kLine, one.id, one.status, one.provider, time_left_text(one), one.image);
  return 0;
}

// The colon of "ID:/path"; npos in a path of this machine.
std::size_t colon_of(const std::string& place) {
  const std::size_t colon = place.find(':');
  return place.find('/') < colon ? std::string::npos : colon;
}

Result<int> copy(Program& program, const RocheFlags& flags) {
  const std::size_t from = colon_of(flags.source);
  const std::size_t to = colon_of(flags.target);
  if ((from == std::string::npos) == (to == std::string::npos)) {
    return failure(ErrorCode::InvalidArgument,
                   "exactly one of source and destination must be a sandbox path (ID:/path)");
  }
  const std::string& inside = from == std::string::npos ? flags.target : flags.source;
  const std::size_t colon = inside.find(':');
  const std::string path = inside.substr(colon + 1);
  return program.runtime.with_init(
      inside.substr(0, colon), [&](wire::InitClient& client) -> Result<int> {
        if (from == std::string::npos) {
          report_skipped(TRY(copy_in(client, flags.source, path)));
        } else {
          const CopyReport report = TRY(copy_out(client, path, flags.target));
          report_skipped(report);
          report_held(report.held, TakenBy::Name);
        }
        return 0;
      });
}

// ---- Pools of the daemon

Result<Json> pools_of(api::ApiClient& daemon) {
  return TRY(daemon.ask("GET", "/v1/pools")).at("pools");
}

Result<int> pool_status(api::ApiClient& daemon) {
  const Json pools = TRY(pools_of(daemon));
  if (pools.empty()) {
    print_out("No pools configured.\n");
    return 0;
  }
  constexpr const char* kLine = "{:<14} {:<6} {:<8} {:<10} {:<10}\n";
  print_out(kLine, "POOL", "IDLE", "ACTIVE", "MAX_IDLE", "MAX_TOTAL");
  for (const Json& one : pools) {
    print_out(kLine, one.at("name").get<std::string>(), one.at("available").dump(),
              one.at("in_use").dump(), one.at("max_idle").dump(), one.at("max_total").dump());
  }
  return 0;
}

Result<int> for_each_pool(api::ApiClient& daemon, std::string_view verb) {
  std::int64_t drained = 0;
  for (const Json& one : TRY(pools_of(daemon))) {
    const std::string name = http::percent_encode(one.at("name").get<std::string>());
    const Json done = TRY(daemon.ask("POST", fmt::format("/v1/pools/{}/{}", name, verb)));
    drained += done.value("ended", 0);
  }
  if (verb == "warm") print_out("Pool warmup triggered.\n");
  if (verb == "drain") print_out("Drained {} idle sandboxes.\n", drained);
  return 0;
}

// ---- Verbs

template <typename Act>
void runs(const CommandLine& command, Program& program, const SharedFlags& flags, Act act) {
  command.callback([&program, flags, act] {
    if (flags->is_direct) program.daemon = "none";
    program.chosen = [&program, flags, act] { return reported(act(program, *flags)); };
  });
}

void add_roche_create(const CommandLine& group, Program& program, const SharedFlags& flags) {
  const CommandLine command = group.add_command("create", "Create a new sandbox; prints its id");
  roche::SandboxRequest& request = flags->request;
  command.add_option("--provider", request.provider, "docker, native, podman or gvisor (docker)");
  command.add_option("--image", request.image, "Image; host: this machine's own system");
  command.add_option("--memory", request.memory, "Memory limit, such as 512m (512m)");
  command.add_option("--cpus", flags->cpus, "CPU limit, such as 1.0 (1)");
  command.add_option("--timeout", flags->timeout, "Seconds that the sandbox lives (300)");
  command.add_flag("--network", request.has_network, "Refused: sandboxes have no network");
  command.add_flag("--writable", request.is_writable,
                   "Accepted: /workspace and /tmp are writable in every sandbox, nothing else is");
  command.add_option("--env", request.environment, "KEY=VALUE; can be repeated");
  command.add_option("--mount", flags->mounts, "HOST:TARGET[:ro|rw] (ro); can be repeated");
  command.add_option("--count", flags->count, "Number of sandboxes (1)");
  command.add_option("--kernel", request.kernel, "Refused: for firecracker");
  command.add_option("--rootfs", request.root_file_system, "Refused: for firecracker");
  command.add_option("--network-allow", request.allowed_hosts, "A host, if there is a network");
  command.add_option("--fs-path", request.writable_paths, "A path that must be writable");
  runs(command, program, flags, create);
}

void add_roche_sandbox_verbs(const CommandLine& group, Program& program, const SharedFlags& flags) {
  const CommandLine run = group.add_command("exec", "Execute a command in a sandbox");
  run.add_option("--sandbox", flags->id, "Sandbox id").required();
  run.add_option("--timeout", flags->timeout, "Seconds; then all its processes are killed (300)");
  runs(run, program, flags, exec);
  const CommandLine end = group.add_command("destroy", "Destroy sandboxes");
  end.add_option("IDS", flags->ids, "Sandbox ids");
  end.add_flag("--all", flags->is_all, "All sandboxes that were made through Roche");
  runs(end, program, flags, destroy);
  const CommandLine stop = group.add_command("pause", "Stop all processes of a sandbox");
  stop.add_option("ID", flags->id, "Sandbox id").required();
  runs(stop, program, flags, [](Program& here, RocheFlags& given) -> Result<int> {
    TRY(here.runtime.pause(given.id));
    return 0;
  });
  const CommandLine go = group.add_command("unpause", "Let a sandbox go on");
  go.add_option("ID", flags->id, "Sandbox id").required();
  runs(go, program, flags, [](Program& here, RocheFlags& given) -> Result<int> {
    TRY(here.runtime.resume(given.id));
    return 0;
  });
  const CommandLine show = group.add_command("list", "List sandboxes");
  show.add_flag("--json", flags->is_json, "Output as JSON");
  runs(show, program, flags, list);
  const CommandLine sweep = group.add_command("gc", "Destroy sandboxes whose time is over");
  sweep.add_flag("--dry-run", flags->is_dry, "Only list them");
  sweep.add_flag("--all", flags->is_all, "All sandboxes that were made through Roche");
  runs(sweep, program, flags, collect);
  const CommandLine copies = group.add_command("cp", "Copy files between host and sandbox");
  copies.add_option("SOURCE", flags->source, "A path here, or ID:/path").required();
  copies.add_option("DESTINATION", flags->target, "ID:/path, or a path here").required();
  runs(copies, program, flags, copy);
}

void add_roche_daemon_verbs(const CommandLine& group, Program& program, const SharedFlags& flags) {
  const CommandLine daemon = group.add_command("daemon", "Manage the daemon");
  daemon.require_command(1, 1);
  const CommandLine begin = daemon.add_command("start", "Start it, for Roche's clients");
  begin.add_option("--port", flags->port, "Port on 127.0.0.1 for this user's clients (50051)")
      .is_between(1, 65535);
  begin.add_flag("--foreground", flags->is_foreground, "Stay until it ends");
  runs(begin, program, flags, [](Program&, RocheFlags& given) {
    return given.is_foreground ? run_roche_daemon(given.port) : start_roche_daemon(given.port);
  });
  runs(daemon.add_command("stop", "Stop it"), program, flags,
       [](Program&, RocheFlags&) { return stop_roche_daemon(); });
  runs(daemon.add_command("status", "Show whether it runs"), program, flags,
       [](Program&, RocheFlags&) { return show_roche_daemon(); });
  const CommandLine pool = group.add_command("pool", "Manage the daemon's pools");
  pool.require_command(1, 1);
  runs(pool.add_command("status", "Show idle and active sandboxes"), program, flags,
       [](Program& here, RocheFlags&) { return with_daemon(here, pool_status); });
  runs(pool.add_command("warmup", "Fill all pools"), program, flags,
       [](Program& here, RocheFlags&) {
         return with_daemon(here, [](api::ApiClient& one) { return for_each_pool(one, "warm"); });
       });
  runs(pool.add_command("drain", "Destroy all idle sandboxes"), program, flags,
       [](Program& here, RocheFlags&) {
         return with_daemon(here, [](api::ApiClient& one) { return for_each_pool(one, "drain"); });
       });
}

}  // namespace

void add_roche(const CommandLine& app, Program& program) {
  const CommandLine group =
      app.add_command("roche", "What Roche's command does, with its flags and output");
  group.require_command(1, 1);
  group.footer(kExamples);
  auto flags = std::make_shared<RocheFlags>();
  group.add_flag("--direct", flags->is_direct, "Do not use a daemon");
  add_roche_create(group, program, flags);
  add_roche_sandbox_verbs(group, program, flags);
  add_roche_daemon_verbs(group, program, flags);
}

}  // namespace nutshell::cli
