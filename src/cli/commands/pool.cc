#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/daemon_calls.h"
#include "cli/print.h"
#include "cli/report.h"
#include "http/message.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell pool list                       how many are idle and in use
  ID=$(nutshell pool acquire agents --label job=7)
  nutshell exec $ID -- make test
  nutshell pool release $ID                ends it; the pool makes a new one

A pool keeps idle sandboxes ready. The daemon's settings define pools ([[pools]]);
packaging/nutshelld.toml shows one.)";

struct PoolFlags {
  Flags sandbox;
  std::string name;
  std::vector<std::string> ids;
  std::optional<std::string> wait;
};

std::string place_of(const std::string& pool, std::string_view what) {
  return fmt::format("/v1/pools/{}{}", http::percent_encode(pool), what);
}

void print_pools(const Json& pools) {
  constexpr const char* kLine = "{:<16} {:>6} {:>9} {:>6} {:>7} {:>8} {:>8} {:>9} {:>8} {:>8} {}\n";
  print_out(kLine, "NAME", "TOTAL", "AVAILABLE", "IN USE", "WAITING", "MIN IDLE", "MAX IDLE",
            "MAX TOTAL", "HITS", "MISSES", "TROUBLE");
  for (const Json& one : pools) {
    const Json& trouble = one.at("trouble");
    print_out(kLine, one.at("name").get<std::string>(), one.at("total").dump(),
              one.at("available").dump(), one.at("in_use").dump(), one.at("waiting").dump(),
              one.at("min_idle").dump(), one.at("max_idle").dump(), one.at("max_total").dump(),
              one.at("hits").dump(), one.at("misses").dump(),
              trouble.is_string() ? trouble.get<std::string>() : "");
  }
}

Result<int> list(api::ApiClient& daemon, const PoolFlags& flags) {
  const Json pools = TRY(daemon.ask("GET", "/v1/pools")).at("pools");
  if (flags.sandbox.is_json) {
    print_json(pools);
  } else {
    print_pools(pools);
  }
  return 0;
}

constexpr std::array<const char*, 4> kLimitFlags = {"memory", "cpus", "processes", "disk"};

// The request for a sandbox: only what was given. Labels and times are set on an idle sandbox;
// anything else makes a new one.
Result<Json> wishes_of(const PoolFlags& flags) {
  const Flags& given = flags.sandbox;
  SandboxSpec spec = TRY(to_spec(given));
  spec.environment = TRY(environment_of(given));
  const Json whole = spec_json(std::move(spec));
  Json wishes = Json::object();
  const auto take = [&](const char* key, bool is_given) {
    if (is_given) wishes[key] = whole.at(key);
  };
  take("labels", !given.list("label").empty());
  take("environment", !given.list("env").empty());
  take("workspace", given.text("workspace").has_value());
  take("ttl_ms", given.text("ttl").has_value());
  take("idle_timeout_ms", given.text("idle-timeout").has_value());
  const auto is_given = [&](const char* flag) { return given.text(flag).has_value(); };
  take("limits", std::any_of(kLimitFlags.begin(), kLimitFlags.end(), is_given));
  if (flags.wait) wishes["wait_ms"] = TRY(milliseconds_of(*flags.wait, "wait"));
  return wishes;
}

Result<int> acquire(api::ApiClient& daemon, const PoolFlags& flags) {
  constexpr std::chrono::minutes kLongestWait{11};
  daemon.set_patience(kLongestWait);
  const Json wishes = TRY(wishes_of(flags));
  const Json made =
      TRY(daemon.ask("POST", place_of(flags.name, "/acquire"), TRY(api::body_of(wishes))));
  if (flags.sandbox.is_json) {
    print_json(made);
  } else {
    print_out("{}\n", made.at("id").get<std::string>());
  }
  return 0;
}

Result<int> release(api::ApiClient& daemon, const PoolFlags& flags) {
  for (const std::string& id : flags.ids)
    TRY(daemon.ask("POST", fmt::format("/v1/sandboxes/{}/release", http::percent_encode(id))));
  return 0;
}

Result<int> warm(api::ApiClient& daemon, const PoolFlags& flags) {
  const Json pool = TRY(daemon.ask("POST", place_of(flags.name, "/warm")));
  if (flags.sandbox.is_json) {
    print_json(pool);
  } else {
    print_pools(Json::array({pool}));
  }
  return 0;
}

Result<int> drain(api::ApiClient& daemon, const PoolFlags& flags) {
  const Json answer = TRY(daemon.ask("POST", place_of(flags.name, "/drain")));
  print_out("{} ended\n", answer.at("ended").get<std::uint64_t>());
  return 0;
}

void add_acquire_flags(const CommandLine& command, PoolFlags& flags) {
  Flags& sandbox = flags.sandbox;
  for (const char* flag : {"label", "ttl", "idle-timeout", "env", "workspace"})
    add_sandbox_flag(command, sandbox, flag);
  command.add_option("--wait", flags.wait, "Wait this long if all are in use (10s)");
  for (const char* flag : kLimitFlags)
    add_sandbox_flag(command, sandbox, flag).group("Instead of the pool's limits");
  command.add_flag("--json", sandbox.is_json, "Print the sandbox as a JSON object");
  command.footer(
      "Labels and times are set on an idle sandbox. With variables, a workspace or limits a new "
      "one is\n"
      "made, which counts against the pool's bound.");
}

}  // namespace

void add_pool(const CommandLine& app, Program& program) {
  const CommandLine group = app.add_command("pool", "Sandboxes that the daemon keeps ready");
  group.require_command(1, 1);
  const auto flags = std::make_shared<PoolFlags>();
  using Step = Result<int> (*)(api::ApiClient&, const PoolFlags&);
  const auto hang = [&](const char* name, const char* help, Step step) {
    const CommandLine command = group.add_command(name, help);
    command.callback([flags, step, &program] {
      program.chosen = [flags, step, &program] {
        return with_daemon(program, [&](api::ApiClient& daemon) { return step(daemon, *flags); });
      };
    });
    return command;
  };
  const CommandLine listed = hang("list", "Show them, and how full they are", list).alias("ls");
  listed.add_flag("--json", flags->sandbox.is_json, "Print a JSON array");
  const CommandLine acquired = hang("acquire", "Take a sandbox; prints its id", acquire);
  acquired.add_option("POOL", flags->name, "Its name").required();
  add_acquire_flags(acquired, *flags);
  hang("release", "Give sandboxes back", release)
      .add_option("ID", flags->ids, "Whole ids")
      .required();
  const CommandLine warmed = hang("warm", "Wait until it is full", warm);
  warmed.add_option("POOL", flags->name, "Its name").required();
  warmed.add_flag("--json", flags->sandbox.is_json, "Print a JSON object");
  hang("drain", "End what waits in it", drain)
      .add_option("POOL", flags->name, "Its name")
      .required();
  group.footer(kExamples);
}

}  // namespace nutshell::cli
