#include "core/session.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/daemon_calls.h"
#include "cli/print.h"
#include "cli/report.h"
#include "cli/run_exec.h"
#include "core/json_form.h"
#include "core/text_form.h"
#include "http/message.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"text(Examples:
  nutshell session exec work -- make test        made at first use, then used again
  nutshell session start work --setup 'git init -q' --lease 1h --keep-workspace
  nutshell exec $(nutshell session start work) -- ls
  nutshell session list
  nutshell session end work

A session is a sandbox with a name, which the daemon keeps, also over restarts. If the sandbox is lost,
the next use makes another one and says so. The setup runs once in each new sandbox. With
--keep-workspace the files of /workspace come back too, until 'nutshell session forget NAME'.)text";

struct SessionFlags {
  Flags sandbox;
  std::string name;
  std::vector<std::string> setup, budget, list_labels;
  std::optional<std::string> lease, pause_after;
  bool keeps_workspace = false;
};

std::string place_of(const std::string& name, std::string_view what = {}) {
  return fmt::format("/v1/sessions/{}{}", http::percent_encode(name), what);
}

// Parses "execs=100", "cpu_time=60s", "wall_time=10m" or "output=64m".
Result<> take_budget(const std::string& text, Budget& budget) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string value = text.substr(std::min(equals + 1, text.size()));
  Result<> result = failure(ErrorCode::InvalidArgument,
                            "give execs=100, cpu_time=60s, wall_time=10m or output=64m");
  Budget::describe(
      [&](const FieldInfo& info, auto& member) {
        if (setting_name(info) == text.substr(0, equals)) result = read_text(info, value, member);
      },
      budget);
  if (result) result = check_bounds(budget);
  if (!result) return while_doing("--budget " + text, std::move(result).error());
  return {};
}

Result<Json> request_of(const SessionFlags& flags) {
  SandboxSpec spec = TRY(to_spec(flags.sandbox));
  spec.environment = TRY(environment_of(flags.sandbox));
  Json request = {{"name", flags.name}, {"keeps_workspace", flags.keeps_workspace}};
  request["labels"] = std::exchange(spec.labels, {});  // labels belong to the session
  request["spec"] = spec_json(std::move(spec));
  for (const std::string& command : flags.setup)
    request["setup"].push_back(Json::array({"sh", "-c", command}));
  Budget budget;
  for (const std::string& one : flags.budget)
    TRY(take_budget(one, budget));
  request["budget"] = to_json(budget, Written::Request);
  if (flags.lease) request["lease_ms"] = TRY(milliseconds_of(*flags.lease, "lease"));
  if (flags.pause_after)
    request["pause_after_ms"] = TRY(milliseconds_of(*flags.pause_after, "pause-after"));
  return request;
}

// Finds the session or makes it. Prints what was lost if its sandbox had to be made again.
Result<Json> ensure(api::ApiClient& daemon, const SessionFlags& flags) {
  constexpr std::chrono::hours kLongestSetup{1};
  daemon.set_patience(kLongestSetup);
  const Json request = TRY(request_of(flags));
  Json session = TRY(daemon.ask("POST", "/v1/sessions", TRY(api::body_of(request))));
  const Json& lost = session.at("lost");
  if (lost.is_string()) print_error(lost.get<std::string>());
  return session;
}

Result<int> start(Program& /*program*/, api::ApiClient& daemon, const SessionFlags& flags) {
  const Json session = TRY(ensure(daemon, flags));
  if (flags.sandbox.is_json) {
    print_json(session);
  } else {
    print_out("{}\n", session.at("sandbox_id").get<std::string>());
  }
  return 0;
}

Result<int> exec(Program& program, api::ApiClient& daemon, const SessionFlags& flags) {
  Flags given = flags.sandbox;
  given.command = program.command;
  const ExecRequest request = TRY(to_exec(given));
  SessionFlags session = flags;
  session.sandbox.lists.erase("env");  // -e is for the command, not for the session
  const auto id = TRY(ensure(daemon, session)).at("sandbox_id").get<std::string>();
  return run_and_report(given, request,
                        [&](wire::ExecIo& io) { return program.runtime.exec(id, request, io); });
}

std::string labels_of(const Json& session) {
  std::string text;
  for (const auto& [name, value] : session.at("labels").items())
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value.get<std::string>());
  return text;
}

Result<Json> all_sessions(api::ApiClient& daemon, const SessionFlags& flags) {
  Json all = Json::array();
  std::string wanted;
  for (const std::string& label : flags.list_labels)
    wanted += "&label=" + http::percent_encode(label);
  std::string target = "/v1/sessions?limit=1000" + wanted;
  for (;;) {
    const Json page = TRY(daemon.ask("GET", target));
    for (const Json& one : page.at("sessions"))
      all.push_back(one);
    const Json& next = page.at("next_cursor");
    if (!next.is_string()) return all;
    target = fmt::format("/v1/sessions?limit=1000{}&cursor={}", wanted,
                         http::percent_encode(next.get<std::string>()));
  }
}

Result<int> list(Program& /*program*/, api::ApiClient& daemon, const SessionFlags& flags) {
  const Json sessions = TRY(all_sessions(daemon, flags));
  if (flags.sandbox.is_json) {
    print_json(sessions);
    return 0;
  }
  constexpr const char* kLine = "{:<20} {:<14} {:>5} {:>8} {:>8} {:>10} {:<6} {}\n";
  print_out(kLine, "NAME", "SANDBOX", "LIFE", "LEASE", "EXECS", "CPU", "FILES", "LABELS");
  for (const Json& one : sessions) {
    const auto lease = one.at("lease_left_ms").get<std::int64_t>();
    const Json& usage = one.at("usage");
    print_out(kLine, one.at("name").get<std::string>(), one.at("sandbox_id").get<std::string>(),
              one.at("life").dump(), lease == 0 ? "-" : fmt::format("{}s", lease / 1000),
              usage.at("execs").dump(),
              fmt::format("{:.2f}s", usage.at("cpu_time_ms").get<double>() / 1000),
              one.at("keeps_workspace").get<bool>() ? "kept" : "-", labels_of(one));
  }
  return 0;
}

Result<int> show(Program& /*program*/, api::ApiClient& daemon, const SessionFlags& flags) {
  print_json_text(TRY(daemon.ask("GET", place_of(flags.name))).dump(2));
  return 0;
}

Result<int> renew(Program& /*program*/, api::ApiClient& daemon, const SessionFlags& flags) {
  Json lease;
  lease["lease_ms"] = TRY(milliseconds_of(flags.lease.value_or(""), "lease"));
  TRY(daemon.ask("POST", place_of(flags.name, "/renew"), lease.dump()));
  return 0;
}

Result<int> end(Program& /*program*/, api::ApiClient& daemon, const SessionFlags& flags) {
  TRY(daemon.ask("DELETE", place_of(flags.name)));
  return 0;
}

Result<int> forget(Program& /*program*/, api::ApiClient& daemon, const SessionFlags& flags) {
  TRY(daemon.ask("DELETE", place_of(flags.name, "/workspace")));
  return 0;
}

void add_making_flags(const CommandLine& command, SessionFlags& flags) {
  const char* group = "Session";
  command.add_option("NAME", flags.name, "Name of the session: letters, digits and ._-").required();
  add_sandbox_flags(command, flags.sandbox);
  command
      .add_option("--setup", flags.setup, "Shell command to run in a new sandbox; may be repeated")
      .group(group);
  command
      .add_option("--lease", flags.lease,
                  "End the session when it is not used for this long (never)")
      .group(group);
  command
      .add_option("--pause-after", flags.pause_after, "Pause it when it is not used for this long")
      .group(group);
  command
      .add_flag("--keep-workspace", flags.keeps_workspace,
                "Keep the files of /workspace for its next sandbox")
      .group(group);
  command
      .add_option("--budget", flags.budget,
                  "What it may use in total: execs=100,cpu_time=60s,wall_time=10m,output=64m")
      .delimiter(',')
      .group(group);
}

}  // namespace

void add_session(const CommandLine& app, Program& program) {
  const CommandLine group =
      app.add_command("session", "Use sandboxes by a name of your own; needs the daemon");
  group.require_command(1, 1);
  const auto flags = std::make_shared<SessionFlags>();
  using Step = Result<int> (*)(Program&, api::ApiClient&, const SessionFlags&);
  const auto hang = [&](const char* name, const char* help, Step step) {
    const CommandLine command = group.add_command(name, help);
    command.callback([flags, step, &program] {
      program.chosen = [flags, step, &program]() -> Result<int> {
        TRY(read_config(flags->sandbox));
        return with_daemon(program,
                           [&](api::ApiClient& daemon) { return step(program, daemon, *flags); });
      };
    });
    return command;
  };
  const auto about_one = [&](const char* name, const char* help, Step step) {
    const CommandLine command = hang(name, help, step);
    command.add_option("NAME", flags->name, "The session").required();
    return command;
  };
  const CommandLine started =
      hang("start", "Find a session or make it; prints the id of its sandbox", start);
  add_making_flags(started, *flags);
  add_sandbox_flag(started, flags->sandbox, "env").group("Sandbox");
  started.add_flag("--json", flags->sandbox.is_json, "Print the session as a JSON object");
  const CommandLine run =
      hang("exec", "Run a command in a session; makes the session if needed", exec);
  add_making_flags(run, *flags);
  add_exec_flags(run, flags->sandbox);
  const CommandLine listed = hang("list", "List the sessions", list).alias("ls");
  listed.add_option("--label", flags->list_labels, "Only those with NAME=VALUE; may be repeated");
  listed.add_flag("--json", flags->sandbox.is_json, "Print a JSON array");
  about_one("show", "Print all about a session as JSON, with the output of its setup", show);
  about_one("renew", "Start its lease again", renew)
      .add_option("--lease", flags->lease, "The new lease, from now on")
      .required();
  about_one("end", "End a session and its sandbox", end);
  about_one("forget", "Remove the files that --keep-workspace kept for this name", forget);
  group.footer(kExamples);
}

}  // namespace nutshell::cli
