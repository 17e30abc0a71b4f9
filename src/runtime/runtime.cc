#include "runtime/runtime.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/defer.h"
#include "runtime/apply_record.h"
#include "runtime/output_store.h"

namespace nutshell {
namespace {

constexpr std::size_t kIdLength = 12;
constexpr std::size_t kLeastIdLength = 3;

bool is_id(std::string_view text) {
  return text.size() >= kLeastIdLength && text.size() <= kIdLength &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool has_labels(const SandboxSpec& spec, const std::map<std::string, std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto found = spec.labels.find(label.first);
    return found != spec.labels.end() && found->second == label.second;
  });
}

Result<ExecResult> exec_around(wire::InitClient& client, const ExecRequest& request,
                               wire::ExecIo& io, const Runtime::Around& around) {
  if (around.before) TRY(around.before(client));
  auto result = TRY(client.exec(request, io));
  if (result.outcome != Outcome::Lost && around.after) around.after(client);
  return result;
}

// What the host knows of a lost sandbox is truer than "lost".
Result<ExecResult> explain_loss(ExecResult result, const Gone& gone) {
  if (gone.reason == Gone::Reason::NeverStarted) return failure(ErrorCode::Unsupported, gone.text);
  if (gone.reason == Gone::Reason::Unknown) return result;
  if (gone.reason == Gone::Reason::OutOfMemory) result.outcome = Outcome::OutOfMemory;
  result.detail = gone.text;
  return result;
}

}  // namespace

const std::vector<BackendEntry>& Runtime::backends() const {
  return context_.daemon ? daemon_backend_entry() : backend_registry();
}

Result<Backend*> Runtime::backend(const std::string& wanted) {
  // A daemon takes the names of all the backends that it has.
  const std::string& name = wanted.empty() || context_.daemon ? backends().front().name : wanted;
  const auto made = backends_.find(name);
  if (made != backends_.end()) return made->second.get();
  std::string names;
  for (const BackendEntry& entry : backends()) {
    if (entry.name == name)
      return backends_.emplace(name, entry.make(context_)).first->second.get();
    names += (names.empty() ? "" : ", ") + entry.name;
  }
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("no backend '{}': there are {}", name, names));
}

Result<ExecResult> Runtime::run(const SandboxSpec& spec, const ExecRequest& request,
                                wire::ExecIo& io, const Around& around) {
  TRY(check_spec(spec));
  TRY(check_exec(request));
  Backend* chosen = TRY(backend(spec.backend));
  const std::string id = TRY(chosen->start(spec, Lifetime::WithCaller));
  const Defer stopped([&] { (void)chosen->stop(id); });  // killing a process of ours cannot fail
  wire::InitClient client(TRY(chosen->connect(id)));
  auto result = exec_around(client, request, io, around);
  if (result && result->outcome == Outcome::Lost)
    result = explain_loss(std::move(*result), chosen->why_gone(id));
  if (result && around.ended) around.ended(*result);
  return result;
}

Result<std::string> Runtime::create(const SandboxSpec& spec, const Prepare& prepare) {
  TRY(check_spec(spec));
  Backend* chosen = TRY(backend(spec.backend));
  SandboxSpec dated = spec;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  if (!spec.workspace.empty()) {
    dated.labels[kBeganLabel] =
        std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  if (!prepare) return chosen->start(dated, Lifetime::Kept);
  std::string id = TRY(chosen->start(dated, Lifetime::WithCallerUntilReleased));
  Defer stopped([&] { (void)chosen->stop(id); });  // else it ends with this process
  TRY(prepare(id));
  TRY(chosen->release(id));
  stopped.release();
  return id;
}

Result<std::pair<Backend*, std::string>> Runtime::locate(const std::string& id) {
  const SandboxStatus status = TRY(find(id));
  return std::pair(TRY(backend(status.spec.backend)), status.id);
}

Result<SandboxStatus> Runtime::find(const std::string& id) {
  if (!is_id(id)) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("'{}' is no sandbox id: 'nutshell list' shows them", id));
  }
  std::vector<SandboxStatus> matches;
  // A whole id is found in its backend, whatever ails those behind it.
  for (const BackendEntry& entry : backends()) {
    for (SandboxStatus& status : TRY(TRY(backend(entry.name))->list())) {
      if (!context_.daemon) status.spec.backend = entry.name;
      if (status.id == id) return status;
      if (status.id.starts_with(id)) matches.push_back(std::move(status));
    }
  }
  if (matches.size() == 1) return std::move(matches.front());
  if (!matches.empty()) {
    return failure(
        ErrorCode::InvalidArgument,
        fmt::format("'{}' is the beginning of {} ids: give more of it", id, matches.size()));
  }
  return failure(ErrorCode::NotFound,
                 fmt::format("no sandbox '{}': it may have reached its ttl; 'nutshell list' shows "
                             "those there are, 'nutshell create' makes one",
                             id));
}

Result<Backend*> Runtime::remembering(const std::string& id) {
  if (!is_id(id) || id.size() != kIdLength) return nullptr;
  for (const BackendEntry& entry : backends()) {
    Backend* where = TRY(backend(entry.name));
    if (where->remembers(id)) return where;
  }
  return nullptr;
}

void Runtime::tidy() {
  for (const auto& [name, backend] : backends_)
    backend->tidy();
}

Result<wire::InitClient> Runtime::connect(const std::string& id) {
  Opened opened = TRY(open_stream(id));
  return wire::InitClient(std::move(opened.stream));
}

Result<Runtime::Opened> Runtime::open_stream(const std::string& id) {
  // A whole id is taken at its word: no list is asked for first.
  if (is_id(id) && id.size() == kIdLength) {
    for (const BackendEntry& entry : backends()) {
      // Behind the first, which answers at once, the right one is asked alone if it is known.
      const bool is_first = &entry == &backends().front();
      Backend* known = is_first ? nullptr : TRY(remembering(id));
      Backend* where = known != nullptr ? known : TRY(backend(entry.name));
      auto stream = where->connect(id);
      if (stream) return Opened{where, id, std::move(*stream)};
      if (stream.error().code != ErrorCode::NotFound) return Failure(std::move(stream).error());
      if (known != nullptr) break;
    }
  }
  auto [where, whole_id] = TRY(locate(id));
  UniqueFd stream = TRY(where->connect(whole_id));
  return Opened{where, std::move(whole_id), std::move(stream)};
}

Result<ExecResult> Runtime::exec(const std::string& id, const ExecRequest& request,
                                 wire::ExecIo& io) {
  TRY(check_exec(request));
  auto [where, whole_id, stream] = TRY(open_stream(id));
  wire::InitClient client(std::move(stream));
  ExecResult result = TRY(client.exec(request, io));
  if (result.outcome != Outcome::Lost) return result;
  return explain_loss(std::move(result), where->why_gone(whole_id));
}

// A backend that cannot list its sandboxes now may remember this one, and write down that it is to
// be removed.
Result<std::pair<Backend*, std::string>> Runtime::locate_to_end(const std::string& id) {
  auto found = locate(id);
  if (found || found.error().code == ErrorCode::NotFound) return found;
  if (Backend* where = TRY(remembering(id))) return std::pair(where, id);
  return found;
}

Result<> Runtime::destroy(const std::string& id) {
  auto [where, whole_id] = TRY(locate_to_end(id));
  TRY(where->stop(whole_id));
  TRY(ApplyRecord(whole_id).remove());
  return remove_outputs(whole_id);
}

Result<SandboxSpec> Runtime::spec_of(const std::string& id) {
  SandboxStatus status = TRY(find(id));
  status.spec.environment = TRY(TRY(backend(status.spec.backend))->environment_of(status.id));
  std::erase_if(status.spec.labels,
                [](const auto& label) { return label.first.starts_with("nutshell."); });
  return std::move(status.spec);
}

Result<SandboxStats> Runtime::stats(const std::string& id) {
  auto [where, whole_id] = TRY(locate(id));
  return where->stats(whole_id);
}

Result<> Runtime::pause(const std::string& id) {
  auto [where, whole_id] = TRY(locate(id));
  return where->pause(whole_id);
}

Result<> Runtime::resume(const std::string& id) {
  auto [where, whole_id] = TRY(locate(id));
  return where->resume(whole_id);
}

Result<> Runtime::restack(const std::string& id, const std::vector<std::string>& layers) {
  // A whole id is taken at its word, as it is for exec: this is on the way of every command.
  if (is_id(id) && id.size() == kIdLength) {
    for (const BackendEntry& entry : backends()) {
      auto stacked = TRY(backend(entry.name))->restack(id, layers);
      if (stacked || stacked.error().code != ErrorCode::NotFound) return stacked;
    }
  }
  auto [where, whole_id] = TRY(locate(id));
  return where->restack(whole_id, layers);
}

Result<std::vector<SandboxStatus>> Runtime::list(const std::map<std::string, std::string>& labels) {
  std::vector<SandboxStatus> all;
  for (const BackendEntry& entry : backends()) {
    for (SandboxStatus& status : TRY(TRY(backend(entry.name))->list())) {
      if (!context_.daemon) status.spec.backend = entry.name;
      if (has_labels(status.spec, labels)) all.push_back(std::move(status));
    }
  }
  return all;
}

Result<Protections> Runtime::check(const SandboxSpec& spec) {
  TRY(check_spec(spec));
  return TRY(backend(spec.backend))->check(spec);
}

Result<Protections> Runtime::probe(const std::string& name) {
  Backend* chosen = TRY(backend(name));
  if (!context_.daemon) return chosen->probe();
  // Which of the daemon's is meant only a spec can say.
  SandboxSpec spec;
  spec.backend = name;
  return chosen->check(spec);
}

SweepReport Runtime::sweep(SweepMode mode) {
  SweepReport all;
  for (const BackendEntry& entry : backends()) {
    auto chosen = backend(entry.name);
    if (!chosen) continue;
    SweepReport report = (*chosen)->sweep(mode);
    std::move(report.removed.begin(), report.removed.end(), std::back_inserter(all.removed));
    std::move(report.failed.begin(), report.failed.end(), std::back_inserter(all.failed));
  }
  // The files beside its sandboxes are the daemon's to sweep: others have sandboxes of it too.
  if (context_.daemon && context_.daemon->shares_directory) return all;
  const auto living = [this]() -> Result<std::vector<std::string>> {
    std::vector<std::string> ids;
    for (const SandboxStatus& status : TRY(list()))
      ids.push_back(status.id);
    return ids;
  };
  sweep_outputs(living, mode, all);
  sweep_apply_records(living, mode, all);
  return all;
}

}  // namespace nutshell
