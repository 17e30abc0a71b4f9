#include "service/evidence/operations.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "audit/json_text.h"
#include "core/json_text.h"

namespace nutshell::service {
namespace {

constexpr std::size_t kMostText = 2U << 10U;
constexpr std::size_t kMostName = 256;   // of a caller, a sandbox, a session
constexpr std::size_t kMostKept = 4096;  // endings that wait for the disk
constexpr std::size_t kMostWords = 256;

// Keeps the beginning of a long text.
std::string shortened(std::string text, std::size_t most = kMostText) {
  if (text.size() <= most) return text;
  const std::size_t left_out = text.size() - most;
  text.resize(most);
  return text + fmt::format(" (and {} bytes more)", left_out);
}

std::vector<std::string> shortened(const std::vector<std::string>& words) {
  std::vector<std::string> some;
  std::size_t bytes = 0;
  for (const std::string& word : words) {
    if (some.size() == kMostWords || bytes > kMostText) {
      some.push_back(fmt::format("(and {} words more)", words.size() - some.size()));
      break;
    }
    some.push_back(shortened(word));
    bytes += some.back().size();
  }
  return some;
}

// Redacts names of members, too, because a tool's arguments may have any shape.
void redact_strings(nlohmann::json& value, const audit::Redactor& redactor,
                    const std::vector<std::string>& secrets) {
  if (value.is_string()) {
    value = redactor.redact(value.get_ref<const std::string&>(), secrets);
  } else if (value.is_object()) {
    nlohmann::json clean = nlohmann::json::object();
    for (auto& [name, member] : value.items()) {
      const bool is_secret = member.is_string() && redactor.is_secret_name(name);
      if (is_secret) member = audit::kRedacted;
      redact_strings(member, redactor, secrets);
      clean[redactor.redact(name, secrets)] = std::move(member);
    }
    value = std::move(clean);
  } else if (value.is_array()) {
    for (nlohmann::json& item : value)
      redact_strings(item, redactor, secrets);
  }
}

std::uint64_t not_below_zero(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()));
}

void add_limits(audit::JsonObject& object, const Limits& limits) {
  object.add_number("memory_bytes", limits.memory_bytes);
  object.add_json("cpus", fmt::format("{}", limits.millicpus / 1000.0));
  object.add_number("processes", limits.processes);
  object.add_number("disk_bytes", limits.disk_bytes);
}

// Ends the span of the operation. Spans hold no arguments and no output.
void add_span(const Operation& operation, std::uint64_t audit_id) {
  if (operation.trace.sink == nullptr) return;
  const Ending& ending = operation.ending;
  telemetry::Span span;
  span.place = operation.trace.place.child();
  span.parent = operation.trace.place.span;
  span.name = operation.name;
  span.end = std::chrono::system_clock::now();
  span.begin = span.end - (Clock::now() - operation.begun);
  span.has_failed = ending.outcome.starts_with("failed");
  span.attributes = {{"nutshell.tenant", operation.caller.tenant},
                     {"nutshell.outcome", ending.outcome},
                     {"nutshell.audit_id", static_cast<std::int64_t>(audit_id)},
                     {"nutshell.output_bytes", static_cast<std::int64_t>(ending.output_bytes)}};
  if (!operation.subject.sandbox.empty()) {
    span.attributes.push_back({"nutshell.sandbox", operation.subject.sandbox});
  }
  if (!operation.subject.session.empty()) {
    span.attributes.push_back({"nutshell.session", operation.subject.session});
  }
  operation.trace.sink->take(std::move(span));
}

}  // namespace

std::string outcome_text(const ExecResult& result) {
  if (result.outcome == Outcome::Exited) return fmt::format("exited {}", result.exit_code);
  if (result.outcome == Outcome::Signalled) return fmt::format("signalled {}", result.signal);
  return std::string(to_string(result.outcome));
}

audit::Entry Operations::entry_of(const Caller& caller, const std::string& action,
                                  const Subject& subject) const {
  audit::Entry entry;
  entry.tenant = caller.tenant;
  entry.who = shortened(redactor_.redact(caller.who), kMostName);
  entry.action = shortened(action, kMostName);
  entry.sandbox = shortened(subject.sandbox, kMostName);
  entry.session = shortened(subject.session, kMostName);
  return entry;
}

void Operation::fail(const Error& error, std::string_view how) {
  if (error_) return;
  error_ = error.code;
  ending.outcome = fmt::format("{}: {}", how, to_string(error.code));
  // Lines after the first may be output of a command, which is not recorded.
  ending.detail = error.message.substr(0, error.message.find('\n'));
}

Result<Operation> Operations::begin(const Caller& caller, Action action) {
  audit::Entry entry = entry_of(caller, action.name, action.subject);
  entry.outcome = "begun";
  entry.arguments = std::move(action.arguments);
  write_kept();
  auto id = chains_.append(entry);
  if (!id) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("nothing is done that cannot be recorded: {}", id.error().message));
  }
  return resume(caller, std::move(action), *id);
}

Operation Operations::resume(const Caller& caller, Action action, std::uint64_t begun_id) {
  Operation operation;
  operation.caller = caller;
  operation.name = std::move(action.name);
  operation.subject = std::move(action.subject);
  operation.begun_id = begun_id;
  operation.open_.is_set = true;
  return operation;
}

std::uint64_t Operations::end(Operation& operation) {
  operation.open_.is_set = false;
  const Ending& ending = operation.ending;
  audit::Entry entry = entry_of(operation.caller, operation.name, operation.subject);
  entry.of = operation.begun_id;
  entry.outcome = shortened(ending.outcome, kMostName);
  entry.detail = shortened(redactor_.redact(ending.detail, operation.subject.secrets));
  entry.input_sha256 = ending.input_sha256;
  entry.output_sha256 = ending.output_sha256;
  entry.error_sha256 = ending.error_sha256;
  entry.output_bytes = ending.output_bytes;
  entry.duration =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - operation.begun);
  const std::uint64_t id = append_or_keep(std::move(entry));
  count(operation);
  add_span(operation, id);
  return id;
}

// Counts "exec" with "exited" for any exit code, and all tools as "tool".
void Operations::count(const Operation& operation) {
  const std::string name = operation.name.starts_with("tool ") ? "tool" : operation.name;
  if (operation.error_) return metrics_.refuse(name, std::string(to_string(*operation.error_)));
  const std::string& outcome = operation.ending.outcome;
  metrics_.count(name, outcome.substr(0, outcome.find_first_of(" :")),
                 Clock::now() - operation.begun);
}

std::uint64_t Operations::note(const Caller& caller, const std::string& action,
                               const Subject& subject, const Ending& ending) {
  audit::Entry entry = entry_of(caller, action, subject);
  entry.outcome = shortened(redactor_.redact(ending.outcome, subject.secrets), kMostName);
  entry.detail = shortened(redactor_.redact(ending.detail, subject.secrets));
  return chains_.append(entry).value_or(0);  // trouble() returns the reason
}

void Operations::deny(const Caller& caller, const std::string& why) {
  if (denials_.is_worth_a_record(caller.tenant, caller.who))
    note(caller, audit::kDenied, {}, {why, {}, {}, {}, {}, 0});
}

// Keeps an ending that cannot be written now, and writes it later in the same order.
std::uint64_t Operations::append_or_keep(audit::Entry entry) {
  write_kept();
  if (!has_kept_) {
    if (const auto id = chains_.append(entry)) return *id;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  entry.detail +=
      fmt::format("{}(written late; ended at {} us since 1970)", entry.detail.empty() ? "" : " ",
                  std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  const std::lock_guard lock(kept_mutex_);
  if (kept_.size() < kMostKept) kept_.push_back(std::move(entry));
  has_kept_ = true;
  return 0;
}

void Operations::write_kept() {
  if (!has_kept_) return;
  const std::lock_guard lock(kept_mutex_);
  while (!kept_.empty() && chains_.append(kept_.front()))
    kept_.pop_front();
  has_kept_ = !kept_.empty();
}

void Operations::catch_up() {
  write_kept();
  for (const Denials::Sum& sum : denials_.take_sums()) {
    note({sum.tenant, sum.who}, audit::kDenied, {},
         {fmt::format("{} more like it", sum.count), {}, {}, {}, {}, 0});
  }
}

// Describes what a create and an acquire have in common.
void Operations::add_bound(audit::JsonObject& object, const SandboxSpec& spec) const {
  if (!spec.workspace.empty()) object.add("workspace", shortened(spec.workspace));
  if (!spec.environment.empty()) {
    const auto secrets = redactor_.secrets_of(spec.environment);
    object.add_json("environment", redactor_.redact_list(shortened(spec.environment), secrets));
  }
  if (spec.labels.empty()) return;
  std::vector<std::string> labels;
  labels.reserve(spec.labels.size());
  for (const auto& [name, value] : spec.labels)
    labels.push_back(fmt::format("{}={}", name, value));
  object.add_json("labels", redactor_.redact_list(shortened(labels)));
}

std::string Operations::describe(const AcquireRequest& request) const {
  audit::JsonObject object;
  object.add("pool", shortened(request.pool));
  if (!request.network.empty()) object.add("network", shortened(request.network));
  if (request.ttl) object.add_number("ttl_ms", not_below_zero(*request.ttl));
  if (request.limits) add_limits(object, *request.limits);
  SandboxSpec bound;
  bound.workspace = request.workspace;
  bound.environment = request.environment;
  bound.labels = request.labels;
  add_bound(object, bound);
  return std::move(object).text();
}

std::string Operations::describe(const SandboxSpec& spec) const {
  audit::JsonObject object;
  if (!spec.backend.empty()) object.add("backend", spec.backend);
  if (!spec.image.empty()) object.add("image", shortened(redactor_.redact(spec.image)));
  add_limits(object, spec.limits);
  object.add_number("ttl_ms", not_below_zero(spec.ttl));
  add_bound(object, spec);
  for (const UnsafeMount& mount : spec.unsafe_mounts)
    object.add("unsafe_mount", shortened(mount.source + ":" + mount.target));
  for (const Mount& mount : spec.mounts)
    object.add("mount", shortened(mount.source + ":" + mount.target));
  if (!spec.unsafe_without.empty())
    object.add_json("unsafe_without", redactor_.redact_list(shortened(spec.unsafe_without)));
  return std::move(object).text();
}

std::string Operations::describe(const ExecRequest& request,
                                 const std::vector<std::string>& secrets) const {
  std::vector<std::string> all = redactor_.secrets_of(request.environment);
  all.insert(all.end(), secrets.begin(), secrets.end());
  audit::JsonObject object;
  object.add_json("argv", redactor_.redact_list(shortened(request.argv), all));
  if (!request.environment.empty())
    object.add_json("environment", redactor_.redact_list(shortened(request.environment), all));
  if (!request.working_directory.empty())
    object.add("cwd", shortened(redactor_.redact(request.working_directory, all)));
  return std::move(object).text();
}

std::string Operations::describe_json(std::string_view name, nlohmann::json value,
                                      const std::vector<std::string>& secrets) const {
  redact_strings(value, redactor_, secrets);
  audit::JsonObject object;
  object.add(name, shortened(dump_json(value)));
  return std::move(object).text();
}

std::string Operations::describe_text(std::string_view name, std::string_view text,
                                      const std::vector<std::string>& secrets) const {
  audit::JsonObject object;
  object.add(name, shortened(redactor_.redact(text.substr(0, 4 * kMostText), secrets)));
  return std::move(object).text();
}

}  // namespace nutshell::service
