#include "cli/commands/extend.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/daemon_calls.h"
#include "cli/print.h"
#include "cli/sandbox_choice.h"

namespace nutshell::cli {
namespace {

struct ExtendFlags {
  std::string id;
  std::string ttl;
};

Result<> extend_here(Runtime& runtime, const std::string& id, std::int64_t ttl_ms) {
  const auto backend = TRY(runtime.backend_of(id));
  TimeSetter* setter = backend->time_setter();
  if (setter != nullptr) return setter->set_time_left(id, std::chrono::milliseconds(ttl_ms));
  return failure(ErrorCode::Unsupported, "this backend cannot change the ttl of a sandbox");
}

Result<int> extend(Program& program, const ExtendFlags& flags) {
  const std::int64_t ttl_ms = TRY(milliseconds_of(flags.ttl, "ttl"));
  if (ttl_ms < 1)
    return failure(ErrorCode::InvalidArgument, "--ttl: at least a millisecond is needed");
  const std::string chosen = TRY(chosen_sandbox(program, flags.id));
  const std::string id = TRY(program.runtime.whole_id(chosen));
  if (!program.runtime.context().daemon) {
    TRY(extend_here(program.runtime, id, ttl_ms));
    return 0;
  }
  return with_daemon(program, [&](api::ApiClient& daemon) -> Result<int> {
    const std::string body = TRY(api::body_of(Json{{"ttl_ms", ttl_ms}}));
    TRY(daemon.ask("POST", fmt::format("/v1/sandboxes/{}/extend", id), body));
    return 0;
  });
}

}  // namespace

void add_extend(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("extend", "Let a sandbox live longer, or end it sooner");
  auto flags = std::make_shared<ExtendFlags>();
  command.add_option("ID", flags->id, kSandboxHelp);
  command.add_option("--ttl", flags->ttl, "How long it lives from now on, such as 1h").required();
  command.footer("Examples:\n  nutshell extend $ID --ttl 2h\n  nutshell extend --ttl 1h");
  command.callback([flags, &program] {
    program.chosen = [flags, &program] { return extend(program, *flags); };
  });
}

}  // namespace nutshell::cli
