// The MCP server on standard input and output. A client starts one for each of its sessions.
#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/environment.h"
#include "cli/command.h"
#include "cli/commands/mcp_clients.h"
#include "cli/daemon_choice.h"
#include "cli/flags.h"
#include "cli/report.h"
#include "cli/tool_flags.h"
#include "init/init.h"
#include "server/mcp/sandbox/runtime_sandboxes.h"
#include "server/mcp/sandbox/sandbox_host.h"
#include "server/mcp/sandbox/session_slot.h"
#include "server/mcp/stdio.h"

namespace nutshell::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(Examples:
  nutshell mcp init claude-code             write the client's configuration; --dry-run shows it
  nutshell mcp doctor                       start the server as a client would, and try it
  nutshell mcp                              the server itself, on standard input and output
  nutshell mcp --profile readonly --tools read,grep,ls
  nutshell mcp --session review --memory 4g

The directory that the client runs in becomes the workspace, copy-on-write: 'nutshell list' shows the
sandbox's ID, 'nutshell diff ID' its changes, and 'nutshell apply ID' writes them to the directory.)";

// Defaults that builds and tests of a project need, and that survive a night between two calls.
constexpr const char* kMemory = "2g";
constexpr const char* kDisk = "2g";
constexpr const char* kProcesses = "512";
constexpr const char* kCpus = "2";
constexpr const char* kCpuTime = "3600s";
constexpr const char* kIdleTimeout = "24h";
constexpr const char* kTtl = "7d";
constexpr const char* kDaemonTtl = "24h";  // the longest that a daemon allows by default

struct McpFlags {
  Flags sandbox;
  ToolFlags choice;
  std::string session;
  bool is_structured = false;
  bool is_many = false;
  bool has_no_project = false;
  bool leaves_images = false;
  bool repeats_output = false;
};

// A client that was not started in a project runs in the home directory, above it or in /. None is
// meant to be a workspace, however it is spelled.
bool is_project(const fs::path& directory) {
  const auto home = environment_path("HOME");
  std::error_code error;
  const fs::path place = fs::canonical(directory, error);
  if (error || place == "/" || ::access(place.c_str(), R_OK | X_OK) != 0) return false;
  const fs::path own = fs::canonical(home, error);
  if (error) return true;
  const auto [end, unused] = std::mismatch(place.begin(), place.end(), own.begin(), own.end());
  return end != place.end();
}

void use_defaults(Flags& sandbox, const char* ttl = kTtl) {
  const auto use = [&sandbox](const char* flag, const char* value) {
    auto& given = sandbox.texts[flag];
    if (!given) given = value;
  };
  use("memory", kMemory);
  use("disk", kDisk);
  use("processes", kProcesses);
  use("cpus", kCpus);
  use("cpu-time", kCpuTime);
  use("idle-timeout", kIdleTimeout);
  use("ttl", ttl);
}

// The same as a spec, for the help.
SandboxSpec default_spec() {
  Flags flags;
  use_defaults(flags);
  return to_spec(flags).value_or(SandboxSpec{});
}

void set_defaults(McpFlags& flags, const char* ttl) {
  use_defaults(flags.sandbox, ttl);
  auto& workspace = flags.sandbox.texts["workspace"];
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (flags.has_no_project || error) {
    workspace.reset();
  } else if (!workspace && is_project(here)) {
    workspace = here.native();
  }
}

// Takes the first of the client's directories that can be a workspace.
std::optional<mcp::Project> choose_project(const std::vector<std::string>& directories,
                                           std::optional<mcp::SessionSlot>& slot) {
  for (const std::string& directory : directories) {
    if (!fs::path(directory).is_absolute() || !is_project(directory)) continue;
    if (!slot) return mcp::Project{directory, {}};  // --session names the sandbox
    auto taken = mcp::SessionSlot::take(mcp::session_label("project", directory));
    if (!taken) return std::nullopt;
    slot = std::move(*taken);
    return mcp::Project{directory, slot->label()};
  }
  return std::nullopt;
}

mcp::SandboxHostOptions host_options(const McpFlags& flags, SandboxSpec spec,
                                     std::vector<Tool> tools) {
  mcp::SandboxHostOptions options;
  options.version = NUTSHELL_VERSION;
  options.tools = std::move(tools);
  options.policy.dialect = flags.choice.chosen_dialect();
  options.policy.prefix = flags.choice.prefix;
  options.policy.is_structured = flags.is_structured;
  for (const UnsafeMount& mount : spec.unsafe_mounts)
    if (mount.access == UnsafeMount::Access::ReadWrite) options.policy.is_disposable = false;
  options.calls.dialect = flags.choice.chosen_dialect();
  options.calls.reads_only = flags.choice.reads_only();
  options.calls.takes_images = !flags.leaves_images;
  options.calls.wants_fields = flags.is_structured;
  options.calls.repeats_output = flags.repeats_output;
  options.calls.notes_gain = true;
  options.choosing = flags.is_many ? mcp::Choosing::Many : mcp::Choosing::One;
  options.spec = std::move(spec);
  options.note = [](const std::string& text) { print_error("mcp: " + text); };
  return options;
}

// Returns a descriptor that is readable once a signal asks the process to end. Ignores SIGPIPE.
Result<UniqueFd> watch_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    ::sigaddset(&set, number);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return syscall_failure("sigprocmask");
  ::signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): before any thread
  UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return syscall_failure("signalfd");
  return signals;
}

Result<int> serve(Program& program, McpFlags& flags) {
  TRY(read_config(flags.sandbox));
  TRY(choose_daemon_of_config(program, flags.sandbox.text("daemon").value_or("")));
  set_defaults(flags, program.runtime.context().daemon ? kDaemonTtl : kTtl);
  SandboxSpec spec = TRY(to_spec(flags.sandbox));
  spec.environment = TRY(environment_of(flags.sandbox));
  std::vector<Tool> tools = TRY(tools_of(flags.choice));
  const UniqueFd signals = TRY(watch_signals());
  mcp::SandboxHostOptions options = host_options(flags, std::move(spec), std::move(tools));
  std::optional<mcp::SessionSlot> slot;
  if (flags.session.empty()) {
    std::error_code error;
    const std::string project =
        options.spec.workspace.empty() ? fs::current_path(error).native() : options.spec.workspace;
    slot = TRY(mcp::SessionSlot::take(mcp::session_label("project", project)));
    options.session = slot->label();
  } else {
    options.session = mcp::session_label("name", flags.session);
  }
  if (options.spec.workspace.empty() && !flags.has_no_project) {
    options.choose_project = [&slot](const std::vector<std::string>& directories) {
      return choose_project(directories, slot);
    };
  }
  mcp::RuntimeSandboxes sandboxes(program.runtime.context());
  mcp::SandboxHost host(sandboxes, std::move(options));
  mcp::Server server(host);
  const auto on_end = [&slot] {
    if (slot) slot->mark_ending();
  };
  TRY(mcp::serve_stdio(server, {STDIN_FILENO, STDOUT_FILENO, signals.get(), on_end}));
  return 0;
}

void add_server_flags(const CommandLine& command, McpFlags& flags) {
  const char* group = "Server";
  command
      .add_option("--session", flags.session,
                  "Use the sandbox of this name again, instead of that of the directory")
      .group(group);
  command.add_flag("--no-project", flags.has_no_project, "Start with an empty /workspace")
      .group(group);
  command.add_flag("--multi", flags.is_many, "Add tools that make, list, fork and end sandboxes")
      .group(group);
  command
      .add_flag("--structured", flags.is_structured,
                "Also return structured content, for clients that call tools from code")
      .group(group);
  command.add_flag("--no-images", flags.leaves_images, "Let read return no images").group(group);
  command
      .add_flag("--repeat-output", flags.repeats_output,
                "Repeat output that was shown before, instead of 'unchanged since'")
      .group(group);
  add_sandbox_flag(command, flags.sandbox, "env").group("Sandbox");
}

}  // namespace

void add_mcp(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("mcp", "Serve the tools to an MCP client, such as an agent");
  const auto flags = std::make_shared<McpFlags>();
  add_server_flags(command, *flags);
  add_tool_flags(command, flags->choice);
  add_sandbox_flags(command, flags->sandbox,
                    command.builds_flags() ? default_spec() : SandboxSpec{});
  command.footer(kExamples);
  add_mcp_init(command, program);
  add_mcp_doctor(command, program);
  command.callback([command, flags, &program] {
    if (!command.has_chosen_command())
      program.chosen = [flags, &program] { return serve(program, *flags); };
  });
}

}  // namespace nutshell::cli
