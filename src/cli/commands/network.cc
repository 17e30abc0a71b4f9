#include "cli/commands/network.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/defer.h"
#include "base/file.h"
#include "cli/daemon_calls.h"
#include "cli/flags.h"
#include "cli/network_rules.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/sandbox_choice.h"
#include "cli/terminal_io.h"
#include "core/check_network.h"
#include "core/json_form.h"
#include "core/network_report.h"
#include "core/text_form.h"
#include "runtime/copy.h"
#include "runtime/network.h"

namespace nutshell::cli {
namespace {

constexpr std::chrono::seconds kIdleTime{10};

constexpr const char* kExamples = R"(Examples:
  nutshell network learn -- pip install rich      what a command reaches, as flags for 'run'
  ID=$(nutshell create --allow pypi)
  nutshell network show $ID                       what it may reach, and what it used
  nutshell network explain $ID                    what was refused, and what would allow it
  nutshell network set $ID --allow pypi --allow api.example.org
  nutshell network set $ID --network none         nothing any more; open connections end)";

constexpr const char* kLearnHelp =
    R"(The command runs once, in a sandbox that reaches all that this machine reaches, or
what --allow names. Read the list before you use it: it has what the command chose to reach.)";

struct NetworkFlags {
  std::string id;
  Flags policy;
  bool is_json = false;
};

std::string target_of(const std::string& id, std::string_view what = {}) {
  return fmt::format("/v1/sandboxes/{}/network{}", id, what);
}

// Asks the daemon if there is one, else the runtime.
Result<NetworkStatus> status_of(Program& program, const std::string& id) {
  if (!program.runtime.context().daemon) return status_or_none(program.runtime.network(id));
  api::ApiClient daemon(*program.runtime.context().daemon);
  NetworkStatus status;
  TRY(read_json(TRY(daemon.ask("GET", target_of(id))), status));
  return status;
}

Result<NetworkStatus> set_policy(Program& program, const std::string& id,
                                 const NetworkPolicy& policy) {
  if (!program.runtime.context().daemon) return program.runtime.set_network(id, policy);
  api::ApiClient daemon(*program.runtime.context().daemon);
  const std::string body = TRY(api::body_of(to_json(policy, Written::Request)));
  NetworkStatus status;
  TRY(read_json(TRY(daemon.ask("PUT", target_of(id), body)), status));
  return status;
}

Result<std::vector<NetworkEvent>> events_of(Program& program, const std::string& id) {
  if (!program.runtime.context().daemon)
    return events_or_none(program.runtime.network_events(id, 0));
  api::ApiClient daemon(*program.runtime.context().daemon);
  const Json answer = TRY(daemon.ask("GET", target_of(id, "/events")));
  const auto list = answer.find("events");
  if (list == answer.end() || !list->is_array())
    return failure(ErrorCode::Corrupt, "the daemon's answer has no events");
  std::vector<NetworkEvent> events;
  for (const Json& one : *list)
    TRY(read_json(one, events.emplace_back()));
  return events;
}

Result<std::string> id_of(Program& program, const NetworkFlags& flags) {
  return program.runtime.whole_id(TRY(chosen_sandbox(program, flags.id)));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string allowed_text(const NetworkPolicy& policy) {
  switch (mode_of(policy)) {
    case NetworkMode::None:
      return "nothing";
    case NetworkMode::UnsafeFull:
      return "all that this machine reaches (unsafe-full)";
    case NetworkMode::Allowed:
      break;
  }
  return joined(policy.allow);
}

void print_status(const NetworkStatus& status) {
  const NetworkPolicy& policy = status.policy;
  print_out("allowed      {}\n", allowed_text(policy));
  if (policy.tls == TlsMode::Inspect) print_out("tls          the host reads it\n");
  std::vector<std::string> secrets;
  for (const NetworkSecret& secret : policy.secrets)
    secrets.push_back(secret.name);
  if (!secrets.empty()) print_out("secrets      {}\n", joined(secrets));
  if (!policy.caches.empty()) print_out("caches       {}\n", joined(policy.caches));
  print_out("connections  {} open of at most {}, {} in all\n", status.open_connections,
            policy.most_connections, status.connections);
  print_out("refused      {}\n", status.refused);
  print_out("bytes        {} of at most {}, {} in a second\n", status.bytes, policy.most_bytes,
            policy.bytes_per_second);
  print_out("way          {}\n", status.way);
}

void print(const NetworkFlags& flags, const NetworkStatus& status) {
  if (flags.is_json)
    print_json(to_json(status));
  else
    print_status(status);
}

Result<int> show(Program& program, const NetworkFlags& flags) {
  print(flags, TRY(status_of(program, TRY(id_of(program, flags)))));
  return 0;
}

// The policy that it has, with what the flags change. Rules and mode are replaced as one.
Result<NetworkPolicy> changed_policy(NetworkPolicy policy, const Flags& flags) {
  if (flags.text("network") || !flags.list("allow").empty()) {
    policy.mode = NetworkMode::None;
    policy.allow.clear();
  }
  if (!flags.list("cache").empty()) policy.caches.clear();
  Result<> result;
  bool is_given = false;
  for_each_flag(policy, [&](const FieldInfo& info, auto& member) {
    std::vector<std::string> texts = flags.list(info.flag);
    if (auto text = flags.text(info.flag)) texts.push_back(std::move(*text));
    for (const std::string& text : texts) {
      is_given = true;
      if (result) result = read_text(info, text, member);
    }
  });
  TRY(result);
  if (mode_of(policy) != NetworkMode::Allowed) {  // nothing is read then, and no secret is needed
    policy.tls = TlsMode::Pass;
    policy.secrets.clear();
    policy.caches.clear();
  }
  if (is_given) {
    TRY(check_network(policy));
    return policy;
  }
  return failure(ErrorCode::InvalidArgument,
                 "what may it reach? Name it with --allow HOST[:PORT], or say --network none");
}

Result<int> set(Program& program, const NetworkFlags& flags) {
  const std::string id = TRY(id_of(program, flags));
  const NetworkStatus before = TRY(status_of(program, id));
  const NetworkPolicy policy = TRY(changed_policy(before.policy, flags.policy));
  print(flags, TRY(set_policy(program, id, policy)));
  return 0;
}

void print_attempts(const std::vector<NetworkEvent>& events) {
  for (const auto& [place, attempts] : attempts_of(events)) {
    const std::string why = attempts.reason.empty() ? "" : ": " + attempts.reason;
    print_out("  {}  {}{}\n", place, counts_text(attempts), why);
  }
}

void print_refused(const std::vector<NetworkEvent>& events) {
  const auto rules = rules_for_refused(events);
  if (rules.empty()) return;
  print_out("\nThis would have allowed what was refused, and nothing else:\n");
  print_out("  {}\n", allow_flags(rules));
}

Result<int> explain(Program& program, const NetworkFlags& flags) {
  const std::string id = TRY(id_of(program, flags));
  const NetworkStatus status = TRY(status_of(program, id));
  const auto events = TRY(events_of(program, id));
  if (flags.is_json) {
    print_json(Json{{"status", to_json(status)},
                    {"events", to_json(events)},
                    {"allow", rules_for_refused(events)}});
    return 0;
  }
  print_status(status);
  print_out("\n{}\n", events.empty() ? "Nothing was tried." : "Tried:");
  print_attempts(events);
  print_refused(events);
  return 0;
}

// ---- learn --------------------------------------------------------------------------------------

void print_learned(const std::vector<NetworkEvent>& events) {
  const auto rules = rules_for_reached(events);
  print_out("\n{}\n", events.empty() ? "The command tried nothing on the network." : "Tried:");
  print_attempts(events);
  if (!rules.empty()) {
    print_out("\nThis allows what was reached, and nothing else:\n");
    print_out("  {}\n", allow_flags(rules));
  }
  print_refused(events);
}

void print_learned_json(const ExecResult& result, const std::vector<NetworkEvent>& events) {
  print_json(Json{{"result", to_json(result)},
                  {"allow", rules_for_reached(events)},
                  {"refused", rules_for_refused(events)},
                  {"events", to_json(events)}});
}

Result<ExecResult> run_in(Program& program, const std::string& id, const ExecRequest& request,
                          const Flags& flags) {
  if (!flags.is_json) {
    TerminalIo io(request);
    return program.runtime.exec(id, request, io);
  }
  CapturingIo io(request);
  auto result = program.runtime.exec(id, request, io);
  TRY(write_all(STDERR_FILENO, io.output + io.error));
  return result;
}

Result<> copy_all(Program& program, const std::string& id, const Flags& flags) {
  for (const Copied& one : TRY(to_copies(flags))) {
    report_skipped(TRY(program.runtime.with_init(
        id, [&one](wire::InitClient& client) { return copy_in(client, one.source, one.target); })));
  }
  return {};
}

using Step = std::function<Result<int>(const std::string& id)>;

// Makes a sandbox for `step`. It ends with it, or with this process: at once without a daemon, else
// when it was idle for a while.
Result<int> in_new_sandbox(Program& program, SandboxSpec spec, const Step& step) {
  if (!program.runtime.context().daemon) return program.runtime.with_temporary(spec, step);
  if (spec.idle_timeout == std::chrono::milliseconds(0)) spec.idle_timeout = kIdleTime;
  const std::string id = TRY(program.runtime.create(spec));
  const Defer ended([&] { (void)program.runtime.destroy(id); });  // else it ends by itself
  return step(id);
}

Result<int> learn(Program& program, const Flags& flags) {
  if (flags.command.empty()) {
    return failure(ErrorCode::InvalidArgument,
                   "which command? 'nutshell network learn -- pip install rich' runs one and "
                   "tells what it reached");
  }
  SandboxSpec spec = TRY(to_spec(flags));
  if (mode_of(spec.network) == NetworkMode::None) spec.network.mode = NetworkMode::UnsafeFull;
  const ExecRequest request = TRY(to_exec(flags));
  spec.limits.cpu_time = request.limits.cpu_time;
  if (!flags.text("ttl"))
    spec.ttl = std::max(spec.ttl, request.limits.timeout + std::chrono::seconds(10));
  return in_new_sandbox(program, spec, [&](const std::string& id) -> Result<int> {
    TRY(copy_all(program, id, flags));
    const ExecResult result = TRY(run_in(program, id, request, flags));
    const auto events = TRY(events_of(program, id));
    if (flags.is_json) {
      print_learned_json(result, events);
    } else {
      explain_end(result);
      print_learned(events);
    }
    return exit_status(result);
  });
}

void add_learn(const CommandLine& parent, Program& program) {
  const CommandLine command =
      parent.add_command("learn", "Run a command once, and print the rules that it needs");
  auto flags = std::make_shared<Flags>();
  add_sandbox_flags(command, *flags);
  add_exec_flags(command, *flags, Streams::Shared);
  add_copy_flag(command, *flags);
  command.add_flag("--json", flags->is_json,
                   "Print a JSON object; the command's output goes to standard error");
  command.footer(kLearnHelp);
  command.callback([flags, &program] {
    program.chosen = [flags, &program]() -> Result<int> {
      flags->command = program.command;
      TRY(read_config(*flags));
      return learn(program, *flags);
    };
  });
}

// A command about the network of one sandbox.
struct Verb {
  const char* name;
  const char* help;
  Result<int> (*step)(Program&, const NetworkFlags&);
};
constexpr Verb kShow{"show", "What it may reach, and what it used", show};
constexpr Verb kExplain{"explain", "What was tried and refused, and what would allow it", explain};
constexpr Verb kSet{"set", "Change what it may reach; ends connections that are not allowed then",
                    set};

CommandLine add_verb(const CommandLine& parent, Program& program,
                     const std::shared_ptr<NetworkFlags>& flags, const Verb& verb) {
  const CommandLine command = parent.add_command(verb.name, verb.help);
  command.add_option("ID", flags->id, kSandboxHelp);
  command.add_flag("--json", flags->is_json, "Print a JSON object");
  command.callback([flags, &program, step = verb.step] {
    program.chosen = [flags, &program, step] { return step(program, *flags); };
  });
  return command;
}

}  // namespace

void add_network(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("network", "What a sandbox may reach on the network, and what it tried");
  command.require_command(1, 1);
  command.footer(kExamples);
  auto flags = std::make_shared<NetworkFlags>();
  add_verb(command, program, flags, kShow);
  add_verb(command, program, flags, kExplain);
  const CommandLine change = add_verb(command, program, flags, kSet);
  const NetworkPolicy defaults;
  for_each_flag(defaults, [&](const FieldInfo& info, const auto& /*member*/) {
    add_sandbox_flag(change, flags->policy, info.flag);
  });
  add_learn(command, program);
}

}  // namespace nutshell::cli
