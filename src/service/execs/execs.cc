#include "service/execs/execs.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "base/defer.h"
#include "base/fault_point.h"
#include "base/safe_text.h"
#include "core/json_text.h"
#include "core/refusals.h"
#include "core/refused_text.h"
#include "runtime/workspace_changes.h"
#include "service/evidence/hashing_io.h"
#include "tools/registry.h"

namespace nutshell::service {
namespace {

constexpr std::size_t kMostTracedFiles = 1000;

Ending ending_of(const ExecResult& result, HashingIo& hashed) {
  Ending ending;
  ending.outcome = outcome_text(result);
  const std::string refused = terminal_line(refused_text(result));
  ending.detail = result.detail;
  if (!refused.empty()) ending.detail += (ending.detail.empty() ? "" : "; ") + refused;
  ending.input_sha256 = hashed.input.hex();
  ending.output_bytes = hashed.output.bytes() + hashed.error.bytes();
  ending.output_sha256 = hashed.output.hex();
  ending.error_sha256 = hashed.error.hex();
  return ending;
}

bool is_same(const wire::FileChange& a, const wire::FileChange& b) {
  return a.kind == b.kind && a.after.kind == b.after.kind && a.after.size == b.after.size &&
         a.after.mode == b.after.mode && a.after.modified_ns == b.after.modified_ns &&
         a.after.target == b.after.target;
}

std::string processes(std::uint64_t count) {
  return count == 1 ? "1 process was" : fmt::format("{} processes were", count);
}

}  // namespace

std::vector<std::string> blocked_by(const ExecResult& result) {
  switch (result.outcome) {
    case Outcome::TimedOut:
      return {"time: " + (result.detail.empty() ? "the timeout was reached" : result.detail)};
    case Outcome::OutOfMemory:
      return {"memory: " + (result.detail.empty() ? "the limit was reached" : result.detail)};
    case Outcome::OutputLimit:
      return {"output: " + (result.detail.empty() ? "the limit was reached" : result.detail)};
    case Outcome::Signalled:
      break;
    default:
      return {};
  }
  switch (result.signal) {
    case SIGSYS:
      return {"seccomp: a system call that is not allowed"};
    case SIGXCPU:
      return {"cpu: the limit was reached"};
    case SIGXFSZ:
      return {"disk: a file grew beyond the limit"};
    default:
      return {};
  }
}

void add_refusals(const std::optional<Refusals>& before, const std::optional<Refusals>& after,
                  std::vector<std::string>& blocked) {
  if (!before || !after) return;
  const auto grown = [](const auto& from, const auto& to) {
    return from && to && *to > *from ? *to - *from : 0;
  };
  const std::uint64_t kills = grown(before->memory_kills, after->memory_kills);
  if (kills > 0)
    blocked.push_back(fmt::format("memory: {} killed at the sandbox's limit", processes(kills)));
  const std::uint64_t unreachable = grown(before->unreachable, after->unreachable);
  if (unreachable > 0) {
    blocked.push_back(
        fmt::format("network: {} to reach an address outside, refused: there is no network",
                    unreachable == 1 ? "1 attempt" : fmt::format("{} attempts", unreachable)));
  }
}

ExecResult Execs::explain_loss(const SandboxRef& ref, ExecResult result) {
  if (const auto known = uses_.gone.find(ref.tenant, ref.id)) {
    result.detail = known->text;
    if (known->reason == Gone::Reason::OutOfMemory) result.outcome = Outcome::OutOfMemory;
    return result;
  }
  const Gone gone = uses_.runtime.why_gone(ref.id);
  if (gone.reason != Gone::Reason::OutOfMemory) return result;
  result.outcome = Outcome::OutOfMemory;
  result.detail = gone.text;
  return result;
}

Result<Budgets::Reservation> Execs::admit(const SandboxRef& ref, Operation& operation,
                                          ExecLimits& limits) {
  const auto try_to = [&]() -> Result<Budgets::Reservation> {
    TRY(uses_.sandboxes.wake(ref.id));
    uses_.watch.count(ref.tenant, ref.session, ref.id);
    return uses_.budgets.reserve(ref.tenant, ref.session, limits);
  };
  auto reservation = try_to();
  if (!reservation) operation.fail(reservation.error(), "refused");
  return reservation;
}

void Execs::check_reached(const SandboxRef& ref, const Error& error) {
  if (error.code != ErrorCode::DeadlineExceeded) (void)uses_.sandboxes.is_alive(ref.id);
}

Result<ExecResult> Execs::exec(const SandboxRef& ref, const ExecRequest& request,
                               wire::ExecIo& io) {
  auto result = uses_.runtime.exec(ref.id, request, io);
  if (!result) check_reached(ref, result.error());
  if (!result || result->outcome != Outcome::Lost) return result;
  (void)uses_.sandboxes.is_alive(ref.id);
  return explain_loss(ref, std::move(*result));
}

Result<ChargedChanges> Execs::changes_of(const SandboxRef& ref) {
  return uses_.runtime.with_init(ref.id, [&](wire::InitClient& client) {
    return list_changes(uses_.accounts, ref.tenant, client);
  });
}

// Lists the changes that were not there before the command.
Result<Trace> Execs::trace_files(const SandboxRef& ref,
                                 const std::vector<wire::FileChange>& before) {
  Trace trace;
  std::map<std::string, const wire::FileChange*> known;
  for (const wire::FileChange& change : before)
    known.emplace(change.path, &change);
  const auto after = TRY(changes_of(ref));
  for (const wire::FileChange& change : after.changes) {
    const auto found = known.find(change.path);
    const bool is_old = found != known.end() && is_same(*found->second, change);
    if (found != known.end()) known.erase(found);
    if (!is_old) trace.files.push_back(change);
  }
  // These are again as they were at the start of the workspace.
  for (const auto& [path, change] : known) {
    wire::FileChange back = *change;
    std::swap(back.before, back.after);
    back.kind = change->kind == wire::ChangeKind::Added ? wire::ChangeKind::Removed
                                                        : wire::ChangeKind::Modified;
    trace.files.push_back(std::move(back));
  }
  trace.is_cut = trace.files.size() > kMostTracedFiles;
  trace.files.resize(std::min(trace.files.size(), kMostTracedFiles));
  return trace;
}

// Only with Full, because it asks the backend. nullopt for backends that do not count.
std::optional<Refusals> Execs::refusals_of(const SandboxRef& ref, TraceLevel level) {
  if (level != TraceLevel::Full) return std::nullopt;
  const auto backend = uses_.runtime.backend_of(ref.id);
  RefusalCounter* counter = backend ? (*backend)->refusal_counter() : nullptr;
  if (counter == nullptr) return std::nullopt;
  const auto refusals = counter->refusals(ref.id);
  return refusals ? std::optional(*refusals) : std::nullopt;
}

void Execs::add_trace(const SandboxRef& ref, const ExecOptions& options, const Operation& operation,
                      ExecReply& reply) {
  reply.trace.level = options.trace;
  if (options.trace != TraceLevel::Off) reply.trace.blocked = blocked_by(reply.result);
  const std::string refused = refused_text(reply.result);
  if (options.trace != TraceLevel::Off && !refused.empty())
    reply.trace.blocked.push_back("network: " + terminal_line(refused));
  if (options.trace != TraceLevel::Full) return;
  reply.trace.input_sha256 = operation.ending.input_sha256;
  reply.trace.output_sha256 = operation.ending.output_sha256;
  reply.trace.error_sha256 = operation.ending.error_sha256;
  if (const auto entry = uses_.table.copy_of(ref.id)) reply.trace.protections = entry->protections;
}

Result<ExecReply> Execs::run(const Caller& caller, const SandboxRef& ref, ExecRequest request,
                             const ExecOptions& options, wire::ExecIo& io) {
  TRY(check_exec(request));
  const auto used = uses_.table.use(ref.id);
  auto reply = uses_.operations.run(
      caller, {"exec", subject_of(ref), uses_.operations.describe(request, ref.secrets)},
      [&](Operation& operation) {
        return run_admitted(ref, std::move(request), options, operation, io);
      });
  fault_point("exec.noted");
  return reply;
}

Result<ExecReply> Execs::run_admitted(const SandboxRef& ref, ExecRequest request,
                                      const ExecOptions& options, Operation& operation,
                                      wire::ExecIo& io) {
  const auto reservation = TRY(admit(ref, operation, request.limits));
  fault_point("exec.recorded");
  ChargedChanges before;
  const bool wants_files = options.trace >= TraceLevel::Files;
  if (auto listed = wants_files ? changes_of(ref) : Result<ChargedChanges>()) {
    before = std::move(*listed);
  }
  const auto refused_before = refusals_of(ref, options.trace);
  HashingIo hashed(io);
  auto result = exec(ref, request, hashed);
  fault_point("exec.ended");
  uses_.watch.count(ref.tenant, ref.session, ref.id);
  uses_.budgets.settle(reservation, result ? usage_of(*result) : Usage{1, {}, {}, 0});
  ExecReply reply;
  reply.result = TRY(std::move(result));
  operation.ending = ending_of(reply.result, hashed);
  if (wants_files && reply.result.outcome != Outcome::Lost) {
    auto traced = trace_files(ref, before.changes);
    if (traced) reply.trace = std::move(*traced);
  }
  add_trace(ref, options, operation, reply);
  add_refusals(refused_before, refusals_of(ref, options.trace), reply.trace.blocked);
  return reply;
}

Result<ToolReply> Execs::call_tool(const Caller& caller, const SandboxRef& ref,
                                   const std::string& name, const nlohmann::json& arguments,
                                   const ToolRunnerOptions& options) {
  const Tool* tool = TRY(find_tool(tool_registry(), name, ""));
  const auto used = uses_.table.use(ref.id);
  return uses_.operations.run(caller,
                              {"tool " + tool->name, subject_of(ref),
                               uses_.operations.describe_json("arguments", arguments, ref.secrets)},
                              [&](Operation& operation) {
                                return call_admitted(ref, *tool, arguments, options, operation);
                              });
}

Result<ToolReply> Execs::call_admitted(const SandboxRef& ref, const Tool& tool,
                                       const nlohmann::json& arguments,
                                       const ToolRunnerOptions& options, Operation& operation) {
  ExecLimits limits = kNoCommandLimits;
  CallMemory memory = TRY(memory_for_call(uses_.accounts, ref.tenant));
  const auto reservation = TRY(admit(ref, operation, limits));
  Usage usage{1, {}, {}, 0};
  const Defer settled([&] {
    uses_.watch.count(ref.tenant, ref.session, ref.id);
    uses_.budgets.settle(reservation, usage);
  });
  ToolRunnerOptions bounded = options;
  bounded.memory = &memory;
  bounded.recall_bytes = std::min(uses_.rules.get()->bounds.recall_bytes, ref.disk_bytes);
  if (uses_.budgets.is_bounded(ref.tenant, ref.session)) {
    bounded.command_limits = limits;
    bounded.background = BackgroundCommands::Refused;
  }
  auto opened = ToolRunner::open(uses_.runtime, ref.id, bounded);
  if (!opened) check_reached(ref, opened.error());
  ToolRunner runner = TRY(std::move(opened));
  ToolReply reply;
  reply.result = runner.call(tool, check_arguments(tool, arguments, options.dialect));
  if (runner.is_stream_clean()) {
    uses_.runtime.keep(ref.id, std::move(runner).release());
  } else if (reply.result.error || reply.result.ending) {
    (void)uses_.sandboxes.is_alive(ref.id);
  }
  StreamHash input;
  input.add(dump_json(arguments));
  StreamHash output;
  output.add(reply.result.text);
  operation.ending.input_sha256 = input.hex();
  operation.ending.output_sha256 = output.hex();
  operation.ending.output_bytes = reply.result.text.size();
  if (reply.result.error)
    operation.ending.outcome = fmt::format("refused: {}", to_string(reply.result.error->code));
  if (reply.result.ending) {
    operation.ending.outcome = outcome_text(*reply.result.ending);
    usage = usage_of(*reply.result.ending);
  }
  return reply;
}

}  // namespace nutshell::service
