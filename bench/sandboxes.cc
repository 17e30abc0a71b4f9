#include "bench/sandboxes.h"

#include <fmt/format.h>

#include <map>

#include "init/init.h"

namespace nutshell::bench {
namespace {

using native::NativeSandbox;
using native::Pooling;
using native::Starter;

class WholeLife : public Sampler {
 public:
  WholeLife(Starter starter, Pieces pieces, std::vector<std::string> command)
      : starter_(std::move(starter)), pieces_(pieces), command_(std::move(command)) {
    spec_.is_for_one_command = true;
  }

  Result<double> sample() override {
    if (pieces_ == Pieces::MadeAhead) starter_.collect_ended();
    while (pieces_ == Pieces::MadeAhead && starter_.prepare_one()) {
    }
    return time_of([this] { return live_once(); });
  }

 private:
  Result<> live_once() {
    NativeSandbox sandbox = TRY(starter_.start(spec_));
    Result<> ran = use(sandbox);
    if (!ran) {
      const std::string reason = Starter::start_failure(sandbox);
      if (!reason.empty()) return failure(ErrorCode::Internal, reason);
      return ran;
    }
    starter_.finish(std::move(sandbox));
    return {};
  }

  Result<> use(NativeSandbox& sandbox) {
    wire::InitClient client(TRY(Starter::connect(sandbox)));
    TRY(exec_to_success(client, command_));
    return {};
  }

  Starter starter_;
  Pieces pieces_;
  std::vector<std::string> command_;
  SandboxSpec spec_;
};

}  // namespace

Result<wire::CapturedOutput> exec_to_success(wire::InitClient& client,
                                             const std::vector<std::string>& command) {
  ExecRequest request;
  request.argv = command;
  wire::CapturedOutput output;
  const ExecResult result = TRY(client.exec(request, output));
  if (result.outcome == Outcome::Exited && result.exit_code == 0) return output;
  return failure(ErrorCode::Internal,
                 fmt::format("{} {} {}: {}", command[0], to_string(result.outcome),
                             result.exit_code, result.detail));
}

MakeSampler whole_life(Pieces pieces, std::vector<std::string> command) {
  return [pieces, command = std::move(command)]() -> Result<std::unique_ptr<Sampler>> {
    const Pooling pooling = pieces == Pieces::MadeWhenNeeded ? Pooling::Off : Pooling::On;
    Starter starter = TRY(Starter::create(&init::run_init, pooling));
    return std::make_unique<WholeLife>(std::move(starter), pieces, command);
  };
}

Result<RunningSandbox> RunningSandbox::start() {
  Starter starter = TRY(Starter::create(&init::run_init, Pooling::On));
  SandboxSpec spec;
  spec.ttl = std::chrono::hours(1);
  NativeSandbox sandbox = TRY(starter.start(spec));
  TRY(Starter::wait_until_started(sandbox));
  wire::InitClient client(TRY(Starter::connect(sandbox)));
  return RunningSandbox(std::move(starter), std::move(sandbox), std::move(client));
}

RunningSandbox::~RunningSandbox() {
  if (sandbox_.init.is_owned()) starter_.finish(std::move(sandbox_));
}

Result<wire::CapturedOutput> RunningSandbox::exec(const std::vector<std::string>& command) {
  return exec_to_success(client_, command);
}

std::string protections_here() {
  std::map<Strength, std::string> names;
  for (const auto& protection : native::protections_for(native::Abilities::find(), SandboxSpec{})) {
    std::string& list = names[protection.strength];
    list += (list.empty() ? "" : ", ") + protection.name;
  }
  std::string line;
  for (const auto& [strength, list] : names) {
    line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", to_string(strength), list);
  }
  return line;
}

}  // namespace nutshell::bench
